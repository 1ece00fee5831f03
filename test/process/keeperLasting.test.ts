// What a keeper must outlast: hosts that freeze, race or speak another version, its own being frozen or asked to go,
// hundreds of starts in one window.
import { readdirSync } from 'node:fs'
import { once } from 'node:events'
import { connect } from 'node:net'
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { attachKeeper, readExit, readLaunch } from '../../src/process/attachKeeper'
import { attemptFiles } from '../../src/process/attemptFiles'
import { isRunning } from '../../src/process/identity'
import { openLink } from '../../src/process/keeperLink'
import { nodeCandidates, probeNode } from '../../src/process/probeNode'
import { clearPlaces, eventually, Heard, makePlace, start, toTheEnd, type Place } from './keeperHarness'

const cycles = Number(process.env['COXSWAIN_CYCLES'] ?? 50)
afterEach(clearPlaces)

const echo = { bash: 'echo ready; while read -r line; do echo "got $line"; done; echo over' }

/** Says one line to a keeper and gives its answer and whether it hung up. */
async function say(place: Place, line: string): Promise<{ answer: string; closed: boolean }> {
  const launch = await readLaunch(place.attemptDir)
  if (launch === undefined) throw new Error('no recipe')
  const socket = connect(launch.socketPath)
  let answer = ''
  let closed = false
  socket.on('data', (chunk) => (answer += chunk.toString()))
  socket.on('close', () => (closed = true))
  socket.on('error', () => undefined)
  socket.write(`${line}\n`)
  await eventually(() => answer.includes('\n') || closed, 'an answer')
  socket.destroy()
  return { answer, closed }
}

test('a host of a version the keeper does not speak is told so, and the agent goes on with its own', async () => {
  const place = await makePlace()
  const link = await start(place, echo)
  const heard = new Heard(link)
  expect(JSON.parse((await say(place, '{"t":"hello","versions":[7],"epoch":99}')).answer)).toMatchObject({
    t: 'refused',
    reason: 'version',
  })
  await link.write('still here\n')
  await heard.until('got still here')
})

test('a newer host that also speaks this version is welcome, and a wish unknown to the keeper is answered', async () => {
  const place = await makePlace()
  await start(place, echo)
  const { answer } = await say(place, '{"t":"hello","versions":[1,2],"epoch":99,"more":true}\n{"t":"dance","n":4}')
  const [welcome] = answer.split('\n')
  expect(JSON.parse(welcome ?? '')).toMatchObject({ t: 'welcome', version: 1 })
})

test.each([
  '',
  'null',
  '[]',
  '{}',
  '{"t":"write","n":1,"text":"x"}',
  'GET / HTTP/1.1',
  '{"t":"hello","versions":[1],"epoch":"9"}',
])('noise at the door changes nothing: %s', async (noise) => {
  const place = await makePlace()
  const link = await start(place, echo)
  const heard = new Heard(link)
  await heard.until('ready')
  const launch = await readLaunch(place.attemptDir)
  const socket = connect(launch?.socketPath ?? '')
  socket.on('error', () => undefined)
  socket.end(`${noise}\n`)
  socket.resume()
  await once(socket, 'close')
  await link.write('on\n')
  await heard.until('got on')
})

test('eight hosts at once with one epoch: one of them owns the keeper', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  first.detach()
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, n) => attachKeeper({ attemptDir: place.attemptDir, epoch: 5, hostId: `host ${n}` })),
  )
  expect(all.map(({ kind }) => kind).sort()).toEqual(['live', ...Array.from({ length: 7 }, () => 'refused')])
})

test('a keeper that is frozen is told as silent, and works on once it thaws', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  first.detach()
  process.kill(first.keeper.pid, 'SIGSTOP')
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 2, helloMs: 200 })
  expect(attached).toEqual({ kind: 'silent', keeper: first.keeper })
  process.kill(first.keeper.pid, 'SIGCONT')
  const again = await attachKeeper({ attemptDir: place.attemptDir, epoch: 3 })
  if (again.kind !== 'live') throw new Error(again.kind)
  const heard = new Heard(again.link)
  await again.link.write('thawed\n')
  await heard.until('got thawed')
})

test('a keeper whose socket cannot be reached is not taken for lost while it runs', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  first.detach()
  const launch = await readLaunch(place.attemptDir)
  await rm(launch?.socketPath ?? '')
  expect(await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })).toEqual({
    kind: 'silent',
    keeper: first.keeper,
  })
})

test('a host that was frozen past a deadline first hears what had come in meanwhile', async () => {
  const place = await makePlace()
  const first = await start(place, echo)
  first.detach()
  const launch = await readLaunch(place.attemptDir)
  const opening = openLink({
    attemptDir: place.attemptDir,
    socketPath: launch?.socketPath ?? '',
    epoch: 2,
    helloMs: 400,
  })
  // This thread stands still, as the whole process does when its machine sleeps.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
  const link = await opening
  expect('kind' in link).toBe(false)
})

