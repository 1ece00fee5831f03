// Runs one command of a contract or of a setup: argv without a shell, in its own process group, with a time limit and an
// output limit, and ends everything it left behind. Agents are never run through this file.
import { execa } from 'execa'
import { readlinkSync } from 'node:fs'
import { markerName } from './sweep'
import { AgentTree, endTree, type TreeEnd } from './stopLadder'
import { randomBytes } from 'node:crypto'
import { identityOf } from './identity'
import type { ProcessIdentity } from './launch'

export interface CommandRequest {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly outputCapBytes: number
  /** What it reads on stdin; without it stdin is closed. */
  readonly input?: string
  /** In the environment of every process of it; made up when absent. */
  readonly marker?: string
  /** Between asking it to end and killing it, when it is ended early. */
  readonly graceMs?: number
  readonly signal?: AbortSignal
  readonly onOutput?: (source: 'stdout' | 'stderr', chunk: Buffer) => void
}

export type CommandOutcome =
  | {
      readonly kind: 'exited'
      readonly code: number | null
      readonly signal: string | null
      /** The end of stdout and stderr together. */
      readonly output: string
      readonly outputBytes: number
      readonly leftBehind: number
    }
  | { readonly kind: 'timed out'; readonly output: string }
  | { readonly kind: 'too much output'; readonly output: string; readonly limitBytes: number }
  | { readonly kind: 'not started'; readonly reason: string }

const tailBytes = 64 * 1024
const drainMs = 1_000

const markersOf = (behalf: string): string => `check.${behalf}.`

/** A new marker for a command that is run on somebody's behalf; `behalf` has no dots. */
export const commandMarker = (behalf: string): string => `${markersOf(behalf)}${randomBytes(16).toString('hex')}`

/** Ends every command that was run on this behalf and still runs, whoever started it. One look around when there is none. */
export async function endLeftCommands(behalf: string): Promise<TreeEnd> {
  const tree = new AgentTree({ leader: undefined, marker: markersOf(behalf), pipes: [] }, () => false)
  return await endTree(tree, { ...ladder, leaderPid: undefined, graceMs: 1_000 })
}

const ladder = {
  sweepMs: 2_000,
  leftovers: true,
  onStep: () => undefined,
  pause: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}

const afterDrain = (): Promise<undefined> => new Promise((resolve) => setTimeout(() => resolve(undefined), drainMs))

/**
 * How its output looks in /proc/PID/fd: who left its group and its environment behind and still holds that is of it. Asked
 * before it can have gone; empty where there is no such folder.
 */
function pipesOf(pid: number): string[] {
  return [1, 2].flatMap((fd) => {
    try {
      const link = readlinkSync(`/proc/${pid}/fd/${fd}`)
      return /^(pipe|socket):\[\d+\]$/.test(link) ? [link] : []
    } catch {
      return []
    }
  })
}

/** Resolves when the command and all that it started are dead. Rejects only when `signal` was aborted. */
export async function runCommand(request: CommandRequest): Promise<CommandOutcome> {
  if (request.signal?.aborted === true) throw new Error('The command was called off.')
  const [file = '', ...args] = request.argv
  const marker = request.marker ?? commandMarker('')
  const subprocess = execa(file, args, {
    cwd: request.cwd,
    env: { ...request.environment, [markerName]: marker },
    extendEnv: false,
    detached: true,
    reject: false,
    buffer: false,
    all: true,
    ...(request.input === undefined ? { stdin: 'ignore' as const } : { input: request.input }),
    cleanup: false,
  })
  const { pid } = subprocess
  const leader = pid === undefined ? undefined : leaderOf(pid)
  const pipes = pid === undefined ? [] : pipesOf(pid)
  let tail = Buffer.alloc(0)
  let byteCount = 0
  let why: 'timed out' | 'too much output' | 'aborted' | undefined
  let stop: () => void = () => undefined
  const stopped = new Promise<void>((resolve) => (stop = resolve))
  const end = (reason: NonNullable<typeof why>): void => {
    why ??= reason
    stop()
  }
  subprocess.all.on('data', (chunk: Buffer) => {
    byteCount += chunk.length
    tail = Buffer.concat([tail, chunk]).subarray(-tailBytes)
    if (byteCount > request.outputCapBytes) end('too much output')
  })
  const { onOutput } = request
  if (onOutput !== undefined) {
    subprocess.stdout?.on('data', (chunk: Buffer) => onOutput('stdout', chunk))
    subprocess.stderr?.on('data', (chunk: Buffer) => onOutput('stderr', chunk))
  }
  const timer = setTimeout(() => end('timed out'), request.timeoutMs)
  const abort = (): void => end('aborted')
  request.signal?.addEventListener('abort', abort, { once: true })
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    subprocess.once('exit', (code, signal) => resolve({ code, signal }))
  })
  try {
    // Without a pid nothing exits; the promise then tells why it was not started.
    const first = pid === undefined ? undefined : await Promise.race([exited, stopped.then(() => undefined)])
    if (pid === undefined) {
      const result = await subprocess
      return { kind: 'not started', reason: result.shortMessage ?? 'it could not be started' }
    }
    const tree = new AgentTree({ leader, marker, pipes }, () => first === undefined)
    const graceMs = why === undefined ? 200 : (request.graceMs ?? 1_000)
    const { ended } = await endTree(tree, { ...ladder, leaderPid: undefined, graceMs })
    const last = first ?? (await Promise.race([exited, afterDrain()]))
    const drained = new Promise<void>((resolve) => subprocess.all.once('close', () => resolve()))
    if (!subprocess.all.destroyed && !subprocess.all.readableEnded) await Promise.race([drained, afterDrain()])
    const output = tail.toString('utf8')
    if (why === 'timed out') return { kind: 'timed out', output }
    if (why === 'too much output') return { kind: 'too much output', output, limitBytes: request.outputCapBytes }
    if (why === 'aborted') throw new Error('The command was called off.')
    return {
      kind: 'exited',
      code: last?.code ?? null,
      signal: last?.signal ?? null,
      output,
      outputBytes: byteCount,
      leftBehind: ended.length,
    }
  } finally {
    clearTimeout(timer)
    request.signal?.removeEventListener('abort', abort)
    subprocess.all.destroy()
    subprocess.catch(() => undefined)
  }
}

/** Undefined when it is gone or the system does not tell: its marker still finds it. */
function leaderOf(pid: number): ProcessIdentity | undefined {
  try {
    return identityOf(pid)
  } catch {
    return undefined
  }
}
