// The host's side of a living keeper: rings are heard on the socket, lines are read from the files, wishes go down with
// a number and come back answered. It writes no disk and never connects again by itself: a lost link says why.
import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { readFile } from 'node:fs/promises'
import { attemptFiles } from './attemptFiles'
import { signalProcess } from './identity'
import { parseExitRecord, type EndCause, type ExitRecord, type ProcessIdentity, type SoftEnd } from './launch'
import { RawReader, type LineTaker, type ReadOptions } from './rawReader'
import { deadline } from './limitClock'
import {
  largestFrame,
  largestWireLine,
  longestSocketPath,
  parseKeeperMessage,
  WireReader,
  wireLine,
  wireVersions,
  type HostMessage,
  type KeeperMessage,
  type NotTaken,
  type Offsets,
} from './wire'

/** `taken: 'unknown'`: the link was lost before the answer came; the stdin journal tells after the next attach. */
export type WriteResult =
  | { readonly taken: true; readonly seq: number }
  | { readonly taken: false; readonly reason: NotTaken }
  | { readonly taken: 'unknown' }

/** `keeperSilent`: it has the wish but did not answer in time (frozen); the link itself stays. */
export type LinkLoss = 'detached' | 'fenced' | 'keeperLost' | 'keeperSilent'

/** What waited on a link when it was lost. Fenced: another host has taken over; only a person attaches again. */
export class LinkLostError extends Error {
  override readonly name = 'LinkLostError'
  constructor(readonly loss: LinkLoss) {
    super(
      {
        detached: 'This window let go of the agent; it goes on in the background.',
        fenced: 'Another window has taken over this agent.',
        keeperLost: "The agent's keeper is gone without a record of the end.",
        keeperSilent: "The agent's keeper does not answer. If it stays so, end the agent without it.",
      }[loss],
    )
  }
}

export type ConnectFailure =
  | { readonly kind: 'unreachable'; readonly code: string }
  | { readonly kind: 'silent' }
  | { readonly kind: 'refused'; readonly reason: 'epoch' | 'version'; readonly detail: string }

export interface LinkOptions extends ReadOptions {
  readonly attemptDir: string
  readonly socketPath: string
  /** Not lower than that of any host before; taken by exclusive create, so that no two hosts ever have the same. */
  readonly epoch: number
  /** A frozen keeper accepts and says nothing. */
  readonly helloMs?: number
  /** Who we are beside the epoch, so that this host may come again with the one it has. Default: this process. */
  readonly hostId?: string
}

const thisProcess = randomUUID()

/** A keeper answers in milliseconds; one that takes this long is frozen or waits for a dead disk. */
const answerMs = 10_000

type Welcome = Extract<KeeperMessage, { t: 'welcome' }>

/** Connects to a keeper's socket and introduces this host. Never throws for what a keeper does or fails to do. */
export async function openLink(options: LinkOptions): Promise<KeeperLink | ConnectFailure> {
  if (Buffer.byteLength(options.socketPath) > longestSocketPath) return { kind: 'unreachable', code: 'ENAMETOOLONG' }
  const socket = connect(options.socketPath)
  return await new Promise((resolve) => {
    const reader = new WireReader(largestWireLine)
    const forgetDeadline = deadline(options.helloMs ?? 5_000, () => fail({ kind: 'silent' }))
    const onError = (error: NodeJS.ErrnoException): void => fail({ kind: 'unreachable', code: error.code ?? 'unknown' })
    const onClose = (): void => fail({ kind: 'unreachable', code: 'closed' })
    const settle = (): void => {
      forgetDeadline()
      socket.off('data', onData).off('close', onClose)
    }
    function fail(failure: ConnectFailure): void {
      settle()
      socket.destroy()
      resolve(failure)
    }
    function onData(chunk: Buffer): void {
      const lines = reader.push(chunk)
      const first = lines?.[0]
      if (lines === undefined || first === undefined) return
      const message = parseKeeperMessage(first)
      if (message?.t === 'refused') return fail({ kind: 'refused', reason: message.reason, detail: message.detail })
      if (message?.t !== 'welcome') return fail({ kind: 'unreachable', code: 'notAKeeper' })
      settle()
      socket.off('error', onError)
      resolve(new KeeperLink(socket, reader, message, options, lines.slice(1)))
    }
    socket.on('connect', () =>
      socket.write(
        wireLine({ t: 'hello', versions: wireVersions, epoch: options.epoch, hostId: options.hostId ?? thisProcess }),
      ),
    )
    socket.on('error', onError).on('data', onData).on('close', onClose)
  })
}

