// The API other extensions get, as api/coxswain.d.ts promises it: sessions that launch children and act on those and no
// others. Knows no editor. Every handle is checked where it enters; what does not open a child is UNKNOWN and no more.
import { z } from 'zod'
import type {
  ChildHandle,
  ChildState,
  CoxswainSession,
  Launched,
  Reconnected,
  Refused,
  Resumed,
  RoundResult,
  Steered,
  Waited,
} from '../../api/coxswain'
import { acceptance, currentAttempt, isLive, type Child } from '../core/child'
import { unknownChild } from '../core/decide'
import { isRefusal, invalidRequest, type Refusal } from '../supervisor/commands'
import { childOfHandle, handleOf } from '../supervisor/handles'
import { conditionOf, needsOf } from '../supervisor/payloads'
import type { StoreSecret } from '../supervisor/secret'
import { sessionOfWords } from '../supervisor/parentSession'
import type { ParentsDoor } from './door'
import type { ParentStore } from './parentStore'

const longestWaitMs = 60_000
const metadataBytes = 8 * 1024

const requestSchema = z.strictObject({
  goal: z.string(),
  context: z.string().optional(),
  role: z.enum(['leaf', 'orchestrator']).optional(),
  agent: z.string().optional(),
  correlation_id: z.string().min(1).max(200),
  metadata: z
    .record(z.string(), z.json())
    .refine((value) => new TextEncoder().encode(JSON.stringify(value)).length <= metadataBytes, 'is larger than 8 KiB')
    .optional(),
  allowed_tools: z.array(z.string()).optional(),
})

interface Opened {
  readonly secret: StoreSecret
  readonly session: string
  readonly store: ParentStore
  takeUpLive(): Promise<void>
}

/**
 * `open` answers with a refusal as long as there is no store to be had, e.g. in a folder that is not trusted; `onMayOpen`
 * tells when that may have changed.
 */
export function lifecycleSession(
  open: () => Promise<ParentsDoor | Refusal>,
  extensionId: string,
  key: string,
  onMayOpen: (listener: () => void) => { dispose(): void } = () => ({ dispose: () => undefined }),
): CoxswainSession {
  return new Session(open, extensionId, key, onMayOpen)
}

class Session implements CoxswainSession {
  private opened: Promise<Opened | Refusal> | undefined
  private readonly results = new Map<string, RoundResult>()

  constructor(
    private readonly openStore: () => Promise<ParentsDoor | Refusal>,
    private readonly extensionId: string,
    private readonly key: string,
    private readonly onMayOpen: (listener: () => void) => { dispose(): void },
  ) {}

  async launch(request: unknown): Promise<Launched | Refused> {
    const parsed = requestSchema.safeParse(request)
    if (!parsed.success) return invalidRequest(parsed.error)
    const opened = await this.open()
    if (isRefusal(opened)) return opened
    const { correlation_id, ...task } = parsed.data
    const { secret, session, store } = opened
    const answer = await store.commands.spawn({
      tasks: [task],
      dispatch_id: `x${secret.sign(['launch', session, correlation_id]).slice(0, 32)}`,
    })
    if (isRefusal(answer)) return answer
    await store.caughtUp()
    const child = store.child(answer.subagent_ids[0] ?? '')
    return child === undefined ? { error: unknownChild } : { handle: handleOf(child, secret) }
  }

  async status(handle: unknown): Promise<ChildState> {
    return stateOf((await this.find(handle))?.child)
  }

