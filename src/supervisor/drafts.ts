// What a dispatch would make, before anything exists: everything that can be refused is refused here, in one sentence, and
// what was asked for becomes the tasks that are recorded.
import type { AgentsSettings } from '../agents/registry'
import type { Child } from '../core/child'
import { contractRef, freezeContract, type FrozenContract } from '../core/contract'
import { CONTEXT_MAX, decideBatchGoals, decideText, GOAL_MAX, unknownChild } from '../core/decide'
import type { Autonomy, Limits, Recipe, Task } from '../core/events'
import type { Caller } from '../core/ownership'
import { plainLine } from '../core/plainText'
import { decideFreedom, decideHandedOn, decideOwnDispatch, depthOf, roleAt, type SpawnLimits } from '../core/spawnTree'
import { contractFromValue } from '../verification/contractText'
import type { Refusal, SpawnRequest, TaskRequest } from './commands'
import type { Problem } from './problem'

export interface DraftSources {
  readonly settings: {
    readonly defaultAgent: string
    /** The most any parent agent may ask for. */
    readonly autonomy: Autonomy
    readonly limits: Limits
    readonly spawn: SpawnLimits
  }
  /** A child as it stands. */
  readonly known: (id: string) => Child | undefined
  /** The agent as installed, with everything a resume will need, or why it cannot be used. */
  readonly recipe: (request: TaskRequest, agentId: string, callersAgents: AgentsSettings) => Promise<Recipe | Problem>
  /** Why nothing can be started from these bases in this repository now; undefined when it can. */
  readonly repositoryProblem: (bases: readonly string[]) => Promise<string | undefined>
  readonly hash: (text: string) => string
  /** Takes the secrets of this agent out of a text. */
  readonly redactFor: (recipe: Recipe) => (text: string) => string
}

export interface Draft {
  /** What is not as it was asked for. */
  readonly note: string | null
  readonly task: Task
  readonly contract: FrozenContract
}

/** Everything about a dispatch that can be refused, before anything exists. */
export async function draft(
  request: SpawnRequest,
  caller: Caller,
  agents: AgentsSettings,
  from: DraftSources,
): Promise<Draft[] | Refusal> {
  const { settings, known } = from
  const above = caller.kind === 'parent' && caller.child !== undefined ? known(caller.child) : null
  if (above === undefined) return { error: unknownChild }
  const mayNot = above === null ? null : decideOwnDispatch(above, known, settings.spawn)
  if (mayNot !== null) return { error: mayNot }
  const depth = above === null ? 1 : depthOf(above, known) + 1
  const refusedBatch = decideBatchGoals(request.tasks.map((task) => task.goal))
  if (refusedBatch !== null) return { error: refusedBatch }
  const drafts: Draft[] = []
  for (const [i, task] of request.tasks.entries()) {
    const at = request.tasks.length === 1 ? '' : ` of task ${i + 1}`
    const refused =
      decideText(`goal${at}`, task.goal, GOAL_MAX) ??
      (task.context === undefined || task.context.trim() === ''
        ? null
        : decideText(`context${at}`, task.context, CONTEXT_MAX))
    if (refused !== null) return { error: refused }
    const reading = contractFromValue(task.contract)
    if (!reading.ok)
      return {
        error: { code: 'invalid', message: `The contract${at} cannot be used: ${reading.problems.join('; ')}.` },
      }
    const asked = above === null ? task : { ...handedOn(above.task.recipe), ...task }
    const recipe = await from.recipe(asked, task.agent ?? settings.defaultAgent, agents)
    if ('message' in recipe) return { error: { code: 'unknown_agent', message: recipe.message } }
    const tooMuch =
      above !== null
        ? decideHandedOn(above, recipe.autonomy, recipe.allowedTools)
        : caller.kind === 'parent'
          ? decideFreedom(recipe.autonomy, settings.autonomy)
          : null
    if (tooMuch !== null) return { error: tooMuch }
    const frozen = freezeContract(reading.contract, from.hash)
    const { role, note } = roleAt(task.role ?? 'leaf', depth, settings.spawn)
    // What an orchestrator hands out builds on what it has done itself.
    const base = task.base ?? above?.worktree?.branch
    drafts.push({
      contract: frozen,
      note,
      task: {
        goal: task.goal.trim(),
        ...(task.context === undefined ? {} : { context: task.context }),
        // Its branch is named after it, too.
        title: titleOf(task, from.redactFor(recipe)),
        ...(base === undefined ? {} : { base }),
        role,
        ...(task.metadata === undefined ? {} : { metadata: task.metadata }),
        contract: contractRef(reading.contract, frozen),
        recipe,
        limits: limitsOf(task, settings.limits),
      },
    })
  }
  const problem = await from.repositoryProblem([...new Set(drafts.flatMap(({ task }) => task.base ?? []))])
  if (problem !== undefined) return { error: { code: 'repository', message: problem } }
  return drafts
}

/** What a child's own child gets when nothing is said: no more than it has itself. */
function handedOn({ autonomy, allowedTools }: Recipe): Pick<TaskRequest, 'autonomy' | 'allowed_tools'> {
  return { autonomy, ...(allowedTools === undefined ? {} : { allowed_tools: [...allowedTools] }) }
}

function titleOf(task: TaskRequest, redact: (text: string) => string): string {
  const given = plainLine(redact(task.title ?? ''), 120)
  if (given !== '') return given
  const first = redact(task.goal).trim().split('\n')[0] ?? ''
  return plainLine(first, 60)
}

function limitsOf(task: TaskRequest, limits: Limits): Limits {
  const own = task.limits
  if (own === undefined) return limits
  return {
    ...limits,
    ...(own.timeout_seconds === undefined
      ? {}
      : { wallMs: own.timeout_seconds === 0 ? null : own.timeout_seconds * 1000 }),
    ...(own.max_turns === undefined ? {} : { maxTurns: own.max_turns }),
    ...(own.max_tokens === undefined ? {} : { maxTokens: own.max_tokens }),
    ...(own.max_cost_usd === undefined ? {} : { maxCostUsd: own.max_cost_usd }),
  }
}
