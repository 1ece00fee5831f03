// What an agent's signals mean for its child: facts for the log, entries for the transcript, and what has to be done next.
// Pure. Nothing an agent says can become a verdict, an approval or a steer: a receipt counts only for a steer that we
// handed over, and only once.
import type { AgentSignal, Outgoing } from './signals'
import type { Attempt, Child } from './child'
import type { Covers, Fact } from './events'
import { cutText, plainLine, plainText, trimMiddle } from './plainText'
import { beat, resting, type Pulse } from './pulse'
import { asText } from './toolInput'
import type { EntryBody } from './transcript'

/** Longer text of one entry is cut, with a count; the raw output keeps it all (UTF-16 units). */
const longestText = 64 * 1024
const longestSummary = 31_900
/** A longer summary is kept whole in a file of its own: whoever reads of it elsewhere may be shown less. */
const longestShownSummary = 4_000

export interface Heard {
  readonly facts: readonly Fact[]
  readonly entries: readonly EntryBody[]
  readonly replies: readonly (readonly Outgoing[])[]
  /** The receiver of steers is there. */
  readonly ready: boolean
  /** A turn is over, and nothing came after it. */
  readonly reported: boolean
  /** It works: it wrote something or took a steer, after any report. */
  readonly goesOn: boolean
  /** It has reported, and work of its own goes on in the background. */
  readonly inBackground: boolean
  /** How it is at work after all this. */
  readonly pulse: Pulse
  /** A ceiling it was given has ended its turn; in words. */
  readonly limit: string | null
  /** The facts must be on the medium before anything follows from them. */
  readonly sync: boolean
  /** All of a report's summary, where that is too long to be shown whole everywhere. */
  readonly longSummary: string | null
}

/** Nothing was said, and nothing follows. */
export const nothingHeard = (pulse: Pulse): Heard => ({
  facts: [],
  entries: [],
  replies: [],
  ready: false,
  reported: false,
  goesOn: false,
  inBackground: false,
  pulse,
  limit: null,
  sync: false,
  longSummary: null,
})

/** Only for an attempt that is the child's present one. `source` names where noise came from. */
export function hear(
  child: Child,
  n: number,
  signals: readonly AgentSignal[],
  source: 'stdout' | 'stderr',
  pulse: Pulse = resting,
): Heard {
  const attempt = child.attempts[child.attempts.length - 1]
  if (attempt === undefined || attempt.n !== n) return nothingHeard(pulse)
  const ear = new Ear(child, attempt, source, pulse)
  for (const signal of signals) {
    ear.take(signal)
    ear.pulse = beat(ear.pulse, signal)
  }
  return ear
}

class Ear implements Heard {
  readonly facts: Fact[] = []
  readonly entries: EntryBody[] = []
  readonly replies: (readonly Outgoing[])[] = []
  ready = false
  reported = false
  goesOn = false
  inBackground = false
  limit: string | null = null
  sync = false
  longSummary: string | null = null

  private turnStarted: boolean
  private usage: Attempt['usage']
  private turns: number
  /** Handed over and not yet taken; taken and not yet answered. */
  private readonly sent: Set<string>
  private readonly delivered: Set<string>

  constructor(
    private readonly child: Child,
    private readonly attempt: Attempt,
    private readonly source: 'stdout' | 'stderr',
    public pulse: Pulse,
  ) {
    const mine = child.steers.filter((steer) => steer.attempt === attempt.n && !steer.carried)
    this.sent = new Set(
      mine.filter((steer) => steer.state === 'sent' || steer.state === 'unknown').map((steer) => steer.id),
    )
    this.delivered = new Set(mine.filter((steer) => steer.state === 'delivered').map((steer) => steer.id))
    this.turnStarted = attempt.turnStarted
    this.usage = attempt.usage
    this.turns = attempt.turns
  }

