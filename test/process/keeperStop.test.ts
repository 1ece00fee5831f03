// The end of a tree: asked, waited for, killed, swept, and told as it was.
import { readdir } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { readExit } from '../../src/process/attachKeeper'
import { isDead, readStat } from '../../src/process/identity'
import { clearPlaces, eventually, Heard, makePlace, start, toTheEnd, type Agent, type Place } from './keeperHarness'

afterEach(clearPlaces)

/** Every process of an agent leaves a file named after its pid in the worktree. */
const mark = 'touch "pid-$BASHPID";'
const pidsOf = async (place: Place): Promise<number[]> =>
  (await readdir(place.worktree)).flatMap((name) => (name.startsWith('pid-') ? [Number(name.slice(4))] : []))
const livingOf = async (place: Place): Promise<number[]> =>
  (await pidsOf(place)).filter((pid) => {
    const row = readStat(pid)
    return row !== undefined && !isDead(row)
  })
const allUp = (place: Place, count: number): Promise<boolean> =>
  eventually(async () => (await pidsOf(place)).length >= count, `${count} processes are up`)

const deaf = 'trap "" TERM HUP INT;'
/** A process that lives for ten minutes by itself; `exec` so that its marked pid is the sleeper's. */
const sleeper = (inside: string): string => `bash -c '${inside} touch "pid-$$"; exec sleep 600'`

const trees: Record<string, { agent: Agent; count: number }> = {
  'a loop deaf to TERM, HUP and INT': {
    agent: { bash: `${deaf} ${mark} echo up; while :; do sleep 0.05; done` },
    count: 1,
  },
  'children in the group': {
    agent: { bash: `${mark} for i in 1 2 3; do ${sleeper('')} & done; echo up; wait` },
    count: 4,
  },
  'deaf children in sessions of their own': {
    agent: { bash: `${mark} for i in 1 2 3; do setsid ${sleeper(deaf)} & done; echo up; wait` },
    count: 4,
  },
  'a daemon by double fork': {
    agent: { bash: `${mark} (setsid ${sleeper(deaf)} </dev/null >/dev/null 2>&1 &) ; echo up; sleep 600` },
    count: 2,
  },
  'an escapee with a clean environment that holds the pipe': {
    agent: { bash: `${mark} (setsid env -i ${sleeper(deaf)} &) ; echo up; sleep 600` },
    count: 2,
  },
  'a job of its own group with a clean environment and closed pipes': {
    agent: { bash: `set -m; ${mark} env -i ${sleeper(deaf)} </dev/null >/dev/null 2>&1 & echo up; sleep 600` },
    count: 2,
  },
  'a deaf parent that goes on forking into sessions of their own': {
    agent: { bash: `${deaf} ${mark} echo up; while :; do setsid ${sleeper(deaf)} & sleep 0.01; done` },
    count: 5,
  },
  'nohup in the group with closed pipes': {
    agent: { bash: `${mark} nohup env -i ${sleeper(deaf)} </dev/null >/dev/null 2>&1 & echo up; sleep 600` },
    count: 2,
  },
}

test.each(Object.entries(trees))('nothing survives a stop: %s', async (_, { agent, count }) => {
  const place = await makePlace()
  const link = await start(place, agent, { graceMs: 300 })
  const heard = new Heard(link)
  await heard.until('up')
  await allUp(place, count)
  const from = performance.now()
  await link.requestEnd({ kind: 'stop' })
  const exit = await link.ended
  expect(await livingOf(place)).toEqual([])
  expect(exit).toMatchObject({ firstCause: { kind: 'stop' }, survivors: [], exited: true, drained: true })
  expect(performance.now() - from).toBeLessThan(300 + 2_000)
})

const rounds = Number(process.env['COXSWAIN_TREES'] ?? 20)
test(
  `${rounds} trees of every kind, four at a time, leave no survivor after grace and two seconds`,
  async () => {
    const kinds = Object.values(trees)
    const stopOne = async (n: number): Promise<void> => {
      const { agent, count } = kinds[n % kinds.length] ?? { agent: { bash: '' }, count: 0 }
      const place = await makePlace()
      const link = await start(place, agent, { graceMs: 200 })
      await allUp(place, count)
      await link.requestEnd({ kind: 'stop' })
      const { exit } = await toTheEnd(link)
      expect({ living: await livingOf(place), survivors: exit.survivors }).toEqual({ living: [], survivors: [] })
      const asked = exit.ladder[0]?.afterMs ?? NaN
      expect((exit.durationMs ?? NaN) - asked).toBeLessThan(200 + 2_000)
    }
    let next = 0
    const lane = async (): Promise<void> => {
      while (next < rounds) await stopOne(next++)
    }
    await Promise.all([lane(), lane(), lane(), lane()])
  },
  60_000 + rounds * 2_000,
)

test('a stopped agent still hears that it is asked to end', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'trap "echo goodbye; exit 0" TERM; echo up; kill -STOP $$; sleep 600' })
  const heard = new Heard(link)
  await heard.until('up')
  await eventually(() => readStat(link.agent.pid)?.state === 'T', 'the agent has stopped')
  await link.requestEnd({ kind: 'stop' })
  const exit = await link.ended
  expect(heard.texts()).toEqual(['up', 'goodbye'])
  expect(exit.ladder.map(({ step }) => step)).toEqual(['term'])
})

