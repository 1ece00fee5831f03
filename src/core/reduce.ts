// The one judge: only `reduce` changes a phase, only `endedPhase` judges an end. Total: a fact that does not fit the state
// it meets changes nothing and is counted in `misfits`.
import {
  isLive,
  isPause,
  isSettingUp,
  standingPermissions,
  type Attempt,
  type Child,
  type EndCause,
  type EndedPhase,
  type EndRequest,
  type Report,
  type Steer,
  type SteerState,
} from './child'
import type { ChildEvent, Evidence } from './events'
import { personSession } from './ownership'

/** What an end is judged by. */
export type EndFacts = Pick<
  Attempt,
  'report' | 'endRequest' | 'calledOff' | 'launchedAt' | 'exit' | 'vanished' | 'startFailure'
>

/**
 * How an attempt's end is judged; first match wins. Exit 0 is never a claim after we asked the agent to end, because a
 * report that came later than the request is not in `report` (reduce files it under `conflicts`).
 */
export function endedPhase(attempt: EndFacts): EndedPhase {
  const { report, exit } = attempt
  if (report?.ok === true && !contradicted(attempt)) return 'SUCCESS'
  if (attempt.calledOff) return 'CANCELLED'
  if (attempt.endRequest !== null) return 'INTERRUPTED'
  if (attempt.launchedAt === null) return 'FAILURE'
  if (report?.ok === false) return 'FAILURE'
  if (exit !== null && exit.code !== null && exit.firstCause === null) return 'FAILURE'
  // The keeper ended it by a limit of its own, or somebody else killed it, or it vanished.
  return 'INTERRUPTED'
}

/** An exit that our own ladder did not cause speaks against a claimed success, unless it is a plain 0. */
function contradicted({ exit }: EndFacts): boolean {
  return exit !== null && exit.firstCause === null && exit.code !== 0
}

/** Folds a whole log; undefined when its first fact is not `accepted`. */
export function fold(events: Iterable<ChildEvent>): Child | undefined {
  let child: Child | undefined
  for (const event of events) child = reduce(child, event)
  return child
}

export function reduce(child: Child | undefined, event: ChildEvent): Child | undefined {
  if (child === undefined) return event.type === 'accepted' ? born(event) : undefined
  if (event.seq <= child.lastSeq) return { ...child, misfits: child.misfits + 1 }
  const next = apply(child, event)
  if (next === null) return { ...child, misfits: child.misfits + 1, lastSeq: event.seq }
  return { ...advanceCursor(next, event), lastSeq: event.seq }
}

/** Of a child that neither a verdict, nor another try, nor its own children keep going. */
const nothingAwaited = { verifying: false, verifyingAgain: false, retrying: false, delegating: false } as const

function born(event: ChildEvent & { type: 'accepted' }): Child {
  return {
    id: event.childId,
    delegationId: event.delegationId,
    index: event.index,
    delegated: event.count ?? null,
    parentSession: event.parentSession,
    parentChild: event.parentChild,
    formerParent: null,
    independentCompletions: event.independentCompletions ?? false,
    task: event.task,
    title: event.task.title,
    acceptedAt: event.at,
    liveTranscript: event.liveTranscript,
    phase: 'PENDING',
    paused: false,
    ...nothingAwaited,
    waitingForSlot: false,
    worktree: null,
    setup: null,
    setupPauses: [],
    discarded: false,
    applied: false,
    appliedTo: null,
    takenOver: false,
    attempts: [],
    round: 1,
    sessionId: null,
    steers: [],
    requests: [],
    stopRequest: null,
    conditions: {},
    automaticSteering: false,
    suggestion: null,
    dismissed: null,
    verdict: null,
    verdicts: [],
    parked: null,
    partialAccepted: false,
    completions: [],
    noticed: [],
    notes: [],
    pinned: false,
    archived: false,
    seen: true,
    settledAt: null,
    expiredAt: null,
    cursor: { stdout: 0, stderr: 0 },
    misfits: 0,
    lastSeq: event.seq,
  }
}

function advanceCursor(child: Child, event: ChildEvent): Child {
  if (!('cursor' in event) || event.cursor === undefined) return child
  const { source, end } = event.cursor
  return end > child.cursor[source] ? { ...child, cursor: { ...child.cursor, [source]: end } } : child
}

