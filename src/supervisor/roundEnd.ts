// How a round of one child ends: its work is verified, asked again where the contract allows it, and what it came to is
// written once. It starts no attempt itself.
import { awaitsVerdict, crashLoop, currentAttempt, isLive, lacksResult, type Child } from '../core/child'
import type { Verdict } from '../core/events'
import { describeVerdict } from '../core/verdict'
import { createWhole, placeFolder } from '../record/atomicWrite'
import type { ChildPaths } from '../record/paths'
import type { ChildRecord } from './childRecord'
import { DisposedError, mayPass, type Jobs } from './jobs'
import type { Place } from './place'
import { resultOf, type ChildResult } from './results'
import type { Tools } from './tools'
import { troubleInWords } from './troubleInWords'
import { unchecked } from './verifyChild'

export interface RoundEndEvents {
  /** A verdict on a round that had settled before has changed what is shown. */
  changed(): void
  /** A verdict is on record. */
  judged(verdict: Verdict): void
  /** The result, written just now, is on disk; null when the round had settled before, or is only paused. */
  settled(result: ChildResult | null): void
  /** Within the child's queue: begins the next attempt with what the verdict found wrong. */
  askAgain(message: string | null): Promise<void>
}

export class RoundEnd {
  /** The try under way to write what a round came to; fulfilled when it is over, however it went. */
  settling: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly record: ChildRecord,
    private readonly jobs: Jobs,
    private readonly place: Place,
    private readonly paths: ChildPaths,
    private readonly tools: Pick<Tools, 'verify' | 'worktreeState' | 'treeHash'>,
    private readonly events: RoundEndEvents,
  ) {}

  verifySoon(): void {
    this.jobs.detached(() => this.jobs.surely(() => this.verify()))
  }

  settleSoon(): void {
    this.jobs.detached(() => this.settleSurely())
  }

  settleSurely(): Promise<void> {
    return this.jobs.surely(() => {
      const settled = this.settle()
      this.settling = settled.catch(() => undefined)
      return settled
    })
  }

  /** Nothing is asked again by itself: the round settles with the verdict it has, and a person goes on. */
  async parkRetry(reason: string): Promise<void> {
    await this.park(reason, `Not asked again: ${reason}. Resume it to go on.`)
  }

  async park(reason: string, text: string): Promise<void> {
    const told = { kind: 'notice', level: 'warning', text } as const
    await this.jobs.surely(() => this.record.append([{ type: 'parked', reason }], true, [told]))
    this.settleSoon()
  }

  private get child(): Child {
    return this.record.child
  }

  private async verify(): Promise<void> {
    const { child } = this
    if (!awaitsVerdict(child)) return
    const { verdict, retryMessage } = await this.tools.verify(child).catch((error: unknown) => {
      if (error instanceof DisposedError || mayPass(error)) throw error
      // Whoever waits for a verdict gets one.
      this.jobs.unforeseen(error)
      const why = `the checks could not be run: ${troubleInWords(error)}`
      return { verdict: unchecked(child.round, currentAttempt(child)?.n ?? 0, why), retryMessage: null }
    })
    await this.jobs.enqueue(async () => {
      // A new attempt has begun meanwhile, or the worktree has gone: this verdict is about what is not there any more.
      if (verdict.attempt !== currentAttempt(this.child)?.n || !awaitsVerdict(this.child)) return
      const again = !this.child.verifying
      const words = describeVerdict(verdict)
      await this.record.append([{ type: 'verified', verdict }], true, [{ kind: 'verdict', words }])
      this.events.judged(verdict)
      if (again) this.events.changed()
      else if (!this.child.retrying) this.settleSoon()
      else if (crashLoop(this.child)) await this.parkRetry('it ended at once five times within ten seconds')
      else await this.events.askAgain(retryMessage)
    })
  }

  /** The round has settled, or the child is paused: its result is written once and told. */
  private async settle(): Promise<void> {
    const { child } = this
    if (isLive(child)) return
    // In its turn: a resume takes its place anew, and that one is not given back.
    await this.jobs.enqueue(async () => {
      if (!isLive(this.child)) await this.place.release()
    })
    this.events.settled(lacksResult(child) ? await this.writeResult(child) : null)
  }

  /** Null when the round has its result on record already. */
  private async writeResult(child: Child): Promise<ChildResult | null> {
    await this.record.syncTranscriptOrWarn()
    const placed = child.worktree !== null && !child.discarded
    const state = placed ? await this.tools.worktreeState(child) : null
    const treeHash = placed ? await this.tools.treeHash(child) : null
    const result = resultOf(child, this.paths, state === null || 'kind' in state ? null : state, treeHash)
    await placeFolder(this.paths.results)
    await createWhole(this.paths.result(child.round), `${JSON.stringify(result)}\n`)
    return await this.jobs.enqueue(async () => {
      const { id, round } = child
      if (this.child.completions.some((completion) => completion.round === round)) return null
      await this.record.append([{ type: 'completionSent', completionId: `${id}.${round}`, round }], true)
      return result
    })
  }
}
