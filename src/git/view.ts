// A view: a git folder of our own, in our store, through which a worktree that an agent touches is read. Its
// configuration, attributes and index were written by us when the worktree was made, so no call through it reads a
// setting, runs a program, or believes an index entry that an agent could have written. It never writes to the worktree,
// and to the repository only objects nobody refers to.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import {
  appendFile,
  copyFile,
  lstat,
  mkdir,
  open,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { type Git, type GitCall, GitFailure, type GitOutput } from './git'
import { exists } from './insideTree'
import { readSettings, type Setting } from './programs'

/** What a record keeps of a worktree; enough to find everything else again. */
export interface KnownWorktree {
  readonly path: string
  readonly branch: string
  /** Full hash of the commit the child started from. */
  readonly base: string
  readonly childId: string
  /** The repository's shared git folder, where the caller knows it: lets an absent worktree's branch be found. */
  readonly commonDir?: string
}

/** Ours to believe: written when the worktree was made, kept in our store. */
export interface Made extends KnownWorktree {
  readonly version: 1
  readonly gitDir: string
  readonly commonDir: string
  /** Filters such as Git LFS were set up when it was made, so stored and checked-out content may differ. */
  readonly filters: boolean
}

export interface Head {
  /** The full ref HEAD points at; null when detached. */
  readonly ref: string | null
  /** Null when the ref does not exist (a branch deleted under us, or an unborn one). */
  readonly commit: string | null
}

const hash = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
const staleLockMs = 120_000
const plainSettings = [
  'core.autocrlf',
  'core.eol',
  'core.filemode',
  'core.symlinks',
  'core.ignorecase',
  'core.precomposeunicode',
  'core.excludesfile',
  'core.attributesfile',
  'core.sparsecheckout',
  'core.sparsecheckoutcone',
  'core.bigfilethreshold',
  'extensions.objectformat',
]

const viewFolder = (git: Git, path: string): string =>
  join(git.store, 'views', createHash('sha256').update(path).digest('hex').slice(0, 24))

/**
 * Makes the view of a worktree that git has just added, before any agent has seen it, and remembers the worktree as ours.
 * The index is copied, so that the first status need not read every file.
 */
export async function makeView(git: Git, made: Made, settings: readonly Setting[], commit: string): Promise<void> {
  const folder = viewFolder(git, made.path)
  git.remembered.delete(folder)
  await rm(folder, { recursive: true, force: true })
  await writeViewFiles(folder, made, settings)
  await copyFile(join(made.gitDir, 'index'), join(folder, 'index'))
  await writeFile(join(folder, 'HEAD'), `${commit}\n`, { mode: 0o600 })
  await writeFile(join(folder, 'made.json'), JSON.stringify(made), { mode: 0o600 })
}

async function writeViewFiles(folder: string, made: Made, settings: readonly Setting[]): Promise<void> {
  for (const part of ['', 'refs', 'objects', 'info']) await mkdir(join(folder, part), { recursive: true, mode: 0o700 })
  const lines = ['[core]', 'repositoryformatversion = 1', 'bare = false', 'commitGraph = false']
  const extensions: string[] = []
  for (const key of plainSettings) {
    const value = settings.filter((setting) => setting.key === key).at(-1)?.value
    if (value === undefined || /[\n\0]/.test(value)) continue
    const name = key.slice(key.indexOf('.') + 1)
    const line = `${name} = "${value.replace(/[\\"]/g, '\\$&')}"`
    if (key.startsWith('core.')) lines.push(line)
    else extensions.push(line)
  }
  if (extensions.length > 0) lines.push('[extensions]', ...extensions)
  await writeFile(join(folder, 'config'), `${lines.join('\n')}\n`, { mode: 0o600 })
  for (const [from, name] of [
    [made.commonDir, 'info/exclude'],
    [made.commonDir, 'info/attributes'],
    [made.gitDir, 'info/sparse-checkout'],
  ] as const) {
    const content = await readSmallFile(join(from, name))
    if (content !== null) await writeFile(join(folder, name), content, { mode: 0o600 })
  }
}

export async function forgetView(git: Git, path: string): Promise<void> {
  const folder = viewFolder(git, path)
  git.remembered.delete(folder)
  // A view that cannot be removed is litter in our own store; it must not keep the caller from finishing.
  await rm(folder, { recursive: true, force: true }).catch(() => undefined)
}

/** What we remember of the worktree at this path; null when we made none there, or our store was cleared. */
async function readMade(git: Git, path: string): Promise<Made | null> {
  const folder = viewFolder(git, path)
  const remembered = git.remembered.get(folder) as Made | undefined
  if (remembered !== undefined) return remembered
  const text = await readFile(join(folder, 'made.json'), 'utf8').catch(() => null)
  if (text === null) return null
  try {
    const made = JSON.parse(text) as Partial<Made>
    const whole = [made.path, made.branch, made.base, made.childId, made.gitDir, made.commonDir].every(
      (field) => typeof field === 'string',
    )
    if (!whole || made.version !== 1 || made.path !== path) return null
    const read = { ...made, filters: made.filters !== false } as Made
    git.remembered.set(folder, read)
    return read
  } catch {
    return null
  }
}

