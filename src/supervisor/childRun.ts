// One child, supervised: its log, its transcript, its present attempt. Every wish and every outside event is queued here,
// one at a time, appended, reduced, then acted on. It never restarts an agent by itself.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Conversation } from '../agents/agent'
import {
  currentAttempt,
  isLive,
  isSettingUp,
  lacksResult,
  openRequests,
  wasTakenBack,
  type Attempt,
  type Child,
  type EndCause,
} from '../core/child'
import { ceilingReached, overLimit } from '../core/budget'
import {
  decideAcceptPartial,
  decideAnswer,
  decideDiscard,
  decideInterrupt,
  decideNextRound,
  decideResume,
  decideStop,
  decideVerify,
  type Refused,
} from '../core/decide'
import type { Actor, Answer, Fact, ProcessIdentity, Verdict } from '../core/events'
import { hear } from '../core/hear'
import { resting } from '../core/pulse'
import type { EntryBody } from '../core/transcript'
import { LinkLostError, type KeeperLink } from '../process/keeperLink'
import { LaunchError, type ExitRecord, type Launch } from '../process/launch'
import type { RawLine } from '../process/lines'
import { stderrTail } from '../process/stderrTail'
import type { ChildLog } from '../record/childLog'
import type { ChildPaths } from '../record/paths'
import type { TranscriptFile } from '../record/transcriptFile'
import { continuesSession, Past, prepareAttempt, rejoin, StartProblem, Talk, type Plan } from './attempt'
import { answerInWords, exitInWords, limitInWords } from './attemptWords'
import { ChildRecord } from './childRecord'
import { dismissKeeper, findAttempt, type FoundAttempt } from './findAttempt'
import { hearLines, keepLongSummary, recordHandedOver, tellAgain } from './hearing'
import { DisposedError, Jobs, stackOf } from './jobs'
import { Outbox } from './outbox'
import { Place } from './place'
import type { ChildResult } from './results'
import { RoundEnd } from './roundEnd'
import type { DiscardConsent, Tools } from './tools'
import { troubleInWords } from './troubleInWords'
import type { Work } from './watch'
import { WorktreeSetup, type Announced } from './worktreeSetup'

