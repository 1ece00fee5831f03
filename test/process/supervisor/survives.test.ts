// Nine children at different stages, and owner, keepers and command lines that are killed at named points and at random
// ones, over and over: whatever was acknowledged is there, nothing is started twice, nothing runs that is not shown, and
// in the end every child has said all its lines once. COXSWAIN_SUPERVISOR_KILLS makes it longer.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { currentAttempt, isLive, type Child } from '../../../src/core/child'
import { isRunning } from '../../../src/process/identity'
import type { KillPoint } from './killAt'
import { bundleOwners, Owner, ownerOptions, type Bundles } from './owners'
import { eventually, kill, Stage, type Printed } from './stage'

const kills = Number(process.env['COXSWAIN_SUPERVISOR_KILLS'] ?? 20)
/** Stops early, and says so. */
const minutes = Number(process.env['COXSWAIN_SUPERVISOR_MINUTES'] ?? 60)
/** A place is given up for a new one after so many, so that its transcripts stay of a size that is read in an instant. */
const killsPerPlace = 20

const roles = [
  'mid-tool',
  'waiting for an answer',
  'paused, being resumed',
  'steer queued',
  'verifying',
  'retrying',
  'starting',
  'stopping',
  'flooding',
] as const
type Role = (typeof roles)[number]

let bundles: Bundles
let stage: Stage
const owners = new Set<Owner>()

beforeAll(async () => {
  bundles = await bundleOwners()
})
afterAll(() => bundles.clear())
afterEach(async () => {
  for (const owner of owners) await owner.kill()
  await stage.clear()
})

/** The agent of every role: it counts aloud, notes each start of itself, and reports once the latch `end` is open. */
const program = (): string => `
  import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
  const role = process.argv[2]
  const { COXSWAIN_CHILD_ID: id, COXSWAIN_ATTEMPT: attempt, COXSWAIN_CONTROL_DIR: control } = process.env
  appendFileSync(${JSON.stringify(join(stage.root, 'starts'))}, id + '.' + attempt + '\\n')
  const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n')
  const taken = new Set()
  const takeSteers = () => {
    let text = ''
    try { text = readFileSync(control + '/prompt-queue.jsonl', 'utf8') } catch {}
    for (const line of text.split('\\n').slice(0, -1)) {
      const steer = JSON.parse(line)
      if (taken.has(steer.id)) continue
      taken.add(steer.id)
      say({ type: 'steer_taken', id: steer.id })
    }
  }
  say({ type: 'ready', session_id: id })
  if (role === 'mid-tool') say({ type: 'tool_started', id: 't' + attempt, name: 'Bash', input: { command: 'make' } })
  if (role === 'waiting for an answer') say({ type: 'asked', id: 'q' + attempt, tool: 'Bash', input: { command: 'make' } })
  if (role === 'stopping') for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => setTimeout(() => process.exit(0), 200))
  let n = 0
  const timer = setInterval(() => {
    for (let i = 0; i < (role === 'flooding' && n < 4_000 ? 40 : 1); i++) say({ type: 'text', text: attempt + ':' + ++n })
    if (role !== 'mid-tool') takeSteers()
    const first = attempt === '1'
    const over = role === 'verifying' || (role === 'retrying' && first) || existsSync(${JSON.stringify(stage.latch('end'))})
    if (!over) return
    if (role === 'retrying' && !first) writeFileSync('made.txt', 'made')
    say({ type: 'result', ok: true, summary: 'counted', output: { artifacts: role === 'retrying' ? { 'made.txt': 'made.txt' } : {}, summary: 'counted' } })
    clearInterval(timer)
  }, role === 'flooding' ? 100 : 50)`

/** Everything that was acknowledged in one place, and the nine. */
class Crew {
  readonly now = new Map<Role, string>()
  readonly dispatched = new Set<string>()
  readonly steered: { id: string; steerId: string }[] = []
  readonly stopped = new Set<string>()
  readonly keepersKilled = new Set<string>()
  readonly commandLines: Promise<unknown>[] = []
  private readonly dispatchIds = new Map<Role, string>()
  private names = 0

  constructor(private readonly owner: () => Owner) {}

