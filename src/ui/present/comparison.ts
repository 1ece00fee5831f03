// Children of one dispatch side by side: what each came to and what it cost, in one line each. Pure.
import { isLive, totalUsage, type Child } from '../../core/child'
import { shortDuration } from '../../protocol/duration'
import { t } from './l10n'
import { statWords } from './review'
import type { StatOf } from './standing'
import { costWords, phaseWords, runTime, tokenWords, verdictWords } from './words'

export interface Compared {
  readonly childId: string
  /** What tells it from the others: its agent and model, and its number where these are the same. */
  readonly name: string
  /** State and verdict. */
  readonly state: string
  /** What changed, how long it took, what it cost. */
  readonly figures: string
}

/** The children that got the same goal in the same dispatch as this one, itself included, in order. */
export function siblings(child: Child, all: readonly Child[]): readonly Child[] {
  return all
    .filter((each) => each.delegationId === child.delegationId && each.task.goal === child.task.goal && !each.archived)
    .sort((a, b) => a.index - b.index)
}

/** The ids of those that can be compared with another. */
export function comparable(all: readonly Child[]): ReadonlySet<string> {
  const groups = new Map<string, string[]>()
  for (const { id, delegationId, task, archived } of all) {
    if (archived) continue
    const key = `${delegationId}\n${task.goal}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [id])
    else group.push(id)
  }
  return new Set([...groups.values()].filter((group) => group.length > 1).flat())
}

export function compared(children: readonly Child[], statOf: StatOf, now: number): readonly Compared[] {
  return children.map((child) => {
    const verdict = child.verifying ? null : verdictWords(child)
    const phase = phaseWords(child)
    const stat = statOf(child.id)
    const ran = runTime(child)
    const usage = totalUsage(child)
    const who = nameOf(child)
    const same = children.filter((each) => nameOf(each) === who)
    const number = same.indexOf(child) + 1
    return {
      childId: child.id,
      name: same.length === 1 ? who : t('{who}, number {n}', { who, n: number }),
      state: [phase, verdict === null || phase.includes(verdict) ? null : verdict]
        .filter((part) => part !== null)
        .join(' · '),
      figures: [
        stat === null ? (isLive(child) ? null : t('changes not known yet')) : (statWords(stat) ?? t('no changes')),
        child.attempts.length === 0
          ? null
          : shortDuration(ran.doneMs + (ran.since === null ? 0 : now - Date.parse(ran.since))),
        tokenWords(usage),
        costWords(usage),
      ]
        .filter((part) => part !== null)
        .join(' · '),
    }
  })
}

function nameOf({ task }: Child): string {
  return [task.recipe.label, task.recipe.model].filter((part) => part !== undefined).join(' · ')
}
