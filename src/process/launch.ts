// The recipe of one attempt and the record of its end: the two files host and keeper agree on. Values of environment
// variables are never part of it. Everything read back from disk passes a parser here before anyone acts on it.
import { isObject } from './json'

/** Never a bare pid: a pid is only the same process while start time and boot id agree. */
export interface ProcessIdentity {
  readonly pid: number
  /** Linux: field 22 of /proc/PID/stat (clock ticks since boot). Elsewhere: what `ps -o lstart=` prints. */
  readonly startTime: string
  readonly bootId: string
}

export type SoftSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'

/** What starts an agent. All times in milliseconds, all sizes in bytes. */
export interface Launch {
  readonly v: 1
  readonly childId: string
  readonly attempt: number
  /** Unguessable and unique per attempt; put in the agent's environment as COXSWAIN_MARKER to find what escaped. */
  readonly marker: string
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The agent's whole environment, by name. What is not named here never reaches it. */
  readonly environmentNames: readonly string[]
  /** Variables whose values are replaced in raw output and in the stdin journal. */
  readonly secretNames: readonly string[]
  readonly input: 'closed' | 'open'
  readonly wallLimitMs: number | null
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number
  /** Asked of the agent itself (not its group) before SIGTERM. */
  readonly politeSignal?: { readonly signal: SoftSignal; readonly afterMs: number }
  readonly rawCapBytes: number
  readonly segmentBytes: number
  readonly stderrCapBytes: number
  readonly afterWindowCloses: 'keep' | { readonly pauseAfterMs: number }
  /** How long the keeper waits at the end for a host that acknowledges. */
  readonly exitLeaseMs: number
}

/** What is written to launch.json: the recipe and the socket of the keeper that is to run it. */
export interface LaunchFile extends Launch {
  readonly socketPath: string
}

export const launchDefaults = {
  graceMs: 5_000,
  rawCapBytes: 64 * 1024 * 1024,
  segmentBytes: 4 * 1024 * 1024,
  stderrCapBytes: 8 * 1024 * 1024,
  exitLeaseMs: 60_000,
} as const

export type CauseKind = 'stop' | 'interrupt' | 'timeout' | 'budget' | 'lease' | 'finished' | 'shutdown'
/** Why we asked an agent to end. `finished`: it had reported and did not go. `shutdown`: the keeper was told to end (SIGTERM). */
export interface EndCause {
  readonly kind: CauseKind
  readonly reason?: string
}
/** The agent's own way to end, tried before SIGTERM: first `waitMs` alone, then the rest; afterMs later the ladder goes on. */
export interface SoftEnd {
  readonly waitMs?: number
  readonly signal?: SoftSignal
  readonly closeInput?: boolean
  readonly afterMs: number
}

export type LaunchErrorKind =
  | 'cwdMissing'
  | 'programMissing'
  | 'notExecutable'
  | 'argumentsTooLong'
  | 'environmentMissing'
  | 'alreadyStarted'
  | 'socketPathTooLong'
  | 'unsupportedPlatform'
  | 'spawnFailed'
  | 'keeperFailed'

export const launchErrorKinds: readonly LaunchErrorKind[] = [
  'cwdMissing',
  'programMissing',
  'notExecutable',
  'argumentsTooLong',
  'environmentMissing',
  'alreadyStarted',
  'socketPathTooLong',
  'unsupportedPlatform',
  'spawnFailed',
  'keeperFailed',
]

/** An attempt that never became a running agent. The message is for a person: what was tried, and what to do. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError'
  constructor(
    readonly kind: LaunchErrorKind,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
  }
}

export const alreadyStarted = (attemptDir: string): LaunchError =>
  new LaunchError(
    'alreadyStarted',
    `The attempt in ${attemptDir} has been started before. An attempt runs once; start a new one.`,
  )

export type Bond = 'group' | 'session' | 'marker' | 'pipe'
/** A process of the agent's tree, and how we know that it is one. */
export interface TreeMember {
  readonly pid: number
  readonly startTime: string
  readonly name: string
  readonly bond: Bond
}

export interface LadderStep {
  readonly step: 'closeInput' | 'soft' | 'term' | 'kill' | 'leftovers'
  /** Milliseconds after the agent's start, monotonic. */
  readonly afterMs: number
}

