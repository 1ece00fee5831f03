// Runs one check of a contract on the real worktree: PASS, FAIL or UNKNOWN, with evidence and a reason a person can act
// on. A check that cannot be run is UNKNOWN. Nothing here looks at what the agent printed, but for the object it returned.
import { createHash } from 'node:crypto'
import { kinded, hiddenExit, type Check, type CheckOf } from '../core/contract'
import type { CheckResult } from '../core/events'
import { cutText, plainLine, plainText } from '../core/plainText'
import type { Finding, Question, Subject } from './content'
import type { ContentReader } from './contentReader'
import { globMatcher } from './globs'
import { bytes, eachPiece, findInside, folderInside, readInside, type Problem, type Root } from './safePath'
import { judgeUrl } from './url'
import { within, type Limits, type World } from './world'

const EVIDENCE_MAX = 4_000

/** What a check may look at. */
export interface Bench {
  readonly root: Root
  readonly world: World
  readonly limits: Limits
  readonly reader: ContentReader
  /** The object the child returned; undefined when it could not be read. */
  readonly output: Readonly<Record<string, unknown>> | undefined
  /** What a path of the contract stands for: a file, inline content, an address, or a name the child did not declare. */
  resolve(path: string): Place
  readonly signal: AbortSignal | undefined
  /** When verification began, milliseconds since the epoch: what is older was written by the child. */
  readonly startedAt: number
}

export type Place =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'inline'; readonly value: unknown }
  | { readonly kind: 'undeclared'; readonly reason: string; readonly recoverable: boolean }

/** Checks on git's facts come before anything our own commands change; see verify.ts for the order. */
export function looksAtGit(check: Check): boolean {
  const { kind } = kinded(check)
  return kind === 'only_changed' || kind === 'git_committed' || kind === 'file_unchanged'
}

/** Never rejects. */
export async function runCheck(check: Check, bench: Bench): Promise<CheckResult> {
  const started = performance.now()
  const { finding, path } = await settle(check, bench)
  return result({ ...check }, finding, path, performance.now() - started)
}

/** A finding as the record keeps it: bounded, printable, with its place in the worktree. */
export function result(
  check: Record<string, unknown>,
  finding: Finding,
  path: string | undefined,
  ms: number,
): CheckResult {
  const evidence = finding.evidence === undefined ? undefined : lastPart(plainText(finding.evidence))
  return {
    check,
    result: finding.result,
    reason: plainLine(finding.reason, 600),
    ...(evidence === undefined || evidence === '' ? {} : { evidence }),
    ...(path === undefined
      ? {}
      : { location: { path, ...(finding.line === undefined ? {} : { line: finding.line }) } }),
    recoverable: finding.recoverable,
    ms: Math.round(ms * 10) / 10,
  }
}

async function settle(check: Check, bench: Bench): Promise<{ finding: Finding; path?: string }> {
  if (bench.signal?.aborted === true) return { finding: unknown('verification was ended before this check ran') }
  try {
    return await run(check, bench)
  } catch (error) {
    return { finding: unknown(`it could not be run: ${error instanceof Error ? error.message : String(error)}`) }
  }
}

async function run(check: Check, bench: Bench): Promise<{ finding: Finding; path?: string }> {
  const { kind, args } = kinded(check)
  switch (kind) {
    case 'file_exists':
      return onFile(args.path, bench, exists, (value) =>
        pass('the returned object has it', plainLine(asText(value), 300)),
      )
    case 'sha256':
      return onFile(
        args.path,
        bench,
        (path) => hashOf(path, args.hash, bench),
        (value) => compareHash(args.path, createHash('sha256').update(asText(value)).digest('hex'), args.hash),
      )
    case 'file_contains':
      return onContent({ kind: 'contains', args }, args.path, bench)
    case 'json_schema_ok':
      return onContent({ kind: 'schema', args }, args.path, bench)
    case 'count_at_least':
      return onContent({ kind: 'atLeast', args }, args.path, bench)
    case 'count_at_most':
      return onContent({ kind: 'atMost', args }, args.path, bench)
    case 'test_report':
      return onContent({ kind: 'tests', args }, args.path, bench)
    case 'file_unchanged':
      return { finding: await unchanged(args.path, bench), path: args.path }
    case 'only_changed':
      return { finding: await onlyChanged(args.globs, bench) }
    case 'git_committed':
      return { finding: await committed(bench) }
    case 'command':
      return { finding: await command(args, bench) }
    case 'url_ok':
      return { finding: await url(args, bench) }
  }
}

async function onFile(
  name: string,
  bench: Bench,
  file: (path: string, bench: Bench) => Promise<Finding>,
  inline: (value: unknown) => Finding,
): Promise<{ finding: Finding; path?: string }> {
  const place = bench.resolve(name)
  switch (place.kind) {
    case 'file':
      return { finding: await file(place.path, bench), path: place.path }
    case 'inline':
      return { finding: inline(place.value) }
    case 'undeclared':
      return { finding: { result: 'FAIL', reason: place.reason, recoverable: place.recoverable } }
  }
}

