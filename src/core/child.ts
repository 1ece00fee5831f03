// What a child is: the fold of its events. Everything a person or parent sees of a child's state is derived from this
// object; nothing here is changed except by reduce.ts.
import type { Actor, Answer, AskRecord, Evidence, Exit, ProcessIdentity, Task, TaskUsage, Verdict } from './events'

/** Closed. Everything else that can be said of a child is a condition. */
export type Phase =
  | 'PENDING'
  | 'STARTING'
  | 'RUNNING'
  | 'CANCEL_REQUESTED'
  | 'SUCCESS'
  | 'FAILURE'
  | 'INTERRUPTED'
  | 'CANCELLED'
  | 'UNKNOWN'

/** The phases an attempt can end in. */
export type EndedPhase = 'SUCCESS' | 'FAILURE' | 'INTERRUPTED' | 'CANCELLED'

export type SteerState = 'queued' | 'sent' | 'delivered' | 'confirmed' | 'missed' | 'withdrawn' | 'refused' | 'unknown'

export interface Steer {
  readonly id: string
  readonly text: string
  readonly by: Actor
  readonly queuedAt: string
  readonly state: SteerState
  /** When the present state began. */
  readonly at: string
  readonly evidence: Evidence | null
  /** The attempt it was handed to, once it was. */
  readonly attempt: number | null
  /** Rides in an attempt's first turn instead of the agent's own channel. */
  readonly carried: boolean
  /** Who asked the agent to give it back unread; null when nobody did. */
  readonly withdrawal: Actor | null
  readonly reason: string | null
  /** Every state it went through, oldest first. */
  readonly history: readonly { readonly state: SteerState; readonly at: string; readonly evidence: Evidence | null }[]
}

export interface Request {
  readonly id: string
  readonly attempt: number
  readonly ask: AskRecord
  readonly askedAt: string
  readonly answer: Answer | null
  readonly answeredAt: string | null
  readonly note: string | null
  /** It was allowed for the whole child, and that was taken back when so many bytes of stdout had been heard; else null. */
  readonly revokedAfter: number | null
}

export type EndCause = 'stop' | 'interrupt' | 'timeout' | 'budget' | 'lease'

export interface EndRequest {
  readonly cause: EndCause
  readonly reason: string
  readonly by: Actor
  readonly at: string
}

export interface Report {
  readonly ok: boolean
  readonly summary: string | null
  readonly output: unknown
  readonly reason: string | null
  readonly at: string
  /** It came after somebody had asked the attempt to end: recorded as a conflict, never a claim. */
  readonly late: boolean
  /** A file beside the results that holds all of a report too long for the log. */
  readonly wholeText: string | null
}

export interface Attempt {
  readonly n: number
  readonly round: number
  readonly reason: 'first' | 'resume' | 'retry' | 'wake'
  readonly sessionId: string
  readonly message: string | null
  readonly launchingAt: string
  readonly launchedAt: string | null
  readonly keeper: ProcessIdentity | null
  readonly agent: ProcessIdentity | null
  readonly ready: boolean
  readonly steerable: boolean
  readonly model: string | null
  readonly agentVersion: string | null
  readonly turnStarted: boolean
  readonly closing: boolean
  /** Its children are at work: what it reports is not its last word. */
  readonly awaitsChildren: boolean
  /** The last report of this attempt that counts. */
  readonly report: Report | null
  readonly conflicts: readonly Report[]
  /** The first request to end it; later ones are only noted. */
  readonly endRequest: EndRequest | null
  /** Somebody called the child off while this attempt was live, first or not. */
  readonly calledOff: boolean
  readonly usage: TaskUsage
  /** Turns of its model; counted only where there is a limit to them. */
  readonly turns: number
  readonly exit: Exit | null
  readonly vanished: string | null
  readonly startFailure: { readonly reason: string; readonly diagnostic: string | null } | null
  readonly stderrTail: string | null
  readonly endedAt: string | null
  readonly ended: EndedPhase | null
}

export interface Worktree {
  readonly path: string
  readonly cwd: string
  readonly branch: string
  /** Full hash. */
  readonly base: string
  readonly notes: readonly string[]
}

/** The latest setting up of its worktree. */
export interface SettingUp {
  readonly startedAt: string
  /** In the environment of every process of it. */
  readonly marker: string
  readonly hash: string
  readonly command: readonly string[] | null
  readonly copy: readonly string[]
  readonly message: string | null
  /** A pause asked for while it runs. */
  readonly endRequest: EndRequest | null
  readonly endedAt: string | null
  readonly outcome: 'done' | 'failed' | 'called off' | null
  readonly words: string | null
  readonly diagnostic: string | null
}

export interface Suggestion {
  readonly action: 'steer' | 'stop'
  readonly reason: string
  /** The steer's text. */
  readonly message?: string | undefined
}

/** The parent a child had before a person adopted it. */
export interface FormerParent {
  readonly session: string
  readonly child: string | null
  /** When the child was adopted. */
  readonly until: string
  /** It knows of the adoption. */
  readonly told: boolean
}

