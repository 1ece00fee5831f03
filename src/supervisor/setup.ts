// The setup of a repository: what a person agreed to, what the repository offers, and carrying it out in a new worktree.
// Nothing runs or is copied but what is in our own store, and an offer that changed since is asked about again.
import type { Child } from '../core/child'
import { plainText } from '../core/plainText'
import {
  commandLine,
  defaultSetupSeconds,
  offerBytes,
  offeredPath,
  parseOffer,
  readSetup,
  setupText,
  type ChosenSetup,
  type OfferedSetup,
  type SetupRequest,
  type Setups,
} from '../core/setup'
import { copyIgnored, sizeOf } from '../git/copyIgnored'
import type { Git } from '../git/git'
import { openInside } from '../git/insideTree'
import { configFingerprint } from '../git/programs'
import { baseEnvironmentNames, pickEnvironment } from '../process/environment'
import { runCommand, type CommandOutcome } from '../process/runCommand'
import { lastLines } from '../process/stderrTail'
import { writeWhole } from '../record/atomicWrite'
import { OutputLog } from '../record/outputLog'
import { StoreError, type StorePaths } from '../record/paths'
import { readText } from '../record/readFile'
import { globBases, globMatcher } from '../verification/globs'
import { z } from 'zod'
import type { Problem } from './problem'
import { knownWorktree, sha256 } from './verifyChild'

const storedSchema = z
  .object({
    v: z.literal(1),
    from: z.enum(['person', 'repository']),
    hash: z.string(),
    text: z.string(),
    at: z.string(),
  })
  .nullable()

/** Reads our own file and the repository's offer; runs nothing. `topLevel`: the checkout children are dispatched from. */
export async function readSetups(paths: StorePaths, topLevel: string): Promise<Setups> {
  const [chosen, offer] = await Promise.all([readChosen(paths), readOffer(topLevel)])
  return { chosen, offered: offer === null ? null : { hash: offer.hash, setup: offer.setup, problem: offer.problem } }
}

async function readChosen(paths: StorePaths): Promise<ChosenSetup | null> {
  const file = await readText(paths.setup).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (file === null) return null
  const stored = storedIn(file)
  if (stored === null) return null
  const parsed = stored === undefined ? undefined : parseOffer(stored.text)
  if (stored === undefined || parsed?.ok !== true || sha256(stored.text) !== stored.hash)
    throw new StoreError(
      `${paths.setup} is not as it was agreed to. Set it again with "coxswain setup set", or "coxswain setup clear" it.`,
    )
  const { hash, from, at } = stored
  return { setup: parsed.setup, hash, from, at }
}

/** Null: nothing is set up. Undefined: it is none of ours. */
function storedIn(file: string): z.infer<typeof storedSchema> | undefined {
  try {
    return storedSchema.parse(JSON.parse(file))
  } catch {
    return undefined
  }
}

async function readOffer(topLevel: string): Promise<(OfferedSetup & { readonly text: string }) | null> {
  const file = await openInside(topLevel, offeredPath, offerBytes)
  if (file.kind === 'absent') return null
  const unusable = (problem: string, text = '') => ({ hash: sha256(text), setup: null, problem, text })
  if (file.kind !== 'file') return unusable('it is not an ordinary file of the repository')
  if (file.size > offerBytes) return unusable(`it is larger than ${sizeOf(offerBytes)}`)
  const text = file.content.toString('utf8')
  const parsed = parseOffer(text)
  return parsed.ok ? { hash: sha256(text), setup: parsed.setup, problem: null, text } : unusable(parsed.problem, text)
}

