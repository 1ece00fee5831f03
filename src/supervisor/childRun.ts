// One child, supervised: what it is asked, and the order of its life from its worktree to its last round. Every wish and
// every outside event is queued, one at a time, appended, reduced, then acted on. It never restarts an agent by itself.
import {
  currentAttempt,
  isLive,
  isSettingUp,
  lacksResult,
  samePermissions,
  wasTakenBack,
  type Attempt,
  type Child,
} from '../core/child'
import {
  decideAcceptPartial,
  decideAnswer,
  decideDiscard,
  decideInterrupt,
  decideNextRound,
  decideResume,
  decideRevoke,
  decideStop,
  decideVerify,
  type Refused,
} from '../core/decide'
import type { Actor, Answer, Fact, Verdict } from '../core/events'
import type { EntryBody } from '../core/transcript'
import type { ChildLog } from '../record/childLog'
import type { ChildPaths } from '../record/paths'
import type { TranscriptFile } from '../record/transcriptFile'
import { AttemptEnd } from './attemptEnd'
import { answerInWords, notWoken } from './attemptWords'
import { ChildRecord } from './childRecord'
import { dismissKeeper } from './findAttempt'
import { Following } from './following'
import { DisposedError, Jobs } from './jobs'
import { Launching } from './launching'
import { Outbox } from './outbox'
import { Place } from './place'
import { Recovery } from './recovery'
import type { ChildResult } from './results'
import { RoundEnd } from './roundEnd'
import type { DiscardConsent, Tools } from './tools'
import { troubleInWords } from './troubleInWords'
import type { Work } from './watch'
import { WorktreeSetup, type Announced } from './worktreeSetup'

const permissionTaken = 'A permission was taken back: it asks again for what was allowed for the whole child.'
const coxswain = { kind: 'coxswain' } as const satisfies Actor

export interface ChildRunEvents {
  /** The fold or the transcript changed. */
  changed(childId: string): void
  /** A verdict is on record. */
  judged(childId: string, verdict: Verdict): void
  /** A round has settled and its result, written just now, is on disk; or the child was paused, and there is none. */
  settled(childId: string, result: ChildResult | null): void
  /** Whether what an attempt has just reported is not the child's last word, because its own children are at work. */
  goesOn(child: Child): Promise<boolean>
  /** It goes on as soon as there is something to say to it. */
  delegating(childId: string): void
}

export class ChildRun {
  private readonly jobs: Jobs
  private readonly record: ChildRecord
  private readonly setup: WorktreeSetup
  private readonly place: Place
  private readonly roundEnd: RoundEnd
  private readonly attemptEnd: AttemptEnd
  private readonly outbox: Outbox
  private readonly following: Following
  private readonly launching: Launching
  private readonly recovery: Recovery
  private owing = false
  /** The first start is under way or over. */
  private begun = false
  private takenBack = false
  private readonly paths: ChildPaths

  /** `log` and `transcript` are this run's from here on. */
  constructor(
    childId: string,
    log: ChildLog,
    transcript: TranscriptFile,
    private readonly tools: Tools,
    private readonly events: ChildRunEvents,
  ) {
    this.paths = tools.paths.child(childId)
    this.jobs = new Jobs(
      childId,
      (level, fact, fields) => tools.log(level, fact, fields),
      (error) => this.jobs.later(() => this.record.tell('error', bugInWords(error))),
    )
    this.record = new ChildRecord(log, transcript, this.paths, tools, {
      changed: () => events.changed(childId),
      fenced: () => this.dispose(),
      owing: () => this.jobs.detached(() => this.writeOwed()),
    })
    this.setup = new WorktreeSetup(this.record, this.jobs, tools)
    this.place = new Place(childId, tools)
    this.roundEnd = new RoundEnd(this.record, this.jobs, this.place, this.paths, tools, {
      changed: () => events.changed(childId),
      judged: (verdict) => events.judged(childId, verdict),
      settled: (result) => events.settled(childId, result),
      askAgain: async (message) => {
        const plan = await this.launching.plan('retry', this.child.round, message)
        this.jobs.detached(() => this.launching.launch(plan))
      },
    })
    this.attemptEnd = new AttemptEnd(this.record, this.jobs, this.place, this.roundEnd, this.paths, tools, {
      goesOn: (child) => events.goesOn(child),
      delegating: () => events.delegating(childId),
    })
    this.outbox = new Outbox(this.record, this.jobs, {
      talk: () => this.following.talk,
      delegating: () => events.delegating(childId),
    })
    this.following = new Following(this.record, this.jobs, this.outbox, this.attemptEnd, tools, {
      answer: (requestId, answer, note) => this.answer(requestId, answer, coxswain, note),
      overLimit: (attempt, over) => this.requestInterrupt(attempt, 'budget', over, coxswain),
      lost: () => this.recover(),
    })
    const { record, jobs, place, following, attemptEnd, paths } = this
    this.launching = new Launching(record, jobs, place, following, attemptEnd, paths, tools, {
      uncertain: () => this.recover(),
    })
    this.recovery = new Recovery(record, jobs, this.launching, following, attemptEnd, paths, tools)
  }

