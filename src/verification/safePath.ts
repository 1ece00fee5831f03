// Opens files of a worktree that may be hostile: what is read is a regular file inside the worktree or nothing at all,
// whatever links, devices or swaps stand in the way. The file is opened first and judged by its handle; a path that was
// looked at is never opened afterwards. Opens for reading only.
import { constants } from 'node:fs'
import { lstat, open, readdir, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { within, type Limits } from './world'

/** A worktree's real place, found once. */
export interface Root {
  readonly path: string
  /** Its bytes with a trailing slash: names need not be UTF-8. */
  readonly prefix: Buffer
}

export type PathProblem = 'absent' | 'not a file' | 'outside' | 'too large' | 'unreadable' | 'moved'

export type Problem = {
  readonly ok: false
  readonly problem: PathProblem
  /** For people: what stands there and what would be right. */
  readonly reason: string
  /** The child can put it right by doing its work; false for what only hostile or broken work leaves behind. */
  readonly recoverable: boolean
}

export interface FileFacts {
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly links: number
}

export type Found = { readonly ok: true; readonly facts: FileFacts }
export type Read = { readonly ok: true; readonly facts: FileFacts; readonly bytes: Buffer<ArrayBuffer> }

/** Linux: a handle that names a file without opening it, so that a device or FIFO is never touched. */
const O_PATH = 0o10000000
/** Untested: macOS has no O_PATH and no /proc; there the handle's identity is compared with the path's afterwards. */
const hasProc = process.platform === 'linux'

/** Rejects when there is no such folder. */
export async function openRoot(worktree: string): Promise<Root> {
  const real = await realpath(worktree, 'buffer')
  return { path: real.toString(), prefix: Buffer.concat([real, Buffer.from('/')]) }
}

/** Whether a regular file stands at `path` (relative, `/`), inside the worktree and not beyond the size limit. */
export async function findInside(root: Root, path: string, limits: Limits): Promise<Found | Problem> {
  return guarded(path, limits, async (budget) => {
    const named = await name(root, path)
    if (!named.ok) return named
    try {
      const judged = await judgeHandle(root, path, named.handle, limits.fileBytes)
      return judged.ok ? { ok: true, facts: judged.facts } : judged
    } finally {
      budget.done(named.handle)
    }
  })
}

/** The real path of a folder inside the worktree, for a program to start in. It can be exchanged before the program does. */
export async function folderInside(
  root: Root,
  path: string,
  limits: Limits,
): Promise<{ ok: true; path: string } | Problem> {
  return guarded<{ readonly ok: true; readonly path: string }>(path, limits, async () => {
    let real: Buffer
    try {
      real = await realpath(join(root.path, path), 'buffer')
    } catch (error) {
      return openProblem(root, path, error)
    }
    if (!isInside(root, real) && !real.equals(root.prefix.subarray(0, -1)))
      return outside(path, 'is a link that leaves the worktree')
    const isFolder = (await lstat(real)).isDirectory()
    return isFolder
      ? { ok: true, path: real.toString() }
      : { ok: false, problem: 'not a file', reason: `${path} is no folder`, recoverable: true }
  })
}

export interface PlainStats {
  readonly kind: 'file' | 'link' | 'other'
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
}

/** What stands at the path itself, links not followed at its end; null when nothing does. Nothing is opened. */
export async function plainStats(root: Root, path: string): Promise<PlainStats | null> {
  try {
    const stats = await lstat(join(root.path, path))
    const { size, mtimeMs, ctimeMs } = stats
    return { kind: stats.isFile() ? 'file' : stats.isSymbolicLink() ? 'link' : 'other', size, mtimeMs, ctimeMs }
  } catch {
    return null
  }
}

/** The content of the regular file at `path`, at most `maxBytes` of it or a problem. */
export async function readInside(root: Root, path: string, limits: Limits, maxBytes: number): Promise<Read | Problem> {
  return withHandle(root, path, limits, maxBytes, async (handle, facts) => {
    const bytes = Buffer.allocUnsafeSlow(facts.size)
    let filled = 0
    while (filled < bytes.length) {
      const { bytesRead } = await handle.read(bytes, filled, Math.min(bytes.length - filled, 4 * 1024 * 1024), filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    if (filled === bytes.length) {
      const { bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, filled)
      if (bytesRead > 0) return moved(path, 'grew while it was read')
    }
    return { ok: true, facts, bytes: bytes.subarray(0, filled) }
  })
}

/** The file's content in pieces, e.g. for a hash. */
export async function eachPiece(
  root: Root,
  path: string,
  limits: Limits,
  take: (piece: Buffer) => void,
): Promise<Found | Problem> {
  return withHandle(root, path, limits, limits.fileBytes, async (handle, facts) => {
    const piece = Buffer.allocUnsafe(1024 * 1024)
    for (let at = 0; ;) {
      const { bytesRead } = await handle.read(piece, 0, piece.length, at)
      if (bytesRead === 0) return { ok: true, facts }
      at += bytesRead
      if (at > limits.fileBytes) return tooLarge(path, at, limits.fileBytes)
      take(piece.subarray(0, bytesRead))
    }
  })
}

interface Budget {
  /** Hands a handle back to be closed, in time or late. */
  done(handle: FileHandle): void
}

async function guarded<T extends { readonly ok: true }>(
  path: string,
  limits: Limits,
  work: (budget: Budget) => Promise<T | Problem>,
): Promise<T | Problem> {
  if (path.includes('\0')) return outside(path, 'holds a NUL character')
  const parts = path.split('/')
  if (path.startsWith('/') || parts.includes('..')) return outside(path, 'leaves the worktree')
  const closing: Promise<void>[] = []
  try {
    const done = (handle: FileHandle) => closing.push(handle.close().catch(() => undefined))
    return await within(work({ done }), limits.readMs, `reading took longer than ${limits.readMs / 1000} s`)
  } catch (error) {
    return unreadable(path, error)
  } finally {
    await Promise.all(closing)
  }
}

async function withHandle<T extends { readonly ok: true }>(
  root: Root,
  path: string,
  limits: Limits,
  maxBytes: number,
  use: (handle: FileHandle, facts: FileFacts) => Promise<T | Problem>,
): Promise<T | Problem> {
  return guarded(path, limits, async (budget) => {
    const named = await name(root, path)
    if (!named.ok) return named
    try {
      const judged = await judgeHandle(root, path, named.handle, maxBytes)
      if (!judged.ok) return judged
      if (!hasProc) return await use(named.handle, judged.facts)
      // The very file the handle names, whatever stands at the path by now.
      const reading = await open(`/proc/self/fd/${named.handle.fd}`, constants.O_RDONLY | constants.O_NONBLOCK)
      try {
        return await use(reading, judged.facts)
      } finally {
        budget.done(reading)
      }
    } finally {
      budget.done(named.handle)
    }
  })
}

/** A handle for whatever stands at the path. On Linux it cannot be read from and opening it has no effect on anything. */
async function name(root: Root, path: string): Promise<{ ok: true; handle: FileHandle } | Problem> {
  const whole = join(root.path, path)
  try {
    if (hasProc) return { ok: true, handle: await open(whole, O_PATH) }
    const real = await realpath(whole)
    if (!isInside(root, Buffer.from(real))) return outside(path, 'is a link that leaves the worktree')
    const kind = kindProblem(path, await lstat(real))
    if (kind !== null) return kind
    return { ok: true, handle: await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK) }
  } catch (error) {
    return openProblem(root, path, error)
  }
}

async function judgeHandle(
  root: Root,
  path: string,
  handle: FileHandle,
  maxBytes: number,
): Promise<{ ok: true; facts: FileFacts } | Problem> {
  const stats = await handle.stat()
  if (hasProc) {
    const place = await readlink(`/proc/self/fd/${handle.fd}`, 'buffer')
    if (!isInside(root, place) && !place.equals(root.prefix.subarray(0, -1)))
      return outside(path, 'is a link that leaves the worktree')
    if (stats.nlink === 0) return moved(path, 'was removed while it was looked at')
  }
  const kind = kindProblem(path, stats)
  if (kind !== null) return kind
  if (!hasProc) {
    const real = await realpath(join(root.path, path))
    const now = await lstat(real)
    if (!isInside(root, Buffer.from(real)) || now.dev !== stats.dev || now.ino !== stats.ino)
      return moved(path, 'was exchanged while it was looked at')
  }
  if (stats.size > maxBytes) return tooLarge(path, stats.size, maxBytes)
  return { ok: true, facts: { size: stats.size, mtimeMs: stats.mtimeMs, ctimeMs: stats.ctimeMs, links: stats.nlink } }
}

function isInside(root: Root, place: Buffer): boolean {
  return place.length > root.prefix.length && place.subarray(0, root.prefix.length).equals(root.prefix)
}

interface Kind {
  isFile(): boolean
  isDirectory(): boolean
  isFIFO(): boolean
  isSocket(): boolean
  isCharacterDevice(): boolean
  isBlockDevice(): boolean
}

function kindProblem(path: string, stats: Kind): Problem | null {
  if (stats.isFile()) return null
  const no = (what: string, recoverable: boolean): Problem => ({
    ok: false,
    problem: 'not a file',
    reason: `${path} is ${what}, not a regular file`,
    recoverable,
  })
  if (stats.isDirectory()) return no('a folder', true)
  if (stats.isFIFO()) return no('a FIFO', false)
  if (stats.isSocket()) return no('a socket', false)
  if (stats.isCharacterDevice() || stats.isBlockDevice()) return no('a device', false)
  return no('something else', false)
}

async function openProblem(root: Root, path: string, error: unknown): Promise<Problem> {
  const code = (error as NodeJS.ErrnoException).code
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR': {
      const other = await otherSpelling(root, path)
      return {
        ok: false,
        problem: 'absent',
        reason: other === null ? `there is no file ${path}` : `there is no file ${path}, but there is ${other}`,
        recoverable: true,
      }
    }
    case 'ELOOP':
      return { ok: false, problem: 'not a file', reason: `${path} is a link in a circle`, recoverable: false }
    case 'ENAMETOOLONG':
      return { ok: false, problem: 'absent', reason: `${path} is too long for a path`, recoverable: false }
    default:
      return unreadable(path, error)
  }
}

