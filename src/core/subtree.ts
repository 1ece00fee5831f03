// A child together with all it dispatched, at any depth: who they are and what they spent. Pure.
import { isLive, totalUsage, type Child } from './child'
import type { TaskUsage } from './events'

/** The child and all below it, in the order of their dispatch; a circle of parents is walked once. */
export function below(root: Child, all: readonly Child[]): readonly Child[] {
  const found = new Map([[root.id, root]])
  for (const { id } of found.values())
    for (const child of all) if (child.parentChild === id && !found.has(child.id)) found.set(child.id, child)
  return [...found.values()]
}

/** What goes on below a child when it is paused or stopped by itself. */
export function liveBelow(root: Child, all: readonly Child[]): readonly Child[] {
  return below(root, all).filter((child) => child.id !== root.id && isLive(child))
}

/** Tokens and money of all of them; money is null when none reported any. */
export function spentTogether(children: readonly Child[]): TaskUsage {
  const each = children.map((child) => totalUsage(child))
  const costs = each.flatMap(({ costUsd }) => costUsd ?? [])
  return {
    inputTokens: each.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    outputTokens: each.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    costUsd: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
  }
}
