// Reads what a keeper has written, from any offset, over segments and holes, as lines. It only reads: the same way is
// used beside a live keeper, after its end, and when everything is folded anew from the start.
import { open, readdir, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { attemptFiles, outputSources, segmentName, segmentStarts, type OutputSource } from './attemptFiles'
import { LineSplitter, type RawLine } from './lines'
import { unlessOutOfFiles } from './outOfFiles'
import type { Offsets } from './wire'

const chunkBytes = 256 * 1024

/** Takes a batch of lines, in order per source. The next batch comes once it has resolved; a rejection ends the reading. */
export type LineTaker = (lines: RawLine[]) => void | Promise<void>

export interface ReadOptions {
  /** Where to go on: the `end` of the last line that was taken, per source. Absent: from the start. */
  readonly from?: Offsets
  readonly maxLineBytes?: number
}

class SourceReader {
  readonly #splitter: LineSplitter
  #offset: number
  #segmentStart = 0
  #segment: FileHandle | undefined

  constructor(
    private readonly rawDir: string,
    private readonly source: OutputSource,
    options: ReadOptions,
  ) {
    this.#offset = options.from?.[source] ?? 0
    this.#splitter = new LineSplitter({
      source,
      at: this.#offset,
      ...(options.maxLineBytes === undefined ? {} : { maxLineBytes: options.maxLineBytes }),
    })
  }

  /** The lines in the next piece of the stream, below offset `upTo`; undefined when there is no more of it for now. */
  async next(upTo: number): Promise<RawLine[] | undefined> {
    while (this.#offset < upTo) {
      if (this.#segment !== undefined) {
        const bytes = Buffer.allocUnsafe(Math.min(chunkBytes, upTo - this.#offset))
        const { bytesRead } = await this.#segment.read(bytes, 0, bytes.length, this.#offset - this.#segmentStart)
        if (bytesRead > 0) {
          this.#offset += bytesRead
          return this.#splitter.push(bytes.subarray(0, bytesRead))
        }
      }
      const found = await this.#find()
      if (found === undefined) return undefined
      if (found > this.#offset) {
        this.#offset = found
        return this.#splitter.gap(found)
      }
    }
    return undefined
  }

  /** The lines that end the stream; bytes before `total` that are not on disk become a gap. */
  finish(total: number): RawLine[] {
    return [...this.#splitter.gap(total), ...this.#splitter.finish()]
  }

  async close(): Promise<void> {
    const segment = this.#segment
    this.#segment = undefined
    await segment?.close()
  }

  /** Opens the segment that holds the next byte, or answers where the next one that exists begins. */
  async #find(): Promise<number | undefined> {
    const starts = segmentStarts(
      await readdir(this.rawDir).catch((error: unknown) => unlessOutOfFiles(error, [])),
      this.source,
    )
    for (const start of starts.filter((_, index) => (starts[index + 1] ?? Infinity) > this.#offset)) {
      if (start > this.#offset) return start
      const path = join(this.rawDir, segmentName(this.source, start))
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      )
      if (start + size <= this.#offset) continue
      const segment = await open(path, 'r').catch((error: unknown) => unlessOutOfFiles(error, undefined))
      // Dropped between the listing and now: what follows it shows the hole.
      if (segment === undefined) continue
      await this.close()
      this.#segment = segment
      this.#segmentStart = start
      return start
    }
    return undefined
  }
}

/** Both streams of one attempt. */
export class RawReader {
  readonly #readers: readonly SourceReader[]

  constructor(attemptDir: string, options: ReadOptions = {}) {
    const rawDir = attemptFiles(attemptDir).raw
    this.#readers = outputSources.map((source) => new SourceReader(rawDir, source, options))
  }

  /** Hands on what there is below `upTo` (absent: all there is), batch by batch. Rejects while no file can be opened. */
  async read(take: LineTaker, upTo?: Offsets): Promise<void> {
    for (let more = true; more;) {
      more = false
      const batch: RawLine[] = []
      for (const [index, source] of outputSources.entries()) {
        const lines = await this.#readers[index]?.next(upTo?.[source] ?? Infinity)
        if (lines === undefined) continue
        more = true
        batch.push(...lines)
      }
      if (batch.length > 0) await take(batch)
    }
  }

  /** The streams have ended: hands on what had no newline, and whatever bytes before `totals` are not there. */
  async finish(take: LineTaker, totals?: Offsets): Promise<void> {
    const batch: RawLine[] = []
    for (const [index, source] of outputSources.entries()) {
      batch.push(...(this.#readers[index]?.finish(totals?.[source] ?? 0) ?? []))
    }
    await this.close()
    if (batch.length > 0) await take(batch)
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) await reader.close()
  }
}

/** Reads a whole attempt whose keeper has gone. */
export async function readAll(
  attemptDir: string,
  take: LineTaker,
  options: ReadOptions = {},
  totals?: Offsets,
): Promise<void> {
  const reader = new RawReader(attemptDir, options)
  try {
    await reader.read(take)
    await reader.finish(take, totals)
  } finally {
    await reader.close()
  }
}
