// The durable facts of a child, past tense, each one line of its events.jsonl. This file owns their shapes and the
// reading of a line; what a fact means is decided in reduce.ts and nowhere else.
import { z } from 'zod'

export const autonomySchema = z.enum(['ask', 'edit', 'autonomous'])
const steerModeSchema = z.enum(['at_tool_boundary', 'next_turn', 'restart', 'none'])
const evidenceSchema = z.object({ kind: z.enum(['observed', 'agent said']), detail: z.string().optional() })

/** Who did it. */
export const actorSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('person') }),
  z.object({ kind: z.literal('parent'), session: z.string() }),
  z.object({ kind: z.literal('policy') }),
  z.object({ kind: z.literal('coxswain') }),
])

export const identitySchema = z.object({ pid: z.number().int().positive(), startTime: z.string(), bootId: z.string() })

/** Milliseconds, dollars and counts; null = no limit. Frozen into the attempt at launch. */
const limitsSchema = z.object({
  wallMs: z.number().positive().nullable(),
  maxTurns: z.number().int().positive().nullable(),
  maxTokens: z.number().int().positive().nullable(),
  maxCostUsd: z.number().positive().nullable(),
  stopGraceMs: z.number().nonnegative(),
  /** How long one that has reported may be silent while something of it still waits or works. */
  idleGraceMs: z.number().positive().optional(),
  approvalTimeoutMs: z.number().positive().nullable(),
  /** What happens when no supervisor has been attached for a while. */
  afterWindowCloses: z.union([z.literal('keep'), z.object({ pauseAfterMs: z.number().positive() })]),
})

/** What the agent is, resolved: resume and recovery need nothing else. Names of variables, never values. */
const recipeSchema = z.object({
  agent: z.string(),
  kind: z.string(),
  label: z.string(),
  version: z.string().optional(),
  executable: z.string().optional(),
  /** The agent's settings as they were at dispatch, per kind. */
  settings: z.record(z.string(), z.unknown()),
  model: z.string().optional(),
  effort: z.string().optional(),
  autonomy: autonomySchema,
  allowedTools: z.array(z.string()).optional(),
  abilities: z.object({
    steerMode: steerModeSchema,
    receipt: z.enum(['observed', 'agent said', 'none']),
    resume: z.boolean(),
    approvals: z.boolean(),
    cost: z.boolean(),
    terminal: z.boolean().optional(),
    revoke: z.boolean().optional(),
  }),
})

const contractRefSchema = z.object({
  level: z.enum(['none', 'light', 'full']),
  hash: z.string().optional(),
  maxRetries: z.number().int().nonnegative(),
  /** Names of its deliverables. */
  deliverables: z.array(z.string()).optional(),
})

const taskSchema = z.object({
  goal: z.string(),
  context: z.string().optional(),
  title: z.string(),
  base: z.string().optional(),
  role: z.enum(['leaf', 'orchestrator']),
  metadata: z.record(z.string(), z.unknown()).optional(),
  contract: contractRefSchema,
  recipe: recipeSchema,
  limits: limitsSchema,
})

const usageSchema = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number().nullable(),
})

const exitSchema = z.object({
  code: z.number().int().nullable(),
  signal: z.string().nullable(),
  /** Why it was asked to end, if it was: the first cause only. */
  firstCause: z.string().nullable(),
  /** Every byte it wrote has been read. */
  drained: z.boolean(),
  /** Processes of its tree that were still alive when the ladder was through. */
  survivors: z.number().int().nonnegative(),
  durationMs: z.number().nonnegative(),
})

const checkResultSchema = z.object({
  check: z.record(z.string(), z.unknown()),
  result: z.enum(['PASS', 'FAIL', 'UNKNOWN']),
  reason: z.string(),
  /** What the report says of the same thing, in its own words; absent where it says nothing. */
  claim: z.string().optional(),
  evidence: z.string().optional(),
  /** A file of the worktree the evidence points at, relative, with an optional line from 1. */
  location: z.object({ path: z.string(), line: z.number().int().positive().optional() }).optional(),
  recoverable: z.boolean(),
  ms: z.number().nonnegative(),
})

