// What of a child is worth interrupting a person for, and under which name it is told once. Pure: the same child has the
// same events in every window.
import { currentAttempt, isLive, openRequests, type Child } from '../../core/child'
import { plainLine } from '../../core/plainText'
import { t } from './l10n'
import { standingOf } from './standing'
import { endReason, needWords, phaseWords, verdictWords } from './words'

export interface Happening {
  /** Names it for ever, within its child. */
  readonly key: string
  readonly kind: 'asks' | 'needs' | 'done' | 'failed' | 'interrupted'
  /** One line without the child's name. */
  readonly words: string
}

/** What there is to be told of a child as it stands, most urgent first; what a person did themselves is none of it. */
export function happenings(child: Child): readonly Happening[] {
  if (child.archived || child.discarded) return []
  const round = `round ${child.round}`
  if (isLive(child) && child.phase !== 'CANCEL_REQUESTED') {
    const asked = openRequests(child)
    if (asked.length > 0)
      return asked.map(({ id, attempt, ask }) => ({
        key: `asked ${attempt} ${id}`,
        kind: 'asks' as const,
        words:
          ask.kind === 'question'
            ? t('asks: {question}', { question: plainLine(ask.question, 120) })
            : t('wants to use {tool}', { tool: plainLine(ask.tool, 60) }),
      }))
  }
  const need = needWords(child)
  if (need !== null) {
    // A count that grows is no news; the same words in the next round or attempt are.
    const what = isLive(child) ? 'stuck' : need.replace(/\d+/g, '#')
    return [{ key: `needs ${round} attempt ${child.attempts.length} ${what}`, kind: 'needs', words: need }]
  }
  if (child.phase === 'INTERRUPTED' && !child.paused) {
    const cause = currentAttempt(child)?.endRequest?.cause
    if (cause === undefined || cause === 'interrupt' || cause === 'stop') return []
    return [{ key: `interrupted attempt ${child.attempts.length}`, kind: 'interrupted', words: phaseWords(child) }]
  }
  // What a child dispatched has ended for that child, which is told of it by itself.
  if (child.settledAt === null || child.retrying || child.verifying || child.parentChild !== null) return []
  if (child.phase === 'FAILURE') {
    const reason = endReason(child)
    const words = reason === null ? t('failed') : t('failed: {reason}', { reason: plainLine(reason, 120) })
    return [{ key: `settled ${round}`, kind: 'failed', words }]
  }
  if (child.phase === 'SUCCESS' && standingOf(child) === 'review') {
    const verdict = verdictWords(child)
    return [
      {
        key: `settled ${round}`,
        kind: 'done',
        words: verdict === null ? t('says it is done') : t('says it is done: {verdict}', { verdict }),
      },
    ]
  }
  return []
}

/** The event as a notice: what a child does follows its name, what it needs or has come to is said of it. */
export function happeningWords(title: string, { kind, words }: Happening): string {
  return kind === 'needs'
    ? t('“{title}”: {what}', { title, what: words })
    : t('“{title}” {what}', { title, what: words })
}

/** A child that stands still until a person does something. */
export function isUrgent({ kind }: Happening): boolean {
  return kind === 'asks' || kind === 'needs'
}

/**
 * Those that are this window's to tell. One whose claim fails is told all the same: heard twice is better than never, and
 * no other event waits for it.
 */
export async function claimedOf<T>(
  events: readonly T[],
  claim: (event: T) => Promise<boolean>,
  failed: (error: unknown) => void,
): Promise<readonly T[]> {
  const ours: T[] = []
  for (const event of events) {
    const claimed = await claim(event).catch((error: unknown) => {
      failed(error)
      return true
    })
    if (claimed) ours.push(event)
  }
  return ours
}
