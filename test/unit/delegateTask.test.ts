// One parent and its tool: which completions an answer carries, over a store that holds one.
import { expect, test } from 'vitest'
import { DelegateTask } from '../../src/parent/delegateTask'
import type { ParentStore } from '../../src/parent/parentStore'
import { readWish } from '../../src/parent/wish'

test('what an answer carried goes with the next one when it was cancelled, and is then taken once', async () => {
  const taken: string[] = []
  const store = {
    list: () => ({ action: 'list' }),
    due: () =>
      Promise.resolve(
        [{ id: 'c-1', children: ['kid'], text: 'Completion c-1' }].filter(({ id }) => !taken.includes(id)),
      ),
    acknowledge: (ids: readonly string[]) => {
      taken.push(...ids)
      return Promise.resolve({ status: 'done' })
    },
  }
  const tool = new DelegateTask(() => Promise.resolve(store as unknown as ParentStore))
  const due: number[] = []
  const call = async () => {
    const told = await tool.call({ action: 'list' })
    due.push(told.due.length)
    return told
  }
  ;(await call()).lost()
  ;(await call()).written()
  await call()
  expect({ due, taken }).toEqual({ due: [1, 1, 0], taken: ['c-1'] })
})

test('in join mode what children come to goes with the answer that waits for them, and with no list meanwhile', async () => {
  let over: () => void = () => undefined
  const waited = new Promise<void>((resolve) => (over = resolve))
  let asked: () => void = () => undefined
  const waits = new Promise<void>((resolve) => (asked = resolve))
  const due = ['joined', 'other'].map((kid) => ({ id: `${kid}.1`, children: [kid], text: `Completion ${kid}` }))
  const store = {
    commands: { spawn: () => Promise.resolve({ status: 'dispatched', mode: 'background', subagent_ids: ['joined'] }) },
    caughtUp: () => Promise.resolve(),
    until: () => {
      asked()
      return waited
    },
    list: () => ({ action: 'list' }),
    due: () => Promise.resolve(due),
  }
  const tool = new DelegateTask(() => Promise.resolve(store as unknown as ParentStore), true)
  const spawning = tool.call({ goal: 'Do it.' })
  await waits
  const listed = await tool.call({ action: 'list' })
  over()
  const spawned = await spawning
  const carried = [listed, spawned].map((told) => told.due.map(({ id }) => id))
  expect(carried).toEqual([['other.1'], ['joined.1']])
  expect(spawned.answer).toMatchObject({ mode: 'join' })
})

test('an action that is no word is refused in a sentence, however deep it goes', () => {
  const action: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
  expect(readWish({ action })).toEqual({
    error: {
      code: 'invalid',
      message: 'action must be a word. The actions are spawn, list, steer, stop, interrupt, resume, result.',
    },
  })
})
