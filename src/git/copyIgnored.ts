// Brings files that git ignores from a checkout into a new worktree: .env, node_modules and the like. Only ignored regular
// files, folders and links that stay inside; never .git, never through a link, never over something that is there, and
// never what the worktree's own commit does not ignore, because that would be committed with the child's work.
import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, open, readdir, readlink, realpath, symlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type { Git } from './git'
import { readSettings, withoutRepositoryPrograms } from './programs'
import { asProblem, isSystemError, type Problem, problem } from './repository'
import { findWorktree, type KnownWorktree, View } from './view'
import { isWithin } from './worktree'

export interface CopyWish {
  /** A folder's path stands for all that is in it. */
  readonly wanted: (path: string) => boolean
  /** For each pattern the folder or file that everything it matches lies in; '' when that is the top. */
  readonly bases: readonly string[]
  readonly signal?: AbortSignal
  readonly maxFiles?: number
  readonly maxBytes?: number
}

export interface Copied {
  readonly kind: 'copied'
  /** Files and links. */
  readonly files: number
  readonly bytes: number
  /** What was left out and why, in sentences. */
  readonly notes: readonly string[]
}

const defaultFiles = 200_000
const defaultBytes = 8 * 1024 ** 3
const listBytes = 64 * 1024 * 1024
const atOnce = 8
const excludedPaths = 5_000

interface Found {
  readonly path: string
  readonly kind: 'file' | 'link'
  readonly bytes: number
}

/** What is left out, by reason, in the order met. */
class LeftOut {
  private readonly reasons = new Map<string, string[]>()

  add(reason: string, path: string): void {
    const paths = this.reasons.get(reason) ?? []
    this.reasons.set(reason, paths)
    paths.push(path)
  }

  notes(): string[] {
    return [...this.reasons].map(([reason, paths]) => {
      const named = paths.sort().slice(0, 3).join(', ')
      return `Not copied, because ${reason}: ${named}${paths.length > 3 ? ` and ${paths.length - 3} more` : ''}.`
    })
  }
}

/**
 * Copies what `wish` wants of the ignored files of the checkout at `topLevel` (real path) into the worktree. Answers what
 * was done, or a problem; before any of `too-large` nothing has been copied.
 */
export async function copyIgnored(
  git: Git,
  topLevel: string,
  known: KnownWorktree,
  wish: CopyWish,
): Promise<Copied | Problem> {
  try {
    const there = await findWorktree(git, known)
    if (there === null) return problem('gone', `The worktree ${known.path} is no longer there.`)
    if (there.made.path === topLevel)
      return problem('bad-target', `${topLevel} is the child's own worktree; there is nothing to copy from.`)
    const left = new LeftOut()
    const plan = await planOf(git, topLevel, wish, left)
    if ('kind' in plan) return plan
    const view = await View.open(git, there.made)
    const commit = there.head.commit ?? there.made.base
    const reachable: Found[] = []
    const folders = new Map<string, Promise<boolean>>()
    for (const one of plan.found) {
      if (await isFree(there.made.path, dirname(one.path), folders)) reachable.push(one)
      else left.add('something else is in the place of its folder', one.path)
    }
    const ignored = await ignoredThere(view, commit, reachable)
    const found = reachable.filter(({ path }) => {
      if (!ignored.has(path)) left.add('the commit the child starts from does not ignore it', path)
      return ignored.has(path)
    })
    // Believed even when the child changes what is ignored: what came along is no work of its.
    await view.exclude(
      plan.whole.length + found.length > excludedPaths
        ? plan.whole
        : [...plan.whole, ...found.map(({ path }) => `/${path}`)],
    )
    return await copyAll(topLevel, there.made.path, found, left, wish.signal)
  } catch (failure) {
    if (wish.signal?.aborted === true) return problem('cancelled', 'Copying ignored files was called off.')
    if (isSystemError(failure) && failure.code === 'ENOSPC')
      return problem(
        'disk-full',
        `There is no space left to copy ignored files to ${known.path}. Free some, then try again.`,
      )
    return asProblem(failure, `copy ignored files to ${known.path}`)
  }
}

interface Plan {
  readonly found: Found[]
  /** Folders that come along as a whole, as patterns of an exclude file. */
  readonly whole: string[]
}

