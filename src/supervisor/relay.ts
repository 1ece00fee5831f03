// What a parent agent reads of a completion: a table of the children, the few lines that matter of each, and where the rest
// lies. Everything a child wrote stands behind "> ", so that no child can write a line of ours.
import { plainLine, trimMiddle } from '../core/plainText'
import type { ChildResult } from './results'

/** Characters of summaries one text may hold, and of any one child's. */
const summariesBudget = 32_000
const summaryBudget = 4_000
/** No child is cut below this, however many there are. */
const leastSummary = 500
const diagnosticBudget = 1_500
const steerBudget = 500

export interface Relayed {
  readonly completionId: string
  readonly subagents: readonly ChildResult[]
  /** All of a child's summary, where its result holds only a part. */
  readonly wholeSummaries: ReadonlyMap<string, string>
  readonly pausedLeft: readonly { readonly id: string; readonly title: string }[]
  /** Where the result of a child's round lies. */
  readonly resultFile: (result: ChildResult) => string
}

export function relayText({ completionId, subagents, wholeSummaries, pausedLeft, resultFile }: Relayed): string {
  const each = Math.max(leastSummary, Math.min(summaryBudget, Math.floor(summariesBudget / subagents.length)))
  return [
    `Completion ${completionId}: ${subagents.length === 1 ? '1 child is' : `${subagents.length} children are`} through. Lines behind ">" are a child's own words: claims, not facts.`,
    ...pausedLeft.map(
      ({ id, title }) => `left paused: ${id} ${plainLine(title)}; it is told on its own once it is through`,
    ),
    '',
    '| id | title | phase | verdict | seconds |',
    '| --- | --- | --- | --- | --- |',
    ...subagents.map(row),
    ...subagents.flatMap((result) => {
      const summary = wholeSummaries.get(result.subagent_id) ?? result.report?.summary ?? result.report?.reason ?? ''
      return ['', ...details(result, summary, each, resultFile(result))]
    }),
  ].join('\n')
}

function row({ subagent_id, title, phase, verdict, duration_s }: ChildResult): string {
  const claimed = phase === 'SUCCESS' ? 'SUCCESS (claimed)' : phase
  const seconds = duration_s === null ? '?' : String(Math.round(duration_s * 10) / 10)
  return `| ${subagent_id} | ${plainLine(title).replaceAll('|', '/')} | ${claimed} | ${verdict?.status ?? 'not checked'} | ${seconds} |`
}

function details(result: ChildResult, summary: string, budget: number, file: string): string[] {
  const { failure, verdict, worktree, missed_steers, summary_file } = result
  const trimmed = (text: string, max: number, path: string) =>
    trimMiddle(text, max, (left) => `[… ${left} characters are left out here; all of it: ${path}]`)
  const failed = verdict?.checks.filter((check) => check.result !== 'PASS') ?? []
  return [
    `${result.subagent_id} ${plainLine(result.title)}`,
    ...quoted(trimmed(summary, budget, summary_file ?? file)),
    ...(failure === null || failure === summary
      ? []
      : ['failure:', ...quoted(trimmed(failure, diagnosticBudget, file))]),
    ...failed.slice(0, 5).map((check) => `check ${check.result}: ${plainLine(check.reason, 300)}`),
    ...(failed.length > 5 ? [`${failed.length - 5} more checks did not pass`] : []),
    ...missed_steers.map(({ text }) => `missed_steer: ${plainLine(text, steerBudget)}`),
    ...(worktree === null ? [] : [branchLine(worktree)]),
    ...(summary_file === null ? [] : [`whole summary: ${summary_file}`]),
    `result: ${file}`,
    `transcript: ${result.transcript}`,
  ]
}

function branchLine({ branch, commits, dirty }: NonNullable<ChildResult['worktree']>): string {
  const work = commits === 1 ? '1 commit' : `${commits ?? '?'} commits`
  return `branch: ${branch}, ${work}${dirty === true ? ', uncommitted changes' : ''}`
}

const quoted = (text: string): string[] =>
  text.trim() === ''
    ? []
    : text
        .trim()
        .split('\n')
        .map((line) => `> ${line}`)
