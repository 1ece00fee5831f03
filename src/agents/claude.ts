// Claude Code as an agent: `claude -p` with stream-json both ways, measured on 2.1.197 and 2.1.332. A steer is a user
// message with our own uuid; its receipts are the CLI's lifecycle events and replays of that uuid, never its words. Nothing
// here writes into the worktree, and a repository's own hooks and settings stay switched off unless a person allows them.
import { z } from 'zod'
import type { Answer, Autonomy } from '../core/events'
import type { AgentSignal, Outgoing } from '../core/signals'
import type { Agent, AgentLaunch, Conversation, ConversationStart, OneShot, ProbeReading, SteerFrame } from './agent'
import { noise, objectIn, trimmedLine } from './jsonLine'
import { variableNames } from './settings'

/** Flags the conversation depends on; a person's extra arguments must not touch them. */
const ownFlags = [
  ...['-p', '--print', '--input-format', '--output-format', '--verbose', '--replay-user-messages', '--session-id'],
  ...['--resume', '-r', '--continue', '-c', '--fork-session', '--permission-prompt-tool', '--permission-mode'],
  ...['--setting-sources', '--tools', '--allowedTools', '--allowed-tools', '--json-schema', '--worktree', '-w'],
  ...['--dangerously-skip-permissions', '--model', '--effort', '--max-turns', '--max-budget-usd', '--bg'],
]

export const claudeSettings = z.strictObject({
  /** Absolute path or a bare name; default: `claude` on PATH. */
  executable: z
    .string()
    .min(1)
    .refine((file) => file.startsWith('/') || !/[/~]/.test(file), 'must be an absolute path or a bare program name')
    .optional(),
  /** Further arguments, e.g. `--mcp-config`; not those the conversation depends on. */
  arguments: z
    .array(z.string())
    .refine((args) => args.every((arg) => !ownFlags.includes(arg.split('=')[0] ?? '')), {
      error: (issue) =>
        `${(issue.input as string[]).find((arg) => ownFlags.includes(arg.split('=')[0] ?? '')) ?? ''} is set by Coxswain`,
    })
    .optional(),
  environment: variableNames.optional(),
  secrets: variableNames.optional(),
  model: z.string().min(1).optional(),
  effort: z.string().min(1).optional(),
  /** Per user message. 0 would mean no limit at all to the CLI, so it is refused. */
  maxTurns: z.number().int().positive().optional(),
  /** Over the session, also across resumes; checked after the spend. */
  maxBudgetUsd: z.number().positive().optional(),
  /** How often the CLI itself retries a failed request; its own default of 10 hides a bad key for half a minute. */
  maxApiRetries: z.number().int().nonnegative().max(20).optional(),
  /** `true` lets a repository's `.claude/settings.json` run its hooks; a person's decision. */
  repositorySettings: z.boolean().optional(),
})

export type ClaudeSettings = z.infer<typeof claudeSettings>

const defaultApiRetries = 4
/** Time for the interrupt's result and the clean exit before signals. */
const softEndMs = 2_500
const maxRemembered = 1_000
/** What the name of a request begins with that asks for a steer back. */
const withdrawal = 'withdraw-'

