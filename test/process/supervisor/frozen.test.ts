import { afterEach, expect, it } from 'vitest'
import { eventually, kill, script, Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

it('a frozen owner loses its store to the next command, and writes nothing once it thaws', async () => {
  stage = Stage.make()
  const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
  await eventually(() => stage.said(id).includes('one'), 'the child works')
  const frozen = await stage.owner()
  if (frozen === undefined) throw new Error('nobody owns the store')
  kill(frozen.process.pid, 'SIGSTOP')
  const answer = await stage.json('steer', id, 'Open auth.js.')
  expect(answer.status).toBe('queued')
  const owner = await stage.owner()
  expect([owner?.role, (owner?.epoch ?? 0) > frozen.epoch]).toEqual(['background', true])
  kill(frozen.process.pid, 'SIGCONT')
  await eventually(() => !stage.ps().some(({ pid }) => pid === frozen.process.pid), 'the thawed owner leaves')
  const takenAt = stage.events(id).findIndex((event) => event.epoch === owner?.epoch)
  stage.open('go')
  const child = await stage.settled(id)
  const later = stage.events(id).slice(takenAt)
  expect(later.filter((event) => event.epoch !== owner?.epoch)).toEqual([])
  expect(child.steers.map(({ text, state }) => [text, state])).toEqual([['Open auth.js.', 'confirmed']])
  expect([child.phase, child.attempts.length, stage.said(id)[0], stage.said(id).at(-1)]).toEqual([
    'SUCCESS',
    1,
    'one',
    expect.any(String),
  ])
  await stage.untilNothingRuns()
})
