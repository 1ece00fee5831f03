// What a child may still use: tokens and money add up over automatic retries and turns between its own children, and start
// anew when a person or parent sets it going again, turns belong to one attempt. Every refusal and every interrupt names the limit it is about.
import { currentAttempt, type Child } from './child'
import type { TaskUsage } from './events'

/** Used since a person or parent last started or resumed the child. */
export function spentSince(child: Child): TaskUsage {
  const from = child.attempts.findLastIndex((attempt) => attempt.reason === 'first' || attempt.reason === 'resume')
  let [inputTokens, outputTokens] = [0, 0]
  let costUsd: number | null = null
  for (const { usage } of child.attempts.slice(Math.max(0, from))) {
    inputTokens += usage.inputTokens
    outputTokens += usage.outputTokens
    if (usage.costUsd !== null) costUsd = (costUsd ?? 0) + usage.costUsd
  }
  return { inputTokens, outputTokens, costUsd }
}

/** The limit that the attempt at hand has gone over, in words; null while there is room. */
export function overLimit(child: Child): string | null {
  const { maxTurns } = child.task.limits
  const turns = currentAttempt(child)?.turns ?? 0
  if (maxTurns !== null && turns > maxTurns)
    return `it took the ${maxTurns} turns of max_turns (coxswain.maxIterations) = ${maxTurns}`
  return ceiling(child, (used, limit) => used > limit)
}

/** Why nothing more is done to this child by itself: its tokens or its money are used up; null while they are not. */
export function ceilingReached(child: Child): string | null {
  return ceiling(child, (used, limit) => used >= limit)
}

function ceiling(child: Child, isReached: (used: number, limit: number) => boolean): string | null {
  const { maxTokens, maxCostUsd } = child.task.limits
  const { inputTokens, outputTokens, costUsd } = spentSince(child)
  const tokens = inputTokens + outputTokens
  if (maxTokens !== null && isReached(tokens, maxTokens)) return `it used ${tokens} tokens of max_tokens = ${maxTokens}`
  if (maxCostUsd !== null && costUsd !== null && isReached(costUsd, maxCostUsd))
    return `it cost ${costUsd.toFixed(4)} USD of max_cost_usd = ${maxCostUsd}`
  return null
}
