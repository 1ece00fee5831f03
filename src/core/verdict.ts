// What follows from what verification found: one status, one disposition, and the exact next turn when the child is
// asked again. A pure, bounded tree; it reads no file and starts nothing, and nothing an agent printed is evidence here.
import { canonicalJson } from './canonicalJson'
import type { EndedPhase } from './child'
import { describeCheck, type Check, type Contract } from './contract'
import type { CheckResult, Verdict } from './events'

/** What was seen in the worktree and in the report; made by verification, judged here. */
export interface Findings {
  readonly report:
    | { readonly kind: 'not demanded' }
    /** `extracted`: another model restructured it once, at a person's wish. */
    | { readonly kind: 'parsed'; readonly extracted: boolean }
    | { readonly kind: 'unreadable'; readonly complaint: string }
    /** It ended without saying that it was through. */
    | { readonly kind: 'absent' }
  /** Deliverables that were not declared or are not there, each with a reason. */
  readonly missing: readonly { readonly name: string; readonly reason: string }[]
  /** Deliverables first, then the contract's checks in its order. */
  readonly checks: readonly CheckResult[]
  /** Tracked files and deliverables before and after the checks. */
  readonly tree: 'same' | 'changed' | 'unknown'
  readonly notes: readonly string[]
}

/** What the record says of the attempt that has ended. */
export interface Situation {
  readonly phase: EndedPhase
  readonly claimed: 'success' | 'failure' | 'nothing'
  readonly round: number
  readonly attempt: number
  /** This child's former verdicts, any round. */
  readonly earlier: readonly Verdict[]
  /** Ability to resume, spend ceiling, a person's decision: whoever knows says so in words. */
  readonly askAgain: { readonly possible: true } | { readonly possible: false; readonly why: string }
}

export interface Judgement {
  readonly verdict: Verdict
  /** The user turn of the next attempt of this round; null unless the disposition is `retry`. */
  readonly nextTurn: string | null
}

type Status = Verdict['status']
type Disposition = Verdict['disposition']

/** The decision tree, first match wins. `worktree` is absolute and only named in the next turn. */
export function judge(contract: Contract, findings: Findings, situation: Situation, worktree: string): Judgement {
  const notes = [...findings.notes]
  const end = (status: Status, disposition: Disposition, nextTurn: string | null = null): Judgement => ({
    verdict: {
      status,
      disposition,
      round: situation.round,
      attempt: situation.attempt,
      checks: [...findings.checks],
      notes,
    },
    nextTurn,
  })
  /** A person has called it off and knows; nobody else need be told. */
  const toPerson: Disposition = situation.phase === 'CANCELLED' ? 'partial' : 'escalate'
  if (contract.level === 'none') {
    notes.push('no contract: nothing was checked')
    return end('unverified', 'accept')
  }
  if (findings.report.kind === 'parsed' && findings.report.extracted)
    notes.push('extracted: the report was restructured by another model; nothing in it is evidence')
  if (findings.report.kind === 'unreadable') notes.push(unreadable + findings.report.complaint)
  if (situation.claimed === 'failure') notes.push('the agent itself reported a failure')
  if (findings.tree === 'changed') {
    notes.push('files changed while the checks ran; verify again when nothing writes to the worktree')
    return end('stale', toPerson)
  }
  const failed = findings.checks.filter((check) => check.result === 'FAIL')
  if (failed.some((check) => !check.recoverable)) return end('failed', toPerson)

  const tryAgain = (status: Retried, turn: string): Judgement => {
    const { whyNot, used, allowed } = retry(contract, situation, status)
    if (whyNot !== null) {
      notes.push(whyNot)
      return end(status, 'partial')
    }
    notes.push(`asked again, ${used + 1} of ${allowed}`)
    return end(status, 'retry', turn)
  }

  switch (findings.report.kind) {
    case 'unreadable':
      return tryAgain('parse_error', unreadableTurn(contract, findings.report.complaint))
    case 'absent':
      if (situation.phase === 'SUCCESS' || situation.phase === 'FAILURE')
        return tryAgain('parse_error', absentTurn(contract))
      notes.push('it ended before it reported')
      return end(failed.length > 0 ? 'failed' : 'incomplete', 'partial')
    case 'parsed':
    case 'not demanded':
      break
  }
  if (findings.missing.length > 0) return tryAgain('incomplete', missingTurn(contract, findings.missing, worktree))
  if (failed.length > 0) return tryAgain('failed', failedTurn(contract, failed, worktree))
  if (findings.tree === 'unknown') {
    notes.push('whether files changed while the checks ran could not be found out')
    return end('unverified', toPerson)
  }
  if (findings.checks.some((check) => check.result === 'UNKNOWN')) return end('unverified', toPerson)
  if (findings.checks.length === 0) {
    notes.push('nothing in this contract can be checked by a machine')
    return end('unverified', contract.level === 'light' ? 'accept' : toPerson)
  }
  return end('verified', 'accept')
}

