// What a parent agent may say to `delegate_task`, as a schema and as a reading that names what is wrong. Models fill in
// keys they do not need, so an empty value counts as absent; a key nobody knows, or an action that is none, is an error.
import { z } from 'zod'
import {
  endRequestSchema,
  invalidRequest,
  resumeRequestSchema,
  spawnRequestSchema,
  steerRequestSchema,
  taskRequestSchema,
  type Refusal,
  type SpawnRequest,
} from '../supervisor/commands'

const actionNames = ['spawn', 'list', 'steer', 'stop', 'interrupt', 'resume', 'result'] as const
type ActionName = (typeof actionNames)[number]

const directive =
  'A directive, not a vibe. Bad: "be more thorough". Good: "Stop reading README.md. Open lib/auth.py. Report only null-derefs with file:line."'

const { shape } = taskRequestSchema
const taskFields = {
  goal: shape.goal.describe('What this child should do and what "done" means. It sees nothing of this conversation.'),
  context: shape.context.describe('Facts it needs: paths, findings, constraints. At most 32,000 characters.'),
  contract: shape.contract.describe(
    'What its work is checked against: an object with deliverables and checks, or left out for none.',
  ),
  agent: shape.agent.describe('Which agent does it; left out: the configured default.'),
  model: shape.model,
  effort: shape.effort,
  role: shape.role.describe('leaf (default): works and reports. orchestrator: may delegate in turn, where that is on.'),
  allowed_tools: shape.allowed_tools.describe('read, edit, run, web, mcp, delegate, or exact tool names.'),
  autonomy: shape.autonomy.describe('Never above your own.'),
  title: shape.title,
  base: shape.base.describe('The commit or branch it starts from; left out: what is checked out.'),
}
const ignored = z.unknown().describe('Ignored: the limits of a child are set by a person.')
const taskSchema = z.strictObject({ ...taskFields, max_iterations: ignored.optional() })

export const inputSchema = z.strictObject({
  action: z
    .enum(actionNames)
    .optional()
    .describe('spawn (default), list, steer, stop, interrupt (pause), resume or result.'),
  ...taskFields,
  goal: taskFields.goal.optional(),
  tasks: z
    .array(taskSchema)
    .optional()
    .describe('spawn: several children at once, each self-contained, instead of goal and the keys beside it.'),
  subagent_id: z.string().optional().describe('steer, stop, interrupt, resume, result: the id that spawn answered.'),
  message: z.string().optional().describe(`steer: the correction. resume: its next instruction. ${directive}`),
  reason: z.string().optional().describe('stop, interrupt: why, in a few words.'),
  round: z.number().int().positive().optional().describe('result: an earlier round; left out: the latest.'),
  acknowledge: z.array(z.string()).optional().describe('Ids of completions you have read; they are not sent again.'),
  max_iterations: ignored.optional(),
})

/** The tool's input as JSON Schema, for whoever offers the tool. */
export function inputJsonSchema(): { type: 'object'; [key: string]: unknown } {
  const { $schema: _, ...schema } = z.toJSONSchema(inputSchema, { io: 'input' })
  return { ...schema, type: 'object' }
}

export type Wish =
  | { readonly action: 'spawn'; readonly request: SpawnRequest; readonly notes: readonly string[] }
  | { readonly action: 'list' }
  | { readonly action: 'steer'; readonly request: z.infer<typeof steerRequestSchema> }
  | { readonly action: 'stop' | 'interrupt'; readonly request: z.infer<typeof endRequestSchema> }
  | { readonly action: 'resume'; readonly request: z.infer<typeof resumeRequestSchema> }
  | { readonly action: 'result'; readonly id: string; readonly round: number | undefined }

export interface Said {
  readonly wish: Wish
  readonly acknowledge: readonly string[]
}