type Wish = Extract<HostMessage, { n: number }>
type WithoutNumber<T> = T extends Wish ? Omit<T, 'n'> : never
type Answer = Extract<KeeperMessage, { t: 'answer' }>

/** One host's hold on one keeper, from `openLink` until the end, `detach`, fencing or the keeper's death. */
export class KeeperLink {
  readonly keeper: ProcessIdentity
  readonly agent: ProcessIdentity
  /** Sequence number of the last stdin frame when this host attached. */
  readonly lastSeq: number
  /**
   * Resolves after every line before the end was taken by `follow`; exit.json may follow a moment later. Rejects with
   * LinkLostError, or what `follow` threw.
   */
  readonly ended: Promise<ExitRecord>
  /** The keeper cannot write to disk; it goes on trying and the agent waits. Called at most once a second. */
  onTrouble: ((detail: string) => void) | undefined

  readonly #reader: RawReader
  readonly #waiting = new Map<number, (answer: Answer | undefined) => void>()
  readonly #attemptDir: string
  #resolveEnded: (record: ExitRecord) => void = () => undefined
  #rejectEnded: (error: unknown) => void = () => undefined
  #totals: Offsets
  #exit: ExitRecord | undefined
  #loss: LinkLoss | undefined
  #lastN = 0
  #changed = false
  #wake: (() => void) | undefined
  #following = false

