// The keeper's body: one call keeps one agent from its start to its acknowledged end. It holds the clock, the pipes and
// the ladder; it decides nothing about what the agent says.
import { closeSync, fstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { attemptFiles, type AttemptFiles, type OutputSource } from '../attemptFiles'
import { identityOf, signalProcess } from '../identity'
import {
  alreadyStarted,
  isEndCause,
  isSoftEnd,
  LaunchError,
  parseLaunchFile,
  type EndCause,
  type ExitRecord,
  type LadderStep,
  type LaunchFile,
  type ProcessIdentity,
  type SoftEnd,
} from '../launch'
import type { Fields } from '../json'
import { AgentTree, endTree, type TreeEnd } from '../stopLadder'
import { parseOffsets, type KeeperMessage, type NotTaken, type Offsets, type ReadyMessage } from '../wire'
import { AgentInput } from './agentInput'
import { startAgent, type StartedAgent } from './agentProcess'
import { LimitClock } from '../limitClock'
import { createExclusively, writeAtomic } from './files'
import { Hosts } from './hosts'
import { Journal } from './journal'
import { RawStore } from './rawStore'
import { Redactor, shortestSecret, type Secret } from './redact'
import { Tap } from './tap'

/** An agent that exited by itself may have helpers about to follow it; they get this long before they are asked. */
const settleMs = 200
const leftoverGraceMs = 2_000
const sweepMs = 2_000
const drainMs = 2_000
const exitSeenMs = 2_000
/** A host that folds nothing for so long, with output waiting, no longer holds the agent up. */
const stalledMs = 5_000
const exitRetryMs = 1_000
const concludeTries = 5

/**
 * Closes what leaked in from the editor beyond `lastOwn`: files, and pipes of which only one end is here. They would stay
 * open for as long as the agent runs, and some reach it. Node's own pipes have both their ends in this process.
 */
export function closeLeakedFiles(lastOwn: number): void {
  const folder = process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd'
  const fds = readdirSync(folder)
    .map(Number)
    .filter((fd) => fd > lastOwn)
  const links = new Map(fds.map((fd) => [fd, linkOf(`${folder}/${fd}`)]))
  const ends = [...links.values()]
  for (const [fd, link] of links) {
    try {
      const loosePipe = link.startsWith('pipe:') && ends.indexOf(link) === ends.lastIndexOf(link)
      if (loosePipe || fstatSync(fd).isFile()) closeSync(fd)
    } catch {
      continue
    }
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

export interface Keeping {
  /** Resolves when there is nothing left to keep. */
  readonly done: Promise<void>
  /** Someone wants the keeper itself gone: the agent is ended first. */
  requestShutdown(): void
}

/**
 * Keeps the attempt of one folder. `values` are the variables named in launch.json; `ready` is called once. Throws when
 * launch.json cannot be read; then nothing was started.
 */
export function keep(
  attemptDir: string,
  values: Readonly<Record<string, string>>,
  ready: (message: ReadyMessage) => void,
): Keeping {
  const files = attemptFiles(attemptDir)
  const launch = parseLaunchFile(readFileSync(files.launch, 'utf8'))
  const self = identityOf(process.pid)
  if (self === undefined) throw new Error('This process cannot see itself in the process table.')
  const keeper = new Keeper(attemptDir, files, launch, values, self)
  return { done: keeper.run(ready), requestShutdown: () => keeper.requestShutdown() }
}

class Keeper {
  readonly #control: Journal
  readonly #secrets: readonly Secret[]
  readonly #stores: Record<OutputSource, RawStore>
  readonly #wakers = new Set<() => void>()
  readonly #ladder: LadderStep[] = []
  #hosts: Hosts | undefined
  #input: AgentInput | undefined
  #taps: Tap[] = []
  #agent: StartedAgent | undefined
  #startedAt: number | null = null
  #startedMono = 0
  #exit: { code: number | null; signal: string | null } | undefined
  #treeHeld = true
  #tree: AgentTree | undefined
  #firstCause: EndCause | undefined
  #soft: SoftEnd | undefined
  #hurry = false
  #shutdownAsked = false
  #concluding = false
  #record: ExitRecord | undefined
  #recordWritten = false
  #exitSeen = false
  #foldedAt = 0
  #limit: LimitClock | undefined
  #windowLease: LimitClock | undefined

  constructor(
    private readonly attemptDir: string,
    private readonly files: AttemptFiles,
    private readonly launch: LaunchFile,
    private readonly values: Readonly<Record<string, string>>,
    private readonly self: ProcessIdentity,
  ) {
    this.#control = new Journal(files.control)
    this.#secrets = launch.secretNames.flatMap((name) => {
      const value = values[name]
      return value === undefined ? [] : [{ name, value }]
    })
    const store = (source: OutputSource, capBytes: number): RawStore =>
      new RawStore(source, {
        rawDir: files.raw,
        gaps: new Journal(files.gaps),
        capBytes,
        segmentBytes: launch.segmentBytes,
        hostFollows: () => this.#hostFollows(),
      })
    this.#stores = { stdout: store('stdout', launch.rawCapBytes), stderr: store('stderr', launch.stderrCapBytes) }
  }

  async run(ready: (message: ReadyMessage) => void): Promise<void> {
    try {
      await this.#start()
    } catch (error) {
      const failure =
        error instanceof LaunchError
          ? error
          : new LaunchError('keeperFailed', `The keeper could not start: ${words(error)}`)
      // Whoever was there first writes the record of its attempt; we leave no trace in it.
      if (failure.kind !== 'alreadyStarted') this.#recordFailure(failure)
      ready({ ok: false, kind: failure.kind, message: failure.message })
      this.#hosts?.close()
      return
    }
    const agent = this.#agent
    if (agent === undefined) throw new Error('started without an agent')
    ready({ ok: true, keeper: this.self, agent: agent.identity })
    await this.#until(() => this.#concluding)
    await this.#concludeForSure(agent)
    await this.#farewell()
    for (const tap of this.#taps) tap.close()
    this.#input?.close()
    this.#hosts?.close()
  }

  requestShutdown(): void {
    this.#shutdownAsked = true
    if (this.#agent !== undefined) this.#requestEnd({ kind: 'shutdown' }, undefined)
  }

  async #start(): Promise<void> {
    this.#hosts = await this.#bind()
    const claim = JSON.stringify({ v: 1, ...this.self, socketPath: this.launch.socketPath })
    if (!createExclusively(this.files.keeper, `${claim}\n`)) throw alreadyStarted(this.attemptDir)
    this.#agent = await startAgent(this.launch, this.attemptDir, this.values)
    this.#startedAt = Date.now()
    this.#startedMono = performance.now()
    const { child, identity, pipes } = this.#agent
    child.on('error', (error) => this.#control.note({ at: Date.now(), note: 'agent error', error: error.message }))
    child.on('exit', (code, signal) => {
      this.#exit = { code, signal }
      this.#concluding = true
      try {
        // Reaped this instant: its number is still its own, so this look at its group can be trusted.
        this.#tree?.scan()
      } finally {
        this.#treeHeld = false
        this.#wake()
      }
    })
    this.#tree = new AgentTree(
      { leader: identity, marker: this.launch.marker, pipes: pipes.links },
      () => this.#treeHeld,
    )
    this.#input = new AgentInput(pipes.stdin, {
      journal: new Journal(this.files.input),
      secrets: this.#secrets,
      totals: () => this.#totals(),
    })
    this.#taps = [this.#openTap(pipes.stdout, this.#stores.stdout), this.#openTap(pipes.stderr, this.#stores.stderr)]
    const short = this.#secrets.filter((secret) => secret.value.length < shortestSecret).map((secret) => secret.name)
    const record = { v: 1, ...identity, marker: this.launch.marker, pipes: pipes.links[0], startedAt: this.#startedAt }
    try {
      writeAtomic(this.files.agent, `${JSON.stringify({ ...record, secretsTooShort: short })}\n`)
    } catch (error) {
      // The agent runs and is ours; the marker finds it even without this file.
      this.#control.note({ at: Date.now(), note: 'agent.json could not be written', error: words(error) })
    }
    if (this.launch.wallLimitMs !== null) {
      const limit = new LimitClock(this.launch.wallLimitMs, () => this.#requestEnd({ kind: 'timeout' }, undefined))
      limit.start()
      this.#limit = limit
    }
    this.#startWindowLease()
    this.#hosts.open()
    if (this.#shutdownAsked) this.requestShutdown()
  }

  async #bind(): Promise<Hosts> {
    try {
      return await Hosts.listen(this.launch.socketPath, {
        welcome: () => ({
          keeper: this.self,
          agent: this.#agent?.identity ?? this.self,
          totals: this.#totals(),
          lastSeq: this.#input?.lastSeq ?? 0,
        }),
        came: (epoch) => this.#hostCame(epoch),
        left: () => this.#hostLeft(),
        said: (message, answer) => this.#said(message, answer),
        totals: () => this.#totals(),
      })
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
        throw alreadyStarted(this.attemptDir)
      throw error
    }
  }

  #openTap(fd: number, store: RawStore): Tap {
    return new Tap(fd, store, new Redactor(this.#secrets), {
      grew: () => this.#hosts?.ring(),
      finished: () => this.#wake(),
      trouble: (error) => this.#hosts?.tell({ t: 'trouble', what: 'diskWrite', detail: words(error) }),
    })
  }

  #totals(): Offsets {
    return { stdout: this.#stores.stdout.total, stderr: this.#stores.stderr.total }
  }

  #hostFollows(): boolean {
    return this.#hosts?.attached === true && performance.now() - this.#foldedAt < stalledMs
  }

  #hostCame(epoch: number): void {
    this.#control.note({ at: Date.now(), note: 'host came', epoch })
    this.#foldedAt = performance.now()
    this.#windowLease?.stop()
    this.#windowLease = undefined
    if (this.#record !== undefined) this.#hosts?.tell({ t: 'exit', record: this.#record })
  }

  #hostLeft(): void {
    this.#control.note({ at: Date.now(), note: 'host left' })
    for (const tap of this.#taps) tap.roomMayHaveChanged()
    if (this.#exit === undefined) this.#startWindowLease()
  }

  #startWindowLease(): void {
    const after = this.launch.afterWindowCloses
    if (after === 'keep' || this.#hosts?.attached === true) return
    this.#windowLease = new LimitClock(after.pauseAfterMs, () => this.#requestEnd({ kind: 'lease' }, undefined))
    this.#windowLease.start()
  }

  #said(message: Fields, answer: (message: KeeperMessage) => void): void {
    const n = typeof message['n'] === 'number' ? message['n'] : -1
    switch (message['t']) {
      case 'write':
        answer({ t: 'answer', n, ...this.#write(message['text'], message['id']) })
        return
      case 'closeInput':
        this.#input?.closeInput()
        break
      case 'requestEnd': {
        const { cause, soft } = message
        if (isEndCause(cause)) this.#requestEnd(cause, isSoftEnd(soft) ? soft : undefined)
        break
      }
      case 'pauseClock':
        this.#limit?.stop()
        break
      case 'resumeClock':
        this.#limit?.start()
        break
      case 'folded': {
        const offsets = parseOffsets(message['offsets'])
        if (offsets === undefined) return
        this.#foldedAt = performance.now()
        this.#stores.stdout.fold(offsets.stdout)
        this.#stores.stderr.fold(offsets.stderr)
        for (const tap of this.#taps) tap.roomMayHaveChanged()
        return
      }
      case 'exitSeen':
        if (this.#record !== undefined) this.#exitSeen = true
        this.#wake()
        break
      default:
        // A newer host's message: it hears that nothing came of it.
        if (n === -1) return
        answer({ t: 'answer', n, notTaken: 'closed' })
        return
    }
    answer({ t: 'answer', n })
  }

  #write(text: unknown, id: unknown): { seq: number } | { notTaken: NotTaken } {
    if (this.#exit !== undefined) return { notTaken: 'ended' }
    if (typeof text !== 'string' || this.#input === undefined) return { notTaken: 'closed' }
    try {
      return this.#input.write(text, typeof id === 'string' ? id : undefined)
    } catch {
      return { notTaken: 'notJournaled' }
    }
  }

  /** The first cause stands; a later request without a soft way only shortens the wait of an earlier one. */
  #requestEnd(cause: EndCause, soft: SoftEnd | undefined): void {
    this.#control.note({
      at: Date.now(),
      requestEnd: cause,
      ...(soft ? { soft } : {}),
      ended: this.#exit !== undefined,
    })
    if (this.#exit !== undefined) return
    if (this.#firstCause !== undefined) {
      if (soft === undefined) this.#hurry = true
    } else {
      this.#firstCause = cause
      this.#soft = soft
      this.#limit?.stop()
      this.#concluding = true
    }
    this.#wake()
  }

  #step(step: LadderStep['step']): void {
    this.#ladder.push({ step, afterMs: Math.round(performance.now() - this.#startedMono) })
    this.#control.note({ at: Date.now(), step })
  }

  /** An error in here (no file descriptors left, say) must not leave the tree alive: it is tried again, then thrown. */
  async #concludeForSure(agent: StartedAgent): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#conclude(agent)
        return
      } catch (error) {
        this.#control.note({ at: Date.now(), note: 'the end could not be brought about', error: words(error) })
        if (tries === concludeTries) throw error
        await this.#pause(exitRetryMs)
      }
    }
  }

  /** From the first word of an end to the record of it: exit, tree and pipes, each with its own deadline. */
  async #conclude(agent: StartedAgent): Promise<void> {
    const tree = this.#tree
    if (tree === undefined) throw new Error('an agent without a tree')
    const asked = this.#firstCause !== undefined
    if (asked) await this.#askSoftly(agent)
    else await this.#until(() => this.#drained(), settleMs)
    const treeEnd = await endTree(tree, {
      leaderPid: agent.identity.pid,
      graceMs: this.#exit === undefined ? this.launch.graceMs : Math.min(this.launch.graceMs, leftoverGraceMs),
      sweepMs,
      leftovers: this.#exit !== undefined,
      onStep: (step) => this.#step(step),
      pause: (ms) => this.#pause(ms),
    })
    await this.#until(() => this.#exit !== undefined, exitSeenMs)
    this.#limit?.stop()
    this.#windowLease?.stop()
    for (const tap of this.#taps) tap.hurry()
    await this.#until(() => this.#drained(), drainMs)
    await this.#writeRecord(treeEnd)
  }

  async #askSoftly(agent: StartedAgent): Promise<void> {
    const soft = this.#soft ?? this.launch.politeSignal
    if (soft === undefined) return
    if ('waitMs' in soft && soft.waitMs !== undefined) {
      await this.#until(() => this.#exit !== undefined || this.#hurry, soft.waitMs)
      if (this.#exit !== undefined) return
    }
    if ('closeInput' in soft && soft.closeInput === true) {
      this.#step('closeInput')
      this.#input?.closeInput()
    }
    if (soft.signal !== undefined) {
      this.#step('soft')
      // To the agent alone: how its tools are to end is its own business for now.
      signalProcess(agent.identity, soft.signal)
    }
    await this.#until(() => this.#exit !== undefined || this.#hurry, soft.afterMs)
  }

  #drained(): boolean {
    return this.#taps.every((tap) => tap.finished)
  }

  async #writeRecord(treeEnd: TreeEnd): Promise<void> {
    const record: ExitRecord = {
      v: 1,
      childId: this.launch.childId,
      attempt: this.launch.attempt,
      code: this.#exit?.code ?? null,
      signal: this.#exit?.signal ?? null,
      firstCause: this.#firstCause ?? null,
      exited: this.#exit !== undefined,
      drained: this.#drained(),
      lostBytes: this.#taps.reduce((sum, tap) => sum + tap.unwrittenBytes, 0),
      survivors: treeEnd.survivors,
      killedSweep: treeEnd.ended,
      ladder: this.#ladder,
      at: Date.now(),
      startedAt: this.#startedAt,
      durationMs: Math.round(performance.now() - this.#startedMono),
      totals: this.#totals(),
      inputFlushedSeq: this.#input?.flushedSeq ?? 0,
    }
    this.#record = record
    // A host hears the end first and waits for no disk; an acknowledgement is heard only once the file was tried.
    this.#hosts?.tell({ t: 'exit', record })
    this.#syncOutput()
    if (!this.#tryRecord(record)) this.#hosts?.tell({ t: 'trouble', what: 'diskWrite', detail: 'exit.json' })
  }

  /** Before the record of the end: whoever finds that after a power cut finds all that was said as well. */
  #syncOutput(): void {
    try {
      for (const store of Object.values(this.#stores)) store.sync()
    } catch (error) {
      this.#control.note({ at: Date.now(), note: 'output may not outlast a power cut', error: words(error) })
    }
  }

  #tryRecord(record: ExitRecord): boolean {
    try {
      writeAtomic(this.files.exit, `${JSON.stringify(record)}\n`)
      this.#recordWritten = true
    } catch {
      this.#recordWritten = false
    }
    return this.#recordWritten
  }

  /** Waits for the acknowledgement or the lease; an unwritten record keeps us here for the same time at most. */
  async #farewell(): Promise<void> {
    let leaseOver = false
    const lease = new LimitClock(Math.max(1, this.launch.exitLeaseMs), () => {
      leaseOver = true
      this.#wake()
    })
    lease.start()
    while (!leaseOver && !(this.#exitSeen && this.#recordWritten)) {
      await this.#until(
        () => leaseOver || (this.#exitSeen && this.#recordWritten),
        this.#recordWritten ? undefined : exitRetryMs,
      )
      if (!this.#recordWritten && this.#record !== undefined) this.#tryRecord(this.#record)
    }
    lease.stop()
  }

  #recordFailure(error: LaunchError): void {
    const record: ExitRecord = {
      v: 1,
      childId: this.launch.childId,
      attempt: this.launch.attempt,
      code: null,
      signal: null,
      firstCause: null,
      exited: false,
      drained: true,
      lostBytes: 0,
      survivors: [],
      killedSweep: [],
      ladder: [],
      at: Date.now(),
      startedAt: null,
      durationMs: null,
      totals: { stdout: 0, stderr: 0 },
      inputFlushedSeq: 0,
      launchError: { kind: error.kind, message: error.message },
    }
    this.#tryRecord(record)
  }

  #wake(): void {
    for (const waker of [...this.#wakers]) waker()
  }

  /** Resolves at the next event that may have changed something, or after `ms`. */
  #pause(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#wakers.delete(done)
        resolve()
      }
      const timer = ms === undefined ? undefined : setTimeout(done, ms)
      this.#wakers.add(done)
    })
  }

  async #until(condition: () => boolean, ms?: number): Promise<void> {
    const deadline = ms === undefined ? undefined : performance.now() + ms
    while (!condition()) {
      const left = deadline === undefined ? undefined : deadline - performance.now()
      if (left !== undefined && left <= 0) return
      await this.#pause(left)
    }
  }
}

const words = (error: unknown): string => (error instanceof Error ? error.message : String(error))