/** Where its login and its road to the network come from, and what a person has told it not to send. */
const handedOn = [
  ...['ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_TMPDIR', 'CLAUDE_CODE_USE_BEDROCK'],
  ...['CLAUDE_CODE_USE_VERTEX', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'],
  ...['DISABLE_TELEMETRY', 'DISABLE_ERROR_REPORTING', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC'],
]
const handedOnSecrets = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN']

export function claudeAgent(id: string, settings: ClaudeSettings): Agent {
  return {
    id,
    label: id === 'claude' ? 'Claude Code' : id,
    abilities: {
      ...{ steerMode: 'at_tool_boundary', receipt: 'observed', resume: true, approvals: true, cost: true },
      terminal: true,
    },
    probe: {
      programs: [settings.executable ?? 'claude'],
      args: ['--version'],
      read: readVersion,
      install: 'Install it with `npm install -g @anthropic-ai/claude-code`, then run `claude` once to log in.',
    },
    secrets: secretsOf(settings),
    projectRules: ['CLAUDE.md', '.claude/CLAUDE.md'],
    toolsProblem: (allowed) => {
      const unknown = allowed.filter((word) => toolsFor(word) === undefined)
      if (unknown.length === 0) return null
      return `Claude Code has no tools for ${unknown.map((word) => `"${word}"`).join(', ')}; say ${Object.keys(neutralTools).join(', ')} or a tool’s exact name.`
    },
    terminal: {
      args: (sessionId) => ['--resume', sessionId],
      openSessions: {
        folder: ({ CLAUDE_CONFIG_DIR: own, HOME: home }) => inFolder(own ?? inFolder(home, '.claude'), 'sessions'),
        read: readOpenSession,
      },
    },
    oneShot: (model) => oneShotOf(settings, model),
    converse: (start) => new ClaudeConversation(settings, start),
  }
}

const oneShotResult = z.object({
  type: z.literal('result'),
  subtype: z.literal('success'),
  is_error: z.literal(false),
  result: z.string(),
})

function oneShotOf(settings: ClaudeSettings, model = settings.model): OneShot {
  return {
    args: [
      ...['-p', '--output-format', 'json', '--tools', '', '--setting-sources', 'user', '--strict-mcp-config'],
      ...(model === undefined ? [] : ['--model', model]),
    ],
    env: environmentOf(settings),
    inherit: namesOf(settings),
    read: (stdout) => {
      const parsed = oneShotResult.safeParse(objectIn(stdout.trim()))
      return parsed.success ? parsed.data.result : null
    },
  }
}

const secretsOf = ({ secrets = [] }: ClaudeSettings): string[] => [...new Set([...handedOnSecrets, ...secrets])]

const namesOf = (settings: ClaudeSettings): string[] => [
  ...new Set([...handedOn, ...(settings.environment ?? []), ...secretsOf(settings)]),
]

const environmentOf = ({ maxApiRetries }: ClaudeSettings) => ({
  CLAUDE_CODE_MAX_RETRIES: String(maxApiRetries ?? defaultApiRetries),
  DISABLE_AUTOUPDATER: '1',
})

function readVersion(output: string): ProbeReading {
  const version = /(\d+\.\d+\.\d+)[^\n]*Claude Code/.exec(output)?.[1]
  if (version === undefined) return { notes: ['did not say its version'] }
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major < 2 || (major === 2 && minor < 1))
    return {
      version,
      abilities: { receipt: 'none' },
      notes: ['older than any version the steer receipts were measured on'],
    }
  if (major === 2 && minor === 1 && patch < 332)
    return {
      version,
      notes: ['gives no lifecycle receipts: a steer shows as delivered when it is folded, not earlier'],
    }
  return { version }
}

const inFolder = (folder: string | undefined, name: string): string | undefined =>
  folder === undefined ? undefined : `${folder}/${name}`

const openSessionSchema = z.object({ pid: z.number().int().positive(), procStart: z.string(), sessionId: z.string() })

function readOpenSession(name: string, noted: string) {
  const parsed = name.endsWith('.json') ? openSessionSchema.safeParse(objectIn(noted)) : undefined
  if (parsed?.success !== true) return undefined
  const { pid, procStart: startTime, sessionId } = parsed.data
  return { pid, startTime, sessionId }
}

const neutralTools: Readonly<Record<string, readonly string[]>> = {
  read: ['Read', 'Glob', 'Grep'],
  edit: ['Edit', 'Write', 'NotebookEdit'],
  run: ['Bash'],
  web: ['WebFetch', 'WebSearch'],
  delegate: ['Task'],
}

function toolsFor(word: string): readonly string[] | undefined {
  if (Object.hasOwn(neutralTools, word)) return neutralTools[word]
  return /^[A-Z][A-Za-z]+$|^mcp__[\w-]+$/.test(word) ? [word] : undefined
}

// A level never goes beyond what its name says; nothing bypasses permissions. In `autonomous` the questions that are left
// are answered by us, unless they reach outside the worktree.
const permissionModes: Readonly<Record<Autonomy, string>> = {
  ask: 'default',
  edit: 'acceptEdits',
  autonomous: 'acceptEdits',
}

const text = z.string().optional().catch(undefined)
const number = z.number().optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)
const anyObject = z.record(z.string(), z.unknown())

const blockSchema = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('thinking'), thinking: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown().optional() }),
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.unknown().optional(),
    is_error: flag,
  }),
  z.object({ type: z.string() }),
])

const usageSchema = z.object({
  input_tokens: number,
  cache_creation_input_tokens: number,
  cache_read_input_tokens: number,
  output_tokens: number,
})

const messageSchema = z.object({
  id: text,
  content: z.union([z.string(), z.array(blockSchema.catch({ type: 'odd' }))]),
  usage: usageSchema.optional().catch(undefined),
})

const lineSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('command_lifecycle'), command_uuid: z.string(), state: z.string() }),
  z.object({
    type: z.literal('assistant'),
    message: messageSchema,
    parent_tool_use_id: z.string().nullish().catch(null),
    error: text,
  }),
  z.object({
    type: z.literal('user'),
    message: messageSchema,
    uuid: text,
    isReplay: flag,
    parent_tool_use_id: z.string().nullish().catch(null),
  }),
  z.looseObject({ type: z.literal('system'), subtype: z.string() }),
  z.object({
    type: z.literal('control_request'),
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string() }),
  }),
  z.object({ type: z.literal('control_cancel_request'), request_id: z.string() }),
  z.object({
    type: z.literal('control_response'),
    response: z.looseObject({ subtype: text, request_id: text, error: text }),
  }),
  z.object({
    type: z.literal('rate_limit_event'),
    rate_limit_info: z.object({ status: text, resetsAt: number, rateLimitType: text }),
  }),
  z.object({
    type: z.literal('result'),
    subtype: text,
    is_error: flag,
    terminal_reason: text,
    result: text,
    structured_output: z.unknown().optional(),
    total_cost_usd: number,
    usage: usageSchema.optional().catch(undefined),
    modelUsage: z
      .record(
        z.string(),
        z.object({
          inputTokens: number,
          outputTokens: number,
          cacheReadInputTokens: number,
          cacheCreationInputTokens: number,
        }),
      )
      .optional()
      .catch(undefined),
    permission_denials: z
      .array(z.object({ tool_name: z.string() }))
      .optional()
      .catch(undefined),
    api_error_status: number,
    errors: z.array(z.string()).optional().catch(undefined),
  }),
])

type Line = z.infer<typeof lineSchema>
type LineOf<T extends Line['type']> = Extract<Line, { type: T }>

const initSchema = z.object({ session_id: text, model: text, claude_code_version: text })
const retrySchema = z.object({
  attempt: number,
  max_retries: number,
  error_status: number.nullable(),
  error: text,
  retry_delay_ms: number,
})
const canUseToolSchema = z.object({
  tool_name: z.string(),
  input: anyObject.catch({}),
  description: text,
  decision_reason: text,
  blocked_path: text,
  requires_user_interaction: flag,
})
const questionsSchema = z.object({
  questions: z
    .array(
      z.object({
        question: z.string(),
        options: z
          .array(z.object({ label: z.string() }))
          .optional()
          .catch(undefined),
      }),
    )
    .min(1),
})
const cancelledSchema = z.object({ cancelled: z.literal(true) })
const tasksSchema = z.object({ tasks: z.array(z.unknown()) })

/** Lines that are known and tell nobody anything. */
const quiet = new Set([
  'stream_event',
  'keep_alive',
  'tool_progress',
  'tool_use_summary',
  'prompt_suggestion',
  'auth_status',
])
const quietSystem = new Set([
  ...['session_state_changed', 'status', 'task_started', 'task_progress', 'task_updated', 'task_notification'],
  ...['hook_started', 'hook_progress', 'hook_response', 'permission_denied', 'commands_changed', 'thinking_tokens'],
  ...['files_persisted', 'notification', 'informational', 'memory_recall', 'plugin_install', 'local_command_output'],
])

interface SteerProgress {
  readonly id: string
  state: 'written' | 'sent' | 'taken' | 'answered'
}

interface AskedBefore {
  readonly tool: string
  readonly input: Record<string, unknown>
  /** The questions of AskUserQuestion, in their own words. */
  readonly questions: readonly string[]
  /** The path that made it ask. */
  readonly blocked: string | undefined
}

class ClaudeConversation implements Conversation {
  readonly launch: AgentLaunch
  readonly opening: readonly Outgoing[]
  readonly afterResult = 'close input' as const
  readonly steer: NonNullable<Conversation['steer']>
  readonly softEnd: NonNullable<Conversation['softEnd']>

  private readonly promptUuid: string
  /** Steers this process was handed: uuid → id, and how far each is known to have come. */
  private readonly steers = new Map<string, SteerProgress>()
  private readonly asked = new Map<string, AskedBefore>()
  /** What a person allowed for the whole child. */
  private readonly allowed = new Set<string>()
  private backgroundTasks = 0
  /** What the CLI last said the whole session has cost and taken. */
  private sessionCostUsd: number | undefined
  private sessionTokens: Tokens | undefined
  /** What was told of the present turn, message by message, before its result tells the whole. */
  private turnTokens: Tokens = { input: 0, output: 0 }
  private lastMessage: string | undefined
  private condition: string | undefined
  /** When a usage limit ends, once the CLI has said so. */
  private limitedUntil: string | undefined
  private sessionSeen = false

  constructor(
    settings: ClaudeSettings,
    private readonly start: ConversationStart,
  ) {
    this.promptUuid = uuidFrom(`${start.sessionId} ${start.attempt}`)
    this.sessionCostUsd = start.resume ? start.sessionCostUsd : 0
    this.sessionTokens = start.resume ? start.sessionTokens : { input: 0, output: 0 }
    this.launch = launchOf(settings, start)
    this.opening = [
      frame({ type: 'control_request', request_id: 'initialize', request: { subtype: 'initialize' } }),
      userMessage(this.promptUuid, start.prompt),
    ]
    this.steer = { mode: 'at_tool_boundary', write: (steer) => this.writeSteer(steer) }
    this.softEnd = {
      // In this order: the turn is cut and what waits is taken back, then the process goes by itself.
      write: () => [
        frame({
          type: 'control_request',
          request_id: 'interrupt',
          request: { subtype: 'interrupt', cancel_queued: true },
        }),
        frame({ type: 'control_request', request_id: 'end', request: { subtype: 'end_session' } }),
      ],
      waitMs: softEndMs,
    }
  }

