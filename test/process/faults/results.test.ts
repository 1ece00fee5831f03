// A round's result that cannot be read, now or ever: what a parent asked for is answered all the same, and nothing is told as
// known that is not.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { asTexts, DelegateTask } from '../../../src/parent/delegateTask'
import { parentStore } from '../../../src/parent/parentStore'
import { script, Stage } from '../supervisor/stage'
import { failFiles, type Failing } from './failingFiles'

let stage: Stage
let failing: Failing | undefined
afterEach(async () => {
  failing?.stop()
  await stage.clear()
})

/** A parent with one child that has ended, and the file of its result. */
async function parentOfOne() {
  const coxswain = await stage.coxswain({ role: 'run' })
  const tool = new DelegateTask(async () => parentStore(coxswain, { kind: 'parent', session: 'mcp:desk' }))
  const call = async (input: object) => {
    const [answer = '', ...due] = asTexts(await tool.call(input))
    return { answer: JSON.parse(answer), due }
  }
  const { answer } = await call({ goal: script({ say: 'one' }) })
  const id = answer.subagent_ids[0] as string
  await stage.settled(id)
  await coxswain.refresh()
  return { call, id, result: stage.paths.child(id).result(1) }
}

describe('a result', () => {
  it('that the system does not let be read is not lost: what was done is answered, and it comes with a later answer', async () => {
    stage = Stage.make()
    const { call, id, result } = await parentOfOne()
    failing = failFiles(result, 'EMFILE', 1, Infinity)
    const spawned = await call({ goal: script({ say: 'two' }, stage.waits('go')) })
    expect(failing.failed()).toBeDefined()
    expect([spawned.answer.status, spawned.due]).toEqual([
      'dispatched',
      [expect.stringMatching(/^What your children came to could not be read now .*Too many files are open/)],
    ])
    failing.stop()
    const { due } = await call({ action: 'list' })
    expect(due).toEqual([expect.stringMatching(new RegExp(`${id} .*SUCCESS \\(claimed\\)`))])
    stage.open('go')
  })

  const damages: Record<string, (path: string) => void> = {
    'cut short': (path) => writeFileSync(path, '{"subagent_id":'),
    'all NUL': (path) => writeFileSync(path, Buffer.alloc(2_000)),
    'no result': (path) => writeFileSync(path, 'null\n'),
    "another child's": (path) => writeFileSync(path, '{"subagent_id":"other","round":1,"phase":"SUCCESS"}\n'),
    'a folder': (path) => {
      rmSync(path)
      mkdirSync(path)
    },
  }
  it.each(Object.entries(damages))(
    'that is %s leaves its child unknown, and says which file',
    async (_name, damage) => {
      stage = Stage.make()
      const { call, id, result } = await parentOfOne()
      damage(result)
      const { due } = await call({ action: 'list' })
      expect(due).toEqual([expect.stringMatching(new RegExp(`${id} .*UNKNOWN`))])
      expect(due[0]).toContain(`cannot be read: ${result} is damaged`)
      expect((await stage.json('result', id)).failure).toContain(result)
    },
  )
})
