// The JSON shapes of list and show, stable and documented; made from a child's fold, memory only.
import {
  acceptance,
  awaitsVerdict,
  currentAttempt,
  isLive,
  isSettingUp,
  openRequests,
  standingPermissions,
  totalUsage,
  type Child,
} from '../core/child'
import type { Verdict } from '../core/events'
import { setupBrief } from '../core/setup'
import type { WorktreeState } from './tools'
import type { ChildView } from './view'
import { worktreeFacts, type WorktreeFacts } from './worktreeFacts'

export interface ListEntry {
  readonly subagent_id: string
  readonly parent_id: string | null
  readonly title: string
  readonly goal: string
  readonly agent: string
  readonly model: string | null
  /** Lower-case word of the phase, e.g. "running". */
  readonly status: string
  readonly phase: Child['phase']
  readonly condition: string | null
  readonly running_seconds: number
  readonly accepting_steer: boolean
  readonly steer_mode: string
  readonly needs: string | null
  readonly last_activity: string | null
  readonly live_transcript: string
  /** There only where nobody speaks for its parent: a person can adopt it. */
  readonly parent_away?: true
}

export interface ListAnswer {
  readonly action: 'list'
  readonly count: number
  readonly subagents: readonly ListEntry[]
  readonly note?: string
}

const emptyNote =
  'No live children. Those that finished have delivered their completion or will; there is nothing to steer. Do not respawn because this list is empty.'

export function listAnswer(
  children: readonly Pick<ChildView, 'child' | 'activity' | 'parentAway'>[],
  now: Date,
): ListAnswer {
  const subagents = children
    .filter(({ child }) => isLive(child) || child.paused)
    .map(({ child, activity, parentAway }) => ({
      ...listEntry(child, activity, now),
      ...(parentAway ? { parent_away: true as const } : {}),
    }))
  return { action: 'list', count: subagents.length, subagents, ...(subagents.length === 0 ? { note: emptyNote } : {}) }
}

export function listEntry(child: Child, activity: string | null, now: Date): ListEntry {
  const attempt = currentAttempt(child)
  const { recipe } = child.task
  return {
    subagent_id: child.id,
    parent_id: child.parentChild,
    title: child.title,
    goal: child.task.goal,
    agent: recipe.agent,
    model: attempt?.model ?? recipe.model ?? null,
    status: child.phase.toLowerCase().replace('_', ' '),
    phase: child.phase,
    condition: conditionOf(child),
    running_seconds: runningSeconds(child, now),
    accepting_steer: acceptance(child).accepting,
    steer_mode: recipe.abilities.steerMode,
    needs: needsOf(child),
    last_activity: isLive(child) ? activity : null,
    live_transcript: child.liveTranscript,
  }
}

/** What qualifies the phase, in a few words; null when nothing does. */
export function conditionOf(child: Child): string | null {
  if (child.takenOver && !isLive(child)) return 'taken over in a terminal'
  if (child.paused) return 'paused'
  if (awaitsVerdict(child)) return 'verifying'
  if (child.setup !== null && isSettingUp(child)) return `setting up: ${setupBrief(child.setup)}`
  if (child.delegating) return 'waiting for its children'
  if (child.retrying || (child.phase === 'RUNNING' && currentAttempt(child)?.reason === 'retry')) return 'retry'
  if (child.waitingForSlot) return 'waiting for a free slot'
  if (child.parked !== null) return `parked: ${child.parked}`
  const named = Object.values(child.conditions).map(({ words, until }) =>
    until === null ? words : `${words}, until ${until}`,
  )
  if (named[0] !== undefined) return named[0]
  return child.suggestion?.action === 'steer' ? `steer? ${child.suggestion.reason}` : null
}