  private writeSteer(steer: SteerFrame): Outgoing[] {
    const uuid = steerUuid(steer.id)
    if (!this.steers.has(uuid)) this.steers.set(uuid, { id: steer.id, state: 'written' })
    return [userMessage(uuid, steer.text, { steer_id: steer.id })]
  }

  withdrawSteer(steerId: string): Outgoing[] {
    const request = { subtype: 'cancel_async_message', message_uuid: steerUuid(steerId) }
    return [frame({ type: 'control_request', request_id: `${withdrawal}${steerId}`, request })]
  }

  wrote(written: string): void {
    const message = objectIn(trimmedLine(written))
    if (typeof message?.['allowed_for_child'] === 'string') this.allowed.add(message['allowed_for_child'])
    if (message?.['type'] !== 'user' || typeof message['uuid'] !== 'string') return
    const id = message['steer_id']
    if (typeof id === 'string' && !this.steers.has(message['uuid']))
      this.steers.set(message['uuid'], { id, state: 'written' })
  }

  answer(requestId: string, answer: Answer): Outgoing[] {
    const asked = this.asked.get(requestId)
    if (asked === undefined) return []
    this.asked.delete(requestId)
    if (answer.kind !== 'allow' || answer.scope === 'once') return [permission(requestId, decision(asked, answer))]
    const allowed = allowance(asked, this.leavesWorktree(asked.blocked) ? asked.blocked : undefined)
    this.allowed.add(allowed)
    return [permission(requestId, decision(asked, answer), { allowed_for_child: allowed })]
  }

  read(source: 'stdout' | 'stderr', line: string): AgentSignal[] {
    const trimmed = trimmedLine(line)
    if (trimmed === '') return []
    if (source === 'stderr') return [noise(trimmed)]
    const object = objectIn(trimmed)
    if (object !== undefined && quiet.has(String(object['type']))) return []
    const parsed = lineSchema.safeParse(object)
    return parsed.success ? this.translate(parsed.data, trimmed) : [noise(trimmed)]
  }

  ended(): AgentSignal[] {
    return []
  }

  private translate(line: Line, raw: string): AgentSignal[] {
    switch (line.type) {
      case 'command_lifecycle':
        return this.lifecycle(line.command_uuid, line.state)
      case 'assistant':
        return this.assistant(line)
      case 'user':
        return this.user(line)
      case 'system':
        return this.system(line, raw)
      case 'control_request':
        return this.controlRequest(line, raw)
      case 'control_cancel_request':
        return this.asked.delete(line.request_id) ? [{ kind: 'askEnded', requestId: line.request_id }] : []
      case 'control_response':
        if (line.response.request_id !== 'initialize') return this.withdrawal(line.response)
        return line.response.subtype === 'success' ? [{ kind: 'ready', steerable: true }] : [noise(raw)]
      case 'rate_limit_event':
        return this.rateLimit(line.rate_limit_info)
      case 'result':
        return this.result(line)
    }
  }

  /** The steer a receipt speaks of, also one that an earlier host handed over. */
  private steerOf(uuid: string) {
    const known = this.steers.get(uuid)
    const id = known === undefined && uuid !== this.promptUuid ? steerIdIn(uuid) : undefined
    if (id === undefined) return known
    const steer: SteerProgress = { id, state: 'written' }
    this.steers.set(uuid, steer)
    return steer
  }

  private lifecycle(uuid: string, state: string): AgentSignal[] {
    const steer = this.steerOf(uuid)
    if (steer === undefined) return []
    switch (state) {
      case 'queued':
        if (steer.state !== 'written') return []
        steer.state = 'sent'
        return [{ kind: 'steerSent', steerId: steer.id }]
      case 'started':
        return this.taken(uuid, 'command_lifecycle started')
      case 'completed': {
        const taken = this.taken(uuid, 'command_lifecycle completed')
        if (steer.state === 'answered') return taken
        steer.state = 'answered'
        return [...taken, { kind: 'steerAnswered', steerId: steer.id, evidence: 'observed' }]
      }
      case 'cancelled':
        // After `started` it does not take the text back out of the history.
        return steer.state === 'taken' || steer.state === 'answered'
          ? []
          : [{ kind: 'steerGivenBack', steerId: steer.id }]
      default:
        return []
    }
  }

  /** What the CLI answers when a steer is asked back; versions without a lifecycle say it here only. */
  private withdrawal(response: LineOf<'control_response'>['response']): AgentSignal[] {
    const id = response.request_id?.startsWith(withdrawal) ? response.request_id.slice(withdrawal.length) : undefined
    const answer = cancelledSchema.safeParse(response['response'])
    return id !== undefined && answer.success ? [{ kind: 'steerGivenBack', steerId: id }] : []
  }

