// Orchestrator children between their turns: one that has reported while its own children are at work goes on, in the same
// round, with what they came to. It is woken by a completion, a pause of a child, or a steer, never in the middle of a turn;
// the clock only brings back what found no place on this machine.
import { ceilingReached } from '../core/budget'
import { isLive, lacksResult, type Child } from '../core/child'
import { noticesOf, completionsOf } from '../core/completion'
import type { Refused } from '../core/decide'
import { sessionOf, type Caller } from '../core/ownership'
import type { StorePaths } from '../record/paths'
import type { ChildRun } from './childRun'
import { completionsFor, dispatchedBy, pendingNotices } from './completions'

export interface OrchestrationOptions {
  readonly paths: StorePaths
  /** Every child of the store as recorded now. */
  recorded(): Promise<readonly Child[]>
  runOf(id: string): Promise<ChildRun | undefined>
  /** A place on this machine for the next attempt, or who holds them. */
  capacity(child: Child): Promise<Refused | null>
  acknowledge(caller: Caller, ids: readonly string[]): Promise<unknown>
  woken(id: string): void
}

export class Orchestration {
  /** One at a time per child; what comes meanwhile is looked at after it. */
  private readonly waking = new Map<string, Promise<void>>()
  /** What found no place on this machine, or could not be looked at. */
  private readonly postponed = new Set<string>()

  constructor(private readonly options: OrchestrationOptions) {}

  /** Whether what `child` has just reported is not its last word: children of its own are at work, or were not heard. */
  async goesOn(child: Child): Promise<boolean> {
    if (child.task.role !== 'orchestrator' || !child.task.recipe.abilities.resume) return false
    const caller = callerOf(child.id)
    const children = await this.options.recorded()
    if (dispatchedBy(caller, children).some(isAtWork)) return true
    const session = sessionOf(caller)
    return completionsOf(children, session).some((due) => !due.acknowledged) || noticesOf(children, session).length > 0
  }

  /** Looks whether there is something to say to this child, and begins its next turn with it. */
  async wake(id: string): Promise<void> {
    const before = this.waking.get(id) ?? Promise.resolve()
    const waking = before.then(async () => {
      this.postponed.add(id)
      if (await this.look(id)) this.postponed.delete(id)
    })
    const kept = waking.catch(() => undefined)
    this.waking.set(id, kept)
    try {
      await waking
    } finally {
      if (this.waking.get(id) === kept) this.waking.delete(id)
    }
  }

  /** Those that could not be woken when there was something to say to them. */
  get toTryAgain(): readonly string[] {
    return [...this.postponed]
  }

  /** False: there is something to say, and no place on this machine for the turn. */
  private async look(id: string): Promise<boolean> {
    const run = await this.options.runOf(id)
    if (run?.child.delegating !== true) return true
    const spent = ceilingReached(run.child)
    if (spent !== null) {
      await run.endWaiting(spent)
      return true
    }
    const caller = callerOf(id)
    const children = await this.options.recorded()
    const due = await completionsFor(caller, children, this.options.paths)
    const notices = pendingNotices(caller, children)
    const ids = [...due.map((one) => one.completion_id), ...notices.map((one) => one.notice_id)]
    const told = ids.filter((one) => run.child.attempts.some(({ message }) => message?.includes(mark(one))))
    const fresh = [
      ...due
        .filter((one) => !told.includes(one.completion_id))
        .map((one) => `${mark(one.completion_id)}\n${unmarked(one.relay)}`),
      ...notices
        .filter((one) => !told.includes(one.notice_id))
        .map((one) => `${mark(one.notice_id)}\n${unmarked(`${one.subagent_id} ${one.title}: ${one.outcome}`)}`),
    ]
    if (told.length > 0) await this.options.acknowledge(caller, told)
    const steered = run.child.steers.some(({ state }) => state === 'queued' || state === 'missed')
    const atWork = dispatchedBy(caller, children).some(isAtWork)
    if (fresh.length === 0 && !steered && atWork) return true
    const message =
      fresh.length > 0 ? fresh.join('\n\n') : steered ? null : 'None of your children is at work any more.'
    if ((await run.wake(message, () => this.options.capacity(run.child))) !== null) return false
    this.options.woken(id)
    await this.options.acknowledge(
      caller,
      ids.filter((one) => !told.includes(one)),
    )
    return true
  }
}

/** How the record tells what an orchestrator has been told, whatever became of the acknowledgement. */
const mark = (id: string): string => `${markBegins}${id}]`
const markBegins = '[from Coxswain: '

/** A child's own words must not pass for a mark: what they named would count as told. */
const unmarked = (text: string): string => text.replaceAll(markBegins, '(from Coxswain: ')

/** Ended, but with its result still being written, it is about to be heard of all the same. */
const isAtWork = (child: Child): boolean => isLive(child) || lacksResult(child)

const callerOf = (id: string): Caller => ({ kind: 'parent', session: `child:${id}`, child: id })