async function onContent(
  question: Question,
  name: string | undefined,
  bench: Bench,
): Promise<{ finding: Finding; path?: string }> {
  if (name === undefined) {
    if (bench.output === undefined)
      return {
        finding: { result: 'FAIL', reason: 'the child returned no object that could be read', recoverable: true },
      }
    return { finding: await bench.reader.ask(question, { name: 'the returned object', value: bench.output }) }
  }
  const place = bench.resolve(name)
  if (place.kind === 'undeclared')
    return { finding: { result: 'FAIL', reason: place.reason, recoverable: place.recoverable } }
  if (place.kind === 'inline') return { finding: await bench.reader.ask(question, inlineSubject(name, place.value)) }
  const read = await readInside(bench.root, place.path, bench.limits, bench.limits.contentBytes)
  if (!read.ok) return { finding: problem(read), path: place.path }
  const finding = await bench.reader.ask(question, { name: place.path, bytes: read.bytes })
  // Whoever wrote it can have written anything into it; that our own command did not is worth saying.
  const byChild = question.kind === 'tests' && read.facts.mtimeMs < bench.startedAt
  const evidence = byChild
    ? [finding.evidence, 'written by the child, not by a command of this contract']
    : [finding.evidence]
  const words = evidence.filter((line) => line !== undefined).join('\n')
  return { finding: { ...finding, ...(words === '' ? {} : { evidence: words }) }, path: place.path }
}

/** Inline text is what a file would hold: a check that wants JSON parses it. */
function inlineSubject(name: string, value: unknown): Subject {
  return typeof value === 'string' ? { name, bytes: Buffer.from(value) } : { name, value }
}

async function exists(path: string, bench: Bench): Promise<Finding> {
  const found = await findInside(bench.root, path, bench.limits)
  if (!found.ok) return problem(found)
  const { size, links, mtimeMs } = found.facts
  const notes = [
    bytes(size),
    `written ${new Date(mtimeMs).toISOString()}`,
    ...(links > 1 ? [`one of ${links} names`] : []),
  ]
  return pass(size === 0 ? `${path} exists and is empty` : `${path} exists`, notes.join(', '))
}

async function hashOf(path: string, wanted: string, bench: Bench): Promise<Finding> {
  const hash = createHash('sha256')
  const found = await eachPiece(bench.root, path, bench.limits, (piece) => hash.update(piece))
  return found.ok ? compareHash(path, hash.digest('hex'), wanted) : problem(found)
}

function compareHash(path: string, actual: string, wanted: string): Finding {
  if (actual === wanted) return pass(`${path} has the wanted SHA-256`, actual)
  return {
    result: 'FAIL',
    reason: `${path} has another SHA-256`,
    evidence: `found ${actual}\nwanted ${wanted}`,
    recoverable: true,
  }
}

async function unchanged(path: string, bench: Bench): Promise<Finding> {
  const { world, limits } = bench
  const base = await within(world.blobAtBase(path), limits.gitMs, 'git did not answer in time')
  if (base === null) {
    const found = await findInside(bench.root, path, limits)
    if (!found.ok && found.problem === 'absent')
      return unknown(`the base commit has no ${path}, and there is none now: nothing to compare`)
    return { result: 'FAIL', reason: `${path} is not in the base commit, so it was added`, recoverable: false }
  }
  const hash = createHash('sha256')
  const file = await readInside(bench.root, path, limits, limits.fileBytes)
  if (!file.ok) {
    if (file.problem === 'absent') return { result: 'FAIL', reason: `${path} was removed`, recoverable: false }
    return { ...problem(file), recoverable: false }
  }
  const actual = hash.update(file.bytes).digest('hex')
  if (Buffer.compare(file.bytes, base) === 0) return pass(`${path} is as in the base commit`, `SHA-256 ${actual}`)
  // What a checkout itself may change: line ends, and a large file kept elsewhere under its hash.
  if (
    Buffer.from(base).toString('latin1').replaceAll('\r\n', '\n') ===
    file.bytes.toString('latin1').replaceAll('\r\n', '\n')
  )
    return pass(`${path} is as in the base commit but for line ends`, `SHA-256 ${actual}`)
  const pointer = /^version https:\/\/git-lfs\.github\.com\/spec\/v1\noid sha256:([0-9a-f]{64})\n/.exec(
    Buffer.from(base.subarray(0, 200)).toString('latin1'),
  )
  if (pointer?.[1] === actual) return pass(`${path} is the file the base commit points to`, `SHA-256 ${actual}`)
  const line = firstDifferentLine(Buffer.from(base), file.bytes)
  return {
    result: 'FAIL',
    reason: `${path} was changed; it must be as in the base commit`,
    evidence: `first difference in line ${line}; ${bytes(base.length)} before, ${bytes(file.bytes.length)} now`,
    line,
    recoverable: false,
  }
}

function firstDifferentLine(before: Uint8Array, now: Uint8Array): number {
  const end = Math.min(before.length, now.length, 4 * 1024 * 1024)
  let line = 1
  for (let at = 0; at < end && before[at] === now[at]; at++) if (before[at] === 0x0a) line++
  return line
}