/** The state after the event, or null when it does not fit. */
function apply(child: Child, event: ChildEvent): Child | null {
  switch (event.type) {
    case 'accepted':
      return null
    case 'slotAwaited':
      return child.phase === 'PENDING' ? { ...child, waitingForSlot: true } : null
    case 'worktreeAdded':
      return applyWorktree(child, event)
    case 'setupStarted':
      return applySetupStarted(child, event)
    case 'setupEnded':
      return applySetupEnded(child, event)
    case 'startFailed':
      return applyStartFailed(child, event)
    case 'launching':
      return applyLaunching(child, event)
    case 'launched':
      return onAttempt(child, event.attempt, (attempt) => {
        if (attempt.launchedAt !== null || attempt.ended !== null) return null
        const launched = { ...attempt, launchedAt: event.at, keeper: event.keeper, agent: event.agent }
        return { ...withAttempt(child, launched), phase: child.phase === 'STARTING' ? 'RUNNING' : child.phase }
      })
    case 'ready':
      return onLive(child, event.attempt, (attempt) => ({
        ...withAttempt(child, {
          ...attempt,
          ready: true,
          steerable: event.steerable,
          model: event.model ?? attempt.model,
          agentVersion: event.agentVersion ?? attempt.agentVersion,
        }),
        sessionId: event.sessionId ?? child.sessionId,
      }))
    case 'turnStarted':
      return onLive(child, event.attempt, (attempt) => {
        if (attempt.turnStarted) return null
        const kind = child.task.recipe.abilities.receipt === 'observed' ? 'observed' : 'agent said'
        const evidence: Evidence = { kind, detail: 'it was part of the turn the agent answered' }
        return {
          ...withAttempt(child, { ...attempt, turnStarted: true }),
          steers: child.steers.map((steer) =>
            steer.carried && steer.attempt === attempt.n && steer.state === 'sent'
              ? moved(moved(steer, 'delivered', event.at, evidence), 'confirmed', event.at, evidence)
              : steer,
          ),
        }
      })
    case 'reported':
      return onLive(child, event.attempt, (attempt) => {
        const report: Report = {
          ok: event.ok,
          summary: event.summary ?? null,
          output: event.output ?? null,
          reason: event.reason ?? null,
          at: event.at,
          late: attempt.endRequest !== null,
          wholeText: event.wholeText ?? null,
        }
        return withAttempt(
          child,
          report.late ? { ...attempt, conflicts: [...attempt.conflicts, report] } : { ...attempt, report },
        )
      })
    case 'used':
      return onLive(child, event.attempt, (attempt) => withAttempt(child, { ...attempt, usage: event.usage }))
    case 'turnsTaken':
      return onLive(child, event.attempt, (attempt) => withAttempt(child, { ...attempt, turns: event.turns }))
    case 'steerQueued': {
      if (child.steers.some((steer) => steer.id === event.steerId)) return null
      const steer: Steer = {
        id: event.steerId,
        text: event.text,
        by: event.by,
        queuedAt: event.at,
        state: 'queued',
        at: event.at,
        evidence: null,
        attempt: null,
        carried: false,
        withdrawal: null,
        reason: null,
        history: [{ state: 'queued', at: event.at, evidence: null }],
      }
      // Queued in the very instant the attempt ended: there is no receiver any more, so it is missed, not lost.
      const late = !receives(child)
      return { ...child, suggestion: null, steers: [...child.steers, late ? moved(steer, 'missed', event.at) : steer] }
    }
    case 'steerEdited':
      return onSteer(child, event.steerId, ['queued', 'missed'], (steer) => ({ ...steer, text: event.text }))
    case 'steersReordered': {
      const waiting = child.steers.filter((steer) => steer.state === 'queued')
      const byId = new Map(waiting.map((steer) => [steer.id, steer]))
      if (event.order.length !== waiting.length || new Set(event.order).size !== waiting.length) return null
      const order = event.order.flatMap((id) => byId.get(id) ?? [])
      if (order.length !== waiting.length) return null
      let next = 0
      return {
        ...child,
        steers: child.steers.map((steer) => (byId.has(steer.id) ? (order[next++] ?? steer) : steer)),
      }
    }
    case 'steerSent':
      return onLive(child, event.attempt, () =>
        onSteer(child, event.steerId, ['queued'], (steer) => ({
          ...moved(steer, 'sent', event.at),
          attempt: event.attempt,
        })),
      )
    case 'steerDelivered':
      return onSteer(child, event.steerId, ['queued', 'sent', 'unknown'], (steer) => ({
        ...moved(steer, 'delivered', event.at, event.evidence),
        attempt: event.attempt,
      }))
    case 'steerConfirmed':
      return onSteer(child, event.steerId, ['delivered'], (steer) =>
        moved(steer, 'confirmed', event.at, event.evidence),
      )
    case 'withdrawalAsked':
      return onSteer(child, event.steerId, ['sent'], (steer) => ({ ...steer, withdrawal: event.by }))
    case 'steerWithdrawn':
      return onSteer(child, event.steerId, ['queued', 'sent', 'missed'], (steer) => moved(steer, 'withdrawn', event.at))
    case 'steerRefused':
      return onSteer(child, event.steerId, ['queued', 'sent'], (steer) => ({
        ...moved(steer, 'refused', event.at),
        reason: event.reason,
      }))
    case 'steerLost':
      return onSteer(child, event.steerId, ['sent'], (steer) => ({
        ...moved(steer, 'unknown', event.at),
        reason: event.reason,
      }))
    case 'asked':
      return onLive(child, event.attempt, (attempt) => {
        if (child.requests.some((request) => request.id === event.requestId)) return null
        const request = {
          id: event.requestId,
          attempt: attempt.n,
          ask: event.ask,
          askedAt: event.at,
          answer: null,
          answeredAt: null,
          note: null,
          revokedAfter: null,
        }
        return { ...child, requests: [...child.requests, request] }
      })
    case 'answered': {
      const request = child.requests.find((r) => r.id === event.requestId)
      if (request === undefined || request.answer !== null) return null
      const answered = { ...request, answer: event.answer, answeredAt: event.at, note: event.note ?? null }
      return { ...child, requests: child.requests.map((r) => (r === request ? answered : r)) }
    }
    case 'permissionRevoked': {
      const request = standingPermissions(child).find((r) => r.id === event.requestId)
      if (request === undefined) return null
      return {
        ...child,
        requests: child.requests.map((r) => (r === request ? { ...r, revokedAfter: event.after } : r)),
      }
    }
    case 'interruptRequested':
      if (event.attempt === undefined) {
        const { setup } = child
        if (setup === null || setup.outcome !== null || setup.endRequest !== null || child.phase !== 'STARTING')
          return null
        return { ...child, setup: { ...setup, endRequest: endRequest(event.cause, event) } }
      }
      return onAttempt(child, event.attempt, (attempt) => {
        if (attempt.ended !== null || attempt.endRequest !== null) return null
        return withAttempt(child, { ...attempt, endRequest: endRequest(event.cause, event) })
      })
    case 'stopRequested':
      return applyStop(child, event)
    case 'closing':
      return onLive(child, event.attempt, (attempt) => withAttempt(child, { ...attempt, closing: true }))
    case 'childrenAwaited':
      return onLive(child, event.attempt, (attempt) => withAttempt(child, { ...attempt, awaitsChildren: true }))
    case 'exited':
      return onAttempt(child, event.attempt, (attempt) =>
        attempt.ended === null && attempt.launchedAt !== null
          ? ended(child, { ...attempt, exit: event.exit, stderrTail: event.stderrTail ?? null }, event.at)
          : null,
      )
    case 'vanished':
      return onAttempt(child, event.attempt, (attempt) =>
        attempt.ended === null ? ended(child, { ...attempt, vanished: event.detail }, event.at) : null,
      )
    case 'verified':
      return applyVerified(child, event)
    case 'condition': {
      const { [event.name]: _former, ...rest } = child.conditions
      if (event.words === null) return { ...child, conditions: rest }
      const until = event.until ?? (event.forMs === undefined ? null : later(event.at, event.forMs))
      return { ...child, conditions: { ...rest, [event.name]: { words: event.words, until } } }
    }
    case 'completionSent':
      if (child.completions.some((completion) => completion.id === event.completionId)) return null
      return {
        ...child,
        completions: [
          ...child.completions,
          { id: event.completionId, round: event.round, at: event.at, acknowledged: false },
        ],
      }
    case 'completionAcknowledged': {
      const known = child.completions.find((completion) => completion.id === event.completionId)
      if (known === undefined || known.acknowledged) return null
      const done = { ...known, acknowledged: true }
      return {
        ...child,
        completions: child.completions.map((completion) => (completion === known ? done : completion)),
      }
    }
    case 'noticeAcknowledged':
      if (child.noticed.includes(event.attempt)) return null
      return { ...child, noticed: [...child.noticed, event.attempt] }
    case 'steeringSwitched':
      return { ...child, automaticSteering: event.on }
    case 'suggested':
      return isLive(child) ? { ...child, suggestion: event.suggestion } : null
    case 'suggestionDismissed': {
      const { suggestion } = child
      const attempt = child.attempts[child.attempts.length - 1]?.n ?? 0
      return suggestion === null ? null : { ...child, suggestion: null, dismissed: { attempt, suggestion } }
    }
    case 'parked': {
      const parked = { ...child, parked: event.reason }
      const ended = child.attempts[child.attempts.length - 1]?.ended ?? null
      return (child.retrying || child.delegating) && ended !== null
        ? settled(parked, ended, event.at, 'missed')
        : parked
    }
    case 'verifyAsked':
      return isLive(child) || child.worktree === null || child.discarded || child.attempts.length === 0
        ? null
        : { ...child, verifyingAgain: true }
    case 'expired':
      return child.settledAt === null ? null : { ...child, expiredAt: event.at }
    case 'partialAccepted':
      return child.settledAt === null || child.verdict === null ? null : { ...child, partialAccepted: true }
    case 'renamed':
      return { ...child, title: event.title }
    case 'flagged':
      return {
        ...child,
        pinned: event.pinned ?? child.pinned,
        archived: event.archived ?? child.archived,
        seen: event.seen ?? child.seen,
      }
    case 'applied':
      return child.worktree === null ? null : { ...child, applied: true, appliedTo: event.branch ?? null }
    case 'takenOver':
      return child.worktree === null || child.takenOver ? null : { ...child, takenOver: true }
    case 'adopted': {
      if (child.parentSession === personSession) return null
      const formerParent = { session: child.parentSession, child: child.parentChild, until: event.at, told: false }
      return { ...child, formerParent, parentSession: personSession, parentChild: null }
    }
    case 'adoptionAcknowledged': {
      const { formerParent } = child
      if (formerParent === null || formerParent.told) return null
      return { ...child, formerParent: { ...formerParent, told: true } }
    }
    case 'discarded':
      return child.worktree === null ? null : { ...child, discarded: true, verifyingAgain: false }
    case 'noted':
      return { ...child, notes: [...child.notes, { at: event.at, level: event.level, text: event.text }] }
  }
}

