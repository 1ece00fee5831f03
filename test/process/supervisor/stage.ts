// A place of its own for the real command line and real supervisors: a repository, a data folder, children that wait on
// latches, and a look at every process that belongs to it. Whatever a test left running is ended with the place.
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Child } from '../../../src/core/child'
import type { ChildEvent } from '../../../src/core/events'
import type { TranscriptEntry } from '../../../src/core/transcript'
import { readOwner, type OwnerRecord } from '../../../src/record/lease'
import { defaultStore, storePaths, type StorePaths } from '../../../src/record/paths'
import { followStore, type FollowedStore } from '../../../src/supervisor/followStore'
import type { Coxswain, CoxswainOptions } from '../../../src/supervisor/coxswain'
import { openCoxswain } from '../../../src/supervisor/openCoxswain'
import { readSettings, type Settings } from '../../../src/supervisor/settings'
import type { Caller } from '../../../src/core/ownership'
import { eventually } from '../keeperHarness'

export const dist = resolve('dist')

/** What a program printed as JSON: its shape is what the tests are about. */
export type Printed = ReturnType<typeof JSON.parse>

export interface Ran {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface Task {
  readonly goal: string
  readonly [key: string]: unknown
}

export class Stage {
  readonly root: string
  readonly repo: string
  readonly data: string
  /** Further variables of everything that is started from here. */
  readonly variables: Record<string, string> = {}
  private readonly running = new Set<Running>()
  private readonly opened: Coxswain[] = []
  private followed: FollowedStore | undefined
  private files = 0

