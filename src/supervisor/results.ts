// The result of a round: the same object each time it is asked for, bounded, with a hash that depends on the outcome only.
import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonicalJson'
import { currentAttempt, totalUsage, type Child } from '../core/child'
import type { Verdict } from '../core/events'
import type { ChildPaths, StorePaths } from '../record/paths'
import { readText } from '../record/readFile'
import type { WorktreeState } from './tools'
import { worktreeFacts, type WorktreeFacts } from './worktreeFacts'

/** As `result --json` and a completion show it. */
export interface ChildResult {
  readonly subagent_id: string
  readonly title: string
  readonly round: number
  readonly attempt: number
  readonly phase: Child['phase']
  readonly report: {
    readonly ok: boolean
    readonly summary: string | null
    readonly output: unknown
    readonly reason: string | null
  } | null
  readonly verdict: Verdict | null
  readonly missed_steers: readonly { readonly steer_id: string; readonly text: string }[]
  /** Something is missing: it did not end as a success. */
  readonly partial: boolean
  readonly duration_s: number | null
  readonly tokens: number
  readonly cost_usd: number | null
  readonly worktree: WorktreeFacts | null
  readonly exit: {
    readonly code: number | null
    readonly signal: string | null
    readonly first_cause: string | null
  } | null
  readonly stderr_tail: string | null
  readonly failure: string | null
  readonly result_hash: string
  /** A file with all of the report's summary, where that is long. */
  readonly summary_file: string | null
  readonly transcript: string
}

/** `state`: null when the worktree could not be read. `treeHash`: null when there is none. */
export function resultOf(
  child: Child,
  paths: ChildPaths,
  state: WorktreeState | null,
  treeHash: string | null,
): ChildResult {
  const attempt = currentAttempt(child)
  const report = attempt?.report ?? null
  const usage = totalUsage(child)
  const failedStart = child.notes.filter((note) => note.level === 'error').map((note) => note.text)[0]
  const shown =
    report === null
      ? null
      : {
          ok: report.ok,
          summary: report.summary,
          output: report.output ?? null,
          reason: report.reason,
        }
  const missed = child.steers
    .filter((steer) => steer.state === 'missed')
    .map((steer) => ({ steer_id: steer.id, text: steer.text }))
  const outcome = {
    phase: child.phase,
    report: shown,
    verdict:
      child.verdict === null
        ? null
        : {
            status: child.verdict.status,
            checks: child.verdict.checks.map(({ check, result }) => ({ check, result })),
          },
    missed: missed.map((steer) => steer.text),
    tree: treeHash,
  }
  return {
    subagent_id: child.id,
    title: child.title,
    round: child.round,
    attempt: attempt?.n ?? 0,
    phase: child.phase,
    report: shown,
    verdict: child.verdict,
    missed_steers: missed,
    partial: child.phase !== 'SUCCESS' || child.verdict?.disposition === 'partial',
    duration_s: attempt?.exit ? attempt.exit.durationMs / 1000 : null,
    tokens: usage.inputTokens + usage.outputTokens,
    cost_usd: usage.costUsd,
    worktree: worktreeFacts(child, state),
    exit: attempt?.exit
      ? { code: attempt.exit.code, signal: attempt.exit.signal, first_cause: attempt.exit.firstCause }
      : null,
    stderr_tail: attempt?.stderrTail ?? attempt?.startFailure?.diagnostic ?? child.setup?.diagnostic ?? null,
    failure: failureInWords(child) ?? failedStart ?? null,
    result_hash: createHash('sha256').update(canonicalJson(outcome)).digest('hex'),
    summary_file: report === null || report.wholeText === null ? null : paths.wholeText(report.wholeText),
    transcript: child.liveTranscript,
  }
}

/** A round's result; undefined until it is there. */
export async function readResult(paths: StorePaths, child: Child, round: number): Promise<ChildResult | undefined> {
  return child.completions.some((completion) => completion.round === round)
    ? await settledResult(paths, child, round)
    : undefined
}

/**
 * The result of a round that has one. One that is not in the store any more, or is damaged, leaves its child unknown, and
 * says so. Rejects while the system does not let it be read: it may yet.
 */
export async function settledResult(paths: StorePaths, child: Child, round: number): Promise<ChildResult> {
  const path = paths.child(child.id).result(round)
  try {
    return resultIn(await readText(path), child, round)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== undefined && !neverRead.has(code)) throw error
    const why =
      code === 'ENOENT'
        ? 'The result of this round is not in the store any more. Results are kept for as long as coxswain.keepFinishedDays says; its worktree and branch are not removed.'
        : `The result of this round cannot be read: ${path} is damaged. Its worktree and branch are as they were.`
    return unknownResult(child, round, why)
  }
}

/** What stands there is no file, and no further try will find one. */
const neverRead = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'])

/** Throws when `text` is none of this child's round. */
function resultIn(text: string, child: Child, round: number): ChildResult {
  const result = JSON.parse(text) as Partial<ChildResult> | null
  if (result?.subagent_id !== child.id || result.round !== round) throw new Error('It is the result of something else.')
  return result as ChildResult
}

function unknownResult(child: Child, round: number, failure: string): ChildResult {
  return {
    subagent_id: child.id,
    title: child.title,
    round,
    attempt: child.attempts.filter((attempt) => attempt.round === round).at(-1)?.n ?? 0,
    phase: 'UNKNOWN',
    report: null,
    verdict: null,
    missed_steers: [],
    partial: true,
    duration_s: null,
    tokens: 0,
    cost_usd: null,
    worktree: null,
    exit: null,
    stderr_tail: null,
    failure,
    result_hash: '',
    summary_file: null,
    transcript: child.liveTranscript,
  }
}

/** Why it did not succeed, for people; null when there is nothing to say. */
function failureInWords(child: Child): string | null {
  const attempt = currentAttempt(child)
  if (attempt === undefined && child.setup?.outcome === 'failed') {
    const { words, diagnostic } = child.setup
    return `${words ?? ''}${diagnostic === null ? '' : `\nChild stderr tail:\n${diagnostic}`}`
  }
  if (attempt === undefined || attempt.ended === null) return null
  if (attempt.startFailure !== null) return attempt.startFailure.reason
  if (attempt.ended === 'FAILURE') {
    const reason =
      attempt.report?.ok === false ? (attempt.report.reason ?? attempt.report.summary ?? 'it reported failure') : null
    const code = attempt.exit?.code ?? null
    if (code !== null && code !== 0) {
      const tail = attempt.stderrTail === null ? '' : `\nChild stderr tail:\n${attempt.stderrTail}`
      return `Process exited with code ${code}${reason === null ? '' : `: ${reason}`}${tail}`
    }
    return reason ?? 'It ended without a report.'
  }
  if (attempt.ended === 'INTERRUPTED') {
    if (attempt.endRequest !== null) return attempt.endRequest.reason
    if (attempt.exit?.signal) return `Killed by ${attempt.exit.signal}, by somebody else.`
    return attempt.vanished
  }
  return null
}
