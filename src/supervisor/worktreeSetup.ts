// One child's worktree being set up before its agent first starts: announced on disk, carried out beside the child's queue,
// called off by a stop or a pause, and found out about after a crash. It launches nothing and never begins by itself.
import { randomUUID } from 'node:crypto'
import { isSettingUp } from '../core/child'
import { setupLines, type ChosenSetup } from '../core/setup'
import type { EntryBody } from '../core/transcript'
import type { ChildRecord } from './childRecord'
import { stackOf, type Jobs } from './jobs'
import type { SetupOutcome } from './setup'
import type { Problem } from './problem'
import type { Tools } from './tools'

export interface Announced {
  readonly kind: 'announced'
  /** Null when nothing has to be set up any more. */
  readonly chosen: ChosenSetup | null
  readonly marker: string
}

export class WorktreeSetup {
  /** Ends what is under way. */
  private running: AbortController | undefined

  constructor(
    private readonly record: ChildRecord,
    private readonly jobs: Jobs,
    private readonly tools: Pick<Tools, 'setupToRun' | 'runSetup' | 'endSetup' | 'log'>,
  ) {}

  /**
   * Within the child's queue: appends the intent. Null when there is nothing to set up, a problem when what was agreed to
   * has changed; then nothing was appended.
   */
  async announce(round: number, message: string | null): Promise<Announced | null | Problem> {
    const chosen = await this.tools.setupToRun()
    if (chosen !== null && 'kind' in chosen) return chosen
    const { child } = this.record
    // A child whose setup was paused or has failed says it again: that is what brings it back to life.
    if (chosen === null && child.setup === null) return null
    const marker = `${child.id}.setup.${randomUUID()}`
    const { command = null, copy = [] } = chosen?.setup ?? {}
    const lines = chosen === null ? [] : setupLines(chosen.setup)
    await this.record.append(
      [{ type: 'setupStarted', round, hash: chosen?.hash ?? '', marker, command, copy, message }],
      true,
      lines.map((text) => notice('info', `Setting up: ${text}.`)),
    )
    if (this.record.child.setup?.marker !== marker) throw new Error('a setup does not fit')
    this.running = new AbortController()
    return { kind: 'announced', chosen, marker }
  }

  /** Beside the queue. Resolves once nothing of it runs any more and its end is on record. */
  async carryOut(announced: Announced): Promise<void> {
    const outcome = await this.outcome(announced)
    this.running = undefined
    await this.jobs.enqueueSurely(() => this.end(outcome))
  }

  /** Whoever announced it is gone: what is left of it is ended, and it has failed. */
  async recover(): Promise<void> {
    const { setup, task } = this.record.child
    if (setup === null) return
    const { ended, survivors } = await this.tools.endSetup(setup.marker, task.limits.stopGraceMs)
    const swept = ended === 0 ? '' : ` ${ended} of its processes still ran and were ended.`
    const left = survivors.length === 0 ? '' : ` Could not be ended: ${survivors.join(', ')}.`
    const words = `Coxswain ended while the worktree was being set up.${swept}${left} No agent ran; resume it to set it up again.`
    await this.jobs.enqueueSurely(() => this.end({ outcome: 'failed', words, notes: [] }))
  }

  /** Asks what is under way to end. Unlike an agent it has no keeper, so it does not outlive us on purpose. */
  callOff(): void {
    this.running?.abort()
  }

  private async outcome({ chosen, marker }: Announced): Promise<SetupOutcome> {
    const signal = this.running?.signal
    if (chosen === null || signal === undefined)
      return { outcome: 'done', words: 'There is nothing to set up any more.', notes: [] }
    const { child } = this.record
    try {
      return await this.tools.runSetup(child, {
        chosen,
        marker,
        signal,
        hear: (source, lines) =>
          this.jobs.later(() => this.record.write(lines.map((text) => ({ kind: 'noise', source, text }) as const))),
      })
    } catch (error) {
      this.tools.log('error', 'setup failed', { childId: child.id, stack: stackOf(error) })
      const reason = error instanceof Error ? error.message : String(error)
      return { outcome: 'failed', words: `The setup could not be carried out: ${reason}.`, notes: [] }
    }
  }

  private async end({ outcome, words, diagnostic, notes }: SetupOutcome): Promise<void> {
    if (!isSettingUp(this.record.child)) return
    const fact = { type: 'setupEnded', outcome, words, ...(diagnostic === undefined ? {} : { diagnostic }) } as const
    await this.record.append([fact], true, [
      ...notes.map((text) => notice('warning', text)),
      notice(outcome === 'failed' ? 'error' : 'info', words),
    ])
  }
}

const notice = (level: 'info' | 'warning' | 'error', text: string): EntryBody => ({ kind: 'notice', level, text })
