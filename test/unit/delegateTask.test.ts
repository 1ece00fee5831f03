// One parent and its tool: which completions an answer carries, over a store that holds one.
import { expect, test } from 'vitest'
import { DelegateTask } from '../../src/parent/delegateTask'
import type { ParentStore } from '../../src/parent/parentStore'

test('what an answer carried goes with the next one when it was cancelled, and is then taken once', async () => {
  const taken: string[] = []
  const store = {
    list: () => ({ action: 'list' }),
    due: () => Promise.resolve([{ id: 'c-1', text: 'Completion c-1' }].filter(({ id }) => !taken.includes(id))),
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
