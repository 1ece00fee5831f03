// Short programs that print something and go: finding them, and running one with a time limit and a small buffer. Agents
// are never run through this file.
import { execa } from 'execa'
import { access, constants, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

export type Found = { readonly path: string } | { readonly path: undefined; readonly looked: readonly string[] }

/** The first of `names` that is an executable file: an absolute path as it is, a bare name in the folders of `path`. */
export async function findProgram(names: readonly string[], path: string | undefined): Promise<Found> {
  const folders = (path ?? '').split(delimiter).filter((folder) => isAbsolute(folder))
  const looked: string[] = []
  for (const name of names) {
    const candidates = isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name))
    for (const candidate of candidates) {
      if (await isExecutableFile(candidate)) return { path: candidate }
      looked.push(candidate)
    }
  }
  return { path: undefined, looked }
}

async function isExecutableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

/** What it printed on both streams, or why there is nothing, in words. `timeoutMs` until it is killed. */
export async function askProgram(
  file: string,
  args: readonly string[],
  options: { readonly environment: Record<string, string>; readonly timeoutMs: number },
): Promise<{ readonly output: string } | { readonly problem: string }> {
  const result = await execa(file, args, {
    reject: false,
    stdin: 'ignore',
    all: true,
    env: options.environment,
    extendEnv: false,
    timeout: options.timeoutMs,
    forceKillAfterDelay: 500,
    maxBuffer: 64 * 1024,
  })
  if (result.timedOut) return { problem: `it did not answer within ${options.timeoutMs} ms` }
  if (result.failed && result.exitCode === undefined) return { problem: result.shortMessage ?? 'it could not be run' }
  return { output: result.all ?? '' }
}