/** After its report an agent that exits by itself gets this long before the ladder. */
const exitGraceMs = 10_000
/** A keeper that does not answer is asked again after this. */
const silentRetryMs = 5_000
/** An agent that has reported and whose steers or background work do not come to an end gets this long, unless told. */
const defaultIdleGraceMs = 120_000
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
  private readonly outbox: Outbox
  private owing = false
  private talk: Talk | undefined
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
    this.outbox = new Outbox(this.record, this.jobs, {
      talk: () => this.talk,
      delegating: () => events.delegating(childId),
    })
    this.roundEnd = new RoundEnd(this.record, this.jobs, this.place, this.paths, tools, {
      changed: () => events.changed(childId),
      judged: (verdict) => events.judged(childId, verdict),
      settled: (result) => events.settled(childId, result),
      askAgain: async (message) => {
        const plan = await this.plan('retry', this.child.round, message)
        this.jobs.detached(() => this.launch(plan))
      },
    })
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
      if (isLive(this.child)) this.jobs.detached(() => this.endAttempt('stop', reason))
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
      const plan = await this.place.orGiveBack(this.plan('resume', round, words))
      this.jobs.detached(() => this.launch(plan))
      return { attempt: plan.attempt, carried: plan.carried }
    })
  }

  /** The next turn of an orchestrator that waits for its children. `message`: null when steers alone wake it. */
  wake(message: string | null, capacity: () => Promise<Refused | null>): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      if (!this.child.delegating) return { code: 'busy', message: `"${this.child.title}" does not wait any more.` }
      const refused = await capacity()
      if (refused !== null) return refused
      const plan = await this.place.orGiveBack(this.plan('wake', this.child.round, message))
      this.jobs.detached(() => this.launch(plan))
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
      this.jobs.later(async () => {
        if (this.talk !== undefined) await this.attend(this.talk)
      })
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
    const { talk } = this
    if (talk === undefined) return null
    const { heardAt, pulse } = talk
    const quietMs = performance.now() - heardAt
    return { quietMs, toolsInFlight: pulse.toolsInFlight.size, recent: this.record.recent }
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
        await this.jobs.enqueueSurely(() => this.failStart(placed.message))
        return
      }
      const { path, cwd, branch, base, notes } = placed
      await this.jobs.enqueue(() =>
        this.appendSurely([{ type: 'worktreeAdded', path, cwd, branch, base, notes: [...notes] }], true, [
          { kind: 'notice', level: 'info', text: `Works in ${path} on branch ${branch}.` },
          ...notes.map((text) => ({ kind: 'notice', level: 'info', text }) as const),
        ]),
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
    if (announced?.kind === 'problem') await this.jobs.enqueueSurely(() => this.failStart(announced.message))
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
        ? await this.plan('first', this.child.round, this.child.setup?.message ?? null)
        : undefined,
    )
    if (plan !== undefined) await this.launch(plan)
  }

  /** Appends the intent. Steers that wait, or were missed, ride in the first turn. */
  private async plan(reason: Plan['reason'], round: number, message: string | null): Promise<Plan> {
    const carried = this.child.steers
      .filter((steer) => steer.state === 'queued' || steer.state === 'missed')
      .map((s) => s.id)
    const attempt = this.child.attempts.length + 1
    const resume = continuesSession(this.child, attempt)
    const sessionId = (resume ? this.child.sessionId : null) ?? newSessionId()
    const launching: Fact = { type: 'launching', attempt, round, sessionId, resume, carried, message, reason }
    // Whoever resumes is told when it cannot be; of the other starts there is nobody to tell.
    if (reason === 'resume') await this.record.append([launching], true)
    else await this.appendSurely([launching], true)
    if (currentAttempt(this.child)?.n !== attempt) throw new Error(`attempt ${attempt} does not fit`)
    return { attempt, carried, reason, message, sessionId, resume }
  }

  private async launch(plan: Plan): Promise<void> {
    const { folder } = this.paths.attempt(plan.attempt)
    try {
      const { conversation, launch, prompt } = await prepareAttempt(this.child, plan, this.tools)
      if (!(await this.jobs.enqueue(() => this.stillWanted(plan, prompt))) || !this.tools.isOwner()) return
      const link = await this.startedLink(folder, launch, conversation)
      if (link === undefined) {
        await this.recover()
        return
      }
      await this.jobs.enqueueSurely(async () => {
        await this.recordLaunched(plan.attempt, link)
        if (this.talk !== undefined) return
        const talk = new Talk(plan.attempt, conversation, link, this.paths.attempt(plan.attempt))
        this.take(talk)
        await talk.open(prompt)
        this.endIfAsked()
      })
    } catch (error) {
      if (error instanceof LinkLostError || error instanceof DisposedError) return
      const known = error instanceof LaunchError || error instanceof StartProblem
      if (!known) this.tools.log('error', 'launch failed', { childId: this.child.id, stack: stackOf(error) })
      const tail = (await stderrTail(folder).catch(() => [])).join('\n')
      await this.jobs.enqueueSurely(() => this.failStart(troubleInWords(error), plan.attempt, tail))
    }
  }

  /** Tells the turn that is about to begin, unless a wish to end came since it was planned: then nothing is started. */
  private async stillWanted(plan: Plan, prompt: string): Promise<boolean> {
    if (currentAttempt(this.child)?.endRequest) {
      await this.failStart('it was called off before its process was started.', plan.attempt)
      return false
    }
    await this.record.write([{ kind: 'turn', reason: plan.reason, prompt }])
    return true
  }

  /** Undefined: whether an agent runs is not known, and has to be found out. */
  private async startedLink(
    folder: string,
    launch: Launch,
    conversation: Conversation,
  ): Promise<KeeperLink | undefined> {
    try {
      return await this.tools.startKeeper(folder, launch, conversation.launch.env)
    } catch (error) {
      if (error instanceof LaunchError && error.kind !== 'keeperFailed') throw error
      const attempt = await findAttempt(this.child, this.liveAttempt(), this.tools)
      if (attempt.kind === 'neverStarted') throw error
      if (attempt.kind === 'live') attempt.link.detach()
      return undefined
    }
  }

  private liveAttempt(): Attempt {
    const attempt = currentAttempt(this.child)
    if (attempt === undefined || attempt.ended !== null) throw new Error('no attempt is live')
    return attempt
  }

  private async recordLaunched(n: number, ran: { keeper: ProcessIdentity; agent: ProcessIdentity }): Promise<void> {
    const attempt = currentAttempt(this.child)
    if (attempt?.n !== n || attempt.launchedAt !== null) return
    await this.record.append([{ type: 'launched', attempt: n, keeper: ran.keeper, agent: ran.agent }], true)
    // The keeper outlives us, and with it the place it takes on this machine.
    await this.place.hold(ran.keeper)
  }

  /** A wish to end that came while the process was being started or nobody followed it. */
  private endIfAsked(): void {
    const attempt = currentAttempt(this.child)
    if (attempt?.calledOff === true)
      this.jobs.later(() => this.endAttempt('stop', this.child.stopRequest?.reason ?? ''))
    else if (attempt?.endRequest) {
      const { cause, reason } = attempt.endRequest
      this.jobs.later(() => this.endAttempt(cause, reason))
    }
  }

  /** From here on this process follows the attempt. */
  private take(talk: Talk): void {
    this.talk = talk
    const { link } = talk
    link.onTrouble = (detail) => {
      this.jobs.detached(() =>
        this.jobs.enqueue(() => this.record.tell('warning', `Its output cannot be written to disk: ${detail}.`)),
      )
    }
    link
      .follow((lines) => this.jobs.enqueue(() => this.heard(talk, lines)))
      .catch((error: unknown) => this.lost(talk, error))
    link.ended.then(
      (exit) => this.jobs.detached(() => this.onExit(talk, exit)),
      () => undefined,
    )
  }

  private lost(talk: Talk, error: unknown): void {
    if (this.jobs.isClosed || this.talk !== talk) return
    if (!(error instanceof LinkLostError)) {
      this.tools.log('error', 'following failed', { childId: this.child.id, stack: stackOf(error) })
      talk.link.detach()
      this.talk = undefined
      this.jobs.afterMs(silentRetryMs, () => this.recover())
      return
    }
    this.talk = undefined
    if (error.loss === 'keeperLost') this.jobs.detached(() => this.recover())
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
    await this.reattach(attempt)
  }

  /** `silences`: how often its keeper did not answer so far. */
  private async reattach(attempt: Attempt, silences = 0): Promise<void> {
    const found = await findAttempt(this.child, attempt, this.tools)
    switch (found.kind) {
      case 'live':
        await this.followAgain(attempt, found)
        return
      case 'ended':
        if (found.exit.launchError !== undefined) {
          const { message } = found.exit.launchError
          await this.jobs.enqueueSurely(() => this.failStart(message, attempt.n))
        } else {
          const conversation = await this.hearAll(attempt, found)
          await this.jobs.enqueueSurely(() => this.recordExit(conversation, attempt.n, found.exit))
        }
        await found.acknowledge()
        return
      case 'vanished': {
        await this.hearAll(attempt, found)
        const detail = await found.endRest()
        await this.jobs.enqueueSurely(() => this.ended([{ type: 'vanished', attempt: attempt.n, detail }]))
        return
      }
      case 'neverStarted':
        await this.jobs.enqueueSurely(() =>
          this.failStart(
            'Coxswain ended before the agent was started. Nothing ran; resume or start it again.',
            attempt.n,
          ),
        )
        return
      case 'silent':
        if (silences > 0 && currentAttempt(this.child)?.endRequest) {
          await this.jobs.enqueue(() => this.record.tell('warning', keeperEnded))
          found.endKeeper()
        } else if (silences === 0) {
          await this.jobs.enqueue(() =>
            this.record.tell('warning', 'Its keeper runs but does not answer; trying again.'),
          )
        }
        this.jobs.afterMs(silentRetryMs, () => this.reattach(attempt, silences + 1))
        return
      case 'foreign':
        await this.jobs.enqueue(() =>
          this.record.tell('warning', `Its keeper belongs to another window or version: ${found.words}`),
        )
        return
    }
  }

  private async followAgain(attempt: Attempt, { link }: FoundAttempt & { kind: 'live' }): Promise<void> {
    try {
      await this.takeUp(attempt, link)
    } catch (error) {
      if (this.talk?.link !== link) link.detach()
      throw error
    }
  }

  private async takeUp(attempt: Attempt, link: KeeperLink): Promise<void> {
    const paths = this.paths.attempt(attempt.n)
    const prompt = await readPrompt(paths.prompt)
    const conversation = await rejoin(this.child, attempt, prompt, this.tools)
    const past = await Past.of(this.paths, attempt.n)
    await this.jobs.enqueue(async () => {
      await this.recordLaunched(attempt.n, link)
      await tellAgain(this.record, attempt, prompt)
      await this.record.tell('info', 'Attached again to the running agent.')
      const talk = new Talk(attempt.n, conversation, link, paths, past)
      this.take(talk)
      // The former supervisor may have gone before it had said anything; what was said is not said again.
      await talk.open(prompt)
      await this.outbox.handOver()
      await this.outbox.askBack()
      this.endIfAsked()
      if (attempt.closing) this.closeSoon(talk)
    })
  }

  /** Nobody can be told that this was not written, so it is tried until it is. */
  private async appendSurely(facts: readonly Fact[], sync: boolean, entries: readonly EntryBody[] = []): Promise<void> {
    await this.jobs.surely(() => this.record.append(facts, sync, entries))
  }

  /** Tells everything an attempt said before its end that was not told yet. */
  private async hearAll(attempt: Attempt, found: FoundAttempt & { kind: 'ended' | 'vanished' }): Promise<Conversation> {
    const conversation = await rejoin(this.child, attempt, '', this.tools)
    const past = await Past.of(this.paths, attempt.n)
    const prompt = await readPrompt(this.paths.attempt(attempt.n).prompt)
    const heeded = { attempt: attempt.n, conversation, past, pulse: resting }
    const { ran } = found
    await this.jobs.enqueueSurely(async () => {
      if (ran !== undefined) await this.recordLaunched(attempt.n, ran)
      await tellAgain(this.record, attempt, prompt)
      await recordHandedOver(this.record, conversation, attempt.n, past, this.paths.attempt(attempt.n))
    })
    await found.readLines(async (lines) => {
      await this.jobs.enqueue(() => hearLines(this.record, heeded, lines, () => this.tools.now()))
    })
    return conversation
  }

  // ── what the agent says ─────────────────────────────────────────────────────────────────────────────────────────

  private async heard(talk: Talk, lines: readonly RawLine[]): Promise<void> {
    if (this.talk !== talk) return
    talk.heardAt = performance.now()
    const effects = await hearLines(this.record, talk, lines, () => this.tools.now())
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
        this.jobs.detached(() => this.answer(request.id, decideYourself, coxswain, 'nobody was attending'))
      else if (approvalTimeoutMs !== null)
        this.jobs.afterMs(approvalTimeoutMs, async () => {
          const message = 'Nobody answered in time.'
          await this.answer(request.id, { kind: 'deny', message }, coxswain, 'timed out')
        })
    }
    for (const request of this.child.requests)
      if (request.attempt === talk.attempt && request.answer !== null && request.answer.kind !== 'cancelled')
        await talk.answer(request.id, request.answer)
  }

  /**
   * The agent has reported: with nothing waiting, its end is brought about. One that takes late steers as its next turn
   * reports again after it; if it never does, the idle grace ends it.
   */
  private closeSoon(talk: Talk): void {
    this.jobs.later(async () => {
      const attempt = currentAttempt(this.child)
      if (this.talk !== talk || attempt === undefined || attempt.ended !== null || attempt.endRequest !== null) return
      const waiting = this.child.steers.some((steer) => steer.state === 'queued' || steer.state === 'sent')
      const closes = talk.conversation.afterResult === 'close input'
      const mayGoOn = closes && waiting
      if (!mayGoOn && !attempt.closing) await this.appendSurely([{ type: 'closing', attempt: attempt.n }], false)
      if (closes && !waiting) await talk.link.closeInput()
      const reports = talk.reported()
      this.jobs.afterMs(mayGoOn ? this.idleGraceMs() : exitGraceMs, async () => {
        if (this.talk === talk && talk.isThrough(reports))
          await talk.link.requestEnd({ kind: 'finished', reason: 'it had reported and did not exit' })
      })
    })
  }

  /** It has reported, and work of its own goes on: when nothing more is heard of that, it is over all the same. */
  private closeIfIdle(talk: Talk): void {
    const reports = talk.reported()
    this.jobs.afterMs(this.idleGraceMs(), async () => {
      if (this.talk === talk && talk.isThrough(reports)) this.closeSoon(talk)
    })
  }

  private idleGraceMs(): number {
    return this.child.task.limits.idleGraceMs ?? defaultIdleGraceMs
  }

  /** `limit`: a ceiling the agent kept itself, in words. */
  private async watchBudget(limit: string | null): Promise<void> {
    const attempt = currentAttempt(this.child)
    if (attempt === undefined || attempt.endRequest !== null || attempt.ended !== null) return
    const over = overLimit(this.child) ?? limit
    if (over !== null) await this.requestInterrupt(attempt, 'budget', over, coxswain)
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
    this.jobs.detached(() => this.endAttempt(cause, reason))
  }

  /** Beside the queue: a keeper that takes its time to answer holds up no other wish. */
  private async endAttempt(cause: EndCause, reason: string): Promise<void> {
    const { talk } = this
    if (talk === undefined || (await talk.end(cause, reason, this.child))) return
    await this.record.tell('warning', keeperEnded)
    talk.link.endKeeper()
  }

  private async onExit(talk: Talk, exit: ExitRecord): Promise<void> {
    if (this.talk !== talk) return
    // No longer the run's: whoever disposes of it once the end is on record must not cut the keeper's acknowledgement.
    this.talk = undefined
    try {
      await this.jobs.enqueueSurely(() => this.recordExit(talk.conversation, talk.attempt, exit))
      await talk.link.acknowledgeExit()
    } finally {
      talk.link.detach()
    }
  }

  private async recordExit(conversation: Conversation, attempt: number, exit: ExitRecord): Promise<void> {
    if (currentAttempt(this.child)?.ended !== null) return
    const cause = exit.firstCause?.kind
    // What an agent's end says is no claim when its keeper had asked it to end.
    const asked = cause !== undefined && cause !== 'finished'
    const last = hear(
      this.child,
      attempt,
      asked ? [] : conversation.ended({ code: exit.code, signal: exit.signal }),
      'stdout',
    )
    const facts: Fact[] = []
    if (asked && currentAttempt(this.child)?.endRequest === null) {
      const unattended = cause === 'timeout' || cause === 'lease'
      const reason = unattended
        ? limitInWords(cause, this.child)
        : (exit.firstCause?.reason ?? `its keeper was told: ${cause}`)
      facts.push({ type: 'interruptRequested', attempt, cause: unattended ? cause : 'lease', reason, by: coxswain })
    }
    facts.push(...(await keepLongSummary(this.record, attempt, last, 'end')))
    const spent = ceilingReached(this.child)
    const waits = !asked && (await this.events.goesOn(this.child))
    if (waits && spent === null) facts.push({ type: 'childrenAwaited', attempt })
    const tail = (await stderrTail(this.paths.attempt(attempt).folder).catch(() => [])).join('\n')
    facts.push({
      type: 'exited',
      attempt,
      exit: {
        code: exit.code,
        signal: exit.signal,
        firstCause: cause ?? null,
        drained: exit.drained,
        survivors: exit.survivors.length,
        durationMs: exit.durationMs ?? 0,
      },
      ...(tail === '' ? {} : { stderrTail: tail }),
    })
    await this.record.write(last.entries)
    await this.ended(facts, exitInWords(exit))
    if (waits && spent !== null) await this.record.tell('warning', notWoken(spent))
  }

  /** Appends the end, tells what became of the steers that still waited, and goes on to verdict or result. */
  private async ended(facts: readonly Fact[], words?: string): Promise<void> {
    if (currentAttempt(this.child)?.ended !== null) return
    const before = this.child.steers
    await this.record.syncTranscriptOrWarn()
    await this.record.append(facts, true)
    this.jobs.clearTimers()
    const fates = this.child.steers.filter((steer, i) => before[i]?.state !== steer.state)
    await this.record.write([
      ...fates.flatMap((steer) =>
        steer.state === 'missed' || steer.state === 'withdrawn'
          ? [{ kind: 'receipt', steerId: steer.id, state: steer.state } as const]
          : [],
      ),
      ...(words === undefined ? [] : [{ kind: 'notice', level: 'info', text: words } as const]),
      ...facts.flatMap((fact) =>
        fact.type === 'vanished' ? [{ kind: 'notice', level: 'warning', text: fact.detail } as const] : [],
      ),
    ])
    if (this.child.delegating) {
      await this.place.release()
      this.events.delegating(this.child.id)
    } else if (this.child.verifying) {
      await this.place.hold(this.tools.me)
      this.roundEnd.verifySoon()
    } else {
      if (!isLive(this.child)) await this.place.release()
      this.roundEnd.settleSoon()
    }
  }

  private async failStart(reason: string, attempt?: number, diagnostic = ''): Promise<void> {
    await this.record.append(
      [
        {
          type: 'startFailed',
          reason,
          ...(attempt === undefined ? {} : { attempt }),
          ...(diagnostic === '' ? {} : { diagnostic }),
        },
      ],
      true,
      [{ kind: 'notice', level: 'error', text: `It did not start: ${reason}` }],
    )
    if (this.child.verifying) this.roundEnd.verifySoon()
    else this.roundEnd.settleSoon()
  }

  /** Lets go of everything; agents and keepers go on. Synchronous and harmless twice. */
  dispose(): void {
    this.jobs.close()
    this.talk?.link.detach()
    this.talk = undefined
    this.setup.callOff()
  }

  /** After `dispose`: everything that was under way has been written. */
  async closed(): Promise<void> {
    await this.jobs.idle()
    await this.record.close()
  }
}

const keeperEnded = 'Its keeper does not answer. The keeper was killed, so that what it kept can be ended without it.'

const bugInWords = (error: unknown): string =>
  `Something in Coxswain itself failed, and what it was about was not done: ${troubleInWords(error)} The log has the details; please report it.`

const notWoken = (spent: string): string =>
  `It is not woken by what its children come to: ${spent}, and nothing is done by itself beyond that. They go on; resume it, and it hears of them.`

const newSessionId = (): string => randomUUID()

/** What an agent hears when nobody is there to answer it. */
const decideYourself: Answer = {
  kind: 'text',
  text: 'Nobody is there to answer: decide yourself, and say what you assumed.',
}

const readPrompt = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')
