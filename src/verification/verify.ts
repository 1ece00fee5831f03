// The one entry: what a child claims, held against the files it left. Looks, has the findings judged, and says what was
// found; it changes nothing, starts nothing by itself, and never believes the report.
import { posix } from 'node:path'
import { allChecks, demandsReport, kinded, type Check, type Contract, type Deliverable } from '../core/contract'
import type { CheckResult } from '../core/events'
import { plainLine } from '../core/plainText'
import { judge, type Findings, type Judgement, type Situation } from '../core/verdict'
import { looksAtGit, result, runCheck, type Bench, type Place } from './checks'
import type { Finding } from './content'
import { ContentReader } from './contentReader'
import { extractObject, type Extraction } from './extract'
import { bytes, findInside, openRoot, readInside, type Root } from './safePath'
import { changedSince, stampTree } from './treeStamp'
import { defaultLimits, within, type Limits, type World } from './world'

/** The last report of the attempt that counts; null when it ended without one. */
export interface ClaimedReport {
  readonly ok: boolean
  readonly summary: string | null
  /** The structured object the agent's own protocol returned, if it did. */
  readonly output: unknown
}

export interface Verification {
  readonly contract: Contract
  readonly report: ClaimedReport | null
  /** The object another model made of an unreadable report, where a person chose to have that done. */
  readonly extracted?: Readonly<Record<string, unknown>>
  /** Absolute; paths of the contract are relative to it. */
  readonly worktree: string
  /** Before this child's first process was started: ISO 8601, of the same clock as the disk's. */
  readonly firstLaunchedAt: string
  readonly situation: Omit<Situation, 'claimed'>
  readonly world: World
  readonly limits?: Partial<Limits>
  /** The bundled contentWorker, absolute. */
  readonly workerFile: string
  /** Ends it early: what has not run by then is UNKNOWN. */
  readonly signal?: AbortSignal
}

/** What is wrong with a report that was demanded and given and that nobody can read; else null. */
export function complaintOfReport(contract: Contract, report: ClaimedReport | null): string | null {
  const read = demandsReport(contract) ? readReport({ report }) : null
  return read === null || read.ok ? null : read.complaint
}

/** What a report claims by itself. */
export function claimedBy(report: ClaimedReport | null): Situation['claimed'] {
  return report === null ? 'nothing' : report.ok ? 'success' : 'failure'
}

/** Never rejects: what cannot be looked at is UNKNOWN, and UNKNOWN is not a pass. */
export async function verify(verification: Verification): Promise<Judgement> {
  const { report, situation } = verification
  const findings = await examine(verification)
  return judge(verification.contract, findings, { ...situation, claimed: claimedBy(report) }, verification.worktree)
}

/** What is there, without any conclusion. */
async function examine(verification: Verification): Promise<Findings> {
  const { contract } = verification
  if (contract.level === 'none')
    return { report: { kind: 'not demanded' }, missing: [], checks: [], tree: 'same', notes: [] }
  const limits = { ...defaultLimits, ...verification.limits }
  const extraction = demandsReport(contract) ? readReport(verification) : null
  const reader = new ContentReader(verification.workerFile, limits)
  try {
    const root = await openRoot(verification.worktree)
    return await examineWorktree(verification, root, limits, reader, extraction)
  } catch (error) {
    const reason = `the worktree ${verification.worktree} cannot be looked at: ${error instanceof Error ? error.message : String(error)}`
    const unknown: Finding = { result: 'UNKNOWN', reason, recoverable: false }
    return {
      report: reportOf(extraction, verification),
      missing: [],
      checks: [
        ...contract.deliverables.map(({ name }) => result({ deliverable: name }, unknown, undefined, 0)),
        ...allChecks(contract).map((check) => result({ ...check }, unknown, undefined, 0)),
      ],
      tree: 'unknown',
      notes: [reason],
    }
  } finally {
    await reader.dispose()
  }
}

