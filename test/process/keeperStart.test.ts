import { afterEach, expect, test } from 'vitest'
import { isRunning } from '../../src/process/identity'
import { clearPlaces, eventually, Heard, makePlace, start, toTheEnd } from './keeperHarness'

afterEach(clearPlaces)

test('what an agent prints arrives whole, in order per stream, before its end is told', async () => {
  const place = await makePlace()
  const link = await start(place, {
    bash: 'for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf tail; exit 3',
  })
  const { exit, heard } = await toTheEnd(link)
  expect(heard.texts()).toEqual(['out 1', 'out 2', 'out 3', 'tail'])
  expect(heard.texts('stderr')).toEqual(['err 1', 'err 2', 'err 3'])
  expect(exit).toMatchObject({ code: 3, signal: null, firstCause: null, exited: true, drained: true, survivors: [] })
  expect(exit).toMatchObject({ killedSweep: [], ladder: [], totals: { stdout: 22, stderr: 18 } })
  await eventually(() => !isRunning(link.keeper), 'the keeper goes once its end was acknowledged')
})

test('frames reach the agent in order, each with its number, and closing the input ends it', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'while read -r line; do echo "got $line"; done; echo over' })
  const heard = new Heard(link)
  expect(await link.write('one\n')).toEqual({ taken: true, seq: 1 })
  expect(await link.write('two\n')).toEqual({ taken: true, seq: 2 })
  await heard.until('got two')
  await link.closeInput()
  expect(await link.write('three\n')).toMatchObject({ taken: false })
  expect((await link.ended).code).toBe(0)
  expect(heard.texts()).toEqual(['got one', 'got two', 'over'])
})

test('an agent that is asked to end dies by SIGTERM, and the first cause stands', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'echo ready; while :; do read -r -t 1000 line; done' })
  const heard = new Heard(link)
  await heard.until('ready')
  await link.requestEnd({ kind: 'interrupt', reason: 'wrong file' })
  await link.requestEnd({ kind: 'stop' })
  const exit = await link.ended
  expect(exit).toMatchObject({ code: null, signal: 'SIGTERM', firstCause: { kind: 'interrupt', reason: 'wrong file' } })
  expect(exit.ladder.map(({ step }) => step)).toEqual(['term'])
})

test('the end is told only after the slowest taker has taken the last line', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'for i in $(seq 5000); do echo $i; done; echo last' })
  let taken = 0
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const followed = link.follow(async (lines) => {
    await held
    taken += lines.length
  })
  await eventually(() => !isRunning(link.agent), 'the agent has ended')
  const told = link.ended.then(() => taken)
  release()
  expect(await told).toBe(5001)
  await followed
})
