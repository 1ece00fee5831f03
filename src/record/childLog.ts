// A child's events.jsonl: append-only, one writer, the only truth about the child. An owner first writes a fence with its
// epoch and only then counts what it reads, so whatever a frozen former owner writes after that is known for what it is and
// not folded.
import { readEvent, type ChildEvent, type Fact } from '../core/events'
import { reduce } from '../core/reduce'
import type { Child } from '../core/child'
import { AppendFile } from './appendFile'
import { fileStart, LineFile, type Place } from './lineFile'

const none: Oddities = { unreadable: 0, unknownKinds: 0, stale: 0 }

/** What reading a log came across beside its facts. */
export interface Oddities {
  readonly unreadable: number
  readonly unknownKinds: number
  /** Lines of an owner that had been replaced. */
  readonly stale: number
}

/**
 * Folds a log as it grows. For anyone: needs no ownership. An append counts whole or not at all. What follows a damaged line
 * counts only once it is known to have reached the medium, and all before it: else it may be what a power cut left of lines
 * that were never acknowledged.
 */
export class LogReader {
  child: Child | undefined
  #epoch = 0
  #odd = none
  readonly #file: LineFile
  /** Of an append whose last line has not been read yet. */
  #part: ChildEvent[] = []
  /** Whole appends that follow a damaged line. */
  #doubtful: ChildEvent[] | undefined
  /** Where nothing was in doubt last, and the oddities up to there. */
  #sound = { place: fileStart, odd: none }

  constructor(path: string) {
    this.#file = new LineFile(path)
  }

  /** As far as was read, lines in doubt included. */
  get oddities(): Oddities {
    return this.#odd
  }

  /** Offset in bytes up to which every line is whole, or known to be no power cut's; undefined when that is all of it. */
  get soundEnd(): number | undefined {
    return this.#part.length === 0 && this.#doubtful === undefined ? undefined : this.#sound.place.offset
  }

  /** Takes what is new. Answers the events that were folded. */
  async read(): Promise<ChildEvent[]> {
    const events: ChildEvent[] = []
    // Its owner may have cut off what was in doubt.
    if (this.soundEnd !== undefined) this.#goBack(this.#sound)
    await this.#file.readNew(
      (line) => {
        events.push(...this.#take(line))
        if (this.soundEnd === undefined) this.#sound = { place: this.#file.place, odd: this.#odd }
      },
      // Its owner took back what a full disk had left half-written: what was folded of that never was.
      () => {
        this.child = undefined
        this.#epoch = 0
        this.#goBack({ place: fileStart, odd: none })
      },
    )
    return events
  }

  #goBack(sound: { readonly place: Place; readonly odd: Oddities }): void {
    this.#sound = sound
    this.#odd = sound.odd
    this.#part = []
    this.#doubtful = undefined
    this.#file.goTo(sound.place)
  }

  /** The events that count from now on. */
  #take(line: string): readonly ChildEvent[] {
    const fence = readFence(line)
    if (fence !== undefined) {
      // An owner cuts and syncs before it fences: what stands before a fence all the same is no power cut's.
      const past = this.#release()
      this.#epoch = Math.max(this.#epoch, fence)
      return past
    }
    const reading = readEvent(line)
    if (!reading.ok) {
      if (line === '') return []
      this.#count(reading.problem === 'unknown kind' ? 'unknownKinds' : 'unreadable')
      if (reading.problem === 'not JSON') {
        this.#part = []
        this.#doubtful ??= []
      }
      return []
    }
    if ((reading.event.epoch ?? 0) < this.#epoch) {
      this.#count('stale')
      return []
    }
    this.#part.push(reading.event)
    if (reading.event.more === true) return []
    const whole = this.#part
    this.#part = []
    if (this.#doubtful === undefined) return this.#fold(whole)
    const safe = this.#doubtful.some((event) => event.durable === true)
    this.#doubtful.push(...whole)
    return safe ? this.#release() : []
  }

  #release(): readonly ChildEvent[] {
    const past = this.#doubtful ?? []
    this.#part = []
    this.#doubtful = undefined
    return this.#fold(past)
  }

  #fold(events: readonly ChildEvent[]): readonly ChildEvent[] {
    for (const event of events) this.child = reduce(this.child, event)
    return events
  }

  #count(kind: keyof Oddities): void {
    this.#odd = { ...this.#odd, [kind]: this.#odd[kind] + 1 }
  }
}