/** Reads what a parent said. Never throws. */
export function readWish(input: unknown): Said | Refusal {
  const value = typeof input === 'string' ? jsonIn(input) : input
  if (!isObject(value)) return invalid('The input must be a JSON object, such as {"action": "list"}.')
  // An empty message or goal is a mistake with a sentence of its own.
  const given = present(value, 'message')
  const action = actionOf(given['action'])
  if (typeof action !== 'string') return action
  if (typeof given['tasks'] === 'string') {
    const tasks = jsonIn(given['tasks'])
    if (!Array.isArray(tasks)) return invalid('tasks is not a JSON list of objects, each with a goal.')
    given['tasks'] = tasks
  }
  if (Array.isArray(given['tasks']) && given['tasks'].length === 0 && given['goal'] !== undefined) delete given['tasks']
  if (Array.isArray(given['tasks'])) {
    const odd = given['tasks'].findIndex((task) => !isObject(task))
    if (odd !== -1) return invalid(`Task ${odd + 1} of tasks is not an object with a goal.`)
    given['tasks'] = given['tasks'].map((task) => present(task as Record<string, unknown>, 'goal'))
  }
  const parsed = inputSchema.safeParse({ ...given, action })
  if (!parsed.success) return invalidRequest(parsed.error)
  const wish = wishOf(action, parsed.data)
  return 'error' in wish ? wish : { wish, acknowledge: parsed.data.acknowledge ?? [] }
}

type Input = z.infer<typeof inputSchema>

function wishOf(action: ActionName, input: Input): Wish | Refusal {
  switch (action) {
    case 'spawn':
      return spawnOf(input)
    case 'list':
      return { action }
    default:
  }
  const { subagent_id, message, reason, round } = input
  if (subagent_id === undefined)
    return invalid(`${action} needs subagent_id, the id of a child you spawned. Use list for the ids that are yours.`)
  switch (action) {
    case 'steer':
      if (message === undefined) return invalid(`steer needs message. ${directive}`)
      return { action, request: { subagent_id, message } }
    case 'stop':
    case 'interrupt':
      return { action, request: { subagent_id, ...(reason === undefined ? {} : { reason }) } }
    case 'resume':
      return { action, request: { subagent_id, ...(message === undefined ? {} : { message }) } }
    case 'result':
      return { action, id: subagent_id, round }
  }
}

function spawnOf(input: Input): Wish | Refusal {
  const { tasks, goal } = input
  const beside = Object.keys(taskFields).filter((key) => input[key as keyof typeof taskFields] !== undefined)
  if (tasks === undefined && goal === undefined)
    return invalid('spawn needs goal, or tasks: a list of objects with a goal.')
  if (tasks !== undefined && beside.length > 0)
    return invalid(`With tasks, ${beside.join(', ')} must stand inside each task: children inherit nothing.`)
  if (tasks?.length === 0) return invalid('tasks is empty. Give it one object with a goal per child.')
  const one = Object.fromEntries(beside.map((key) => [key, input[key as keyof typeof taskFields]]))
  const asked = tasks?.map(({ max_iterations: _, ...task }) => task) ?? [one]
  const request = spawnRequestSchema.safeParse({ tasks: asked })
  if (!request.success) return invalidRequest(request.error)
  const limited =
    input.max_iterations !== undefined || tasks?.some((task) => task.max_iterations !== undefined) === true
  const notes = limited ? ['max_iterations was ignored: the limits of a child are set by a person.'] : []
  return { action: 'spawn', request: request.data, notes }
}

function actionOf(given: unknown): ActionName | Refusal {
  if (given === undefined) return 'spawn'
  const actions = `The actions are ${actionNames.join(', ')}.`
  if (typeof given !== 'string') return invalid(`action must be a word. ${actions}`)
  const word = given.trim().toLowerCase()
  const known = actionNames.find((name) => name === word)
  return known ?? invalid(`There is no action ${JSON.stringify(given.slice(0, 80))}. ${actions}`)
}

/** Without what says nothing: null, and the empty text of a key that was filled in for form's sake. */
function present(value: Record<string, unknown>, mustSay: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(([key, member]) => member !== null && (member !== '' || key === mustSay)),
  )
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (message: string): Refusal => ({ error: { code: 'invalid', message } })
