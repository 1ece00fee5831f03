// One output stream on disk, in numbered segments under a cap. It decides what goes when there is no more room: first
// what a host has folded, then, if no host is following, the oldest bytes, with a record of the gap.
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { segmentName, type OutputSource } from '../attemptFiles'
import type { Journal } from './journal'

interface Segment {
  readonly path: string
  readonly start: number
  end: number
}

export interface GapRecord {
  readonly source: OutputSource
  readonly offset: number
  readonly end: number
  /** A host had folded these bytes, so nothing of them is lost to it. */
  readonly folded: boolean
  readonly at: number
}

export class RawStore {
  readonly #segments: Segment[] = []
  #fd: number | undefined
  #total = 0
  #onDisk = 0
  #folded = 0
  #dropping = false

  constructor(
    readonly source: OutputSource,
    private readonly options: {
      readonly rawDir: string
      readonly gaps: Journal
      readonly capBytes: number
      readonly segmentBytes: number
      /** True while a host follows and makes progress: then the agent waits rather than losing output. */
      readonly hostFollows: () => boolean
    },
  ) {
    mkdirSync(options.rawDir, { recursive: true, mode: 0o700 })
  }

  /** Bytes written since the start; the offset of the next one. */
  get total(): number {
    return this.#total
  }

  /** Unfolded output was dropped for want of room: from then on the stream is drained slowly. */
  get dropping(): boolean {
    return this.#dropping
  }

  /** Appends all of `bytes` or throws the file system's error; returns how much was written either way by `total`. */
  append(bytes: Buffer): void {
    let from = 0
    while (from < bytes.length) {
      const segment = this.#openSegment()
      const room = Math.max(1, this.#segmentBytes - (segment.end - segment.start))
      const written = writeSync(this.#fd ?? -1, bytes, from, Math.min(bytes.length - from, room))
      segment.end += written
      this.#total += written
      this.#onDisk += written
      from += written
    }
    this.makeRoom()
  }

  fold(offset: number): void {
    this.#folded = Math.max(this.#folded, Math.min(offset, this.#total))
  }

  /** Drops what may be dropped; false when the cap is reached and a host is still to fold. */
  makeRoom(): boolean {
    while (this.#onDisk > this.options.capBytes) {
      const oldest = this.#segments[0]
      if (oldest === undefined || this.#segments.length === 1) return true
      const folded = oldest.end <= this.#folded
      if (!folded && this.options.hostFollows()) return false
      if (!folded) this.#dropping = true
      this.#segments.shift()
      this.#onDisk -= oldest.end - oldest.start
      this.#drop(oldest, folded)
    }
    return true
  }

  /** Everything appended is on the medium when it returns. Throws the file system's error. */
  sync(): void {
    for (const path of [this.options.rawDir, ...this.#segments.map((segment) => segment.path)]) {
      const fd = openSync(path, 'r')
      try {
        fsyncSync(fd)
      } finally {
        closeSync(fd)
      }
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  get #segmentBytes(): number {
    return Math.max(1, Math.min(this.options.segmentBytes, Math.floor(this.options.capBytes / 4)))
  }

  #openSegment(): Segment {
    const last = this.#segments.at(-1)
    if (last !== undefined && this.#fd !== undefined && last.end - last.start < this.#segmentBytes) return last
    this.close()
    const path = join(this.options.rawDir, segmentName(this.source, this.#total))
    this.#fd = openSync(path, 'wx', 0o600)
    const segment = { path, start: this.#total, end: this.#total }
    this.#segments.push(segment)
    return segment
  }

  #drop(segment: Segment, folded: boolean): void {
    const gap: GapRecord = { source: this.source, offset: segment.start, end: segment.end, folded, at: Date.now() }
    // The record first: a hole without one would look like damage. A full disk must not stop the dropping that frees it;
    // the next segment's name shows the hole as well.
    this.options.gaps.note(gap)
    rmSync(segment.path, { force: true })
  }
}
