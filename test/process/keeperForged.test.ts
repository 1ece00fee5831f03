// Records that lie: a pid is only followed up when everything about the process proves that it is ours.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { attachKeeper, readAgent } from '../../src/process/attachKeeper'
import { attemptFiles } from '../../src/process/attemptFiles'
import { endOrphan } from '../../src/process/endOrphan'
import {
  currentBootId,
  identityOf,
  isRunning,
  parseIdentity,
  readStat,
  signalGroup,
  signalProcess,
} from '../../src/process/identity'
import { clearPlaces, eventually, launchOf, makePlace, type Place } from './keeperHarness'

const bystanders: ChildProcess[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const child of bystanders.splice(0)) child.kill('SIGKILL')
  await clearPlaces()
})

/** A process of someone else, that would say so if it were signalled. */
async function bystander(): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn('/bin/bash', ['-c', 'echo up; read -r over'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  bystanders.push(child)
  if (child.stdout !== null) await once(child.stdout, 'data')
  if (child.pid === undefined) throw new Error('no bystander')
  return { child, pid: child.pid }
}

/** Every signal that would leave this process, kept from leaving. */
function signalsSent(): unknown[][] {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  return kill.mock.calls
}

async function recover(place: Place): Promise<void> {
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 9, helloMs: 500 })
  const agent = attached.kind === 'keeperLost' ? attached.agent : await readAgent(place.attemptDir)
  await endOrphan({ attemptDir: place.attemptDir, marker: place.marker, agent, graceMs: 50, sweepMs: 50 })
}

async function forge(place: Place, agent: unknown, keeper: unknown = agent): Promise<void> {
  const files = attemptFiles(place.attemptDir)
  const launch = { ...launchOf(place, { bash: 'true' }), socketPath: join(place.socketDir, 'gone.sock') }
  await writeFile(files.launch, JSON.stringify(launch))
  await writeFile(files.keeper, JSON.stringify(keeper))
  await writeFile(files.agent, typeof agent === 'string' ? agent : JSON.stringify(agent))
}

test('twenty forged records of an agent lead to no signal at all', async () => {
  const { pid } = await bystander()
  const real = identityOf(pid)
  const own = identityOf(process.pid)
  const parent = identityOf(process.ppid)
  if (!real || !own || !parent) throw new Error('no identities')
  const records: unknown[] = [
    real,
    { ...real, startTime: '1' },
    { ...real, bootId: '00000000-0000-0000-0000-000000000000' },
    { pid },
    { ...real, pid: 0 },
    { ...real, pid: 1 },
    { ...identityOf(1), pid: 1 },
    { ...real, pid: -1 },
    { ...real, pid: -pid },
    own,
    parent,
    { ...real, pid: 2 ** 31 },
    { ...real, pid: 2 ** 53 },
    { ...real, pid: String(pid) },
    { ...real, pid: pid + 0.5 },
    { ...real, pid: null },
    { ...real, startTime: Number(real.startTime) },
    { ...real, bootId: 7 },
    [real],
    `{"pid":${pid},"startTime":"`,
    '\0\0\0\0',
    '',
  ]
  expect(records.length).toBeGreaterThanOrEqual(20)
  const sent = signalsSent()
  for (const record of records) {
    const place = await makePlace()
    await forge(place, record)
    await recover(place)
    expect(sent, JSON.stringify(record)).toEqual([])
  }
  vi.restoreAllMocks()
  expect(isRunning(real)).toBe(true)
})

test('a link, a pipe or a folder in place of a record is no record', async () => {
  const { pid } = await bystander()
  const real = identityOf(pid)
  const sent = signalsSent()
  for (const odd of ['link', 'folder', 'fifo', 'huge']) {
    const place = await makePlace()
    await forge(place, real)
    const { agent } = attemptFiles(place.attemptDir)
    const aside = join(place.root, 'elsewhere.json')
    await rename(agent, aside)
    if (odd === 'link') await symlink(aside, agent)
    if (odd === 'folder') await mkdir(agent)
    if (odd === 'fifo') await once(spawn('mkfifo', [agent]), 'exit')
    if (odd === 'huge') await writeFile(agent, JSON.stringify({ ...real, more: 'x'.repeat(5 * 1024 * 1024) }))
    expect(await readAgent(place.attemptDir), odd).toBe(undefined)
    await recover(place)
    expect(sent, odd).toEqual([])
  }
})

test('an agent that runs under the recorded identity but proves nothing is named and left alone', async () => {
  const { pid } = await bystander()
  const agent = identityOf(pid)
  const place = await makePlace()
  expect(await endOrphan({ attemptDir: place.attemptDir, marker: place.marker, agent, graceMs: 50 })).toEqual({
    ended: [],
    survivors: [],
    unproven: agent,
  })
  expect(agent && isRunning(agent)).toBe(true)
})

