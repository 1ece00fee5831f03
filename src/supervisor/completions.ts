// What a parent hears of its children between its turns: the completions it is owed, with the results, and the notices of
// pauses. Read from the files of the store by whoever asks; only the owner acknowledges.
import type { Attempt, Child } from '../core/child'
import { completionsOf, everyNotice, noticesOf, type DueCompletion, type DueNotice } from '../core/completion'
import { sessionOf, type Caller } from '../core/ownership'
import type { StorePaths } from '../record/paths'
import { readText } from '../record/readFile'
import { relayText } from './relay'
import { settledResult, type ChildResult } from './results'

export interface Completion {
  /** The same until it is acknowledged, and so is the content. */
  readonly completion_id: string
  readonly delegation_id: string
  readonly round: number
  /** Ids of the delegation's children that were paused when this became due. */
  readonly paused_left: readonly string[]
  readonly subagents: readonly ChildResult[]
  /** The same for a parent agent's context: short, with the paths of the rest. */
  readonly relay: string
}

/** Tells a parent that nothing went wrong: the child was paused or adopted on purpose and there is nothing to recover. */
export interface ParentNotice {
  readonly notice_id: string
  readonly subagent_id: string
  readonly title: string
  readonly ok: true
  readonly duration_s: number | null
  readonly outcome: string
}

/** A parent's own children, whether or not they have ended. */
export function dispatchedBy(caller: Caller, children: readonly Child[]): readonly Child[] {
  return children.filter((child) => child.parentSession === sessionOf(caller))
}

/** What `caller` has not acknowledged yet, oldest first; of one delegation, acknowledged ones too. */
export async function completionsFor(
  caller: Caller,
  children: readonly Child[],
  paths: StorePaths,
  delegationId?: string,
): Promise<readonly Completion[]> {
  const due = completionsOf(children, sessionOf(caller)).filter((completion) =>
    delegationId === undefined ? !completion.acknowledged : completion.delegationId === delegationId,
  )
  return await Promise.all(due.map((completion) => told(completion, paths)))
}

/** The notices `caller` has not acknowledged yet, oldest first. */
export function pendingNotices(caller: Caller, children: readonly Child[]): readonly ParentNotice[] {
  return noticesOf(children, sessionOf(caller)).map(noticeOf)
}

/** What an acknowledgement of `ids` by `caller` is about; ids that are not its own, or never were, are not in it. */
export function acknowledgedBy(
  caller: Caller,
  children: readonly Child[],
  ids: readonly string[],
): { readonly completions: readonly DueCompletion[]; readonly notices: readonly DueNotice[] } {
  const session = sessionOf(caller)
  return {
    completions: completionsOf(children, session).filter(({ id }) => ids.includes(id)),
    notices: everyNotice(children, session).filter(({ id }) => ids.includes(id)),
  }
}

async function told(due: DueCompletion, paths: StorePaths): Promise<Completion> {
  const { id, delegationId, round, members, pausedLeft } = due
  const subagents = await Promise.all(members.map((child) => settledResult(paths, child, round)))
  return {
    completion_id: id,
    delegation_id: delegationId,
    round,
    paused_left: pausedLeft.map((child) => child.id),
    subagents,
    relay: relayText({
      completionId: id,
      subagents,
      wholeSummaries: await wholeSummaries(subagents),
      pausedLeft,
      resultFile: (result) => paths.child(result.subagent_id).result(round),
    }),
  }
}

async function wholeSummaries(results: readonly ChildResult[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const { subagent_id, summary_file } of results) {
    const text = summary_file === null ? undefined : await readText(summary_file).catch(() => undefined)
    if (text !== undefined) found.set(subagent_id, text)
  }
  return found
}

function noticeOf(notice: DueNotice): ParentNotice {
  const { id, child } = notice
  const { duration_s, outcome } = notice.kind === 'paused' ? paused(notice.attempt) : adopted
  return { notice_id: id, subagent_id: child.id, title: child.title, ok: true, duration_s, outcome }
}

const adopted = {
  duration_s: null,
  outcome:
    'ADOPTED -- a person made this child their own while its parent was away. Nothing more of it comes to you; do not respawn it.',
}

function paused({ endRequest, exit }: Attempt): Pick<ParentNotice, 'duration_s' | 'outcome'> {
  const reason = endRequest?.reason ?? ''
  const who =
    endRequest?.cause === 'lease' ? 'it was paused on purpose, by a setting' : 'somebody stopped this child on purpose'
  return {
    duration_s: exit === null ? null : exit.durationMs / 1000,
    outcome: `STEERED -- ${who}, saying: ${reason === '' ? '(nothing)' : reason}`,
  }
}
