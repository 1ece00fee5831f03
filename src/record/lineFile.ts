// Reads a file of lines from where it stopped last time. What is not whole yet waits; reading never writes.
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

const newline = 0x0a
const block = 256 * 1024

export class LineFile {
  #offset = 0
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
   * Hands over every whole line that has come since, until `take` answers false. A file that is not there has none. A file
   * that shrank starts anew, after `onRestart` was told.
   */
  async readNew(
    take: (line: string, start: number) => unknown,
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
      const { size } = await file.stat()
      if (size < this.#offset) {
        this.#offset = 0
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
          parts.push(chunk.subarray(from, end))
          const line = Buffer.concat(parts)
          parts = []
          const more = take(line.toString('utf8'), this.#offset)
          this.#offset += line.length + 1
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
}
