// Git LFS without running it: a tracked file whose stored blob is an LFS pointer is unchanged when its bytes hash to
// what the pointer says. Only reads.
import { hashInside } from './insideTree'
import type { View } from './view'

export interface Pointer {
  /** Hex SHA-256 of the real content. */
  readonly oid: string
  /** Bytes. */
  readonly size: number
}

/** An LFS pointer, or null for any other content. */
export function parsePointer(content: Buffer): Pointer | null {
  if (content.length > 1024) return null
  const text = content.toString('latin1')
  const pattern =
    /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n/
  const match = pattern.exec(text)
  return match?.[1] === undefined ? null : { oid: match[1], size: Number(match[2]) }
}

/** Whether the file on the disk is the content this pointer stands for. */
async function isContentOf(pointer: Pointer, root: string, path: string): Promise<boolean> {
  const hashed = await hashInside(root, path, pointer.size)
  return hashed.kind === 'file' && hashed.size === pointer.size && hashed.hash === pointer.oid
}

/** Parses `cat-file --batch`: each blob by its hash; entries of another kind or missing are left out. */
export function parseBatch(output: Buffer): Map<string, Buffer> {
  const blobs = new Map<string, Buffer>()
  let at = 0
  while (at < output.length) {
    const end = output.indexOf(10, at)
    if (end < 0) break
    const [name = '', type, size] = output.toString('latin1', at, end).split(' ')
    at = end + 1
    if (size === undefined) continue
    const length = Number(size)
    if (type === 'blob') blobs.set(name, output.subarray(at, at + length))
    at += length + 1
  }
  return blobs
}

const largeFilesChecked = 2_000

/** Of these paths → blobs, those whose blob is an LFS pointer to exactly the bytes that are there. */
export async function unchangedLargeFiles(
  view: View,
  changed: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const same = new Map<string, string>()
  const candidates = [...changed].filter(([, blob]) => blob !== '').slice(0, largeFilesChecked)
  if (candidates.length === 0) return same
  const sizes = await view.run({
    args: ['cat-file', '--batch-check'],
    input: candidates.map(([, blob]) => `${blob}\n`).join(''),
  })
  const small = new Set<string>()
  for (const line of sizes.stdout.toString('latin1').split('\n')) {
    const [blob = '', type, size] = line.split(' ')
    if (type === 'blob' && Number(size) <= 1024) small.add(blob)
  }
  if (small.size === 0) return same
  const batch = await view.run({ args: ['cat-file', '--batch'], input: [...small].map((blob) => `${blob}\n`).join('') })
  const blobs = parseBatch(batch.stdout)
  for (const [path, blob] of candidates) {
    const content = blobs.get(blob)
    const pointer = content === undefined ? null : parsePointer(content)
    if (pointer !== null && (await isContentOf(pointer, view.made.path, path))) same.set(path, blob)
  }
  return same
}
