// Whether the files that a verdict is about changed while the checks ran. Only files that were there before count: what
// our own commands newly create is no change of the child's work.
import { createHash } from 'node:crypto'
import { plainStats, eachPiece, type Root } from './safePath'
import { within, type Limits, type World } from './world'

/** Path → what stood there: kind and content, or of a large file its size and times. */
export type TreeStamp = ReadonlyMap<string, string>

const readersAtOnce = 8

/** Of all files that git does not ignore, and of these further ones. Rejects when git cannot say which those are. */
export async function stampTree(
  root: Root,
  world: World,
  more: readonly string[],
  limits: Limits,
  signal: AbortSignal | undefined,
): Promise<TreeStamp> {
  const files = await within(world.files(), limits.gitMs, 'git did not answer in time')
  return stampFiles(root, [...new Set([...files, ...more])], limits, signal)
}

/** Paths whose file is another than it was. */
export async function changedSince(
  before: TreeStamp,
  root: Root,
  limits: Limits,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const now = await stampFiles(root, [...before.keys()], limits, signal)
  return [...before].flatMap(([path, stamp]) => (now.get(path) === stamp ? [] : [path]))
}

async function stampFiles(
  root: Root,
  paths: readonly string[],
  limits: Limits,
  signal: AbortSignal | undefined,
): Promise<Map<string, string>> {
  const stamps = new Map<string, string>()
  let next = 0
  const reader = async (): Promise<void> => {
    for (let path = paths[next++]; path !== undefined; path = paths[next++]) {
      if (signal?.aborted === true) throw new Error('verification was ended')
      stamps.set(path, await stampFile(root, path, limits))
    }
  }
  await Promise.all(Array.from({ length: readersAtOnce }, reader))
  return stamps
}

async function stampFile(root: Root, path: string, limits: Limits): Promise<string> {
  const stats = await plainStats(root, path)
  if (stats === null) return 'absent'
  if (stats.kind !== 'file' || stats.size > limits.stampBytes)
    return `${stats.kind} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`
  const hash = createHash('sha256')
  const read = await eachPiece(root, path, limits, (piece) => hash.update(piece))
  return read.ok ? `file ${hash.digest('hex')}` : read.problem
}
