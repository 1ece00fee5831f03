// One hash for what is on the disk in a worktree. It reads the real bytes, runs no filter and believes no index of an
// agent, so the same work hashes the same whether or not it was committed, here or elsewhere.
import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import type { Git } from './git'
import { hashInside } from './insideTree'
import { asProblem, type Problem, problem } from './repository'
import { findWorktree, type Head, type KnownWorktree, type Made, View } from './view'

export interface TreeHash {
  readonly kind: 'hash'
  /** Hex SHA-256 over path, type, executable bit and content of every file, in the byte order of the paths. */
  readonly hash: string
  readonly files: number
  readonly bytes: number
  /** Files that could not be read; they are in the hash as unreadable. */
  readonly refused: readonly string[]
}

export interface TreeHashRequest {
  /** Further files, relative, such as ignored deliverables. */
  readonly extra?: readonly string[]
  /** Bytes of all files together; 4 GiB when absent. More is the problem `too-large`. */
  readonly maxBytes?: number
  readonly signal?: AbortSignal
}

const readersAtOnce = 4
const listBytes = 256 * 1024 * 1024

/** The listing itself, entries ended by NUL. */
async function listed(git: Git, made: Made, head: Head, signal?: AbortSignal): Promise<Buffer> {
  const view = await View.open(git, made)
  const { stdout } = await view.at(head.commit ?? made.base, () =>
    view.run({
      args: ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
      maxBytes: listBytes,
      timeoutMs: 120_000,
      ...(signal ? { signal } : {}),
    }),
  )
  return stdout
}

/** Hashes tracked files, untracked files that are not ignored, and `extra`. Absent files are simply not in it. */
export async function treeHash(
  git: Git,
  known: KnownWorktree,
  request: TreeHashRequest = {},
): Promise<TreeHash | Problem> {
  try {
    const there = await findWorktree(git, known)
    if (there === null) return problem('gone', `The worktree ${known.path} is no longer there.`)
    const { made, head } = there
    const paths = new Set(
      (await listed(git, made, head, request.signal)).toString('latin1').split('\0').filter(Boolean),
    )
    for (const path of request.extra ?? []) paths.add(Buffer.from(path).toString('latin1'))
    return await hashAll(made.path, [...paths].sort(), request)
  } catch (failure) {
    return asProblem(failure, `list the files of ${known.path}`)
  }
}

async function hashAll(root: string, paths: readonly string[], request: TreeHashRequest): Promise<TreeHash | Problem> {
  const limit = request.maxBytes ?? 4 * 1024 * 1024 * 1024
  const lines: string[] = new Array<string>(paths.length).fill('')
  const refused: string[] = []
  let bytes = 0
  let files = 0
  let next = 0
  const reader = async () => {
    for (let index = next++; index < paths.length; index = next++) {
      if (request.signal?.aborted || bytes > limit) return
      const raw = paths[index] ?? ''
      const name = Buffer.from(raw, 'latin1')
      // A nested repository is listed as a folder; its content is its own affair, that it is there is part of ours.
      const hashed =
        raw.endsWith('/') || !isUtf8(name)
          ? ({ kind: 'refused', reason: 'not a file that can be opened by name' } as const)
          : await hashInside(root, name.toString('utf8'), limit - bytes)
      switch (hashed.kind) {
        case 'file':
          bytes += hashed.size
          files++
          lines[index] = JSON.stringify([raw, hashed.executable ? 'executable' : 'file', hashed.hash])
          break
        case 'link':
          files++
          lines[index] = JSON.stringify([raw, 'link', createHash('sha256').update(hashed.target).digest('hex')])
          break
        case 'absent':
          break
        case 'refused':
          if (hashed.reason === 'too large') bytes = limit + 1
          refused.push(name.toString('utf8'))
          lines[index] = JSON.stringify([raw, 'unreadable'])
          break
        default:
          hashed satisfies never
      }
    }
  }
  await Promise.all(Array.from({ length: readersAtOnce }, reader))
  if (request.signal?.aborted) return problem('cancelled', 'Hashing the worktree was cancelled.')
  if (bytes > limit) {
    return problem(
      'too-large',
      `The files of ${root} are more than ${Math.round(limit / 1024 / 1024)} MiB and were not hashed.`,
    )
  }
  const hash = createHash('sha256')
  for (const line of lines) if (line !== '') hash.update(`${line}\n`)
  return { kind: 'hash', hash: hash.digest('hex'), files, bytes, refused: refused.sort().slice(0, 100) }
}
