// Reads a file of lines from where it stopped last time. What is not whole yet waits; reading never writes.
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { mustBeFile } from './readFile'

const newline = 0x0a
const block = 256 * 1024
export const fileStart: Place = { offset: 0, known: Buffer.alloc(0) }
/** So much of the last line read is kept, to know it again. */
const knownBytes = 4 * 1024

/** An end of a line that was read, to go back to. */
export interface Place {
  readonly offset: number
  /** What stands before it. */
  readonly known: Buffer
}

export class LineFile {
  #offset = 0
  /** What stood before the offset when it was read. */
  #known: Buffer = Buffer.alloc(0)
  readonly #path: string

  constructor(path: string, offset = 0) {
    this.#path = path
    this.#offset = offset
  }

  /** Bytes of whole lines read so far. */
  get offset(): number {
    return this.#offset
  }

  /**
   * Hands over every whole line that has come since, with the offsets of its first byte and of what follows it, until
   * `take` answers false. A file that is not there has none. A file that shrank, or in which another line now stands where
   * the last one was read, starts anew, after `onRestart` was told.
   */
  async readNew(
    take: (line: string, start: number, end: number) => unknown,
    onRestart: () => void = () => undefined,
  ): Promise<void> {
    const file = await open(this.#path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      },
    )
    if (file === undefined) return
    try {
      const found = await file.stat()
      mustBeFile(this.#path, found)
      const { size } = found
      if (size < this.#offset || !(await this.#isKnown(file))) {
        this.goTo(fileStart)
        onRestart()
      }
      let parts: Buffer[] = []
      let at = this.#offset
      while (at < size) {
        const buffer = Buffer.allocUnsafe(Math.min(block, size - at))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
        if (bytesRead === 0) break
        const chunk = buffer.subarray(0, bytesRead)
        let from = 0
        for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
          parts.push(chunk.subarray(from, end + 1))
          const line = Buffer.concat(parts)
          parts = []
          const start = this.#offset
          this.#offset = start + line.length
          this.#known = line.subarray(-knownBytes)
          const more = take(line.toString('utf8', 0, line.length - 1), start, this.#offset)
          if (more === false) return
          from = end + 1
        }
        if (from < chunk.length) parts.push(chunk.subarray(from))
        at += bytesRead
      }
    } finally {
      await file.close()
    }
  }

  get place(): Place {
    return { offset: this.#offset, known: this.#known }
  }

  /** Goes on from there next time. */
  goTo({ offset, known }: Place): void {
    this.#offset = offset
    this.#known = known
  }

  /** Owners may take back what they could not write whole and write something else there. */
  async #isKnown(file: FileHandle): Promise<boolean> {
    const { length } = this.#known
    if (length === 0) return true
    const found = Buffer.alloc(length)
    const { bytesRead } = await file.read(found, 0, length, this.#offset - length)
    return bytesRead === length && found.equals(this.#known)
  }
}