function applyWorktree(child: Child, event: ChildEvent & { type: 'worktreeAdded' }): Child | null {
  if (child.worktree !== null && !child.discarded) return null
  const { path, cwd, branch, base, notes } = event
  const placed = { ...child, worktree: { path, cwd, branch, base, notes }, discarded: false, waitingForSlot: false }
  return { ...placed, phase: child.phase === 'PENDING' ? 'STARTING' : child.phase }
}

/** As long as no agent has run, a paused or failed setup may be followed by another, which opens the next round. */
function applySetupStarted(child: Child, event: ChildEvent & { type: 'setupStarted' }): Child | null {
  if (child.attempts.length > 0 || child.worktree === null || child.discarded || isSettingUp(child)) return null
  const first = child.phase === 'STARTING' && child.setup === null
  const again = child.setup !== null && (child.paused || child.settledAt !== null)
  if (!first && !again) return null
  const { marker, hash, command, copy, message } = event
  return {
    ...child,
    ...begun(event.round),
    setupPauses: child.setupPauses.map(({ from, to }) => ({ from, to: to ?? event.at })),
    setup: {
      startedAt: event.at,
      marker,
      hash,
      command,
      copy,
      message,
      endRequest: null,
      endedAt: null,
      outcome: null,
      words: null,
      diagnostic: null,
    },
  }
}

