// The wishes anyone can have of the supervisor and the answers they get: one shape for panel, palette, delegate_task,
// lifecycle API, command line and the owner's socket. Schemas here are the edge: past them nothing is re-checked.
import { z } from 'zod'
import { CONTEXT_MAX, type Refused } from '../core/decide'

import { answerSchema } from '../core/events'
import { setupRequestSchema, type SetupRequest } from '../core/setup'

export { CONTEXT_MAX, GOAL_MAX, STEER_MAX, type RefusalCode } from '../core/decide'

/** A wish declined, with a reason a person can act on. */
export interface Refusal {
  readonly error: Refused
}

export const taskRequestSchema = z.strictObject({
  goal: z.string(),
  context: z.string().max(CONTEXT_MAX).optional(),
  agent: z.string().optional(),
  model: z.string().optional(),
  effort: z.string().optional(),
  title: z.string().optional(),
  base: z.string().optional(),
  role: z.enum(['leaf', 'orchestrator']).optional(),
  allowed_tools: z.array(z.string()).optional(),
  autonomy: z.enum(['ask', 'edit', 'autonomous']).optional(),
  /** The dispatcher's own notes: kept with the child and told to nobody else. */
  metadata: z.record(z.string(), z.unknown()).optional(),
  /** Parsed against the contract's own schema by the supervisor. */
  contract: z.unknown().optional(),
  limits: z
    .strictObject({
      timeout_seconds: z.number().nonnegative().optional(),
      max_turns: z.number().int().positive().optional(),
      max_tokens: z.number().int().positive().optional(),
      max_cost_usd: z.number().positive().optional(),
    })
    .optional(),
})
export type TaskRequest = z.infer<typeof taskRequestSchema>

export const spawnRequestSchema = z.strictObject({
  tasks: z.array(taskRequestSchema).min(1),
  independent_completions: z.boolean().optional(),
  /** The sender's id for this dispatch: the same id twice is one dispatch. */
  dispatch_id: z
    .string()
    .regex(/^[a-z0-9]{6,40}$/)
    .optional(),
  /** A person at the panel may wait for a free slot instead of being refused. */
  when_full: z.enum(['refuse', 'wait']).optional(),
})
export type SpawnRequest = z.infer<typeof spawnRequestSchema>

export interface DispatchAnswer {
  readonly status: 'dispatched'
  readonly mode: 'background'
  readonly count: number
  readonly delegation_id: string
  readonly goals: readonly string[]
  readonly subagent_ids: readonly string[]
  readonly control_hint: string
  readonly live_transcripts: readonly string[]
  /** What is not as it was asked for. */
  readonly notes?: readonly string[]
}

export const steerRequestSchema = z.strictObject({
  subagent_id: z.string(),
  message: z.string(),
  /** The caller's id for this steer: the same id twice is one steer. */
  steer_id: z.string().optional(),
})
const editSteerRequestSchema = z.strictObject({
  subagent_id: z.string(),
  steer_id: z.string(),
  message: z.string(),
})
const withdrawSteerRequestSchema = z.strictObject({ subagent_id: z.string().optional(), steer_id: z.string() })
const reorderSteersRequestSchema = z.strictObject({ subagent_id: z.string(), order: z.array(z.string()) })
export const endRequestSchema = z.strictObject({ subagent_id: z.string(), reason: z.string().max(2_000).optional() })
export const resumeRequestSchema = z.strictObject({ subagent_id: z.string(), message: z.string().optional() })
const answerRequestSchema = z.strictObject({
  subagent_id: z.string().optional(),
  request_id: z.string(),
  answer: answerSchema,
})
const revokeRequestSchema = z.strictObject({ subagent_id: z.string(), request_id: z.string() })
const flagRequestSchema = z.strictObject({
  subagent_id: z.string(),
  title: z.string().optional(),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional(),
  seen: z.boolean().optional(),
})
const discardRequestSchema = z.strictObject({
  subagent_id: z.string(),
  /** What would be lost, as a refusal named it under `confirm`. */
  confirmed: z.string().max(200).optional(),
  /** Whatever would be lost. */
  force: z.boolean().optional(),
})

