// What Claude Code asks before it goes on: leave to use a tool, or a question to a person. Each waits for its answer; what
// was allowed once for the whole child, or its autonomy covers, is answered at once.
import { z } from 'zod'
import type { Answer, Covers } from '../../core/events'
import type { AgentSignal, Outgoing } from '../../core/signals'
import type { ConversationStart } from '../agent'
import { noise } from '../jsonLine'
import { frame } from './frames'
import { flag, text, type LineOf } from './lines'

const maxRemembered = 1_000

const canUseToolSchema = z.object({
  tool_name: z.string(),
  input: z.record(z.string(), z.unknown()).catch({}),
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

interface AskedBefore {
  readonly tool: string
  readonly input: Record<string, unknown>
  /** The questions of AskUserQuestion, in their own words. */
  readonly questions: readonly string[]
  /** The path that made it ask. */
  readonly blocked: string | undefined
}

export class Questions {
  private readonly asked = new Map<string, AskedBefore>()
  /** What a person allowed for the whole child, by the request that was answered so. */
  private readonly allowed = new Map<string, string>()
  private readonly revoked = new Set<string>()

  constructor(private readonly start: Pick<ConversationStart, 'autonomy' | 'cwd'>) {}

  /** A control request of any kind: the CLI waits for an answer to each. `raw`: its line. */
  read(line: LineOf<'control_request'>, raw: string): AgentSignal[] {
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
    const outside = this.outsideWorktree(blocked)
    const agreed =
      (this.start.autonomy === 'autonomous' && outside === undefined) ||
      [...this.allowed.values()].includes(allowance(asked, outside))
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
    const where = outside === undefined ? '' : `outside the worktree: ${outside}`
    const detail = [description ?? '', reason ?? '', where].filter((part) => part !== '').join(' · ')
    const covers = coveredBy(asked, outside)
    const more = detail === '' ? {} : { detail }
    return [{ kind: 'asked', requestId, ask: { kind: 'approval', tool, input, ...more, covers } }]
  }

  /** The CLI asks no longer. */
  cancelled(requestId: string): AgentSignal[] {
    return this.asked.delete(requestId) ? [{ kind: 'askEnded', requestId }] : []
  }

  /** Nothing, when that was never asked or has its answer. */
  answer(requestId: string, answer: Answer): Outgoing[] {
    const asked = this.asked.get(requestId)
    if (asked === undefined) return []
    this.asked.delete(requestId)
    if (answer.kind !== 'allow' || answer.scope === 'once') return [permission(requestId, decision(asked, answer))]
    const allowed = allowance(asked, this.outsideWorktree(asked.blocked))
    this.remember(requestId, allowed)
    return [permission(requestId, decision(asked, answer), { allowed_for_child: allowed })]
  }

  /** An answer to an earlier host allowed this for the whole child. */
  remember(requestId: string, allowed: string): void {
    if (!this.revoked.has(requestId)) this.allowed.set(requestId, allowed)
  }

  revoke(requestId: string): void {
    this.revoked.add(requestId)
    this.allowed.delete(requestId)
  }

  /** The path, if it leaves the worktree. */
  private outsideWorktree(path: string | undefined): string | undefined {
    if (path === undefined) return undefined
    const { cwd } = this.start
    const isInside = (path === cwd || path.startsWith(`${cwd}/`)) && !path.split('/').includes('..')
    return isInside ? undefined : path
  }
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
function coveredBy({ input }: AskedBefore, outside: string | undefined): Covers {
  const { command } = input
  return {
    ...(typeof command === 'string' ? { command } : {}),
    ...(outside === undefined ? {} : { path: outside }),
  }
}

function allowance(asked: AskedBefore, outside: string | undefined): string {
  const { command, path } = coveredBy(asked, outside)
  return JSON.stringify([asked.tool, command ?? null, path ?? null])
}

function permission(
  requestId: string,
  response: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Outgoing {
  const answer = { subtype: 'success', request_id: requestId, response }
  return frame({ type: 'control_response', response: answer, ...more })
}
