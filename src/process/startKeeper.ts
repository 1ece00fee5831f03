// Starts a keeper for one attempt and takes hold of it. It writes only through the function handed in, and every
// failure comes back as a LaunchError that a person can act on.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { attemptFiles } from './attemptFiles'
import { checkProgram } from './checkProgram'
import { keeperEnvironment, pickEnvironment } from './environment'
import { parseObject } from './json'
import { openLink, type KeeperLink } from './keeperLink'
import { alreadyStarted, LaunchError, launchErrorKinds, type Launch, type LaunchFile } from './launch'
import { deadline } from './limitClock'
import { longestSocketPath } from './wire'

export interface StartOptions {
  /** A program that `probeNode` found. */
  readonly nodePath: string
  /** The bundled keeper, best a copy inside the store: an extension's folder may vanish while keepers run. */
  readonly keeperFile: string
  /** Exists, 0700, one per attempt. */
  readonly attemptDir: string
  /** Exists, 0700, with a short path. */
  readonly socketDir: string
  readonly launch: Launch
  /** Values for `launch.environmentNames`; others in it are ignored. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Writes a whole file, 0600, atomically. */
  readonly write: (path: string, data: string) => Promise<void>
  readonly epoch: number
  readonly maxLineBytes?: number
  /** How long the keeper may take until its agent runs. */
  readonly readyMs?: number
}

/** Resolves with the link once the agent runs. Rejects with a LaunchError; then no agent runs, unless its message says so. */
export async function startKeeper(options: StartOptions): Promise<KeeperLink> {
  if (process.platform === 'win32')
    throw new LaunchError('unsupportedPlatform', 'Agents cannot be kept safely on native Windows. Use WSL instead.')
  const { launch, attemptDir } = options
  const socketPath = join(options.socketDir, `${randomBytes(6).toString('hex')}.sock`)
  const byteCount = Buffer.byteLength(socketPath)
  if (byteCount > longestSocketPath)
    throw new LaunchError(
      'socketPathTooLong',
      `The socket ${socketPath} would have a path of ${byteCount} bytes; systems take ${longestSocketPath}. Choose a shorter folder for the store.`,
    )
  const agentEnvironment = pickEnvironment(options.environment, launch.environmentNames)
  // Before a keeper is started for nothing, and for a better word than its own.
  await checkProgram(launch.file, launch.cwd, agentEnvironment['PATH'])
  // Its recipe names the socket at which it is found; writing another over it would lose a running attempt.
  if (existsSync(attemptFiles(attemptDir).launch) || existsSync(attemptFiles(attemptDir).keeper))
    throw alreadyStarted(attemptDir)
  const file: LaunchFile = { ...launch, socketPath }
  await options.write(attemptFiles(attemptDir).launch, `${JSON.stringify(file)}\n`)
  await runKeeper(options, agentEnvironment)
  const link = await openLink({
    attemptDir,
    socketPath,
    epoch: options.epoch,
    ...(options.maxLineBytes === undefined ? {} : { maxLineBytes: options.maxLineBytes }),
  })
  if ('kind' in link)
    throw new LaunchError(
      'keeperFailed',
      `The agent was started, but its keeper could not be reached (${JSON.stringify(link)}). Attach to the attempt in ${attemptDir} again.`,
    )
  return link
}

/** Starts the keeper detached and waits for its one word: that the agent runs, or why not. */
async function runKeeper(options: StartOptions, agentEnvironment: Record<string, string>): Promise<void> {
  const { nodePath, keeperFile, attemptDir } = options
  const failed = (detail: string, cause?: unknown): LaunchError =>
    new LaunchError(
      'keeperFailed',
      `The background process that keeps an agent could not be started with ${nodePath}: ${detail}. ` +
        'Set another Node (20 or newer) in the settings, or try again.',
      { cause },
    )
  let child: ChildProcess
  try {
    child = spawn(nodePath, [keeperFile, attemptDir], {
      cwd: attemptDir,
      detached: true,
      env: keeperEnvironment(process.env, agentEnvironment),
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      windowsHide: true,
    })
  } catch (error) {
    throw failed(error instanceof Error ? error.message : String(error), error)
  }
  const pipes = [child.stderr, child.stdio[3]] as (Readable | null)[]
  const [errors, readyPipe] = pipes
  try {
    await new Promise<void>((resolve, reject) => {
      let errorText = ''
      let readyText = ''
      const forgetDeadline = deadline(readyMs(options), () => {
        // It may still come up: asked to end, it ends its agent first.
        child.kill('SIGTERM')
        reject(failed(`it did not say within ${readyMs(options)} ms that the agent runs`))
      })
      const settle = (act: () => void): void => {
        forgetDeadline()
        act()
      }
      errors?.on('data', (chunk: Buffer) => (errorText = (errorText + chunk.toString()).slice(-2_000)))
      readyPipe?.on('data', (chunk: Buffer) => {
        readyText += chunk.toString()
        // Not its end: whatever a wrapper around Node started may hold the pipe for longer.
        if (!readyText.includes('\n')) return
        const error = readReady(readyText)
        if (error === undefined) settle(resolve)
        else settle(() => reject(error))
      })
      child.on('error', (error) => settle(() => reject(failed(error.message, error))))
      const gone = (code: number | null, signal: string | null): void => {
        const why = errorText.trim() === '' ? `it ended at once (${signal ?? `exit ${code}`})` : errorText.trim()
        settle(() => reject(failed(why)))
      }
      // Its word may still be in the pipe when it exits; after `close` there is no more of it.
      child.on('exit', (code, signal) => setTimeout(() => gone(code, signal), 1_000).unref())
      child.on('close', gone)
    })
  } finally {
    for (const pipe of pipes) pipe?.destroy()
    child.unref()
  }
}

const readyMs = (options: StartOptions): number => options.readyMs ?? 15_000

/** Undefined: the agent runs. */
function readReady(text: string): LaunchError | undefined {
  const message = parseObject(text.slice(0, text.indexOf('\n')))
  if (message?.['ok'] === true) return undefined
  const kind = launchErrorKinds.find((known) => known === message?.['kind']) ?? 'keeperFailed'
  const words = message?.['message']
  return new LaunchError(kind, typeof words === 'string' ? words : 'The keeper gave no reason.')
}
