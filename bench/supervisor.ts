// The supervisor in figures: how long a wish takes until it is answered with fifty children about, what a child costs per
// event, how soon its first output is there. Each stands beside a bare program, or a bare disk, doing the same in the same
// run. Run it with `npm run bench:supervisor`.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { isLive } from '../src/core/child'
import { ChildLog } from '../src/record/childLog'
import type { Coxswain } from '../src/supervisor/coxswain'
import { listAnswer } from '../src/supervisor/payloads'
import { Stage } from '../test/process/supervisor/stage'
import { quantile, round, say } from './figures'

const around = 50

const pause = (ms: number): Promise<void> => new Promise((next) => setTimeout(next, ms))
const timed = async (act: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await act()
  return performance.now() - from
}

const sh = (script: string): object => ({
  kind: 'commandLine',
  command: ['/bin/sh', '-c', script],
  protocol: 'lines',
})
const say1 = (line: object): string => `echo '${JSON.stringify(line)}'`
const ready = say1({ type: 'ready', session_id: 's' })
const result = say1({ type: 'result', ok: true, summary: 'done' })
const slowEnd = `trap 'sleep 0.1; exit 0' INT TERM; echo up; while :; do sleep 0.01; done`
/** Agents as plain as can be: what is measured is not theirs. */
const agents = {
  idle: sh(`${ready}; exec sleep 100000`),
  brief: sh(`${ready}; ${result}`),
  first: sh(`${say1({ type: 'text', text: 'first' })}; ${result}`),
  // Asked by a signal at once, as the bare one is.
  slowEnd: { ...sh(slowEnd), protocol: 'text' },
  // Twenty lines a second for ten seconds.
  talk: sh(
    `${ready}; n=0; while [ $n -lt 200 ]; do n=$((n+1)); ${say1({ type: 'text', text: 'a line of ordinary length' })}; sleep 0.05; done; ${result}`,
  ),
}

interface Bench {
  readonly stage: Stage
  readonly coxswain: Coxswain
}

async function setUp(more: Record<string, unknown> = {}): Promise<Bench> {
  const stage = Stage.make()
  const set = { maxChildrenTotal: 200, maxChildrenPerParent: 200, agents, childTimeoutSeconds: 0, ...more }
  const coxswain = await stage.coxswain({ set })
  return { stage, coxswain }
}

async function dispatch({ coxswain }: Bench, agent: string): Promise<string> {
  const answer = await coxswain.commands.spawn({ tasks: [{ goal: 'Measure.', agent }] })
  if (!('subagent_ids' in answer)) throw new Error(JSON.stringify(answer))
  return answer.subagent_ids[0] ?? ''
}

/** Resolves when the fold of a child fits, looked at each time it changes. */
async function until(
  { coxswain }: Bench,
  id: string,
  fits: (view: NonNullable<ReturnType<typeof coxswain.view.get>>) => boolean,
): Promise<void> {
  const is = (): boolean => {
    const view = coxswain.view.get(id)
    return view !== undefined && fits(view)
  }
  if (is()) return
  await new Promise<void>((resolve) => {
    const following = coxswain.view.onDidChange((changed) => {
      if (changed !== id || !is()) return
      following.dispose()
      resolve()
    })
  })
}
const settled = (bench: Bench, id: string): Promise<void> =>
  until(bench, id, ({ child }) => child.completions.length > 0)

async function crowd(bench: Bench): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < around; n++) ids.push(await dispatch(bench, 'idle'))
  for (const id of ids) await until(bench, id, ({ child }) => child.attempts[0]?.ready === true)
  return ids
}

/** One record as a careful program writes it: a folder, a file in it, its data and the folder's entry on the medium. */
async function bareRecord(root: string, n: number): Promise<void> {
  const folder = join(root, `bare-${n}`)
  await mkdir(folder, { mode: 0o700 })
  const file = await open(join(folder, 'record'), 'a', 0o600)
  await file.write('x'.repeat(1_500))
  await file.datasync()
  await file.close()
  const parent = await open(root, 'r')
  await parent.sync()
  await parent.close()
}

async function bareAppend(file: Awaited<ReturnType<typeof open>>): Promise<void> {
  await file.write('x'.repeat(300))
  await file.datasync()
}