export interface Child {
  readonly id: string
  readonly delegationId: string
  readonly index: number
  /** How many children its delegation was to have; null: as many as there are. */
  readonly delegated: number | null
  readonly parentSession: string
  readonly parentChild: string | null
  /** Null for a child nobody has adopted. */
  readonly formerParent: FormerParent | null
  /** Its parent hears of it as it ends, instead of once per dispatch. */
  readonly independentCompletions: boolean
  readonly task: Task
  readonly title: string
  readonly acceptedAt: string
  readonly liveTranscript: string
  readonly phase: Phase
  /** A pause has been asked for and has taken effect; the round is open. */
  readonly paused: boolean
  readonly verifying: boolean
  /** It has ended, and its checks are to run once more; until their verdict. */
  readonly verifyingAgain: boolean
  /** A failed verdict is about to be answered by another attempt of the same round. */
  readonly retrying: boolean
  /** An orchestrator between its turns: no process, and the round goes on with what its children come to. */
  readonly delegating: boolean
  readonly waitingForSlot: boolean
  readonly worktree: Worktree | null
  /** Null when nothing had to be set up. */
  readonly setup: SettingUp | null
  /** Pauses while its worktree was being set up; `to` is null while one lasts. */
  readonly setupPauses: readonly { readonly from: string; readonly to: string | null }[]
  readonly discarded: boolean
  /** What it did until now; until the next attempt. */
  readonly applied: boolean
  readonly appliedTo: string | null
  /** A person goes on with its session in a terminal; until the next attempt. */
  readonly takenOver: boolean
  readonly attempts: readonly Attempt[]
  readonly round: number
  /** The vendor's session id, once known. */
  readonly sessionId: string | null
  readonly steers: readonly Steer[]
  readonly requests: readonly Request[]
  /** Somebody called the child off; true until a resume. */
  readonly stopRequest: EndRequest | null
  /** Named states beside the phase, e.g. rate limited; words for people. */
  readonly conditions: Readonly<Record<string, { readonly words: string; readonly until: string | null }>>
  /** What the watch suggests is done by itself. */
  readonly automaticSteering: boolean
  /** What the watch would do with it, until it is done or no longer called for. */
  readonly suggestion: Suggestion | null
  /** The last suggestion a person did not want, and of which attempt: it is not made again in that one. */
  readonly dismissed: { readonly attempt: number; readonly suggestion: Suggestion } | null
  readonly verdict: Verdict | null
  /** Every verdict so far, oldest first. */
  readonly verdicts: readonly Verdict[]
  readonly parked: string | null
  /** A person has taken the work as partial; until another attempt or verdict. */
  readonly partialAccepted: boolean
  /** Rounds whose result is on disk, since when, and whether the parent has acknowledged it. */
  readonly completions: readonly {
    readonly id: string
    readonly round: number
    readonly at: string
    readonly acknowledged: boolean
  }[]
  /** Attempts whose pause the parent has acknowledged. */
  readonly noticed: readonly number[]
  readonly notes: readonly {
    readonly at: string
    readonly level: 'info' | 'warning' | 'error'
    readonly text: string
  }[]
  readonly pinned: boolean
  readonly archived: boolean
  readonly seen: boolean
  readonly settledAt: string | null
  /** Since when raw output, transcripts and results of its rounds so far are gone. */
  readonly expiredAt: string | null
  /** Farthest place of the raw output whose facts are in this log, per source, in the present attempt. */
  readonly cursor: { readonly stdout: number; readonly stderr: number }
  /** Facts that did not fit the state they met; they changed nothing. */
  readonly misfits: number
  readonly lastSeq: number
}

/** The attempt at hand: the newest one. */
export function currentAttempt(child: Child): Attempt | undefined {
  return child.attempts[child.attempts.length - 1]
}

/** Called off by Coxswain itself before anything of it began: its dispatch failed, and whoever sent it was told so. */
export function wasTakenBack(child: Child): boolean {
  return child.attempts.length === 0 && child.stopRequest?.by.kind === 'coxswain'
}

/** True from the announcement of a setup until nothing of it runs any more. */
export function isSettingUp(child: Child): boolean {
  return child.setup !== null && child.setup.outcome === null
}

/** True while a process of this child may exist or is about to. */
export function isLive(child: Child): boolean {
  switch (child.phase) {
    case 'PENDING':
    case 'STARTING':
    case 'RUNNING':
    case 'CANCEL_REQUESTED':
      return true
    case 'UNKNOWN':
    case 'SUCCESS':
    case 'FAILURE':
    case 'INTERRUPTED':
    case 'CANCELLED':
      return false
  }
}

/** Whether a steer queued now can still reach the running work, and if not, why, in words for people. */
export type Acceptance = { readonly accepting: true } | { readonly accepting: false; readonly why: string }

