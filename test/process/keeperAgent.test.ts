// What an agent finds when it starts: its environment, its pipes, its folder; and what is said when it cannot start.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { attachKeeper } from '../../src/process/attachKeeper'
import { attemptFiles } from '../../src/process/attemptFiles'
import { readInputJournal } from '../../src/process/inputJournal'
import { startKeeper } from '../../src/process/startKeeper'
import {
  clearPlaces,
  eventually,
  Heard,
  keeperFile,
  launchOf,
  makePlace,
  start,
  startOptions,
  toTheEnd,
} from './keeperHarness'

afterEach(clearPlaces)

test('only the variables that are named reach the agent, whatever the editor has around it', async () => {
  const place = await makePlace()
  const around = {
    CLAUDECODE: '1',
    GIT_DIR: '/elsewhere',
    NODE_OPTIONS: '--max-old-space-size=4000',
    ELECTRON_RUN_AS_NODE: '1',
    VSCODE_PID: '1',
    SECRET_OF_ANOTHER: 'x',
  }
  Object.assign(process.env, around)
  try {
    const link = await start(
      place,
      { file: '/usr/bin/env', args: [] },
      { environmentNames: ['PATH', 'WANTED', 'ABSENT', 'ELECTRON_NAMED'] },
      { ...process.env, PATH: '/usr/bin:/bin', WANTED: 'a=b\nc', ELECTRON_NAMED: 'on purpose' },
    )
    const { heard } = await toTheEnd(link)
    expect(heard.texts().sort()).toEqual([
      `COXSWAIN_MARKER=${place.marker}`,
      'ELECTRON_NAMED=on purpose',
      'PATH=/usr/bin:/bin',
      'WANTED=a=b',
      'c',
    ])
  } finally {
    for (const name of Object.keys(around)) Reflect.deleteProperty(process.env, name)
  }
})

test('values of variables are in none of the files, and secrets in neither output nor journal', async () => {
  const place = await makePlace()
  const canary = 'canary-9f8e7d6c5b4a'
  const agent = { bash: 'echo "token is $TOKEN"; echo "$TOKEN" >&2; read -r line; echo "heard $line"' }
  const link = await start(
    place,
    agent,
    { environmentNames: ['PATH', 'TOKEN'], secretNames: ['TOKEN'] },
    { ...process.env, TOKEN: canary },
  )
  await link.write(`use ${canary} now\n`)
  const { heard } = await toTheEnd(link)
  expect(heard.texts()).toEqual(['token is [redacted TOKEN]', 'heard use [redacted TOKEN] now'])
  expect(heard.texts('stderr')).toEqual(['[redacted TOKEN]'])
  expect(await readInputJournal(place.attemptDir)).toMatchObject([{ text: 'use [redacted TOKEN] now\n' }])
  const names = await readdir(place.attemptDir, { recursive: true, withFileTypes: true })
  for (const entry of names.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name)
    expect(await readFile(path, 'utf8'), path).not.toContain(canary)
  }
})

test('every file is private from its creation, and the agent keeps the umask it would have had', async () => {
  const place = await makePlace()
  const former = process.umask(0)
  try {
    const link = await start(place, { bash: 'umask; touch made; read -r x' })
    await link.write('x\n')
    const { heard } = await toTheEnd(link)
    expect(heard.texts()).toEqual(['0000'])
  } finally {
    process.umask(former)
  }
  expect(((await stat(join(place.worktree, 'made'))).mode & 0o777).toString(8)).toBe('666')
  for (const entry of await readdir(place.attemptDir, { recursive: true, withFileTypes: true })) {
    const { mode } = await stat(join(entry.parentPath, entry.name))
    expect(`${entry.name} ${(mode & 0o777).toString(8)}`).toBe(`${entry.name} ${entry.isDirectory() ? '700' : '600'}`)
  }
})

test('files and pipes that leaked into the host reach neither keeper nor agent', async () => {
  const place = await makePlace()
  const leaked = join(place.root, 'editor.log')
  const options = startOptions(place, { bash: 'ls -l /proc/$$/fd; read -r x' })
  // A shell between us and the keeper hands on what Node would close: file 7 and the two ends of a pipe.
  const shim = join(place.root, 'leaky-node')
  await writeFile(
    shim,
    `#!/bin/bash\nexec 7>>"${leaked}" 28>>"${leaked}" 8> >(cat)\nexec "${process.execPath}" "$@"\n`,
    {
      mode: 0o755,
    },
  )
  const link = await startKeeper({ ...options, nodePath: shim })
  const heard = new Heard(link)
  await heard.until((texts) => texts.some((text) => text.includes(' 2 -> ')))
  const links = await readFds(link.keeper.pid)
  expect(links.filter((each) => each.includes('editor.log'))).toEqual([])
  const input = await readlink(`/proc/${link.agent.pid}/fd/0`)
  const pipes = links.filter((each) => each.startsWith('pipe:') && each !== input)
  expect(pipes.filter((each) => pipes.indexOf(each) === pipes.lastIndexOf(each))).toEqual([])
  expect(heard.texts().filter((text) => / ([4-9]|\d\d+) -> /.test(text) && !text.includes('/proc/'))).toEqual([])
  await link.write('x\n')
  await link.ended
})