/** Stores what was agreed to; for the owner of the store only. */
export async function chooseSetup(
  paths: StorePaths,
  topLevel: string,
  request: SetupRequest,
  now: Date,
): Promise<{ readonly hash: string | null } | Problem> {
  const refused = (message: string): Problem => ({ kind: 'problem', message })
  const store = async (from: 'person' | 'repository', text: string) => {
    const hash = sha256(text)
    await writeWhole(paths.setup, `${JSON.stringify({ v: 1, from, hash, text, at: now.toISOString() })}\n`)
    return { hash }
  }
  switch (request.action) {
    case 'clear':
      await writeWhole(paths.setup, 'null\n')
      return { hash: null }
    case 'set': {
      const read = readSetup(request.setup)
      return read.ok
        ? await store('person', setupText(read.setup))
        : refused(`This setup cannot be used: ${read.problem}.`)
    }
    case 'consent': {
      const offer = await readOffer(topLevel)
      if (offer === null) return refused(`This repository offers no setup: there is no ${offeredPath}.`)
      if (offer.problem !== null) return refused(`${offeredPath} cannot be used: ${offer.problem}.`)
      if (offer.hash !== request.hash)
        return refused(`${offeredPath} is not what you agreed to: its hash is ${offer.hash}. Look at it again.`)
      return await store('repository', offer.text)
    }
  }
}

