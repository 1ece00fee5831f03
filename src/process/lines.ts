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

const defaultMaxLineBytes = 16 * 1024 * 1024
const headBytes = 512
/** A long line is decoded in pieces of this size as it comes, so that its end does not stop the loop. */
const pieceBytes = 1024 * 1024
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
  /** The line so far: decoded pieces, then bytes that are still to be decoded. */
  #text = ''
  #head: Buffer | undefined
  #parts: Buffer[] = []
  #undecodedBytes = 0
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
  push(chunk: Buffer): RawLine[] {
    const lines: RawLine[] = []
    const base = this.#at
    let from = 0
    for (let cut = chunk.indexOf(newline); cut !== -1; cut = chunk.indexOf(newline, from)) {
      this.#at = base + cut + 1
      if (this.#partBytes === 0 && this.#skipping === undefined && cut - from <= this.#maxLineBytes) {
        const text = decodeLine(chunk, from, cut)
        lines.push({ kind: 'line', source: this.#source, offset: this.#lineStart, end: this.#at, text })
        this.#lineStart = this.#at
      } else {
        if (cut > from) this.#keep(chunk.subarray(from, cut))
        this.#close(lines, true)
      }
      from = cut + 1
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from))
    this.#at = base + chunk.length
    return lines
  }

  /** The bytes up to offset `to` are lost. What remains of the line they cut, on both sides, counts as lost too. */
  gap(to: number): RawLine[] {
    const lines: RawLine[] = []
    if (to <= this.#at) return lines
    if (this.#skipping === 'overLong') this.#close(lines, false)
    this.#gapBytes += this.#partBytes + (to - this.#at)
    this.#forgetLine()
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

  #keep(bytes: Buffer): void {
    this.#partBytes += bytes.length
    if (this.#skipping === 'gap') {
      this.#gapBytes += bytes.length
      this.#partBytes = 0
      return
    }
    if (this.#skipping === 'overLong') return
    this.#parts.push(bytes)
    this.#undecodedBytes += bytes.length
    if (this.#partBytes > this.#maxLineBytes) {
      this.#head ??= Buffer.concat(this.#parts, this.#headBytes)
      this.#text = ''
      this.#parts = []
      this.#skipping = 'overLong'
    } else if (this.#undecodedBytes >= pieceBytes) {
      this.#decodePiece()
    }
  }

  #decodePiece(): void {
    const bytes = Buffer.concat(this.#parts)
    this.#head ??= Buffer.from(bytes.subarray(0, this.#headBytes))
    const to = wholeCharacters(bytes)
    this.#text += decode(bytes, this.#text === '' ? markBytes(bytes, 0, to) : 0, to)
    this.#parts = [bytes.subarray(to)]
    this.#undecodedBytes = bytes.length - to
  }

  #forgetLine(): void {
    this.#text = ''
    this.#head = undefined
    this.#parts = []
    this.#undecodedBytes = 0
    this.#partBytes = 0
  }

  #close(lines: RawLine[], terminated: boolean): void {
    const place = { source: this.#source, offset: this.#lineStart, end: this.#at }
    if (this.#skipping === 'gap') {
      // The newline that ended the cut line went with it.
      lines.push({ kind: 'gap', ...place, byteCount: this.#gapBytes + (terminated ? 1 : 0) })
    } else if (this.#skipping === 'overLong') {
      // The cut may fall inside a character; its replacement says nothing, so it goes.
      const head = decodeLine(this.#head ?? Buffer.alloc(0)).replace(/\ufffd$/, '')
      lines.push({ kind: 'overLong', ...place, byteCount: this.#partBytes, head })
    } else {
      const bytes = Buffer.concat(this.#parts)
      const text =
        this.#text === '' ? decodeLine(bytes) : this.#text + decode(bytes, 0, lineEnd(bytes, 0, bytes.length))
      lines.push({ kind: 'line', ...place, text, ...(terminated ? {} : { unterminated: true as const }) })
    }
    this.#forgetLine()
    this.#gapBytes = 0
    this.#skipping = undefined
    this.#lineStart = this.#at
  }
}

const decode = (bytes: Buffer, from: number, to: number): string => bytes.toString('utf8', from, to)

/** A whole line: without a byte order mark at its start and a carriage return at its end. */
function decodeLine(bytes: Buffer, start = 0, end = bytes.length): string {
  const from = markBytes(bytes, start, end)
  return decode(bytes, from, lineEnd(bytes, from, end))
}

/** Where the text begins, after a byte order mark. */
function markBytes(bytes: Buffer, start: number, end: number): number {
  const marked = bytes[start] === 0xef && end - start >= 3 && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
  return marked ? start + 3 : start
}

const lineEnd = (bytes: Buffer, from: number, end: number): number =>
  end > from && bytes[end - 1] === 0x0d ? end - 1 : end

/** How many bytes can be decoded without cutting a character; a carriage return at the end waits as well. */
function wholeCharacters(bytes: Buffer): number {
  const end = bytes.length
  if (bytes[end - 1] === 0x0d) return end - 1
  for (let at = end - 1; at >= Math.max(0, end - 3); at--) {
    const byte = bytes[at] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    return byte >= 0xc0 ? at : end
  }
  return end
}