  take(signal: AgentSignal): void {
    const attempt = this.attempt.n
    switch (signal.kind) {
      case 'ready': {
        const { sessionId, model, agentVersion } = signal
        this.facts.push({
          type: 'ready',
          attempt,
          steerable: signal.steerable ?? true,
          ...(sessionId === undefined ? {} : { sessionId }),
          ...(model === undefined ? {} : { model: plainLine(model, 100) }),
          ...(agentVersion === undefined ? {} : { agentVersion: plainLine(agentVersion, 100) }),
        })
        this.ready = true
        return
      }
      case 'text':
        this.output(signal.subagent)
        this.entries.push({
          kind: 'text',
          text: bounded(signal.text),
          ...(signal.subagent === undefined ? {} : { subagent: plainLine(signal.subagent) }),
        })
        return
      case 'reasoning':
        this.output()
        this.entries.push({ kind: 'reasoning', text: bounded(signal.text) })
        return
      case 'toolStarted':
        this.output(signal.subagent)
        this.entries.push({
          kind: 'toolStarted',
          toolId: signal.id,
          name: plainLine(signal.name, 100),
          input: boundedInput(signal.input),
          ...(signal.subagent === undefined ? {} : { subagent: plainLine(signal.subagent) }),
        })
        return
      case 'toolEnded':
        this.entries.push({
          kind: 'toolEnded',
          toolId: signal.id,
          output: bounded(signal.output),
          isError: signal.isError,
        })
        return
      case 'steerSent':
        return
      case 'steerTaken': {
        if (!this.sent.delete(signal.steerId))
          return this.noise(`a receipt for a steer that was not handed over: ${signal.steerId}`)
        this.delivered.add(signal.steerId)
        this.works()
        const evidence = {
          kind: signal.evidence,
          ...(signal.detail === undefined ? {} : { detail: plainLine(signal.detail) }),
        }
        this.facts.push({ type: 'steerDelivered', steerId: signal.steerId, attempt, evidence })
        this.entries.push({ kind: 'receipt', steerId: signal.steerId, state: 'delivered', evidence: signal.evidence })
        this.sync = true
        return
      }
      case 'steerAnswered':
        this.confirm(signal.steerId, signal.evidence)
        return
      case 'steerRefused': {
        if (!this.sent.delete(signal.steerId))
          return this.noise(`a refusal of a steer that was not handed over: ${signal.steerId}`)
        const reason = plainLine(signal.reason, 500)
        this.facts.push({ type: 'steerRefused', steerId: signal.steerId, attempt, reason })
        this.entries.push({ kind: 'receipt', steerId: signal.steerId, state: 'refused', evidence: reason })
        return
      }
      case 'steerGivenBack': {
        const by = this.child.steers.find((steer) => steer.id === signal.steerId)?.withdrawal
        // Nobody asked for it back: it went with a turn that was cut, and counts as missed at the attempt's end.
        if (!by || !this.sent.delete(signal.steerId)) return
        this.facts.push({ type: 'steerWithdrawn', steerId: signal.steerId, by })
        this.entries.push({
          kind: 'receipt',
          steerId: signal.steerId,
          state: 'withdrawn',
          evidence: this.receiptKind(),
        })
        this.sync = true
        return
      }
      case 'asked': {
        if (this.child.requests.some((request) => request.id === signal.requestId)) return
        const ask =
          signal.ask.kind === 'question'
            ? {
                kind: 'question' as const,
                question: bounded(signal.ask.question),
                ...(signal.ask.options === undefined
                  ? {}
                  : { options: signal.ask.options.map((option) => plainLine(option)) }),
              }
            : {
                kind: 'approval' as const,
                tool: plainLine(signal.ask.tool, 100),
                input: boundedInput(signal.ask.input),
                ...(signal.ask.detail === undefined ? {} : { detail: plainLine(signal.ask.detail, 500) }),
                ...(signal.ask.covers === undefined ? {} : { covers: shortened(signal.ask.covers) }),
              }
        this.facts.push({ type: 'asked', attempt, requestId: signal.requestId, ask })
        const words =
          ask.kind === 'question' ? ask.question : `may it use ${ask.tool}: ${plainLine(asText(ask.input), 500)}`
        this.entries.push({ kind: 'asked', requestId: signal.requestId, words })
        this.sync = true
        return
      }
      case 'askEnded': {
        const request = this.child.requests.find((r) => r.id === signal.requestId)
        if (request === undefined || request.answer !== null) return
        const note = 'the agent no longer asks'
        this.facts.push({
          type: 'answered',
          requestId: signal.requestId,
          answer: { kind: 'cancelled' },
          by: { kind: 'coxswain' },
          note,
        })
        this.entries.push({ kind: 'answered', requestId: signal.requestId, words: note })
        return
      }
      case 'usage': {
        const { inputTokens = 0, outputTokens = 0, costUsd, mode } = signal
        const before = mode === 'delta' ? this.usage : { inputTokens: 0, outputTokens: 0, costUsd: null }
        this.usage = {
          inputTokens: before.inputTokens + inputTokens,
          outputTokens: before.outputTokens + outputTokens,
          costUsd: costUsd === undefined ? before.costUsd : (before.costUsd ?? 0) + costUsd,
        }
        this.facts.push({ type: 'used', attempt, usage: this.usage })
        return
      }
      case 'result': {
        for (const id of [...this.delivered]) this.confirm(id, this.receiptKind())
        const whole = signal.summary === undefined ? undefined : plainText(signal.summary)
        const summary = whole === undefined ? undefined : trimMiddle(whole, longestSummary, leftOut)
        this.longSummary = whole !== undefined && whole.length > longestShownSummary ? whole : null
        const reason = signal.reason === undefined ? undefined : plainLine(signal.reason, 2_000)
        this.facts.push({
          type: 'reported',
          attempt,
          ok: signal.ok,
          ...(summary === undefined ? {} : { summary }),
          ...(signal.output === undefined ? {} : { output: signal.output }),
          ...(reason === undefined ? {} : { reason }),
        })
        this.entries.push({ kind: 'report', ok: signal.ok, summary: summary ?? reason ?? '' })
        this.limit = signal.limit ?? null
        this.reported = (signal.backgroundTasks ?? 0) === 0
        this.inBackground = !this.reported
        this.goesOn = false
        this.sync = true
        return
      }
      case 'condition': {
        const { condition } = signal
        if (condition === null) {
          for (const name of Object.keys(this.child.conditions))
            this.facts.push({ type: 'condition', name, words: null })
          return
        }
        const words = plainLine(condition.words)
        this.facts.push({
          type: 'condition',
          name: condition.name,
          words,
          ...(condition.until === undefined ? {} : { until: condition.until }),
          ...(condition.forMs === undefined ? {} : { forMs: condition.forMs }),
        })
        this.entries.push({ kind: 'notice', level: 'warning', text: words })
        return
      }
      case 'reply':
        this.replies.push(signal.frames)
        return
      case 'noise':
        this.noise(signal.text)
        return
    }
  }

