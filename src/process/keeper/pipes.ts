// The agent's three standard streams as named pipes that lose their names at once. Node's own 'pipe' is a socket pair:
// an agent's `> /dev/stdout` fails on it.
import { spawnSync } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface AgentPipes {
  /** The agent's ends, to be closed once it has been started. */
  readonly agentEnds: readonly [number | 'ignore', number, number]
  readonly stdin: number | undefined
  readonly stdout: number
  readonly stderr: number
  /** How the pipes look in /proc/PID/fd: a prefix that no other pipe has. */
  readonly link: string
}

/** Makes and opens them under `attemptDir` (which must be a real path). Throws when the file system has no FIFOs. */
export function openPipes(attemptDir: string, withInput: boolean): AgentPipes {
  const folder = join(attemptDir, 'pipes')
  const names = withInput ? ['stdout', 'stderr', 'stdin'] : ['stdout', 'stderr']
  const paths = names.map((name) => join(folder, name))
  mkdirSync(folder, { mode: 0o700 })
  const made = spawnSync('mkfifo', ['-m', '600', ...paths], {
    env: { PATH: '/usr/bin:/bin' },
    encoding: 'utf8',
    timeout: 10_000,
  })
  if (made.status !== 0) throw new Error(`mkfifo failed: ${made.error?.message ?? made.stderr}`)
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants
  const opened: number[] = []
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags)
    opened.push(fd)
    return fd
  }
  try {
    // The reader first and without blocking, so that opening the writer finds it. Each end has its own open file:
    // the agent's is a blocking one, as programs expect.
    const [outPath = '', errPath = '', inPath] = paths
    const stdout = open(outPath, O_RDONLY | O_NONBLOCK)
    const agentOut = open(outPath, O_WRONLY)
    const stderr = open(errPath, O_RDONLY | O_NONBLOCK)
    const agentErr = open(errPath, O_WRONLY)
    let stdin: number | undefined
    let agentIn: number | 'ignore' = 'ignore'
    if (inPath !== undefined) {
      const opener = openSync(inPath, O_RDONLY | O_NONBLOCK)
      try {
        stdin = open(inPath, O_WRONLY | O_NONBLOCK)
        agentIn = open(inPath, O_RDONLY)
      } finally {
        closeSync(opener)
      }
    }
    return { agentEnds: [agentIn, agentOut, agentErr], stdin, stdout, stderr, link: `${folder}/` }
  } catch (error) {
    for (const fd of opened) closeSync(fd)
    throw error
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