async function examineWorktree(
  verification: Verification,
  root: Root,
  limits: Limits,
  reader: ContentReader,
  extraction: Extraction | null,
): Promise<Findings> {
  const { contract, signal } = verification
  const notes: string[] = []
  const output = extraction?.ok === true ? extraction.value : undefined
  const world = once(verification.world)
  const places = new Map(
    contract.deliverables.map((deliverable) => [
      deliverable.name,
      placeOf(deliverable, output, verification, root, notes),
    ]),
  )
  const bench: Bench = {
    root,
    world,
    limits,
    reader,
    output,
    resolve: (path) => places.get(path) ?? { kind: 'file', path },
    signal,
    startedAt: Date.now(),
  }
  const checks = allChecks(contract)

  const missing: { name: string; reason: string }[] = []
  const delivered: CheckResult[] = []
  for (const deliverable of contract.deliverables) {
    const started = performance.now()
    const look = await lookFor(deliverable, bench, verification, extraction !== null, checks)
    if (look.missing !== undefined) missing.push({ name: deliverable.name, reason: look.missing })
    notes.push(...look.notes)
    const found = result({ deliverable: deliverable.name }, look.finding, look.path, performance.now() - started)
    const claim = output === undefined ? null : declared(deliverable, output, [verification.worktree, root.path])
    delivered.push(claim === null ? found : { ...found, claim: claimInWords(claim.value) })
  }

  const edited = await editedRules(contract, world, limits).catch(() => [])
  if (edited.length > 0)
    notes.push(
      `the child changed ${edited.map((path) => plainLine(path, 100)).join(', ')} in its worktree; that changes nothing: the contract was fixed before it started`,
    )
  // What git says is asked before any command of ours runs: what that leaves behind is not the child's.
  const present = delivered.flatMap((item) =>
    item.result === 'PASS' && item.location !== undefined ? [item.location.path] : [],
  )
  const before = await stampTree(root, world, present, limits, signal).catch(() => null)
  const results = new Map<Check, CheckResult>()
  for (const check of checks) if (looksAtGit(check)) results.set(check, await runCheck(check, bench))
  for (const check of checks) if (!results.has(check)) results.set(check, await runCheck(check, bench))
  const changed = before === null ? null : await changedSince(before, root, limits, signal).catch(() => null)

  const summary = verification.report?.summary ?? null
  const checked = checks.flatMap((check) => {
    const found = results.get(check)
    if (found === undefined) return []
    const claim = claimedCount(summary, found)
    return [claim === null ? found : { ...found, claim: claim.words }]
  })
  if (changed !== null && changed.length > 0)
    notes.push(
      `changed while the checks ran: ${changed
        .slice(0, 5)
        .map((path) => plainLine(path, 100))
        .join(', ')}${changed.length > 5 ? ', …' : ''}`,
    )
  notes.push(...checked.flatMap((found) => claimedCount(summary, found)?.note ?? []))
  return {
    report: reportOf(extraction, verification),
    missing,
    checks: [...delivered, ...checked],
    tree: changed === null ? 'unknown' : changed.length === 0 ? 'same' : 'changed',
    notes,
  }
}

function readReport({ report, extracted }: Pick<Verification, 'report' | 'extracted'>): Extraction | null {
  if (extracted !== undefined) return { ok: true, value: extracted, from: 'whole' }
  if (report === null) return null
  const { output, summary } = report
  if (typeof output === 'object' && output !== null && !Array.isArray(output))
    return { ok: true, value: output as Record<string, unknown>, from: 'whole' }
  return extractObject(typeof output === 'string' ? output : (summary ?? ''))
}

function reportOf(extraction: Extraction | null, { contract, extracted }: Verification): Findings['report'] {
  if (!demandsReport(contract)) return { kind: 'not demanded' }
  if (extraction === null) return { kind: 'absent' }
  if (!extraction.ok) return { kind: 'unreadable', complaint: extraction.complaint }
  return { kind: 'parsed', extracted: extracted !== undefined }
}

type Output = Readonly<Record<string, unknown>>

/** What the child gave for a deliverable: under its name, or, for a file, anywhere in `artifacts` by its path. */
function declared(deliverable: Deliverable, output: Output, worktree: readonly string[]): { value: unknown } | null {
  const artifacts = output['artifacts']
  if (typeof artifacts !== 'object' || artifacts === null) return null
  if (!Array.isArray(artifacts) && Object.hasOwn(artifacts, deliverable.name)) {
    const value = (artifacts as Record<string, unknown>)[deliverable.name]
    return value === null || value === undefined || value === '' ? null : { value }
  }
  const { path } = deliverable
  if (path === undefined) return null
  const values: readonly unknown[] = Array.isArray(artifacts)
    ? (artifacts as unknown[])
    : Object.entries(artifacts).flat()
  const found = values.find((value) => typeof value === 'string' && relativeTo(worktree, value) === path)
  return found === undefined ? null : { value: path }
}

