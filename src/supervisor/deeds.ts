// The lines of the audit trail: who did what to which child, and what came of it.
import { currentAttempt, totalUsage, type Child } from '../core/child'
import type { Verdict } from '../core/events'
import type { Caller } from '../core/ownership'
import { plainLine } from '../core/plainText'
import { describeResult } from '../core/verdict'
import type { Deed } from '../record/audit'
import type { ChildResult } from './results'
import type { Tools } from './tools'

export class Deeds {
  constructor(private readonly tools: Pick<Tools, 'audit' | 'now' | 'log'>) {}

  verdict(id: string, { status, disposition, round, attempt, checks, notes }: Verdict): void {
    const open = checks.filter((check) => check.result !== 'PASS').map((check) => plainLine(describeResult(check), 300))
    const what = disposition === 'retry' ? 'asked again' : 'judged'
    this.record({ who: 'policy', what, child: id, round, attempt, status, disposition, not_passed: open, notes })
  }

  /** `result`: null when the round had settled before, or is only paused. */
  completion(child: Child, result: ChildResult | null): void {
    const attempt = currentAttempt(child)
    // A round that settled before has its line.
    if (result === null && !child.paused) return
    const usage = totalUsage(child)
    this.record({
      timestamp: this.tools.now().toISOString(),
      who: 'coxswain',
      what: child.paused ? 'paused' : 'completed',
      child: child.id,
      parent_session: child.parentSession,
      child_session: child.sessionId,
      round: child.round,
      attempt: attempt?.n ?? 0,
      delegate_goal: plainLine(child.task.goal, 500),
      contract_deliverables: child.task.contract.deliverables ?? [],
      contract_hash: child.task.contract.hash ?? null,
      phase: child.phase,
      status: child.verdict?.status ?? 'unverified',
      disposition: child.verdict?.disposition ?? null,
      verification_notes: child.verdict?.notes ?? [],
      raw_summary_length: attempt?.report?.summary?.length ?? 0,
      duration_s: attempt?.exit ? attempt.exit.durationMs / 1000 : null,
      tokens: usage.inputTokens + usage.outputTokens,
      cost_usd: usage.costUsd,
      result_hash: result?.result_hash ?? null,
    })
  }

  /** A deed for the audit trail. A trail that cannot be written is told, and the deed stands. */
  record(deed: Deed): void {
    const { tools } = this
    tools.audit
      .add(deed)
      .catch((error: unknown) => tools.log('error', 'the audit trail could not be written', { error: String(error) }))
  }
}

export const whoOf = (caller: Caller): string => (caller.kind === 'person' ? 'person' : `parent ${caller.session}`)