  /** Told again under the same name until it is acknowledged: it must never become two. */
  async dispatch(role: Role): Promise<void> {
    const dispatch_id = this.dispatchIds.get(role) ?? `dispatch${++this.names}`
    this.dispatchIds.set(role, dispatch_id)
    const contract = contractOf(role)
    const task = {
      goal: `Count: ${role}.`,
      agent: role.replace(/\W+/g, '-'),
      ...(contract === undefined ? {} : { contract }),
    }
    const answer = await this.owner().ask('spawn', { tasks: [task], dispatch_id })
    if (answer?.subagent_ids === undefined) {
      if (answer !== undefined) throw new Error(JSON.stringify(answer))
      return
    }
    const [id] = answer.subagent_ids as [string]
    this.dispatchIds.delete(role)
    this.dispatched.add(id)
    this.now.set(role, id)
  }

  async steer(role: Role): Promise<void> {
    const id = this.now.get(role)
    if (id === undefined) return
    const answer = await this.owner().ask('steer', { subagent_id: id, message: 'Look there.' })
    if (answer?.status === 'queued') this.steered.push({ id, steerId: answer.steer_id })
  }

  async stop(role: Role): Promise<void> {
    const id = this.now.get(role)
    if (id === undefined) return
    const answer = await this.owner().ask('stop', { subagent_id: id })
    if (answer?.status === 'interrupt_requested') this.stopped.add(id)
  }

  async pauseAndResume(): Promise<void> {
    const id = this.now.get('paused, being resumed')
    if (id === undefined) return
    await this.owner().ask('interrupt', { subagent_id: id })
    await eventually(async () => this.owner().isGone || !isRunningPhase(await stage.child(id)), 'it is paused')
    await this.owner().ask('resume', { subagent_id: id })
  }

  async discard(role: Role): Promise<void> {
    const id = this.now.get(role)
    if (id === undefined) return
    await eventually(async () => this.owner().isGone || hasSettled(await stage.child(id)), 'it has settled')
    await this.owner().ask('discard', { subagent_id: id, force: true })
  }

  /** A command line that is killed somewhere on its way. */
  commandLine(id: string, afterMs: number): void {
    const running = stage.start(['steer', id, 'From a command line.'])
    setTimeout(() => running.kill('SIGKILL'), afterMs)
    this.commandLines.push(running.done)
  }

  async killKeeper(role: Role): Promise<void> {
    const id = this.now.get(role)
    const attempt = id === undefined ? undefined : currentAttempt(await stage.child(id))
    if (id === undefined || !attempt?.keeper || attempt.ended !== null) return
    kill(attempt.keeper.pid, 'SIGKILL')
    this.keepersKilled.add(`${id}.${attempt.n}`)
  }
}

const isRunningPhase = (child: Child): boolean => child.phase === 'STARTING' || child.phase === 'RUNNING'
const hasSettled = (child: Child): boolean =>
  child.settledAt !== null && child.completions.some(({ round }) => round === child.round)

function contractOf(role: Role): object | undefined {
  const waits = [
    'node',
    '-e',
    `const t = setInterval(() => require('fs').existsSync('${stage.latch('end')}') && clearInterval(t), 50)`,
  ]
  if (role === 'verifying') return { checks: [{ command: { argv: waits, timeoutSeconds: 600 } }], maxRetries: 0 }
  if (role === 'retrying') return { deliverables: [{ path: 'made.txt' }], maxRetries: 1 }
  return undefined
}

interface Point {
  readonly name: string
  readonly at: KillPoint
  readonly by: (crew: Crew) => Promise<unknown>
}

const written = (type: string, when: KillPoint['when']): KillPoint => ({
  op: 'write',
  contains: `"type":"${type}"`,
  when,
})
const start = (crew: Crew): Promise<unknown> => crew.dispatch('starting')
const retry = (crew: Crew): Promise<unknown> => crew.dispatch('retrying')
const stop = (crew: Crew): Promise<unknown> => crew.stop('stopping')