const verifyRequestSchema = z.strictObject({ subagent_id: z.string() })
const takeOverRequestSchema = z.strictObject({ subagent_id: z.string() })
const adoptRequestSchema = z.strictObject({ subagent_id: z.string() })
const automateRequestSchema = z.strictObject({ subagent_id: z.string(), on: z.boolean() })
const applySuggestionRequestSchema = z.strictObject({ subagent_id: z.string() })
const dismissSuggestionRequestSchema = z.strictObject({ subagent_id: z.string() })
const acceptPartialRequestSchema = z.strictObject({ subagent_id: z.string() })
const retryRequestSchema = z.strictObject({ subagent_id: z.string() })
const applyRequestSchema = z.strictObject({
  subagent_id: z.string(),
  how: z.enum(['merge', 'squash', 'patch']).optional(),
  /** What did not pass and is applied all the same, by name. */
  override: z.array(z.string()).optional(),
  message: z.string().max(10_000).optional(),
})

/** Completions and notices by their ids: what a parent has taken in need not be told again. */
const acknowledgeRequestSchema = z.strictObject({
  completion_ids: z.array(z.string().max(10_000)).max(1_000),
})

export interface SetupAnswer {
  readonly action: 'setup'
  readonly status: 'set' | 'cleared'
  /** Of what was agreed to; null when nothing is set up any more. */
  readonly hash: string | null
  readonly note: string
}

export interface SteerAnswer {
  readonly action: 'steer'
  readonly subagent_id: string
  readonly steer_id: string
  readonly status: 'queued'
  readonly note: string
}
export interface EndAnswer {
  readonly action: 'stop' | 'interrupt'
  readonly subagent_id: string
  readonly status: 'interrupt_requested'
  readonly note: string
}
export interface ResumeAnswer {
  readonly action: 'resume'
  readonly subagent_id: string
  readonly status: 'resuming'
  readonly attempt: number
  readonly carried_steers: readonly string[]
  readonly note: string
}
export interface DoneAnswer {
  readonly action:
    | 'edit'
    | 'withdraw'
    | 'reorder'
    | 'answer'
    | 'revoke'
    | 'flag'
    | 'verify'
    | 'accept'
    | 'adopt'
    | 'automate'
    | 'suggestion'
  readonly subagent_id: string
  readonly status: 'done'
  readonly note: string
}
export interface DiscardAnswer {
  readonly action: 'discard'
  readonly subagent_id: string
  readonly status: 'discarded' | 'absent'
  readonly note: string
}

export interface ApplyAnswer {
  readonly action: 'apply'
  readonly subagent_id: string
  readonly status: 'applied'
  readonly how: 'merge' | 'squash' | 'patch'
  /** Null for a patch, which is staged and not committed. */
  readonly commit: string | null
  readonly branch: string | null
  readonly note: string
}

export interface AcknowledgeAnswer {
  readonly action: 'acknowledge'
  readonly status: 'done'
  /** Of the given ids, those that were told to this caller; the others changed nothing. */
  readonly acknowledged: readonly string[]
}

export interface TakeOverAnswer {
  readonly action: 'takeOver'
  readonly subagent_id: string
  /** pausing: its process has been asked to end; the command may be run once it has. */
  readonly status: 'ready' | 'pausing'
  readonly cwd: string
  /** What to type, in any folder. */
  readonly command: string
  readonly note: string
}