test('a host that reads nothing costs the keeper no memory and hears the newest when it reads again', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'read -r go; for i in $(seq 200000); do echo $i; done; read -r x' })
  const socket = Reflect.get(link, 'socket') as { pause(): void; resume(): void }
  await link.write('go\n')
  socket.pause()
  await eventually(
    async () => (await stat(rawFile(place)).catch(() => undefined))?.size === 1_288_895,
    'all of it is on disk',
  )
  const status = await readFile(`/proc/${link.keeper.pid}/status`, 'utf8')
  expect(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1])).toBeLessThan(120_000)
  socket.resume()
  const heard = new Heard(link)
  await heard.until('200000')
  expect(heard.texts()).toHaveLength(200_000)
})

const rawFile = (place: Place): string => join(attemptFiles(place.attemptDir).raw, 'stdout-000000000000000.raw')

test('a keeper that is asked to go ends its agent first, and says that this was why', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'sleep 600' })
  process.kill(link.keeper.pid, 'SIGTERM')
  const { exit } = await toTheEnd(link)
  expect(exit).toMatchObject({ firstCause: { kind: 'shutdown' }, signal: 'SIGTERM', survivors: [] })
})

test('the keeper ignores a hang-up of its terminal', async () => {
  const place = await makePlace()
  const link = await start(place, echo)
  process.kill(link.keeper.pid, 'SIGHUP')
  const heard = new Heard(link)
  await link.write('still\n')
  await heard.until('got still')
  expect(isRunning(link.keeper)).toBe(true)
})

test('an unacknowledged end is kept for the lease and then let go, socket and all', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'echo done' }, { exitLeaseMs: 300 })
  await link.follow(() => undefined)
  const exit = await link.ended
  expect(await eventually(() => readExit(place.attemptDir), 'exit.json')).toEqual(exit)
  await eventually(() => !isRunning(link.keeper), 'the lease is over')
  expect(readdirSync(place.socketDir)).toEqual([])
})

test('what a taker throws ends the following, is handed on, and leaves agent and keeper alone', async () => {
  const place = await makePlace()
  const link = await start(place, echo)
  const broken = link.follow(() => {
    throw new Error('no room in the fold')
  })
  await expect(broken).rejects.toThrow('no room in the fold')
  await expect(link.ended).rejects.toThrow('no room in the fold')
  expect(isRunning(link.agent)).toBe(true)
})

test(
  `${cycles} starts and ends leave this process with no more handles than before`,
  { timeout: 60_000 + cycles * 1_000 },
  async () => {
    const cycle = async (n: number): Promise<void> => {
      const place = await makePlace()
      const link = await start(place, { bash: `echo ${n}; [ $((${n} % 2)) = 0 ] || sleep 600` })
      const heard = new Heard(link)
      await heard.until(String(n))
      if (n % 2 === 1) await link.requestEnd({ kind: 'stop' })
      await link.ended
      await link.acknowledgeExit()
      await eventually(() => !isRunning(link.keeper) && !isRunning(link.agent), 'both are gone')
      await clearPlaces()
    }
    const count = (): { fds: number; resources: number } => ({
      fds: readdirSync('/proc/self/fd').length,
      resources: process.getActiveResourcesInfo().length,
    })
    for (let n = 0; n < 3; n++) await cycle(n)
    const before = count()
    for (let n = 0; n < cycles; n++) await cycle(n)
    const after = count()
    expect(after.fds - before.fds).toBeLessThanOrEqual(5)
    expect(after.resources - before.resources).toBeLessThanOrEqual(5)
  },
)

test('a Node is found by trying it: what is none, is too old or says nothing is passed over with the reason', async () => {
  const place = await makePlace()
  const make = async (name: string, script: string): Promise<string> => {
    const path = join(place.root, name)
    await writeFile(path, `#!/bin/bash\n${script}\n`)
    await chmod(path, 0o755)
    return path
  }
  const editor = await make('editor', 'echo opened a second window')
  const hanging = await make('hanging', 'exec sleep 600')
  const old = await make('old', `echo "$(grep -o "'[0-9a-f-]* '" <<<"$2" | tr -d "'")18.20.1"`)
  const absent = join(place.root, 'absent')
  expect(await probeNode([editor, hanging, old, absent], 300)).toEqual({
    found: undefined,
    tried: [
      { path: editor, why: 'does not run as Node' },
      { path: hanging, why: 'no answer in 300 ms' },
      { path: old, why: 'Node 18.20.1 is too old' },
      { path: absent, why: 'no such program' },
    ],
  })
  expect(await probeNode([editor, process.execPath])).toEqual({
    found: { path: process.execPath, version: process.versions.node },
  })
  expect(nodeCandidates('/a:/b')).toEqual([process.execPath, '/a/node', '/b/node'])
})