export function acceptance(child: Child): Acceptance {
  const no = (why: string): Acceptance => ({ accepting: false, why })
  if (child.discarded && !isLive(child)) return no('its worktree was discarded')
  switch (child.phase) {
    case 'PENDING':
      return { accepting: true }
    case 'STARTING':
    case 'RUNNING':
      break
    case 'CANCEL_REQUESTED':
      return no('it is being stopped')
    case 'INTERRUPTED':
      return no(
        child.paused ? 'it is paused; resume it with your message' : 'it was interrupted; resume it with your message',
      )
    case 'SUCCESS':
    case 'FAILURE':
    case 'CANCELLED':
      return no(
        child.worktree === null ? 'it never started; start a new one' : 'it has ended; resume it with your message',
      )
    case 'UNKNOWN':
      return no('it cannot be seen at the moment')
  }
  if (child.verifying) return no('its work is being verified')
  if (child.delegating) return { accepting: true }
  const attempt = currentAttempt(child)
  if (isSettingUp(child) && child.setup?.endRequest) return no('it is being paused')
  if (attempt === undefined || attempt.launchedAt === null) return { accepting: true }
  if (attempt.endRequest !== null) return no('it is being paused')
  if (attempt.closing || attempt.ended !== null) return no('it is finishing')
  const mode = child.task.recipe.abilities.steerMode
  if (mode === 'none' || mode === 'restart')
    return no(`${child.task.recipe.label} cannot be steered while it runs; interrupt and resume it instead`)
  if (!attempt.ready) return { accepting: true }
  if (!attempt.steerable) return no('this process does not take steers; interrupt and resume it instead')
  return { accepting: true }
}

/** A pause leaves the round open; every other end settles it. */
export function isPause(ended: EndedPhase | null, request: EndRequest | null): boolean {
  return ended === 'INTERRUPTED' && (request?.cause === 'interrupt' || request?.cause === 'lease')
}

/** Steers that wait for their hand-over or their proof. */
export function waitingSteers(child: Child): readonly Steer[] {
  return child.steers.filter((steer) => steer.state === 'queued' || steer.state === 'sent')
}

/** Its checks are running, or are to run: at the end of a round, or once more. */
export function awaitsVerdict(child: Child): boolean {
  return child.verifying || child.verifyingAgain
}

/** Something is still to come of it by itself: an end, a verdict, or the result of its round. */
export function isUnfinished(child: Child): boolean {
  return isLive(child) || lacksResult(child) || child.verifyingAgain
}

/** A round has settled and its result is not written yet. */
export function lacksResult(child: Child): boolean {
  return child.settledAt !== null && !child.completions.some((completion) => completion.round === child.round)
}

/** Ended at once so often in so short a time is no work any more. */
const loopAttempts = 5
const loopMs = 10_000

/** The last five attempts of this round ran ten seconds together at most, by their keepers' clocks, which nobody can set. */
export function crashLoop(child: Child): boolean {
  const last = child.attempts.filter(({ round }) => round === child.round).slice(-loopAttempts)
  if (last.length < loopAttempts || last.some(({ ended }) => ended === null)) return false
  return last.reduce((sum, { exit }) => sum + (exit?.durationMs ?? 0), 0) <= loopMs
}

/** Steers the former attempt never read; they ride with the next resume, in order. */
export function missedSteers(child: Child): readonly Steer[] {
  return child.steers.filter((steer) => steer.state === 'missed')
}

/** Requests nobody has answered yet. */
export function openRequests(child: Child): readonly Request[] {
  return child.requests.filter((request) => request.answer === null)
}

/** What its process may go on doing unasked, because it was allowed once for the whole child. */
export function standingPermissions(child: Child): readonly Request[] {
  const attempt = currentAttempt(child)
  if (attempt === undefined || attempt.ended !== null) return []
  return child.requests.filter(
    ({ attempt: n, answer, revokedAfter }) =>
      n === attempt.n && answer?.kind === 'allow' && answer.scope === 'child' && revokedAfter === null,
  )
}

/** The standing permissions that cover what this one covers, itself among them. */
export function samePermissions(child: Child, requestId: string): readonly Request[] {
  const standing = standingPermissions(child)
  const wanted = standing.find(({ id }) => id === requestId)
  if (wanted === undefined) return []
  const key = coverage(wanted.ask)
  return standing.filter(({ ask }) => coverage(ask) === key)
}

const coverage = (ask: AskRecord): string =>
  ask.kind === 'approval' ? JSON.stringify([ask.tool, ask.covers ?? null]) : ''

/** Tokens and money over all attempts. */
export function totalUsage(child: Child): TaskUsage {
  let inputTokens = 0
  let outputTokens = 0
  let costUsd: number | null = null
  for (const { usage } of child.attempts) {
    inputTokens += usage.inputTokens
    outputTokens += usage.outputTokens
    if (usage.costUsd !== null) costUsd = (costUsd ?? 0) + usage.costUsd
  }
  return { inputTokens, outputTokens, costUsd }
}