  /** Use `openLink`. */
  constructor(
    private readonly socket: Socket,
    wire: WireReader,
    welcome: Welcome,
    options: LinkOptions,
    first: readonly string[],
  ) {
    this.keeper = welcome.keeper
    this.agent = welcome.agent
    this.lastSeq = welcome.lastSeq
    this.#totals = welcome.totals
    this.#attemptDir = options.attemptDir
    this.#reader = new RawReader(options.attemptDir, options)
    this.ended = new Promise((resolve, reject) => {
      this.#resolveEnded = resolve
      this.#rejectEnded = reject
    })
    // Who only follows hears of a loss there.
    this.ended.catch(() => undefined)
    socket.on('error', () => undefined)
    socket.on('close', () => void this.#closed())
    socket.on('data', (chunk: Buffer) => {
      const lines = wire.push(chunk)
      if (lines === undefined) socket.destroy()
      else for (const line of lines) this.#hear(line)
    })
    for (const line of first) this.#hear(line)
  }

  /**
   * Reads both streams from `from` on and hands them to `take`, one batch at a time. Resolves when the agent has ended
   * and all is taken; rejects with what `take` threw or with LinkLostError. Once per link.
   */
  async follow(take: LineTaker): Promise<void> {
    if (this.#following) throw new Error('This link is followed already.')
    this.#following = true
    try {
      for (;;) {
        this.#changed = false
        const exit = this.#exit
        const loss = this.#loss
        if (loss !== undefined) throw new LinkLostError(loss)
        await this.#reader.read(async (lines) => {
          if (this.#loss !== undefined) throw new LinkLostError(this.#loss)
          await take(lines)
        }, this.#totals)
        if (exit !== undefined) {
          await this.#reader.finish(take, exit.totals)
          this.#resolveEnded(exit)
          return
        }
        if (!this.#changed) await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } catch (error) {
      this.#rejectEnded(error)
      throw error
    } finally {
      await this.#reader.close()
    }
  }

  /**
   * Sends a frame to the agent's stdin exactly as it is (newline included). An `id` makes it idempotent for this attempt:
   * the same id again, also from a later host, is the same frame.
   */
  async write(frame: string, id?: string): Promise<WriteResult> {
    if (Buffer.byteLength(frame) > largestFrame) return { taken: false, reason: 'tooLarge' }
    if (this.#exit !== undefined) return { taken: false, reason: 'ended' }
    const answer = await this.#ask({ t: 'write', text: frame, ...(id === undefined ? {} : { id }) })
    if (answer?.seq !== undefined) return { taken: true, seq: answer.seq }
    if (answer?.notTaken !== undefined) return { taken: false, reason: answer.notTaken }
    return { taken: 'unknown' }
  }

  /** Ends the agent's input once what waits has gone through. */
  async closeInput(): Promise<void> {
    await this.#ask({ t: 'closeInput' })
  }

  /**
   * Asks for the agent's end: its own soft way if given, then SIGTERM, SIGKILL and the sweep, all in the keeper. Resolves
   * once the keeper has journaled the request (or the agent has ended). The first cause stands. Rejects with LinkLostError.
   */
  async requestEnd(cause: EndCause, soft?: SoftEnd): Promise<void> {
    if (this.#exit !== undefined) return
    const answer = await this.#ask({ t: 'requestEnd', cause, ...(soft === undefined ? {} : { soft }) })
    if (answer === undefined && this.#exit === undefined)
      throw new LinkLostError(this.#loss ?? (this.socket.destroyed ? 'keeperLost' : 'keeperSilent'))
  }

  /**
   * Ends a keeper that does not answer, so that its agent can be ended without it. It may have been about to write its
   * last words; whoever follows hears of a lost keeper.
   */
  endKeeper(): void {
    signalProcess(this.keeper, 'SIGKILL')
  }

  /** The wall-time limit stands still, for example while the agent waits for a person's answer. */
  async pauseClock(): Promise<void> {
    await this.#ask({ t: 'pauseClock' })
  }

  async resumeClock(): Promise<void> {
    await this.#ask({ t: 'resumeClock' })
  }

  /** All before these offsets is kept elsewhere; the keeper may drop it when it needs room. */
  acknowledge(folded: Offsets): void {
    this.#send({ t: 'folded', offsets: folded })
  }

  /** The end is recorded elsewhere; the keeper may go. Resolves once it heard so, or is gone. */
  async acknowledgeExit(): Promise<void> {
    await this.#ask({ t: 'exitSeen' })
  }

  /** Lets go; agent and keeper go on. Synchronous, so that a closing window loses no time. Twice is harmless. */
  detach(): void {
    this.#lose('detached')
    this.socket.end()
    this.socket.destroySoon()
  }

  #hear(line: string): void {
    const message = parseKeeperMessage(line)
    if (message === undefined) return
    switch (message.t) {
      case 'grew':
        this.#totals = message.totals
        this.#ring()
        return
      case 'answer':
        this.#waiting.get(message.n)?.(message)
        this.#waiting.delete(message.n)
        return
      case 'exit':
        this.#exit = message.record
        this.#totals = message.record.totals
        this.#ring()
        return
      case 'fenced':
        this.#lose('fenced')
        this.socket.destroy()
        return
      case 'trouble':
        this.onTrouble?.(message.detail)
        return
      case 'welcome':
      case 'refused':
        return
      default:
        message satisfies never
    }
  }

  async #closed(): Promise<void> {
    if (this.#exit === undefined && this.#loss === undefined) {
      // Its last words may have been written and not heard.
      const text = await readFile(attemptFiles(this.#attemptDir).exit, 'utf8').catch(() => '')
      const record = parseExitRecord(text)
      if (record === undefined) {
        this.#lose('keeperLost')
      } else {
        this.#exit ??= record
        this.#totals = this.#exit.totals
      }
    }
    this.#answerNothing()
    this.#ring()
  }

  #lose(loss: LinkLoss): void {
    this.#loss ??= loss
    this.#answerNothing()
    this.#ring()
    if (!this.#following) this.#rejectEnded(new LinkLostError(this.#loss))
  }

  #answerNothing(): void {
    for (const resolve of this.#waiting.values()) resolve(undefined)
    this.#waiting.clear()
  }

  #ring(): void {
    this.#changed = true
    this.#wake?.()
    this.#wake = undefined
  }

  #send(message: HostMessage): void {
    if (!this.socket.destroyed && this.socket.writable) this.socket.write(wireLine(message))
  }

  /** The keeper's answer; undefined when the link was lost, or the time was up, before it came. */
  #ask(wish: WithoutNumber<Wish>): Promise<Answer | undefined> {
    if (this.#loss !== undefined || this.socket.destroyed || !this.socket.writable) return Promise.resolve(undefined)
    const n = ++this.#lastN
    return new Promise((resolve) => {
      const forgetDeadline = deadline(answerMs, () => {
        this.#waiting.delete(n)
        resolve(undefined)
      })
      this.#waiting.set(n, (answer) => {
        forgetDeadline()
        resolve(answer)
      })
      this.#send({ ...wish, n })
    })
  }
}