test('a torn or foreign record of an end is no end', async () => {
  const whole = {
    ...{ v: 1, childId: 'child-1', attempt: 1, code: 0, signal: null, firstCause: null, exited: true, drained: true },
    ...{ lostBytes: 0, survivors: [], killedSweep: [], ladder: [], at: 1, startedAt: 1, durationMs: 1 },
    ...{ totals: { stdout: 0, stderr: 0 }, inputFlushedSeq: 0 },
  }
  const text = JSON.stringify(whole)
  const place = await makePlace()
  const { exit } = attemptFiles(place.attemptDir)
  await forge(place, { pid: 0 })
  const kindOf = async (content: string): Promise<string> => {
    await writeFile(exit, content)
    return (await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })).kind
  }
  expect(await kindOf(text)).toBe('ended')
  for (let cut = 0; cut < text.length; cut += 7)
    expect(await kindOf(text.slice(0, cut)), text.slice(0, cut)).toBe('keeperLost')
  for (const odd of [
    { v: 2 },
    { totals: {} },
    { code: '0' },
    { firstCause: { kind: 'whim' } },
    { survivors: null },
    { at: -1 },
  ])
    expect(await kindOf(JSON.stringify({ ...whole, ...odd })), JSON.stringify(odd)).toBe('keeperLost')
  expect(await kindOf('\0'.repeat(text.length))).toBe('keeperLost')
})

test('a socket in a keeper record that the recipe did not name is not knocked at', async () => {
  const place = await makePlace()
  const foreign = join(place.root, 'foreign.sock')
  let knocks = 0
  const server = createServer((socket) => {
    knocks += 1
    socket.destroy()
  }).listen(foreign)
  await once(server, 'listening')
  const own = identityOf(process.pid)
  await forge(place, own, { v: 1, ...own, socketPath: foreign })
  expect((await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })).kind).toBe('silent')
  expect(knocks).toBe(0)
  server.close()
})

test('an identity ends with its process: a zombie is not running, and gets no signal', async () => {
  const zombieParent = spawn('/bin/bash', ['-c', 'sleep 0 & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  bystanders.push(zombieParent)
  const [chunk] = (await once(zombieParent.stdout, 'data')) as [Buffer]
  const pid = Number(chunk.toString())
  const row = await eventually(() => {
    const found = readStat(pid)
    return found?.state === 'Z' ? found : undefined
  }, 'a zombie')
  expect(row.startTime).toMatch(/^\d+$/)
  expect(identityOf(pid)).toBe(undefined)
  const sent = signalsSent()
  expect(signalProcess({ pid, startTime: row.startTime, bootId: currentBootId() }, 'SIGTERM')).toBe(false)
  expect(sent).toEqual([])
})

test('a number that passed to another process, or stems from another boot, gets no signal', async () => {
  const { pid } = await bystander()
  const real = identityOf(pid)
  if (real === undefined) throw new Error('no identity')
  const sent = signalsSent()
  for (const other of [
    { ...real, startTime: '1' },
    { ...real, bootId: '00000000-0000-0000-0000-000000000000' },
  ]) {
    expect(isRunning(other)).toBe(false)
    expect(signalProcess(other, 'SIGTERM')).toBe(false)
  }
  expect(sent).toEqual([])
})

test('a name full of parentheses and spaces does not shift the fields of a process', async () => {
  const place = await makePlace()
  const odd = join(place.root, 'a) R 1 (b')
  await copyFile('/bin/sleep', odd)
  const child = spawn(odd, ['600'], { detached: true })
  bystanders.push(child)
  expect(readStat(child.pid ?? 0)).toMatchObject({ name: 'a) R 1 (b', group: child.pid, parent: process.pid })
})

test('neither this process nor its group can be made to signal itself', () => {
  const own = identityOf(process.pid)
  if (own === undefined) throw new Error('no identity')
  const group = readStat(process.pid)?.group ?? 0
  const sent = signalsSent()
  expect(signalProcess(own, 'SIGTERM')).toBe(false)
  for (const target of [0, 1, -1, group, process.pid]) expect(signalGroup(target, own, 'SIGTERM')).toBe(false)
  expect(sent).toEqual([])
})

test('a group is signalled only while its witness is in it', async () => {
  const { pid } = await bystander()
  const { pid: other } = await bystander()
  const witness = identityOf(other)
  if (witness === undefined) throw new Error('no witness')
  const sent = signalsSent()
  expect(signalGroup(pid, witness, 'SIGTERM')).toBe(false)
  expect(sent).toEqual([])
  expect(signalGroup(other, witness, 'SIGTERM')).toBe(true)
  expect(sent).toEqual([[-other, 'SIGTERM']])
})

test('odd parts make no identity', () => {
  const bootId = currentBootId()
  expect(parseIdentity({ pid: 5, startTime: '77', bootId })).toEqual({ pid: 5, startTime: '77', bootId })
  for (const odd of [
    null,
    'x',
    5,
    [],
    {},
    { pid: 5 },
    { pid: 5, startTime: '', bootId },
    { pid: 5, startTime: '7', bootId: '' },
  ])
    expect(parseIdentity(odd)).toBe(undefined)
})
