// What kind of repository a folder is in, and whether a child can have a worktree of it. The answer is either a
// repository with notes or one sentence that says what to do; it never guesses and never changes anything.
import { constants } from 'node:fs'
import { access, lstat, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { atLeast, type Git, GitFailure, minimumGitVersion } from './git'
import { ownFilters, programsFingerprint, readSettings, type Setting } from './programs'

export type ProblemCode =
  | 'no-git'
  | 'old-git'
  | 'no-folder'
  | 'not-a-repository'
  | 'other-owner'
  | 'broken-repository'
  | 'bare'
  | 'inside-git-folder'
  | 'no-commits'
  | 'read-only'
  | 'bad-base'
  | 'root-inside-repository'
  | 'no-place'
  | 'filter-missing'
  | 'disk-full'
  | 'disk'
  | 'locked'
  | 'timed-out'
  | 'cancelled'
  | 'add-failed'
  | 'not-ours'
  | 'other-store'
  | 'would-lose'
  | 'unproven'
  | 'gone'
  | 'too-large'
  | 'not-verified'
  | 'no-identity'
  | 'bad-target'
  | 'branch-elsewhere'
  | 'target-detached'
  | 'target-busy'
  | 'target-dirty'
  | 'nothing-to-apply'
  | 'conflicts'
  | 'changed'
  | 'git-failed'

/** Why something cannot be done: one sentence for a person. `detail` is git's own words, bounded, for the diagnostic. */
export interface Problem {
  readonly kind: 'problem'
  readonly code: ProblemCode
  readonly message: string
  readonly detail?: string
  /** A name for exactly what the message tells of, where a person may confirm it. */
  readonly token?: string
}

export const problem = (code: ProblemCode, message: string, detail?: string): Problem => ({
  kind: 'problem',
  code,
  message,
  ...(detail ? { detail } : {}),
})

export interface Note {
  readonly code:
    | 'detached'
    | 'submodules'
    | 'in-submodule'
    | 'nested'
    | 'shallow'
    | 'partial'
    | 'sparse'
    | 'large-files'
    | 'filter-missing'
    | 'programs-off'
    | 'linked-worktree'
    | 'folder-missing'
    | 'elsewhere'
  readonly message: string
}

export interface Repository {
  readonly kind: 'repository'
  /** The folder that was asked about, links resolved. */
  readonly folder: string
  readonly topLevel: string
  /** The git directory all worktrees of this repository share. */
  readonly commonDir: string
  readonly gitDir: string
  /** The opened folder below `topLevel`, without slashes at its ends; '' for the top. */
  readonly prefix: string
  readonly gitVersion: string
  readonly head: { readonly branch: string | null; readonly commit: string }
  /** A checkout made by `git worktree add` rather than the first one. */
  readonly linked: boolean
  readonly notes: readonly Note[]
  /** A name for exactly the programs this repository's own configuration names; null when none. For consent. */
  readonly programs: string | null
}

/**
 * Looks at the repository around a folder: a handful of short git calls, none of which can run a program of the
 * repository. A git that fails unforeseen is the problem `git-failed`; only a bug throws.
 */
export async function inspectRepository(git: Git, folder: string): Promise<Repository | Problem> {
  try {
    return await inspect(git, folder)
  } catch (failure) {
    return asProblem(failure, `look at ${folder}`)
  }
}

async function inspect(git: Git, folder: string): Promise<Repository | Problem> {
  const version = await git.version()
  if (!atLeast(version, minimumGitVersion)) {
    return problem(
      'old-git',
      `git ${version.text} is too old: Coxswain needs ${minimumGitVersion} or newer. Update git, then try again.`,
    )
  }
  const opened = await stat(folder).catch(() => null)
  if (!opened?.isDirectory()) return problem('no-folder', `${folder} is not a folder, or it no longer exists.`)

  const ask = (...args: string[]) => git.text({ cwd: folder, args: ['rev-parse', ...args], timeoutMs: 15_000 })
  let gitDir: string
  try {
    gitDir = await ask('--absolute-git-dir')
  } catch (failure) {
    if (failure instanceof GitFailure && failure.kind === 'failed') return whyNoRepository(git, folder, failure)
    throw failure
  }
  const [isBare, inWorkTree, isShallow] = (
    await ask('--is-bare-repository', '--is-inside-work-tree', '--is-shallow-repository')
  ).split('\n')
  if (inWorkTree !== 'true') {
    return isBare === 'true'
      ? problem('bare', `${gitDir} is a bare repository: it has no files to work on. Open a checkout of it instead.`)
      : problem('inside-git-folder', `${folder} is inside git's own folder. Open the project's folder instead.`)
  }
  const topLevel = await ask('--path-format=absolute', '--show-toplevel')
  if ((await enclosingRepository(await realpath(folder))) !== topLevel) {
    // `core.worktree` can name any folder; nothing of ours is done in one that does not hold the repository.
    return problem(
      'broken-repository',
      `The configuration of ${gitDir} says its files are in ${topLevel}, where there is no .git. Remove core.worktree from it.`,
    )
  }
  const commonDir = await realpath(await ask('--path-format=absolute', '--git-common-dir'))
  const prefix = (await ask('--show-prefix')).replace(/\/$/, '')

  const branch = await git.run({ cwd: folder, args: ['symbolic-ref', '--quiet', '--short', 'HEAD'], exits: [1] })
  const branchName = branch.exitCode === 0 ? branch.stdout.toString('utf8').trimEnd() : null
  const head = await git.run({
    cwd: folder,
    args: ['rev-parse', '--verify', '--quiet', '--end-of-options', 'HEAD^{commit}'],
    exits: [1, 128],
  })
  if (head.exitCode !== 0) {
    const commits = await git.run({ cwd: folder, args: ['rev-list', '--all', '--max-count=1'], exits: [128] })
    return commits.exitCode === 0 && branchName !== null
      ? problem(
          'no-commits',
          `${topLevel} needs a first commit${commits.stdout.length > 0 ? ` on ${branchName}` : ''} before a child can branch from it. Commit something (git commit --allow-empty is enough), then try again.`,
        )
      : problem(
          'broken-repository',
          `git cannot read the current commit of ${topLevel}. Run git fsck there.`,
          head.stderr,
        )
  }
  const writable = await access(commonDir, constants.W_OK).then(
    () => true,
    () => false,
  )
  if (!writable) {
    return problem(
      'read-only',
      `${commonDir} cannot be written to, and a worktree must be recorded there. Make it writable, or clone the repository to a place of your own.`,
    )
  }

  const settings = await readSettings(git, folder)
  const last = (key: string) => settings.filter((setting) => setting.key === key).at(-1)?.value
  const realGitDir = await realpath(gitDir)
  const linked = realGitDir !== commonDir
  const notes: Note[] = []
  const note = (code: Note['code'], message: string) => notes.push({ code, message })
  if (branchName === null) note('detached', 'No branch is checked out; a child starts from the current commit.')
  if (linked) note('linked-worktree', 'This folder is itself a worktree; children get their own beside it.')
  if (isShallow === 'true') note('shallow', 'This is a shallow clone: older history is not here.')
  if (last('extensions.partialclone') !== undefined || settings.some(({ key }) => /^remote\..+\.promisor$/.test(key))) {
    note('partial', 'This is a partial clone: a new worktree may fetch missing files from its remote.')
  }
  if (isTrue(last('core.sparsecheckout')))
    note(
      'sparse',
      atLeast(version, '2.36.0')
        ? 'This is a sparse checkout: a child sees the same part of the tree.'
        : `This is a sparse checkout, but git ${version.text} gives a child the whole tree; git 2.36 and newer do not.`,
    )
  if (await lstat(join(topLevel, '.gitmodules')).catch(() => null)) {
    note('submodules', 'This repository has submodules; they are not filled in a new worktree.')
  }
  if (
    !linked &&
    realGitDir.includes('/modules/') &&
    (await lstat(join(topLevel, '.git')).catch(() => null))?.isFile()
  ) {
    note('in-submodule', 'This folder is a submodule; a child works on the submodule, not on the project around it.')
  } else if (await enclosingRepository(dirname(topLevel))) {
    note('nested', 'This repository lies inside another one; a child works on the inner one.')
  }
  notes.push(...(await filterNotes(git, folder, settings)))

  return {
    kind: 'repository',
    folder: await realpath(folder),
    topLevel,
    commonDir,
    gitDir: realGitDir,
    prefix,
    gitVersion: version.text,
    head: { branch: branchName, commit: head.stdout.toString('utf8').trimEnd() },
    linked,
    notes,
    programs: programsFingerprint(settings),
  }
}

const isTrue = (value: string | undefined): boolean => value !== undefined && /^(true|yes|on|1)$/i.test(value)

/** Which of the person's filters this commit's attributes ask for. Only the top folder's attributes are read. */
async function filterNotes(git: Git, folder: string, settings: readonly Setting[]): Promise<Note[]> {
  const attributes = await git.run({
    cwd: folder,
    args: ['cat-file', 'blob', 'HEAD:.gitattributes'],
    exits: [128],
    maxBytes: 1024 * 1024,
    cut: true,
  })
  if (attributes.exitCode !== 0) return []
  const names = new Set([...attributes.stdout.toString('utf8').matchAll(/\sfilter=(\S+)/g)].map((match) => match[1]))
  const notes: Note[] = []
  if (names.has('lfs')) {
    notes.push({
      code: 'large-files',
      message: 'This repository keeps large files in Git LFS; a new worktree may download them.',
    })
  }
  for (const filter of await missingFilters(git, settings)) {
    if (names.has(filter.name))
      notes.push({ code: 'filter-missing', message: filterMissing(filter.name, filter.program) })
  }
  if (names.has('lfs') && !ownFilters(settings).some(({ name }) => name === 'lfs')) {
    notes.push({
      code: 'filter-missing',
      message:
        'Git LFS is not set up for you, so large files appear as small pointer files. Run git lfs install to change that.',
    })
  }
  return notes
}

export const filterMissing = (name: string, program: string): string =>
  `The filter "${name}" needs the program ${program}, which was not found. Install it, or ask for pointers instead of file contents.`

/** Filters that git insists on and whose program is not installed. */
export async function missingFilters(
  git: Git,
  settings: readonly Setting[],
): Promise<{ name: string; program: string }[]> {
  const missing: { name: string; program: string }[] = []
  for (const { name, command, required } of ownFilters(settings)) {
    if (!required) continue
    const [first = '', second = ''] = command.trim().split(/\s+/)
    if (first === '' || /["'$`\\]/.test(first)) continue
    const program = first === 'git' && second !== '' ? `git-${second}` : first
    if (!(await git.programFound(program))) missing.push({ name, program })
  }
  return missing
}

/** Why git found no repository, by facts: who owns the `.git` above, and whether git agrees once ownership is set aside. */
async function whyNoRepository(git: Git, folder: string, failure: GitFailure): Promise<Problem> {
  const above = await enclosingRepository(folder)
  const setAside = await git.run({
    cwd: folder,
    args: ['rev-parse', '--absolute-git-dir'],
    config: [['safe.directory', '*']],
    exits: [128],
    timeoutMs: 15_000,
  })
  if (setAside.exitCode === 0) {
    const where = above ?? setAside.stdout.toString('utf8').trimEnd()
    return problem(
      'other-owner',
      `git does not trust ${where} because another user owns it. If you do, run: git config --global --add safe.directory ${quoted(where)}`,
      failure.stderr,
    )
  }
  if (above === null) {
    return problem(
      'not-a-repository',
      `${folder} is not in a git repository. Run git init there and make a first commit, or open another folder.`,
    )
  }
  return problem(
    'broken-repository',
    `There is a .git in ${above}, but git does not accept it as a repository. The diagnostic has git's answer.`,
    failure.stderr,
  )
}

const quoted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

/** The nearest folder, from this one upwards, that has a `.git`; null when none has. */
export async function enclosingRepository(folder: string): Promise<string | null> {
  if (!isAbsolute(folder)) return null
  for (let here = folder; ; here = dirname(here)) {
    if (await lstat(join(here, '.git')).catch(() => null)) return here
    if (dirname(here) === here) return null
  }
}

export const isSystemError = (failure: unknown): failure is NodeJS.ErrnoException =>
  failure instanceof Error && typeof (failure as NodeJS.ErrnoException).code === 'string'

/** A failure of git or of the disk as a sentence about what we tried. Anything else is a bug and is thrown on. */
export function asProblem(failure: unknown, tried: string): Problem {
  if (failure instanceof GitFailure) return gitProblem(failure, tried)
  if (!isSystemError(failure)) throw failure
  const where = failure.path === undefined ? '' : ` at ${failure.path}`
  return problem('disk', `The disk did not let Coxswain ${tried} (${failure.code ?? 'unknown'}${where}).`)
}

/** A failure of git as a sentence about what we tried. */
export function gitProblem(failure: GitFailure, tried: string): Problem {
  switch (failure.kind) {
    case 'no-git':
      return problem('no-git', 'git was not found. Install git, or name its executable in the settings.')
    case 'no-folder':
      return problem('no-folder', failure.message)
    case 'timed-out':
      return problem(
        'timed-out',
        `git took too long to ${tried} and was ended. Try again; a slow disk or network is the usual cause.`,
      )
    case 'cancelled':
      return problem('cancelled', `Cancelled before git could ${tried}.`)
    case 'too-much-output':
    case 'killed':
    case 'failed':
      return problem(
        'git-failed',
        `git could not ${tried}. The diagnostic has its answer.`,
        failure.stderr || failure.message,
      )
    default:
      return failure.kind satisfies never
  }
}