/** The end of one attempt, as the keeper saw it. `firstCause` null means: it ended without being asked. */
export interface ExitRecord {
  readonly v: 1
  readonly childId: string
  readonly attempt: number
  readonly code: number | null
  readonly signal: string | null
  readonly firstCause: EndCause | null
  /** False: the agent's own exit was not seen within its deadline (a process the kernel would not let go). */
  readonly exited: boolean
  /** Both pipes reached their end and every byte is on disk. */
  readonly drained: boolean
  /** Bytes read from the agent that could not be written to disk. */
  readonly lostBytes: number
  /** Still alive when the deadlines had passed. */
  readonly survivors: readonly TreeMember[]
  /** Leftovers and escaped processes that we ended. At most 100 are named. */
  readonly killedSweep: readonly TreeMember[]
  readonly ladder: readonly LadderStep[]
  /** Wall clock, milliseconds since 1970. For people; never subtract them. */
  readonly at: number
  readonly startedAt: number | null
  /** Monotonic. */
  readonly durationMs: number | null
  readonly totals: { readonly stdout: number; readonly stderr: number }
  /** Highest sequence number of a stdin frame that left the keeper whole. */
  readonly inputFlushedSeq: number
  /** Set when no agent ever ran. */
  readonly launchError?: { readonly kind: LaunchErrorKind; readonly message: string }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText)
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0

/** Reads launch.json. Throws an Error that names the first field that does not fit. */
export function parseLaunchFile(text: string): LaunchFile {
  const value: unknown = JSON.parse(text)
  if (!isObject(value)) throw new Error('launch.json is not an object')
  const wrong = (field: string): never => {
    throw new Error(`launch.json: ${field} does not fit`)
  }
  if (value['v'] !== 1) wrong('v')
  for (const field of ['childId', 'marker', 'file', 'cwd', 'socketPath']) if (!isText(value[field])) wrong(field)
  for (const field of ['args', 'environmentNames', 'secretNames']) if (!isTexts(value[field])) wrong(field)
  for (const field of ['attempt', 'graceMs', 'rawCapBytes', 'segmentBytes', 'stderrCapBytes', 'exitLeaseMs'])
    if (!isCount(value[field])) wrong(field)
  if (value['input'] !== 'closed' && value['input'] !== 'open') wrong('input')
  if (value['wallLimitMs'] !== null && !isCount(value['wallLimitMs'])) wrong('wallLimitMs')
  const window = value['afterWindowCloses']
  if (window !== 'keep' && !(isObject(window) && isCount(window['pauseAfterMs']))) wrong('afterWindowCloses')
  const polite = value['politeSignal']
  if (polite !== undefined && !(isObject(polite) && isText(polite['signal']) && isCount(polite['afterMs'])))
    wrong('politeSignal')
  return value as unknown as LaunchFile
}

/** Reads exit.json. Undefined when it is torn, of another version or of another shape. */
export function parseExitRecord(text: string): ExitRecord | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value) || value['v'] !== 1) return undefined
  const totals = value['totals']
  if (!isText(value['childId']) || !isCount(value['attempt']) || !isCount(value['at'])) return undefined
  if (value['code'] !== null && typeof value['code'] !== 'number') return undefined
  if (value['signal'] !== null && !isText(value['signal'])) return undefined
  if (!isObject(totals) || !isCount(totals['stdout']) || !isCount(totals['stderr'])) return undefined
  if (value['firstCause'] !== null && !isEndCause(value['firstCause'])) return undefined
  if (typeof value['drained'] !== 'boolean' || typeof value['exited'] !== 'boolean') return undefined
  if (!Array.isArray(value['survivors']) || !Array.isArray(value['killedSweep'])) return undefined
  return value as unknown as ExitRecord
}

const causes: readonly CauseKind[] = ['stop', 'interrupt', 'timeout', 'budget', 'lease', 'finished', 'shutdown']
export function isEndCause(value: unknown): value is EndCause {
  if (!isObject(value) || !causes.some((kind) => kind === value['kind'])) return false
  return value['reason'] === undefined || isText(value['reason'])
}

const softSignals: readonly SoftSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']
export function isSoftEnd(value: unknown): value is SoftEnd {
  if (!isObject(value) || !isCount(value['afterMs'])) return false
  if (value['signal'] !== undefined && !softSignals.some((signal) => signal === value['signal'])) return false
  if (value['waitMs'] !== undefined && !isCount(value['waitMs'])) return false
  return value['closeInput'] === undefined || typeof value['closeInput'] === 'boolean'
}
