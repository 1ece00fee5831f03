// Gives every child a worktree of its own, outside the project, on a branch of its own, and compares what we remember
// with what git says. A worktree is whole or it is not there; a failure never ends in the main checkout.
import { createHash } from 'node:crypto'
import { lstat, mkdir, readdir, realpath, rm, rmdir, stat, statfs } from 'node:fs/promises'
import { homedir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { atLeast, type Git, GitFailure } from './git'
import { exists } from './insideTree'
import { rootName, shortId, slug } from './names'
import { programsFingerprint, readSettings, withoutRepositoryPrograms } from './programs'
import {
  asProblem,
  enclosingRepository,
  isSystemError,
  filterMissing,
  gitProblem,
  missingFilters,
  type Note,
  type Problem,
  problem,
  type Repository,
} from './repository'
import {
  forgetView,
  gitDirOf,
  type KnownWorktree,
  type Made,
  makeView,
  readHead,
  readMarker,
  readSmallFile,
  writeMarker,
} from './view'

export interface Worktree extends Made {
  readonly kind: 'worktree'
  /** The child's working folder: `path` plus the subfolder that was opened. */
  readonly cwd: string
  /** What the base was called when it was resolved: a branch, a tag, or a short hash. */
  readonly baseLabel: string
  readonly notes: readonly Note[]
}

export interface AddRequest {
  readonly repository: Repository
  readonly childId: string
  /** Any text; only its ASCII letters and digits reach a name. */
  readonly title: string
  /** A branch, tag or commit; the current commit when absent. */
  readonly base?: string
  /** The `worktreeRoot` setting: absolute, `~/…`, or relative to the folder above the repository. */
  readonly worktreeRoot?: string
  /** Open workspace folders: a default place inside one of them is not used. */
  readonly avoid?: readonly string[]
  /** `pointers` leaves Git LFS pointers as they are, and goes on without a filter whose program is missing. */
  readonly largeFiles?: 'contents' | 'pointers'
  /** A `Repository.programs` the person consented to; otherwise filters the repository itself names stay off. */
  readonly trustedPrograms?: string
  readonly signal?: AbortSignal
  /** Milliseconds for the checkout; 600,000 when absent. */
  readonly timeoutMs?: number
}

const addTries = 6
const briefMs = 3_000
/** A git whose caller has died is given so long to complete its worktree. */
const stillAddingMs = 10_000
const fullHash = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/**
 * Adds a worktree for a child. Answers the worktree, complete, or a problem after which no branch and no folder of this
 * attempt is left. The main checkout is not touched.
 */
export async function addWorktree(git: Git, request: AddRequest): Promise<Worktree | Problem> {
  try {
    return await git.write(request.repository.commonDir, () => add(git, request))
  } catch (failure) {
    return asProblem(failure, 'make a worktree for this child')
  }
}

interface Base {
  readonly kind: 'base'
  readonly commit: string
  readonly label: string
}

/** Why `base` is nothing a worktree of this repository can begin at; undefined when it is. One git call. */
export async function baseProblem(git: Git, repository: Repository, base: string): Promise<string | undefined> {
  const resolved = await resolveBase(git, { repository, base })
  return resolved.kind === 'problem' ? resolved.message : undefined
}

async function resolveBase(
  git: Git,
  { repository, base }: Pick<AddRequest, 'repository' | 'base'>,
): Promise<Base | Problem> {
  const wanted = base?.trim()
  if (wanted === undefined || wanted === '' || wanted === 'HEAD') {
    // Asked anew: the branch may have moved since the repository was looked at.
    const head = await readHead(git, repository)
    const commit = head?.commit ?? null
    if (commit === null) return problem('bad-base', `The current commit of ${repository.topLevel} cannot be read.`)
    const branch = head?.ref?.startsWith('refs/heads/') === true ? head.ref.slice('refs/heads/'.length) : undefined
    return { kind: 'base', commit, label: branch ?? commit.slice(0, 10) }
  }
  const shown = wanted.replace(/[^\x21-\x7e\u00a1-\uffff ]/g, '?').slice(0, 80)
  const unusable = problem('bad-base', `"${shown}" is not a branch, tag or commit of ${repository.topLevel}.`)
  if (wanted.startsWith('-') || wanted.length > 256 || /[\0-\x1f\x7f]/.test(wanted)) return unusable
  const commit = await revision(git, repository, wanted)
  return commit === null
    ? unusable
    : { kind: 'base', commit, label: /^[0-9a-f]{40,64}$/.test(wanted) ? wanted.slice(0, 10) : wanted }
}

async function revision(git: Git, { topLevel }: Repository, name: string): Promise<string | null> {
  const { stdout, exitCode } = await git.run({
    cwd: topLevel,
    args: ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`],
    exits: [1, 128],
  })
  const text = stdout.toString('utf8').trimEnd()
  return exitCode === 0 && fullHash.test(text) ? text : null
}

interface Place {
  readonly path: string
  readonly leaf: string
  readonly note: Note | null
}

async function add(git: Git, request: AddRequest): Promise<Worktree | Problem> {
  const { repository } = request
  const [base, settings] = await Promise.all([resolveBase(git, request), readSettings(git, repository.topLevel)])
  if (base.kind === 'problem') return base
  const place = await reservePlace(git, request)
  if ('kind' in place) return place

  const trusted = request.trustedPrograms !== undefined && request.trustedPrograms === programsFingerprint(settings)
  const off = trusted ? [] : withoutRepositoryPrograms(settings)
  const missing = request.largeFiles === 'pointers' ? await missingFilters(git, settings) : []
  const config: [string, string][] = [
    ...off,
    ...missing.flatMap(({ name }): [string, string][] => [
      [`filter.${name}.process`, ''],
      [`filter.${name}.smudge`, ''],
      [`filter.${name}.clean`, ''],
      [`filter.${name}.required`, 'false'],
    ]),
  ]
  const environment = request.largeFiles === 'pointers' ? { GIT_LFS_SKIP_SMUDGE: '1' } : {}
  const partial = repository.notes.some(({ code }) => code === 'partial')

  let branch: string | null = null
  try {
    branch = await createBranch(git, repository, place.leaf, base.commit, config)
    for (let attempt = 1; ; attempt++) {
      const started = performance.now()
      try {
        await git.run({
          cwd: repository.topLevel,
          args: ['worktree', 'add', '--no-guess-remote', '--', place.path, branch],
          config,
          environment,
          network: partial,
          timeoutMs: request.timeoutMs ?? 600_000,
          ...(request.signal ? { signal: request.signal } : {}),
        })
        break
      } catch (failure) {
        // git reads every entry while it adds one, and fails on one that another process has only half written, or on a
        // lock held for an instant. What fails only after long work is not of that kind.
        const brief = performance.now() - started < briefMs
        if (!(failure instanceof GitFailure) || failure.kind !== 'failed' || !brief || attempt === addTries)
          throw failure
        await clearEntry(repository, place.path)
        await mkdir(place.path, { mode: 0o700 })
        await sleep(50 * attempt * (1 + Math.random()))
      }
    }
    return await finish(git, request, base, place, branch, settings, off.length > 0)
  } catch (failure) {
    await clearAway(git, repository, place.path, branch, base.commit)
    if (!(failure instanceof GitFailure)) {
      if (!isSystemError(failure)) throw failure
      return problem('add-failed', `The worktree at ${place.path} could not be completed (${failure.code}).`)
    }
    return await whyAddFailed(git, repository, place.path, failure, settings)
  }
}

async function finish(
  git: Git,
  { repository, childId }: AddRequest,
  base: Base,
  place: Place,
  branch: string,
  settings: Awaited<ReturnType<typeof readSettings>>,
  programsOff: boolean,
  expected: string = base.commit,
): Promise<Worktree> {
  const path = await realpath(place.path)
  const gitDir = await gitDirOf(path)
  const notes: Note[] = repository.notes.filter(({ code }) => code !== 'linked-worktree' && code !== 'nested')
  if (gitDir === null || dirname(gitDir) !== join(repository.commonDir, 'worktrees')) {
    throw new GitFailure('failed', 'worktree', 'git reported a worktree whose git folder is not where it belongs.')
  }
  const made: Made = {
    version: 1,
    path,
    branch,
    base: base.commit,
    childId,
    gitDir,
    commonDir: repository.commonDir,
    filters: settings.some(({ key }) => /^filter\..+\.(clean|smudge|process)$/.test(key)),
  }
  const head = await readHead(git, made)
  if (head?.commit !== expected || head.ref !== `refs/heads/${branch}`) {
    throw new GitFailure('failed', 'worktree', 'The new worktree is not at the commit that was asked for.')
  }
  await writeMarker(made)
  await makeView(git, made, settings, expected)
  if (place.note) notes.push(place.note)
  if (programsOff && repository.programs !== null) {
    notes.push({
      code: 'programs-off',
      message: "Programs named in this repository's own configuration were not run while the files were checked out.",
    })
  }
  let cwd = path
  if (repository.prefix !== '') {
    const wanted = join(path, repository.prefix)
    await mkdir(wanted, { recursive: true }).catch(() => undefined)
    const real = await realpath(wanted).catch(() => null)
    if (real !== null && isWithin(path, real) && (await stat(real)).isDirectory()) cwd = real
    else {
      notes.push({
        code: 'folder-missing',
        message: `${repository.prefix} is not a folder inside the worktree at this commit; the child works at its top.`,
      })
    }
  }
  return { kind: 'worktree', ...made, cwd, baseLabel: base.label, notes }
}

/** A child's branch; the second where a branch that is itself called "coxswain" leaves no room for branches below it. */
const branchNames = (leaf: string): readonly [string, string] => [`coxswain/${leaf}`, `coxswain-${leaf}`]

/** Creates our branch at the base; it must not exist before. Its name is free of anything a title could bring in. */
async function createBranch(
  git: Git,
  { topLevel }: Repository,
  leaf: string,
  commit: string,
  config: readonly (readonly [string, string])[],
): Promise<string> {
  const create = (branch: string) =>
    git.run({
      cwd: topLevel,
      args: [
        'update-ref',
        '--no-deref',
        '--create-reflog',
        '-m',
        'coxswain: child started',
        `refs/heads/${branch}`,
        commit,
        '0'.repeat(commit.length),
      ],
      config,
      exits: [128],
    })
  const [branch, other] = branchNames(leaf)
  const created = await create(branch)
  if (created.exitCode === 0) return branch
  const again = await create(other)
  if (again.exitCode === 0) return other
  throw new GitFailure('failed', 'update-ref', 'git could not create the branch.', again.exitCode, created.stderr)
}

/** Picks the folder and creates it, empty: creating it is the reservation and the proof that it can be written to. */
async function reservePlace(git: Git, request: AddRequest): Promise<Place | Problem> {
  const { repository, childId, title } = request
  const main = repository.linked ? await mainCheckout(git, repository) : repository.topLevel
  const name = rootName(basename(main).replace(/\.git$/, '') || 'repository')
  const inStore = join(
    git.store,
    'worktrees',
    `${name.slice(0, 60)}-${createHash('sha256').update(repository.commonDir).digest('hex').slice(0, 8)}`,
  )
  const inside = async (root: string): Promise<boolean> => {
    const real = await realpathOfNearest(root)
    return [repository.topLevel, repository.commonDir, main].some((folder) => isWithin(folder, real))
  }
  const leaf = `${slug(title)}-${shortId(childId)}`
  const elsewhere = (why: string): Note => ({
    code: 'elsewhere',
    message: `The worktree is in Coxswain's own store: ${why}.`,
  })

  let roots: { root: string; note: Note | null }[]
  if (request.worktreeRoot !== undefined && request.worktreeRoot.trim() !== '') {
    const set = request.worktreeRoot.trim().replace(/^~(?=\/|$)/, homedir())
    const root = join(isAbsolute(set) ? set : resolve(dirname(main), set), name)
    if (await inside(root)) {
      return problem(
        'root-inside-repository',
        `worktreeRoot points into ${main}. Worktrees inside the project would be indexed and watched with it; choose a folder outside.`,
      )
    }
    roots = [{ root, note: null }]
  } else {
    const root = join(dirname(main), name)
    const avoid = await Promise.all(
      (request.avoid ?? []).map((folder) => realpath(folder).catch(() => resolve(folder))),
    )
    if ((await enclosingRepository(dirname(main))) !== null) {
      roots = [{ root: inStore, note: elsewhere('the folder beside the repository belongs to another repository') }]
    } else if (avoid.some((folder) => isWithin(folder, root))) {
      roots = [{ root: inStore, note: elsewhere('the folder beside the repository is open in this window') }]
    } else {
      roots = [
        { root, note: null },
        { root: inStore, note: elsewhere('the folder beside the repository cannot be written to') },
      ]
    }
  }

  let reason = 'unknown'
  for (const { root, note } of roots) {
    try {
      await makeFolders(root)
      if (await inside(root)) {
        reason = 'it leads into the repository'
        continue
      }
      const real = await realpath(root)
      for (let turn = 1; turn <= 9; turn++) {
        const free = turn === 1 ? leaf : `${leaf}-${turn}`
        const path = join(real, free)
        const isNew = (await makeNew(path)) || ((await clearHalfMade(git, request, path)) && (await makeNew(path)))
        if (!isNew) continue
        if ((await entryOf(repository, path)) !== null) {
          await rmdir(path)
          continue
        }
        return { path, leaf: free, note }
      }
      reason = 'nine folders of that name exist'
    } catch (failure) {
      if (!isSystemError(failure)) throw failure
      reason = failure.code ?? 'unknown'
      if (reason === 'ENOSPC') return diskFull(root)
    }
  }
  const last = roots.at(-1)?.root ?? inStore
  return problem(
    'no-place',
    `No folder for the worktree could be made in ${last} (${reason}). Set coxswain.worktreeRoot to a folder you can write to.`,
  )
}

/** Not mkdir's own recursion: where a file system answers ENOENT for ever, as /proc does, that never ends. */
async function makeFolders(path: string): Promise<void> {
  const missing: string[] = []
  for (let here = path; !(await lstat(here).catch(() => null)); here = dirname(here)) missing.push(here)
  for (const folder of missing.reverse()) {
    await mkdir(folder, { mode: 0o700 }).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== 'EEXIST') throw failure
    })
  }
}

