// Finding out what became of a child while this process cannot open a file for the moment: nothing that the child said is
// taken for missing, and the child is not given up.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { eventually, kill, script, Stage } from '../supervisor/stage'
import { failFiles, type Failing } from './failingFiles'

let stage: Stage
let failing: Failing | undefined
afterEach(async () => {
  failing?.stop()
  await stage.clear()
})

it('a record that cannot be opened for the moment is taken up a little later', async () => {
  stage = Stage.make()
  const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
  await eventually(() => stage.said(id).includes('one'), 'the child works')
  const coxswain = await stage.coxswain({ role: 'run' })
  failing = failFiles(stage.paths.child(id).transcript, 'EMFILE', 1, 1_000)
  kill((await stage.owner())?.process.pid ?? 0, 'SIGKILL')
  await eventually(() => coxswain.tryOwn(), 'the store is taken')
  expect(failing.failed()).toMatch(/^open /)
  failing.stop()
  stage.open('go')
  expect((await stage.settled(id)).phase).toBe('SUCCESS')
})

it.each([1, 2])(
  'what ended while nobody followed it is heard whole, although call %i finds no file left',
  async (k) => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const owner = (await stage.owner())?.process.pid ?? 0
    kill(owner, 'SIGKILL')
    await eventually(() => !stage.ps().some(({ pid }) => pid === owner), 'the owner is dead')
    stage.open('go')
    const { folder } = stage.paths.child(id).attempt(1)
    await eventually(() => existsSync(join(folder, 'exit.json')), 'its agent has ended')
    failing = failFiles(join(folder, 'raw'), 'EMFILE', k)
    const coxswain = await stage.coxswain({ role: 'run' })
    await coxswain.tryOwn()
    const { phase } = await stage.settled(id)
    const missing = stage.transcript(id).filter((entry) => entry.kind === 'notice' && entry.text.includes('missing'))
    expect([failing.failed()?.split(' ')[0], phase, stage.said(id), missing]).toEqual([
      k === 1 ? 'readdir' : 'open',
      'SUCCESS',
      ['one', 'two'],
      [],
    ])
  },
)
