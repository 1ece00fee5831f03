// Brings a child's frozen contract, its report and its worktree together for verification, with git's facts and a runner
// for command checks. The contract is read from the store, never from the worktree.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ceilingReached } from '../core/budget'
import { currentAttempt, type Child } from '../core/child'
import { contractPrompt, noContract, outputSchema, thawContract, type Contract } from '../core/contract'
import type { Verdict } from '../core/events'
import { complaintOf, isLastReport } from '../core/verdict'
import { worktreeFacts } from '../git/facts'
import type { Git } from '../git/git'
import type { KnownWorktree } from '../git/view'
import { baseEnvironmentNames, pickEnvironment } from '../process/environment'
import { commandMarker, runCommand } from '../process/runCommand'
import type { StorePaths } from '../record/paths'
import { claimedBy, complaintOfReport, verify, type ClaimedReport } from '../verification/verify'
import type { World } from '../verification/world'
import { restructure, type Extractor, type Restructured } from './extractor'
import type { Problem } from './problem'
import { treeOf } from './verdictTree'

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export interface VerifyParts {
  readonly git: Git
  readonly paths: StorePaths
  readonly workerFile: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Hosts besides this machine that a check may ask. */
  readonly allowedHosts: readonly string[]
  /** Verdicts of this child so far, oldest first. */
  readonly earlier: readonly Verdict[]
  /** Who restructures a report that stays unreadable; null when nobody was chosen. */
  readonly extractor: () => Promise<Extractor | Problem | null>
}

/** The child's contract as it was frozen. Throws when the stored one is not the one the child was given. */
export async function contractOf(paths: StorePaths, child: Child): Promise<Contract> {
  const { level, hash } = child.task.contract
  if (level === 'none' || hash === undefined) return noContract
  const text = await readFile(paths.child(child.id).contract, 'utf8')
  const thawed = thawContract({ text, hash }, sha256)
  if (!thawed.ok) throw new Error(`The contract of "${child.title}" cannot be used: ${thawed.reason}.`)
  return thawed.contract
}

export async function promptPart(paths: StorePaths, child: Child): Promise<{ text: string; outputSchema: unknown }> {
  const contract = await contractOf(paths, child)
  return { text: contractPrompt(contract, child.worktree?.path ?? ''), outputSchema: outputSchema(contract) }
}

/** Never rejects for what the worktree holds. */
export async function verifyChild(
  child: Child,
  parts: VerifyParts,
): Promise<{ verdict: Verdict; retryMessage: string | null }> {
  const attempt = currentAttempt(child)
  const { worktree } = child
  if (attempt === undefined || attempt.ended === null || worktree === null) throw new Error('nothing to verify')
  const known = knownWorktree(child)
  if (known === undefined) throw new Error('nothing to verify')
  const { report } = attempt
  let contract: Contract
  try {
    contract = await contractOf(parts.paths, child)
  } catch (error) {
    // Whoever changed the stored contract gains nothing by it: what cannot be checked is no pass.
    return { verdict: unchecked(child.round, attempt.n, messageOf(error)), retryMessage: null }
  }
  const claim = report === null ? null : { ok: report.ok, summary: report.summary, output: report.output ?? null }
  const situation = {
    phase: attempt.ended,
    round: child.round,
    attempt: attempt.n,
    earlier: parts.earlier,
    askAgain: askAgain(child),
  }
  const isUnreadable = claim !== null && complaintOfReport(contract, claim) !== null
  const isLast = isLastReport(contract, { ...situation, claimed: claimedBy(claim) })
  const extracted = isUnreadable && isLast ? await restructured(child, contract, claim, parts) : null
  const { verdict, nextTurn } = await verify({
    contract,
    report: claim,
    ...(extracted?.object ? { extracted: extracted.object } : {}),
    worktree: worktree.path,
    firstLaunchedAt: child.attempts[0]?.launchingAt ?? child.acceptedAt,
    situation,
    world: worldOf(parts, known),
    limits: { allowedHosts: parts.allowedHosts },
    workerFile: parts.workerFile,
  })
  const tree = await treeOf(parts.git, known, verdict)
  const notes = extracted === null ? verdict.notes : [...verdict.notes, extracted.note]
  return { verdict: { ...verdict, notes, ...(tree === null ? {} : { tree }) }, retryMessage: nextTurn }
}

async function restructured(
  child: Child,
  contract: Contract,
  { summary, output }: ClaimedReport,
  { extractor, paths }: VerifyParts,
): Promise<Restructured | null> {
  const asked = await extractor()
  if (asked === null) return null
  const spent = ceilingReached(child)
  const whyNot = 'message' in asked ? asked.message : spent
  if ('message' in asked || whyNot !== null) return { object: null, note: `the report was not restructured: ${whyNot}` }
  const text = typeof output === 'string' ? output : (summary ?? '')
  return await restructure(child, currentAttempt(child)?.n ?? 0, contract, text, asked, paths)
}

/** A retry is an act of our own: it needs an agent that can go on, and what is left of the child's tokens and money. */
function askAgain(child: Child): { readonly possible: true } | { readonly possible: false; readonly why: string } {
  const { label, abilities } = child.task.recipe
  // A person looks again at a round that has settled: nothing starts by itself.
  if (!child.verifying) return { possible: false, why: 'its round has settled; asking again is a person’s to say' }
  if (!abilities.resume) return { possible: false, why: `${label} cannot resume its session` }
  const spent = ceilingReached(child)
  return spent === null
    ? { possible: true }
    : { possible: false, why: `${spent}, and nothing is done by itself beyond that` }
}

/** The verdict of work whose checks were not run. */
export function unchecked(round: number, attempt: number, why: string): Verdict {
  return { status: 'unverified', disposition: 'escalate', round, attempt, checks: [], notes: [why] }
}

/** What a child is told when a person has it asked again; null when its verdict found nothing wrong. */
export async function complaint(paths: StorePaths, child: Child): Promise<string | null> {
  if (child.verdict === null) return null
  return complaintOf(await contractOf(paths, child), child.verdict, child.worktree?.path ?? '')
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The name under which a store's owner runs the commands of contracts. */
export const checksOf = (paths: StorePaths): string => sha256(paths.root).slice(0, 16)

function worldOf({ git, environment, paths }: VerifyParts, known: KnownWorktree): World {
  return {
    run: ({ argv, cwd, timeoutMs, outputCapBytes, signal }) =>
      runCommand({
        argv,
        cwd,
        timeoutMs,
        outputCapBytes,
        environment: pickEnvironment(environment, baseEnvironmentNames),
        marker: commandMarker(checksOf(paths)),
        ...(signal === undefined ? {} : { signal }),
      }),
    ...worktreeFacts(git, known),
  }
}

/** What git needs to know a child's worktree again; undefined when it has none. */
export function knownWorktree(child: Child, commonDir?: string): KnownWorktree | undefined {
  const { worktree } = child
  if (worktree === null) return undefined
  const { path, branch, base } = worktree
  return { path, branch, base, childId: child.id, ...(commonDir === undefined ? {} : { commonDir }) }
}