function placeOf(
  deliverable: Deliverable,
  output: Output | undefined,
  { worktree }: Verification,
  root: Root,
  notes: string[],
): Place {
  const { name, kind } = deliverable
  const roots = [worktree, root.path]
  const claim = output === undefined ? null : declared(deliverable, output, roots)
  const value = claim?.value
  if (kind === 'file' && deliverable.path !== undefined) {
    if (typeof value === 'string' && relativeTo(roots, value) !== deliverable.path)
      notes.push(
        `the report gives ${JSON.stringify(plainLine(value, 200))} for ${name}; ${deliverable.path} was looked at`,
      )
    return { kind: 'file', path: deliverable.path }
  }
  if (claim === null)
    return { kind: 'undeclared', reason: `the report does not name ${name} in "artifacts"`, recoverable: true }
  if (kind !== 'file') return { kind: 'inline', value }
  if (typeof value !== 'string')
    return { kind: 'undeclared', reason: `the report gives no path for ${name}`, recoverable: true }
  const path = relativeTo(roots, value)
  if (path === null)
    return {
      kind: 'undeclared',
      reason: `the report gives ${JSON.stringify(plainLine(value, 200))} for ${name}, which lies outside the worktree`,
      recoverable: false,
    }
  return { kind: 'file', path }
}

/** A path as the child writes it, relative to the worktree; null when it leads outside. */
function relativeTo(worktrees: readonly string[], claimed: string): string | null {
  let path = claimed.trim()
  if (path.includes('\0')) return null
  if (path.startsWith('/')) {
    const root = worktrees.find((worktree) => path.startsWith(`${worktree}/`))
    if (root === undefined) return null
    path = path.slice(root.length + 1)
  }
  const normal = posix.normalize(path)
  if (normal === '..' || normal.startsWith('../') || normal.startsWith('/')) return null
  return normal.replace(/\/$/, '')
}

interface Look {
  readonly finding: Finding
  readonly path?: string
  /** The reason why it counts as not delivered. */
  readonly missing?: string
  readonly notes: readonly string[]
}

async function lookFor(
  deliverable: Deliverable,
  bench: Bench,
  verification: Verification,
  hasReport: boolean,
  checks: readonly Check[],
): Promise<Look> {
  const { name } = deliverable
  const place = bench.resolve(name)
  const isDeclared =
    bench.output === undefined || declared(deliverable, bench.output, [verification.worktree, bench.root.path]) !== null
  if (place.kind === 'undeclared') {
    const finding: Finding = { result: 'FAIL', reason: place.reason, recoverable: place.recoverable }
    return place.recoverable && hasReport ? { finding, missing: place.reason, notes: [] } : { finding, notes: [] }
  }
  if (place.kind === 'inline') {
    if (isObserved(deliverable, checks))
      return {
        finding: { result: 'PASS', reason: `${name} is given; a check looks at it`, recoverable: true },
        notes: [],
      }
    const what = deliverable.kind === 'url' ? 'an address' : 'content of the report'
    const reason = `${name} is ${what}, and no check looks at it`
    return { finding: { result: 'UNKNOWN', reason, recoverable: false }, notes: [] }
  }
  const { path } = place
  const found = await findInside(bench.root, path, bench.limits)
  if (!found.ok) {
    const claimed = bench.output !== undefined && isDeclared
    const reason = claimed ? `claimed, but ${found.reason}` : found.reason
    const finding: Finding = { result: 'FAIL', reason, recoverable: found.recoverable }
    return found.recoverable ? { finding, path, missing: reason, notes: [] } : { finding, path, notes: [] }
  }
  if (!isDeclared) {
    const reason = `${path} is there, but the report does not name it in "artifacts"`
    return { finding: { result: 'FAIL', reason, recoverable: true }, path, missing: reason, notes: [] }
  }
  const { size, mtimeMs, ctimeMs } = found.facts
  const evidence = `${bytes(size)}, written ${new Date(mtimeMs).toISOString()}`
  const launched = Date.parse(verification.firstLaunchedAt)
  const old = (words: string): Look => ({
    finding: { result: 'FAIL', reason: words, evidence, recoverable: true },
    path,
    notes: [],
  })
  if (mtimeMs < launched && ctimeMs < launched)
    return old(`${path} was there before the child started, and has not been touched since`)
  const same = await sameAsBase(path, bench).catch(() => null)
  if (same === true && mtimeMs < launched) return old(`${path} is the base commit's own, older than the child's start`)
  if (same === null && mtimeMs < launched) {
    const reason = `${path} is older than the child's start, and the base commit could not be asked for it`
    return { finding: { result: 'UNKNOWN', reason, evidence, recoverable: false }, path, notes: [] }
  }
  const notes = [
    ...(same === true ? [`${path} was written again, and has the same content as in the base commit`] : []),
    ...(size === 0 ? [`${path} is empty`] : []),
  ]
  return { finding: { result: 'PASS', reason: `${path} is there`, evidence, recoverable: true }, path, notes }
}

