// Starts the agent itself: own group and session, exactly the environment that was named, pipes with an end of their
// own. It says in a person's words why an agent could not be started.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, realpathSync } from 'node:fs'
import { checkProgram } from '../checkProgram'
import { currentBootId, readStat, type StatRow } from '../identity'
import { LaunchError, type LaunchErrorKind, type LaunchFile, type ProcessIdentity } from '../launch'
import { markerName } from '../sweep'
import { openPipes, type AgentPipes } from './pipes'

export interface StartedAgent {
  readonly child: ChildProcess
  readonly identity: ProcessIdentity
  readonly pipes: AgentPipes
}

/** Resolves once the program runs. Rejects with a LaunchError; then nothing was started and nothing is left open. */
export async function startAgent(
  launch: LaunchFile,
  attemptDir: string,
  environment: Readonly<Record<string, string>>,
): Promise<StartedAgent> {
  const file = await checkProgram(launch.file, launch.cwd, environment['PATH'])
  let pipes: AgentPipes
  try {
    pipes = await openPipes(realpathSync(attemptDir), launch.input === 'open')
  } catch (cause) {
    throw new LaunchError('spawnFailed', `No pipes could be made for the agent in ${attemptDir}: ${words(cause)}`, {
      cause,
    })
  }
  const closeAgentEnds = (): void => {
    for (const end of pipes.agentEnds) if (end !== 'ignore') closeSync(end)
  }
  const closeOurEnds = (): void => {
    for (const end of [pipes.stdin, pipes.stdout, pipes.stderr]) if (end !== undefined) closeSync(end)
  }
  let child: ChildProcess
  try {
    child = spawn(file, [...launch.args], {
      cwd: launch.cwd,
      env: { ...environment, [markerName]: launch.marker },
      detached: true,
      stdio: [...pipes.agentEnds],
    })
  } catch (cause) {
    closeAgentEnds()
    closeOurEnds()
    throw spawnError(launch, cause)
  }
  closeAgentEnds()
  const { pid } = child
  if (pid === undefined) {
    closeOurEnds()
    throw spawnError(launch, await new Promise((resolve) => child.once('error', resolve)))
  }
  // It cannot have been reaped before this turn of the loop ends, so the row is there even if it died at once.
  let row: StatRow | undefined
  try {
    row = readStat(pid)
  } catch (cause) {
    // Whom we cannot name, nobody could end later.
    process.kill(-pid, 'SIGKILL')
    closeOurEnds()
    throw spawnError(launch, cause)
  }
  return { child, identity: { pid, startTime: row?.startTime ?? '0', bootId: currentBootId() }, pipes }
}

const words = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

function spawnError(launch: LaunchFile, cause: unknown): LaunchError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const known: Record<string, [LaunchErrorKind, string]> = {
    E2BIG: [
      'argumentsTooLong',
      `The arguments and environment of ${launch.file} are longer than the system takes. Pass the prompt by stdin or by file.`,
    ],
    EACCES: ['notExecutable', `${launch.file} may not be executed. Check its permissions and those of its folder.`],
    ENOENT: [
      'programMissing',
      `${launch.file} could not be started: it, or the interpreter named in its first line, does not exist.`,
    ],
    ENOEXEC: ['notExecutable', `${launch.file} is not a program this system can run.`],
  }
  const [kind, message] = known[String(code)] ?? [
    'spawnFailed',
    `${launch.file} could not be started in ${launch.cwd}: ${words(cause)}`,
  ]
  return new LaunchError(kind, message, { cause })
}