type Retried = 'parse_error' | 'incomplete' | 'failed'

/** Whether the child may be asked again for this reason, and the how-manieth of how many times that would be. */
function retry(contract: Contract, situation: Situation, status: Retried) {
  const allowed = status === 'failed' ? contract.maxRetries : Math.min(1, contract.maxRetries)
  const used = retriesUsed(situation.earlier, situation.round, status)
  return { allowed, used, whyNot: refusal(situation, allowed, used, contract) }
}

/** True when a report that cannot be read is not asked for again: then another model may restructure it. */
export function isLastReport(contract: Contract, situation: Situation): boolean {
  return retry(contract, situation, 'parse_error').whyNot !== null
}

/** How many times this round has been asked again for this reason. A verdict repeated on one attempt counts once. */
function retriesUsed(earlier: readonly Verdict[], round: number, status: Status): number {
  return new Set(
    earlier
      .filter((verdict) => verdict.round === round && verdict.status === status && verdict.disposition === 'retry')
      .map((verdict) => verdict.attempt),
  ).size
}

/** The words for a check result's subject: a deliverable by name, a check by what it asks. */
export function describeResult(result: CheckResult): string {
  const deliverable = result.check['deliverable']
  if (typeof deliverable === 'string') return `deliverable ${deliverable}`
  return describeCheck(result.check as unknown as Check)
}

/** How a verdict says that the report could not be read; the complaint follows. */
const unreadable = 'the report could not be read: '

/**
 * The user turn with which a person has a child asked again: exactly what this verdict found wrong; null when it found
 * nothing wrong.
 */
export function complaintOf(contract: Contract, verdict: Verdict, worktree: string): string | null {
  if (verdict.status === 'parse_error') {
    const note = verdict.notes.find((each) => each.startsWith(unreadable))
    return note === undefined ? absentTurn(contract) : unreadableTurn(contract, note.slice(unreadable.length))
  }
  const open = verdict.checks.filter((check) => check.result !== 'PASS')
  if (open.length === 0) return null
  const missing = open.flatMap(({ check, reason }) =>
    typeof check['deliverable'] === 'string' ? [{ name: check['deliverable'], reason }] : [],
  )
  return verdict.status === 'incomplete' && missing.length > 0
    ? missingTurn(contract, missing, worktree)
    : failedTurn(contract, open, worktree)
}

/** One line for tree, transcript and notices, e.g. "failed: 2 of 6 checks, asked again". */
export function describeVerdict(verdict: Verdict): string {
  const count = (result: CheckResult['result']) => verdict.checks.filter((check) => check.result === result).length
  const total = verdict.checks.length
  const checks = `${total} ${total === 1 ? 'check' : 'checks'}`
  const facts: Record<Status, string> = {
    verified: `verified: ${total === 1 ? 'its one check passes' : `all ${checks} pass`}`,
    failed: `failed: ${count('FAIL')} of ${checks}`,
    incomplete: 'incomplete: a deliverable is missing',
    parse_error: 'its report could not be read',
    unverified:
      total === 0
        ? 'unverified: nothing was checked'
        : `unverified: ${count('UNKNOWN')} of ${checks} could not be decided`,
    stale: 'stale: files changed while the checks ran',
  }
  const then: Record<Disposition, string> = {
    accept: '',
    retry: ', asked again',
    partial: ', partial',
    escalate: ', a person must decide',
  }
  return facts[verdict.status] + then[verdict.disposition]
}