const diskFull = (where: string): Problem =>
  problem(
    'disk-full',
    `There is no space left for a worktree in ${dirname(where)}. Free some, or set coxswain.worktreeRoot to another disk.`,
  )

/** The first checkout of a repository, or the folder of a bare one, whichever `git worktree list` names first. */
async function mainCheckout(git: Git, repository: Repository): Promise<string> {
  const [first] = await listWorktrees(git, repository.commonDir)
  if (first === undefined) return repository.topLevel
  // The first entry of a submodule is its git folder, not its files.
  return first.bare || !isWithin(repository.commonDir, first.path) ? first.path : repository.topLevel
}

/** Undoes what a failed attempt left: its folder, its entry in git, its branch if it still stands where we put it. */
async function clearAway(
  git: Git,
  repository: Repository,
  path: string,
  branch: string | null,
  base: string,
): Promise<void> {
  await clearEntry(repository, path)
  await rmdir(dirname(path)).catch(() => undefined)
  await rmdir(join(repository.commonDir, 'worktrees')).catch(() => undefined)
  await forgetView(git, path)
  if (branch !== null) {
    await git
      .run({ cwd: repository.topLevel, args: ['update-ref', '--no-deref', '-d', `refs/heads/${branch}`, base] })
      .catch(() => undefined)
  }
}