/** The entry of the same folder that differs only in case. The folder is named by a handle too. */
async function otherSpelling(root: Root, path: string): Promise<string | null> {
  if (!hasProc) return null
  let handle: FileHandle | undefined
  try {
    const folder = dirname(path)
    handle = await open(join(root.path, folder), O_PATH)
    const place = await readlink(`/proc/self/fd/${handle.fd}`, 'buffer')
    if (!isInside(root, place) && !place.equals(root.prefix.subarray(0, -1))) return null
    if (!(await handle.stat()).isDirectory()) return null
    const wanted = basename(path).normalize('NFC').toLowerCase()
    const entry = (await readdir(`/proc/self/fd/${handle.fd}`)).find(
      (candidate) => candidate.normalize('NFC').toLowerCase() === wanted && candidate !== basename(path),
    )
    return entry === undefined ? null : folder === '.' ? entry : `${folder}/${entry}`
  } catch {
    return null
  } finally {
    await handle?.close()
  }
}

function outside(path: string, what: string): Problem {
  return { ok: false, problem: 'outside', reason: `${path} ${what}; nothing outside is read`, recoverable: false }
}

function moved(path: string, what: string): Problem {
  return { ok: false, problem: 'moved', reason: `${path} ${what}`, recoverable: false }
}

function tooLarge(path: string, size: number, limit: number): Problem {
  return {
    ok: false,
    problem: 'too large',
    reason: `${path} has ${bytes(size)}; the limit is ${bytes(limit)}`,
    recoverable: false,
  }
}

function unreadable(path: string, error: unknown): Problem {
  const { code, message } = error as NodeJS.ErrnoException
  const why = code === 'EACCES' || code === 'EPERM' ? 'its permissions forbid reading it' : message
  return { ok: false, problem: 'unreadable', reason: `${path} cannot be read: ${why}`, recoverable: false }
}

/** 1536 → "1.5 KiB". */
export function bytes(count: number): string {
  if (count < 1024) return `${count} ${count === 1 ? 'byte' : 'bytes'}`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let value = count / 1024
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(1)} ${units[unit] ?? ''}`
}
