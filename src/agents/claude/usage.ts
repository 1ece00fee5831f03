// What a session has cost and taken so far, told as what was added since it was last told.
import type { AgentSignal } from '../../core/signals'
import type { ConversationStart } from '../agent'
import type { LineOf, Usage } from './lines'

export class SessionUsage {
  /** What the CLI last said the whole session has cost and taken. */
  private sessionCostUsd: number | undefined
  private sessionTokens: Tokens | undefined
  /** What was told of the present turn, message by message, before its result tells the whole. */
  private turnTokens: Tokens = { input: 0, output: 0 }
  private lastMessage: string | undefined

  constructor(start: Pick<ConversationStart, 'resume' | 'sessionCostUsd' | 'sessionTokens'>) {
    this.sessionCostUsd = start.resume ? start.sessionCostUsd : 0
    this.sessionTokens = start.resume ? start.sessionTokens : { input: 0, output: 0 }
  }

  /**
   * What a turn has taken comes with its result, and too late to stop it; what each message was given comes at once. The
   * words it makes are counted at the end only.
   */
  message({ id, usage }: LineOf<'assistant'>['message']): AgentSignal[] {
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
  result(line: LineOf<'result'>): AgentSignal[] {
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
}

interface Tokens {
  readonly input: number
  readonly output: number
}

const sum = (parts: readonly (number | undefined)[]) => parts.reduce<number>((all, part) => all + (part ?? 0), 0)

/** All it was given, whether read anew or from the cache. */
function inputTokens(usage: Usage): number {
  return sum([usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens])
}