/** The owner's hand on a child's log. */
export class ChildLog {
  private constructor(
    private readonly file: AppendFile,
    private readonly epoch: number,
    private current: Child | undefined,
    readonly oddities: Oddities,
    private readonly now: () => Date,
  ) {}

  /**
   * Cuts what a power cut left half-written, fences, then reads. `now` gives the time of the facts.
   */
  static async open(path: string, epoch: number, now: () => Date): Promise<ChildLog> {
    const file = await AppendFile.open(path)
    try {
      const reader = new LogReader(path)
      await reader.read()
      const { oddities, soundEnd } = reader
      if (soundEnd !== undefined) await file.cutBack(soundEnd)
      // What a reader finds before a fence is then no power cut's.
      if (file.size > 0) await file.sync()
      await file.append([JSON.stringify({ v: 1, fence: epoch, at: now().toISOString() })], false)
      await reader.read()
      const { unreadable, unknownKinds, stale } = reader.oddities
      const found = {
        unreadable: Math.max(unreadable, oddities.unreadable),
        unknownKinds: Math.max(unknownKinds, oddities.unknownKinds),
        stale: Math.max(stale, oddities.stale),
      }
      await file.rest()
      return new ChildLog(file, epoch, reader.child, found, now)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** A child's first facts, and the fence before them, in one write; on the medium when it resolves. */
  static async begin(path: string, epoch: number, now: () => Date, facts: readonly Fact[]): Promise<ChildLog> {
    const file = await AppendFile.open(path)
    try {
      if (file.size > 0) throw new Error(`${path} exists already.`)
      const log = new ChildLog(file, epoch, undefined, { unreadable: 0, unknownKinds: 0, stale: 0 }, now)
      await log.write(facts, true, [JSON.stringify({ v: 1, fence: epoch, at: now().toISOString() })])
      return log
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get child(): Child | undefined {
    return this.current
  }

  /**
   * Appends facts in one write, all or none, and folds them; with `sync` they are on the medium when it resolves. Rejects,
   * and changes nothing, when they could not be written. Callers append one after the other.
   */
  async append(facts: readonly Fact[], sync: boolean): Promise<readonly ChildEvent[]> {
    return await this.write(facts, sync, [])
  }

  private async write(facts: readonly Fact[], sync: boolean, before: readonly string[]): Promise<ChildEvent[]> {
    const at = this.now().toISOString()
    let child = this.current
    const events: ChildEvent[] = []
    for (const [i, fact] of facts.entries()) {
      const seq = (child?.lastSeq ?? 0) + 1
      const bond = i < facts.length - 1 ? { more: true as const } : sync ? { durable: true as const } : {}
      const event: ChildEvent = { v: 1, seq, at, epoch: this.epoch, ...bond, ...fact }
      child = reduce(child, event)
      events.push(event)
    }
    await this.file.append([...before, ...events.map((event) => JSON.stringify(event))], sync)
    this.current = child
    return events
  }

  /** Lets go of the file until the next append. */
  async rest(): Promise<void> {
    await this.file.rest()
  }

  async close(): Promise<void> {
    await this.file.close()
  }
}

function readFence(line: string): number | undefined {
  if (!line.startsWith('{"v":1,"fence":')) return undefined
  try {
    const { fence } = JSON.parse(line) as { fence?: unknown }
    return typeof fence === 'number' && Number.isInteger(fence) ? fence : undefined
  } catch {
    return undefined
  }
}
