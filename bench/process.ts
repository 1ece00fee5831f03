// The process room in figures: what a keeper costs, how fast lines come in, how quick an end is, what a flood does. Each is
// printed beside a bare Node doing the same in the same run, so that a slow machine does not look like a slow keeper.
// Run it with `npm run bench:process`.
import { build } from 'esbuild'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { attemptFiles, segmentName } from '../src/process/attemptFiles'
import { isRunning } from '../src/process/identity'
import type { KeeperLink } from '../src/process/keeperLink'
import { launchDefaults, type Launch } from '../src/process/launch'
import { LineSplitter } from '../src/process/lines'
import { readAll } from '../src/process/rawReader'
import { startKeeper } from '../src/process/startKeeper'
import { quantile, say } from './figures'

const mega = 1024 * 1024
let root = ''
let attempts = 0

async function startAgent(script: string, more: Partial<Launch> = {}): Promise<KeeperLink & { attemptDir: string }> {
  const attemptDir = join(root, `attempt-${++attempts}`)
  await mkdir(attemptDir, { mode: 0o700 })
  const link = await startKeeper({
    nodePath: process.execPath,
    keeperFile: join(root, 'keeper.js'),
    attemptDir,
    socketDir: root,
    environment: { PATH: process.env['PATH'] },
    epoch: 1,
    write: async (path, data) => {
      await writeFile(`${path}.tmp`, data, { mode: 0o600 })
      await rename(`${path}.tmp`, path)
    },
    launch: {
      v: 1,
      childId: 'bench',
      attempt: attempts,
      marker: randomUUID(),
      file: '/bin/bash',
      args: ['-c', script],
      cwd: root,
      environmentNames: ['PATH'],
      secretNames: [],
      input: 'open',
      wallLimitMs: null,
      ...launchDefaults,
      afterWindowCloses: 'keep',
      ...more,
    },
  })
  return Object.assign(link, { attemptDir })
}

async function endAgent(link: KeeperLink): Promise<void> {
  await link.requestEnd({ kind: 'stop' })
  await link.ended
  await link.acknowledgeExit()
}

const quiet = (): void => undefined

