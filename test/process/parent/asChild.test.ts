// A child that calls Coxswain itself: it is taken for that child, whatever it does to its environment.
import { afterEach, expect, it } from 'vitest'
import { dist, Stage, type Printed } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

/** Calls the command line with an environment of its own choice and reports what it heard. */
const calls = (args: readonly string[], env: Record<string, string>): string => `
import { spawnSync } from 'node:child_process'
const run = spawnSync(process.execPath, ['${dist}/cli.js', ...${JSON.stringify(args)}, '--json'], {
  env: { PATH: process.env.PATH, HOME: process.env.HOME, ...${JSON.stringify(env)} },
  encoding: 'utf8',
})
console.log(JSON.stringify({ type: 'result', ok: true, summary: run.stdout }))
`

async function heard(args: readonly string[], env: Record<string, string>): Promise<Printed> {
  const place = { COXSWAIN_DATA_DIR: stage.data, ...env }
  const id = await stage.detached(
    { goal: 'Call.', agent: 'kid' },
    '--agents',
    stage.agents(calls([...args, '--repo', stage.repo], place)),
  )
  const child = await stage.settled(id)
  return JSON.parse(child.attempts[0]?.report?.summary ?? '')
}

it('a child that dropped every variable of ours still acts as that child', async () => {
  stage = Stage.make()
  const other = await stage.detached('Somebody else-s work')
  await stage.settled(other)
  const message = "There is no such subagent in this conversation's spawn tree. Use list for the ids that are yours."
  expect(await heard(['show', other], {})).toEqual({ error: { code: 'unknown_child', message } })
  for (const command of ['audit', 'doctor'])
    expect(await heard([command], {})).toMatchObject({ error: { code: 'unsupported' } })
  expect((await stage.json('show', other)).subagent_id).toBe(other)
})

it('a child that empties the variable that names it dispatches nothing as the person', async () => {
  stage = Stage.make()
  const task = stage.tasks('Work of the wrong dispatcher')
  expect(await heard(['run', '--detach', '--task', task], { COXSWAIN_CHILD_ID: '' })).toMatchObject({
    error: { code: 'unsupported' },
  })
  expect(stage.left().children).toHaveLength(1)
})
