// The PATH of the person's login shell. An editor started from a dock or a menu has the system's folders only; the shell
// knows the others. It is asked once per process, in a session of its own without a terminal, and never for long.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { basename, delimiter, isAbsolute } from 'node:path'
import { baseEnvironmentNames, pickEnvironment } from './environment'

/** Shells with a slow start-up file answer in two or three seconds. */
const patienceMs = 5_000
const mostBytes = 256 * 1024

const cache = new Map<string, Promise<readonly string[]>>()

/** Absolute folders, in order; empty when there is no shell or it did not answer within `limitMs`. */
export function loginShellPath(
  environment: Readonly<Record<string, string | undefined>>,
  limitMs = patienceMs,
): Promise<readonly string[]> {
  const shell = shellOf(environment)
  if (shell === undefined || process.platform === 'win32') return Promise.resolve([])
  const key = `${shell}\0${environment['HOME'] ?? ''}`
  const known = cache.get(key) ?? ask(shell, environment, limitMs)
  cache.set(key, known)
  return known
}

/** `path` with the login shell's folders behind its own, for a program that was only found by them. */
export function withFolders(path: string | undefined, folders: readonly string[]): string {
  const own = (path ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...new Set([...own, ...folders])].join(delimiter)
}

function shellOf(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const named = environment['SHELL']
  if (named !== undefined && isAbsolute(named)) return named
  try {
    const { shell } = userInfo()
    return shell !== null && isAbsolute(shell) ? shell : undefined
  } catch {
    // A user without an entry has no shell.
    return undefined
  }
}

function ask(
  shell: string,
  environment: Readonly<Record<string, string | undefined>>,
  limitMs: number,
): Promise<readonly string[]> {
  const marker = randomUUID()
  // The same words in every shell: none expands a list of its own here.
  const command = `echo ${marker}; /usr/bin/printenv PATH; echo ${marker}`
  const login = /^t?csh$/.test(basename(shell)) ? [] : ['-l']
  return new Promise((resolve) => {
    const child = spawn(shell, ['-i', ...login, '-c', command], {
      // A session of its own: an interactive shell would otherwise take hold of the terminal we may run in.
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...pickEnvironment(environment, baseEnvironmentNames),
        TERM: 'dumb',
        // Start-up files know these: the editor's own look at the environment, and updaters that would ask something.
        VSCODE_RESOLVING_ENVIRONMENT: '1',
        DISABLE_AUTO_UPDATE: 'true',
      },
    })
    let text = ''
    const end = (folders: readonly string[]): void => {
      clearTimeout(timer)
      child.stdout.destroy()
      endGroup(child.pid)
      resolve(folders)
    }
    const timer = setTimeout(() => end([]), limitMs)
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      // What a start-up file left in the background may hold the pipe for ever, so its end is not waited for.
      const folders = foldersIn(text, marker)
      if (folders !== undefined) end(folders)
      else if (text.length > mostBytes) end([])
    })
    child.on('error', () => end([]))
    child.on('close', () => end([]))
  })
}

/** Undefined until the answer is whole. */
function foldersIn(text: string, marker: string): readonly string[] | undefined {
  const parts = text.split(`${marker}\n`)
  if (parts.length < 3) return undefined
  const folders = (parts[1] ?? '').trim().split(delimiter)
  return [...new Set(folders.filter((folder) => isAbsolute(folder)))]
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has gone by itself.
  }
}
