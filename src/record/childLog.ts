// A child's events.jsonl: append-only, one writer, the only truth about the child. An owner first writes a fence with its
// epoch and only then reads, so whatever a frozen former owner writes after that is known for what it is and not folded.
import { readEvent, type ChildEvent, type Fact } from '../core/events'
import { reduce } from '../core/reduce'
import type { Child } from '../core/child'
import { AppendFile } from './appendFile'
import { LineFile } from './lineFile'

/** What reading a log came across beside its facts. */
export interface Oddities {
  readonly unreadable: number
  readonly unknownKinds: number
  /** Lines of an owner that had been replaced. */
  readonly stale: number
}

/** Folds a log as it grows. For anyone: needs no ownership. */
export class LogReader {
  child: Child | undefined
  #epoch = 0
  #odd = { unreadable: 0, unknownKinds: 0, stale: 0 }
  readonly #file: LineFile

  constructor(path: string) {
    this.#file = new LineFile(path)
  }

  get oddities(): Oddities {
    return this.#odd
  }

  /** Takes what is new. Answers the events that were folded. */
  async read(): Promise<ChildEvent[]> {
    const events: ChildEvent[] = []
    await this.#file.readNew(
      (line) => {
        const event = this.#take(line)
        if (event !== undefined) events.push(event)
      },
      // Its owner took back what a full disk had left half-written: what was folded of that never was.
      () => {
        this.child = undefined
        this.#epoch = 0
        this.#odd = { unreadable: 0, unknownKinds: 0, stale: 0 }
      },
    )
    return events
  }

  #take(line: string): ChildEvent | undefined {
    const fence = readFence(line)
    if (fence !== undefined) {
      this.#epoch = Math.max(this.#epoch, fence)
      return undefined
    }
    const reading = readEvent(line)
    if (!reading.ok) {
      if (line !== '') this.#odd[reading.problem === 'unreadable' ? 'unreadable' : 'unknownKinds']++
      return undefined
    }
    if ((reading.event.epoch ?? 0) < this.#epoch) {
      this.#odd.stale++
      return undefined
    }
    this.child = reduce(this.child, reading.event)
    return reading.event
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

  /** Fences, then reads. `now` gives the time of the facts. */
  static async open(path: string, epoch: number, now: () => Date): Promise<ChildLog> {
    const file = await AppendFile.open(path)
    try {
      const fresh = file.size === 0
      await file.append([JSON.stringify({ v: 1, fence: epoch, at: now().toISOString() })], false)
      const reader = new LogReader(path)
      if (!fresh) await reader.read()
      return new ChildLog(file, epoch, reader.child, reader.oddities, now)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get child(): Child | undefined {
    return this.current
  }

  /**
   * Appends facts in one write and folds them; with `sync` they are on the medium when it resolves. Rejects, and changes
   * nothing, when they could not be written. Callers append one after the other.
   */
  async append(facts: readonly Fact[], sync: boolean): Promise<readonly ChildEvent[]> {
    const at = this.now().toISOString()
    let child = this.current
    const events: ChildEvent[] = []
    for (const fact of facts) {
      const event: ChildEvent = { v: 1, seq: (child?.lastSeq ?? 0) + 1, at, epoch: this.epoch, ...fact }
      child = reduce(child, event)
      events.push(event)
    }
    await this.file.append(
      events.map((event) => JSON.stringify(event)),
      sync,
    )
    this.current = child
    return events
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