  private constructor() {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), 'cxs-')))
    this.repo = join(this.root, 'repo')
    this.data = join(this.root, 'd')
    for (const folder of [this.repo, this.data, join(this.root, 'home')]) mkdirSync(folder, { mode: 0o700 })
  }

  /** A repository with one commit, unless `repository` asks for less. */
  static make(repository: 'one commit' | 'no commit' | 'none' = 'one commit'): Stage {
    const stage = new Stage()
    if (repository === 'none') return stage
    stage.git('init', '-q', '-b', 'main')
    stage.git('config', 'user.name', 'Test')
    stage.git('config', 'user.email', 'test@example.invalid')
    if (repository === 'no commit') return stage
    writeFileSync(join(stage.repo, 'README.md'), '# Sample\n')
    stage.git('add', '.')
    stage.git('commit', '-qm', 'First')
    return stage
  }

  // ── the command line ────────────────────────────────────────────────────────────────────────────────────────────

  get environment(): Record<string, string> {
    return {
      PATH: process.env['PATH'] ?? '',
      // Also what tells this place's processes from all others.
      HOME: join(this.root, 'home'),
      LANG: 'C.UTF-8',
      COXSWAIN_DATA_DIR: this.data,
      COXSWAIN_DEMO_PACE_MS: '0',
      ...this.variables,
    }
  }

  start(args: readonly string[], more: { input?: string; env?: Record<string, string>; cwd?: string } = {}): Running {
    const running = new Running(args, more.cwd ?? this.repo, { ...this.environment, ...more.env }, more.input)
    this.running.add(running)
    void running.done.then(() => this.running.delete(running))
    return running
  }

  /** Runs the command line to its end. */
  async cli(...args: string[]): Promise<Ran> {
    return await this.start(args).done
  }

  /** The one object a command prints with --json; the command must succeed. */
  async json(...args: string[]): Promise<Printed> {
    const { code, out, err } = await this.cli(...args, '--json')
    if (code !== 0) throw new Error(`coxswain ${args.join(' ')} ended with ${code}: ${out}${err}`)
    return JSON.parse(out)
  }

  /** A task file; its path. */
  tasks(...tasks: (string | Task)[]): string {
    return this.file(JSON.stringify({ tasks: tasks.map((task) => (typeof task === 'string' ? { goal: task } : task)) }))
  }

  file(content: string, name = `file-${++this.files}`): string {
    const path = join(this.root, name)
    writeFileSync(path, content)
    return path
  }

  /** Dispatches one child under a background supervisor; its id. */
  async detached(task: string | Task, ...args: string[]): Promise<string> {
    const handle = await this.json('run', '--task', this.tasks(task), '--detach', ...args)
    return handle.subagent_ids[0] as string
  }

  // ── programs as children ────────────────────────────────────────────────────────────────────────────────────────

  /** An agents file in which `kid` is this Node program, speaking `lines` unless told otherwise. */
  agents(program: string, settings: Record<string, unknown> = {}): string {
    const script = this.file(program, `kid-${++this.files}.mjs`)
    return this.file(
      JSON.stringify({
        kid: { kind: 'commandLine', command: [process.execPath, script], protocol: 'lines', ...settings },
      }),
    )
  }

  latch(name: string): string {
    return join(this.root, `latch-${name}`)
  }

  /** A step of the demo agent that waits for `open(name)`. */
  waits(name: string): { wait: { file: string } } {
    return { wait: { file: this.latch(name) } }
  }

  open(name: string): void {
    writeFileSync(this.latch(name), '')
  }

  // ── what is on disk and in the process table ────────────────────────────────────────────────────────────────────

  get paths(): StorePaths {
    return storePaths(defaultStore(this.data, join(this.repo, '.git')))
  }

  owner(): Promise<OwnerRecord | undefined> {
    return readOwner(this.paths.owner)
  }

  private async view(): Promise<FollowedStore> {
    return (this.followed ??= await followStore(this.paths))
  }

  /** The child as any reader folds it. */
  async child(id: string): Promise<Child> {
    const view = await this.view()
    await view.refresh()
    const found = view.get(id)
    if (found === undefined) throw new Error(`no child ${id} in the store`)
    return found.child
  }

  async until(id: string, what: string, fact: (child: Child) => boolean, ms?: number): Promise<Child> {
    return await eventually(
      async () => {
        const child = await this.child(id)
        return fact(child) ? child : undefined
      },
      what,
      ms,
    )
  }

  settled(id: string, ms?: number): Promise<Child> {
    return this.until(
      id,
      'settled with its result',
      (child) => child.completions.some((completion) => completion.round === child.round && child.settledAt !== null),
      ms,
    )
  }

  /** Every line of a child's log that is an event. */
  events(id: string): ChildEvent[] {
    return lines(this.paths.child(id).events).flatMap((line) => {
      const event = JSON.parse(line) as ChildEvent
      return 'type' in event ? [event] : []
    })
  }

  transcript(id: string): TranscriptEntry[] {
    return lines(this.paths.child(id).transcript).map((line) => JSON.parse(line) as TranscriptEntry)
  }

  /** What the child said, in order. */
  said(id: string): string[] {
    return this.transcript(id).flatMap((entry) => (entry.kind === 'text' ? [entry.text] : []))
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.repo, encoding: 'utf8', env: this.environment }).trim()
  }

  /** All that a dispatch leaves behind in store and repository. */
  left(): { children: string[]; branches: string[]; worktrees: string[]; folders: string[] } {
    const names = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : [])
    const repository = existsSync(join(this.repo, '.git'))
    return {
      children: names(this.paths.children),
      branches: repository
        ? this.git('branch', '--list', '--format=%(refname:short)', 'coxswain/*').split('\n').filter(Boolean)
        : [],
      worktrees: repository
        ? this.git('worktree', 'list', '--porcelain')
            .split('\n')
            .filter((line) => line.startsWith('worktree '))
            .slice(1)
        : [],
      folders: names(join(this.root, 'repo.coxswain')),
    }
  }

  /** Living processes of this place: its path is in their command, their environment or their working folder. */
  ps(): { readonly pid: number; readonly command: string }[] {
    const found: { pid: number; command: string }[] = []
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
      try {
        const state = readFileSync(`/proc/${name}/stat`, 'latin1')
        if (/\) [ZX] /.test(state)) continue
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const about = `${command}\0${readFileSync(`/proc/${name}/environ`, 'utf8')}\0${readlinkSync(`/proc/${name}/cwd`)}`
        if (about.includes(`${this.root}/`)) found.push({ pid: Number(name), command })
      } catch {
        // It went while we looked, or is not ours to look at.
      }
    }
    return found
  }

  /** Command lines of every living process of this machine. */
  everyProcess(): string[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return []
      try {
        if (/\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, 'latin1'))) return []
        return [readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')]
      } catch {
        return []
      }
    })
  }

  /** Of the processes of this place, the children's: neither supervisors nor the command line, nor their look at Node. */
  childProcesses(): { readonly pid: number; readonly command: string }[] {
    return this.ps().filter(({ command }) => !/cli\.js|process\.versions\.node/.test(command))
  }

  async untilNothingRuns(): Promise<void> {
    await eventually(() => this.childProcesses().length === 0, 'no process of a child is left')
  }

  // ── supervisors in this process ─────────────────────────────────────────────────────────────────────────────────

  /** The store opened in this very process, as a window opens it. */
  async coxswain(
    more: Partial<CoxswainOptions> & { readonly set?: Record<string, unknown>; readonly as?: Caller } = {},
  ): Promise<Coxswain> {
    const { set = {}, as = { kind: 'person' }, ...options } = more
    const settings: Settings = readSettings(set).settings
    const opened = await openCoxswain({
      folder: this.repo,
      role: 'window',
      caller: as,
      settings: () => settings,
      dist,
      environment: this.environment,
      attended: () => true,
      version: '0.0.0',
      log: () => undefined,
      ...options,
    })
    if (!('commands' in opened)) throw new Error(opened.message)
    this.opened.push(opened)
    return opened
  }

  /** Ends everything of this place and removes it. For afterEach. */
  async clear(): Promise<void> {
    for (const opened of this.opened) opened.dispose()
    await Promise.all(this.opened.map((opened) => opened.closed().catch(() => undefined)))
    this.followed?.dispose()
    await eventually(() => {
      const left = this.ps()
      for (const { pid } of left) kill(pid, 'SIGKILL')
      return left.length === 0
    }, 'every process of the place has ended')
    await Promise.all([...this.running].map((running) => running.done))
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** The command line while it runs. */
class Running {
  readonly done: Promise<Ran>
  readonly pid: number
  private out = ''
  private err = ''
  private ended = false

  constructor(args: readonly string[], cwd: string, env: Record<string, string>, input: string | undefined) {
    const child = spawn(process.execPath, [join(dist, 'cli.js'), ...args], {
      cwd,
      env,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    if (child.pid === undefined) throw new Error('the command line could not be started')
    this.pid = child.pid
    child.stdin?.end(input)
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.out += text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.err += text))
    this.done = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        this.ended = true
        resolve({ code, signal, out: this.out, err: this.err })
      })
    })
  }

  /** Whole lines so far, each an object. */
  objects(): Printed[] {
    return this.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }

  /** The first object it prints that fits. */
  async until(what: string, fits: (object: Printed) => boolean): Promise<Printed> {
    return await eventually(() => {
      const found = this.objects().find(fits)
      if (found === undefined && this.ended) throw new Error(`it ended before ${what}: ${this.out}${this.err}`)
      return found
    }, what)
  }

  /** The id of the first child it dispatched. */
  async firstId(): Promise<string> {
    const handle = await this.until('the handle', (object) => object.status === 'dispatched')
    return handle.subagent_ids[0] as string
  }

  kill(signal: NodeJS.Signals): void {
    kill(this.pid, signal)
  }
}

