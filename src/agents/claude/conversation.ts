// One conversation with `claude -p` over stream-json both ways, measured on 2.1.197 and 2.1.332: what its lines say to us. A
// steer is a user message with our own uuid.
import { z } from 'zod'
import type { Answer } from '../../core/events'
import type { AgentSignal, Outgoing } from '../../core/signals'
import type { AgentLaunch, Conversation, ConversationStart, SteerFrame } from '../agent'
import { noise, objectIn, trimmedLine } from '../jsonLine'
import { launchOf, type ClaudeSettings } from './commandLine'
import { frame, steerUuid, userMessage, uuidFrom } from './frames'
import {
  blocksOf,
  cancelledSchema,
  contentSignals,
  initSchema,
  lineSchema,
  quiet,
  quietSystem,
  retrySchema,
  tasksSchema,
  type Line,
  type LineOf,
} from './lines'
import { Questions } from './questions'
import { Receipts } from './receipts'
import { SessionUsage } from './usage'

/** Time for the interrupt's result and the clean exit before signals. */
const softEndMs = 2_500
/** A frame of ours that answered for good. */
const allowedSchema = z.object({ allowed_for_child: z.string(), response: z.object({ request_id: z.string() }) })
/** What the name of a request begins with that asks for a steer back. */
const withdrawal = 'withdraw-'

export class ClaudeConversation implements Conversation {
  readonly launch: AgentLaunch
  readonly opening: readonly Outgoing[]
  readonly afterResult = 'close input' as const
  readonly steer: NonNullable<Conversation['steer']>
  readonly softEnd: NonNullable<Conversation['softEnd']>

  private readonly receipts: Receipts
  private readonly questions: Questions
  private readonly usage: SessionUsage
  private backgroundTasks = 0
  private condition: string | undefined
  /** When a usage limit ends, once the CLI has said so. */
  private limitedUntil: string | undefined
  private sessionSeen = false

  constructor(
    settings: ClaudeSettings,
    private readonly start: ConversationStart,
  ) {
    const promptUuid = uuidFrom(`${start.sessionId} ${start.attempt}`)
    this.receipts = new Receipts(promptUuid)
    this.questions = new Questions(start)
    this.usage = new SessionUsage(start)
    this.launch = launchOf(settings, start)
    this.opening = [
      frame({ type: 'control_request', request_id: 'initialize', request: { subtype: 'initialize' } }),
      userMessage(promptUuid, start.prompt),
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
    this.receipts.written(uuid, steer.id)
    return [userMessage(uuid, steer.text, { steer_id: steer.id })]
  }

  withdrawSteer(steerId: string): Outgoing[] {
    const request = { subtype: 'cancel_async_message', message_uuid: steerUuid(steerId) }
    return [frame({ type: 'control_request', request_id: `${withdrawal}${steerId}`, request })]
  }

  wrote(written: string): void {
    const message = objectIn(trimmedLine(written))
    const allowed = allowedSchema.safeParse(message)
    if (allowed.success) this.questions.remember(allowed.data.response.request_id, allowed.data.allowed_for_child)
    if (message?.['type'] !== 'user' || typeof message['uuid'] !== 'string') return
    const id = message['steer_id']
    if (typeof id === 'string') this.receipts.written(message['uuid'], id)
  }

  answer(requestId: string, answer: Answer): Outgoing[] {
    return this.questions.answer(requestId, answer)
  }

  revoke(requestId: string): void {
    this.questions.revoke(requestId)
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
        return this.receipts.lifecycle(line.command_uuid, line.state)
      case 'assistant':
        return this.assistant(line)
      case 'user':
        return this.user(line)
      case 'system':
        return this.system(line, raw)
      case 'control_request':
        return this.questions.read(line, raw)
      case 'control_cancel_request':
        return this.questions.cancelled(line.request_id)
      case 'control_response':
        if (line.response.request_id !== 'initialize') return this.withdrawal(line.response)
        return line.response.subtype === 'success' ? [{ kind: 'ready', steerable: true }] : [noise(raw)]
      case 'rate_limit_event':
        return this.rateLimit(line.rate_limit_info)
      case 'result':
        return this.result(line)
    }
  }

  /** What the CLI answers when a steer is asked back; versions without a lifecycle say it here only. */
  private withdrawal(response: LineOf<'control_response'>['response']): AgentSignal[] {
    const id = response.request_id?.startsWith(withdrawal) ? response.request_id.slice(withdrawal.length) : undefined
    const answer = cancelledSchema.safeParse(response['response'])
    return id !== undefined && answer.success ? [{ kind: 'steerGivenBack', steerId: id }] : []
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
    const signals = [...this.clearCondition(), ...this.usage.message(line.message)]
    if (subagent === undefined) signals.push(...this.receipts.answered())
    return [...signals, ...said]
  }

  private user(line: LineOf<'user'>): AgentSignal[] {
    if (line.isReplay === true)
      return line.uuid === undefined ? [] : this.receipts.taken(line.uuid, 'replayed at the fold')
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

  private rateLimit(info: LineOf<'rate_limit_event'>['rate_limit_info']): AgentSignal[] {
    if (info.status !== 'rejected') {
      this.limitedUntil = undefined
      return this.condition === 'rate limited' ? this.clearCondition() : []
    }
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
      ...this.usage.result(line),
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

function isoFromSeconds(seconds: number): string | undefined {
  const date = new Date(seconds * 1_000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
