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
import { handleOf, openedBy } from '../supervisor/handles'
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

/** One repository's store as this session has it. */
interface Opened {
  readonly door: ParentsDoor
  readonly secret: StoreSecret
  readonly session: string
  readonly store: ParentStore
}

type Found = { readonly opened: Opened; readonly child: Child } | { readonly why: Refused['error'] }

/**
 * `open` answers with the store of the repository that is shown now, or with a refusal as long as there is none to be
 * had, e.g. in a folder that is not trusted; `onMayOpen` tells when that may have changed.
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
  /** Every store it has seen, by its session there: what it launched in a repository stays there. */
  private readonly opened = new Map<string, Opened>()
  private readonly results = new Map<string, RoundResult>()

  constructor(
    private readonly openShown: () => Promise<ParentsDoor | Refusal>,
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
    const { door, secret, session, store } = opened
    door.hold()
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
    return stateOf(await this.find(handle))
  }

  async wait(handle: unknown, timeoutMs: number): Promise<Waited> {
    if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > longestWaitMs)
      throw new RangeError(`timeoutMs is ${timeoutMs}; it must be a whole number from 1 to ${longestWaitMs}.`)
    const found = await this.find(handle)
    if ('why' in found) return { completed: false, timed_out: false, state: stateOf(found) }
    const { store } = found.opened
    await store.until(() => hasSettled(store.child(found.child.id)), AbortSignal.timeout(timeoutMs))
    const now = this.asItIs(handle, found.opened)
    const completed = 'child' in now && hasSettled(now.child)
    return { completed, timed_out: !completed, state: stateOf(now) }
  }

  async cancel(
    handle: unknown,
    reason: string,
  ): Promise<'accepted' | 'already_terminal' | 'unknown_handle' | 'unsupported'> {
    const found = await this.find(handle)
    if ('why' in found) return found.why.code === unknownChild.code ? 'unknown_handle' : 'unsupported'
    const { store } = found.opened
    const answer = await store.commands.stop({
      subagent_id: found.child.id,
      reason: String(reason).slice(0, 2_000),
    })
    await store.caughtUp()
    if (!isRefusal(answer)) return 'accepted'
    return answer.error.code === 'finished' ? 'already_terminal' : 'unsupported'
  }

  async result(handle: unknown, round?: number): Promise<RoundResult> {
    const found = await this.find(handle)
    if ('why' in found) return { ready: false, phase: 'UNKNOWN' }
    const { child } = found
    const { store } = found.opened
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
    if ('why' in found) return { error: found.why }
    const { commands } = found.opened.store
    const answer = await commands.steer({ subagent_id: found.child.id, message: String(message) })
    return isRefusal(answer) ? answer : { status: answer.status, steer_id: answer.steer_id }
  }

  async resume(handle: unknown, message?: string): Promise<Resumed | Refused> {
    const found = await this.find(handle)
    if ('why' in found) return { error: found.why }
    const { store } = found.opened
    const said = message === undefined ? {} : { message: String(message) }
    const answer = await store.commands.resume({ subagent_id: found.child.id, ...said })
    if (isRefusal(answer)) return answer
    await store.caughtUp()
    return { status: answer.status, attempt: answer.attempt }
  }

  async reconnect(handle: unknown): Promise<Reconnected> {
    const found = await this.find(handle)
    if ('why' in found) return { outcome: 'RECONNECT_UNAVAILABLE', state: stateOf(found) }
    await found.opened.door.takeUpLive()
    await found.opened.store.caughtUp()
    const now = this.asItIs(handle, found.opened)
    const runs = 'child' in now && isLive(now.child)
    return { outcome: runs ? 'ATTACHED' : 'RECONNECT_UNAVAILABLE', state: stateOf(now) }
  }

  onDidChange(listener: (handle: ChildHandle) => void): { dispose(): void } {
    const following = new Map<Opened, { dispose(): void }>()
    let disposed = false
    const follow = async (): Promise<void> => {
      const opened = await this.open()
      if (isRefusal(opened) || disposed || following.has(opened)) return
      const { store, secret, session } = opened
      following.set(
        opened,
        store.onDidChange((child) => {
          if (child.parentSession === session) listener(handleOf(child, secret))
        }),
      )
    }
    const tryToFollow = (): void => void follow().catch(() => undefined)
    // Also once it follows: another repository may be shown later, and children launched there.
    const waiting = this.onMayOpen(tryToFollow)
    tryToFollow()
    return {
      dispose: () => {
        disposed = true
        waiting.dispose()
        for (const each of following.values()) each.dispose()
      },
    }
  }

  /** The child a handle opens, as it is now, in whichever repository it was launched; or why it opens none. */
  private async find(handle: unknown): Promise<Found> {
    // Refused or not: what is open already still answers.
    await this.open()
    let why: Refused['error'] = unknownChild
    for (const opened of this.opened.values()) {
      const found = this.asItIs(handle, opened)
      if ('child' in found) {
        opened.door.hold()
        return found
      }
      if (found.why.code !== unknownChild.code) why = found.why
    }
    return { why }
  }

  private asItIs(handle: unknown, opened: Opened): Found {
    const id = openedBy(handle, opened.session, opened.secret)
    if (id === undefined) return { why: unknownChild }
    const child = opened.store.child(id)
    return child?.parentSession === opened.session ? { opened, child } : { why: opened.store.whyNot(id) }
  }

  /** Of the repository that is shown now. */
  private async open(): Promise<Opened | Refusal> {
    const words = [this.extensionId, this.key]
    if (words.some((word) => typeof word !== 'string' || word === ''))
      return {
        error: { code: 'invalid', message: 'A session needs the id of your extension and a key of your choice.' },
      }
    const door = await this.openShown()
    if (isRefusal(door)) return door
    const { secret } = door
    const session = sessionOfWords(secret, 'extension', words)
    const known = this.opened.get(session)
    if (known?.door === door) return known
    const opened = { door, secret, session, store: door.parent(session) }
    this.opened.set(session, opened)
    return opened
  }
}

/** The round is over and its result is on disk. A pause does not settle a round. */
function hasSettled(child: Child | undefined): boolean {
  return child !== undefined && !isLive(child) && child.completions.some((done) => done.round === child.round)
}

function stateOf(found: Found): ChildState {
  if ('why' in found)
    return Object.freeze({
      phase: 'UNKNOWN',
      condition: found.why.code === 'adopted' ? 'adopted' : null,
      round: null,
      attempt: null,
      accepting_steer: false,
      needs: null,
      verdict: null,
      metadata: null,
    })
  const { child } = found
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