const verdictSchema = z.object({
  status: z.enum(['verified', 'failed', 'incomplete', 'parse_error', 'unverified', 'stale']),
  disposition: z.enum(['accept', 'retry', 'partial', 'escalate']),
  round: z.number().int().positive(),
  attempt: z.number().int().positive(),
  checks: z.array(checkResultSchema),
  notes: z.array(z.string()),
  /** Hash of the worktree the checks saw: another one now means that this verdict is out of date. */
  tree: z.string().optional(),
})

export const answerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('text'), text: z.string() }),
  z.object({ kind: z.literal('allow'), scope: z.enum(['once', 'child']) }),
  z.object({ kind: z.literal('deny'), message: z.string() }),
  z.object({ kind: z.literal('cancelled') }),
])

/** Exactly this command; this path outside the worktree; or, with neither, every use of the tool that leaves no worktree. */
const coversSchema = z.object({ command: z.string().optional(), path: z.string().optional() })
export type Covers = z.infer<typeof coversSchema>
const askSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('question'), question: z.string(), options: z.array(z.string()).optional() }),
  z.object({
    kind: z.literal('approval'),
    tool: z.string(),
    input: z.unknown(),
    detail: z.string().optional(),
    /** What is allowed when it is allowed for the whole child; absent where the agent alone knows. */
    covers: coversSchema.optional(),
  }),
])

const attempt = z.number().int().positive()
/** Where in the raw output the fact was read: lets a new supervisor refold without telling it twice. */
const cursor = z.object({ source: z.enum(['stdout', 'stderr']), end: z.number().int().nonnegative() }).optional()

