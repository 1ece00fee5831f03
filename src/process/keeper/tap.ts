// Carries one of the agent's output pipes to the disk: read, redact, append, ring. It makes the agent wait while a host
// folds or the disk is full, and drains slowly once output is being dropped, so that a flood costs no core.
import { Socket } from 'node:net'
import type { RawStore } from './rawStore'
import type { Redactor } from './redact'

const drainBytesPerSecond = 8 * 1024 * 1024
const drainWindowMs = 50
const diskRetryMs = 500
/** A host that folds nothing for so long while the cap is reached no longer counts as following. */
const roomRetryMs = 1_000

export class Tap {
  readonly #pipe: Socket
  #pending: Buffer[] = []
  #ended = false
  #closed = false
  #timer: NodeJS.Timeout | undefined
  #windowBytes = 0
  #windowEndsAt = 0
  #hurried = false
  #waitsForRoom = false

  constructor(
    fd: number,
    private readonly store: RawStore,
    private readonly redactor: Redactor,
    private readonly on: {
      readonly grew: () => void
      readonly finished: () => void
      readonly trouble: (error: unknown) => void
    },
  ) {
    this.#pipe = new Socket({ fd, readable: true, writable: false })
    this.#pipe.on('data', (chunk: Buffer) => this.#take(this.redactor.push(chunk)))
    this.#pipe.on('end', () => this.#end())
    this.#pipe.on('error', () => this.#end())
    this.#pipe.on('close', () => this.#end())
  }

  /** The pipe has ended and every byte of it is on disk. */
  get finished(): boolean {
    return this.#ended && this.#pending.length === 0
  }

  get unwrittenBytes(): number {
    return this.#pending.reduce((sum, bytes) => sum + bytes.length, 0)
  }

  /** A host folded, came or went: there may be room again. */
  roomMayHaveChanged(): void {
    if (!this.#waitsForRoom) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flush()
  }

  /** The agent has ended: no more waiting for a host or for the slow drain, what is left is taken or dropped. */
  hurry(): void {
    this.#hurried = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flush()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#pipe.destroy()
    this.store.close()
  }

  #take(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#pending.push(bytes)
    if (this.#timer === undefined) this.#flush()
    else this.#pipe.pause()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#take(this.redactor.finish())
    if (this.#timer === undefined) this.#flush()
  }

  #flush(): void {
    if (this.#closed) return
    this.#waitsForRoom = false
    const before = this.store.total
    try {
      for (let next = this.#pending[0]; next !== undefined; next = this.#pending[0]) {
        this.#append(next)
        this.#pending.shift()
      }
    } catch (error) {
      this.on.trouble(error)
      this.#wait(diskRetryMs)
    }
    const written = this.store.total - before
    if (written > 0) this.on.grew()
    if (this.finished) {
      this.on.finished()
      return
    }
    if (this.#timer !== undefined) return
    if (!this.store.makeRoom() && !this.#hurried) {
      this.#waitsForRoom = true
      this.#wait(roomRetryMs)
    } else if (this.store.dropping && !this.#hurried && this.#overBudget(written)) {
      this.#wait(drainWindowMs)
    } else {
      this.#pipe.resume()
    }
  }

  #append(bytes: Buffer): void {
    const before = this.store.total
    try {
      this.store.append(bytes)
    } catch (error) {
      this.#pending[0] = bytes.subarray(this.store.total - before)
      throw error
    }
  }

  #overBudget(written: number): boolean {
    const now = performance.now()
    if (now >= this.#windowEndsAt) {
      this.#windowEndsAt = now + drainWindowMs
      this.#windowBytes = 0
    }
    this.#windowBytes += written
    return this.#windowBytes >= (drainBytesPerSecond * drainWindowMs) / 1_000
  }

  #wait(ms: number): void {
    this.#pipe.pause()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#flush()
    }, ms)
  }
}
