// Finding out what became of an attempt that nobody follows: its keeper is attached to, or what it said before its end is
// told and the end put on record. It never starts a replacement.
import type { Conversation } from '../agents/agent'
import { currentAttempt, type Attempt, type Child } from '../core/child'
import { resting } from '../core/pulse'
import type { KeeperLink } from '../process/keeperLink'
import type { ChildPaths } from '../record/paths'
import { readText } from '../record/readFile'
import { Past, rejoin, Talk } from './attempt'
import type { AttemptEnd } from './attemptEnd'
import { keeperEnded } from './attemptWords'
import type { ChildRecord } from './childRecord'
import { findAttempt, type FoundAttempt } from './findAttempt'
import type { Following } from './following'
import { hearLines, recordHandedOver, tellAgain } from './hearing'
import { mayPass, stackOf, type Jobs } from './jobs'
import type { Launching } from './launching'
import type { Tools } from './tools'

/** A keeper that does not answer is asked again after this, and what could not be read is read again. */
const retryMs = 5_000

interface Tries {
  readonly silences: number
  readonly failures: number
}

export class Recovery {
  constructor(
    private readonly record: ChildRecord,
    private readonly jobs: Jobs,
    private readonly launching: Launching,
    private readonly following: Following,
    private readonly attemptEnd: AttemptEnd,
    private readonly paths: ChildPaths,
    private readonly tools: Tools,
  ) {}

  /** Beside the queue. Goes on after it resolves where something has to pass first; rejects with what cannot. */
  async recover(attempt: Attempt): Promise<void> {
    await this.look(attempt, { silences: 0, failures: 0 })
  }

  /** `silences`: how often its keeper did not answer so far; `failures`: how often it could not be looked at. */
  private async look(attempt: Attempt, { silences, failures }: Tries): Promise<void> {
    // A former try may have got as far as to follow it.
    if (this.following.talk !== undefined) return
    try {
      await this.lookOnce(attempt, silences)
    } catch (error) {
      if (!mayPass(error)) throw error
      const { id: childId } = this.child
      if (failures === 0) this.tools.log('error', 'not recovered; trying again', { childId, stack: stackOf(error) })
      this.jobs.afterMs(retryMs, () => this.look(attempt, { silences, failures: failures + 1 }))
    }
  }

  private async lookOnce(attempt: Attempt, silences: number): Promise<void> {
    const found = await findAttempt(this.child, attempt, this.tools)
    switch (found.kind) {
      case 'live':
        await this.followAgain(attempt, found)
        return
      case 'ended':
        if (found.exit.launchError !== undefined) {
          const { message } = found.exit.launchError
          await this.jobs.enqueueSurely(() => this.attemptEnd.notStarted(message, attempt.n))
        } else {
          const conversation = await this.hearAll(attempt, found)
          await this.jobs.enqueueSurely(() => this.attemptEnd.exited(conversation, attempt.n, found.exit))
        }
        await found.acknowledge()
        return
      case 'vanished': {
        await this.hearAll(attempt, found)
        const detail = await found.endRest()
        await this.jobs.enqueueSurely(() => this.attemptEnd.vanished(attempt.n, detail))
        return
      }
      case 'neverStarted':
        await this.jobs.enqueueSurely(() =>
          this.attemptEnd.notStarted(
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
        this.jobs.afterMs(retryMs, () => this.look(attempt, { silences: silences + 1, failures: 0 }))
        return
      case 'foreign':
        await this.jobs.enqueue(() =>
          this.record.tell('warning', `Its keeper belongs to another window or version: ${found.words}`),
        )
        return
    }
  }

  private get child(): Child {
    return this.record.child
  }

  private async followAgain(attempt: Attempt, { link }: FoundAttempt & { kind: 'live' }): Promise<void> {
    try {
      await this.takeUp(attempt, link)
    } catch (error) {
      if (this.following.talk?.link !== link) link.detach()
      throw error
    }
  }

  private async takeUp(attempt: Attempt, link: KeeperLink): Promise<void> {
    const paths = this.paths.attempt(attempt.n)
    const prompt = await readPrompt(paths.prompt)
    const conversation = await rejoin(this.child, attempt, prompt, this.tools)
    const past = await Past.of(this.paths, attempt.n, this.child)
    await this.jobs.enqueue(async () => {
      await this.launching.launched(attempt.n, link)
      await tellAgain(this.record, attempt, prompt)
      await this.record.tell('info', 'Attached again to the running agent.')
      await this.following.goOn(new Talk(attempt.n, conversation, link, paths, past), prompt)
    })
  }

  /** Tells everything an attempt said before its end that was not told yet. */
  private async hearAll(attempt: Attempt, found: FoundAttempt & { kind: 'ended' | 'vanished' }): Promise<Conversation> {
    const conversation = await rejoin(this.child, attempt, '', this.tools)
    const past = await Past.of(this.paths, attempt.n, this.child)
    const prompt = await readPrompt(this.paths.attempt(attempt.n).prompt)
    const heeded = { attempt: attempt.n, conversation, past, pulse: resting }
    const { ran } = found
    await this.jobs.enqueueSurely(async () => {
      if (ran !== undefined) await this.launching.launched(attempt.n, ran)
      await tellAgain(this.record, attempt, prompt)
      await recordHandedOver(this.record, conversation, attempt.n, past, this.paths.attempt(attempt.n))
    })
    await found.readLines(async (lines) => {
      await this.jobs.enqueue(() => hearLines(this.record, heeded, lines, () => this.tools.now()))
    })
    return conversation
  }
}

const readPrompt = (path: string): Promise<string> => readText(path).catch(() => '')
