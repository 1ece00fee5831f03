// A limit on a monotonic clock that can stand still. It counts in short ticks, so time in which this process did not run
// (a frozen or sleeping machine) counts for one tick at most, and no jump of the wall clock means anything.

const longestTickMs = 5_000

export class LimitClock {
  #leftMs: number
  #timer: NodeJS.Timeout | undefined
  #tickStartedAt = 0
  #tickLength = 0
  #running = false

  constructor(
    limitMs: number,
    private readonly onReached: () => void,
    private readonly tickMs = longestTickMs,
  ) {
    this.#leftMs = limitMs
  }

  get running(): boolean {
    return this.#running
  }

  start(): void {
    if (this.#running || this.#leftMs <= 0) return
    this.#running = true
    this.#tick()
  }

  /** Stands still until `start`. */
  stop(): void {
    if (!this.#running) return
    this.#running = false
    clearTimeout(this.#timer)
    this.#count()
  }

  #tick(): void {
    this.#tickStartedAt = performance.now()
    this.#tickLength = Math.min(this.tickMs, this.#leftMs)
    this.#timer = setTimeout(() => {
      this.#count()
      if (this.#leftMs > 0) return this.#tick()
      this.#running = false
      this.onReached()
    }, this.#tickLength)
  }

  #count(): void {
    const elapsed = performance.now() - this.#tickStartedAt
    // A timer may fire a fraction early; a tick that has fired counts whole.
    this.#leftMs -= Math.min(Math.ceil(elapsed), this.#tickLength)
    if (this.#leftMs < 1) this.#leftMs = 0
  }
}

/**
 * Calls `onReached` after `ms` in which this process ran, unless the returned function is called before. A process that was
 * frozen, or too busy to look, first gets to see what has come in meanwhile.
 */
export function deadline(ms: number, onReached: () => void): () => void {
  const clock = new LimitClock(ms, onReached, Math.max(1, Math.min(longestTickMs, ms / 4)))
  clock.start()
  return () => clock.stop()
}
