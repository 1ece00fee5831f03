// The owner's hand on a child's transcript.jsonl and its human-readable log. Not fsynced before the attempt's end: until
// then both can be made again from raw output and events. A failed write is reported once and tried again with the next
// entry; the child goes on.
import type { EntryBody, TranscriptEntry } from '../core/transcript'
import { readEntry } from '../core/transcript'
import { textLogLine } from '../core/textLog'
import { AppendFile } from './appendFile'
import { LineFile } from './lineFile'

export interface NewEntry {
  readonly at: string
  readonly attempt: number
  readonly body: EntryBody
  readonly cursor?: { readonly source: 'stdout' | 'stderr'; readonly end: number }
}

/** Entries kept while the disk takes nothing. */
const owedMax = 10_000

export class TranscriptFile {
  private next: number
  /** Attempts whose turn, and steers whose text, it tells. */
  private readonly told: Set<string>
  private readonly owed: NewEntry[] = []
  private failing = false

  private constructor(
    private readonly file: AppendFile,
    private readonly log: AppendFile,
    next: number,
    told: Set<string>,
    /** Per attempt: how far into its raw output the entries reach. */
    private readonly cursors: Map<number, { stdout: number; stderr: number }>,
    private readonly onTrouble: (words: string) => void,
    private readonly redact: (text: string) => string,
  ) {
    this.next = next
    this.told = told
  }

  /** `redact`: takes secrets out of a line of JSON, which stays one. */
  static async open(
    path: string,
    logPath: string,
    onTrouble: (words: string) => void,
    redact: (text: string) => string = (text) => text,
  ): Promise<TranscriptFile> {
    const file = await AppendFile.open(path)
    try {
      const log = await AppendFile.open(logPath)
      try {
        return await TranscriptFile.after(path, file, log, onTrouble, redact)
      } catch (error) {
        await log.close()
        throw error
      }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  private static async after(
    path: string,
    file: AppendFile,
    log: AppendFile,
    onTrouble: (words: string) => void,
    redact: (text: string) => string,
  ): Promise<TranscriptFile> {
    let next = 0
    let end = 0
    const told = new Set<string>()
    const cursors = new Map<number, { stdout: number; stderr: number }>()
    // After a power cut a line may be missing between others: entries count up to there, and raw output tells the rest anew.
    await new LineFile(path).readNew((line, _start, lineEnd) => {
      const entry = readEntry(line)
      if (entry?.n !== next) return false
      next++
      end = lineEnd
      advance(cursors, entry)
      told.add(nameOf(entry.attempt, entry))
      return true
    })
    if (end < file.size) await file.cutBack(end)
    const opened = new TranscriptFile(file, log, next, told, cursors, onTrouble, redact)
    if (next > 0) await opened.rest()
    return opened
  }

  /** Raw output of this attempt up to here is told already. */
  cursor(attempt: number): { readonly stdout: number; readonly stderr: number } {
    return this.cursors.get(attempt) ?? { stdout: 0, stderr: 0 }
  }

  /** Whether it tells this turn of an attempt, or this steer. */
  tells(attempt: number, body: EntryBody & { kind: 'turn' | 'steer' }): boolean {
    return this.told.has(nameOf(attempt, body))
  }

  /** Entries wait for a disk that took nothing. */
  get owes(): boolean {
    return this.owed.length > 0
  }

  /** Lines for people only, e.g. the header. */
  async say(lines: readonly string[]): Promise<void> {
    await this.log.append(lines, false)
  }

  /** Never rejects: what could not be written is kept, up to a bound, and goes first next time. */
  async append(entries: readonly NewEntry[]): Promise<void> {
    this.owed.push(...entries)
    if (this.owed.length === 0) return
    const given: TranscriptEntry[] = this.owed.map(({ at, attempt, body, cursor }, i) => ({
      n: this.next + i,
      at,
      attempt,
      ...(cursor === undefined ? {} : { cursor }),
      ...body,
    }))
    const plain = given.map((entry) => JSON.stringify(entry))
    const lines = plain.map((line) => this.redact(line))
    // What people read of an entry is cut where it is long: from an entry without its secrets.
    const numbered = given.map((entry, i) => (lines[i] === plain[i] ? entry : (readEntry(lines[i] ?? '') ?? entry)))
    try {
      await this.file.append(lines, false)
    } catch (error) {
      if (!this.failing) this.onTrouble(`The transcript could not be written: ${String(error)}. The child goes on.`)
      this.failing = true
      // Beyond the bound the newest are let go: their cursor stays behind, and raw output still has them.
      if (this.owed.length > owedMax) this.owed.length = owedMax
      return
    }
    this.owed.length = 0
    this.next += numbered.length
    for (const entry of numbered) {
      advance(this.cursors, entry)
      this.told.add(nameOf(entry.attempt, entry))
    }
    this.failing = false
    await this.log.append(numbered.map(textLogLine), false).catch((error: unknown) => {
      this.onTrouble(`The readable log could not be written: ${String(error)}. The transcript has it all.`)
    })
  }

  /** On the medium once it resolves. Rejects when that cannot be. */
  async sync(): Promise<void> {
    await this.file.sync()
    await this.log.sync()
  }

  /** Lets go of both files until the next entry. */
  async rest(): Promise<void> {
    await this.file.rest()
    await this.log.rest()
  }

  async close(): Promise<void> {
    await this.file.close()
    await this.log.close()
  }
}

function advance(cursors: Map<number, { stdout: number; stderr: number }>, entry: TranscriptEntry): void {
  if (entry.cursor === undefined) return
  const known = cursors.get(entry.attempt) ?? { stdout: 0, stderr: 0 }
  known[entry.cursor.source] = Math.max(known[entry.cursor.source], entry.cursor.end)
  cursors.set(entry.attempt, known)
}

function nameOf(attempt: number, body: EntryBody): string {
  if (body.kind === 'turn') return `turn ${attempt}`
  return body.kind === 'steer' ? `steer ${body.steerId}` : ''
}