export interface SetupParts {
  readonly git: Git
  readonly paths: StorePaths
  readonly topLevel: string
  readonly commonDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

export interface SetupCall {
  readonly chosen: ChosenSetup
  readonly marker: string
  readonly signal: AbortSignal
  /** Lines it printed, as they come; a bounded number. */
  readonly hear: (source: 'stdout' | 'stderr', lines: readonly string[]) => void
}

export interface SetupOutcome {
  readonly outcome: 'done' | 'failed' | 'called off'
  /** What it did, or why it failed. */
  readonly words: string
  /** The end of its stderr. */
  readonly diagnostic?: string
  /** What a person should know besides. */
  readonly notes: readonly string[]
}

const logBytes = 4 * 1024 * 1024
const outputBytes = 64 * 1024 * 1024
const heardLines = 300
const tailBytes = 16 * 1024

/** Copies, then runs the command. Resolves when nothing of it lives any more; rejects only for bugs. */
export async function runSetup(parts: SetupParts, child: Child, call: SetupCall): Promise<SetupOutcome> {
  const { copy = [], command } = call.chosen.setup
  const notes: string[] = []
  const did: string[] = []
  const over = (outcome: SetupOutcome['outcome'], words: string, diagnostic = ''): SetupOutcome => ({
    outcome: call.signal.aborted ? 'called off' : outcome,
    words: call.signal.aborted ? 'The setup was called off.' : words,
    ...(diagnostic === '' ? {} : { diagnostic }),
    notes,
  })
  const known = knownWorktree(child, parts.commonDir)
  if (known === undefined) return over('failed', 'There is no worktree to set up.')
  if (copy.length > 0) {
    const copied = await copyIgnored(parts.git, parts.topLevel, known, {
      wanted: globMatcher(copy),
      bases: globBases(copy),
      signal: call.signal,
    })
    if (copied.kind === 'problem') return over('failed', copied.message)
    notes.push(...copied.notes)
    did.push(
      copied.files === 0
        ? 'No ignored file matched what is to be copied.'
        : `Copied ${copied.files === 1 ? '1 ignored file' : `${copied.files} ignored files`} (${sizeOf(copied.bytes)}).`,
    )
  }
  if (command !== undefined && !call.signal.aborted) {
    const before = await configFingerprint(parts.git, parts.commonDir)
    const started = performance.now()
    const ran = await runIn(known.path, parts, child, call, command)
    const seconds = Math.round((performance.now() - started) / 100) / 10
    if (ran.outcome !== null && ran.outcome.kind === 'exited' && ran.outcome.leftBehind > 0)
      notes.push(`The setup left ${ran.outcome.leftBehind} processes behind; they were ended.`)
    if (ran.trouble !== undefined) notes.push(`What the setup printed could not be kept: ${ran.trouble}.`)
    const after = await configFingerprint(parts.git, parts.commonDir)
    if (after.hash !== before.hash)
      notes.push(
        `The setup changed the repository's own git configuration, attributes or hooks, which your checkout shares. Programs named there now: ${[...after.programs, ...after.hooks].join(', ') || 'none'}.`,
      )
    const what = commandLine(command)
    const failed = failureOf(ran.outcome, call.chosen.setup.timeout_seconds ?? defaultSetupSeconds)
    if (failed !== null) return over('failed', `The setup ${what} failed: ${failed}`, ran.tail)
    did.push(`Ran ${what} in ${seconds} s.`)
  }
  return over('done', did.join(' '))
}

function failureOf(outcome: CommandOutcome | null, seconds: number): string | null {
  if (outcome === null) return 'it was called off.'
  switch (outcome.kind) {
    case 'exited':
      if (outcome.code === 0) return null
      return outcome.code === null
        ? `Process was ended by ${outcome.signal ?? 'an unknown signal'}.`
        : `Process exited with code ${outcome.code}.`
    case 'timed out':
      return `It took longer than ${seconds} s and was ended.`
    case 'too much output':
      return `It printed more than ${sizeOf(outcome.limitBytes)} and was ended.`
    case 'not started':
      return `It could not be started: ${outcome.reason}.`
  }
}

interface Ran {
  /** Null when it was called off. */
  readonly outcome: CommandOutcome | null
  readonly tail: string
  /** Why its output is not on disk. */
  readonly trouble: string | undefined
}

async function runIn(
  cwd: string,
  parts: SetupParts,
  child: Child,
  { chosen, marker, signal, hear }: SetupCall,
  command: readonly string[],
): Promise<Ran> {
  const log = await OutputLog.open(parts.paths.child(child.id).setupLog, logBytes)
  log.write(Buffer.from(`$ ${commandLine(command)}\n`))
  let tail = Buffer.alloc(0)
  let heard = 0
  const splitters = { stdout: new LineSplitter(), stderr: new LineSplitter() }
  const tell = (source: 'stdout' | 'stderr', lines: readonly string[]): void => {
    if (heard >= heardLines || lines.length === 0) return
    const shown = lines.slice(0, heardLines - heard)
    heard += shown.length
    hear(source, heard < heardLines ? shown : [...shown, `… the rest is in ${parts.paths.child(child.id).setupLog}`])
  }
  let outcome: CommandOutcome | null
  try {
    outcome = await runCommand({
      argv: command,
      cwd,
      marker,
      signal,
      timeoutMs: (chosen.setup.timeout_seconds ?? defaultSetupSeconds) * 1000,
      outputCapBytes: outputBytes,
      graceMs: child.task.limits.stopGraceMs,
      // With the child's id, so that a "coxswain" in it acts as that child and never as the person.
      environment: {
        ...pickEnvironment(parts.environment, baseEnvironmentNames),
        COXSWAIN_CHILD_ID: child.id,
      },
      onOutput: (source, chunk) => {
        log.write(chunk)
        if (source === 'stderr') tail = Buffer.concat([tail, chunk]).subarray(-tailBytes)
        if (heard < heardLines) tell(source, splitters[source].take(chunk))
      },
    })
  } catch (error) {
    if (!signal.aborted) {
      await log.close()
      throw error
    }
    outcome = null
  } finally {
    for (const source of ['stdout', 'stderr'] as const) tell(source, splitters[source].rest())
  }
  return { outcome, tail: plainText(lastLines(tail).join('\n')), trouble: await log.close() }
}

/** Whole lines of a stream, each at most 4 KiB. */
class LineSplitter {
  private held = Buffer.alloc(0)

  take(chunk: Buffer): string[] {
    this.held = Buffer.concat([this.held, chunk])
    const end = this.held.lastIndexOf(0x0a)
    if (end === -1 && this.held.length < 4096) return []
    const cut = end === -1 ? this.held.length : end + 1
    const whole = this.held.subarray(0, cut)
    this.held = Buffer.from(this.held.subarray(cut))
    return linesOf(whole)
  }

  rest(): string[] {
    const lines = linesOf(this.held)
    this.held = Buffer.alloc(0)
    return lines
  }
}

const linesOf = (bytes: Buffer): string[] =>
  bytes
    .toString('utf8')
    .split(/\r?\n|\r/)
    .filter((line) => line.trim() !== '')
    .map((line) => line.slice(0, 4096))