const kinds = [
  z.object({
    type: z.literal('accepted'),
    childId: z.string(),
    delegationId: z.string(),
    index: z.number().int().nonnegative(),
    /** How many children its delegation has; without it as many as there are. */
    count: z.number().int().positive().optional(),
    parentSession: z.string(),
    parentChild: z.string().nullable(),
    independentCompletions: z.boolean().optional(),
    task: taskSchema,
    liveTranscript: z.string(),
  }),
  /** Waits for a free slot; the person chose so. */
  z.object({ type: z.literal('slotAwaited') }),
  z.object({
    type: z.literal('worktreeAdded'),
    path: z.string(),
    cwd: z.string(),
    branch: z.string(),
    base: z.string(),
    notes: z.array(z.string()),
  }),
  /**
   * The worktree is being set up: processes that carry this marker may exist from here on until `setupEnded`. `message` is
   * what was said on resuming a child whose agent has never run.
   */
  z.object({
    type: z.literal('setupStarted'),
    round: z.number().int().positive(),
    /** Of the setup as it was agreed to. */
    hash: z.string(),
    marker: z.string(),
    command: z.array(z.string()).nullable(),
    copy: z.array(z.string()),
    message: z.string().nullable(),
  }),
  /** Nothing of the setup runs any more. */
  z.object({
    type: z.literal('setupEnded'),
    outcome: z.enum(['done', 'failed', 'called off']),
    /** What it did, or why it failed. */
    words: z.string(),
    diagnostic: z.string().optional(),
  }),
  /** The start failed before any process: no worktree, no program. */
  z.object({
    type: z.literal('startFailed'),
    attempt: attempt.optional(),
    reason: z.string(),
    diagnostic: z.string().optional(),
  }),
  z.object({
    type: z.literal('launching'),
    attempt,
    round: z.number().int().positive(),
    sessionId: z.string(),
    resume: z.boolean(),
    /** Steers that ride in this attempt's first turn. */
    carried: z.array(z.string()),
    message: z.string().nullable(),
    reason: z.enum(['first', 'resume', 'retry', 'wake']),
  }),
  z.object({ type: z.literal('launched'), attempt, keeper: identitySchema, agent: identitySchema }),
  z.object({
    type: z.literal('ready'),
    attempt,
    sessionId: z.string().optional(),
    model: z.string().optional(),
    agentVersion: z.string().optional(),
    steerable: z.boolean(),
    cursor,
  }),
  /** The model's first output of this attempt: whatever rode in its prompt has been read. */
  z.object({ type: z.literal('turnStarted'), attempt, cursor }),
  z.object({
    type: z.literal('reported'),
    attempt,
    ok: z.boolean(),
    summary: z.string().optional(),
    output: z.unknown().optional(),
    reason: z.string().optional(),
    /** The file that holds all of a summary too long for the log. */
    wholeText: z.string().optional(),
    cursor,
  }),
  z.object({ type: z.literal('used'), attempt, usage: usageSchema, cursor }),
  /** Turns of its model so far; told where there is a limit to them. */
  z.object({ type: z.literal('turnsTaken'), attempt, turns: z.number().int().positive(), cursor }),
  z.object({ type: z.literal('steerQueued'), steerId: z.string(), text: z.string(), by: actorSchema }),
  z.object({ type: z.literal('steerEdited'), steerId: z.string(), text: z.string(), by: actorSchema }),
  /** The order in which waiting steers will be handed over. */
  z.object({ type: z.literal('steersReordered'), order: z.array(z.string()), by: actorSchema }),
  z.object({ type: z.literal('steerSent'), steerId: z.string(), attempt }),
  z.object({ type: z.literal('steerDelivered'), steerId: z.string(), attempt, evidence: evidenceSchema, cursor }),
  z.object({ type: z.literal('steerConfirmed'), steerId: z.string(), attempt, evidence: evidenceSchema, cursor }),
  /** The agent has it already and was asked to give it back; whether it did is its word, or its end. */
  z.object({ type: z.literal('withdrawalAsked'), steerId: z.string(), by: actorSchema }),
  z.object({ type: z.literal('steerWithdrawn'), steerId: z.string(), by: actorSchema, cursor }),
  z.object({ type: z.literal('steerRefused'), steerId: z.string(), attempt, reason: z.string(), cursor }),
  /** Handed over, and nobody can say any more what became of it. */
  z.object({ type: z.literal('steerLost'), steerId: z.string(), attempt, reason: z.string() }),
  z.object({ type: z.literal('asked'), attempt, requestId: z.string(), ask: askSchema, cursor }),
  z.object({
    type: z.literal('answered'),
    requestId: z.string(),
    answer: answerSchema,
    by: actorSchema,
    note: z.string().optional(),
  }),
  z.object({
    type: z.literal('interruptRequested'),
    /** Absent while its worktree is being set up. */
    attempt: attempt.optional(),
    cause: z.enum(['interrupt', 'timeout', 'budget', 'lease']),
    reason: z.string(),
    by: actorSchema,
  }),
  z.object({ type: z.literal('stopRequested'), reason: z.string(), by: actorSchema }),
  /** The agent has reported and nothing waits: acceptance is closed, its end is being brought about. */
  z.object({ type: z.literal('closing'), attempt }),
  /** An orchestrator's report is not its last word: it goes on with what its own children come to. */
  z.object({ type: z.literal('childrenAwaited'), attempt }),
  z.object({ type: z.literal('exited'), attempt, exit: exitSchema, stderrTail: z.string().optional() }),
  /** Keeper and agent are gone without an exit record. */
  z.object({ type: z.literal('vanished'), attempt, detail: z.string() }),
  z.object({ type: z.literal('verified'), verdict: verdictSchema }),
  z.object({
    type: z.literal('condition'),
    name: z.string(),
    words: z.string().nullable(),
    until: z.string().optional(),
    /** Instead of `until`: how long from the event's own time, in milliseconds. */
    forMs: z.number().nonnegative().optional(),
  }),
  z.object({ type: z.literal('completionSent'), completionId: z.string(), round: z.number().int().positive() }),
  z.object({ type: z.literal('completionAcknowledged'), completionId: z.string() }),
  /** The parent knows that this attempt was paused. */
  z.object({ type: z.literal('noticeAcknowledged'), attempt }),
  /** Whether what the watch suggests is done by itself. */
  z.object({ type: z.literal('steeringSwitched'), on: z.boolean(), by: actorSchema }),
  /** What the watch would do; null: nothing any more. */
  z.object({
    type: z.literal('suggested'),
    suggestion: z
      .object({ action: z.enum(['steer', 'stop']), reason: z.string(), message: z.string().optional() })
      .nullable(),
  }),
  /** A person does not want what is suggested now. */
  z.object({ type: z.literal('suggestionDismissed'), by: actorSchema }),
  z.object({ type: z.literal('parked'), reason: z.string() }),
  /** What was allowed for the whole child is asked for again, where it is wanted beyond this place of stdout, in bytes. */
  z.object({
    type: z.literal('permissionRevoked'),
    requestId: z.string(),
    after: z.number().int().nonnegative(),
    by: actorSchema,
  }),
  /** The checks of work that has ended are to run once more; a verdict follows. */
  z.object({ type: z.literal('verifyAsked'), by: actorSchema }),
  /** Raw output, transcripts and results are removed: kept for `days`. */
  z.object({ type: z.literal('expired'), days: z.number().positive() }),
  /** A person has read a verdict that is no pass and takes the work as partial. */
  z.object({ type: z.literal('partialAccepted'), by: actorSchema }),
  z.object({ type: z.literal('renamed'), title: z.string(), by: actorSchema }),
  z.object({
    type: z.literal('flagged'),
    pinned: z.boolean().optional(),
    archived: z.boolean().optional(),
    seen: z.boolean().optional(),
  }),
  z.object({
    type: z.literal('applied'),
    how: z.enum(['merge', 'squash', 'patch']),
    commit: z.string().optional(),
    /** Where to; absent on a checkout without a branch, and in logs of before it was told. */
    branch: z.string().optional(),
    overridden: z.array(z.string()),
    by: actorSchema,
  }),
  z.object({ type: z.literal('discarded'), what: z.string(), by: actorSchema }),
  /** A person goes on with its session in a terminal. */
  z.object({ type: z.literal('takenOver'), by: actorSchema }),
  /** Its parent is away, and a person has made it their own. */
  z.object({ type: z.literal('adopted'), by: actorSchema }),
  /** The parent it had before knows that it was adopted. */
  z.object({ type: z.literal('adoptionAcknowledged') }),
  /** Something a person must be told that changes no state: a write that failed, a gap, a late terminal. */
  z.object({ type: z.literal('noted'), level: z.enum(['info', 'warning', 'error']), text: z.string() }),
] as const

