// What a command of ours printed, kept on disk for people: the first part of it up to a cap, then a line that says how much
// is missing. Nobody waits for it; a disk that cannot take it is told at the end.
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

export class OutputLog {
  readonly #file: FileHandle
  #queue: Promise<void> = Promise.resolve()
  #left: number
  #missing = 0
  #failure: string | undefined

  private constructor(file: FileHandle, capBytes: number) {
    this.#file = file
    this.#left = capBytes
  }

  /** Appends to `path` (0600, no link), at most `capBytes` from here on. */
  static async open(path: string, capBytes: number): Promise<OutputLog> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW
    return new OutputLog(await open(path, flags, 0o600), capBytes)
  }

  /** Returns at once. No more than the cap is ever held in memory. */
  write(chunk: Buffer): void {
    const kept = chunk.subarray(0, this.#left)
    this.#left -= kept.length
    this.#missing += chunk.length - kept.length
    if (kept.length > 0) this.#append(kept)
  }

  #append(data: Buffer): void {
    this.#queue = this.#queue
      .then(async () => {
        for (let written = 0; written < data.length;)
          written += (await this.#file.write(data, written, data.length - written)).bytesWritten
      })
      .catch((error: unknown) => {
        this.#failure ??= error instanceof Error ? error.message : String(error)
      })
  }

  /** Resolves with what went wrong while writing, in words, or undefined. */
  async close(): Promise<string | undefined> {
    if (this.#missing > 0) this.#append(Buffer.from(`\n… ${this.#missing} more bytes were not kept\n`))
    await this.#queue
    await this.#file.close()
    return this.#failure
  }
}
