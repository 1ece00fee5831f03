// Starts a process of our own that goes on when this one ends, such as the background supervisor. It owns no agent.
import { spawn } from 'node:child_process'
import { keeperEnvironment } from './environment'

/** Resolves once it runs; rejects when it cannot be started. `environment` is added to the little a Node of ours needs. */
export async function startDetached(
  nodePath: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly environment: Readonly<Record<string, string | undefined>> },
): Promise<void> {
  const child = spawn(nodePath, args, {
    cwd: options.cwd,
    detached: true,
    stdio: 'ignore',
    env: { ...options.environment, ...keeperEnvironment(process.env, {}) },
    windowsHide: true,
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', resolve)
  })
  child.unref()
}
