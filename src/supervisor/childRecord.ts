// What is written of one child: facts to its log, entries to its transcript. Writes only for the owner of the store;
// whoever was fenced off learns it here, before anybody is told of a line that may not count.
import { currentAttempt, isUnfinished, type Child } from '../core/child'
import type { Fact } from '../core/events'
import type { EntryBody } from '../core/transcript'
import { placeFolder, writeWhole } from '../record/atomicWrite'
import type { ChildLog } from '../record/childLog'
import type { ChildPaths } from '../record/paths'
import type { NewEntry, TranscriptFile } from '../record/transcriptFile'
import { DisposedError } from './jobs'
import type { Tools } from './tools'

/** Entries kept in memory for whoever looks at what a child is doing. */
const recentMax = 200

export interface ChildRecordEvents {
  /** The fold or the transcript changed. */
  changed(): void
  /** Another owner has taken the store. */
  fenced(): void
  /** Entries wait for a disk that took nothing: `writeOwed` is to be tried until it succeeds. */
  owing(): void
}

export class ChildRecord {
  /** The end of the transcript as written by this process, oldest first. */
  recent: readonly EntryBody[] = []

  constructor(
    private readonly log: ChildLog,
    private readonly transcript: TranscriptFile,
    private readonly paths: ChildPaths,
    private readonly tools: Pick<Tools, 'isOwner' | 'log' | 'now'>,
    private readonly events: ChildRecordEvents,
  ) {}

  get child(): Child {
    const { child } = this.log
    if (child === undefined) throw new Error('a record without an accepted child')
    return child
  }

  /** Farthest place of the raw output whose words are in the transcript, per source. */
  cursor(attempt: number): ReturnType<TranscriptFile['cursor']> {
    return this.transcript.cursor(attempt)
  }

  async append(facts: readonly Fact[], sync: boolean, entries: readonly EntryBody[] = []): Promise<void> {
    await this.appendFacts(facts, sync)
    await this.write(entries)
    if (isUnfinished(this.child)) return
    // Nothing more comes by itself, and there may be hundreds of its kind.
    await this.log.rest()
    await this.transcript.rest()
  }

  async appendFacts(facts: readonly Fact[], sync: boolean): Promise<void> {
    this.mustOwn()
    await this.log.append(facts, sync)
    // Taken over while it was being written: the line may lie behind the new owner's fence, so nobody is told of it.
    this.mustOwn()
    this.events.changed()
  }

  private mustOwn(): void {
    if (this.tools.isOwner()) return
    this.events.fenced()
    throw new DisposedError()
  }

  async write(bodies: readonly EntryBody[]): Promise<void> {
    if (bodies.length === 0) return
    const at = this.tools.now().toISOString()
    const attempt = currentAttempt(this.child)?.n ?? 0
    await this.writeEntries(bodies.map((body) => ({ at, attempt, body })))
  }

  async writeEntries(entries: readonly NewEntry[]): Promise<void> {
    await this.transcript.append(entries)
    this.recent = [...this.recent, ...entries.map(({ body }) => body)].slice(-recentMax)
    if (this.transcript.owes) this.events.owing()
    this.events.changed()
  }

  /** Keeps a text too long for the log in a file of its own, before the fact that names it. */
  async keepWhole(name: string, text: string): Promise<void> {
    this.mustOwn()
    await placeFolder(this.paths.results)
    await writeWhole(this.paths.wholeText(name), text)
  }

  /** Whether the transcript tells this turn of an attempt, or this steer. */
  tells(attempt: number, body: EntryBody & { kind: 'turn' | 'steer' }): boolean {
    return this.transcript.tells(attempt, body)
  }

  /** An ended attempt's output is not heard again: from here on its words must outlast a power cut by themselves. */
  async syncTranscriptOrWarn(): Promise<void> {
    try {
      await this.transcript.sync()
    } catch (error) {
      const { id: childId } = this.child
      this.tools.log('warning', 'the transcript may not outlast a power cut', { childId, error: String(error) })
    }
  }

  /** Writes what a full disk had refused; rejects while it still does. */
  async writeOwed(): Promise<void> {
    await this.transcript.append([])
    if (this.transcript.owes) throw new Error('The transcript still takes nothing.')
    this.events.changed()
  }

  async tell(level: 'info' | 'warning' | 'error', text: string): Promise<void> {
    await this.write([{ kind: 'notice', level, text }])
  }

  async close(): Promise<void> {
    await this.log.close()
    await this.transcript.close()
  }
}
