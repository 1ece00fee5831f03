// Hosts that are killed at random moments, one after another, over one agent: whatever each had put down, the next goes
// on after it, and in the end every line was taken once. COXSWAIN_KILLS makes it longer.
import { build } from 'esbuild'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { readExit } from '../../src/process/attachKeeper'
import { attemptFiles } from '../../src/process/attemptFiles'
import { findMembers } from '../../src/process/sweep'
import { clearPlaces, eventually, makePlace, startOptions, type Place } from './keeperHarness'
import { readTaken } from './keeperHost'

const kills = Number(process.env['COXSWAIN_KILLS'] ?? 20)
const timeout = 60_000 + kills * 3_000
let bundleDir = ''
let hostFile = ''
const hosts: ChildProcess[] = []

beforeAll(async () => {
  bundleDir = await mkdtemp(join(tmpdir(), 'cxs-host-'))
  hostFile = join(bundleDir, 'keeperHost.js')
  const entryPoints = { keeperHost: 'test/process/keeperHost.ts' }
  await build({ entryPoints, outdir: bundleDir, bundle: true, platform: 'node', format: 'cjs', target: 'node20' })
})
afterAll(() => rm(bundleDir, { recursive: true, force: true }))
afterEach(async () => {
  for (const host of hosts.splice(0)) host.kill('SIGKILL')
  await clearPlaces()
})

const counting = `
  let n = 0
  process.on('SIGTERM', () => { clearInterval(timer); process.stdout.write('', () => process.exit(0)) })
  const timer = setInterval(() => { let s = ''; for (let i = 0; i < 10; i++) s += (++n) + '\\n'; process.stdout.write(s) }, 5)
`

function startHost(place: Place): ChildProcess {
  const host = spawn(process.execPath, [hostFile, join(place.root, 'options.json')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  hosts.push(host)
  return host
}

async function writeOptions(place: Place, agent: string): Promise<void> {
  const options = {
    ...startOptions(place, { node: agent }),
    environment: { PATH: process.env['PATH'] },
    root: place.root,
  }
  await writeFile(join(place.root, 'options.json'), JSON.stringify(options))
}

const takenOf = (place: Place): ReturnType<typeof readTaken> => readTaken(join(place.root, 'taken.jsonl'))

test(`${kills} hosts killed over one agent leave no gap, no double, and one agent`, { timeout }, async () => {
  const place = await makePlace()
  await writeOptions(place, counting)
  for (let n = 0; n < kills; n++) {
    const before = takenOf(place).length
    const host = startHost(place)
    await eventually(() => {
      if (host.exitCode !== null) throw new Error(`the host ended by itself: ${host.exitCode}`)
      return takenOf(place).length > before
    }, 'the host takes lines')
    await new Promise((next) => setTimeout(next, Math.random() * 120))
    host.kill('SIGKILL')
    await once(host, 'exit')
  }
  const last = startHost(place)
  const before = takenOf(place).length
  await eventually(() => takenOf(place).length > before, 'the last host takes lines')
  const agent = findMembers({ leader: undefined, marker: place.marker, pipes: [] }, false)
  expect(agent.map(({ name }) => name)).toEqual(['node'])
  process.kill(agent[0]?.pid ?? NaN, 'SIGTERM')
  await once(last, 'exit')
  expect(last.exitCode).toBe(0)

  const taken = takenOf(place)
  let [at, line] = [0, 0]
  for (const record of taken) {
    expect({ from: record.from, first: record.first }).toEqual({ from: at, first: line + 1 })
    at = record.to
    line = record.last
  }
  const exit = await readExit(place.attemptDir)
  expect(exit?.totals.stdout).toBe(at)
  expect(line).toBeGreaterThan(kills * 10)
})

test(
  'a host killed right after it asked for a start leaves an agent that is followed, or none for good',
  { timeout },
  async () => {
    const outcomes = new Set<string>()
    for (let n = 0; n < Math.max(8, kills / 4); n++) {
      const place = await makePlace()
      await writeOptions(place, 'console.log(1); setInterval(() => {}, 1000)')
      const host = startHost(place)
      const { launch, keeper } = attemptFiles(place.attemptDir)
      // From the recipe to a few milliseconds after the keeper's claim.
      await eventually(() => readFile(n % 2 === 0 ? launch : keeper).catch(() => undefined), 'the start has begun')
      if (n > 3) await new Promise((next) => setTimeout(next, Math.random() * 40))
      host.kill('SIGKILL')
      await once(host, 'exit')
      const next = startHost(place)
      const said = (await once(next.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
      const outcome = said[0].toString().trim()
      outcomes.add(outcome)
      const members = findMembers({ leader: undefined, marker: place.marker, pipes: [] }, false)
      if (outcome === 'live') expect(members).toHaveLength(1)
      else expect({ outcome, members }).toEqual({ outcome: 'neverStarted', members: [] })
      next.kill('SIGKILL')
      await clearPlaces()
    }
    expect(outcomes).toContain('live')
  },
)
