// How one attempt ends: its end is put on record once, with its last words and with what became of the steers that still
// waited, and leads to a verdict, to the round's result, or to a wait for the child's own children. It ends no process.
import type { Conversation } from '../agents/agent'
import { ceilingReached } from '../core/budget'
import { currentAttempt, isLive, type Child } from '../core/child'
import type { Fact } from '../core/events'
import { hear } from '../core/hear'
import type { ExitRecord } from '../process/launch'
import { stderrTail } from '../process/stderrTail'
import type { ChildPaths } from '../record/paths'
import { exitInWords, limitInWords, notWoken } from './attemptWords'
import type { ChildRecord } from './childRecord'
import { keepLongSummary } from './hearing'
import type { Jobs } from './jobs'
import type { Place } from './place'
import type { RoundEnd } from './roundEnd'
import type { Tools } from './tools'

export interface AttemptEndEvents {
  /** Whether what an attempt has just reported is not the child's last word, because its own children are at work. */
  goesOn(child: Child): Promise<boolean>
  /** It goes on as soon as there is something to say to it. */
  delegating(): void
}

/** Every call is made within the child's queue. */
export class AttemptEnd {
  constructor(
    private readonly record: ChildRecord,
    private readonly jobs: Jobs,
    private readonly place: Place,
    private readonly roundEnd: RoundEnd,
    private readonly paths: ChildPaths,
    private readonly tools: Pick<Tools, 'me'>,
    private readonly events: AttemptEndEvents,
  ) {}

  private get child(): Child {
    return this.record.child
  }

  /** `conversation` has heard all that the agent said. Nothing, once its end is on record. */
  async exited(conversation: Conversation, attempt: number, exit: ExitRecord): Promise<void> {
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
      const by = { kind: 'coxswain' } as const
      facts.push({ type: 'interruptRequested', attempt, cause: unattended ? cause : 'lease', reason, by })
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
    await this.ended(facts, exitInWords(exit), 'info')
    if (waits && spent !== null) await this.record.tell('warning', notWoken(spent))
  }

  /** `detail`: what was found of it, in words. Nothing, once its end is on record. */
  async vanished(attempt: number, detail: string): Promise<void> {
    await this.ended([{ type: 'vanished', attempt, detail }], detail, 'warning')
  }

  /** `attempt`: none when there was no worktree to start in. `diagnostic`: the end of what its process said. */
  async notStarted(reason: string, attempt?: number, diagnostic = ''): Promise<void> {
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

  private async ended(facts: readonly Fact[], text: string, level: 'info' | 'warning'): Promise<void> {
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
      { kind: 'notice', level, text },
    ])
    if (this.child.delegating) {
      await this.place.release()
      this.events.delegating()
    } else if (this.child.verifying) {
      await this.place.hold(this.tools.me)
      this.roundEnd.verifySoon()
    } else {
      if (!isLive(this.child)) await this.place.release()
      this.roundEnd.settleSoon()
    }
  }
}