/** A goal for the demo agent: these steps and nothing else. */
export const script = (...steps: unknown[]): string => `Follow this.\n\`\`\`demo\n${JSON.stringify(steps)}\n\`\`\``

/** A demo agent that never looks at its steers. */
export const deafScript = (...steps: unknown[]): string =>
  `Follow this.\n\`\`\`demo\n${JSON.stringify({ steps, ignoresSteers: true })}\n\`\`\``

/** The same value with what differs from run to run named: ids as given, times, durations, hashes, the place's path. */
export function plain(value: unknown, stage: Stage, names: Readonly<Record<string, string>> = {}): unknown {
  const text = (given: string): string => {
    let said = given.replaceAll(stage.root, 'ROOT').replace(/\/stores\/repo-[0-9a-f]{12}/g, '/STORE')
    for (const [id, name] of Object.entries(names)) said = said.replaceAll(id, name)
    return said
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
      .replace(/\b[0-9a-f]{64}\b/g, 'HASH')
      .replace(/\b[0-9a-f]{40}\b/g, 'COMMIT')
  }
  const walk = (given: unknown, key = ''): unknown => {
    if (typeof given === 'string') return text(given)
    if (typeof given === 'number')
      return key === 'duration_s' || key === 'running_seconds' || key === 'ms' ? 'N' : given
    if (Array.isArray(given)) return given.map((item) => walk(item))
    if (given !== null && typeof given === 'object')
      return Object.fromEntries(Object.entries(given).map(([name, inner]) => [name, walk(inner, name)]))
    return given
  }
  return walk(value)
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has gone by itself.
  }
}

function lines(path: string): string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
}

export { eventually } from '../keeperHarness'