/** The folder and the entry of an attempt. No entry pointed at this path before: that was part of reserving it. */
async function clearEntry({ commonDir }: Repository, path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined)
  const entries = join(commonDir, 'worktrees')
  for (const name of await readdir(entries).catch(() => [])) {
    const gitDir = join(entries, name)
    if (await pointsAt(gitDir, path)) await rm(gitDir, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** False when something is there already. */
async function makeNew(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 })
    return true
  } catch (failure) {
    if (isSystemError(failure) && failure.code === 'EEXIST') return false
    throw failure
  }
}

/**
 * Clears what an owner that died while adding left at this path. The path carries the child's id and no worktree of that
 * child is on record, so nobody has worked there. False: something else is there, or git is still at work on it.
 */
async function clearHalfMade(git: Git, { repository, childId }: AddRequest, path: string): Promise<boolean> {
  const inside = await readdir(path).catch(() => null)
  const entry = await entryOf(repository, path)
  if (inside === null || (entry === null && inside.length > 0)) return false
  const branches = branchNames(basename(path))
  if (entry !== null) {
    // git outlives who called it; it holds this lock until the worktree is complete.
    for (let waited = 0; await exists(join(entry, 'locked')); waited += 100) {
      if (waited >= stillAddingMs) return false
      await sleep(100)
    }
    const marked = await readMarker(entry)
    if (marked !== null && marked !== childId) return false
    const head = (await readSmallFile(join(entry, 'HEAD')))?.toString('utf8').trimEnd()
    if (!branches.some((branch) => head === `ref: refs/heads/${branch}`)) return false
  }
  await clearEntry(repository, path)
  await forgetView(git, path)
  for (const branch of branches) {
    const tip = await revision(git, repository, `refs/heads/${branch}`)
    const args = ['update-ref', '--no-deref', '-d', `refs/heads/${branch}`, tip ?? '']
    if (tip !== null) await git.run({ cwd: repository.topLevel, args })
  }
  return true
}