/** Wishes while fifty children live. */
async function wishes(): Promise<void> {
  const bench = await setUp()
  try {
    const crowdIds = await crowd(bench)
    const [spawns, bareRecords]: [number[], number[]] = [[], []]
    for (let n = 0; n < 100; n++) {
      await pause(20)
      bareRecords.push(await timed(() => bareRecord(bench.stage.data, n)))
      await pause(20)
      let id = ''
      spawns.push(await timed(async () => void (id = await dispatch(bench, 'brief'))))
      await settled(bench, id)
    }
    say('spawn → handle', {
      'p50 ms': quantile(spawns, 0.5),
      'p99 ms': quantile(spawns, 0.99),
      'bare record p50': quantile(bareRecords, 0.5),
      'bare record p99': quantile(bareRecords, 0.99),
      live: around,
    })

    const [steers, bareAppends]: [number[], number[]] = [[], []]
    const file = await open(join(bench.stage.data, 'appended'), 'a')
    for (let n = 0; n < 200; n++) {
      await pause(10)
      bareAppends.push(await timed(() => bareAppend(file)))
      await pause(10)
      const subagent_id = crowdIds[n % crowdIds.length] ?? ''
      steers.push(await timed(() => bench.coxswain.commands.steer({ subagent_id, message: `Note ${n}.` })))
    }
    await file.close()
    say('steer → queued', {
      'p50 ms': quantile(steers, 0.5),
      'p99 ms': quantile(steers, 0.99),
      'bare append p50': quantile(bareAppends, 0.5),
      'bare append p99': quantile(bareAppends, 0.99),
      live: around,
    })

    const interrupts: number[] = []
    for (const subagent_id of crowdIds) {
      await pause(50)
      interrupts.push(await timed(() => bench.coxswain.commands.interrupt({ subagent_id })))
    }
    say('interrupt returns', { 'p50 ms': quantile(interrupts, 0.5), 'p99 ms': quantile(interrupts, 0.99) })
    for (const id of crowdIds) await until(bench, id, ({ child }) => !isLive(child))
  } finally {
    await bench.stage.clear()
  }
}

