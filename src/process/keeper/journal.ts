// Append-only JSON lines. A line that could not be written whole is never glued to the next one.
import { closeSync, openSync, writeSync } from 'node:fs'

export class Journal {
  #torn = false

  constructor(private readonly path: string) {}

  /** Throws the file system's error; what was half written then stays as one unreadable line. */
  append(entry: object): void {
    const line = Buffer.from(`${this.#torn ? '\n' : ''}${JSON.stringify(entry)}\n`)
    const fd = openSync(this.path, 'a', 0o600)
    let at = 0
    try {
      while (at < line.length) at += writeSync(fd, line, at)
      this.#torn = false
    } catch (error) {
      this.#torn ||= at > 0
      throw error
    } finally {
      this.#close(fd)
    }
  }

  /** What was written whole counts, whatever its close says. */
  #close(fd: number): void {
    try {
      closeSync(fd)
    } catch {
      return
    }
  }

  /** For notes whose loss changes nothing. */
  note(entry: object): void {
    try {
      this.append(entry)
    } catch {
      return
    }
  }
}
