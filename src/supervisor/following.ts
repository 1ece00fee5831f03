// Following the live process of one child: what it says is heard in its turn and acted on, its questions are seen to, and
// once it has reported its end is brought about. What its end comes to, and what became of one that can no longer be
// followed, is for others to say.
import { overLimit } from '../core/budget'
import { currentAttempt, openRequests, type Attempt, type Child, type EndCause } from '../core/child'
import type { Answer } from '../core/events'
import { LinkLostError } from '../process/keeperLink'
import type { ExitRecord } from '../process/launch'
import type { RawLine } from '../process/lines'
import type { Talk } from './attempt'
import type { AttemptEnd } from './attemptEnd'
import { keeperEnded } from './attemptWords'
import type { ChildRecord } from './childRecord'
import { hearLines } from './hearing'
import { stackOf, type Jobs } from './jobs'
import type { Outbox } from './outbox'
import type { Tools } from './tools'
import type { Work } from './watch'

/** After its report an agent that exits by itself gets this long before the ladder. */
const exitGraceMs = 10_000
/** An agent that has reported and whose steers or background work do not come to an end gets this long, unless told. */
const defaultIdleGraceMs = 120_000
/** What became of an attempt is looked for this long after its output could not be followed. */
const lookAgainMs = 5_000

export interface FollowingEvents {
  /** Coxswain answers a question by itself. Waits its turn in the child's queue. */
  answer(requestId: string, answer: Answer, note: string): Promise<unknown>
  /** Within the child's queue: a ceiling is passed, in words. */
  overLimit(attempt: Attempt, over: string): Promise<void>
  /** Nobody follows it any more, and it may run on. */
  lost(): Promise<void>
}

export class Following {
  private followed: Talk | undefined

  constructor(
    private readonly record: ChildRecord,
    private readonly jobs: Jobs,
    private readonly outbox: Outbox,
    private readonly attemptEnd: AttemptEnd,
    private readonly tools: Pick<Tools, 'attended' | 'log' | 'now'>,
    private readonly events: FollowingEvents,
  ) {}

  /** The hold on the running agent, if it is followed. */
  get talk(): Talk | undefined {
    return this.followed
  }

  /** What the process has been doing; null while none is followed. */
  get work(): Work | null {
    const { followed } = this
    if (followed === undefined) return null
    const { heardAt, pulse } = followed
    const quietMs = performance.now() - heardAt
    return { quietMs, toolsInFlight: pulse.toolsInFlight.size, recent: this.record.recent }
  }

  /** Within the queue: opens the talk with an agent that was just started. */
  async begin(talk: Talk, prompt: string): Promise<void> {
    this.take(talk)
    await talk.open(prompt)
    this.endIfAsked()
  }

  /** Within the queue: goes on with one that another supervisor had started. */
  async goOn(talk: Talk, prompt: string): Promise<void> {
    this.take(talk)
    // The former supervisor may have gone before it had said anything; what was said is not said again.
    await talk.open(prompt)
    await this.outbox.handOver()
    await this.outbox.askBack()
    this.endIfAsked()
    if (currentAttempt(this.child)?.closing === true) this.closeSoon(talk)
  }

  /** Within the queue: hands over what was answered since it was last looked at. */
  async seeToQuestions(): Promise<void> {
    if (this.followed !== undefined) await this.attend(this.followed)
  }

  /** Within the queue: what it was allowed for good is asked for again. */
  revoke(requestId: string): void {
    this.followed?.conversation.revoke?.(requestId)
  }

  /** So many bytes of the attempt's stdout have been heard, as far as is known; null while nobody follows it. */
  heardTo(attempt: number): number | null {
    if (this.followed === undefined) return null
    return Math.max(this.followed.heardTo ?? 0, this.child.cursor.stdout, this.record.cursor(attempt).stdout)
  }

  /** Asks the process to end. Beside the queue: a keeper that takes its time to answer holds up no other wish. */
  async end(cause: EndCause, reason: string): Promise<void> {
    const talk = this.followed
    if (talk === undefined || (await talk.end(cause, reason, this.child))) return
    await this.record.tell('warning', keeperEnded)
    talk.link.endKeeper()
  }

  /** The process goes on. Synchronous and harmless twice. */
  letGo(): void {
    this.followed?.link.detach()
    this.followed = undefined
  }

  private get child(): Child {
    return this.record.child
  }

  private take(talk: Talk): void {
    this.followed = talk
    const { link } = talk
    link.onTrouble = (detail) => {
      this.jobs.later(() => this.record.tell('warning', `Its output cannot be written to disk: ${detail}.`))
    }
    link
      .follow((lines) => this.jobs.enqueue(() => this.heard(talk, lines)))
      .catch((error: unknown) => this.lost(talk, error))
    link.ended.then(
      (exit) => this.jobs.detached(() => this.exited(talk, exit)),
      () => undefined,
    )
  }

  private lost(talk: Talk, error: unknown): void {
    if (this.jobs.isClosed || this.followed !== talk) return
    if (!(error instanceof LinkLostError)) {
      this.tools.log('error', 'following failed', { childId: this.child.id, stack: stackOf(error) })
      this.letGo()
      this.jobs.afterMs(lookAgainMs, () => this.events.lost())
      return
    }
    this.followed = undefined
    if (error.loss === 'keeperLost') this.jobs.detached(() => this.events.lost())
  }

