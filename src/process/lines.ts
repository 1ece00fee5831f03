// Bytes to lines. Bounded and linear: only new bytes are scanned, an over-long line is counted instead of kept, and
// what comes out does not depend on where the input was cut. It reads nothing and never throws.
import type { OutputSource } from './attemptFiles'

/** Offsets are bytes in the whole stream of that source; `end` lies after the line's newline. */
export type RawLine =
  | {
      readonly kind: 'line'
      readonly source: OutputSource
      readonly offset: number
      readonly end: number
      readonly text: string
      /** The stream ended (or was lost) before the newline came. */
      readonly unterminated?: true
    }
  | {
      readonly kind: 'overLong'
      readonly source: OutputSource
      readonly offset: number
      readonly end: number
      readonly byteCount: number
      /** The first characters, for people. */
      readonly head: string
    }
  | {
      readonly kind: 'gap'
      readonly source: OutputSource
      readonly offset: number
      readonly end: number
      readonly byteCount: number
    }

export const defaultMaxLineBytes = 16 * 1024 * 1024
const headBytes = 512
const newline = 0x0a

/**
 * Splits one source. A line is UTF-8 (invalid bytes become U+FFFD) without its newline, one carriage return before it,
 * and a byte order mark at its start. A line longer than `maxLineBytes` becomes one `overLong`, and the next line is
 * whole again. `at` is the offset of the first byte that will be pushed.
 */
export class LineSplitter {
  readonly #source: OutputSource
  readonly #maxLineBytes: number
  readonly #headBytes: number
  #lineStart: number
  #at: number
  #parts: Uint8Array[] = []
  #partBytes = 0
  #skipping: 'overLong' | 'gap' | undefined
  #gapBytes = 0

  constructor(options: { source: OutputSource; at?: number; maxLineBytes?: number }) {
    this.#source = options.source
    this.#maxLineBytes = options.maxLineBytes ?? defaultMaxLineBytes
    this.#headBytes = Math.min(headBytes, this.#maxLineBytes)
    this.#at = options.at ?? 0
    this.#lineStart = this.#at
  }

  /** Takes the next bytes. It keeps views of `chunk` until the line is whole, so the caller must not reuse it. */
  push(chunk: Uint8Array): RawLine[] {
    const lines: RawLine[] = []
    let from = 0
    while (from < chunk.length) {
      const cut = chunk.indexOf(newline, from)
      const to = cut === -1 ? chunk.length : cut
      if (to > from) this.#keep(chunk.subarray(from, to))
      this.#at += to - from
      if (cut === -1) break
      this.#at += 1
      this.#close(lines, true)
      from = cut + 1
    }
    return lines
  }

  /** The bytes up to offset `to` are lost. What remains of the line they cut, on both sides, counts as lost too. */
  gap(to: number): RawLine[] {
    const lines: RawLine[] = []
    if (to <= this.#at) return lines
    if (this.#skipping === 'overLong') this.#close(lines, false)
    this.#gapBytes += this.#partBytes + (to - this.#at)
    this.#parts = []
    this.#partBytes = 0
    this.#skipping = 'gap'
    this.#at = to
    return lines
  }

  /** The stream has ended: gives the last line if it had no newline. */
  finish(): RawLine[] {
    const lines: RawLine[] = []
    if (this.#partBytes > 0 || this.#skipping !== undefined) this.#close(lines, false)
    return lines
  }

  #keep(bytes: Uint8Array): void {
    this.#partBytes += bytes.length
    if (this.#skipping === 'gap') {
      this.#gapBytes += bytes.length
      this.#partBytes = 0
      return
    }
    if (this.#skipping === 'overLong') return
    this.#parts.push(bytes)
    if (this.#partBytes <= this.#maxLineBytes) return
    this.#parts = [Buffer.concat(this.#parts, this.#headBytes)]
    this.#skipping = 'overLong'
  }

  #close(lines: RawLine[], terminated: boolean): void {
    const place = { source: this.#source, offset: this.#lineStart, end: this.#at }
    if (this.#skipping === 'gap') {
      // The newline that ended the cut line went with it.
      lines.push({ kind: 'gap', ...place, byteCount: this.#gapBytes + (terminated ? 1 : 0) })
    } else if (this.#skipping === 'overLong') {
      lines.push({ kind: 'overLong', ...place, byteCount: this.#partBytes, head: this.#head() })
    } else {
      const text = decode(this.#parts, this.#partBytes)
      lines.push({ kind: 'line', ...place, text, ...(terminated ? {} : { unterminated: true as const }) })
    }
    this.#parts = []
    this.#partBytes = 0
    this.#gapBytes = 0
    this.#skipping = undefined
    this.#lineStart = this.#at
  }

  #head(): string {
    // The cut may fall inside a character; its replacement says nothing, so it goes.
    return decode(this.#parts, this.#headBytes).replace(/\ufffd$/, '')
  }
}

function decode(parts: readonly Uint8Array[], byteCount: number): string {
  const first = parts[0]
  if (first === undefined) return ''
  const bytes = parts.length === 1 ? Buffer.from(first.buffer, first.byteOffset, first.length) : Buffer.concat(parts)
  let from = 0
  let to = Math.min(bytes.length, byteCount)
  if (to >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) from = 3
  if (to > from && bytes[to - 1] === 0x0d) to -= 1
  return bytes.toString('utf8', from, to)
}
