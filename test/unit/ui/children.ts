// Children as folds would leave them, for tests of what is shown: every field has a plain value, a test names only what
// it is about.
import type { Attempt, Child, Request, Steer, SteerState } from '../../../src/core/child'
import type { Recipe, Verdict } from '../../../src/core/events'
import type { ChildView } from '../../../src/supervisor/view'
import { sampleRecipe } from '../core/sample'

/** 12:00:00 UTC and so many seconds. */
export const at = (seconds = 0): string => new Date(Date.parse('2026-03-01T12:00:00Z') + seconds * 1000).toISOString()
export const now = (seconds = 0): number => Date.parse(at(seconds))

export const recipe = (over: Partial<Recipe> = {}): Recipe => ({ ...sampleRecipe, ...over })

export const attempt = (over: Partial<Attempt> = {}): Attempt => ({
  n: 1,
  round: 1,
  reason: 'first',
  sessionId: 's-1',
  message: null,
  launchingAt: at(0),
  launchedAt: at(1),
  keeper: null,
  agent: null,
  ready: true,
  steerable: true,
  model: 'demo-1',
  agentVersion: null,
  turnStarted: true,
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
  ...over,
})

export const steer = (over: Partial<Steer> & { state?: SteerState } = {}): Steer => ({
  id: 'st-1',
  text: 'Open lib/auth.py.',
  by: { kind: 'person' },
  queuedAt: at(10),
  state: 'queued',
  at: at(10),
  evidence: null,
  attempt: null,
  carried: false,
  withdrawal: null,
  reason: null,
  history: [{ state: over.state ?? 'queued', at: at(10), evidence: null }],
  ...over,
})

export const question = (text = 'Which file first?', over: Partial<Request> = {}): Request => ({
  id: 'rq-1',
  attempt: 1,
  ask: { kind: 'question', question: text },
  askedAt: at(20),
  answer: null,
  answeredAt: null,
  note: null,
  revokedAfter: null,
  ...over,
})

export const approval = (tool = 'Bash', input: unknown = { command: 'npm test' }): Request =>
  question('', { ask: { kind: 'approval', tool, input } })

export const verdict = (over: Partial<Verdict> = {}): Verdict => ({
  status: 'verified',
  disposition: 'accept',
  round: 1,
  attempt: 1,
  checks: [],
  notes: [],
  ...over,
})

/** Runs, and has for a minute, unless told otherwise. */
export const child = (over: Partial<Child> = {}): Child => ({
  id: 'c-1',
  delegationId: 'd-1',
  index: 0,
  parentSession: 'person',
  parentChild: null,
  delegated: null,
  formerParent: null,
  independentCompletions: false,
  task: {
    goal: 'Fix the null check in lib/auth.py.',
    title: 'Fix the null check',
    role: 'leaf',
    contract: { level: 'none', maxRetries: 0 },
    recipe: recipe(),
    limits: {
      wallMs: null,
      maxTurns: null,
      maxTokens: null,
      maxCostUsd: null,
      stopGraceMs: 5_000,
      approvalTimeoutMs: null,
      afterWindowCloses: 'keep',
    },
  },
  title: 'Fix the null check',
  acceptedAt: at(0),
  liveTranscript: '/store/c-1/task-0.log',
  phase: 'RUNNING',
  paused: false,
  verifying: false,
  delegating: false,
  waitingForSlot: false,
  worktree: { path: '/w/c-1', cwd: '/w/c-1', branch: 'coxswain/fix-the-null-check', base: 'a'.repeat(40), notes: [] },
  setup: null,
  setupPauses: [],
  discarded: false,
  applied: false,
  appliedTo: null,
  takenOver: false,
  attempts: [attempt()],
  round: 1,
  sessionId: 's-1',
  steers: [],
  requests: [],
  stopRequest: null,
  conditions: {},
  verdict: null,
  verdicts: [],
  retrying: false,
  parked: null,
  verifyingAgain: false,
  partialAccepted: false,
  completions: [],
  automaticSteering: false,
  suggestion: null,
  dismissed: null,
  expiredAt: null,
  noticed: [],
  notes: [],
  pinned: false,
  archived: false,
  seen: true,
  settledAt: null,
  cursor: { stdout: 0, stderr: 0 },
  misfits: 0,
  lastSeq: 1,
  ...over,
})

export const view = (over: Partial<Child> = {}, seen: Partial<Omit<ChildView, 'child'>> = {}): ChildView => ({
  child: child(over),
  activity: null,
  activityAt: null,
  parentAway: false,
  entryCount: 0,
  ...seen,
})

export const ended = (phase: Child['phase'], over: Partial<Child> = {}): Partial<Child> => ({
  phase,
  settledAt: at(60),
  attempts: [attempt({ ended: phase === 'SUCCESS' ? 'SUCCESS' : 'FAILURE', endedAt: at(60) })],
  ...over,
})