function applySetupEnded(child: Child, event: ChildEvent & { type: 'setupEnded' }): Child | null {
  const { setup } = child
  if (setup === null || setup.outcome !== null) return null
  const { outcome, words, diagnostic = null } = event
  const over = { ...child, setup: { ...setup, endedAt: event.at, outcome, words, diagnostic } }
  if (child.phase === 'CANCEL_REQUESTED') return settled(over, 'CANCELLED', event.at, 'withdrawn')
  if (setup.endRequest !== null) {
    const setupPauses = [...child.setupPauses, { from: event.at, to: null }]
    return { ...drain(over, 'missed', event.at), phase: 'INTERRUPTED', paused: true, setupPauses }
  }
  if (outcome === 'done') return over
  return settled(over, 'FAILURE', event.at, 'missed')
}

function applyStartFailed(child: Child, event: ChildEvent & { type: 'startFailed' }): Child | null {
  const failure = { reason: event.reason, diagnostic: event.diagnostic ?? null }
  if (event.attempt !== undefined) {
    return onAttempt(child, event.attempt, (attempt) =>
      attempt.ended === null && attempt.launchedAt === null
        ? ended(child, { ...attempt, startFailure: failure }, event.at)
        : null,
    )
  }
  if (child.attempts.length > 0 || isSettingUp(child)) return null
  if (child.phase !== 'PENDING' && child.phase !== 'STARTING') return null
  return settled(
    { ...child, notes: [...child.notes, { at: event.at, level: 'error', text: event.reason }] },
    'FAILURE',
    event.at,
    'missed',
  )
}