/**
 * The text whose SHA-256 is a result's `resultHash`: no absolute paths, ids, times or cost of ours are in it, so the same
 * outcome hashes the same everywhere.
 */
export function resultText(result: {
  readonly phase: EndedPhase
  readonly report: { readonly ok: boolean; readonly summary: string | null; readonly output: unknown } | null
  readonly verdict: Verdict | null
  readonly missedSteers: readonly string[]
  readonly treeHash: string | null
}): string {
  const { report, verdict } = result
  return canonicalJson({
    phase: result.phase,
    report: report === null ? null : { ok: report.ok, summary: report.summary, output: report.output ?? null },
    verdict:
      verdict === null
        ? null
        : { status: verdict.status, checks: verdict.checks.map(({ check, result }) => ({ check, result })) },
    missedSteers: result.missedSteers,
    treeHash: result.treeHash,
  })
}

/** Names of the checks an override must name before a partial or failed result may be applied. */
export function checksToOverride(verdict: Verdict): readonly string[] {
  const open = verdict.checks.filter((check) => check.result !== 'PASS').map(describeResult)
  return open.length > 0
    ? open
    : verdict.status === 'verified' || verdict.disposition === 'accept'
      ? []
      : [verdict.status]
}

function refusal(situation: Situation, allowed: number, used: number, contract: Contract): string | null {
  if (contract.level === 'light') return 'a light contract never asks again'
  if (contract.maxRetries === 0) return 'not asked again: maxRetries is 0'
  if (situation.phase !== 'SUCCESS' && situation.phase !== 'FAILURE') return 'not asked again: it was called off'
  if (situation.claimed === 'failure') return 'not asked again: only a claimed success is questioned'
  if (!situation.askAgain.possible) return `cannot be asked again: ${situation.askAgain.why}`
  if (used >= allowed) return `not asked again: ${used} of ${allowed} ${allowed === 1 ? 'retry' : 'retries'} used`
  return null
}

/** The object that a report of this contract is, with marks where the child's own words go. */
export function example(contract: Contract): string {
  const artifacts = Object.fromEntries(
    contract.deliverables.map(({ name, kind, path }) => [
      name,
      kind === 'file' ? (path ?? '<path>') : kind === 'inline' ? '<content>' : '<address>',
    ]),
  )
  return JSON.stringify({ artifacts, summary: '<what you did and what is left>' })
}

function unreadableTurn(contract: Contract, complaint: string): string {
  return [
    'Your last message could not be read. The output must be JSON: exactly one object, with nothing before it, nothing after it and no code fence.',
    `The complaint was: ${complaint}`,
    'Do not redo the work. Answer with this object and nothing else:',
    example(contract),
  ].join('\n')
}

function absentTurn(contract: Contract): string {
  return [
    'You ended without a result. If work is left, finish it; then answer with exactly one JSON object and nothing else:',
    example(contract),
  ].join('\n')
}

function missingTurn(contract: Contract, missing: Findings['missing'], worktree: string): string {
  return [
    `${missing.length === 1 ? 'One deliverable is' : `${missing.length} deliverables are`} missing. Looked for in ${worktree}:`,
    ...missing.map(({ name, reason }) => `- ${name}: ${reason}`),
    'Deliver exactly what is listed and change nothing else. Then answer with one JSON object that names every deliverable, and nothing else:',
    example(contract),
  ].join('\n')
}

function failedTurn(contract: Contract, failed: readonly CheckResult[], worktree: string): string {
  const how = failed.every(({ result }) => result === 'FAIL') ? 'failed' : 'did not pass'
  const lines = [
    `${failed.length === 1 ? 'One check' : `${failed.length} checks`} ${how} on the real files in ${worktree}:`,
  ]
  for (const result of failed) {
    lines.push(`- ${describeResult(result)}: ${result.reason}`)
    if (result.evidence !== undefined)
      lines.push(
        ...result.evidence
          .slice(-2_000)
          .split('\n')
          .map((line) => `  | ${line}`),
      )
  }
  lines.push('Fix exactly this and change nothing else; do not change the checks.')
  if (contract.level === 'full') lines.push('Then answer with one JSON object, and nothing else:', example(contract))
  return lines.join('\n')
}
