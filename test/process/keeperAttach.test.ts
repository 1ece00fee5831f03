import { readFile, writeFile } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { attachKeeper } from '../../src/process/attachKeeper'
import { attemptFiles } from '../../src/process/attemptFiles'
import { endOrphan } from '../../src/process/endOrphan'
import { isRunning, signalProcess } from '../../src/process/identity'
import type { KeeperLink } from '../../src/process/keeperLink'
import { readInputJournal } from '../../src/process/inputJournal'
import type { RawLine } from '../../src/process/lines'
import { clearPlaces, eventually, Heard, makePlace, start, type Place } from './keeperHarness'

afterEach(clearPlaces)

const echo = { bash: 'echo ready; while read -r line; do echo "got $line"; done; echo over' }

async function attachLive(place: Place, epoch: number, from?: { stdout: number; stderr: number }): Promise<KeeperLink> {
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch, ...(from ? { from } : {}) })
  if (attached.kind !== 'live') throw new Error(`not live: ${JSON.stringify(attached)}`)
  return attached.link
}

const lastEnd = (lines: readonly RawLine[]): number => lines.at(-1)?.end ?? 0

test('a second host goes on at the very line where the first let go', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  const heard = new Heard(first)
  await first.write('a\n')
  await heard.until('got a')
  first.detach()
  await expect(first.ended).rejects.toMatchObject({ loss: 'detached' })
  const second = await attachLive(place, 2, { stdout: lastEnd(heard.lines), stderr: 0 })
  expect(second.lastSeq).toBe(1)
  const heardAgain = new Heard(second)
  await second.write('b\n')
  await second.closeInput()
  await second.ended
  expect([...heard.texts(), ...heardAgain.texts()]).toEqual(['ready', 'got a', 'got b', 'over'])
})

test('a refold from the start reads the same lines again, and the journal tells what was sent and when', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  const heard = new Heard(first)
  await heard.until('ready')
  await first.write('a\n', 'steer-1')
  await heard.until('got a')
  first.detach()
  const second = await attachLive(place, 2)
  const heardAgain = new Heard(second)
  await heardAgain.until('got a')
  expect(heardAgain.lines).toEqual(heard.lines)
  expect(await readInputJournal(place.attemptDir)).toEqual([
    { seq: 1, id: 'steer-1', at: expect.any(Number), after: { stdout: 6, stderr: 0 }, text: 'a\n' },
  ])
})

test('a frame sent again under its id, by another host, reaches the agent once', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  expect(await first.write('a\n', 'steer-1')).toEqual({ taken: true, seq: 1 })
  first.detach()
  const second = await attachLive(place, 2)
  const heard = new Heard(second)
  expect(await second.write('a\n', 'steer-1')).toEqual({ taken: true, seq: 1 })
  expect(await second.write('b\n', 'steer-2')).toEqual({ taken: true, seq: 2 })
  await second.closeInput()
  await second.ended
  expect(heard.texts()).toEqual(['ready', 'got a', 'got b', 'over'])
})

test('a host with a higher epoch takes over; the former is fenced, and none with the same or a lower one gets in', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  const followed = expect(first.follow(() => undefined)).rejects.toMatchObject({ loss: 'fenced' })
  const second = await attachLive(place, 7)
  await followed
  expect(await first.write('late\n')).toEqual({ taken: 'unknown' })
  for (const epoch of [7, 1])
    expect(await attachKeeper({ attemptDir: place.attemptDir, epoch, hostId: 'another' })).toMatchObject({
      kind: 'refused',
      reason: 'epoch',
    })
  const heard = new Heard(second)
  await second.closeInput()
  await second.ended
  expect(heard.texts()).toEqual(['ready', 'over'])
})

test('a host may come again with its own epoch, and replaces a connection of its own that it has given up', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  const followed = expect(first.follow(() => undefined)).rejects.toMatchObject({ loss: 'fenced' })
  const again = await attachLive(place, 1)
  await followed
  again.detach()
  const third = await attachLive(place, 1)
  const heard = new Heard(third)
  await third.write('a\n')
  await heard.until('got a')
})

test('an attempt that ended while nobody watched is read from its files after the keeper has gone', async () => {
  const place = await makePlace()
  const first = await start(place, { bash: 'read -r go; echo last words; exit 5' }, { exitLeaseMs: 1 })
  await first.write('go\n')
  first.detach()
  await eventually(() => !isRunning(first.keeper), 'the keeper goes after its lease')
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })
  if (attached.kind !== 'ended') throw new Error(attached.kind)
  expect(attached.exit).toMatchObject({ code: 5, firstCause: null, drained: true })
  const lines: RawLine[] = []
  await attached.readLines((batch) => void lines.push(...batch))
  expect(lines).toMatchObject([{ kind: 'line', text: 'last words', offset: 0, end: 11 }])
})

test('a host that comes after the end hears of it, and its acknowledgement lets the keeper go', async () => {
  const place = await makePlace()
  const first = await start(place, { bash: 'echo quick' })
  first.detach()
  await eventually(() => readFile(attemptFiles(place.attemptDir).exit).catch(() => undefined), 'exit.json')
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })
  if (attached.kind !== 'ended') throw new Error(attached.kind)
  expect(isRunning(first.keeper)).toBe(true)
  await attached.acknowledgeExit()
  await eventually(() => !isRunning(first.keeper), 'the keeper goes once its end was acknowledged')
})

test('when the keeper is killed the attempt is told as lost, and its silent agent can be ended', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'echo ready; trap "" HUP; sleep 600 & wait' })
  const heard = new Heard(link)
  heard.done.catch(() => undefined)
  await heard.until('ready')
  signalProcess(link.keeper, 'SIGKILL')
  await expect(link.ended).rejects.toMatchObject({ loss: 'keeperLost' })
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })
  if (attached.kind !== 'keeperLost') throw new Error(attached.kind)
  expect(attached).toMatchObject({ agent: link.agent, agentRunning: true })
  const lines: RawLine[] = []
  await attached.readLines((batch) => void lines.push(...batch))
  expect(lines).toMatchObject([{ text: 'ready' }])
  const end = await endOrphan({
    attemptDir: place.attemptDir,
    marker: place.marker,
    agent: attached.agent,
    graceMs: 3_000,
  })
  expect(end).toMatchObject({ survivors: [], unproven: undefined })
  expect(end.ended.map(({ name }) => name).sort()).toEqual(['bash', 'sleep'])
  expect(isRunning(link.agent)).toBe(false)
})

test('an attempt whose keeper never came up is forbidden to start from then on', async () => {
  const place = await makePlace()
  await writeFile(attemptFiles(place.attemptDir).launch, '{}')
  const createExclusively = async (path: string, data: string): Promise<boolean> =>
    writeFile(path, data, { flag: 'wx' }).then(
      () => true,
      () => false,
    )
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 1, createExclusively })
  expect(attached).toEqual({ kind: 'neverStarted', forbidden: true })
  await expect(start(place, { bash: 'echo must not run' })).rejects.toMatchObject({ kind: 'alreadyStarted' })
})
