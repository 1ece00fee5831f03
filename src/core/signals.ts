// What an agent just said, in our words. Adapters produce signals from their wire; only the supervisor turns them into
// events. A signal is never a fact about our own side (nothing an agent prints can say "verified" or "stopped").
import type { Covers } from './events'

/** How a receipt came about: seen by us in the agent's own log or protocol, or merely stated by the agent. */
export type EvidenceKind = 'observed' | 'agent said'

/** Tokens and money. `total` replaces what was known of this attempt, `delta` adds to it. */
export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** US dollars. */
  readonly costUsd?: number
  readonly mode: 'total' | 'delta'
}

/** What an agent wants to know: a free question, or leave to use a tool. */
export type Ask =
  | { readonly kind: 'question'; readonly question: string; readonly options?: readonly string[] }
  | {
      readonly kind: 'approval'
      readonly tool: string
      readonly input: unknown
      readonly detail?: string
      /** What leave for the whole child covers, where we keep it. */
      readonly covers?: Covers
    }

export type AgentSignal =
  /** The agent's loop is up; from here on it can take steers, if it can at all. */
  | {
      readonly kind: 'ready'
      readonly sessionId?: string
      readonly model?: string
      readonly agentVersion?: string
      /** False when this very process is known not to take steers, whatever the adapter can do in general. */
      readonly steerable?: boolean
    }
  | { readonly kind: 'text'; readonly text: string; readonly subagent?: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  | {
      readonly kind: 'toolStarted'
      readonly id: string
      readonly name: string
      readonly input: unknown
      readonly subagent?: string
    }
  | { readonly kind: 'toolEnded'; readonly id: string; readonly output: string; readonly isError: boolean }
  /** The agent's endpoint accepted it: proves nothing about the model. */
  | { readonly kind: 'steerSent'; readonly steerId: string }
  /** It went into the model's input. */
  | { readonly kind: 'steerTaken'; readonly steerId: string; readonly evidence: EvidenceKind; readonly detail?: string }
  /** The model produced output after it. Without this signal the next text or tool call counts as that output. */
  | { readonly kind: 'steerAnswered'; readonly steerId: string; readonly evidence: EvidenceKind }
  | { readonly kind: 'steerRefused'; readonly steerId: string; readonly reason: string }
  /** It was dropped unread. */
  | { readonly kind: 'steerGivenBack'; readonly steerId: string }
  | { readonly kind: 'asked'; readonly requestId: string; readonly ask: Ask }
  /** The agent no longer wants to know. */
  | { readonly kind: 'askEnded'; readonly requestId: string }
  | ({ readonly kind: 'usage' } & Usage)
  /** A turn is over and the agent reports on it. `ok` is its claim. */
  | {
      readonly kind: 'result'
      readonly ok: boolean
      readonly summary?: string
      /** The structured object the agent returned, if it returned one. */
      readonly output?: unknown
      /** Why it is not ok, in the agent's words. */
      readonly reason?: string
      /** Work of the agent's own that goes on in the background after this turn. */
      readonly backgroundTasks?: number
      /** It ended because a ceiling it was given was reached; in words. */
      readonly limit?: string
    }
  /** Something about the agent a person should see, e.g. retries or a rate limit. `null` clears it. */
  | {
      readonly kind: 'condition'
      readonly condition:
        | null
        /** `until` as ISO 8601, or `forMs` from the moment it was said. */
        | { readonly name: string; readonly words: string; readonly until?: string; readonly forMs?: number }
    }
  /** The adapter's protocol owes an answer: write these frames, unless we are only refolding the past. */
  | { readonly kind: 'reply'; readonly frames: readonly Outgoing[] }
  /** Not understood: kept, counted, shown dimmed. */
  | { readonly kind: 'noise'; readonly text: string }

/** Something to hand to the agent: a frame on its stdin, or one line appended to a file of its control folder. */
export type Outgoing =
  | { readonly to: 'stdin'; readonly text: string }
  | { readonly to: 'controlFile'; readonly name: string; readonly line: string }