/** git's own folder for the worktree at this path, its folder deleted or not; null when git knows of none. */
async function entryOf({ commonDir }: Repository, path: string): Promise<string | null> {
  const entries = join(commonDir, 'worktrees')
  for (const name of await readdir(entries).catch(() => [])) {
    // git names an entry after its folder, with a number behind it when that name is taken.
    if (name.startsWith(basename(path)) && (await pointsAt(join(entries, name), path))) return join(entries, name)
  }
  return null
}

async function pointsAt(gitDir: string, path: string): Promise<boolean> {
  const back = (await readSmallFile(join(gitDir, 'gitdir')))?.toString('utf8').trimEnd()
  return back !== undefined && resolve(gitDir, back) === join(path, '.git')
}

async function heldLock({ commonDir }: Repository): Promise<string | null> {
  for (const name of ['config.lock', 'HEAD.lock', 'packed-refs.lock', 'shallow.lock']) {
    if (await lstat(join(commonDir, name)).catch(() => null)) return join(commonDir, name)
  }
  return null
}

/** Looks for the cause in the world rather than in git's words. */
async function whyAddFailed(
  git: Git,
  repository: Repository,
  path: string,
  failure: GitFailure,
  settings: Awaited<ReturnType<typeof readSettings>>,
): Promise<Problem> {
  if (failure.kind !== 'failed') return gitProblem(failure, `make the worktree ${path}`)
  const [filter] = await missingFilters(git, settings)
  if (filter !== undefined && /filter/.test(failure.stderr)) {
    return problem('filter-missing', filterMissing(filter.name, filter.program), failure.stderr)
  }
  const lock = await heldLock(repository)
  if (lock !== null) {
    return problem(
      'locked',
      `Another git holds ${lock}. If none is running, delete that file and try again.`,
      failure.stderr,
    )
  }
  const disk = await statfs(dirname(dirname(path))).catch(() => null)
  if (disk !== null && disk.bavail * disk.bsize < 64 * 1024) return diskFull(path)
  return problem(
    'add-failed',
    `git could not make the worktree ${path}. Nothing of it was left behind; the diagnostic has git's answer.`,
    failure.stderr || failure.message,
  )
}