test('what ignores SIGTERM is given the grace and then named as killed', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: `${mark} setsid ${sleeper(deaf)} & echo up; wait` }, { graceMs: 400 })
  await allUp(place, 2)
  await link.requestEnd({ kind: 'stop' })
  const { exit } = await toTheEnd(link)
  expect(exit.ladder.map(({ step }) => step)).toEqual(['term', 'kill'])
  const [term, kill] = exit.ladder.map(({ afterMs }) => afterMs)
  expect((kill ?? 0) - (term ?? 0)).toBeGreaterThanOrEqual(399)
  expect(exit.killedSweep).toMatchObject([{ name: 'sleep', bond: 'marker' }])
  expect(exit.signal).toBe('SIGTERM')
})

test('the agent itself is not named among what was killed besides it', async () => {
  const place = await makePlace()
  const link = await start(
    place,
    { bash: 'trap "" TERM; echo up; while :; do read -r -t 600 x; done' },
    { graceMs: 100 },
  )
  const heard = new Heard(link)
  await heard.until('up')
  await link.requestEnd({ kind: 'stop' })
  expect(await link.ended).toMatchObject({ signal: 'SIGKILL', killedSweep: [], survivors: [] })
})

test('an agent that ends by itself takes what it left behind with it, by name, and is not held up by it', async () => {
  const place = await makePlace()
  const link = await start(place, {
    bash: `${mark} ${sleeper('')} & echo result; until [ -e pid-$! ]; do :; done; exit 4`,
  })
  const from = performance.now()
  const { exit, heard } = await toTheEnd(link)
  expect(performance.now() - from).toBeLessThan(3_000)
  expect(heard.texts()).toEqual(['result'])
  expect(exit).toMatchObject({ code: 4, firstCause: null, drained: true, survivors: [] })
  expect(exit.killedSweep).toMatchObject([{ name: 'sleep', bond: 'group' }])
  expect(await livingOf(place)).toEqual([])
})

test('an agent that only waits for its own helpers to finish is given a moment', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: '(sleep 0.05; echo helper done) & exit 0' })
  const { exit, heard } = await toTheEnd(link)
  expect(heard.texts()).toEqual(['helper done'])
  expect(exit.killedSweep).toEqual([])
})

test('the soft way comes first and may be all that is needed', async () => {
  const place = await makePlace()
  const agent = { bash: 'trap "echo saved; exit 0" INT; echo up; while :; do sleep 0.02; done' }
  const link = await start(place, agent)
  const heard = new Heard(link)
  await heard.until('up')
  await link.requestEnd({ kind: 'interrupt' }, { signal: 'SIGINT', afterMs: 10_000 })
  const exit = await link.ended
  expect(heard.texts()).toEqual(['up', 'saved'])
  expect(exit).toMatchObject({ code: 0, signal: null, firstCause: { kind: 'interrupt' } })
  expect(exit.ladder.map(({ step }) => step)).toEqual(['soft'])
})

test('end of input as the soft way, and SIGTERM when it is not heeded', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'echo up; cat; echo eof; sleep 600' })
  const heard = new Heard(link)
  await heard.until('up')
  await link.requestEnd({ kind: 'stop' }, { closeInput: true, afterMs: 200 })
  const exit = await link.ended
  expect(heard.texts()).toEqual(['up', 'eof'])
  expect(exit.ladder.map(({ step }) => step)).toEqual(['closeInput', 'term'])
})

test('a second request without a soft way cuts the wait of the first short, and the first cause stands', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'trap "" INT; echo up; while :; do sleep 0.02; done' })
  const heard = new Heard(link)
  await heard.until('up')
  await link.requestEnd({ kind: 'interrupt' }, { signal: 'SIGINT', afterMs: 60_000 })
  await link.requestEnd({ kind: 'stop' })
  expect((await link.ended).firstCause).toEqual({ kind: 'interrupt' })
})

test('a request after the agent has ended by itself changes nothing of how it ended', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'exit 7' })
  const { exit } = await toTheEnd(link)
  await link.requestEnd({ kind: 'stop' })
  expect(exit).toMatchObject({ code: 7, firstCause: null })
})

test('the wall limit ends the agent with the cause timeout', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'sleep 600' }, { wallLimitMs: 150 })
  const { exit } = await toTheEnd(link)
  expect(exit).toMatchObject({ firstCause: { kind: 'timeout' }, signal: 'SIGTERM' })
  expect(exit.durationMs).toBeGreaterThanOrEqual(149)
})

test('while the clock is paused no limit is reached, and afterwards the rest of it counts', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'read -r go; echo went; sleep 600' }, { wallLimitMs: 400 })
  await link.pauseClock()
  const heard = new Heard(link)
  const elapsed = performance.now()
  await eventually(() => performance.now() - elapsed > 900, 'more than the limit has passed')
  await link.write('go\n')
  await heard.until('went')
  await link.resumeClock()
  expect((await link.ended).firstCause).toEqual({ kind: 'timeout' })
})

test('with no window about, the agent goes on or is paused after the lease, as was said at its start', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'sleep 600' }, { afterWindowCloses: { pauseAfterMs: 200 } })
  link.detach()
  const exit = await eventually(() => readExit(place.attemptDir), 'the lease has ended the agent')
  expect(exit).toMatchObject({ firstCause: { kind: 'lease' }, signal: 'SIGTERM', survivors: [] })
})

test('a window that stays keeps the lease from running', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'sleep 0.6; echo done' }, { afterWindowCloses: { pauseAfterMs: 200 } })
  const { exit, heard } = await toTheEnd(link)
  expect(heard.texts()).toEqual(['done'])
  expect(exit.firstCause).toBe(null)
})
