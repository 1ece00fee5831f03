// A place on disk for one test: a home, a VS Code profile and room for repositories, apart from the person's own.
// Removing it also ends every process that was started from it, keepers that outlive their host included.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { processes } from '../../../scripts/vscode/server.mjs'

export interface TestHome {
  /** Short, because sockets live below it. */
  readonly folder: string
  readonly home: string
  readonly profile: string
  /** Where Coxswain keeps its records when it is started with this environment. */
  readonly store: string
  /** The whole environment of what is started from here. */
  readonly env: NodeJS.ProcessEnv
  /** Living processes that were started from here: this home is in their environment, or the folder in their command. */
  processes(): { pid: number; command: string }[]
  remove(): void
}

export function makeTestHome(): TestHome {
  // Not os.tmpdir(): on macOS that is too long for the sockets.
  const folder = mkdtempSync('/tmp/cx-')
  const home = path.join(folder, 'home')
  mkdirSync(home)
  writeFileSync(path.join(home, '.gitconfig'), '[user]\n\tname = Test Author\n\temail = author@example.invalid\n')
  const env = {
    PATH: process.env.PATH ?? '',
    LANG: 'C.UTF-8',
    SHELL: '/bin/sh',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
  }
  const started = () =>
    processes().filter(
      ({ pid, command }) =>
        pid !== process.pid && (command.includes(folder) || environment(pid).includes(`HOME=${home}`)),
    )
  return {
    folder,
    home,
    profile: path.join(folder, 'p'),
    store: path.join(home, '.local/share/coxswain'),
    env,
    processes: started,
    remove() {
      for (const { pid } of started()) {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It ended by itself.
        }
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Only Linux shows it; elsewhere a process is found by its command alone. */
function environment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}
