import { describe, expect, it } from 'vitest'
import { ceilingReached, overLimit, spentSince } from '../../../src/core/budget'
import type { Child } from '../../../src/core/child'
import type { Fact } from '../../../src/core/events'
import { fold } from '../../../src/core/reduce'
import { accepted, alphabet, events, sampleTask } from './sample'

const contract = { level: 'full', maxRetries: 3 } as const
const task = (limits: object) => {
  const sample = sampleTask({ contract })
  return { ...sample, limits: { ...sample.limits, ...limits } }
}
const used = (attempt: number, tokens: number, costUsd: number | null = null): Fact => ({
  type: 'used',
  attempt,
  usage: { inputTokens: tokens, outputTokens: 0, costUsd },
})
const first = [alphabet(1).worktree, alphabet(1).first, alphabet(1).launched]
const again = (n: number, how: 'retry' | 'resume'): Fact[] => [
  alphabet(n - 1).reportOk,
  alphabet(n - 1).exit0,
  how === 'retry' ? alphabet(n - 1).verifiedRetry : alphabet(n - 1).verifiedOk,
  { ...alphabet(n)[how], round: how === 'retry' ? n - 1 : n },
  alphabet(n).launched,
]

function child(limits: object, ...facts: Fact[]): Child {
  const folded = fold(events(accepted(task(limits)), ...first, ...facts))
  if (folded === undefined || folded.misfits > 0) throw new Error('the facts do not fit')
  return folded
}

describe('tokens and money', () => {
  it('add up over automatic retries and start anew when a person or parent resumes', () => {
    const retried = [used(1, 60, 0.2), ...again(2, 'retry'), used(2, 50, 0.2)]
    expect(spentSince(child({}, ...retried))).toEqual({ inputTokens: 110, outputTokens: 0, costUsd: 0.4 })
    const resumed = [used(1, 60, 0.2), ...again(2, 'resume'), used(2, 50)]
    expect(spentSince(child({}, ...resumed))).toEqual({ inputTokens: 50, outputTokens: 0, costUsd: null })
  })

  it('add up over the turns of an orchestrator, which nobody but Coxswain begins', () => {
    const woken = [
      used(1, 60, 0.2),
      alphabet(1).reportOk,
      alphabet(1).awaited,
      alphabet(1).exit0,
      { ...alphabet(2).wake, round: 1 },
      alphabet(2).launched,
      used(2, 50, 0.2),
    ]
    expect(spentSince(child({}, ...woken))).toEqual({ inputTokens: 110, outputTokens: 0, costUsd: 0.4 })
  })

  it('interrupt beyond the limit, and stop what happens by itself at it', () => {
    const at = child({ maxTokens: 100 }, used(1, 60), ...again(2, 'retry'), used(2, 40))
    expect([overLimit(at), ceilingReached(at)]).toEqual([null, 'it used 100 tokens of max_tokens = 100'])
    const beyond = child({ maxTokens: 100 }, used(1, 60), ...again(2, 'retry'), used(2, 41))
    expect(overLimit(beyond)).toBe('it used 101 tokens of max_tokens = 100')
    const cost = child({ maxCostUsd: 0.5 }, used(1, 1, 0.3), ...again(2, 'retry'), used(2, 1, 0.3))
    expect(overLimit(cost)).toBe('it cost 0.6000 USD of max_cost_usd = 0.5')
  })
})

it('turns belong to one attempt', () => {
  const turns = (attempt: number, count: number): Fact => ({ type: 'turnsTaken', attempt, turns: count })
  expect(overLimit(child({ maxTurns: 2 }, turns(1, 2)))).toBeNull()
  expect(overLimit(child({ maxTurns: 2 }, turns(1, 3)))).toContain('max_turns (coxswain.maxIterations) = 2')
  expect(overLimit(child({ maxTurns: 2 }, turns(1, 2), ...again(2, 'retry'), turns(2, 1)))).toBeNull()
})
