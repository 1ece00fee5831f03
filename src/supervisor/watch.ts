// Looks once at each child that works and says what ought to be done: a condition when it has been quiet for too long, a
// suggestion when it loops or drifts. It acts only on children for which automatic steering was switched on, never beyond
// their spend ceiling, and each act is told as the policy's own.
import { ceilingReached } from '../core/budget'
import { acceptance, currentAttempt, openRequests, type Child } from '../core/child'
import type { Refused } from '../core/decide'
import type { Actor, Fact } from '../core/events'
import { decide, stuckWords, tailOf, type Decision, type PolicyOptions, type QuietLimits } from '../core/policy'
import type { EntryBody } from '../core/transcript'
import { globMatcher } from '../verification/globs'

/** What a child that is followed has been doing. */
export interface Work {
  /** Since it last wrote anything, in milliseconds. */
  readonly quietMs: number
  readonly toolsInFlight: number
  /** The end of its transcript. */
  readonly recent: readonly EntryBody[]
}

/** A child as the watch sees it and may act on it. */
export interface Watched {
  readonly child: Child
  /** Null while nobody follows a process of it. */
  readonly work: Work | null
  note(fact: Extract<Fact, { type: 'suggested' | 'condition' | 'noted' }>): Promise<void>
  steer(steerId: string, text: string, by: Actor): Promise<Refused | null>
  stop(reason: string, by: Actor): Promise<Refused | null>
  endStalled(reason: string, by: Actor): Promise<Refused | null>
}

export interface WatchSettings {
  readonly quiet: QuietLimits
  readonly policy: PolicyOptions
}

export interface WatchOptions {
  readonly settings: () => WatchSettings
  readonly newId: () => string
  /** The globs a child may change, as its contract says; undefined: any. */
  readonly scopeOf: (child: Child) => Promise<readonly string[] | undefined>
  /** What the policy did. */
  readonly did: (child: Child, what: 'steer' | 'stop' | 'interrupt', reason: string) => void
}

const policy = { kind: 'policy' } as const satisfies Actor
/** The condition's name. */
const stuck = 'stuck'

export class Watch {
  private looking = false
  /** The attempts of children at work that have been told that their ceiling keeps the policy from acting. */
  private readonly held = new Map<string, number>()
  /** What each child may change: its contract was frozen before its start. */
  private readonly scopes = new Map<string, ((path: string) => boolean) | undefined>()

  constructor(private readonly options: WatchOptions) {}

  /**
   * One look at each; a look that is still under way is not doubled. A child whose log takes nothing holds up no other;
   * rejects with the first of such failures.
   */
  async look(children: Iterable<Watched>): Promise<void> {
    if (this.looking) return
    this.looking = true
    try {
      const failures: unknown[] = []
      for (const watched of children)
        if (isAtWork(watched.child)) await this.lookAt(watched).catch((error: unknown) => failures.push(error))
        else this.forget(watched.child.id)
      if (failures.length > 0) throw failures[0]
    } finally {
      this.looking = false
    }
  }

  private forget(childId: string): void {
    this.held.delete(childId)
    this.scopes.delete(childId)
  }

  private async lookAt(watched: Watched): Promise<void> {
    const { work } = watched
    if (work === null) return
    if (!(await this.quiet(watched, work))) await this.judge(watched, work)
  }

  /** True when it is stuck. */
  private async quiet(watched: Watched, work: Work): Promise<boolean> {
    const { child } = watched
    const known = child.conditions[stuck] !== undefined
    // It says itself why it is quiet.
    const excused = Object.keys(child.conditions).some((name) => name !== stuck)
    const words = excused ? null : stuckWords(work.quietMs, work.toolsInFlight, this.options.settings().quiet)
    if (words === null) {
      if (known) await watched.note({ type: 'condition', name: stuck, words: null })
      return false
    }
    if (!known) await watched.note({ type: 'condition', name: stuck, words })
    if (await this.mayAct(watched, `ending it because it is ${words}`)) {
      const reason = `automatic steering: ${words}`
      if ((await watched.endStalled(reason, policy)) === null) this.options.did(child, 'interrupt', words)
    }
    return true
  }

  private async judge(watched: Watched, work: Work): Promise<void> {
    const { child } = watched
    const seen = { subagent_id: child.id, accepting_steer: acceptance(child).accepting, goal: child.task.goal }
    const worktree = child.worktree === null ? {} : { worktree: child.worktree.path }
    const inScope = await this.scopeOf(child)
    const decision = decide(seen, tailOf(work.recent), {
      ...this.options.settings().policy,
      ...worktree,
      ...(inScope === undefined ? {} : { inScope }),
    })
    const { action, reason, message } = decision
    if (action === 'wait' || isDismissed(child, decision)) {
      if (child.suggestion !== null) await watched.note({ type: 'suggested', suggestion: null })
      return
    }
    const known = child.suggestion?.action === action && child.suggestion.reason === reason
    if (!known)
      await watched.note({
        type: 'suggested',
        suggestion: { action, reason, ...(message === undefined ? {} : { message }) },
      })
    if (!(await this.mayAct(watched, `${action} because of a ${reason}`))) return
    const refused =
      action === 'stop'
        ? await watched.stop(`automatic steering: ${reason}`, policy)
        : await watched.steer(this.options.newId(), message ?? '', policy)
    if (refused === null) this.options.did(child, action, reason)
  }

  /** A contract that cannot be read says nothing here; the checks tell of it. */
  private async scopeOf(child: Child): Promise<((path: string) => boolean) | undefined> {
    if (child.task.contract.level === 'none') return undefined
    if (!this.scopes.has(child.id)) {
      const globs = await this.options.scopeOf(child).catch(() => undefined)
      this.scopes.set(child.id, globs === undefined ? undefined : globMatcher(globs))
    }
    return this.scopes.get(child.id)
  }

  private async mayAct(watched: Watched, what: string): Promise<boolean> {
    const { child } = watched
    if (!child.automaticSteering) return false
    const spent = ceilingReached(child)
    if (spent === null) return true
    const attempt = currentAttempt(child)?.n ?? 0
    if (this.held.get(child.id) !== attempt) {
      this.held.set(child.id, attempt)
      await watched.note({ type: 'noted', level: 'warning', text: `Not done by itself (${what}): ${spent}.` })
    }
    return false
  }
}

/** A person did not want just this in the present attempt. */
function isDismissed(child: Child, { action, reason }: Decision): boolean {
  const { dismissed } = child
  return (
    dismissed !== null &&
    dismissed.attempt === currentAttempt(child)?.n &&
    dismissed.suggestion.action === action &&
    dismissed.suggestion.reason === reason
  )
}

/** It has a process that may be expected to say something. */
function isAtWork(child: Child): boolean {
  const attempt = currentAttempt(child)
  if (child.phase !== 'RUNNING' || child.verifying || child.retrying || attempt === undefined) return false
  if (attempt.launchedAt === null || attempt.ended !== null || attempt.endRequest !== null || attempt.closing)
    return false
  return openRequests(child).length === 0
}