/** Every acting command. None of them waits for a child; all may be refused. */
export interface Commands {
  spawn(request: SpawnRequest): Promise<DispatchAnswer | Refusal>
  steer(request: z.infer<typeof steerRequestSchema>): Promise<SteerAnswer | Refusal>
  editSteer(request: z.infer<typeof editSteerRequestSchema>): Promise<DoneAnswer | Refusal>
  withdrawSteer(request: z.infer<typeof withdrawSteerRequestSchema>): Promise<DoneAnswer | Refusal>
  reorderSteers(request: z.infer<typeof reorderSteersRequestSchema>): Promise<DoneAnswer | Refusal>
  stop(request: z.infer<typeof endRequestSchema>): Promise<EndAnswer | Refusal>
  interrupt(request: z.infer<typeof endRequestSchema>): Promise<EndAnswer | Refusal>
  resume(request: z.infer<typeof resumeRequestSchema>): Promise<ResumeAnswer | Refusal>
  answer(request: z.infer<typeof answerRequestSchema>): Promise<DoneAnswer | Refusal>
  /** Takes back what was allowed for the whole child: it is asked for again. */
  revoke(request: z.infer<typeof revokeRequestSchema>): Promise<DoneAnswer | Refusal>
  flag(request: z.infer<typeof flagRequestSchema>): Promise<DoneAnswer | Refusal>
  discard(request: z.infer<typeof discardRequestSchema>): Promise<DiscardAnswer | Refusal>
  /** Runs the checks again; the new verdict shows in the child. */
  verify(request: z.infer<typeof verifyRequestSchema>): Promise<DoneAnswer | Refusal>
  /** Gives the child's session to a person at a terminal; resume takes it back. */
  takeOver(request: z.infer<typeof takeOverRequestSchema>): Promise<TakeOverAnswer | Refusal>
  /** Makes a child whose parent is away the person's own. */
  adopt(request: z.infer<typeof adoptRequestSchema>): Promise<DoneAnswer | Refusal>
  /** Takes work that did not pass as partial: usable, marked, and no longer waiting for a person. */
  acceptPartial(request: z.infer<typeof acceptPartialRequestSchema>): Promise<DoneAnswer | Refusal>
  /** Resumes it with exactly what its verdict found wrong. */
  retry(request: z.infer<typeof retryRequestSchema>): Promise<ResumeAnswer | Refusal>
  /** Brings the child's work into the branch that is checked out in the repository. */
  apply(request: z.infer<typeof applyRequestSchema>): Promise<ApplyAnswer | Refusal>
  /** Whether what the watch suggests is done by itself. */
  automate(request: z.infer<typeof automateRequestSchema>): Promise<DoneAnswer | Refusal>
  /** Does what the watch suggests for this child now. */
  applySuggestion(request: z.infer<typeof applySuggestionRequestSchema>): Promise<DoneAnswer | Refusal>
  /** Takes the suggestion away; the same one is not made again in this attempt. */
  dismissSuggestion(request: z.infer<typeof dismissSuggestionRequestSchema>): Promise<DoneAnswer | Refusal>
  /** Of the caller's own delegations only; twice is once. */
  acknowledge(request: z.infer<typeof acknowledgeRequestSchema>): Promise<AcknowledgeAnswer | Refusal>
  /** How new worktrees of this repository are set up: a person's to say, nobody else's. */
  setup(request: SetupRequest): Promise<SetupAnswer | Refusal>
}

export function isRefusal(answer: object): answer is Refusal {
  return 'error' in answer
}

/** The request of each command, for whoever takes one from outside. */
export const requestSchemas = {
  spawn: spawnRequestSchema,
  steer: steerRequestSchema,
  editSteer: editSteerRequestSchema,
  withdrawSteer: withdrawSteerRequestSchema,
  reorderSteers: reorderSteersRequestSchema,
  stop: endRequestSchema,
  interrupt: endRequestSchema,
  resume: resumeRequestSchema,
  answer: answerRequestSchema,
  flag: flagRequestSchema,
  discard: discardRequestSchema,
  verify: verifyRequestSchema,
  adopt: adoptRequestSchema,
  revoke: revokeRequestSchema,
  acceptPartial: acceptPartialRequestSchema,
  retry: retryRequestSchema,
  apply: applyRequestSchema,
  takeOver: takeOverRequestSchema,
  acknowledge: acknowledgeRequestSchema,
  automate: automateRequestSchema,
  applySuggestion: applySuggestionRequestSchema,
  dismissSuggestion: dismissSuggestionRequestSchema,
  setup: setupRequestSchema,
} as const satisfies { [K in keyof Commands]: z.ZodType<Parameters<Commands[K]>[0]> }

export type CommandName = keyof Commands
export const commandNames = Object.keys(requestSchemas) as CommandName[]

/** An answer of any command. */
export type CommandAnswer = Awaited<ReturnType<Commands[CommandName]>>

/** What is wrong with a request, naming the key. */
export function invalidRequest(error: z.ZodError): Refusal {
  const words = error.issues.map((issue) => {
    const place = issue.path.map(String).join('.')
    if (issue.code === 'unrecognized_keys')
      return `${place === '' ? '' : `${place}: `}unknown ${issue.keys.length === 1 ? 'key' : 'keys'} ${issue.keys.join(', ')}`
    return place === '' ? issue.message : `${place}: ${issue.message}`
  })
  return { error: { code: 'invalid', message: `The request cannot be used: ${words.join('; ')}.` } }
}