/** Where an owner dies, and what leads it there. */
const points: readonly Point[] = [
  { name: 'accepted, not acknowledged', at: written('accepted', 'synced'), by: start },
  { name: 'before its worktree is recorded', at: written('worktreeAdded', 'before'), by: start },
  { name: 'while git adds the worktree', at: { op: 'spawn', contains: 'worktree add', when: 'after' }, by: start },
  { name: 'launching, nothing spawned', at: written('launching', 'synced'), by: start },
  { name: 'before the spawn', at: { op: 'spawn', contains: '/keeper-', when: 'before' }, by: start },
  { name: 'after the spawn, before its record', at: { op: 'spawn', contains: '/keeper-', when: 'after' }, by: start },
  { name: 'before launched is written', at: written('launched', 'before'), by: start },
  { name: 'launched, nobody follows', at: written('launched', 'synced'), by: start },
  {
    name: 'steer on disk, not acknowledged',
    at: written('steerQueued', 'synced'),
    by: (crew) => crew.steer('steer queued'),
  },
  {
    name: 'steer written to the agent, not recorded',
    at: written('steerSent', 'before'),
    by: (crew) => crew.steer('steer queued'),
  },
  { name: 'stop wished, not written', at: written('stopRequested', 'before'), by: stop },
  { name: 'stop written, nothing done', at: written('stopRequested', 'synced'), by: stop },
  { name: 'before its end is written', at: written('exited', 'before'), by: stop },
  { name: 'its end written, no result', at: written('exited', 'synced'), by: stop },
  { name: 'result written, not announced', at: { op: 'link', contains: 'results/round-', when: 'after' }, by: stop },
  { name: 'before a verdict is written', at: written('verified', 'before'), by: retry },
  { name: 'a verdict written, no retry', at: written('verified', 'synced'), by: retry },
  {
    name: 'a check has just been started',
    at: { op: 'spawn', contains: 'setInterval', when: 'after' },
    by: (crew) => crew.dispatch('verifying'),
  },
  {
    name: 'paused, resume announced',
    at: { op: 'write', contains: '"reason":"resume"', when: 'synced' },
    by: (crew) => crew.pauseAndResume(),
  },
  {
    name: 'pause written, nothing done',
    at: written('interruptRequested', 'synced'),
    by: (crew) => crew.pauseAndResume(),
  },
  {
    name: 'a worktree moved aside, not deleted',
    at: { op: 'rename', contains: 'repo.coxswain', when: 'after' },
    by: async (crew) => {
      await crew.stop('starting')
      await crew.discard('starting')
    },
  },
]

it(
  `${kills} kills of owner, keepers and command lines: every child is followed or told, none twice`,
  { timeout: 120_000 + kills * 10_000 },
  async () => {
    const began = performance.now()
    const late = (): boolean => performance.now() - began > minutes * 60_000
    const died = new Map<string, number>()
    let done = 0
    while (done < kills && !late()) done += await onePlace(Math.min(killsPerPlace, kills - done), died, late)
    const missed = points.filter(({ name }) => !died.has(name)).map(({ name }) => name)
    console.log(
      `${done} kills in ${Math.round((performance.now() - began) / 1_000)} s: ${[...died].map(([name, times]) => `${name} ${times}`).join(', ')}` +
        (missed.length === 0 ? '' : `; not reached: ${missed.join(', ')}`),
    )
    if (kills > 3 * points.length) expect(missed).toEqual([])
  },
)

/** Where in the list of points this run begins: a short one sees others each time. */
let next = Number(process.env['COXSWAIN_SUPERVISOR_FROM'] ?? Math.floor(Math.random() * 3 * points.length))

function newOwner(options: string, point?: KillPoint): Owner {
  const owner = new Owner(bundles, stage, options, point === undefined ? {} : { KILL_AT: JSON.stringify(point) })
  owners.add(owner)
  void owner.gone.then(() => owners.delete(owner))
  return owner
}

/** An owner that is not told where to die. */
async function anOwner(options: string): Promise<Owner> {
  for (;;) {
    const owner = newOwner(options)
    if (await owner.owns()) return owner
    await owner.kill()
    await endOther()
  }
}

/** A command line whose owner was killed under it may have brought another one, which then goes the same way. */
async function endOther(): Promise<void> {
  kill((await stage.owner())?.process.pid ?? 0, 'SIGKILL')
}