export interface ListedWorktree {
  readonly path: string
  readonly head: string | null
  /** Full ref; null when detached or bare. */
  readonly branch: string | null
  readonly bare: boolean
  /** The reason given for the lock, maybe empty; null when not locked. */
  readonly locked: string | null
  readonly prunable: boolean
}

/** What git says there is, the first checkout first. Throws GitFailure. */
export async function listWorktrees(git: Git, commonDir: string): Promise<ListedWorktree[]> {
  const nul = atLeast(await git.version(), '2.36.0')
  const list = () =>
    git.text({
      cwd: commonDir,
      args: ['worktree', 'list', '--porcelain', ...(nul ? ['-z'] : [])],
      environment: { GIT_DIR: commonDir },
    })
  let text: string
  try {
    text = await list()
  } catch (failure) {
    // Another process may be half-way through adding one.
    if (!(failure instanceof GitFailure) || failure.kind !== 'failed') throw failure
    await sleep(100)
    text = await list()
  }
  // Before 2.36 a path with a line break in it cannot be told apart; it is then not found, and left alone.
  return parseWorktreeList(nul ? text : text.replaceAll('\n', '\0'))
}

/** Parses `worktree list --porcelain -z`: fields ended by NUL, entries by an empty field. */
export function parseWorktreeList(text: string): ListedWorktree[] {
  const list: ListedWorktree[] = []
  for (const entry of text.split('\0\0')) {
    const fields = new Map<string, string>()
    for (const field of entry.split('\0')) {
      const cut = field.indexOf(' ')
      if (field !== '') fields.set(cut < 0 ? field : field.slice(0, cut), cut < 0 ? '' : field.slice(cut + 1))
    }
    const path = fields.get('worktree')
    if (path === undefined) continue
    list.push({
      path,
      head: fields.get('HEAD') ?? null,
      branch: fields.get('branch') ?? null,
      bare: fields.has('bare'),
      locked: fields.get('locked') ?? null,
      prunable: fields.has('prunable'),
    })
  }
  return list
}

