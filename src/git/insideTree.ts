// Opens one file of a worktree for reading. Nothing outside the worktree is ever read, whatever links, swaps or special
// files an agent has put in the way: the handle is opened first and what it is, and where it is, is asked of the handle.
import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'

export type Opened =
  /** `content` holds at most the bytes asked for, `size` says how many there are. */
  | { readonly kind: 'file'; readonly content: Buffer; readonly size: number; readonly executable: boolean }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'absent' }
  /** Outside, through a link, a folder, a device, or not readable. */
  | { readonly kind: 'refused'; readonly reason: string }

/** `path` is relative to `root`, an absolute path with links resolved. Reads at most `limit` bytes. */
export async function openInside(root: string, path: string, limit: number): Promise<Opened> {
  return withFile(root, path, async (handle, facts) => {
    const content = Buffer.alloc(Math.min(facts.size, limit))
    let length = 0
    while (length < content.length) {
      const { bytesRead } = await handle.read(content, length, content.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return { kind: 'file', content: content.subarray(0, length), size: facts.size, executable: isExecutable(facts) }
  })
}

export type Hashed =
  /** `hash`: hex SHA-256 of the bytes on the disk. */
  | { readonly kind: 'file'; readonly hash: string; readonly size: number; readonly executable: boolean }
  | Exclude<Opened, { kind: 'file' }>

/** Hashes one file in pieces, so that its size costs no memory; a file longer than `limit` bytes is refused. */
export async function hashInside(root: string, path: string, limit: number): Promise<Hashed> {
  return withFile<Hashed>(root, path, async (handle, facts) => {
    if (facts.size > limit) return { kind: 'refused', reason: 'too large' }
    const hash = createHash('sha256')
    const piece = Buffer.allocUnsafe(Math.min(Math.max(facts.size, 1), 256 * 1024))
    let size = 0
    for (;;) {
      const { bytesRead } = await handle.read(piece, 0, piece.length, size)
      if (bytesRead === 0) break
      hash.update(piece.subarray(0, bytesRead))
      size += bytesRead
      // A file that grows while it is read must not keep us for ever.
      if (size > limit) return { kind: 'refused', reason: 'too large' }
    }
    return { kind: 'file', hash: hash.digest('hex'), size, executable: isExecutable(facts) }
  })
}

/** A relative path whose every part is a name: what git lists, and nothing that leads upwards. */
export const isPlainPath = (path: string): boolean =>
  !isAbsolute(path) &&
  !path.includes('\0') &&
  !path.split('/').some((part) => part === '' || part === '.' || part === '..')

const isExecutable = (facts: Stats): boolean => (facts.mode & 0o100) !== 0

async function withFile<T>(
  root: string,
  path: string,
  act: (handle: FileHandle, facts: Stats) => Promise<T>,
): Promise<T | Exclude<Opened, { kind: 'file' }>> {
  if (!isPlainPath(path)) return { kind: 'refused', reason: 'not a path inside the worktree' }
  const full = join(root, path)
  let handle: FileHandle
  try {
    handle = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (failure) {
    const code = (failure as NodeJS.ErrnoException).code
    if (code === 'ELOOP' || code === 'EMLINK') return readLink(root, full)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' }
    return { kind: 'refused', reason: code ?? 'unknown' }
  }
  try {
    const facts = await handle.stat()
    if (!facts.isFile()) return { kind: 'refused', reason: 'not an ordinary file' }
    if (!(await isInside(root, full, handle))) return { kind: 'refused', reason: 'reached through a link' }
    return await act(handle, facts)
  } finally {
    await handle.close()
  }
}

async function readLink(root: string, full: string): Promise<Exclude<Opened, { kind: 'file' }>> {
  try {
    const target = await readlink(full)
    const folder = await realpath(join(full, '..'))
    return folder === root || contains(root, folder)
      ? { kind: 'link', target }
      : { kind: 'refused', reason: 'reached through a link' }
  } catch {
    return { kind: 'absent' }
  }
}

/** Where the open file really is. Linux says it of the handle; elsewhere the path is resolved and must be this very file. */
async function isInside(root: string, full: string, handle: FileHandle): Promise<boolean> {
  try {
    if (process.platform === 'linux') {
      const where = await readlink(`/proc/self/fd/${handle.fd}`)
      return contains(root, where)
    }
    const where = await realpath(full)
    const [opened, named] = [await handle.stat(), await stat(where)]
    return contains(root, where) && opened.ino === named.ino && opened.dev === named.dev
  } catch {
    return false
  }
}

/** Every part of the way is the same in letters, not only in prefix: `/a/bc` is not inside `/a/b`. */
const contains = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Whether there is something at this path, without following a link at its end. */
export const exists = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null)) !== null
