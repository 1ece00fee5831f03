// Between the end of a round and the next one: what the round came to is never lost, and a place on this machine that a
// resume has just taken is not given back by what was left to do for the round before.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import type { ProcessIdentity } from '../../../src/core/events'
import { Slots } from '../../../src/record/slots'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import { failFiles, type Failing } from '../faults/failingFiles'
import { eventually, script, Stage } from './stage'

let stage: Stage
let failing: Failing | undefined
afterEach(async () => {
  failing?.stop()
  vi.restoreAllMocks()
  await stage.clear()
})

async function spawned({ commands }: Coxswain, goal: string): Promise<string> {
  const answer = await commands.spawn({ tasks: [{ goal }] })
  if ('error' in answer) throw new Error(answer.error.message)
  return answer.subagent_ids[0] ?? ''
}

/** Who holds places on this machine for this child. */
function holders(id: string): ProcessIdentity[] {
  const slots = join(stage.data, 'slots')
  return readdirSync(slots)
    .filter((name) => name.startsWith('slot.'))
    .map(
      (name) =>
        JSON.parse(readFileSync(join(slots, name), 'utf8')) as { childId: string; holder: ProcessIdentity | null },
    )
    .flatMap(({ childId, holder }) => (childId === id && holder !== null ? [holder] : []))
}

it('a result that the disk did not take is written before the next round begins, and both are told', async () => {
  stage = Stage.make()
  const coxswain = await stage.coxswain({ role: 'run' })
  const id = await spawned(coxswain, script(stage.waits('go'), { say: 'one' }))
  const { results } = stage.paths.child(id)
  failing = failFiles(results, 'ENOSPC', 1, Infinity)
  stage.open('go')
  await stage.until(id, 'over', ({ settledAt }) => settledAt !== null)
  await eventually(() => failing?.failed() !== undefined, 'its result was refused')
  const resume = () => coxswain.commands.resume({ subagent_id: id, message: script({ say: 'two' }) })
  expect(await resume()).toMatchObject({ error: { code: 'busy', message: expect.stringContaining('Try again') } })
  failing.stop()
  await stage.settled(id)
  expect(await resume()).toMatchObject({ status: 'resuming', attempt: 2 })
  const { completions } = await stage.until(id, 'round 2', (child) => child.completions.length === 2)
  expect(completions.map(({ round }) => round)).toEqual([1, 2])
  expect(readdirSync(results).sort()).toEqual(['round-1.json', 'round-2.json'])
})

it('a resume that follows at once upon a pause keeps its place on this machine', async () => {
  stage = Stage.make()
  const coxswain = await stage.coxswain({ role: 'run' })
  const id = await spawned(coxswain, script({ say: 'one' }, { hang: true }))
  await eventually(() => stage.said(id).includes('one'), 'it works')
  let go: () => void = () => undefined
  const held = new Promise<void>((resolve) => (go = resolve))
  let released: Promise<void> = Promise.resolve()
  vi.spyOn(Slots.prototype, 'release').mockImplementationOnce(function (this: Slots, childId) {
    return (released = held.then(() => this.release(childId)))
  })
  const holdsItsPlace = async (): Promise<boolean> => {
    const keeper = (await stage.child(id)).attempts[1]?.keeper
    return holders(id).some(({ pid }) => pid === keeper?.pid)
  }
  await coxswain.commands.interrupt({ subagent_id: id })
  await stage.until(id, 'paused', ({ paused }) => paused)
  const resumed = coxswain.commands.resume({ subagent_id: id, message: script(stage.waits('end')) })
  // Did the resume not wait for its turn, its process would be there after so many looks at the disk.
  for (let looks = 0; looks < 200 && !(await holdsItsPlace()); looks++) await coxswain.refresh()
  go()
  expect(await resumed).toMatchObject({ status: 'resuming' })
  await released
  await stage.until(id, 'running again', ({ phase }) => phase === 'RUNNING')
  await eventually(holdsItsPlace, 'its process holds its place')
  stage.open('end')
  await stage.settled(id)
})
