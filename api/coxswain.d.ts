/**
 * What Coxswain's `activate()` returns: children for other extensions.
 *
 * ```ts
 * import type { CoxswainApi } from './coxswain'
 * const coxswain = await vscode.extensions.getExtension<CoxswainApi>('coxswain.coxswain')?.activate()
 * const session = coxswain?.session(context.extension.id, 'main')
 * ```
 *
 * A session launches children and acts on those it launched, and on no others. Nothing here rejects for what a child or a
 * handle is; a handle that is not this session's own, or not whole, is UNKNOWN.
 *
 * In a window with several folders a launch goes to the repository that is shown at that moment. Handles of launches in a
 * repository that was shown before go on to answer. After a reload they are UNKNOWN until the person shows that
 * repository again: UNKNOWN does not say that the child has ended.
 */
export interface CoxswainApi {
  readonly contractVersion: 1
  /** The same two words are the same session after a reload. `key` tells several of one extension apart. */
  session(extensionId: string, key: string): CoxswainSession
}

export interface CoxswainSession {
  /** Answers with a handle before any worktree or process exists. A `correlation_id` used before answers that launch. */
  launch(request: LaunchRequest): Promise<Launched | Refused>
  status(handle: unknown): Promise<ChildState>
  /**
   * Until the child's round has settled, at most so long; a timeout cancels nothing.
   * @param timeoutMs a whole number from 1 to 60,000; a RangeError otherwise
   */
  wait(handle: unknown, timeoutMs: number): Promise<Waited>
  /** `accepted`: its end was asked for. It is CANCELLED only once that was observed. */
  cancel(handle: unknown, reason: string): Promise<'accepted' | 'already_terminal' | 'unknown_handle' | 'unsupported'>
  /** The result of a round, the latest when left out: the same each time it is asked for. */
  result(handle: unknown, round?: number): Promise<RoundResult>
  /** A correction that the child reads with its next tool result; queued durably before this answers. */
  steer(handle: unknown, message: string): Promise<Steered | Refused>
  /** Goes on in the same agent session, worktree and branch. */
  resume(handle: unknown, message?: string): Promise<Resumed | Refused>
  /** After a restart: finds out whether the child still runs. It never launches a replacement. */
  reconnect(handle: unknown): Promise<Reconnected>
  /** A child of this session changed. */
  onDidChange(listener: (handle: ChildHandle) => void): { dispose(): void }
}

/** Any other key is refused by its name rather than ignored. */
export interface LaunchRequest {
  /** 1 to 16,000 characters. The child sees nothing else of yours. */
  readonly goal: string
  /** At most 32,000 characters. */
  readonly context?: string
  readonly role?: 'leaf' | 'orchestrator'
  /** An agent's id as the settings name it. */
  readonly agent?: string
  /** Your own id for this launch, 1 to 200 characters: used again, also after a crash, it is the same child. */
  readonly correlation_id: string
  /** At most 8 KiB as JSON; comes back with each state. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** `read edit run web mcp delegate`, or exact names of tools. */
  readonly allowed_tools?: readonly string[]
}

/** Plain data: keep it, send it, read it again. It opens this one child to the session it was given to. */
export interface ChildHandle {
  readonly contractVersion: 1
  readonly childId: string
  readonly parentSessionId: string
  /** ISO 8601, UTC. */
  readonly createdAt: string
  readonly capability: string
}

export interface Launched {
  readonly handle: ChildHandle
}

/** A wish declined, with a reason a person can act on. */
export interface Refused {
  readonly error: { readonly code: string; readonly message: string }
}

export type ChildPhase =
  | 'PENDING'
  | 'STARTING'
  | 'RUNNING'
  | 'CANCEL_REQUESTED'
  | 'SUCCESS'
  | 'FAILURE'
  | 'INTERRUPTED'
  | 'CANCELLED'
  | 'UNKNOWN'

/**
 * SUCCESS is the agent's claim; `verdict` is what was checked. Of a handle that is UNKNOWN nothing else is said, save that
 * its `condition` is `adopted` when a person made the child their own while nobody spoke for this session: it is theirs
 * for good, and steer and resume say so. Do not launch it again.
 */
export interface ChildState {
  readonly phase: ChildPhase
  /** E.g. `paused`, `verifying`. */
  readonly condition: string | null
  readonly round: number | null
  readonly attempt: number | null
  readonly accepting_steer: boolean
  /** Why a person is needed. */
  readonly needs: string | null
  readonly verdict: string | null
  readonly metadata: Readonly<Record<string, unknown>> | null
}

export interface Waited {
  readonly completed: boolean
  readonly timed_out: boolean
  readonly state: ChildState
}

export type RoundResult =
  | { readonly ready: false; readonly phase: ChildPhase }
  | {
      readonly ready: true
      readonly round: number
      readonly attempt: number
      readonly phase: ChildPhase
      readonly report: {
        readonly ok: boolean
        readonly summary: string | null
        readonly output: unknown
        readonly reason: string | null
      } | null
      /** Status, disposition and each check with its result. */
      readonly verdict: unknown
      readonly missed_steers: readonly { readonly steer_id: string; readonly text: string }[]
      readonly partial: boolean
      readonly duration_s: number | null
      readonly tokens: number
      readonly cost_usd: number | null
      readonly worktree: {
        readonly path: string
        readonly branch: string
        readonly base: string
        readonly commits: number | null
        readonly dirty: boolean | null
      } | null
      readonly exit: {
        readonly code: number | null
        readonly signal: string | null
        readonly first_cause: string | null
      } | null
      readonly stderr_tail: string | null
      readonly failure: string | null
      /** SHA-256 over what the outcome is: the same outcome hashes the same everywhere. */
      readonly result_hash: string
    }

export interface Steered {
  readonly status: 'queued'
  readonly steer_id: string
}

export interface Resumed {
  readonly status: 'resuming'
  readonly attempt: number
}

/** RECONNECT_UNAVAILABLE: nothing of it runs; `state` is the last that is known. */
export interface Reconnected {
  readonly outcome: 'ATTACHED' | 'RECONNECT_UNAVAILABLE'
  readonly state: ChildState
}
