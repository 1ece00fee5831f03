// The start of one attempt: announced on disk, prepared, and begun unless a wish to end came in between. Where it stays
// open whether a process runs, that is found out and not repeated.
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../agents/agent'
import { currentAttempt, type Attempt, type Child } from '../core/child'
import type { Fact, ProcessIdentity } from '../core/events'
import { LinkLostError, type KeeperLink } from '../process/keeperLink'
import { LaunchError, type Launch } from '../process/launch'
import { stderrTail } from '../process/stderrTail'
import type { ChildPaths } from '../record/paths'
import { continuesSession, prepareAttempt, StartProblem, Talk, type Plan } from './attempt'
import type { AttemptEnd } from './attemptEnd'
import type { ChildRecord } from './childRecord'
import { findAttempt } from './findAttempt'
import type { Following } from './following'
import { DisposedError, stackOf, type Jobs } from './jobs'
import type { Place } from './place'
import type { Tools } from './tools'
import { troubleInWords } from './troubleInWords'

export interface LaunchingEvents {
  /** Whether an agent runs is not known, and has to be found out. */
  uncertain(): Promise<void>
}

export class Launching {
  constructor(
    private readonly record: ChildRecord,
    private readonly jobs: Jobs,
    private readonly place: Place,
    private readonly following: Following,
    private readonly attemptEnd: AttemptEnd,
    private readonly paths: ChildPaths,
    private readonly tools: Tools,
    private readonly events: LaunchingEvents,
  ) {}

  /**
   * Within the child's queue: appends the intent. Steers that wait, or were missed, ride in the first turn. Rejects, for a
   * resume alone, when the disk does not take it.
   */
  async plan(reason: Plan['reason'], round: number, message: string | null): Promise<Plan> {
    const carried = this.child.steers
      .filter((steer) => steer.state === 'queued' || steer.state === 'missed')
      .map((s) => s.id)
    const attempt = this.child.attempts.length + 1
    const resume = continuesSession(this.child, attempt)
    const sessionId = (resume ? this.child.sessionId : null) ?? randomUUID()
    const launching: Fact = { type: 'launching', attempt, round, sessionId, resume, carried, message, reason }
    // Whoever resumes is told when it cannot be; of the other starts there is nobody to tell.
    if (reason === 'resume') await this.record.append([launching], true)
    else await this.jobs.surely(() => this.record.append([launching], true))
    if (currentAttempt(this.child)?.n !== attempt) throw new Error(`attempt ${attempt} does not fit`)
    return { attempt, carried, reason, message, sessionId, resume }
  }

  /** Beside the queue. Resolves once the process is followed, or its failure to start is on record. */
  async launch(plan: Plan): Promise<void> {
    const { folder } = this.paths.attempt(plan.attempt)
    try {
      const { conversation, launch, prompt } = await prepareAttempt(this.child, plan, this.tools)
      if (!(await this.jobs.enqueue(() => this.stillWanted(plan, prompt))) || !this.tools.isOwner()) return
      const link = await this.startedLink(folder, launch, conversation)
      if (link === undefined) {
        await this.events.uncertain()
        return
      }
      await this.jobs.enqueueSurely(async () => {
        await this.launched(plan.attempt, link)
        if (this.following.talk !== undefined) return
        await this.following.begin(new Talk(plan.attempt, conversation, link, this.paths.attempt(plan.attempt)), prompt)
      })
    } catch (error) {
      if (error instanceof LinkLostError || error instanceof DisposedError) return
      const known = error instanceof LaunchError || error instanceof StartProblem
      if (!known) this.tools.log('error', 'launch failed', { childId: this.child.id, stack: stackOf(error) })
      const tail = (await stderrTail(folder).catch(() => [])).join('\n')
      await this.jobs.enqueueSurely(() => this.attemptEnd.notStarted(troubleInWords(error), plan.attempt, tail))
    }
  }

  /** Within the queue: its process was seen to run. Once. */
  async launched(n: number, ran: { keeper: ProcessIdentity; agent: ProcessIdentity }): Promise<void> {
    const attempt = currentAttempt(this.child)
    if (attempt?.n !== n || attempt.launchedAt !== null) return
    await this.record.append([{ type: 'launched', attempt: n, keeper: ran.keeper, agent: ran.agent }], true)
    // The keeper outlives us, and with it the place it takes on this machine.
    await this.place.hold(ran.keeper)
  }

  private get child(): Child {
    return this.record.child
  }

  /** Tells the turn that is about to begin, unless a wish to end came since it was planned: then nothing is started. */
  private async stillWanted(plan: Plan, prompt: string): Promise<boolean> {
    if (currentAttempt(this.child)?.endRequest) {
      await this.attemptEnd.notStarted('it was called off before its process was started.', plan.attempt)
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
}
