// The caps hold from the first command on that a new owner takes, however long it needs to open what was left to it.
import { afterEach, expect, it, vi } from 'vitest'
import { ChildLog } from '../../../src/record/childLog'
import { eventually, script, Stage } from './stage'

let stage: Stage
afterEach(async () => {
  vi.restoreAllMocks()
  await stage.clear()
})

it('a new owner counts what the former one left before it has opened all of it', async () => {
  stage = Stage.make()
  const as = { kind: 'parent', session: 'mine' } as const
  const set = { maxChildrenPerParent: 2, maxChildrenTotal: 9 }
  const goal = script(stage.waits('go'))
  const first = await stage.coxswain({ role: 'run', as, set })
  expect(await first.commands.spawn({ tasks: [{ goal }, { goal }] })).toMatchObject({ count: 2 })
  const ids = stage.left().children
  for (const id of ids) await stage.until(id, 'at work', ({ phase }) => phase === 'RUNNING')
  first.dispose()
  await first.closed()

  let opened = 0
  let go: () => void = () => undefined
  const held = new Promise<void>((resolve) => (go = resolve))
  const open = ChildLog.open.bind(ChildLog)
  vi.spyOn(ChildLog, 'open').mockImplementation(async (...args) => {
    if (++opened === 1) await held
    return await open(...args)
  })
  const next = await stage.coxswain({ role: 'run', as, set })
  const owning = next.tryOwn()
  await eventually(() => opened === 1, 'the first log is being opened')
  const beside = await stage.coxswain({ role: 'window', as, set })
  const asked = [next, beside].map(({ commands }) => commands.spawn({ tasks: [{ goal }] }))
  // Neither is answered before all is open; that one of them is would show after so many looks at the disk.
  for (let looks = 0; looks < 200; looks++) await beside.refresh()
  go()
  expect(await owning).toBe(true)
  for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ error: { code: 'over_cap' } })
  expect(stage.left().children).toEqual(ids)
  stage.open('go')
  for (const id of ids) await stage.settled(id)
})