/** A stop until the child is CANCELLED on record, and a bare parent with the same ladder. */
async function stops(): Promise<void> {
  const bench = await setUp()
  try {
    const [ours, bare]: [number[], number[]] = [[], []]
    for (let n = 0; n < 20; n++) {
      const child = spawn('/bin/sh', ['-c', slowEnd], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
      await once(child.stdout, 'data')
      await pause(100)
      bare.push(
        await timed(async () => {
          process.kill(-(child.pid ?? NaN), 'SIGINT')
          await once(child, 'close')
        }),
      )
      const id = await dispatch(bench, 'slowEnd')
      await until(bench, id, (view) => view.child.attempts[0]?.ready === true)
      await pause(100)
      ours.push(
        await timed(async () => {
          await bench.coxswain.commands.stop({ subagent_id: id })
          await until(bench, id, (view) => view.child.phase === 'CANCELLED')
        }),
      )
      await settled(bench, id)
    }
    const ratio = quantile(ours, 0.5) / quantile(bare, 0.5)
    say('stop → CANCELLED, median of 20', { ms: quantile(ours, 0.5), 'bare ms': quantile(bare, 0.5), ratio })
  } finally {
    await bench.stage.clear()
  }
}

/** `list` over a store of a thousand live children. */
async function list(): Promise<void> {
  const stage = Stage.make()
  try {
    const one = await stage.coxswain({ set: { agents } })
    const answer = await one.commands.spawn({ tasks: [{ goal: 'Measure.', agent: 'brief' }] })
    const id = 'subagent_ids' in answer ? (answer.subagent_ids[0] ?? '') : ''
    await settled({ stage, coxswain: one }, id)
    const [accepted] = stage.events(id)
    if (accepted?.type !== 'accepted') throw new Error('another log than expected')
    for (let n = 0; n < 1_000; n++) {
      const childId = `measured${String(n).padStart(4, '0')}`
      const paths = stage.paths.child(childId)
      mkdirSync(paths.folder, { mode: 0o700 })
      const log = await ChildLog.open(paths.events, 1, () => new Date())
      await log.append([{ ...accepted, childId }, { type: 'slotAwaited' }], false)
      await log.close()
    }
    const reader = await stage.coxswain({ role: 'command' })
    const times: number[] = []
    let count = 0
    for (let n = 0; n < 200; n++)
      times.push(await timed(async () => void (count = listAnswer(reader.view.list(), new Date()).count)))
    say('list', { children: count, 'p50 ms': quantile(times, 0.5), 'p99 ms': quantile(times, 0.99) })
  } finally {
    await stage.clear()
  }
}

/** This process's own processor time per event, with one child talking and with 64 of them. */
async function perEvent(): Promise<void> {
  const costs: Record<number, number> = {}
  for (const children of [1, 64]) {
    const bench = await setUp()
    try {
      const ids: string[] = []
      for (let n = 0; n < children; n++) ids.push(await dispatch(bench, 'talk'))
      for (const id of ids) await until(bench, id, ({ entryCount }) => entryCount > 20)
      const told = (): number => ids.reduce((sum, id) => sum + (bench.coxswain.view.get(id)?.entryCount ?? 0), 0)
      const [before, cpu] = [told(), process.cpuUsage()]
      await pause(children === 1 ? 6_000 : 3_000)
      const used = process.cpuUsage(cpu)
      costs[children] = (used.user + used.system) / (told() - before)
      for (const id of ids) await settled(bench, id)
    } finally {
      await bench.stage.clear()
    }
  }
  const [one = NaN, many = NaN] = [costs[1], costs[64]]
  say('cost per event', { '1 child µs': one, '64 children µs': many, ratio: many / one })
}

/** From the dispatch to the first line in the transcript, and a bare worktree with a bare program in it. */
async function firstOutput(files: number): Promise<void> {
  const bench = await setUp()
  try {
    const { stage } = bench
    for (let n = 0; n < files; n++) {
      if (n % 100 === 0) mkdirSync(join(stage.repo, `d${n / 100}`))
      writeFileSync(join(stage.repo, `d${Math.floor(n / 100)}`, `f${n}`), `${'content '.repeat(200)}${n}\n`)
    }
    stage.git('add', '.')
    stage.git('commit', '-qm', 'Files')
    const [ours, keepers, bare]: [number[], number[], number[]] = [[], [], []]
    for (let n = 0; n < 15; n++) {
      const path = join(stage.root, 'bare')
      bare.push(
        await timed(async () => {
          const add = spawn('git', ['worktree', 'add', '-q', '-b', `bare-${n}`, path], {
            cwd: stage.repo,
            env: stage.environment,
            stdio: 'ignore',
          })
          await once(add, 'exit')
          const program = spawn('/bin/sh', ['-c', 'echo first'], { cwd: path, stdio: ['ignore', 'pipe', 'ignore'] })
          await once(program.stdout, 'data')
        }),
      )
      execFileSync('git', ['worktree', 'remove', '--force', path], { cwd: stage.repo, env: stage.environment })
      rmSync(path, { recursive: true, force: true })
      await pause(100)
      let id = ''
      ours.push(
        await timed(async () => {
          id = await dispatch(bench, 'first')
          await until(bench, id, ({ entryCount }) => entryCount > 0 && stage.said(id).length > 0)
        }),
      )
      await settled(bench, id)
      const { attempts } = await stage.child(id)
      const [attempt] = attempts
      // Between "launching" and "launched" lies the keeper's start, and the agent's in it.
      keepers.push(Date.parse(attempt?.launchedAt ?? '') - Date.parse(attempt?.launchingAt ?? ''))
      await bench.coxswain.commands.discard({ subagent_id: id, force: true })
    }
    const [whole, keeper, plain] = [quantile(ours, 0.5), quantile(keepers, 0.5), quantile(bare, 0.5)]
    say(`first output, ${files} files`, {
      ms: whole,
      'keeper-s start ms': keeper,
      'bare ms': plain,
      'ratio without it': (whole - keeper) / plain,
    })
  } finally {
    await bench.stage.clear()
  }
}

const parts = {
  wishes,
  stops,
  list,
  perEvent,
  firstOutput: () => firstOutput(10),
  firstOutput5000: () => firstOutput(5_000),
}

async function main(): Promise<void> {
  const wanted = process.argv.slice(2)
  for (const [name, measure] of Object.entries(parts)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    console.log(`load ${loadavg().map(round).join(' ')}`)
    await measure()
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error)
    process.exit(1)
  },
)
