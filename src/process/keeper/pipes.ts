// The agent's three standard streams as real pipes. Node's own 'pipe' is a socket pair, on which an agent's
// `> /dev/stdout` and `cat /dev/stdin` fail.
import { spawn } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface AgentPipes {
  /** The agent's ends, to be closed once it has been started. */
  readonly agentEnds: readonly [number | 'ignore', number, number]
  readonly stdin: number | undefined
  readonly stdout: number
  readonly stderr: number
  /** How the pipes look in /proc/PID/fd. The first is a folder that no other pipe was ever in. */
  readonly links: readonly [string, ...string[]]
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants
const linux = process.platform === 'linux'

/**
 * Output goes through named pipes that lose their names at once. Input is an unnamed pipe where there is a /proc: to open
 * a named one whose writer has closed would block for ever, so `cat /dev/stdin` after the end of input would hang. The
 * unnamed one is borrowed from a shell, since Node cannot make one. `attemptDir` must be a real path. Rejects when the
 * file system has no FIFOs.
 */
export async function openPipes(attemptDir: string, withInput: boolean): Promise<AgentPipes> {
  const folder = join(attemptDir, 'pipes')
  const [outPath, errPath, inPath] = ['stdout', 'stderr', 'stdin'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const opened: number[] = []
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags)
    opened.push(fd)
    return fd
  }
  mkdirSync(folder, { mode: 0o700 })
  const shell = new PipeShell([outPath, errPath, ...(withInput && !linux ? [inPath] : [])], withInput && linux)
  try {
    const borrowed = await shell.ready
    // The reader first and without blocking, so that opening the writer finds it. Each end has its own open file:
    // the agent's is a blocking one, as programs expect.
    const stdout = open(outPath, O_RDONLY | O_NONBLOCK)
    const agentOut = open(outPath, O_WRONLY)
    const stderr = open(errPath, O_RDONLY | O_NONBLOCK)
    const agentErr = open(errPath, O_WRONLY)
    let stdin: number | undefined
    let agentIn: number | 'ignore' = 'ignore'
    const links: [string, ...string[]] = [`${folder}/`]
    if (withInput) {
      const path = borrowed ?? inPath
      const opener = openSync(path, O_RDONLY | O_NONBLOCK)
      try {
        stdin = open(path, O_WRONLY | O_NONBLOCK)
        agentIn = open(path, O_RDONLY)
      } finally {
        closeSync(opener)
      }
      if (linux) links.push(readlinkSync(`/proc/self/fd/${stdin}`))
    }
    return { agentEnds: [agentIn, agentOut, agentErr], stdin, stdout, stderr, links }
  } catch (error) {
    for (const fd of opened) closeSync(fd)
    throw error
  } finally {
    shell.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Makes the named pipes and, if asked, lends an unnamed one until `end`. */
class PipeShell {
  /** The path under /proc of the unnamed pipe, or undefined where none was asked for. */
  readonly ready: Promise<string | undefined>
  readonly end: () => void

  constructor(names: readonly string[], lend: boolean) {
    // In `: | reader` the writer is gone at once; the pipe itself lives for as long as the reader has it.
    const borrow = `exec 3<&0; : | sh -c 'exec 4<&0; echo $$; read -r over <&3'`
    const child = spawn('/bin/sh', ['-c', `mkfifo -m 600 "$@" && ${lend ? borrow : 'echo made'}`, 'sh', ...names], {
      env: { PATH: `${process.env['PATH'] ?? ''}:/usr/bin:/bin` },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.end = () => child.stdin.destroy()
    this.ready = new Promise((resolve, reject) => {
      let said = ''
      let complaint = ''
      const timer = setTimeout(() => {
        child.kill('SIGKILL')
        reject(new Error('the shell that makes pipes does not answer'))
      }, 10_000)
      child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
      child.on('error', reject)
      child.stdin.on('error', () => undefined)
      child.on('close', () => {
        clearTimeout(timer)
        reject(new Error(`mkfifo failed: ${complaint.trim()}`))
      })
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        if (!said.includes('\n')) return
        clearTimeout(timer)
        resolve(lend ? `/proc/${parseInt(said, 10)}/fd/4` : undefined)
      })
    })
  }
}
