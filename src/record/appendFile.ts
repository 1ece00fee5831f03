// A file that only grows, by whole lines, from one writer. A torn tail of a former writer is cut before the first append;
// a write that fails half-way is taken back, so that no stub is ever glued to the next line.
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from './atomicWrite'
import { mustBeFile } from './readFile'

const newline = 0x0a
const openFlags = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW
const tailBlock = 64 * 1024

export class AppendFile {
  readonly #path: string
  /** Undefined while it rests. */
  #open: FileHandle | undefined
  #isClosed = false
  #size: number
  #cutBytes: number
  #queue: Promise<unknown> = Promise.resolve()
  #broken: unknown
  #owed = 0
  /** Its name is in its folder, and on the medium there. */
  #nameIsSafe: boolean

  private constructor(path: string, file: FileHandle, size: number, cutBytes: number) {
    this.#path = path
    this.#open = file
    this.#size = size
    this.#cutBytes = cutBytes
    this.#nameIsSafe = size > 0
  }

  /** Opens or creates `path` (0600, no link) for appending. */
  static async open(path: string): Promise<AppendFile> {
    const file = await open(path, openFlags | constants.O_CREAT, 0o600)
    try {
      const found = await file.stat()
      mustBeFile(path, found)
      const { size } = found
      const end = await lastLineEnd(file, size)
      if (end < size) await file.truncate(end)
      return new AppendFile(path, file, end, size - end)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** What was let go of is opened again; what is no longer there is not made anew. */
  async #file(): Promise<FileHandle> {
    if (this.#isClosed) throw new Error(`${this.#path} was closed`)
    return (this.#open ??= await open(this.#path, openFlags))
  }

  /**
   * Lets go of the file until the next append: an ended child of which nothing more is written costs no file descriptor.
   */
  async rest(): Promise<void> {
    const done = this.#queue.then(() => this.#close())
    this.#queue = done.catch(() => undefined)
    await done
  }

  async #close(): Promise<void> {
    const file = this.#open
    this.#open = undefined
    await file?.close()
  }

  /** Bytes that were cut since it was opened: a torn last line, and what `cutBack` was told to. */
  get cutBytes(): number {
    return this.#cutBytes
  }

  /** Cuts what lies beyond `end`, which is the end of a line. Before the first append only. */
  async cutBack(end: number): Promise<void> {
    const file = await this.#file()
    await file.truncate(end)
    this.#cutBytes += this.#size - end
    this.#size = end
  }

  /** Everything appended so far is on the medium once it resolves. */
  sync(): Promise<void> {
    const done = this.#queue.then(() => this.#sync())
    this.#queue = done.catch(() => undefined)
    return done
  }

  async #sync(): Promise<void> {
    const file = await this.#file()
    await file.datasync()
    if (this.#nameIsSafe) return
    await syncFolder(dirname(this.#path))
    this.#nameIsSafe = true
  }

  /** Bytes of whole lines. */
  get size(): number {
    return this.#size
  }

  /**
   * Appends whole lines in one write. Resolves once they are handed to the system, or on the medium when `sync`. Rejects
   * when they are not all there; the file then ends where it ended before.
   */
  append(lines: readonly string[], sync: boolean): Promise<void> {
    const data = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    const done = this.#queue.then(() => this.#write(data, sync))
    this.#queue = done.catch(() => undefined)
    return done
  }

  async #write(data: Buffer, sync: boolean): Promise<void> {
    if (this.#broken !== undefined) await this.#takeBack(this.#owed)
    const file = await this.#file()
    try {
      for (let written = 0; written < data.length;) {
        const { bytesWritten } = await file.write(data, written, data.length - written)
        written += bytesWritten
      }
      if (sync) await this.#sync()
      this.#size += data.length
    } catch (error) {
      this.#broken = error
      await this.#takeBack(data.length).catch(() => undefined)
      throw error
    }
  }

  /**
   * Cuts off what a failed write of `byteCount` left. While that fails too, nothing more is appended. A file that has
   * grown by more belongs to somebody else by now: there the stub is only closed with a newline.
   */
  async #takeBack(byteCount: number): Promise<void> {
    this.#owed = byteCount
    const file = await this.#file()
    const { size } = await file.stat()
    if (size > this.#size + byteCount) {
      await file.write(Buffer.from([newline]))
      this.#size = size + 1
    } else {
      await file.truncate(this.#size)
    }
    this.#broken = undefined
  }

  /** Everything appended so far is handed over; then the file is closed. */
  async close(): Promise<void> {
    await this.#queue
    this.#isClosed = true
    await this.#close()
  }
}

/** Where the last whole line ends. */
async function lastLineEnd(file: FileHandle, size: number): Promise<number> {
  const block = Buffer.alloc(tailBlock)
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - tailBlock)
    const { bytesRead } = await file.read(block, 0, end - start, start)
    const at = block.subarray(0, bytesRead).lastIndexOf(newline)
    if (at >= 0) return start + at + 1
    end = start
  }
  return 0
}