function applyLaunching(child: Child, event: ChildEvent & { type: 'launching' }): Child | null {
  const former = child.attempts[child.attempts.length - 1]
  if (event.attempt !== child.attempts.length + 1) return null
  if (former !== undefined && former.ended === null) return null
  if (child.worktree === null || child.discarded) return null
  if (child.setup !== null && child.setup.outcome !== 'done') return null
  if (event.reason === 'first' && (former !== undefined || child.phase !== 'STARTING')) return null
  if (event.reason === 'retry' && !child.retrying) return null
  if (event.reason === 'wake' && !child.delegating) return null
  if (event.reason === 'resume' && (former === undefined || isLive(child))) return null
  const attempt: Attempt = {
    n: event.attempt,
    round: event.round,
    reason: event.reason,
    sessionId: event.sessionId,
    message: event.message,
    launchingAt: event.at,
    launchedAt: null,
    keeper: null,
    agent: null,
    ready: false,
    steerable: true,
    model: null,
    agentVersion: null,
    turnStarted: false,
    closing: false,
    awaitsChildren: false,
    report: null,
    conflicts: [],
    endRequest: null,
    calledOff: false,
    usage: { inputTokens: 0, outputTokens: 0, costUsd: null },
    turns: 0,
    exit: null,
    vanished: null,
    startFailure: null,
    stderrTail: null,
    endedAt: null,
    ended: null,
  }
  const carried = new Set(event.carried)
  return {
    ...child,
    ...begun(event.round),
    verdict: event.reason === 'retry' ? child.verdict : null,
    sessionId: event.sessionId,
    attempts: [...child.attempts, attempt],
    cursor: { stdout: 0, stderr: 0 },
    steers: child.steers.map((steer) =>
      carried.has(steer.id) && (steer.state === 'missed' || steer.state === 'queued')
        ? { ...moved(steer, 'sent', event.at), attempt: attempt.n, carried: true }
        : steer,
    ),
  }
}

/** What every beginning of an attempt, or of a setup before the first, does away with. */
function begun(round: number) {
  return {
    phase: 'STARTING',
    round,
    paused: false,
    ...nothingAwaited,
    takenOver: false,
    applied: false,
    appliedTo: null,
    partialAccepted: false,
    stopRequest: null,
    parked: null,
    verdict: null,
    settledAt: null,
    expiredAt: null,
  } as const satisfies Partial<Child>
}

function applyStop(child: Child, event: ChildEvent & { type: 'stopRequested' }): Child | null {
  const request = endRequest('stop', event)
  const attempt = child.attempts[child.attempts.length - 1]
  if (attempt !== undefined && attempt.ended === null) {
    const asked = { ...attempt, endRequest: attempt.endRequest ?? request, calledOff: true }
    return { ...withAttempt(child, asked), phase: 'CANCEL_REQUESTED', stopRequest: request }
  }
  const calledOff = { ...child, stopRequest: request }
  if (isSettingUp(child)) return child.phase === 'STARTING' ? { ...calledOff, phase: 'CANCEL_REQUESTED' } : null
  if (child.paused) return settled(calledOff, 'CANCELLED', event.at, 'withdrawn')
  // No process exists: there is no death to wait for.
  if (attempt === undefined) {
    if (child.phase !== 'PENDING' && child.phase !== 'STARTING') return null
    return settled(calledOff, 'CANCELLED', event.at, 'withdrawn')
  }
  if (child.delegating) return settled(calledOff, 'CANCELLED', event.at, 'withdrawn')
  if ((child.verifying || child.retrying) && attempt.ended !== null)
    return settled(calledOff, attempt.ended, event.at, 'withdrawn')
  return null
}