/** From asking for an attempt to a running agent with an attached host; beside it a bare Node that says one word. */
async function startTimes(): Promise<void> {
  const [bare, whole]: [number[], number[]] = [[], []]
  for (let n = 0; n < 20; n++) {
    const from = performance.now()
    const child = spawn(process.execPath, ['-e', 'process.stdout.write("x"); setTimeout(() => {}, 9e6)'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await once(child.stdout, 'data')
    bare.push(performance.now() - from)
    child.kill('SIGKILL')
    const started = performance.now()
    const link = await startAgent('read -r x')
    whole.push(performance.now() - started)
    link.follow(quiet).catch(quiet)
    await endAgent(link)
  }
  const [bareMs, wholeMs] = [quantile(bare, 0.5), quantile(whole, 0.5)]
  say('start, median of 20', {
    'agent attached ms': wholeMs,
    'bare node ms': bareMs,
    ratio: wholeMs / bareMs,
    p95: quantile(whole, 0.95),
  })
}

const privateMegabytes = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const kilobytes = [...text.matchAll(/^Private_\w+:\s+(\d+)/gm)].reduce((sum, match) => sum + Number(match[1]), 0)
  return kilobytes / 1024
}
/** Milliseconds on a processor since the start, of all its threads. */
const cpuMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
    .reduce((sum, ms) => sum + ms, 0)

async function idle(): Promise<void> {
  const link = await startAgent('read -r x', { wallLimitMs: 600_000 })
  link.follow(quiet).catch(quiet)
  const bare = spawn(process.execPath, ['-e', 'setInterval(() => {}, 9e6)'], { stdio: 'ignore' })
  await new Promise((next) => setTimeout(next, 500))
  const before = cpuMs(link.keeper.pid)
  await new Promise((next) => setTimeout(next, 10_000))
  const [keeper, node] = [privateMegabytes(link.keeper.pid), privateMegabytes(bare.pid ?? 0)]
  say('idle keeper', {
    'private MB': keeper,
    'bare node MB': node,
    'cpu ms in 10 s': cpuMs(link.keeper.pid) - before,
  })
  bare.kill('SIGKILL')
  await endAgent(link)
}

function intake(): void {
  const texts: string[] = []
  for (let n = 0; n < 200_000; n++)
    texts.push(
      JSON.stringify({
        type: 'text',
        n,
        text: 'a line of ordinary length, as agents write them €',
        usage: { input: n, output: 7 },
      }),
    )
  const bytes = Buffer.from(`${texts.join('\n')}\n`)
  // On the processor's clock: what else runs on this machine is no part of it.
  const cost = (act: () => void): number => {
    const before = process.cpuUsage()
    act()
    return process.cpuUsage(before).user / 1_000
  }
  const bareRun = (): void => {
    for (const text of texts) JSON.parse(text)
  }
  const ourRun = (): void => {
    const splitter = new LineSplitter({ source: 'stdout' })
    for (let at = 0; at < bytes.length; at += 256 * 1024)
      for (const line of splitter.push(bytes.subarray(at, at + 256 * 1024)))
        if (line.kind === 'line') JSON.parse(line.text)
  }
  const runs = Array.from({ length: 9 }, () => [cost(bareRun), cost(ourRun)] as const)
  const [bare, ours] = [0, 1].map((side) =>
    quantile(
      runs.map((run) => run[side] ?? NaN),
      0.5,
    ),
  )
  if (bare === undefined || ours === undefined) return
  say('line intake', { 'of bare JSON.parse': bare / ours, 'MB/s': bytes.length / mega / (ours / 1_000) })
}

async function longLine(): Promise<void> {
  const measure = async (megabytes: number): Promise<[number, number]> => {
    const attemptDir = join(root, `long-${megabytes}`)
    const { raw } = attemptFiles(attemptDir)
    await mkdir(raw, { recursive: true })
    const fd = openSync(join(raw, segmentName('stdout', 0)), 'w')
    const piece = Buffer.alloc(mega, 'q')
    for (let n = 0; n < megabytes; n++) writeSync(fd, piece)
    writeSync(fd, '\nnext\n')
    closeSync(fd)
    const lag = monitorEventLoopDelay({ resolution: 1 })
    lag.enable()
    const from = performance.now()
    let lines = 0
    await readAll(attemptDir, (batch) => void (lines += batch.length), { maxLineBytes: 64 * mega })
    const took = performance.now() - from
    lag.disable()
    if (lines !== 2) throw new Error(`${lines} lines instead of 2`)
    return [took, lag.max / 1e6]
  }
  await measure(1)
  const [[ten], [thirty, lag]] = [await measure(10), await measure(30)]
  say('one line of 30 MB', { ms: thirty, 'times that of 10 MB': thirty / ten, 'loop lag ms': lag })
}

async function flood(): Promise<void> {
  const bytes = 1024 * mega
  const link = await startAgent(`yes "$(printf 'x%.0s' $(seq 100))" | head -c ${bytes}; read -r x`)
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  let [peak, total, gaps] = [0, 0, 0]
  const from = performance.now()
  const through = new Promise<void>((resolve) => {
    link
      .follow((lines) => {
        for (const line of lines) {
          total = line.end
          if (line.kind !== 'line') gaps += line.byteCount
        }
        peak = Math.max(peak, process.memoryUsage().rss)
        link.acknowledge({ stdout: total, stderr: 0 })
        if (total >= bytes - 200) resolve()
      })
      .catch(quiet)
  })
  await through
  const seconds = (performance.now() - from) / 1_000
  say('flood of 1 GB, followed', {
    'host RSS + MB': (peak - before) / mega,
    'MB/s': 1024 / seconds,
    'lost bytes': gaps,
  })
  await endAgent(link)

  const endless = await startAgent('exec yes flood')
  let release = quiet
  const held = new Promise<void>((resolve) => (release = resolve))
  endless.follow(() => held).catch(quiet)
  await new Promise((next) => setTimeout(next, 3_000))
  const unread = process.memoryUsage().rss
  const asked = performance.now()
  await endless.requestEnd({ kind: 'stop' })
  const journaled = performance.now() - asked
  while (isRunning(endless.agent)) await new Promise((next) => setTimeout(next, 5))
  const gone = performance.now() - asked
  say('stop in an unread flood', {
    'asked ms': journaled,
    'agent gone ms': gone,
    'host RSS + MB': (unread - before) / mega,
  })
  release()
  await endless.ended
  await endless.acknowledgeExit()
}

/** An agent that takes 100 ms to end, stopped by the keeper, and by a bare parent with the same ladder. */
async function stops(): Promise<void> {
  const script = 'trap "sleep 0.1; exit 0" TERM; echo up; while :; do read -r -t 600 x || sleep 0.01; done'
  const [asked, ours, bare]: [number[], number[], number[]] = [[], [], []]
  for (let n = 0; n < 20; n++) {
    const child = spawn('/bin/bash', ['-c', script], { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
    await once(child.stdout, 'data')
    const bareFrom = performance.now()
    process.kill(-(child.pid ?? NaN), 'SIGTERM')
    await once(child, 'close')
    bare.push(performance.now() - bareFrom)

    const link = await startAgent(script)
    let up = quiet
    const isUp = new Promise<void>((resolve) => (up = resolve))
    link.follow(() => up()).catch(quiet)
    await isUp
    const from = performance.now()
    await link.requestEnd({ kind: 'stop' })
    asked.push(performance.now() - from)
    await link.ended
    ours.push(performance.now() - from)
    await link.acknowledgeExit()
  }
  const ratio = quantile(ours, 0.5) / quantile(bare, 0.5)
  say('stop, median of 20', {
    'asked p99 ms': quantile(asked, 0.99),
    'settled ms': quantile(ours, 0.5),
    'bare ms': quantile(bare, 0.5),
    ratio,
  })
}

async function latency(): Promise<void> {
  const link = await startAgent(
    `exec ${process.execPath} -e 'let n = 0; const t = setInterval(() => { console.log(performance.timeOrigin + performance.now()); if (++n === 250) clearInterval(t) }, 10)'`,
  )
  const delays: number[] = []
  await link.follow((lines) => {
    const now = performance.timeOrigin + performance.now()
    for (const line of lines) if (line.kind === 'line') delays.push(now - Number(line.text))
  })
  await link.acknowledgeExit()
  say('agent writes → host has it', {
    'p50 ms': quantile(delays, 0.5),
    'p99 ms': quantile(delays, 0.99),
    lines: delays.length,
  })
}

async function main(): Promise<void> {
  root = await mkdtemp(join(tmpdir(), 'cxb-'))
  try {
    await build({
      entryPoints: { keeper: 'src/process/keeper.ts' },
      ...{ outdir: root, bundle: true, platform: 'node', format: 'cjs', target: 'node20' },
    })
    const wanted = process.argv.slice(2)
    for (const [name, measure] of Object.entries({ startTimes, idle, intake, longLine, latency, stops, flood }))
      if (wanted.length === 0 || wanted.includes(name)) await measure()
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error)
    process.exit(1)
  },
)