async function planOf(git: Git, topLevel: string, wish: CopyWish, left: LeftOut): Promise<Plan | Problem> {
  const anywhere = wish.bases.includes('')
  const listed = await git.run({
    cwd: topLevel,
    args: [
      'status',
      '--porcelain',
      '-z',
      '--ignored=matching',
      '--untracked-files=all',
      '--ignore-submodules=all',
      '--no-renames',
      '--',
      ...(anywhere ? [] : wish.bases),
    ],
    config: withoutRepositoryPrograms(await readSettings(git, topLevel)),
    maxBytes: listBytes,
    timeoutMs: 120_000,
    ...(wish.signal ? { signal: wish.signal } : {}),
  })
  const entries = listed.stdout
    .toString('utf8')
    .split('\0')
    .flatMap((line) => (line.startsWith('!! ') ? [line.slice(3)] : []))
  const walk = new Walk(topLevel, wish, left)
  const whole: string[] = []
  for (const entry of entries) {
    const path = entry.replace(/\/$/, '')
    if (!entry.endsWith('/')) {
      if (wish.wanted(path)) await walk.take(path)
    } else if (wish.wanted(path)) {
      whole.push(`/${path}/`)
      await walk.enter(path, true)
    } else if (wish.bases.some((base) => base !== '' && (isBelow(base, path) || isBelow(path, base)))) {
      await walk.enter(path, false)
    }
    if (walk.tooLarge !== null) return walk.tooLarge
  }
  return { found: walk.found, whole }
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

class Walk {
  readonly found: Found[] = []
  tooLarge: Problem | null = null
  private bytes = 0
  private seen = 0
  private readonly maxFiles: number
  private readonly maxBytes: number

  constructor(
    private readonly topLevel: string,
    private readonly wish: CopyWish,
    private readonly left: LeftOut,
  ) {
    this.maxFiles = wish.maxFiles ?? defaultFiles
    this.maxBytes = wish.maxBytes ?? defaultBytes
  }

  /** One file or link; folders are entered. */
  async take(path: string): Promise<void> {
    this.wish.signal?.throwIfAborted()
    if (++this.seen > this.maxFiles) {
      this.stop(path, `more than ${this.maxFiles} files`)
      return
    }
    if (path.split('/').some((part) => part.toLowerCase() === '.git')) {
      this.left.add('it belongs to a git folder', path)
      return
    }
    const facts = await lstat(join(this.topLevel, path)).catch(() => null)
    if (facts === null) return
    if (facts.isSymbolicLink()) this.found.push({ path, kind: 'link', bytes: 0 })
    else if (!facts.isFile()) this.left.add('it is neither a file nor a folder', path)
    else {
      this.bytes += facts.size
      this.found.push({ path, kind: 'file', bytes: facts.size })
      if (this.bytes > this.maxBytes) this.stop(path, `more than ${sizeOf(this.maxBytes)}`)
    }
  }

  /** A folder: all of it, or what of it is wanted. */
  async enter(folder: string, all: boolean): Promise<void> {
    const full = join(this.topLevel, folder)
    // A folder that is reached through a link is somewhere else.
    if ((await realpath(full).catch(() => null)) !== full) {
      this.left.add('it is reached through a link', folder)
      return
    }
    for (const entry of await readdir(full, { withFileTypes: true }).catch(() => [])) {
      if (this.tooLarge !== null) return
      const path = `${folder}/${entry.name}`
      if (entry.name.toLowerCase() === '.git') {
        if (all) this.left.add('it belongs to a git folder', path)
      } else if (entry.isDirectory()) await this.enter(path, all || this.wish.wanted(path))
      else if (all || this.wish.wanted(path)) await this.take(path)
      else if (++this.seen > this.maxFiles) this.stop(path, `more than ${this.maxFiles} files`)
    }
  }

  private stop(path: string, much: string): void {
    const top = path.split('/').slice(0, 2).join('/')
    this.tooLarge = problem(
      'too-large',
      `The ignored files to copy are ${much} (met in ${top}). Nothing was copied. Name less of it, or let the setup command make it.`,
    )
  }
}

/** Whether nothing but real folders, or nothing at all, is on the way to this folder of the worktree. */
async function isFree(tree: string, folder: string, known: Map<string, Promise<boolean>>): Promise<boolean> {
  const asked = known.get(folder)
  if (asked !== undefined) return asked
  const answer = (async () => {
    if (folder === '.') return true
    if (!(await isFree(tree, dirname(folder), known))) return false
    return (await lstat(join(tree, folder)).catch(() => null))?.isDirectory() ?? true
  })()
  known.set(folder, answer)
  return answer
}

/** Which of these the worktree's own commit ignores; tracked files are not ignored. */
async function ignoredThere(view: View, commit: string, found: readonly Found[]): Promise<Set<string>> {
  if (found.length === 0) return new Set()
  const { stdout } = await view.at(commit, () =>
    view.run({
      args: ['check-ignore', '-z', '--stdin'],
      // It knows no literal paths; behind ./ nothing in a name is taken for magic.
      input: found.map(({ path }) => `./${path}\0`).join(''),
      environment: { GIT_LITERAL_PATHSPECS: '0' },
      exits: [1],
      maxBytes: 4 * listBytes,
      timeoutMs: 120_000,
    }),
  )
  const paths = stdout.toString('utf8').split('\0')
  return new Set(paths.map((path) => path.replace(/^\.\//, '')))
}

async function copyAll(
  from: string,
  to: string,
  found: readonly Found[],
  left: LeftOut,
  signal: AbortSignal | undefined,
): Promise<Copied> {
  const folders = new Map<string, Promise<boolean>>()
  const folderReady = (folder: string): Promise<boolean> => {
    const known = folders.get(folder)
    if (known !== undefined) return known
    const made = (async () => {
      if (folder === '.') return true
      return (await folderReady(dirname(folder))) && (await realFolder(join(to, folder)))
    })()
    folders.set(folder, made)
    return made
  }
  let files = 0
  let bytes = 0
  let next = 0
  const worker = async (): Promise<void> => {
    for (let one = found[next++]; one !== undefined; one = found[next++]) {
      signal?.throwIfAborted()
      const { path } = one
      if (!(await folderReady(dirname(path)))) {
        left.add('something else is in the place of its folder', path)
        continue
      }
      const why = one.kind === 'link' ? await copyLink(from, to, path) : await copyOne(from, to, path)
      if (why !== null) {
        left.add(why, path)
        continue
      }
      files++
      bytes += one.bytes
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return { kind: 'copied', files, bytes, notes: left.notes() }
}

/** Makes the folder, or finds that it is one and no link to one. */
async function realFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch (failure) {
    if (!isSystemError(failure) || failure.code !== 'EEXIST') throw failure
    return (await lstat(path)).isDirectory()
  }
}

/** Null when it was copied, else why not. */
async function copyOne(from: string, to: string, path: string): Promise<string | null> {
  const source = join(from, path)
  // Opened first, so that what is copied is what was looked at, and a FIFO put in its place holds nobody up.
  const handle = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (handle === null) return 'it cannot be read'
  try {
    if (!(await handle.stat()).isFile()) return 'it is neither a file nor a folder'
    const opened = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : source
    await copyFile(opened, join(to, path), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    return null
  } catch (failure) {
    if (isSystemError(failure) && failure.code === 'EEXIST') return 'there is something of that name already'
    if (isSystemError(failure) && failure.code === 'EACCES') return 'it cannot be read'
    throw failure
  } finally {
    await handle.close()
  }
}

/** A link comes along as it is when it names something inside by a relative way; others would lead back or out. */
async function copyLink(from: string, to: string, path: string): Promise<string | null> {
  const source = join(from, path)
  const target = await readlink(source).catch(() => null)
  if (target === null) return 'it cannot be read'
  const outside = 'it is a link that leads out of the repository'
  if (isAbsolute(target) || !isWithin(from, resolve(dirname(source), target))) return outside
  const real = await realpath(source).catch(() => null)
  if (real !== null && !isWithin(from, real)) return outside
  if (real !== null && isWithin(join(from, '.git'), real)) return 'it leads into a git folder'
  try {
    await symlink(target, join(to, path))
    return null
  } catch (failure) {
    if (isSystemError(failure) && failure.code === 'EEXIST') return 'there is something of that name already'
    throw failure
  }
}

/** "1.2 GiB" */
export function sizeOf(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 || Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit] ?? ''}`
}
