// What a look notes of one child, without a process: a suggestion that a person did not want stays away for its attempt.
import { expect, test } from 'vitest'
import type { Child } from '../../../src/core/child'
import { defaultQuietLimits } from '../../../src/core/policy'
import { Watch } from '../../../src/supervisor/watch'
import { attempt, child } from '../ui/children'

const reason = "drift: write edits lib/a.js, outside the contract's scope"
const withScope = { ...child().task, contract: { level: 'light' as const, maxRetries: 1, hash: 'h' } }

/** The suggestions noted by two looks at a child that has just edited lib/a.js. */
async function looks(over: Partial<Child>): Promise<{ suggested: unknown[]; read: number }> {
  const suggested: unknown[] = []
  let read = 0
  const watch = new Watch({
    settings: () => ({ quiet: defaultQuietLimits, policy: {} }),
    newId: () => 'id',
    scopeOf: () => {
      read++
      return Promise.resolve(['docs/**'])
    },
    did: () => undefined,
  })
  const watched = {
    child: child({ task: withScope, ...over }),
    work: {
      quietMs: 0,
      toolsInFlight: 0,
      recent: [{ kind: 'toolStarted' as const, toolId: '1', name: 'write', input: { path: 'lib/a.js' } }],
    },
    note: (fact: unknown) => {
      suggested.push(fact)
      return Promise.resolve()
    },
    steer: () => Promise.resolve(null),
    stop: () => Promise.resolve(null),
    endStalled: () => Promise.resolve(null),
  }
  await watch.look([watched])
  await watch.look([watched])
  return { suggested: suggested.map((fact) => (fact as { suggestion: { reason: string } }).suggestion.reason), read }
}

test('an edit outside of the scope is suggested about, after one reading of the contract', async () => {
  expect(await looks({})).toEqual({ suggested: [reason, reason], read: 1 })
})

test('what was dismissed is not suggested again in that attempt, and is in the next', async () => {
  const dismissed = { attempt: 1, suggestion: { action: 'steer' as const, reason } }
  expect((await looks({ dismissed })).suggested).toEqual([])
  expect((await looks({ dismissed, attempts: [attempt({ n: 2 })] })).suggested).toEqual([reason, reason])
})

test('a child without a contract is free to change what it likes', async () => {
  expect(await looks({ task: child().task })).toEqual({ suggested: [], read: 0 })
})