/** So many kills over the children of one place, and then all that must hold of them. Answers how many there were. */
async function onePlace(count: number, died: Map<string, number>, late: () => boolean): Promise<number> {
  stage = Stage.make()
  const script = stage.file(program(), 'kid.mjs')
  const agents = Object.fromEntries(
    roles.map((role) => [
      role.replace(/\W+/g, '-'),
      { kind: 'commandLine', command: [process.execPath, script, role], protocol: 'lines' },
    ]),
  )
  const set = { agents, maxChildrenTotal: 60, childTimeoutSeconds: 0, stopGraceSeconds: 2 }
  const options = ownerOptions(stage, set)
  let owner = await anOwner(options)
  const errors: Printed[] = []
  const crew = new Crew(() => owner)
  const noted = (name: string): void => void died.set(name, (died.get(name) ?? 0) + 1)
  await Promise.all(roles.map((role) => crew.dispatch(role)))
  for (const id of crew.now.values())
    await stage.until(id, 'it works', (child) => child.attempts.some(({ ready }) => ready), 60_000)
  await owner.kill()

  let done = 0
  for (; done < count && !late(); done++) {
    const kind = next++
    const point = kind % 3 === 2 ? undefined : points[(kind - Math.floor(kind / 3)) % points.length]
    const at: KillPoint = point?.at ?? {
      op: 'any',
      when: kind % 2 === 0 ? 'before' : 'after',
      nth: 1 + Math.floor(Math.random() * 150),
    }
    owner = newOwner(options, at)
    const owns = await owner.owns()
    if (owns === false) await endOther()
    if (owns === true) {
      const acts =
        point === undefined
          ? [crew.steer('flooding'), crew.dispatch('starting'), crew.stop('stopping')]
          : [point.by(crew)]
      if (point === undefined) {
        await crew.killKeeper(roles[kind % roles.length] ?? 'flooding')
        crew.commandLine(crew.now.get('flooding') ?? '', Math.random() * 300)
      }
      await Promise.race([
        owner.gone,
        Promise.allSettled(acts).then(() => pause(point === undefined ? Math.random() * 500 : 5_000)),
      ])
    }
    noted(owner.isGone ? (point?.name ?? 'anywhere') : 'between two acts')
    await owner.kill()
    errors.push(...owner.errors)
    // Whoever has ended gives its role to the next.
    if (done % 5 === 4) {
      owner = await anOwner(options)
      for (const role of roles) {
        const id = crew.now.get(role)
        if (id === undefined || hasSettled(await stage.child(id))) await crew.dispatch(role)
      }
      await nothingStray(owner, crew)
      await owner.kill()
      errors.push(...owner.errors)
    }
  }

  stage.open('end')
  owner = await anOwner(options)
  await nothingStray(owner, crew)
  await Promise.all(crew.commandLines)
  for (const id of crew.dispatched) if ((await stage.child(id)).paused) await owner.ask('resume', { subagent_id: id })
  for (const id of crew.dispatched) await allTold(id, crew)
  await eventually(() => stage.ps().length === 1, 'only the owner is left')
  await owner.kill()
  errors.push(...owner.errors)
  expect(errors).toEqual([])
  const starts = readFileSync(join(stage.root, 'starts'), 'utf8').trim().split('\n')
  expect(starts.filter((start, i) => starts.indexOf(start) !== i)).toEqual([])
  await stage.clear()
  return done
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Once a new owner has found out what became of every child, and has added the worktree of one that was just begun: what runs
 * is shown as running, what is shown as running runs, and no word is lost.
 */
async function nothingStray(owner: Owner, crew: Crew): Promise<void> {
  await owner.recovered()
  let wrong: string[] = []
  await eventually(async () => (wrong = await strays()).length === 0, 'all is as it is shown', 30_000).catch(
    () => undefined,
  )
  expect(wrong).toEqual([])
  for (const { id, steerId } of crew.steered)
    expect((await stage.child(id)).steers.map((steer) => steer.id)).toContain(steerId)
  for (const id of crew.stopped) {
    const { stopRequest, settledAt } = await stage.child(id)
    expect([id, stopRequest !== null || settledAt !== null]).toEqual([id, true])
  }
  const delegations = (await everyChild()).map(({ delegationId }) => delegationId)
  expect(new Set(delegations).size).toBe(delegations.length)
}

/** A folder whose owner died before anything was accepted in it is no child; nobody was told of it. */
async function everyChild(): Promise<Child[]> {
  const found = await Promise.all(readdirSync(stage.paths.children).map((id) => stage.child(id).catch(() => undefined)))
  return found.filter((child) => child !== undefined)
}

async function strays(): Promise<string[]> {
  const wrong: string[] = []
  const children = new Map((await everyChild()).map((child) => [child.id, child]))
  const follows = (id: string, n: number): boolean => {
    const child = children.get(id)
    const attempt = child?.attempts.find((each) => each.n === n)
    return child !== undefined && isLive(child) && attempt !== undefined && attempt.ended === null
  }
  for (const { pid, command } of stage.ps()) {
    if (command.includes('ownerHost') || /cli\.js|process\.versions\.node|^git /.test(command)) continue
    const [, ofKeeper, n] = /children\/([a-z0-9]+)\/attempts\/(\d+)/.exec(command) ?? []
    const marker = markerOf(pid)
    const [id, attempt] = ofKeeper === undefined ? (marker?.split('.') ?? []) : [ofKeeper, n]
    const isShown =
      id === 'check' ? [...children.values()].some(({ verifying }) => verifying) : follows(id ?? '', Number(attempt))
    if (!isShown)
      wrong.push(`process ${pid} (${command.trim().slice(0, 120)}) belongs to no child that is shown as running`)
  }
  // Called off while git added it, under an owner that died: there is nobody left to take that one up. And a child whose owners
  // died more than once in that moment may have got another one beside it: its name ends with a number.
  const calledOff = [...children.values()].filter(
    (child) => (child.worktree === null && !isLive(child)) || /-\d$/.test(child.worktree?.path ?? ''),
  )
  const known = new Set([...children.values()].flatMap(({ worktree }) => worktree?.path ?? []))
  for (const line of stage.left().worktrees) {
    const path = line.slice('worktree '.length)
    if (!known.has(path) && !calledOff.some(({ id }) => path.endsWith(`-${id}`)))
      wrong.push(`the worktree ${path} is no child's`)
  }
  for (const child of children.values()) {
    const attempt = currentAttempt(child)
    if (!isLive(child) || !attempt?.keeper || attempt.ended !== null) continue
    if (!isRunning(attempt.keeper)) wrong.push(`${child.id} is shown as ${child.phase}, and its keeper is dead`)
  }
  return wrong
}

function markerOf(pid: number): string | undefined {
  try {
    return /\0COXSWAIN_MARKER=([^\0]*)/.exec(`\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`)?.[1]
  } catch {
    return undefined
  }
}

/** How a child ended is told once and truly, and its transcript has every line it said, in order, once. */
async function allTold(id: string, crew: Crew): Promise<void> {
  const child = await stage.until(id, 'settled', hasSettled, 60_000).catch(async (error: unknown) => {
    throw new Error(`${id} never settled: ${JSON.stringify(await stage.child(id))}`, { cause: error })
  })
  expect(child.completions.map(({ round }) => round)).toEqual([...new Set(child.completions.map(({ round }) => round))])
  expect(child.misfits).toBe(0)
  const seqs = stage.events(id).map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.map((_, i) => i + 1))
  const entries = stage.transcript(id)
  expect(entries.map(({ n }) => n)).toEqual(entries.map((_, n) => n))
  for (const attempt of child.attempts) {
    const said = entries.flatMap((entry) => (entry.kind === 'text' && entry.attempt === attempt.n ? [entry.text] : []))
    expect(said).toEqual(said.map((_, i) => `${attempt.n}:${i + 1}`))
    const told = [id, attempt.n, attempt.ended]
    if (attempt.report?.ok === true) expect(told).toEqual([id, attempt.n, 'SUCCESS'])
    else if (attempt.calledOff) expect(told).toEqual([id, attempt.n, 'CANCELLED'])
    else if (attempt.startFailure !== null && attempt.endRequest === null)
      expect(told).toEqual([id, attempt.n, 'FAILURE'])
    else expect(told).toEqual([id, attempt.n, 'INTERRUPTED'])
    if (attempt.vanished !== null) expect(crew.keepersKilled).toContain(`${id}.${attempt.n}`)
  }
  for (const { state } of child.steers) expect(['confirmed', 'delivered', 'missed', 'withdrawn']).toContain(state)
}