/** Why a person is needed; null when nobody is. */
export function needsOf(child: Child): string | null {
  const open = openRequests(child)[0]
  if (open !== undefined) return open.ask.kind === 'question' ? 'an answer' : 'an approval'
  if (isLive(child) && child.conditions['stuck'] !== undefined) return `a look: ${child.conditions['stuck'].words}`
  if (child.suggestion?.action === 'stop') return `a decision: stop? ${child.suggestion.reason}`
  if (child.verdict?.disposition === 'escalate') return 'a decision: verification escalated'
  if (!isLive(child) && child.steers.some((steer) => steer.state === 'missed')) return 'a look: a steer was missed'
  return null
}

function runningSeconds(child: Child, now: Date): number {
  const attempt = currentAttempt(child)
  if (attempt === undefined) return 0
  const end = attempt.endedAt === null ? now.getTime() : Date.parse(attempt.endedAt)
  return Math.max(0, Math.round((end - Date.parse(attempt.launchingAt)) / 100) / 10)
}

export interface OverlapEntry {
  readonly subagent_id: string
  readonly title: string
  readonly paths: readonly string[]
}

export interface ShowAnswer {
  readonly subagent_id: string
  readonly phase: Child['phase']
  readonly condition: string | null
  readonly attempt: number
  readonly agent: string
  readonly model: string | null
  readonly goal: string
  readonly title: string
  readonly worktree: WorktreeFacts | null
  /** Files it has changed that other children at work have changed too. */
  readonly overlaps: readonly OverlapEntry[]
  readonly accepting_steer: boolean
  readonly steer_mode: string
  readonly needs: string | null
  readonly requests: readonly { readonly request_id: string; readonly kind: string; readonly words: string }[]
  /** What it may go on doing unasked: `input` as it was asked for; the whole tool where there is no command in it. */
  readonly permissions: readonly { readonly request_id: string; readonly tool: string; readonly input: unknown }[]
  readonly steers: readonly {
    readonly steer_id: string
    readonly text: string
    readonly state: string
    readonly at: string
    readonly evidence: string | null
  }[]
  readonly verdict: Verdict | null
  readonly attempts: readonly {
    readonly attempt: number
    readonly round: number
    readonly reason: string
    readonly phase: string
    readonly started_at: string
    readonly ended_at: string | null
  }[]
  readonly tokens: number
  readonly cost_usd: number | null
  readonly live_transcript: string
}

/** `state`: null when there is no worktree or it could not be read. */
export function showAnswer(
  child: Child,
  state: WorktreeState | null,
  overlaps: readonly OverlapEntry[] = [],
): ShowAnswer {
  const attempt = currentAttempt(child)
  const usage = totalUsage(child)
  const { recipe } = child.task
  return {
    subagent_id: child.id,
    phase: child.phase,
    condition: conditionOf(child),
    attempt: attempt?.n ?? 0,
    agent: recipe.agent,
    model: attempt?.model ?? recipe.model ?? null,
    goal: child.task.goal,
    title: child.title,
    worktree: worktreeFacts(child, state),
    overlaps,
    accepting_steer: acceptance(child).accepting,
    steer_mode: recipe.abilities.steerMode,
    needs: needsOf(child),
    requests: openRequests(child).map((request) => ({
      request_id: request.id,
      kind: request.ask.kind,
      words: request.ask.kind === 'question' ? request.ask.question : request.ask.tool,
    })),
    permissions: standingPermissions(child).flatMap(({ id, ask }) =>
      ask.kind === 'approval' ? [{ request_id: id, tool: ask.tool, input: ask.input }] : [],
    ),
    steers: child.steers.map((steer) => ({
      steer_id: steer.id,
      text: steer.text,
      state: steer.state,
      at: steer.at,
      evidence: steer.evidence?.kind ?? null,
    })),
    verdict: child.verdict,
    attempts: child.attempts.map((a) => ({
      attempt: a.n,
      round: a.round,
      reason: a.reason,
      phase: a.ended ?? (a.launchedAt === null ? 'STARTING' : 'RUNNING'),
      started_at: a.launchingAt,
      ended_at: a.endedAt,
    })),
    tokens: usage.inputTokens + usage.outputTokens,
    cost_usd: usage.costUsd,
    live_transcript: child.liveTranscript,
  }
}
