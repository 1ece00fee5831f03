// Finds a program that can run a keeper. The editor's own counts only if it really behaves as Node when asked to: a build
// with that switched off would open a second editor instead, so each candidate is tried once, with a time limit.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { delimiter, join } from 'node:path'
import { stat } from 'node:fs/promises'
import { keeperEnvironment } from './environment'

export interface NodeProgram {
  readonly path: string
  /** Without the leading v. */
  readonly version: string
}

export type NodeProbe =
  | { readonly found: NodeProgram }
  | { readonly found: undefined; readonly tried: readonly { readonly path: string; readonly why: string }[] }

const oldestMajor = 20
const cache = new Map<string, Promise<NodeProgram | string>>()

/** The program this process runs as, then every `node` on PATH: the order in which they are tried. */
export function nodeCandidates(path: string | undefined = process.env['PATH']): string[] {
  const onPath = (path ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...new Set([process.execPath, ...onPath.map((folder) => join(folder, 'node'))])]
}

/** The first candidate that is a Node of at least version 20. Each is run once per process and `limitMs` at most. */
export async function probeNode(candidates: readonly string[] = nodeCandidates(), limitMs = 5_000): Promise<NodeProbe> {
  const tried: { path: string; why: string }[] = []
  for (const path of candidates) {
    const known = cache.get(path) ?? tryNode(path, limitMs)
    cache.set(path, known)
    const result = await known
    if (typeof result !== 'string') return { found: result }
    tried.push({ path, why: result })
  }
  return { found: undefined, tried }
}

async function tryNode(path: string, limitMs: number): Promise<NodeProgram | string> {
  const file = await stat(path).catch(() => undefined)
  if (file?.isFile() !== true) return 'no such program'
  const marker = randomUUID()
  return await new Promise((resolve) => {
    execFile(
      path,
      ['-e', `process.stdout.write('${marker} ' + process.versions.node)`],
      { env: keeperEnvironment(process.env, {}), timeout: limitMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 },
      (error, stdout) => {
        const version = new RegExp(`${marker} (\\d+\\.\\d+\\.\\d+)`).exec(stdout)?.[1]
        if (version === undefined)
          resolve(error?.killed === true ? `no answer in ${limitMs} ms` : 'does not run as Node')
        else if (Number(version.split('.')[0]) < oldestMajor) resolve(`Node ${version} is too old`)
        else resolve({ path, version })
      },
    )
  })
}