  /** The model produced something: its turn has begun, and whatever it had taken is answered. */
  private output(subagent?: string): void {
    this.works()
    if (this.child.task.limits.maxTurns !== null && subagent === undefined && !this.pulse.turnOpen)
      this.facts.push({ type: 'turnsTaken', attempt: this.attempt.n, turns: ++this.turns })
    if (!this.turnStarted) {
      this.turnStarted = true
      this.facts.push({ type: 'turnStarted', attempt: this.attempt.n })
      const rode = this.child.steers.filter((s) => s.carried && s.attempt === this.attempt.n && s.state === 'sent')
      for (const steer of rode)
        for (const state of ['delivered', 'confirmed'] as const)
          this.entries.push({ kind: 'receipt', steerId: steer.id, state, evidence: 'part of the turn it answered' })
    }
    for (const id of [...this.delivered]) this.confirm(id, this.receiptKind())
  }

  private works(): void {
    this.goesOn = true
    this.reported = false
    this.inBackground = false
  }

  private confirm(steerId: string, kind: 'observed' | 'agent said'): void {
    if (!this.delivered.delete(steerId)) return
    this.facts.push({
      type: 'steerConfirmed',
      steerId,
      attempt: this.attempt.n,
      evidence: { kind, detail: 'output came after it' },
    })
    this.entries.push({ kind: 'receipt', steerId, state: 'confirmed', evidence: kind })
  }

  private receiptKind(): 'observed' | 'agent said' {
    return this.child.task.recipe.abilities.receipt === 'observed' ? 'observed' : 'agent said'
  }

  private noise(text: string): void {
    this.entries.push({ kind: 'noise', source: this.source, text: plainLine(text, 2_000) })
  }
}

const leftOut = (left: number): string => `[… ${left} characters are left out here]`

function bounded(text: string): string {
  if (text.length <= longestText) return plainText(text)
  return `${plainText(cutText(text, longestText))}\n[${text.length - longestText} more characters are in the raw output]`
}

function boundedInput(input: unknown): unknown {
  const text = JSON.stringify(input) ?? 'null'
  return text.length <= longestText ? input : bounded(text)
}

/** As it is shown; a command may be millions of characters long. */
function shortened({ command, path }: Covers): Covers {
  return {
    ...(command === undefined ? {} : { command: plainLine(command, 2_000) }),
    ...(path === undefined ? {} : { path: plainLine(path, 1_000) }),
  }
}
