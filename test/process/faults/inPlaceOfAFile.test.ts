// A FIFO, a folder or noise where the store has a file: nothing waits for it, nothing is taken for what it is not, and a
// person is told which one it is.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { script, Stage } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

const fifo = (path: string): void => {
  rmSync(path, { force: true })
  execFileSync('mkfifo', [path])
}
const inPlace: Record<string, (path: string) => void> = {
  'a FIFO': fifo,
  'a folder': (path) => {
    rmSync(path, { force: true })
    mkdirSync(path)
  },
}
const said = async (...args: string[]) => {
  const { code, err } = await stage.cli(...args)
  return [code, err]
}
/** One sentence, with no stack behind it. */
const sentence = (words: string): unknown => expect.stringMatching(new RegExp(`^coxswain: [^\\n]*${words}[^\\n]*\\n$`))

it.each(Object.entries(inPlace))('%s in place of the settings is named', async (_what, put) => {
  stage = Stage.make()
  put(join(stage.data, 'settings.json'))
  expect(await said('list')).toEqual([2, sentence('settings file .*settings.json')])
})

it.each(Object.entries(inPlace))('%s in place of the audit trail is named', async (_what, put) => {
  stage = Stage.make()
  await stage.cli('list')
  put(stage.paths.audit)
  for (const args of [['audit'], ['audit', '--check'], ['doctor']])
    expect([args, await said(...args)]).toEqual([args, [2, sentence('audit.jsonl')]])
})

it.each([...Object.entries(inPlace), ['noise', (path: string) => writeFileSync(path, '[1, 2]\n')] as const])(
  '%s in place of the setup that was agreed to starts nothing, and is told how to be mended',
  async (_what, put) => {
    stage = Stage.make()
    await stage.cli('list')
    put(stage.paths.setup)
    const { code, err } = await stage.cli('run', '--task', stage.tasks(script({ say: 'one' })))
    expect([code, err.split('\n').at(-2)]).toEqual([
      2,
      expect.stringMatching(/^coxswain: .*setup\.json.*(again|set it)/i),
    ])
    expect(stage.left().worktrees).toEqual([])
  },
)

it('FIFOs in place of slots, epochs, presence and results keep nobody waiting', { timeout: 60_000 }, async () => {
  stage = Stage.make()
  const first = stage.start(['run', '--task', stage.tasks(script({ say: 'one' })), '--json'])
  const id = await first.firstId()
  expect((await first.done).code).toBe(0)
  fifo(join(stage.data, 'slots', 'slot.1.1'))
  fifo(join(stage.paths.owner, 'epoch.7'))
  fifo(join(stage.paths.present, '12345'))
  fifo(stage.paths.child(id).result(1))
  expect((await stage.cli('run', '--task', stage.tasks(script({ say: 'two' })))).code).toBe(0)
  expect(await stage.json('result', id)).toMatchObject({
    phase: 'UNKNOWN',
    failure: expect.stringContaining('damaged'),
  })
  expect((await stage.cli('doctor')).code).toBe(0)
})

it('a link in place of a bell is not written through', async () => {
  stage = Stage.make()
  const kept = stage.file('kept\n')
  const id = await stage.detached(script({ say: 'one' }, stage.waits('go')))
  const bell = join(stage.paths.bell, id)
  rmSync(bell, { force: true })
  symlinkSync(kept, bell)
  stage.open('go')
  expect((await stage.settled(id)).phase).toBe('SUCCESS')
  expect(readFileSync(kept, 'utf8')).toBe('kept\n')
})