/**
 * The marker that says a linked worktree is ours, inside the git folder of that worktree, and the branch and base it was
 * given. It lets a cleared store be rebuilt; alone it is not a licence to delete.
 */
const markerName = 'coxswain.json'

export async function writeMarker(made: Made): Promise<void> {
  const { childId, branch, base, path } = made
  await writeFile(join(made.gitDir, markerName), JSON.stringify({ version: 1, childId, branch, base, path }), {
    mode: 0o600,
  })
}

/** The id of the child the worktree behind this git folder was made for; null when we made it not. */
export async function readMarker(gitDir: string): Promise<string | null> {
  const text = await readSmallFile(join(gitDir, markerName))
  if (text === null) return null
  try {
    const marker = JSON.parse(text.toString('utf8')) as { childId?: unknown }
    return typeof marker.childId === 'string' ? marker.childId : null
  } catch {
    return null
  }
}

/**
 * Finds a worktree of ours again: from our store, else from the worktree's own `.git` file, believed only when the git
 * folder it names points back at this very path and carries this child's marker. Null when that cannot be shown.
 */
export async function locate(git: Git, known: KnownWorktree): Promise<Made | null> {
  const made = await readMade(git, known.path)
  if (made !== null) return made.childId === known.childId ? made : null
  const gitDir = await gitDirOf(known.path)
  if (gitDir === null) return null
  const back = (await readSmallFile(join(gitDir, 'gitdir')))?.toString('utf8').trimEnd()
  if (back === undefined || resolve(gitDir, back) !== join(known.path, '.git')) return null
  if ((await readMarker(gitDir)) !== known.childId) return null
  const common = (await readSmallFile(join(gitDir, 'commondir')))?.toString('utf8').trimEnd()
  if (common === undefined) return null
  const commonDir = await realpath(resolve(gitDir, common)).catch(() => null)
  if (commonDir === null || resolve(gitDir, '..') !== join(commonDir, 'worktrees')) return null
  const { path, branch, base, childId } = known
  return { version: 1, path, branch, base, childId, gitDir, commonDir, filters: true }
}

/** The git folder a worktree's `.git` file names, links resolved; null when there is no such file or folder. */
export async function gitDirOf(path: string): Promise<string | null> {
  const text = (await readSmallFile(join(path, '.git')))?.toString('utf8')
  const named = text === undefined ? undefined : /^gitdir: (.+?)\r?\n?$/s.exec(text)?.[1]
  if (named === undefined) return null
  return realpath(isAbsolute(named) ? named : resolve(path, named)).catch(() => null)
}

/** A small regular file, read without following a link at its end and without waiting on a FIFO; null otherwise. */
export async function readSmallFile(path: string, limit = 1024 * 1024): Promise<Buffer | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (handle === null) return null
  try {
    const facts = await handle.stat()
    if (!facts.isFile() || facts.size > limit) return null
    return await handle.readFile()
  } catch {
    return null
  } finally {
    await handle.close()
  }
}

/** Where HEAD of a worktree points, mostly without starting git. Null when its git folder or HEAD is gone or unreadable. */
export async function readHead(git: Git, made: Pick<Made, 'gitDir' | 'commonDir'>): Promise<Head | null> {
  const text = (await readSmallFile(join(made.gitDir, 'HEAD')))?.toString('utf8').trimEnd()
  if (text === undefined) return null
  if (hash.test(text)) return { ref: null, commit: text }
  const ref = /^ref: (refs\/\S+)$/.exec(text)?.[1]
  if (ref === undefined || ref.includes('..')) return null
  const loose = ref.startsWith('refs/heads/')
    ? (await readSmallFile(join(made.commonDir, ref)))?.toString('utf8').trimEnd()
    : undefined
  if (loose !== undefined && hash.test(loose)) return { ref, commit: loose }
  const { stdout, exitCode } = await git.run({
    cwd: made.commonDir,
    args: ['rev-parse', '--verify', '--quiet', '--end-of-options', 'HEAD^{commit}'],
    environment: { GIT_DIR: made.gitDir },
    exits: [1, 128],
  })
  const commit = stdout.toString('utf8').trimEnd()
  if (ref === 'refs/heads/.invalid') {
    // Refs kept in another format than files: only git can say which branch this is.
    const named = await git.run({
      cwd: made.commonDir,
      args: ['symbolic-ref', '--quiet', 'HEAD'],
      environment: { GIT_DIR: made.gitDir },
      exits: [1],
    })
    const name = named.stdout.toString('utf8').trimEnd()
    return { ref: named.exitCode === 0 ? name : null, commit: exitCode === 0 ? commit : null }
  }
  return { ref, commit: exitCode === 0 && hash.test(commit) ? commit : null }
}