const factSchema = z.discriminatedUnion('type', kinds)

/** A fact without its envelope: what callers append. */
export type Fact = z.infer<typeof factSchema>

/**
 * The line's envelope: `seq` counts from 1 without a gap, `at` is ISO 8601 UTC, `epoch` is the writing owner's. `more`: the
 * next line belongs to the same append, and neither counts without the other. `durable`: nothing is written after this line
 * before it is on the medium.
 */
const envelopeSchema = z.object({
  v: z.literal(1),
  seq: z.number().int().positive(),
  at: z.string(),
  epoch: z.number().int().nonnegative().optional(),
  more: z.literal(true).optional(),
  durable: z.literal(true).optional(),
})

export type ChildEvent = Readonly<z.infer<typeof envelopeSchema>> & Fact

const eventSchema = z.intersection(envelopeSchema, factSchema)

/** A line of events.jsonl: an event, or why it is none. Unknown kinds are kept by the file and counted by the reader. */
export function readEvent(
  line: string,
): { ok: true; event: ChildEvent } | { ok: false; problem: 'not JSON' | 'unreadable' | 'unknown kind' } {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return { ok: false, problem: 'not JSON' }
  }
  const parsed = eventSchema.safeParse(value)
  if (parsed.success) return { ok: true, event: parsed.data as ChildEvent }
  return { ok: false, problem: envelopeSchema.safeParse(value).success ? 'unknown kind' : 'unreadable' }
}

export type Actor = z.infer<typeof actorSchema>
export type Answer = z.infer<typeof answerSchema>
export type Autonomy = z.infer<typeof autonomySchema>
export type CheckResult = z.infer<typeof checkResultSchema>
export type Evidence = z.infer<typeof evidenceSchema>
export type Exit = z.infer<typeof exitSchema>
export type Limits = z.infer<typeof limitsSchema>
export type ProcessIdentity = z.infer<typeof identitySchema>
export type Recipe = z.infer<typeof recipeSchema>
export type SteerMode = z.infer<typeof steerModeSchema>
export type Task = z.infer<typeof taskSchema>
export type TaskUsage = z.infer<typeof usageSchema>
export type Verdict = z.infer<typeof verdictSchema>
export type AskRecord = z.infer<typeof askSchema>