  private taken(uuid: string, detail: string): AgentSignal[] {
    const steer = this.steerOf(uuid)
    if (steer === undefined || steer.state === 'taken' || steer.state === 'answered') return []
    steer.state = 'taken'
    return [{ kind: 'steerTaken', steerId: steer.id, evidence: 'observed', detail }]
  }

  private assistant(line: LineOf<'assistant'>): AgentSignal[] {
    const subagent = line.parent_tool_use_id ?? undefined
    const blocks = blocksOf(line.message)
    if (line.error !== undefined) {
      // The CLI speaks here, not the model: told as text, it would pass for an answer to a steer.
      const words = blocks.flatMap((block) => ('text' in block ? [block.text] : [])).join(' ')
      return this.setCondition('API error', words === '' ? `API error: ${line.error}` : words)
    }
    const said = blocks.flatMap((block) => contentSignals(block, subagent))
    const signals = [...this.clearCondition(), ...this.messageUsage(line.message)]
    if (subagent === undefined)
      for (const steer of this.steers.values()) {
        if (steer.state !== 'taken') continue
        steer.state = 'answered'
        signals.push({ kind: 'steerAnswered', steerId: steer.id, evidence: 'observed' })
      }
    return [...signals, ...said]
  }

  private user(line: LineOf<'user'>): AgentSignal[] {
    if (line.isReplay === true) return line.uuid === undefined ? [] : this.taken(line.uuid, 'replayed at the fold')
    const subagent = line.parent_tool_use_id ?? undefined
    return blocksOf(line.message)
      .filter((block) => block.type === 'tool_result')
      .flatMap((block) => contentSignals(block, subagent))
  }

  private system(line: LineOf<'system'>, raw: string): AgentSignal[] {
    switch (line.subtype) {
      case 'init': {
        // Said again at the start of every turn; whoever folds it takes it as it is.
        const init = initSchema.parse(line)
        this.sessionSeen = true
        return [
          {
            kind: 'ready',
            steerable: true,
            ...(init.session_id === undefined ? {} : { sessionId: init.session_id }),
            ...(init.model === undefined ? {} : { model: init.model }),
            ...(init.claude_code_version === undefined ? {} : { agentVersion: init.claude_code_version }),
          },
        ]
      }
      case 'api_retry': {
        const { attempt, max_retries: most, error_status: status, error, retry_delay_ms } = retrySchema.parse(line)
        const why = [error, status].filter((part) => part !== undefined && part !== null).join(' ')
        const words = `retrying the model, ${attempt ?? '?'} of ${most ?? '?'}${why === '' ? '' : `: ${why}`}`
        const name = error === 'rate_limit' || status === 429 ? 'rate limited' : 'retrying'
        return this.setCondition(name, words, retry_delay_ms === undefined ? {} : { forMs: retry_delay_ms })
      }
      case 'background_tasks_changed': {
        const tasks = tasksSchema.safeParse(line)
        if (tasks.success) this.backgroundTasks = tasks.data.tasks.length
        return []
      }
      case 'compact_boundary':
        return [{ kind: 'reasoning', text: 'The conversation was compacted to make room.' }]
      default:
        return quietSystem.has(line.subtype) ? [] : [noise(raw)]
    }
  }

  private controlRequest(line: LineOf<'control_request'>, raw: string): AgentSignal[] {
    const { request, request_id: requestId } = line
    const parsed = request.subtype === 'can_use_tool' ? canUseToolSchema.safeParse(request) : undefined
    if (parsed?.success !== true) {
      // Whatever it is, the CLI waits for an answer to it.
      const error = `${request.subtype} is not supported here`
      const response = { subtype: 'error', request_id: requestId, error }
      return [noise(raw), { kind: 'reply', frames: [frame({ type: 'control_response', response })] }]
    }
    const { tool_name: tool, input, description, decision_reason: reason, blocked_path: blocked } = parsed.data
    const asking = tool === 'AskUserQuestion' ? questionsSchema.safeParse(input) : undefined
    const questions = asking?.success === true ? asking.data.questions : []
    const asked: AskedBefore = { tool, input, questions: questions.map((one) => one.question), blocked }
    const forPersons = questions.length > 0 || parsed.data.requires_user_interaction === true
    const outsideWorktree = this.leavesWorktree(blocked)
    const agreed =
      (this.start.autonomy === 'autonomous' && !outsideWorktree) ||
      this.allowed.has(allowance(asked, outsideWorktree ? blocked : undefined))
    if (agreed && !forPersons)
      return [{ kind: 'reply', frames: [permission(requestId, decision(asked, { kind: 'allow', scope: 'once' }))] }]
    this.asked.set(requestId, asked)
    const [oldest] = this.asked.keys()
    if (this.asked.size > maxRemembered && oldest !== undefined) this.asked.delete(oldest)
    const [only] = questions
    if (only !== undefined) {
      const options = questions.length === 1 ? only.options?.map((option) => option.label) : undefined
      const question = questions.map((one) => one.question).join('\n')
      return [
        {
          kind: 'asked',
          requestId,
          ask: { kind: 'question', question, ...(options === undefined ? {} : { options }) },
        },
      ]
    }
    const outside = blocked !== undefined && this.leavesWorktree(blocked) ? `outside the worktree: ${blocked}` : ''
    const detail = [description ?? '', reason ?? '', outside].filter((part) => part !== '').join(' · ')
    return [{ kind: 'asked', requestId, ask: { kind: 'approval', tool, input, ...(detail === '' ? {} : { detail }) } }]
  }