async function onlyChanged(globs: readonly string[], bench: Bench): Promise<Finding> {
  const changed = await within(bench.world.changedFiles(), bench.limits.gitMs, 'git did not answer in time')
  const allowed = globMatcher(globs)
  const beyond = changed.filter((path) => !allowed(path))
  if (beyond.length === 0)
    return pass(
      changed.length === 0 ? 'nothing was changed' : `all ${changed.length} changed files match ${globs.join(', ')}`,
      listOf(changed),
    )
  return {
    result: 'FAIL',
    reason: `${beyond.length} of ${changed.length} changed files lie outside ${globs.join(', ')}: ${plainLine(beyond[0] ?? '', 200)}${beyond.length > 1 ? ', …' : ''}`,
    evidence: listOf(beyond),
    recoverable: false,
  }
}

async function committed(bench: Bench): Promise<Finding> {
  const { commits, uncommitted } = await within(
    bench.world.committed(),
    bench.limits.gitMs,
    'git did not answer in time',
  )
  if (uncommitted.length > 0)
    return {
      result: 'FAIL',
      reason: `${uncommitted.length} ${uncommitted.length === 1 ? 'file is' : 'files are'} not committed: ${plainLine(uncommitted[0] ?? '', 200)}${uncommitted.length > 1 ? ', …' : ''}`,
      evidence: listOf(uncommitted),
      recoverable: true,
    }
  if (commits === 0) return { result: 'FAIL', reason: 'there is no commit beyond the base', recoverable: true }
  return pass(`everything is committed, ${commits} ${commits === 1 ? 'commit' : 'commits'} beyond the base`)
}

async function command(args: CheckOf<'command'>, bench: Bench): Promise<Finding> {
  const { limits, world, root, signal } = bench
  const timeoutMs = args.timeoutSeconds * 1000
  const program = plainLine(args.argv[0] ?? '', 100)
  const folder = args.cwd === undefined ? root : await folderInside(root, args.cwd, limits)
  if ('ok' in folder && !folder.ok) return problem(folder)
  const outcome = await within(
    world.run({
      argv: args.argv,
      cwd: folder.path,
      timeoutMs,
      outputCapBytes: limits.commandOutputBytes,
      ...(signal === undefined ? {} : { signal }),
    }),
    // Whoever runs it holds the clock; this only keeps a broken clock from holding us.
    timeoutMs + 60_000,
    `${program} did not end after its time limit`,
  )
  switch (outcome.kind) {
    case 'not started':
      return unknown(`${program} could not be started: ${outcome.reason}`)
    case 'timed out':
      return {
        ...unknown(`${program} was ended after ${args.timeoutSeconds} s (timeoutSeconds)`),
        evidence: outcome.output,
      }
    case 'too much output':
      return {
        ...unknown(`${program} wrote more than ${bytes(outcome.limitBytes)} and was ended`),
        evidence: outcome.output,
      }
    case 'exited': {
      const how =
        outcome.signal === null ? `exited with ${outcome.code ?? 'no code'}` : `was killed by ${outcome.signal}`
      const evidence = `${program} ${how}\n${outcome.output}`
      if (outcome.code !== 0 || outcome.signal !== null)
        return { result: 'FAIL', reason: `${program} ${how}`, evidence, recoverable: true }
      const hidden = hiddenExit(args.argv)
      if (hidden !== null) return { ...unknown(`${program} exited with 0, which says nothing: ${hidden}`), evidence }
      return pass(`${program} exited with 0`, evidence)
    }
  }
}

async function url(args: CheckOf<'url_ok'>, bench: Bench): Promise<Finding> {
  const place = /^https?:/i.test(args.url) ? undefined : bench.resolve(args.url)
  if (place?.kind === 'undeclared') return { result: 'FAIL', reason: place.reason, recoverable: place.recoverable }
  const address = place?.kind === 'inline' ? asText(place.value) : args.url
  return judgeUrl(address, args.status, bench.limits)
}

function problem({ reason, recoverable }: Problem): Finding {
  return { result: 'FAIL', reason, recoverable }
}

function pass(reason: string, evidence?: string): Finding {
  return { result: 'PASS', reason, recoverable: true, ...(evidence === undefined ? {} : { evidence }) }
}

function unknown(reason: string): Finding {
  return { result: 'UNKNOWN', reason, recoverable: false }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function listOf(paths: readonly string[]): string {
  const shown = paths.slice(0, 50).map((path) => plainLine(path, 200))
  return [...shown, ...(paths.length > 50 ? [`and ${paths.length - 50} more`] : [])].join('\n')
}

/** The first line and the end: where a program says what it is, and what went wrong. */
function lastPart(text: string): string {
  if (text.length <= EVIDENCE_MAX) return text
  const first = cutText(text.slice(0, text.indexOf('\n') + 1 || 200), 400)
  const tail = text.slice(first.length - EVIDENCE_MAX + 40)
  const whole = tail.indexOf('\n')
  return `${first.trimEnd()}\n… ${text.length - EVIDENCE_MAX} characters left out …\n${whole < 0 ? tail : tail.slice(whole + 1)}`
}