async function readFds(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`)
  return await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
}

test('an agent may open its streams by name, and reads them as blocking ones', async () => {
  const place = await makePlace()
  const agent = {
    bash: 'echo by name > /dev/stdout; echo by name too > /dev/stderr; python3 -c "import sys; print(sys.stdin.readline().strip())"; cat /dev/stdin',
  }
  const link = await start(place, agent)
  const heard = new Heard(link)
  await heard.until('by name')
  await link.write('a line\n')
  await heard.until('a line')
  await link.write('rest\n')
  await link.closeInput()
  await link.ended
  expect(heard.texts()).toEqual(['by name', 'a line', 'rest'])
  expect(heard.texts('stderr')).toEqual(['by name too'])
})

test('a closed input is at its end at once', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'cat; echo read to the end' }, { input: 'closed' })
  const { heard } = await toTheEnd(link)
  expect(heard.texts()).toEqual(['read to the end'])
})

test('a character written in three parts, on either stream, arrives as one', async () => {
  const place = await makePlace()
  const agent = {
    node: `const w = (s) => { for (const b of [0xe2, 0x82, 0xac, 0x0a]) require('fs').writeSync(s, Buffer.from([b])) }
           w(1); w(2)`,
  }
  const { heard } = await toTheEnd(await start(place, agent))
  expect([heard.texts(), heard.texts('stderr')]).toEqual([['€'], ['€']])
})

test('three megabytes written just before the exit all arrive, the last line with its missing newline', async () => {
  const place = await makePlace()
  const agent = { bash: `head -c 3145728 /dev/zero | tr '\\0' 'x'; printf '\\n{"last":'; exit 0` }
  const { heard, exit } = await toTheEnd(await start(place, agent))
  expect(heard.lines.map((line) => line.end - line.offset)).toEqual([3145729, 8])
  expect(heard.lines.at(-1)).toMatchObject({ text: '{"last":', unterminated: true })
  expect(exit.totals.stdout).toBe(3145737)
})

test('a large frame to an agent that ends without reading is no accident', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'exec 0<&-; echo deaf; sleep 0.2; exit 7' })
  const heard = new Heard(link)
  await heard.until('deaf')
  await link.write(`${'x'.repeat(8 * 1024 * 1024)}\n`)
  expect(await link.ended).toMatchObject({ code: 7, inputFlushedSeq: 0 })
})

test('an agent that does not read gets so much and no more, and whoever writes is told', async () => {
  const place = await makePlace()
  const link = await start(place, {
    bash: 'echo up; read -r go < <(until [ -e go ]; do sleep 0.01; done; echo); wc -c',
  })
  const frame = `${'x'.repeat(64 * 1024 - 1)}\n`
  let taken = 0
  for (;;) {
    const answer = await link.write(frame)
    if (answer.taken !== true) {
      expect(answer).toEqual({ taken: false, reason: 'full' })
      break
    }
    taken += 1
    expect(taken).toBeLessThan(40)
  }
  expect(taken).toBeGreaterThan(8)
  expect(await link.write('x'.repeat(17 * 1024 * 1024))).toEqual({ taken: false, reason: 'tooLarge' })
  await writeFile(join(place.worktree, 'go'), '')
  const heard = new Heard(link)
  await link.closeInput()
  await link.ended
  expect(heard.texts()).toEqual(['up', String(taken * 64 * 1024)])
})

test('a goal of 200 kB goes in by stdin', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'wc -c' })
  await link.write('g'.repeat(200_000))
  await link.closeInput()
  const { heard } = await toTheEnd(link)
  expect(heard.texts()).toEqual(['200000'])
})

test('each reason why an agent cannot start has its own name and says what to do', async () => {
  const place = await makePlace()
  const tool = join(place.root, 'tool')
  await writeFile(tool, '#!/no/such/interpreter\n', { mode: 0o755 })
  const plain = join(place.root, 'plain')
  await writeFile(plain, 'text', { mode: 0o644 })
  const cases: [string, Parameters<typeof start>[1], Parameters<typeof start>[2], RegExp][] = [
    ['cwdMissing', { bash: '' }, { cwd: join(place.root, 'gone') }, /gone does not exist.*start a new child/],
    ['cwdMissing', { bash: '' }, { cwd: plain }, /plain is not a folder/],
    ['programMissing', { file: 'no-such-agent', args: [] }, {}, /none of the folders of PATH.*full path/],
    ['programMissing', { file: join(place.root, 'nothing'), args: [] }, {}, /nothing does not exist.*settings/],
    ['programMissing', { file: tool, args: [] }, {}, /interpreter/],
    ['notExecutable', { file: plain, args: [] }, {}, /chmod/],
    ['argumentsTooLong', { file: '/bin/echo', args: ['x'.repeat(200 * 1024)] }, {}, /by stdin or by file/],
  ]
  for (const [kind, agent, more, words] of cases) {
    const one = await makePlace()
    await expect(start({ ...one, worktree: place.worktree }, agent, more), kind).rejects.toMatchObject({
      name: 'LaunchError',
      kind,
      message: expect.stringMatching(words),
    })
  }
})

test('a start that failed in the keeper is on record for the next host, and the keeper is gone', async () => {
  const place = await makePlace()
  const agent = { file: '/bin/echo', args: ['x'.repeat(200 * 1024)] }
  await expect(start(place, agent)).rejects.toMatchObject({ kind: 'argumentsTooLong' })
  expect(JSON.parse(await readFile(attemptFiles(place.attemptDir).exit, 'utf8'))).toMatchObject({
    launchError: { kind: 'argumentsTooLong' },
    startedAt: null,
    code: null,
  })
  await eventually(async () => (await readdir(place.socketDir)).length === 0, 'the socket is gone')
})

test('a socket path that systems would cut is refused before anything exists', async () => {
  const place = await makePlace()
  const socketDir = join(place.root, 'd'.repeat(90))
  await mkdir(socketDir)
  const options = { ...startOptions(place, { bash: 'true' }), socketDir }
  await expect(startKeeper(options)).rejects.toMatchObject({ kind: 'socketPathTooLong' })
  expect(await readdir(place.attemptDir)).toEqual([])
})

test('a program that is no Node, and one that says nothing, are told as a keeper that could not start', async () => {
  for (const [nodePath, words] of [
    ['/bin/false', /ended at once/],
    ['/no/such/node', /ENOENT/],
  ] as const) {
    const place = await makePlace()
    const options = { ...startOptions(place, { bash: 'true' }), nodePath }
    await expect(startKeeper(options)).rejects.toMatchObject({
      kind: 'keeperFailed',
      message: expect.stringMatching(words),
    })
  }
  const place = await makePlace()
  const options = { ...startOptions(place, { bash: 'true' }), nodePath: '/bin/sleep', keeperFile: '600', readyMs: 200 }
  await expect(startKeeper({ ...options, attemptDir: place.attemptDir })).rejects.toMatchObject({
    kind: 'keeperFailed',
  })
})

test('an attempt that was started before is not started again, and is found at its socket as before', async () => {
  const place = await makePlace()
  const link = await start(place, { bash: 'echo $$ >> ran; read -r x' })
  await expect(start(place, { bash: 'echo $$ >> ran' })).rejects.toMatchObject({ kind: 'alreadyStarted' })
  link.detach()
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 2 })
  if (attached.kind !== 'live') throw new Error(attached.kind)
  await attached.link.write('x\n')
  expect((await toTheEnd(attached.link)).exit.code).toBe(0)
  expect((await readFile(join(place.worktree, 'ran'), 'utf8')).trim().split('\n')).toHaveLength(1)
})

test('of eight keepers for one recipe one starts the agent, and the others leave no trace', async () => {
  const place = await makePlace()
  const { launch, keeper, exit } = attemptFiles(place.attemptDir)
  const socketPath = join(place.socketDir, 'one.sock')
  const recipe = { ...launchOf(place, { bash: 'echo $$ >> ran; read -r x' }), environmentNames: [], socketPath }
  await writeFile(launch, JSON.stringify(recipe))
  const ends = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const child = spawn(process.execPath, [keeperFile, place.attemptDir], {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      })
      const ready = child.stdio[3] as Readable
      const [chunk] = (await once(ready, 'data')) as [Buffer]
      return JSON.parse(chunk.toString()) as { ok: boolean; kind?: string; keeper?: { pid: number } }
    }),
  )
  const winners = ends.filter(({ ok }) => ok)
  expect(winners).toHaveLength(1)
  expect(new Set(ends.map(({ kind }) => kind))).toEqual(new Set([undefined, 'alreadyStarted']))
  expect(JSON.parse(await readFile(keeper, 'utf8'))).toMatchObject({ pid: winners[0]?.keeper?.pid })
  const attached = await attachKeeper({ attemptDir: place.attemptDir, epoch: 1 })
  if (attached.kind !== 'live') throw new Error(attached.kind)
  await expect(stat(exit)).rejects.toMatchObject({ code: 'ENOENT' })
  await attached.link.write('x\n')
  await toTheEnd(attached.link)
  expect((await readFile(join(place.worktree, 'ran'), 'utf8')).trim().split('\n')).toHaveLength(1)
})
