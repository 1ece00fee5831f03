// What Claude Code writes, line by line: the shapes we rely on, measured on 2.1.197 and 2.1.332, and the kinds that are known
// and tell nobody anything. What a field lacks or has in another shape is absent; a line of no known shape is noise.
import { z } from 'zod'
import type { AgentSignal } from '../../core/signals'

export const text = z.string().optional().catch(undefined)
const number = z.number().optional().catch(undefined)
export const flag = z.boolean().optional().catch(undefined)

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

export const lineSchema = z.discriminatedUnion('type', [
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

export type Line = z.infer<typeof lineSchema>
export type LineOf<T extends Line['type']> = Extract<Line, { type: T }>

export const initSchema = z.object({ session_id: text, model: text, claude_code_version: text })
export const retrySchema = z.object({
  attempt: number,
  max_retries: number,
  error_status: number.nullable(),
  error: text,
  retry_delay_ms: number,
})
export const cancelledSchema = z.object({ cancelled: z.literal(true) })
export const tasksSchema = z.object({ tasks: z.array(z.unknown()) })

/** Lines that are known and tell nobody anything. */
export const quiet = new Set([
  'stream_event',
  'keep_alive',
  'tool_progress',
  'tool_use_summary',
  'prompt_suggestion',
  'auth_status',
])
export const quietSystem = new Set([
  ...['session_state_changed', 'status', 'task_started', 'task_progress', 'task_updated', 'task_notification'],
  ...['hook_started', 'hook_progress', 'hook_response', 'permission_denied', 'commands_changed', 'thinking_tokens'],
  ...['files_persisted', 'notification', 'informational', 'memory_recall', 'plugin_install', 'local_command_output'],
])

export type Usage = z.infer<typeof usageSchema>

type Block = z.infer<typeof blockSchema>

export function blocksOf(message: z.infer<typeof messageSchema>): readonly Block[] {
  return typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
}

export function contentSignals(block: Block, subagent: string | undefined): AgentSignal[] {
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