  async wait(handle: unknown, timeoutMs: number): Promise<Waited> {
    if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > longestWaitMs)
      throw new RangeError(`timeoutMs is ${timeoutMs}; it must be a whole number from 1 to ${longestWaitMs}.`)
    const found = await this.find(handle)
    if (found === undefined) return { completed: false, timed_out: false, state: stateOf(undefined) }
    const { store, child } = found
    const now = (): Child | undefined => store.child(child.id)
    await store.until(() => hasSettled(now()), AbortSignal.timeout(timeoutMs))
    const completed = hasSettled(now())
    return { completed, timed_out: !completed, state: stateOf(now()) }
  }

  async cancel(
    handle: unknown,
    reason: string,
  ): Promise<'accepted' | 'already_terminal' | 'unknown_handle' | 'unsupported'> {
    const found = await this.find(handle)
    if (found === undefined) return 'unknown_handle'
    const answer = await found.store.commands.stop({
      subagent_id: found.child.id,
      reason: String(reason).slice(0, 2_000),
    })
    await found.store.caughtUp()
    if (!isRefusal(answer)) return 'accepted'
    return answer.error.code === 'finished' ? 'already_terminal' : 'unsupported'
  }

  async result(handle: unknown, round?: number): Promise<RoundResult> {
    const found = await this.find(handle)
    if (found === undefined) return { ready: false, phase: 'UNKNOWN' }
    const { store, child } = found
    const key = `${child.id}.${round ?? child.round}`
    const known = this.results.get(key)
    if (known !== undefined) return known
    const answer = await store.result(child.id, round)
    if (isRefusal(answer)) return { ready: false, phase: 'UNKNOWN' }
    if (!answer.ready) return { ready: false, phase: answer.phase }
    const { report, verdict, missed_steers, partial, duration_s, tokens, cost_usd, worktree, exit } = answer
    const result: RoundResult = deeplyFrozen({
      ready: true,
      round: answer.round,
      attempt: answer.attempt,
      phase: answer.phase,
      report,
      verdict,
      missed_steers,
      partial,
      duration_s,
      tokens,
      cost_usd,
      worktree,
      exit,
      stderr_tail: answer.stderr_tail,
      failure: answer.failure,
      result_hash: answer.result_hash,
    })
    this.results.set(key, result)
    return result
  }

  async steer(handle: unknown, message: string): Promise<Steered | Refused> {
    const found = await this.find(handle)
    if (found === undefined) return { error: unknownChild }
    const answer = await found.store.commands.steer({ subagent_id: found.child.id, message: String(message) })
    return isRefusal(answer) ? answer : { status: answer.status, steer_id: answer.steer_id }
  }

  async resume(handle: unknown, message?: string): Promise<Resumed | Refused> {
    const found = await this.find(handle)
    if (found === undefined) return { error: unknownChild }
    const said = message === undefined ? {} : { message: String(message) }
    const answer = await found.store.commands.resume({ subagent_id: found.child.id, ...said })
    if (isRefusal(answer)) return answer
    await found.store.caughtUp()
    return { status: answer.status, attempt: answer.attempt }
  }

  async reconnect(handle: unknown): Promise<Reconnected> {
    const opened = await this.open()
    if (!isRefusal(opened)) {
      await opened.takeUpLive()
      await opened.store.caughtUp()
    }
    const child = (await this.find(handle))?.child
    const runs = child !== undefined && isLive(child)
    return { outcome: runs ? 'ATTACHED' : 'RECONNECT_UNAVAILABLE', state: stateOf(child) }
  }

  onDidChange(listener: (handle: ChildHandle) => void): { dispose(): void } {
    let following: { dispose(): void } | undefined
    let disposed = false
    const follow = async (): Promise<void> => {
      const opened = await this.open()
      if (isRefusal(opened) || disposed || following !== undefined) return
      waiting.dispose()
      const { store, secret, session } = opened
      following = store.onDidChange((child) => {
        if (child.parentSession === session) listener(handleOf(child, secret))
      })
    }
    const tryToFollow = (): void => void follow().catch(() => undefined)
    const waiting = this.onMayOpen(tryToFollow)
    tryToFollow()
    return {
      dispose: () => {
        disposed = true
        waiting.dispose()
        following?.dispose()
      },
    }
  }

  /** The child a handle opens, as it is now. */
  private async find(handle: unknown): Promise<{ store: ParentStore; child: Child } | undefined> {
    const opened = await this.open()
    if (isRefusal(opened)) return undefined
    const { store, secret, session } = opened
    const child = childOfHandle(handle, session, secret, (id) => store.child(id))
    return child === undefined ? undefined : { store, child }
  }

  private async open(): Promise<Opened | Refusal> {
    this.opened ??= this.tryOpen().catch((error: unknown) => {
      this.opened = undefined
      throw error
    })
    const opened = await this.opened
    // What was impossible may be possible at the next call.
    if (isRefusal(opened)) this.opened = undefined
    return opened
  }

  private async tryOpen(): Promise<Opened | Refusal> {
    const words = [this.extensionId, this.key]
    if (words.some((word) => typeof word !== 'string' || word === ''))
      return {
        error: { code: 'invalid', message: 'A session needs the id of your extension and a key of your choice.' },
      }
    const opened = await this.openStore()
    if (isRefusal(opened)) return opened
    const session = sessionOfWords(opened.secret, 'extension', words)
    return {
      secret: opened.secret,
      session,
      store: opened.parent(session),
      takeUpLive: () => opened.takeUpLive(),
    }
  }
}

/** The round is over and its result is on disk. A pause does not settle a round. */
function hasSettled(child: Child | undefined): boolean {
  return child !== undefined && !isLive(child) && child.completions.some((done) => done.round === child.round)
}

function stateOf(child: Child | undefined): ChildState {
  if (child === undefined)
    return Object.freeze({
      phase: 'UNKNOWN',
      condition: null,
      round: null,
      attempt: null,
      accepting_steer: false,
      needs: null,
      verdict: null,
      metadata: null,
    })
  return {
    phase: child.phase,
    condition: conditionOf(child),
    round: child.round,
    attempt: currentAttempt(child)?.n ?? null,
    accepting_steer: acceptance(child).accepting,
    needs: needsOf(child),
    verdict: child.verdict?.status ?? null,
    metadata: child.task.metadata ?? null,
  }
}

function deeplyFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deeplyFrozen(member)
  return Object.freeze(value)
}