/** True when `path` is `folder` or lies inside it. Both absolute, links already resolved. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

async function realpathOfNearest(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null)
  if (real !== null || dirname(path) === path) return real ?? path
  return join(await realpathOfNearest(dirname(path)), basename(path))
}

export type BranchState = 'ours' | 'switched' | 'detached' | 'gone'

export type Reconciled =
  | {
      readonly kind: 'present'
      /** `ours`: our branch is checked out. `gone`: HEAD names a branch that no longer exists. */
      readonly branch: BranchState
      readonly branchNow: string | null
      readonly head: string | null
      readonly locked: string | null
      /** Our branch still exists, wherever HEAD is now. */
      readonly ourBranchExists: boolean
    }
  /** The folder was deleted; git still has its entry. */
  | { readonly kind: 'missing'; readonly ourBranchExists: boolean; readonly locked: string | null }
  /** The folder is there; git has lost its entry, or the folder its link to it. */
  | { readonly kind: 'forgotten'; readonly ourBranchExists: boolean }
  | { readonly kind: 'moved'; readonly to: string; readonly locked: string | null }
  /** Neither folder nor entry. */
  | { readonly kind: 'absent'; readonly ourBranchExists: boolean }

/**
 * Compares what the record knows with what git says, by one list for the whole repository. Keyed by child id; changes
 * nothing. Throws GitFailure when the repository itself cannot be asked.
 */
export async function reconcile(
  git: Git,
  commonDir: string,
  known: readonly KnownWorktree[],
): Promise<Map<string, Reconciled>> {
  const listed = await listWorktrees(git, commonDir)
  const byPath = new Map(listed.map((worktree) => [worktree.path, worktree]))
  const marked = new Map<string, string>()
  for (const name of await readdir(join(commonDir, 'worktrees')).catch(() => [])) {
    const gitDir = join(commonDir, 'worktrees', name)
    const childId = await readMarker(gitDir)
    if (childId !== null) marked.set(childId, gitDir)
  }
  const refs = await git.run({
    cwd: commonDir,
    args: ['for-each-ref', '--format=%(refname)', 'refs/heads/'],
    environment: { GIT_DIR: commonDir },
    maxBytes: 64 * 1024 * 1024,
  })
  const branches = new Set(refs.stdout.toString('utf8').split('\n'))
  const result = new Map<string, Reconciled>()
  for (const one of known) {
    const ourBranchExists = branches.has(`refs/heads/${one.branch}`)
    const entry = byPath.get(one.path)
    const folder = (await lstat(one.path).catch(() => null))?.isDirectory() === true
    // Without its `.git` a folder is nobody's worktree, whatever git has listed.
    const linked = folder && (await exists(join(one.path, '.git')))
    const gitDir = marked.get(one.childId)
    const back =
      gitDir === undefined ? undefined : (await readSmallFile(join(gitDir, 'gitdir')))?.toString('utf8').trimEnd()
    const points = gitDir === undefined || back === undefined ? null : dirname(resolve(gitDir, back))
    const movedTo = points === null || points === one.path ? undefined : byPath.get(points)
    if (movedTo !== undefined) result.set(one.childId, { kind: 'moved', to: movedTo.path, locked: movedTo.locked })
    else if (entry !== undefined && linked) {
      const branchNow = entry.branch?.replace(/^refs\/heads\//, '') ?? null
      const branch: BranchState =
        branchNow === null
          ? 'detached'
          : !branches.has(entry.branch ?? '')
            ? 'gone'
            : branchNow === one.branch
              ? 'ours'
              : 'switched'
      result.set(one.childId, {
        kind: 'present',
        branch,
        branchNow,
        head: entry.head,
        locked: entry.locked,
        ourBranchExists,
      })
    } else if (entry !== undefined && !folder)
      result.set(one.childId, { kind: 'missing', ourBranchExists, locked: entry.locked })
    else result.set(one.childId, { kind: folder ? 'forgotten' : 'absent', ourBranchExists })
  }
  return result
}
