// A child whose parent has gone becomes the person's, and the parent that comes back is told the truth.
import { afterEach, expect, it } from 'vitest'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import { eventually, script, Stage } from '../supervisor/stage'
import { Parents, type Parent } from './client'

let stage: Stage
const parents = new Parents()
afterEach(async () => {
  await parents.close()
  await stage.clear()
})

const connect = (...args: string[]): Promise<Parent> => parents.connect(stage, args)

const list = { action: 'list' }

async function window(): Promise<Coxswain> {
  const opened = await stage.coxswain({ role: 'window' })
  await opened.tryOwn()
  return opened
}

it('a child is adopted only while its parent is away, and only by a person', async () => {
  stage = Stage.make()
  const coxswain = await window()
  const desk = await connect('--session', 'desk')
  const id = await desk.spawn(script({ say: 'one' }, stage.waits('go')))
  const away = () => coxswain.view.get(id)?.parentAway
  await eventually(() => away() === false, 'the window shows it')
  expect(await coxswain.commands.adopt({ subagent_id: id })).toMatchObject({ error: { code: 'unsupported' } })
  const couch = coxswain.commandsFor({ kind: 'parent', session: 'mcp:couch' })
  expect(await couch.adopt({ subagent_id: id })).toMatchObject({ error: { code: 'unknown_child' } })
  process.kill(desk.pid, 'SIGKILL')
  await eventually(() => away() === true, 'the window sees that nobody speaks for its parent')
  expect((await stage.json('list')).subagents).toMatchObject([{ subagent_id: id, parent_away: true }])
  // Who comes back before has its child as before.
  const again = await connect('--session', 'desk')
  expect(await again.ids()).toEqual([id])
  await eventually(() => away() === false, 'the window sees that it is back')
  const own = coxswain.commandsFor({ kind: 'parent', session: (await stage.child(id)).parentSession })
  await again.close()
  await eventually(() => away() === true, 'it has gone')
  expect(await own.adopt({ subagent_id: id })).toMatchObject({ error: { code: 'unsupported' } })
  expect(await stage.json('adopt', id)).toMatchObject({ action: 'adopt', status: 'done' })
  await eventually(() => coxswain.view.get(id)?.child.parentSession === 'person', 'it is the person-s')
  expect(away()).toBe(false)
  stage.open('go')
  expect((await stage.settled(id)).phase).toBe('SUCCESS')
})

it('the former parent is told once that it was adopted, and why it can do nothing with it', async () => {
  stage = Stage.make()
  const coxswain = await window()
  const desk = await connect('--session', 'desk')
  const { answer } = await desk.call({
    tasks: [{ goal: script({ say: 'kept' }) }, { goal: script({ say: 'given' }, stage.waits('go')) }],
  })
  const [kept, given] = answer.subagent_ids as [string, string]
  await stage.settled(kept)
  await desk.close()
  await eventually(() => coxswain.view.get(given)?.parentAway === true, 'its parent is away')
  expect(await coxswain.commands.adopt({ subagent_id: given })).toMatchObject({ status: 'done' })

  const again = await connect('--session', 'desk')
  const { answer: listed, due } = await again.call(list)
  expect(listed.count).toBe(0)
  // What the other one came to is not held back by the one that is not its any more.
  expect(due).toHaveLength(2)
  expect(due[0]).toMatch(new RegExp(`^Notice ${given}.adopted: .+ADOPTED -- a person`))
  expect(due[1]).toMatch(new RegExp(`^Completion \\S+: 1 child is through[^]+${kept}`))
  for (const wish of [
    { action: 'steer', message: 'Open b.js.' },
    { action: 'stop' },
    { action: 'interrupt' },
    { action: 'resume' },
    { action: 'result' },
  ]) {
    const { answer: refused, due: more } = await again.call({ ...wish, subagent_id: given })
    expect([refused.error.code, more]).toEqual(['adopted', []])
    expect(refused.error.message).toContain('It is theirs now; do not respawn it.')
  }
  const couch = await connect('--session', 'couch')
  const { answer: foreign } = await couch.call({ action: 'stop', subagent_id: given })
  expect(foreign.error.code).toBe('unknown_child')

  stage.open('go')
  await stage.settled(given)
  await again.close()
  const third = await connect('--session', 'desk')
  expect((await third.call(list)).due).toEqual([])
})
