// The queue of one child: every wish and every outside event waits its turn here, one at a time. What waits when it is
// closed is rejected; nobody else's failure is swallowed.
import type { Tools } from './tools'

/** What must be written and could not be is tried again after this. */
const writeRetryMs = 1_000

/** What was still waiting when the child was let go. */
export class DisposedError extends Error {
  override readonly name = 'DisposedError'
}

export class Jobs {
  private queue: Promise<unknown> = Promise.resolve()
  private readonly timers = new Set<NodeJS.Timeout>()
  private closed = false

  /** `unforeseen` hears of a failure that no further try can mend. */
  constructor(
    private readonly childId: string,
    private readonly log: Tools['log'],
    readonly unforeseen: (error: unknown) => void,
  ) {}

  get isClosed(): boolean {
    return this.closed
  }

  /** Resolves or rejects with the job; rejects with a DisposedError when the queue is closed before its turn. */
  enqueue<T>(job: () => Promise<T>): Promise<T> {
    const done = this.queue.then(() => {
      if (this.closed) throw new DisposedError()
      return job()
    })
    this.queue = done.catch(() => undefined)
    return done
  }

  /**
   * A job that must come about although the disk may be full at the moment: what the outside world did cannot be refused.
   * Tried again until it succeeds; rejects with a DisposedError when the child is let go before, and at once with what no
   * further try can mend.
   */
  async surely<T>(job: () => Promise<T>): Promise<T> {
    for (let told = false; !this.closed;) {
      try {
        return await job()
      } catch (error) {
        if (error instanceof DisposedError) throw error
        if (this.closed) throw new DisposedError()
        if (!mayPass(error)) {
          this.unforeseen(error)
          throw error
        }
        if (!told) this.log('error', 'not written; trying again', { childId: this.childId, stack: stackOf(error) })
        told = true
        await new Promise((resolve) => setTimeout(resolve, writeRetryMs))
      }
    }
    throw new DisposedError()
  }

  /** A job that waits its turn and must come about: each try waits anew. */
  enqueueSurely<T>(job: () => Promise<T>): Promise<T> {
    return this.surely(() => this.enqueue(job))
  }

  /** An action that follows from what was appended; it waits its turn. */
  later(job: () => Promise<unknown>): void {
    this.detached(() => this.enqueue(job))
  }

  /** Work whose failure has no other owner: it is a bug unless we are going. */
  detached(job: () => Promise<unknown>): void {
    job().catch((error: unknown) => {
      if (error instanceof DisposedError || this.closed) return
      this.log('error', 'a child run failed', { childId: this.childId, stack: stackOf(error) })
    })
  }

  /** Nothing, once the queue is closed. */
  afterMs(ms: number, job: () => Promise<unknown>): void {
    if (this.closed) return
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.detached(job)
    }, ms)
    timer.unref()
    this.timers.add(timer)
  }

  /** What was to be done after some time is not done any more. */
  clearTimers(): void {
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
  }

  /** Nothing that waits will be done. Synchronous and harmless twice. */
  close(): void {
    this.closed = true
    this.clearTimers()
  }

  /** Resolves once the job under way, if any, is through. */
  async idle(): Promise<void> {
    await this.queue
  }
}

/** What the system says of a call that was wrong in itself. */
const wrongCalls = new Set(['EINVAL', 'EBADF', 'EFAULT', 'ENAMETOOLONG', 'ENOSYS'])

/** The system refused it, for want of room, files, leave or a healthy disk: all of that can end. Anything else is a bug. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errno } = error as NodeJS.ErrnoException
  if (typeof errno === 'number' && code !== undefined) return !wrongCalls.has(code)
  return mayPass(error.cause)
}

export const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