  /** Words wait for a disk that took none: they are written although the agent may say nothing more for long. */
  private async writeOwed(): Promise<void> {
    if (this.owing) return
    this.owing = true
    try {
      await this.jobs.enqueueSurely(() => this.record.writeOwed())
    } finally {
      this.owing = false
    }
  }

  get child(): Child {
    return this.record.child
  }

  // ── wishes ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Queues a steer. On the medium before it resolves. The same id twice is one steer. */
  steer(steerId: string, text: string, by: Actor): Promise<Refused | null> {
    return this.outbox.steer(steerId, text, by)
  }

  editSteer(steerId: string, text: string, by: Actor): Promise<Refused | null> {
    return this.outbox.edit(steerId, text, by)
  }

  withdrawSteer(steerId: string, by: Actor): Promise<Refused | null> {
    return this.outbox.withdraw(steerId, by)
  }

  reorderSteers(order: readonly string[], by: Actor): Promise<Refused | null> {
    return this.outbox.reorder(order, by)
  }

  stop(reason: string, by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decideStop(this.child)
      if (refused !== null || this.child.phase === 'CANCEL_REQUESTED') return refused
      await this.record.append([{ type: 'stopRequested', reason, by }], true, [
        { kind: 'notice', level: 'info', text: `Stop requested${reason === '' ? '' : `: ${reason}`}.` },
      ])
      this.setup.callOff()
      if (isLive(this.child)) this.jobs.detached(() => this.following.end('stop', reason))
      else this.roundEnd.settleSoon()
      return null
    })
  }

  interrupt(reason: string, by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decideInterrupt(this.child)
      if (refused !== null) return refused
      const attempt = currentAttempt(this.child)
      if (attempt?.endRequest || this.child.setup?.endRequest) return null
      await this.requestInterrupt(attempt, 'interrupt', reason, by)
      return null
    })
  }

  /** The number of the attempt that starts, or why none does. `capacity` is asked in the same step. */
  async resume(
    message: string | undefined,
    capacity: () => Promise<Refused | null>,
  ): Promise<{ attempt: number; carried: readonly string[] } | Refused> {
    await this.roundEnd.settling
    return await this.jobs.enqueue(async () => {
      const refused = decideResume(this.child, message) ?? decideNextRound(this.child) ?? (await capacity())
      if (refused !== null) return refused
      const round = this.child.paused ? this.child.round : this.child.round + 1
      const words = message?.trim() ?? null
      if (this.child.attempts.length === 0) return await this.place.orGiveBack(this.setUpAgain(round, words))
      const plan = await this.place.orGiveBack(this.launching.plan('resume', round, words))
      this.jobs.detached(() => this.launching.launch(plan))
      return { attempt: plan.attempt, carried: plan.carried }
    })
  }

  /** The next turn of an orchestrator that waits for its children. `message`: null when steers alone wake it. */
  wake(message: string | null, capacity: () => Promise<Refused | null>): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      if (!this.child.delegating) return { code: 'busy', message: `"${this.child.title}" does not wait any more.` }
      const refused = await capacity()
      if (refused !== null) return refused
      const plan = await this.place.orGiveBack(this.launching.plan('wake', this.child.round, message))
      this.jobs.detached(() => this.launching.launch(plan))
      return null
    })
  }

  /** It waits for its children no more: the round ends with what it reported. */
  endWaiting(spent: string): Promise<void> {
    return this.jobs.enqueue(async () => {
      if (this.child.delegating) await this.roundEnd.park(spent, notWoken(spent))
    })
  }

  answer(requestId: string, answer: Answer, by: Actor, note?: string): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decideAnswer(this.child, requestId)
      if (refused !== null) return refused
      await this.record.append(
        [{ type: 'answered', requestId, answer, by, ...(note === undefined ? {} : { note }) }],
        true,
        [{ kind: 'answered', requestId, words: answerInWords(answer) }],
      )
      this.jobs.later(() => this.following.seeToQuestions())
      return null
    })
  }

  revoke(requestId: string, by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decideRevoke(this.child, requestId)
      if (refused !== null) return refused
      const after = this.following.heardTo(currentAttempt(this.child)?.n ?? 0)
      if (after === null)
        return { code: 'busy', message: `"${this.child.title}" is being taken up. Try again in a moment.` }
      // What was asked for twice at once, and allowed twice, is one permission.
      const same = samePermissions(this.child, requestId).map(({ id }) => id)
      const facts = same.map((id) => ({ type: 'permissionRevoked', requestId: id, after, by }) as const)
      await this.record.append(facts, true, [{ kind: 'notice', level: 'info', text: permissionTaken }])
      for (const id of same) this.following.revoke(id)
      return null
    })
  }

  acceptPartial(by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decideAcceptPartial(this.child)
      if (refused === null && !this.child.partialAccepted)
        await this.record.append([{ type: 'partialAccepted', by }], true)
      return refused
    })
  }

  /** Runs the checks again on an ended child. The verdict comes later, if need be from the next owner. */
  verifyAgain(by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decideVerify(this.child)
      if (refused !== null) return refused
      await this.record.append([{ type: 'verifyAsked', by }], true)
      this.roundEnd.verifySoon()
      return null
    })
  }

  /** Facts that need no deciding: names, pins, unread marks. Not appended when `known` says that they hold already. */
  note(
    fact: Extract<
      Fact,
      {
        type:
          | 'renamed'
          | 'flagged'
          | 'noted'
          | 'completionAcknowledged'
          | 'noticeAcknowledged'
          | 'applied'
          | 'takenOver'
          | 'adopted'
          | 'adoptionAcknowledged'
          | 'steeringSwitched'
          | 'suggested'
          | 'suggestionDismissed'
          | 'condition'
      }
    >,
    known: (child: Child) => boolean = () => false,
    entries: readonly EntryBody[] = [],
  ): Promise<void> {
    return this.jobs.enqueue(async () => {
      if (!known(this.child)) await this.record.append([fact], true, entries)
    })
  }

  /** Ends an attempt that no longer gets anywhere: what it has is its result, unlike after a pause. */
  endStalled(reason: string, by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decideInterrupt(this.child)
      const attempt = currentAttempt(this.child)
      if (refused !== null || attempt === undefined || attempt.endRequest !== null) return refused
      await this.requestInterrupt(attempt, 'timeout', reason, by)
      return null
    })
  }

  /** What its process has been doing; null while nobody follows one. */
  get work(): Work | null {
    return this.following.work
  }

  // ── life ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Accepted, not begun, and waiting for a place on this machine. */
  get waits(): boolean {
    return this.child.waitingForSlot && this.child.phase === 'PENDING' && !this.begun
  }

  /** Whether it was accepted by mistake; known here before it can be written. */
  get isTakenBack(): boolean {
    return this.takenBack || wasTakenBack(this.child)
  }

  /** Accepted by mistake: nothing of it will start. */
  async callOff(reason: string): Promise<void> {
    this.begun = true
    this.takenBack = true
    const write = (): Promise<void> =>
      this.jobs.enqueue(() => this.record.append([{ type: 'stopRequested', reason, by: coxswain }], true))
    const written = await write().then(
      () => true,
      () => false,
    )
    this.jobs.detached(async () => {
      // What is not on record as called off would be begun by the next owner.
      if (!written) await this.jobs.surely(write)
      await this.roundEnd.settleSurely()
    })
  }

  /** Removes the worktree, unless something would be lost or it runs. Nothing else of this child happens meanwhile. */
  discard(consent: DiscardConsent, by: Actor): Promise<Refused | { readonly removed: boolean; readonly what: string }> {
    return this.jobs.enqueue(async () => {
      const { child } = this
      const refused = decideDiscard(child)
      if (refused !== null) return refused
      const outcome = await this.tools.discard(child, consent)
      if (outcome.kind === 'problem') {
        const { message, token } = outcome
        return token === undefined ? { code: 'repository', message } : { code: 'would_lose', message, confirm: token }
      }
      if (child.worktree !== null && !child.discarded)
        await this.record.append([{ type: 'discarded', what: outcome.what, by }], true)
      return outcome
    })
  }

  /** Accepted, and started once there is room on this machine. */
  awaitSlot(): Promise<void> {
    return this.jobs.enqueue(() =>
      this.record.append([{ type: 'slotAwaited' }], true, [
        { kind: 'notice', level: 'info', text: 'Waits until another child has ended.' },
      ]),
    )
  }

  /** The first start: worktree, then the first attempt. Never rejects. */
  start(): void {
    if (this.begun) return
    this.begun = true
    this.jobs.detached(async () => {
      if (this.child.phase !== 'PENDING') return
      const placed = await this.tools
        .addWorktree(this.child)
        .catch((error: unknown) => ({ kind: 'problem' as const, message: troubleInWords(error) }))
      if (placed.kind === 'problem') {
        await this.jobs.enqueueSurely(() => this.attemptEnd.notStarted(placed.message))
        return
      }
      const { path, cwd, branch, base, notes } = placed
      await this.jobs.enqueue(() =>
        this.jobs.surely(() =>
          this.record.append([{ type: 'worktreeAdded', path, cwd, branch, base, notes: [...notes] }], true, [
            { kind: 'notice', level: 'info', text: `Works in ${path} on branch ${branch}.` },
            ...notes.map((text) => ({ kind: 'notice', level: 'info', text }) as const),
          ]),
        ),
      )
      await this.begin()
    })
  }

  /** In its new worktree: sets it up, if there is a setup, and launches the first attempt. */
  private async begin(): Promise<void> {
    const announced = await this.jobs.enqueue(async () =>
      this.child.phase === 'STARTING'
        ? await this.setup.announce(this.child.round, null).catch((error: unknown) => {
            if (error instanceof DisposedError) throw error
            return { kind: 'problem' as const, message: troubleInWords(error) }
          })
        : null,
    )
    if (announced?.kind === 'problem')
      await this.jobs.enqueueSurely(() => this.attemptEnd.notStarted(announced.message))
    else await this.launchFirst(announced)
  }

  /** A child whose setup was paused or failed: no agent has run, so what follows is its first start. */
  private async setUpAgain(
    round: number,
    message: string | null,
  ): Promise<{ attempt: number; carried: readonly string[] } | Refused> {
    const announced = await this.setup.announce(round, message)
    if (announced?.kind === 'problem') {
      await this.place.release()
      return { code: 'untrusted', message: announced.message }
    }
    this.jobs.detached(() => this.launchFirst(announced))
    const carried = this.child.steers.filter((steer) => steer.state === 'missed').map((steer) => steer.id)
    return { attempt: 1, carried }
  }

  /** The first attempt, once the setup that was announced is done; nothing when it was called off or has failed. */
  private async launchFirst(announced: Announced | null): Promise<void> {
    if (announced !== null) await this.setup.carryOut(announced)
    if (!isLive(this.child) || this.child.phase === 'CANCEL_REQUESTED') {
      if (announced !== null) await this.roundEnd.settleSurely()
      return
    }
    const plan = await this.jobs.enqueue(async () =>
      this.child.phase === 'STARTING'
        ? await this.launching.plan('first', this.child.round, this.child.setup?.message ?? null)
        : undefined,
    )
    if (plan !== undefined) await this.launching.launch(plan)
  }

  /**
   * Finds out what became of an attempt that nobody follows: attaches to its keeper, or records its end. It never starts
   * a replacement.
   */
  async recover(): Promise<void> {
    const attempt = currentAttempt(this.child)
    if (attempt === undefined) {
      if (this.child.phase === 'PENDING' && !this.child.waitingForSlot) this.start()
      else if (isSettingUp(this.child)) {
        await this.setup.recover()
        await this.roundEnd.settleSurely()
      }
      // No attempt was announced, so no process can exist: what was accepted is begun, not repeated.
      else if (this.child.phase === 'STARTING' && this.child.setup === null) await this.begin()
      else if (this.child.phase === 'STARTING') await this.launchFirst(null)
      else if (lacksResult(this.child)) await this.roundEnd.settleSurely()
      return
    }
    if (attempt.ended !== null) {
      this.jobs.detached(() => dismissKeeper(this.child, attempt, this.tools))
      if (this.child.verifying) this.roundEnd.verifySoon()
      else if (this.child.delegating) this.events.delegating(this.child.id)
      else if (this.child.retrying)
        await this.jobs.enqueue(() => this.roundEnd.parkRetry('Coxswain ended before it was asked again'))
      else this.roundEnd.settleSoon()
      if (this.child.verifyingAgain) this.roundEnd.verifySoon()
      return
    }
    await this.recovery.recover(attempt)
  }

  // ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────

  private async requestInterrupt(
    /** None while the worktree is being set up. */
    attempt: Attempt | undefined,
    cause: 'interrupt' | 'budget' | 'timeout',
    reason: string,
    by: Actor,
  ): Promise<void> {
    const text =
      cause === 'interrupt' ? `Pause requested${reason === '' ? '' : `: ${reason}`}.` : `Interrupted: ${reason}.`
    const at = attempt === undefined ? {} : { attempt: attempt.n }
    await this.record.append([{ type: 'interruptRequested', ...at, cause, reason, by }], true, [
      { kind: 'notice', level: 'info', text },
    ])
    this.setup.callOff()
    this.jobs.detached(() => this.following.end(cause, reason))
  }

  /** Lets go of everything; agents and keepers go on. Synchronous and harmless twice. */
  dispose(): void {
    this.jobs.close()
    this.following.letGo()
    this.setup.callOff()
  }

  /** After `dispose`: everything that was under way has been written. */
  async closed(): Promise<void> {
    await this.jobs.idle()
    await this.record.close()
  }
}

const bugInWords = (error: unknown): string =>
  `Something in Coxswain itself failed, and what it was about was not done: ${troubleInWords(error)} The log has the details; please report it.`