  private leavesWorktree(path: string | undefined): boolean {
    if (path === undefined) return false
    const { cwd } = this.start
    return !(path === cwd || path.startsWith(`${cwd}/`)) || path.split('/').includes('..')
  }

  private rateLimit(info: LineOf<'rate_limit_event'>['rate_limit_info']): AgentSignal[] {
    if (info.status !== 'rejected') return this.condition === 'rate limited' ? this.clearCondition() : []
    const until = info.resetsAt === undefined ? undefined : isoFromSeconds(info.resetsAt)
    const which = info.rateLimitType?.replaceAll('_', ' ')
    this.limitedUntil = until
    const words = `usage limit reached${which === undefined ? '' : ` (${which})`}`
    return this.setCondition('rate limited', words, until === undefined ? {} : { until })
  }

  private result(line: LineOf<'result'>): AgentSignal[] {
    // A subtype alone lies: an API error is "success" too.
    const reason = line.terminal_reason
    const ok = line.subtype === 'success' && line.is_error !== true && (reason === undefined || reason === 'completed')
    const denied = [...new Set((line.permission_denials ?? []).map((denial) => denial.tool_name))]
    const limit = limitInWords(reason)
    return [
      ...this.clearCondition(),
      ...(denied.length === 0 ? [] : this.setCondition('denied', `was denied: ${denied.join(', ')}`)),
      ...this.usage(line),
      {
        kind: 'result',
        ok,
        ...(line.result === undefined || line.result === '' ? {} : { summary: line.result }),
        ...(line.structured_output === undefined ? {} : { output: line.structured_output }),
        ...(ok ? {} : { reason: this.failure(line) }),
        ...(limit === undefined ? {} : { limit }),
        ...(this.backgroundTasks === 0 ? {} : { backgroundTasks: this.backgroundTasks }),
      },
    ]
  }

  private failure(line: LineOf<'result'>): string {
    // Known by its silence: a session that is there begins with an init.
    if (this.start.resume && !this.sessionSeen)
      return `Claude Code has no session ${this.start.sessionId} any more: it is written some time after the first answer, and an end before that loses it. Nothing was started in its place; start a new child with the same brief.`
    const until = this.limitedUntil
    return `${failureInWords(line)}${until === undefined ? '' : ` Its usage limit ends at ${until}; resume it then.`}`
  }

  /**
   * What a turn has taken comes with its result, and too late to stop it; what each message was given comes at once. The
   * words it makes are counted at the end only.
   */
  private messageUsage({ id, usage }: LineOf<'assistant'>['message']): AgentSignal[] {
    if (id === undefined || id === this.lastMessage || usage === undefined) return []
    this.lastMessage = id
    const input = inputTokens(usage)
    this.turnTokens = { ...this.turnTokens, input: this.turnTokens.input + input }
    return input === 0 ? [] : [{ kind: 'usage', mode: 'delta', inputTokens: input }]
  }

  /**
   * Cost and tokens per model are of the whole session, also across resumes, so only their growth counts. A killed turn's
   * are lost to the CLI, so never less than what it says of this very turn.
   */
  private usage(line: LineOf<'result'>): AgentSignal[] {
    const { usage, total_cost_usd: total, modelUsage } = line
    const costBefore = this.sessionCostUsd
    if (total !== undefined) this.sessionCostUsd = total
    const grown = total === undefined || costBefore === undefined ? undefined : Math.max(0, total - costBefore)
    const models = Object.values(modelUsage ?? {})
    const session: Tokens = {
      input: sum(models.flatMap((m) => [m.inputTokens, m.cacheReadInputTokens, m.cacheCreationInputTokens])),
      output: sum(models.map((m) => m.outputTokens)),
    }
    const before = this.sessionTokens
    if (models.length > 0) this.sessionTokens = session
    const taken = (which: keyof Tokens, ofTurn: number) =>
      Math.max(0, ofTurn, before === undefined ? 0 : session[which] - before[which]) - this.turnTokens[which]
    const input = taken('input', usage === undefined ? 0 : inputTokens(usage))
    const output = taken('output', usage?.output_tokens ?? 0)
    this.turnTokens = { input: 0, output: 0 }
    if (usage === undefined && grown === undefined) return []
    return [
      {
        kind: 'usage',
        mode: 'delta',
        ...(usage === undefined ? {} : { inputTokens: Math.max(0, input), outputTokens: Math.max(0, output) }),
        ...(grown === undefined ? {} : { costUsd: grown }),
      },
    ]
  }

