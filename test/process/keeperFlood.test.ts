// More output than there is room for: nothing a following host would miss is lost, nothing fills the disk, and control
// stays quick.
import { mkdir, readdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { attachKeeper } from '../../src/process/attachKeeper'
import { attemptFiles } from '../../src/process/attemptFiles'
import { stderrTail } from '../../src/process/stderrTail'
import { clearPlaces, eventually, Heard, makePlace, start, toTheEnd, type Place } from './keeperHarness'

afterEach(clearPlaces)

const mega = 1024 * 1024
const small = { rawCapBytes: mega, segmentBytes: mega / 8, stderrCapBytes: mega }
/** Numbered lines of 64 bytes as fast as they go. */
const count = (lines: number): string => `seq -f "%063.0f" 1 ${lines}`

async function onDisk(place: Place): Promise<number> {
  const { raw } = attemptFiles(place.attemptDir)
  const sizes = await Promise.all(
    (await readdir(raw)).map((name) =>
      stat(join(raw, name)).then(
        (found) => found.size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

test('with no host about the oldest output goes, the gap is told, and the live edge stays whole', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: `${count(64 * 1024)}; touch flooded; read -r x` }, small)
  link.detach()
  await eventually(() => stat(join(place.worktree, 'flooded')).catch(() => undefined), 'the flood is over')
  expect(await onDisk(place)).toBeLessThanOrEqual(mega + mega / 8)
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })
  if (attached.kind !== 'live') throw new Error(attached.kind)
  const heard = new Heard(attached.link)
  await attached.link.write('x\n')
  await attached.link.ended
  const [gap, ...rest] = heard.lines
  expect(gap).toMatchObject({ kind: 'gap', offset: 0 })
  expect((gap?.end ?? 0) % 64).toBe(0)
  expect(rest.length).toBeGreaterThan(8 * 1024)
  const numbers = rest.map((line) => (line.kind === 'line' ? Number(line.text) : line.kind))
  const first = (gap?.end ?? 0) / 64 + 1
  expect(numbers).toEqual(Array.from({ length: 64 * 1024 - first + 1 }, (_, index) => first + index))
  const records = (await readFile(attemptFiles(place.attemptDir).gaps, 'utf8')).trim().split('\n')
  expect(JSON.parse(records[0] ?? '')).toMatchObject({ source: 'stdout', offset: 0, folded: false })
})

test('once output is dropped it is drained at eight megabytes a second, not as fast as a core can', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: `head -c ${9 * mega} /dev/zero; touch flooded; read -r x` }, small)
  link.detach()
  const from = performance.now()
  await eventually(() => stat(join(place.worktree, 'flooded')).catch(() => undefined), 'the flood is over')
  const seconds = (performance.now() - from) / 1_000
  expect(seconds).toBeGreaterThan(0.8)
  expect(seconds).toBeLessThan(4)
})

test('a slow host that folds what it takes misses nothing of a flood, and the folded makes room', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: count(96 * 1024) }, small)
  let expected = 1
  let biggest = 0
  await link.follow(async (lines) => {
    for (const line of lines) {
      if (line.kind !== 'line' || Number(line.text) !== expected)
        throw new Error(`expected ${expected}: ${JSON.stringify(line)}`)
      expected += 1
    }
    await new Promise((next) => setTimeout(next, 5))
    biggest = Math.max(biggest, await onDisk(place))
    link.acknowledge({ stdout: lines.at(-1)?.end ?? 0, stderr: 0 })
  })
  expect(expected).toBe(96 * 1024 + 1)
  expect(biggest).toBeLessThanOrEqual(mega + mega / 4)
  expect(await link.ended).toMatchObject({ drained: true, lostBytes: 0 })
})

test('a host that folds nothing for long holds the agent up no longer', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: `${count(32 * 1024)}; echo through` }, small)
  const { heard, exit } = await toTheEnd(link)
  expect(heard.texts().at(-1)).toBe('through')
  expect(exit.totals.stdout).toBe(32 * 1024 * 64 + 8)
})

test('a stop amid a flood that nobody reads is over within a second', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'exec yes flood' }, small)
  await eventually(async () => (await onDisk(place)) > mega / 2, 'the flood has begun')
  const from = performance.now()
  await link.requestEnd({ kind: 'stop' })
  expect(performance.now() - from).toBeLessThan(100)
  const { exit } = await toTheEnd(link)
  expect(performance.now() - from).toBeLessThan(1_000)
  expect(exit).toMatchObject({ signal: 'SIGTERM', survivors: [], lostBytes: 0 })
})

test('while the disk takes nothing the agent waits, is told about, and loses nothing', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'read -r go; echo first; echo second; read -r more; echo third' })
  const { raw } = attemptFiles(place.attemptDir)
  await rename(raw, `${raw}.away`)
  const troubled = new Promise<string>((resolve) => (link.onTrouble = resolve))
  const heard = new Heard(link)
  await link.write('go\n')
  expect(await troubled).toMatch(/ENOENT/)
  await mkdir(raw, { mode: 0o700 })
  await heard.until('second')
  await link.write('more\n')
  expect(await link.ended).toMatchObject({ code: 0, drained: true, lostBytes: 0 })
  expect(heard.texts()).toEqual(['first', 'second', 'third'])
})

test('what a full disk never took is counted at the end, not passed over', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'read -r go; echo nobody will read this; exit 0' })
  const { raw } = attemptFiles(place.attemptDir)
  await rename(raw, `${raw}.away`)
  const heard = new Heard(link)
  await link.write('go\n')
  expect(await link.ended).toMatchObject({ code: 0, drained: false, lostBytes: 22, totals: { stdout: 0, stderr: 0 } })
  expect(heard.lines).toEqual([])
})

test('the stderr tail is the last twenty lines, read from the end across segments', async () => {
  const place = await makePlace()
  const agent = { bash: 'for i in $(seq 1 3000); do echo "error number $i €" >&2; done; printf "cut off" >&2' }
  await toTheEnd(await start(place, agent, { segmentBytes: 1_000 }))
  const tail = await stderrTail(place.attemptDir)
  expect(tail).toHaveLength(20)
  expect(tail.slice(0, 2)).toEqual(['error number 2982 €', 'error number 2983 €'])
  expect(tail.slice(-2)).toEqual(['error number 3000 €', 'cut off'])
})

test('the stderr tail of endless lines is bounded, and of nothing empty', async () => {
  const place = await makePlace()
  expect(await stderrTail(place.attemptDir)).toEqual([])
  const agent = { bash: 'head -c 100001 /dev/zero | sed "s/\\x0/€/g" >&2' }
  await toTheEnd(await start(place, agent))
  const tail = await stderrTail(place.attemptDir)
  expect(tail).toEqual(['€'.repeat(Math.floor((16 * 1024) / 3))])
})
