// The command line of the package that VS Code has installed, run on a test's repository.
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Repository } from './repository.js'
import type { TestHome } from './testHome.js'
import { until } from './until.js'

const run = promisify(execFile)

/** The command line of the installed package. */
export function installedCli(home: TestHome): string {
  const installed = readdirSync(path.join(home.profile, 'ext')).find((name) => name.startsWith('coxswain.coxswain'))
  if (installed === undefined) throw new Error('the package is not installed')
  return path.join(home.profile, 'ext', installed, 'dist/cli.js')
}

/** Runs the command line of the installed package on a repository; returns its JSON lines. */
export async function coxswain(home: TestHome, { folder }: Repository, ...args: string[]): Promise<unknown[]> {
  const { stdout } = await run(process.execPath, [installedCli(home), ...args, '--repo', folder, '--json'], {
    // The demo agent goes on at once instead of at a human pace.
    env: { ...home.env, COXSWAIN_DEMO_PACE_MS: '5' },
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}

/** Ends every child of the repository, so that the next test finds room under the cap. */
export async function stopAll(home: TestHome, repository: Repository): Promise<void> {
  const live = async (): Promise<string[]> => {
    const [list] = (await coxswain(home, repository, 'list')) as { subagents: { subagent_id: string }[] }[]
    return list?.subagents.map((child) => child.subagent_id) ?? []
  }
  // A refusal says that it has ended by itself meanwhile; the list below decides.
  for (const id of await live()) await coxswain(home, repository, 'stop', id).catch(() => undefined)
  await until('every child has ended', async () => (await live()).length === 0)
}