async function sameAsBase(path: string, bench: Bench): Promise<boolean> {
  const base = await within(bench.world.blobAtBase(path), bench.limits.gitMs, 'git did not answer in time')
  if (base === null) return false
  const file = await readInside(bench.root, path, bench.limits, Math.max(base.length, 1))
  return file.ok && Buffer.compare(file.bytes, base) === 0
}

/** Whether a check looks at a deliverable that is no file. One on the whole object must say something about it. */
function isObserved(deliverable: Deliverable, checks: readonly Check[]): boolean {
  const pointer = `/artifacts/${deliverable.name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return checks.some((check) => {
    const { kind, args } = kinded(check)
    switch (kind) {
      case 'file_contains':
      case 'file_exists':
      case 'sha256':
      case 'test_report':
        return args.path === deliverable.name && kind !== 'file_exists'
      case 'count_at_least':
      case 'count_at_most':
        return args.path === deliverable.name || (args.pointer + '/').startsWith(`${pointer}/`)
      case 'json_schema_ok':
        if (args.path === deliverable.name || (args.pointer + '/').startsWith(`${pointer}/`)) return true
        return args.output === true && args.pointer === '' && schemaSpeaksOf(args.schema, deliverable.name)
      case 'url_ok':
        return args.url === deliverable.name || args.url === deliverable.url
      case 'file_unchanged':
      case 'only_changed':
      case 'command':
      case 'git_committed':
        return false
    }
  })
}

function schemaSpeaksOf(schema: unknown, name: string): boolean {
  const property = (within: unknown, key: string): unknown => {
    if (typeof within !== 'object' || within === null) return undefined
    const { properties } = within as { properties?: unknown }
    if (typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, key)) return undefined
    return (properties as Record<string, unknown>)[key]
  }
  const said = property(property(schema, 'artifacts'), name)
  return (
    typeof said === 'object' &&
    said !== null &&
    Object.keys(said).some((key) => key !== 'type' && key !== 'description')
  )
}

/** A number the summary gives for what a count looked at, where it is another: "claims 14 records; found 12". */
function claimedCount(
  summary: string | null,
  { check, evidence }: CheckResult,
): { words: string; note: string } | null {
  const args = (check['count_at_least'] ?? check['count_at_most']) as { pointer: string; path?: string } | undefined
  const found = /^(\d+) in all/.exec(evidence ?? '')?.[1]
  if (summary === null || args === undefined || found === undefined) return null
  const noun = (args.pointer.split('/').pop() ?? '') || (args.path?.split('/').pop() ?? '').replace(/\.\w+$/, '')
  const stem = noun.toLowerCase().replace(/s$/, '')
  if (!/^[a-z]{3,}$/.test(stem)) return null
  const claim = new RegExp(`\\b(\\d{1,9}) (?:[a-z]{1,20} )?${stem}s?\\b`, 'i').exec(summary.slice(0, 32_000))?.[1]
  if (claim === undefined || Number(claim) === Number(found)) return null
  return { words: `${claim} ${noun}`, note: `claims ${claim} ${noun}; found ${found}` }
}

/** What the report says of a deliverable: a path or an address as it is, content by its beginning. */
function claimInWords(value: unknown): string {
  return plainLine(typeof value === 'string' ? value : JSON.stringify(value), 300)
}

/** Files of the worktree that look like the rules it is checked by, and that the child has changed. */
async function editedRules(contract: Contract, world: World, limits: Limits): Promise<readonly string[]> {
  const changed = await within(world.changedFiles(), limits.gitMs, 'git did not answer in time')
  const delivered = new Set(contract.deliverables.map(({ path }) => path))
  const usesSchema =
    contract.output !== undefined || contract.checks.some((check) => kinded(check).kind === 'json_schema_ok')
  const rules = usesSchema ? /\.coxswain\.(?:json|ya?ml)$|\.schema\.json$/i : /\.coxswain\.(?:json|ya?ml)$/i
  return changed.filter((path) => rules.test(path) && !delivered.has(path)).slice(0, 5)
}

/** Git's facts as they were first seen: the same answer to every check of one run. */
function once(world: World): World {
  const changed = lazy(() => world.changedFiles())
  const committed = lazy(() => world.committed())
  return {
    run: (request) => world.run(request),
    files: () => world.files(),
    changedFiles: changed,
    committed,
    blobAtBase: (path) => world.blobAtBase(path),
  }
}

function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}
