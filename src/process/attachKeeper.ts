// Finds out what became of an attempt that another host started: alive and now followed, ended, or its keeper lost.
// It only looks and connects; ending an orphan and starting anything new are the caller's decisions.
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { attemptFiles } from './attemptFiles'
import { isRunning, parseIdentity } from './identity'
import { parseObject } from './json'
import { openLink, type ConnectFailure, type KeeperLink } from './keeperLink'
import { parseExitRecord, parseLaunchFile, type ExitRecord, type LaunchFile, type ProcessIdentity } from './launch'
import { readAll, type LineTaker, type ReadOptions } from './rawReader'

export interface AttachOptions extends ReadOptions {
  readonly attemptDir: string
  readonly epoch: number
  /**
   * Creates a whole file, or answers false because it exists. With it an attempt whose keeper has not come up yet is
   * forbidden to start from now on; without it that case is `neverStarted` with `forbidden: false`.
   */
  readonly createExclusively?: (path: string, data: string) => Promise<boolean>
  readonly helloMs?: number
  readonly hostId?: string
}

export type Attached =
  | { readonly kind: 'live'; readonly link: KeeperLink }
  | {
      readonly kind: 'ended'
      readonly exit: ExitRecord
      readonly readLines: (take: LineTaker) => Promise<void>
      /** Lets a keeper that still waits for this go. Harmless when there is none. */
      readonly acknowledgeExit: () => Promise<void>
    }
  | {
      readonly kind: 'keeperLost'
      /** Undefined when the record of it is missing or odd; `endOrphan` then still finds the tree by its marker. */
      readonly agent: ProcessIdentity | undefined
      readonly agentRunning: boolean
      readonly readLines: (take: LineTaker) => Promise<void>
    }
  /** The keeper runs but could not be spoken to: frozen, busy, its socket out of reach. Nothing is known to be lost. */
  | { readonly kind: 'silent'; readonly keeper: ProcessIdentity }
  /** Another host has a higher epoch, or the keeper speaks another version. */
  | { readonly kind: 'refused'; readonly reason: 'epoch' | 'version'; readonly detail: string }
  | { readonly kind: 'neverStarted'; readonly forbidden: boolean }

const recordBytesMax = 4 * 1024 * 1024
const notYet = { kind: 'neverStarted', forbidden: false } as const

/** Never rejects for what is on disk or for what a keeper does; an unreadable folder counts as `neverStarted`. */
export async function attachKeeper(options: AttachOptions): Promise<Attached> {
  const first = await look(options)
  if (first.kind === 'live' || first.kind === 'ended' || first.kind === 'refused') return first
  // It may have written its last words, or its first, while we knocked.
  const exit = await readExit(options.attemptDir)
  if (exit !== undefined) return ended(options, exit)
  if (first.kind !== 'neverStarted' || options.createExclusively === undefined) return first
  const claim = JSON.stringify({ v: 1, forbidden: true })
  const forbidden = await options.createExclusively(attemptFiles(options.attemptDir).keeper, `${claim}\n`)
  if (forbidden) return { kind: 'neverStarted', forbidden }
  return await look(options)
}

async function look(options: AttachOptions): Promise<Attached> {
  const { attemptDir } = options
  const exit = await readExit(attemptDir)
  if (exit !== undefined) return ended(options, exit)
  const text = await readRecord(attemptFiles(attemptDir).keeper)
  if (text === undefined) return notYet
  const record = parseObject(text)
  if (record?.['forbidden'] === true) return { kind: 'neverStarted', forbidden: true }
  const keeper = parseIdentity(record)
  const socketPath = record?.['socketPath']
  const launch = await readLaunch(attemptDir)
  let failure: ConnectFailure = { kind: 'unreachable', code: 'ENOENT' }
  // A forged record could name any socket: only the one that the recipe named is knocked at.
  if (typeof socketPath === 'string' && socketPath === launch?.socketPath) {
    const link = await openLink({ ...options, socketPath })
    if (!('kind' in link)) return { kind: 'live', link }
    failure = link
  }
  if (failure.kind === 'refused') return failure
  // Whatever kept us from reaching it (no file descriptors left here, say): a keeper that runs is not lost.
  if (keeper !== undefined && !(await endsSoon(keeper))) return { kind: 'silent', keeper }
  const agent = await readAgent(attemptDir)
  return {
    kind: 'keeperLost',
    agent,
    agentRunning: agent !== undefined && isRunning(agent),
    readLines: (take) => readAll(attemptDir, take, options),
  }
}

/** A dying process closes its sockets a moment before it is dead. */
async function endsSoon(identity: ProcessIdentity): Promise<boolean> {
  for (let waits = 0; isRunning(identity); waits++) {
    if (waits === 25) return false
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return true
}

const ended = (options: AttachOptions, exit: ExitRecord): Attached => ({
  kind: 'ended',
  exit,
  readLines: (take) => readAll(options.attemptDir, take, options, exit.totals),
  acknowledgeExit: async () => {
    const launch = await readLaunch(options.attemptDir)
    if (launch === undefined) return
    const link = await openLink({ ...options, socketPath: launch.socketPath })
    if ('kind' in link) return
    await link.acknowledgeExit()
    link.detach()
  },
})

/** The record of an attempt's end, once there is a whole one. */
export async function readExit(attemptDir: string): Promise<ExitRecord | undefined> {
  const text = await readRecord(attemptFiles(attemptDir).exit)
  return text === undefined ? undefined : parseExitRecord(text)
}

/** The recipe an attempt was started with. */
export async function readLaunch(attemptDir: string): Promise<LaunchFile | undefined> {
  const text = await readRecord(attemptFiles(attemptDir).launch)
  if (text === undefined) return undefined
  try {
    return parseLaunchFile(text)
  } catch {
    return undefined
  }
}

/** Who the agent of an attempt is or was; undefined when the record is missing or odd in any way. */
export async function readAgent(attemptDir: string): Promise<ProcessIdentity | undefined> {
  const text = await readRecord(attemptFiles(attemptDir).agent)
  return text === undefined ? undefined : parseIdentity(parseObject(text))
}

/** Who the keeper of an attempt is or was; undefined when none has claimed it. */
export async function readKeeper(attemptDir: string): Promise<ProcessIdentity | undefined> {
  const text = await readRecord(attemptFiles(attemptDir).keeper)
  return text === undefined ? undefined : parseIdentity(parseObject(text))
}

/** A small regular file of ours. Links, pipes, folders and anything large are no records. */
async function readRecord(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const found = await file.stat()
      if (!found.isFile() || found.size > recordBytesMax) return undefined
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}
