// A sample task and the alphabet of facts the exploration walks over.
import type { ChildEvent, Fact, Recipe, Task } from '../../../src/core/events'

export const sampleRecipe: Recipe = {
  agent: 'demo',
  kind: 'commandLine',
  label: 'Demo agent',
  settings: {},
  autonomy: 'edit',
  abilities: { steerMode: 'at_tool_boundary', receipt: 'agent said', resume: true, approvals: true, cost: true },
}

export function sampleTask(change: Partial<Task> = {}): Task {
  return {
    goal: 'Write the price table',
    title: 'Price table',
    role: 'leaf',
    contract: { level: 'none', maxRetries: 1 },
    recipe: sampleRecipe,
    limits: {
      wallMs: 600_000,
      maxTurns: null,
      maxTokens: null,
      maxCostUsd: null,
      stopGraceMs: 5_000,
      approvalTimeoutMs: null,
      afterWindowCloses: 'keep',
    },
    ...change,
  }
}

export const accepted = (task: Task = sampleTask()): Fact => ({
  type: 'accepted',
  childId: 'c1',
  delegationId: 'd1',
  index: 0,
  parentSession: 'person',
  parentChild: null,
  task,
  liveTranscript: '/store/children/c1/task-0.log',
})

const identity = (pid: number) => ({ pid, startTime: '100', bootId: 'boot' })
const person = { kind: 'person' } as const

/** Every kind of fact that can move a child, for attempt n. */
export function alphabet(n: number) {
  return {
    worktree: { type: 'worktreeAdded', path: '/w', cwd: '/w', branch: 'coxswain/x', base: 'b'.repeat(40), notes: [] },
    startFailed: { type: 'startFailed', attempt: n, reason: 'no program' },
    setup: {
      type: 'setupStarted',
      round: n,
      hash: 'h',
      marker: `c1.setup.${n}`,
      command: ['npm', 'ci'],
      copy: ['.env'],
      message: null,
    },
    setupDone: { type: 'setupEnded', outcome: 'done', words: 'npm ci' },
    setupFailed: { type: 'setupEnded', outcome: 'failed', words: 'Process exited with code 1', diagnostic: 'no disk' },
    setupCalledOff: { type: 'setupEnded', outcome: 'called off', words: '' },
    setupPause: { type: 'interruptRequested', cause: 'interrupt', reason: 'wait', by: person },
    noWorktree: { type: 'startFailed', reason: 'no worktree' },
    first: {
      type: 'launching',
      attempt: n,
      round: n,
      sessionId: 's',
      resume: false,
      carried: [],
      message: null,
      reason: 'first',
    },
    resume: {
      type: 'launching',
      attempt: n,
      round: n,
      sessionId: 's',
      resume: true,
      carried: ['t'],
      message: 'go on',
      reason: 'resume',
    },
    retry: {
      type: 'launching',
      attempt: n,
      round: n,
      sessionId: 's',
      resume: true,
      carried: [],
      message: 'fix',
      reason: 'retry',
    },
    wake: {
      type: 'launching',
      attempt: n,
      round: 1,
      sessionId: 's',
      resume: true,
      carried: ['t'],
      message: 'they are through',
      reason: 'wake',
    },
    awaited: { type: 'childrenAwaited', attempt: n },
    launched: { type: 'launched', attempt: n, keeper: identity(10), agent: identity(11) },
    ready: { type: 'ready', attempt: n, steerable: true },
    turn: { type: 'turnStarted', attempt: n },
    reportOk: { type: 'reported', attempt: n, ok: true, summary: 'done' },
    reportBad: { type: 'reported', attempt: n, ok: false, reason: 'cannot' },
    queue: { type: 'steerQueued', steerId: 't', text: 'look at auth.py', by: person },
    sent: { type: 'steerSent', steerId: 't', attempt: n },
    delivered: { type: 'steerDelivered', steerId: 't', attempt: n, evidence: { kind: 'agent said' } },
    confirmed: { type: 'steerConfirmed', steerId: 't', attempt: n, evidence: { kind: 'observed' } },
    askedBack: { type: 'withdrawalAsked', steerId: 't', by: person },
    withdrawn: { type: 'steerWithdrawn', steerId: 't', by: person },
    asked: { type: 'asked', attempt: n, requestId: 'q', ask: { kind: 'question', question: 'which?' } },
    answered: { type: 'answered', requestId: 'q', answer: { kind: 'text', text: 'that' }, by: person },
    interrupt: { type: 'interruptRequested', attempt: n, cause: 'interrupt', reason: 'wait', by: person },
    timeout: { type: 'interruptRequested', attempt: n, cause: 'timeout', reason: 'over', by: { kind: 'coxswain' } },
    stop: { type: 'stopRequested', reason: 'wrong task', by: person },
    closing: { type: 'closing', attempt: n },
    exit0: { type: 'exited', attempt: n, exit: exit(0, null, null) },
    exit1: { type: 'exited', attempt: n, exit: exit(1, null, null) },
    killed: { type: 'exited', attempt: n, exit: exit(null, 'SIGKILL', null) },
    exitOurs: { type: 'exited', attempt: n, exit: exit(null, 'SIGTERM', 'stop') },
    vanished: { type: 'vanished', attempt: n, detail: 'keeper gone' },
    verifyAsked: { type: 'verifyAsked', by: person },
    verifiedOk: { type: 'verified', verdict: verdict(n, 'accept') },
    verifiedRetry: { type: 'verified', verdict: verdict(n, 'retry') },
  } satisfies Record<string, Fact>
}

function exit(code: number | null, signal: string | null, firstCause: string | null) {
  return { code, signal, firstCause, drained: true, survivors: 0, durationMs: 5 }
}

function verdict(attempt: number, disposition: 'accept' | 'retry') {
  const status = disposition === 'accept' ? ('verified' as const) : ('failed' as const)
  return { status, disposition, round: attempt, attempt, checks: [], notes: [] }
}

/** Gives facts their envelope: consecutive numbers, one second apart. */
export function events(...facts: readonly Fact[]): ChildEvent[] {
  return facts.map((fact, i) => eventAt(fact, i + 1))
}

export function eventAt(fact: Fact, seq: number): ChildEvent {
  return { v: 1, seq, at: new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString(), ...fact }
}
