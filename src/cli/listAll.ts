// `coxswain list --all`: every child of the store, the ended ones too, in the shape that `list` has.
import { isLive, type Child } from '../core/child'
import { describeVerdict } from '../core/verdict'
import { shortDuration } from '../protocol/duration'
import { listEntry, type ListEntry } from '../supervisor/payloads'
import type { ChildView } from '../supervisor/view'

interface ListAllAnswer {
  readonly action: 'list'
  readonly count: number
  readonly subagents: readonly (ListEntry & { readonly ended: boolean; readonly parent_away?: true })[]
}

export function listAllAnswer(views: readonly ChildView[], now: Date): ListAllAnswer {
  const subagents = views.map(({ child, activity, parentAway }) => ({
    ...listEntry(child, activity, now),
    ended: hasEnded(child),
    ...(parentAway ? { parent_away: true as const } : {}),
  }))
  return { action: 'list', count: subagents.length, subagents }
}

/** Its age is that of its end, where it has ended. */
export function listAllLine(child: Child, now: Date): string {
  const age = `${shortDuration(now.getTime() - Date.parse(hasEnded(child) ? (child.settledAt ?? child.acceptedAt) : child.acceptedAt))} ago`
  const verdict = child.verdict === null ? '' : `  (${describeVerdict(child.verdict)})`
  return `${child.id}  ${phaseText(child).padEnd(15)} ${age.padStart(11)}  ${child.title}${verdict}`
}

/** As `list` has it: a paused child is still at work. */
const hasEnded = (child: Child): boolean => !isLive(child) && !child.paused

/** How a child stands, in a word or two. */
export function phaseText(child: Child): string {
  if (child.discarded && !isLive(child)) return 'discarded'
  if (child.paused && !isLive(child)) return 'paused'
  switch (child.phase) {
    case 'PENDING':
      return 'waiting'
    case 'STARTING':
      return 'starting'
    case 'RUNNING':
      return 'working'
    case 'CANCEL_REQUESTED':
      return 'stopping'
    case 'SUCCESS':
      return child.verdict?.status === 'verified' ? 'succeeded' : 'says it is done'
    case 'FAILURE':
      return 'failed'
    case 'INTERRUPTED':
      return 'interrupted'
    case 'CANCELLED':
      return 'stopped'
    case 'UNKNOWN':
      return 'cannot be seen'
  }
}