/** A worktree of ours that is really there, as a folder and not as a link, and where its HEAD points; null otherwise. */
export async function findWorktree(git: Git, known: KnownWorktree): Promise<{ made: Made; head: Head } | null> {
  const made = await locate(git, known)
  if (made === null || (await lstat(made.path).catch(() => null))?.isDirectory() !== true) return null
  const head = await readHead(git, made)
  return head === null ? null : { made, head }
}

/** Reads one worktree through our own git folder. Calls on one view run one at a time. */
export class View {
  private constructor(
    private readonly git: Git,
    readonly made: Made,
    private readonly folder: string,
  ) {}

  /** Opens the view, rebuilding it from the repository when our store no longer has it. Throws GitFailure. */
  static async open(git: Git, made: Made): Promise<View> {
    const folder = viewFolder(git, made.path)
    if (!(await exists(join(folder, 'config'))) || !(await exists(join(folder, 'made.json')))) {
      await git.write(folder, async () => {
        await writeViewFiles(folder, made, await readSettings(git, made.commonDir, made.gitDir))
        await writeFile(join(folder, 'HEAD'), `${made.base}\n`, { mode: 0o600 })
        await writeFile(join(folder, 'made.json'), JSON.stringify(made), { mode: 0o600 })
      })
    }
    return new View(git, made, folder)
  }

  /** One git call that sees the worktree's files and the repository's objects, and nothing else of it. */
  run(call: Omit<GitCall, 'cwd' | 'network'> & { readonly index?: string; readonly cwd?: string }): Promise<GitOutput> {
    return this.git.read({
      ...call,
      cwd: call.cwd ?? this.made.path,
      environment: {
        GIT_DIR: this.folder,
        GIT_WORK_TREE: this.made.path,
        GIT_OBJECT_DIRECTORY: join(this.made.commonDir, 'objects'),
        GIT_INDEX_FILE: call.index ?? join(this.folder, 'index'),
        GIT_SHALLOW_FILE: join(this.made.commonDir, 'shallow'),
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        // The index is our own, so what a status learns about unchanged files may be kept.
        GIT_OPTIONAL_LOCKS: call.index === undefined ? '1' : '0',
        ...call.environment,
      },
    })
  }

  /** A file of ours beside this view's own. */
  file(name: 'index' | 'work-index'): string {
    return join(this.folder, name)
  }

  /** Ignores these from now on (lines of an exclude file from the top, a slash at the end for a folder), whatever they are. */
  async exclude(paths: readonly string[]): Promise<void> {
    const lines = paths
      .filter((path) => !path.includes('\n'))
      .map((path) => `${path.replace(/[\\*?[\]]/g, '\\$&').replace(/ $/, '\\ ')}\n`)
    if (lines.length > 0) await appendFile(join(this.folder, 'info/exclude'), lines.join(''), { mode: 0o600 })
  }

  /**
   * Paths the worktree leaves out on purpose (sparse checkout), by its own index. Believed only to explain absence: a file
   * that is there is always looked at.
   */
  async leftOut(): Promise<ReadonlySet<string>> {
    if (!(await exists(join(this.folder, 'info/sparse-checkout')))) return new Set()
    const index = join(this.made.gitDir, 'index')
    const { stdout } = await this.run({ args: ['ls-files', '-t', '-z'], index, maxBytes: 256 * 1024 * 1024 })
    const entries = stdout.toString('utf8').split('\0')
    return new Set(entries.filter((entry) => entry.startsWith('S ')).map((entry) => entry.slice(2)))
  }

  /** Acts while our index describes this commit. The next act on the same view waits. */
  at<T>(commit: string, act: () => Promise<T>): Promise<T> {
    return this.git.write(this.folder, async () => {
      await this.describe(commit)
      return act()
    })
  }

  private async describe(commit: string): Promise<void> {
    const head = (await readFile(join(this.folder, 'HEAD'), 'utf8').catch(() => '')).trimEnd()
    const hasIndex = await stat(join(this.folder, 'index')).then(
      () => true,
      () => false,
    )
    if (head === commit && hasIndex) return
    // A crash in mid-write leaves a lock behind. A young one belongs to another window that reads the same worktree.
    const lock = join(this.folder, 'index.lock')
    const locked = await stat(lock).catch(() => null)
    if (locked !== null && Date.now() - locked.mtimeMs > staleLockMs) await rm(lock, { force: true })
    const read = (merge: boolean) =>
      this.run({ args: ['read-tree', ...(merge ? ['-m'] : []), commit], cwd: this.folder, timeoutMs: 120_000 })
    if (hasIndex) {
      await read(true).catch(async (failure: unknown) => {
        if (!(failure instanceof GitFailure) || failure.kind !== 'failed') throw failure
        await rm(join(this.folder, 'index'), { force: true })
        await read(false)
      })
    } else await read(false)
    const next = join(this.folder, 'HEAD.next')
    await writeFile(next, `${commit}\n`, { mode: 0o600 })
    await rename(next, join(this.folder, 'HEAD'))
  }
}
