// A dispatch that the disk stopped half-way: refused, and under the same id it is a dispatch like any other afterwards.
import { existsSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import type { ChildEvent } from '../../../src/core/events'
import { script, Stage } from '../supervisor/stage'
import { failFiles, type Failing } from './failingFiles'

let stage: Stage
let failing: Failing | undefined
afterEach(async () => {
  failing?.stop()
  await stage.clear()
})

const isOf = (event: ChildEvent, dispatchId: string): boolean =>
  event.type === 'accepted' && event.delegationId === dispatchId

it('is made anew under its id, however far it had come', { timeout: 180_000 }, async () => {
  stage = Stage.make()
  const coxswain = await stage.coxswain({ role: 'run', set: { maxChildrenTotal: 100 } })
  const goal = script(stage.waits('go'))
  const ids: string[] = []
  for (let k = 1; k < 1_000; k++) {
    const request = { tasks: [{ goal }, { goal }], dispatch_id: `dispatch${k}` }
    failing = failFiles(stage.paths.children, 'EIO', k)
    const first = await coxswain.commands.spawn(request)
    failing.stop()
    if (failing.failed() === undefined) break
    // It went on without what failed.
    if (!('error' in first)) continue
    const onRecord = stage.left().children.filter((id) => existsSync(stage.paths.child(id).events))
    if (onRecord.every((id) => stage.events(id).every((event) => !isOf(event, request.dispatch_id)))) continue
    const again = await coxswain.commands.spawn(request)
    if ('error' in again) throw new Error(again.error.message)
    const told = await coxswain.commands.spawn(request)
    expect([again.count, 'subagent_ids' in told && told.subagent_ids]).toEqual([2, again.subagent_ids])
    ids.push(...again.subagent_ids)
    if (ids.length === 4) break
  }
  expect(ids).toHaveLength(4)
  stage.open('go')
  // The worktrees of all that went on without what failed are made before theirs.
  for (const id of ids) expect((await stage.settled(id, 60_000)).phase).toBe('SUCCESS')
})