  private setCondition(name: string, words: string, more: { until?: string; forMs?: number } = {}): AgentSignal[] {
    this.condition = name
    return [{ kind: 'condition', condition: { name, words, ...more } }]
  }

  private clearCondition(): AgentSignal[] {
    if (this.condition === undefined) return []
    this.condition = undefined
    return [{ kind: 'condition', condition: null }]
  }
}

/** An orchestrator's way to its own children. */
const delegateServer = (launcher: string): string =>
  JSON.stringify({ mcpServers: { coxswain: { type: 'stdio', command: launcher, args: ['mcp'] } } })

function launchOf(settings: ClaudeSettings, start: ConversationStart): AgentLaunch {
  const model = start.model ?? settings.model
  const effort = start.effort ?? settings.effort
  const rules = settings.repositorySettings === true ? [] : (start.projectRules ?? [])
  const rulesFile = `${start.controlDir}/project-rules.md`
  const option = (name: string, value: string | number | undefined) =>
    value === undefined ? [] : [name, String(value)]
  return {
    file: start.executable ?? settings.executable ?? 'claude',
    args: [
      ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
      '--replay-user-messages',
      ...(start.resume ? ['--resume', start.sessionId] : ['--session-id', start.sessionId]),
      ...['--permission-prompt-tool', 'stdio', '--permission-mode', permissionModes[start.autonomy]],
      // The repository's own settings bring hooks that would run unasked; its rules are handed over as text instead.
      ...['--setting-sources', settings.repositorySettings === true ? 'user,project' : 'user'],
      ...(rules.length === 0 ? [] : ['--append-system-prompt-file', rulesFile]),
      '--strict-mcp-config',
      ...option('--mcp-config', start.launcher === undefined ? undefined : delegateServer(start.launcher)),
      ...option('--model', model),
      ...option('--effort', effort),
      ...option('--max-turns', lower(start.maxTurns, settings.maxTurns)),
      ...option('--max-budget-usd', lower(start.maxCostUsd, settings.maxBudgetUsd)),
      ...option('--tools', start.allowedTools?.flatMap((word) => toolsFor(word) ?? []).join(',')),
      ...option('--json-schema', start.outputSchema === undefined ? undefined : JSON.stringify(start.outputSchema)),
      ...(settings.arguments ?? []),
    ],
    env: {
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
      ...environmentOf(settings),
    },
    inherit: namesOf(settings),
    secrets: secretsOf(settings),
    input: 'open',
    files:
      rules.length === 0
        ? {}
        : { [rulesFile]: rules.map((rule) => `Rules of this repository (${rule.path}):\n\n${rule.text}`).join('\n\n') },
  }
}

interface Tokens {
  readonly input: number
  readonly output: number
}

const sum = (parts: readonly (number | undefined)[]) => parts.reduce<number>((all, part) => all + (part ?? 0), 0)

/** All it was given, whether read anew or from the cache. */
function inputTokens(usage: z.infer<typeof usageSchema>): number {
  return sum([usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens])
}

function lower(...limits: (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}

type Block = z.infer<typeof blockSchema>

function blocksOf(message: z.infer<typeof messageSchema>): readonly Block[] {
  return typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
}

function contentSignals(block: Block, subagent: string | undefined): AgentSignal[] {
  const of = subagent === undefined ? {} : { subagent }
  if ('text' in block) return block.text === '' ? [] : [{ kind: 'text', text: block.text, ...of }]
  if ('thinking' in block) return block.thinking === '' ? [] : [{ kind: 'reasoning', text: block.thinking }]
  if ('name' in block)
    return [{ kind: 'toolStarted', id: block.id, name: block.name, input: block.input ?? null, ...of }]
  if ('tool_use_id' in block)
    return [
      {
        kind: 'toolEnded',
        id: block.tool_use_id,
        output: resultText(block.content),
        isError: block.is_error === true,
      },
    ]
  return []
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === undefined || content === null) return ''
  if (!Array.isArray(content)) return JSON.stringify(content)
  return content
    .map((part: unknown) => {
      const { type, text: words } = z
        .object({ type: text, text })
        .catch({ type: undefined, text: undefined })
        .parse(part)
      return words ?? `(${type ?? 'something'})`
    })
    .join('\n')
}