  private async exited(talk: Talk, exit: ExitRecord): Promise<void> {
    if (this.followed !== talk) return
    // Not followed any more: whoever lets go once the end is on record must not cut the keeper's acknowledgement.
    this.followed = undefined
    try {
      await this.jobs.enqueueSurely(() => this.attemptEnd.exited(talk.conversation, talk.attempt, exit))
      await talk.link.acknowledgeExit()
    } finally {
      talk.link.detach()
    }
  }

  /** A wish to end that came while the process was being started or nobody followed it. */
  private endIfAsked(): void {
    const attempt = currentAttempt(this.child)
    if (attempt?.calledOff === true) this.jobs.later(() => this.end('stop', this.child.stopRequest?.reason ?? ''))
    else if (attempt?.endRequest) {
      const { cause, reason } = attempt.endRequest
      this.jobs.later(() => this.end(cause, reason))
    }
  }

  // ── what it says ────────────────────────────────────────────────────────────────────────────────────────────────

  private async heard(talk: Talk, lines: readonly RawLine[]): Promise<void> {
    if (this.followed !== talk) return
    talk.heardAt = performance.now()
    const effects = await hearLines(this.record, talk, lines, () => this.tools.now())
    talk.heardTo = lines.findLast(({ source }) => source === 'stdout')?.end ?? talk.heardTo
    for (const { frames, id } of effects.replies) await talk.send(frames, id)
    await this.outbox.handOver()
    await this.attend(talk)
    // The last word counts: an agent that has gone on since its report is not through.
    if (effects.lastWord === 'report') this.closeSoon(talk)
    else if (effects.lastWord === 'reportInBackground') this.closeIfIdle(talk)
    else if (effects.lastWord === 'more') talk.goesOn()
    if (effects.used || effects.limit !== null) await this.watchBudget(effects.limit)
    talk.link.acknowledge(this.record.cursor(talk.attempt))
  }

  /**
   * Sees to questions: open ones stop the clock and wait for a person (or are answered at once when nobody is there),
   * answered ones reach the agent even if a former supervisor died in between. Read from the fold, so that it does not
   * matter who was there when.
   */
  private async attend(talk: Talk): Promise<void> {
    const open = openRequests(this.child)
    await talk.holdClock(open.length > 0)
    for (const request of open) {
      if (!talk.attendOnce(request.id)) continue
      const { approvalTimeoutMs } = this.child.task.limits
      // A question is answered by rule when nobody is there; leave to act is only ever a person's to give, so it waits.
      if (request.ask.kind === 'question' && !this.tools.attended())
        this.jobs.detached(() => this.events.answer(request.id, decideYourself, 'nobody was attending'))
      else if (approvalTimeoutMs !== null)
        this.jobs.afterMs(approvalTimeoutMs, async () => {
          const message = 'Nobody answered in time.'
          await this.events.answer(request.id, { kind: 'deny', message }, 'timed out')
        })
    }
    for (const request of this.child.requests)
      if (request.attempt === talk.attempt && request.answer !== null && request.answer.kind !== 'cancelled')
        await talk.answer(request.id, request.answer)
  }

  /** `limit`: a ceiling the agent kept itself, in words. */
  private async watchBudget(limit: string | null): Promise<void> {
    const attempt = currentAttempt(this.child)
    if (attempt === undefined || attempt.endRequest !== null || attempt.ended !== null) return
    const over = overLimit(this.child) ?? limit
    if (over !== null) await this.events.overLimit(attempt, over)
  }

  // ── its end, once it has reported ───────────────────────────────────────────────────────────────────────────────

  /**
   * The agent has reported: with nothing waiting, its end is brought about. One that takes late steers as its next turn
   * reports again after it; if it never does, the idle grace ends it.
   */
  private closeSoon(talk: Talk): void {
    this.jobs.later(async () => {
      const attempt = currentAttempt(this.child)
      if (this.followed !== talk || attempt === undefined || attempt.ended !== null || attempt.endRequest !== null)
        return
      const waiting = this.child.steers.some((steer) => steer.state === 'queued' || steer.state === 'sent')
      const closes = talk.conversation.afterResult === 'close input'
      const mayGoOn = closes && waiting
      if (!mayGoOn && !attempt.closing)
        await this.jobs.surely(() => this.record.append([{ type: 'closing', attempt: attempt.n }], false))
      if (closes && !waiting) await talk.link.closeInput()
      const reports = talk.reported()
      this.jobs.afterMs(mayGoOn ? this.idleGraceMs() : exitGraceMs, async () => {
        if (this.followed === talk && talk.isThrough(reports))
          await talk.link.requestEnd({ kind: 'finished', reason: 'it had reported and did not exit' })
      })
    })
  }

  /** It has reported, and work of its own goes on: when nothing more is heard of that, it is over all the same. */
  private closeIfIdle(talk: Talk): void {
    const reports = talk.reported()
    this.jobs.afterMs(this.idleGraceMs(), async () => {
      if (this.followed === talk && talk.isThrough(reports)) this.closeSoon(talk)
    })
  }

  private idleGraceMs(): number {
    return this.child.task.limits.idleGraceMs ?? defaultIdleGraceMs
  }
}

/** What an agent hears when nobody is there to answer it. */
const decideYourself: Answer = {
  kind: 'text',
  text: 'Nobody is there to answer: decide yourself, and say what you assumed.',
}