function applyVerified(child: Child, event: ChildEvent & { type: 'verified' }): Child | null {
  const attempt = child.attempts[child.attempts.length - 1]
  if (attempt === undefined || attempt.ended === null || event.verdict.attempt !== attempt.n) return null
  const judged = {
    ...child,
    verifyingAgain: false,
    verdict: event.verdict,
    partialAccepted: false,
    verdicts: [...child.verdicts, event.verdict],
  }
  if (!child.verifying) return judged
  if (event.verdict.disposition === 'retry') return { ...judged, verifying: false, retrying: true }
  return settled(judged, attempt.ended, event.at, 'missed')
}

/** An attempt has ended: judge it, drain the slot in the same step, and settle the round unless something is still due. */
function ended(child: Child, facts: Attempt, at: string): Child {
  const phase = endedPhase(facts)
  const attempt = { ...facts, ended: phase, endedAt: at }
  const drained = drain({ ...withAttempt(child, attempt) }, phase === 'CANCELLED' ? 'withdrawn' : 'missed', at)
  if (isPause(phase, attempt.endRequest)) return { ...drained, phase: 'INTERRUPTED', paused: true }
  if (phase === 'SUCCESS' && attempt.awaitsChildren && !attempt.calledOff)
    return { ...drained, phase: 'RUNNING', delegating: true }
  const verifiable =
    child.task.contract.level !== 'none' &&
    child.worktree !== null &&
    phase !== 'CANCELLED' &&
    attempt.launchedAt !== null
  if (verifiable && !attempt.calledOff) return { ...drained, phase: 'RUNNING', verifying: true }
  return settled(drained, phase, at, 'missed')
}

function settled(child: Child, phase: EndedPhase, at: string, fate: 'missed' | 'withdrawn'): Child {
  return {
    ...drain(child, fate, at),
    phase,
    paused: false,
    ...nothingAwaited,
    waitingForSlot: false,
    settledAt: at,
    seen: false,
  }
}

/**
 * Nobody will read what still waits, and nobody will hear an answer any more. What somebody had asked back is not handed
 * over again.
 */
function drain(child: Child, fate: 'missed' | 'withdrawn', at: string): Child {
  return {
    ...child,
    steers: child.steers.map((steer) =>
      steer.state === 'queued' || steer.state === 'sent'
        ? moved(steer, steer.withdrawal === null ? fate : 'withdrawn', at)
        : steer,
    ),
    requests: child.requests.map((request) =>
      request.answer === null
        ? { ...request, answer: { kind: 'cancelled' as const }, answeredAt: at, note: 'its process ended' }
        : request,
    ),
    conditions: {},
    suggestion: null,
  }
}

/** Whether a queued steer has, or will have, an attempt to go to. */
function receives(child: Child): boolean {
  if (child.phase === 'PENDING') return true
  if (child.delegating) return true
  if (child.phase !== 'STARTING' && child.phase !== 'RUNNING') return false
  const attempt = child.attempts[child.attempts.length - 1]
  return attempt === undefined || attempt.ended === null
}

function endRequest(cause: EndCause, event: ChildEvent & { reason: string; by: EndRequest['by'] }): EndRequest {
  return { cause, reason: event.reason, by: event.by, at: event.at }
}

/** `ms` after an ISO time; null when there is no such time. */
function later(at: string, ms: number): string | null {
  const date = new Date(Date.parse(at) + ms)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

function moved(steer: Steer, state: SteerState, at: string, evidence: Evidence | null = null): Steer {
  return { ...steer, state, at, evidence, history: [...steer.history, { state, at, evidence }] }
}

function withAttempt(child: Child, attempt: Attempt): Child {
  return { ...child, attempts: [...child.attempts.slice(0, -1), attempt] }
}

function onAttempt(child: Child, n: number, change: (attempt: Attempt) => Child | null): Child | null {
  const attempt = child.attempts[child.attempts.length - 1]
  return attempt !== undefined && attempt.n === n ? change(attempt) : null
}

/** What the agent said only counts while its attempt has not ended. */
function onLive(child: Child, n: number, change: (attempt: Attempt) => Child | null): Child | null {
  return onAttempt(child, n, (attempt) =>
    attempt.ended === null && attempt.launchedAt !== null ? change(attempt) : null,
  )
}

function onSteer(child: Child, id: string, from: readonly SteerState[], change: (steer: Steer) => Steer): Child | null {
  const steer = child.steers.find((s) => s.id === id)
  if (steer === undefined || !from.includes(steer.state)) return null
  const next = change(steer)
  return { ...child, steers: child.steers.map((s) => (s === steer ? next : s)) }
}