/** The ceiling that ended a turn, if one did. */
function limitInWords(reason: string | undefined): string | undefined {
  switch (reason) {
    case 'max_turns':
      return 'It reached its limit of turns.'
    case 'budget_exhausted':
      return 'It reached its budget.'
    default:
      return undefined
  }
}

function failureInWords(line: LineOf<'result'>): string {
  const status = line.api_error_status === undefined ? '' : ` ${line.api_error_status}`
  const limit = limitInWords(line.terminal_reason)
  if (limit !== undefined) return limit
  switch (line.terminal_reason) {
    case 'aborted_tools':
    case 'aborted_streaming':
      return 'It was interrupted.'
    case 'prompt_too_long':
      return 'The conversation has become too long for the model.'
    case 'api_error':
      return `The model’s API answered with an error${status}${line.result === undefined ? '.' : `: ${line.result}`}`
    default: {
      const said = line.errors?.join('; ') ?? line.result
      return said !== undefined && said !== ''
        ? said
        : `It ended with ${line.terminal_reason ?? line.subtype ?? 'no reason'}.`
    }
  }
}

function frame(message: Record<string, unknown>): Outgoing {
  return { to: 'stdin', text: `${JSON.stringify(message)}\n` }
}

/** A user turn, or with the model at work a steer. `client_composed` keeps `/…` from being run as a command. */
function userMessage(uuid: string, content: string, more: Record<string, unknown> = {}): Outgoing {
  const composed = content.trimStart().startsWith('/') ? { client_composed: true } : {}
  return frame({
    type: 'user',
    uuid,
    message: { role: 'user', content },
    parent_tool_use_id: null,
    ...composed,
    ...more,
  })
}

/**
 * What the CLI is told. Its own suggestions are never echoed: they switch the mode and write into the worktree. What is
 * allowed for the whole child is remembered by us instead, since its rules know no compound commands.
 */
function decision(asked: AskedBefore, answer: Answer): Record<string, unknown> {
  switch (answer.kind) {
    case 'allow':
      return { behavior: 'allow', updatedInput: asked.input }
    case 'deny':
      return { behavior: 'deny', message: answer.message }
    case 'cancelled':
      return { behavior: 'deny', message: 'Nobody answered; the request was withdrawn.' }
    case 'text': {
      if (asked.questions.length === 0) return { behavior: 'deny', message: answer.text }
      const answers = Object.fromEntries(asked.questions.map((question) => [question, answer.text]))
      return { behavior: 'allow', updatedInput: { ...asked.input, answers } }
    }
  }
}

/** What one permission for the whole child covers: the exact command, or the tool within the worktree, or one path. */
function allowance(asked: AskedBefore, outside: string | undefined): string {
  const command = asked.input['command']
  return JSON.stringify([asked.tool, typeof command === 'string' ? command : null, outside ?? null])
}

function permission(
  requestId: string,
  response: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Outgoing {
  const answer = { subtype: 'success', request_id: requestId, response }
  return frame({ type: 'control_response', response: answer, ...more })
}

/**
 * The uuid a steer goes by. A short plain id stands in it and can be read back, so that receipts are understood by a host
 * that only has the agent's output; a uuid is used as it is, anything else by its hash.
 */
function steerUuid(steerId: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(steerId)) return steerId
  if (!/^[\x21-\x7e]{1,13}$/.test(steerId)) return uuidFrom(steerId)
  const bytes = [steerMark, steerId.length, ...Array.from(steerId, (character) => character.charCodeAt(0))]
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return uuidOf(hex.padEnd(30, '0'))
}

/** The id that stands in a uuid of ours, if one does. */
function steerIdIn(uuid: string): string | undefined {
  const hex = uuid.replaceAll('-', '')
  const digits = hex.slice(0, 12) + hex.slice(13, 16) + hex.slice(17)
  const bytes = (digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16))
  const [mark, length = 0, ...rest] = bytes
  const id = String.fromCharCode(...rest.slice(0, length))
  return mark === steerMark && steerUuid(id) === uuid ? id : undefined
}

/** The first byte of a uuid that holds a steer's id. */
const steerMark = 0xc5

/** Thirty hexadecimal digits as a uuid of version 4. */
function uuidOf(digits: string): string {
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(12, 15)}-8${digits.slice(15, 18)}-${digits.slice(18)}`
}

/** The same name gives the same uuid, so that a frame sent again after a crash is known to the CLI. FNV-1a, four times. */
function uuidFrom(name: string): string {
  const words = [1, 2, 3, 4].map((round) => {
    let hash = Math.imul(round, 0x9e3779b1)
    for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    return ((hash ^ (hash >>> 13)) >>> 0).toString(16).padStart(8, '0')
  })
  return uuidOf(words.join('').slice(0, 30))
}

function isoFromSeconds(seconds: number): string | undefined {
  const date = new Date(seconds * 1_000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
