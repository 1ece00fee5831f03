// What a newcomer has seen happen, for the walkthrough's ticks: read off the record, so that a command that was called off
// ticks nothing.
import type { Child } from '../../core/child'

export const milestones = ['dispatched', 'steered', 'controlled', 'verified'] as const
export type Milestone = (typeof milestones)[number]

export function reached(child: Child): readonly Milestone[] {
  const asked = child.attempts.some(
    ({ endRequest }) => endRequest?.cause === 'interrupt' || endRequest?.cause === 'stop',
  )
  return [
    ...(child.attempts.length > 0 ? (['dispatched'] as const) : []),
    ...(child.steers.some(({ state }) => state === 'delivered' || state === 'confirmed') ? (['steered'] as const) : []),
    ...(asked ? (['controlled'] as const) : []),
    ...(child.verdict !== null ? (['verified'] as const) : []),
  ]
}
