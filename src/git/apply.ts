// Brings a child's work into the branch a person has checked out: squash, merge or patch. The result is computed without
// touching anything; only a whole, conflict-free result is then put in place. Whatever is refused leaves everything as it was.
import { copyFile, link, lstat, readdir, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { atLeast, type Git } from './git'
import { exists } from './insideTree'
import { readSettings, withoutRepositoryPrograms } from './programs'
import { asProblem, inspectRepository, type Problem, problem, type Repository } from './repository'
import { type ChangedFile, parseRawNumstat, workingState, type WorkingState } from './review'
import { findWorktree, type Head, type KnownWorktree, type Made, View } from './view'
import { listWorktrees } from './worktree'

export interface ApplyRequest {
  readonly worktree: KnownWorktree
  /** A folder in the checkout that receives the work. */
  readonly into: string
  /** The branch that should be checked out there; whichever is, when absent. */
  readonly branch?: string
  /** `squash`: one new commit. `merge`: a merge commit that keeps the child's. `patch`: staged, not committed. */
  readonly how: 'squash' | 'merge' | 'patch'
  /** For the new commit on the person's branch. */
  readonly message: string
  /** For the commit of work the child left uncommitted. */
  readonly workMessage?: string
  /** The verdict's word; anything but `verified` needs `override` to say that very word. */
  readonly verdict: string
  readonly override?: string
  /** The token of the preview the person saw; refused when what it showed has changed since. */
  readonly seen?: string
}

export interface ApplyPreview {
  readonly kind: 'preview'
  readonly branch: string | null
  /** Uncommitted work in the worktree that will be committed once on the child's branch. */
  readonly uncommitted: readonly string[]
  /** What would change in the receiving checkout, without the uncommitted work. */
  readonly files: readonly ChangedFile[]
  /** Names exactly this state of both sides. */
  readonly token: string
}

export interface Applied {
  readonly kind: 'applied'
  /** The new commit on the receiving branch; null for a patch. */
  readonly commit: string | null
  /** The commit made of the child's uncommitted work; null when there was none. */
  readonly workCommit: string | null
  readonly branch: string | null
  readonly files: readonly ChangedFile[]
}

interface Sides {
  readonly kind: 'sides'
  readonly made: Made
  readonly head: Head & { readonly commit: string }
  readonly view: View
  readonly work: WorkingState
  readonly target: Repository
}

/** What `apply` would do, or why it would not. Changes nothing but may add objects to the repository. */
export async function previewApply(git: Git, request: ApplyRequest): Promise<ApplyPreview | Problem> {
  return guarded(async () => {
    const sides = await lookAtBothSides(git, request)
    if (sides.kind === 'problem') return sides
    const { view, head, target, work } = sides
    const merged = await merge(view, target.head.commit, head.commit)
    if (merged.kind === 'problem') return merged
    const uncommitted = [...work.changed, ...work.untracked]
    const files = await treeChanges(view, target.head.commit, merged.tree)
    if (uncommitted.length === 0 && files.length === 0) return nothingToApply(sides)
    return { kind: 'preview', branch: target.head.branch, uncommitted, files, token: tokenOf(sides) }
  })
}

/** Applies the work. Answers what was done, or a problem after which both checkouts are as they were. */
export async function apply(git: Git, request: ApplyRequest): Promise<Applied | Problem> {
  if (request.verdict !== 'verified' && request.override !== request.verdict) {
    return problem(
      'not-verified',
      `This child's verdict is "${request.verdict}". Applying it anyway takes an override that says so: ${request.verdict}.`,
    )
  }
  return guarded(async () => {
    const first = await findWorktree(git, request.worktree)
    if (first === null) return gone(request.worktree)
    return git.write(first.made.commonDir, async () => {
      const sides = await lookAtBothSides(git, request)
      if (sides.kind === 'problem') return sides
      if (request.seen !== undefined && request.seen !== tokenOf(sides)) {
        return problem('changed', 'Something changed since this was shown. Look again, then apply.')
      }
      return applySides(git, request, sides)
    })
  })
}

async function applySides(git: Git, request: ApplyRequest, sides: Sides): Promise<Applied | Problem> {
  const { made, view, head, target } = sides
  const settings = await readSettings(git, made.commonDir, target.gitDir)
  const config = withoutRepositoryPrograms(settings)
  const identity = await git.run({
    cwd: target.topLevel,
    args: ['var', 'GIT_COMMITTER_IDENT'],
    environment: { GIT_DIR: target.gitDir },
    exits: [128],
  })
  if (identity.exitCode !== 0) {
    return problem(
      'no-identity',
      'git does not know who you are, so it cannot commit. Set user.name and user.email, then apply again.',
    )
  }
  // The merge is tried on the work as a commit before that commit is put on the child's branch.
  const work = await makeWorkCommit(git, request, sides, config)
  if (work.kind === 'problem') return work
  const tip = work.commit ?? head.commit
  const merged = await merge(view, target.head.commit, tip)
  if (merged.kind === 'problem') return merged
  const files = await treeChanges(view, target.head.commit, merged.tree)
  if (files.length === 0) return nothingToApply(sides)
  const obstacles = await inTheWay(target, files)
  if (obstacles.length > 0) {
    return problem(
      'target-dirty',
      `Files in ${target.topLevel} that git does not keep are in the way of the child's work (${obstacles.slice(0, 3).join(', ')}${obstacles.length > 3 ? ', …' : ''}). Move them, then apply again.`,
      obstacles.join('\n'),
    )
  }
  if (work.commit !== null) {
    const placed = await placeWorkCommit(git, sides, work.commit, work.index, config)
    if (placed) return placed
  }

  const environment = { GIT_DIR: target.gitDir, GIT_WORK_TREE: target.topLevel }
  let commit: string | null = null
  if (request.how !== 'patch') {
    const parents = request.how === 'merge' ? [target.head.commit, tip] : [target.head.commit]
    commit = await commitTree(git, target, merged.tree, parents, request.message)
  }
  const checkout = (from: string, to: string) =>
    git.run({
      cwd: target.topLevel,
      args: ['read-tree', '-m', '-u', from, to],
      environment,
      config,
      exits: [1, 128],
      timeoutMs: 600_000,
      network: target.notes.some(({ code }) => code === 'partial'),
    })
  const placed = await checkout(target.head.commit, merged.tree)
  if (placed.exitCode !== 0) {
    return problem(
      'target-dirty',
      `Files in ${target.topLevel} are in the way of the child's work. Move them, then apply again.`,
      placed.stderr,
    )
  }
  if (commit !== null) {
    const moved = await git.run({
      cwd: target.topLevel,
      args: [
        'update-ref',
        '-m',
        `coxswain: ${request.how} of ${made.branch}`,
        `refs/heads/${target.head.branch ?? ''}`,
        commit,
        target.head.commit,
      ],
      environment,
      config,
      exits: [1, 128],
    })
    if (moved.exitCode !== 0) {
      await checkout(merged.tree, target.head.commit)
      return problem(
        'locked',
        `The branch ${target.head.branch ?? ''} moved or was held by another git at that moment. Apply again.`,
        moved.stderr,
      )
    }
  }
  return { kind: 'applied', commit, workCommit: work.commit, branch: target.head.branch, files }
}

const gone = (known: KnownWorktree): Problem => problem('gone', `The worktree ${known.path} is no longer there.`)
const nothingToApply = ({ target }: Sides): Problem =>
  problem('nothing-to-apply', `${target.head.branch ?? target.topLevel} has all of this child's work already.`)
const tokenOf = ({ head, work, target }: Sides): string =>
  JSON.stringify([head.commit, work.changed, work.untracked, target.head.branch, target.head.commit])

async function guarded<T>(act: () => Promise<T | Problem>): Promise<T | Problem> {
  try {
    return await act()
  } catch (failure) {
    return asProblem(failure, "apply the child's work")
  }
}

async function lookAtBothSides(git: Git, request: ApplyRequest): Promise<Sides | Problem> {
  if (!atLeast(await git.version(), '2.38.0')) {
    return problem('old-git', 'Applying needs git 2.38 or newer. Update git, or merge the branch yourself.')
  }
  const there = await findWorktree(git, request.worktree)
  if (there === null) return gone(request.worktree)
  const { made, head } = there
  if (head.commit === null)
    return problem('gone', `The branch in ${made.path} no longer exists; there is no commit to apply.`)
  const target = await inspectRepository(git, request.into)
  if (target.kind === 'problem') return target
  if (target.commonDir !== made.commonDir || target.topLevel === made.path) {
    return problem('bad-target', `${request.into} is not another checkout of the repository this child works in.`)
  }
  const wanted = request.branch
  if (wanted !== undefined && wanted !== target.head.branch) {
    const holder = (await listWorktrees(git, made.commonDir)).find(({ branch }) => branch === `refs/heads/${wanted}`)
    return problem(
      'branch-elsewhere',
      holder
        ? `${wanted} is checked out in ${holder.path}, not in ${target.topLevel}. Apply there, or check it out here first.`
        : `${wanted} is not checked out in ${target.topLevel}. Check it out, then apply again.`,
    )
  }
  if (target.head.branch === null && request.how !== 'patch') {
    return problem(
      'target-detached',
      `No branch is checked out in ${target.topLevel}, so a new commit would belong to none. Check one out, or apply as a patch.`,
    )
  }
  for (const name of ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'rebase-merge', 'rebase-apply', 'index.lock']) {
    if (!(await exists(join(target.gitDir, name)))) continue
    return name === 'index.lock'
      ? problem(
          'locked',
          `Another git holds ${join(target.gitDir, name)}. If none is running, delete that file and try again.`,
        )
      : problem(
          'target-busy',
          `A merge, rebase, revert or cherry-pick is under way in ${target.topLevel}. Finish or abort it, then apply again.`,
        )
  }
  const config = withoutRepositoryPrograms(await readSettings(git, made.commonDir, target.gitDir))
  const dirty = await git.run({
    cwd: target.topLevel,
    args: ['status', '--porcelain', '-z', '--untracked-files=no', '--ignore-submodules=dirty', '--no-renames'],
    environment: { GIT_DIR: target.gitDir, GIT_WORK_TREE: target.topLevel },
    config,
    maxBytes: 64 * 1024,
    cut: true,
    timeoutMs: 120_000,
  })
  const names = dirty.stdout
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.slice(3))
  if (names.length > 0) {
    return problem(
      'target-dirty',
      `${target.topLevel} has uncommitted changes (${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}). Commit or stash them, then apply again.`,
      names.join('\n'),
    )
  }
  const view = await View.open(git, made)
  const { commit } = head
  const work = await view.at(commit, () => workingState(view))
  if (work.cut || [...work.changed, ...work.untracked].some((path) => path.includes('\ufffd'))) {
    return problem(
      'too-large',
      `${made.path} has more uncommitted files, or stranger names, than can be committed here. Commit them in the worktree, then apply.`,
    )
  }
  return { kind: 'sides', made, head: { ref: head.ref, commit }, view, work, target }
}

/** Untracked or ignored things where the work would put a new file. git itself writes over ignored ones without a word. */
async function inTheWay({ topLevel }: Repository, files: readonly ChangedFile[]): Promise<string[]> {
  const found = new Set<string>()
  const leaving = new Set(files.filter(({ kind }) => kind === 'deleted').map(({ path }) => path))
  for (const { path, kind } of files) {
    if (kind !== 'added') continue
    const parts = path.split('/')
    for (let length = 1; length <= parts.length; length++) {
      const here = parts.slice(0, length).join('/')
      const facts = await lstat(join(topLevel, here)).catch(() => null)
      if (facts === null) break
      if (length < parts.length && facts.isDirectory()) continue
      // A tracked file may make room for a folder of its name, and a folder for a file once all in it is tracked and goes.
      if (leaving.has(here)) break
      if (facts.isDirectory() && (await onlyLeaving(topLevel, here, leaving))) break
      found.add(here)
      break
    }
  }
  return [...found]
}

async function onlyLeaving(topLevel: string, folder: string, leaving: ReadonlySet<string>): Promise<boolean> {
  for (const entry of await readdir(join(topLevel, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory() ? !(await onlyLeaving(topLevel, path, leaving)) : !leaving.has(path)) return false
  }
  return true
}

/** Merges two commits in memory: a tree, or the paths in conflict. Runs through the view, so no merge driver is run. */
async function merge(view: View, ours: string, theirs: string): Promise<{ kind: 'merged'; tree: string } | Problem> {
  const { stdout, exitCode, stderr } = await view.run({
    args: ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', ours, theirs],
    exits: [1, 128],
    timeoutMs: 300_000,
  })
  const [tree = '', ...conflicts] = stdout
    .toString('utf8')
    .split('\0')
    .filter((field) => field !== '')
  if (exitCode === 0 && /^[0-9a-f]{40,64}$/.test(tree)) return { kind: 'merged', tree }
  if (exitCode === 1) {
    return problem(
      'conflicts',
      `The child's work conflicts with what is checked out in ${conflicts.length} ${conflicts.length === 1 ? 'file' : 'files'} (${conflicts.slice(0, 3).join(', ')}${conflicts.length > 3 ? ', …' : ''}). Nothing was changed. Resume the child and ask it to merge, or merge by hand.`,
      conflicts.join('\n'),
    )
  }
  return problem(
    'git-failed',
    "git could not merge the child's work with what is checked out. The diagnostic has its answer.",
    stderr,
  )
}

async function treeChanges(view: View, from: string, to: string): Promise<ChangedFile[]> {
  const { stdout } = await view.run({
    args: [
      'diff-tree',
      '-r',
      '--raw',
      '--no-abbrev',
      '--numstat',
      '-z',
      '--no-ext-diff',
      '--no-textconv',
      '--no-renames',
      from,
      to,
    ],
    maxBytes: 64 * 1024 * 1024,
    timeoutMs: 120_000,
  })
  return parseRawNumstat(stdout.toString('utf8')).files
}

/** The uncommitted work as a commit object that no branch has yet; null when there is nothing uncommitted. */
async function makeWorkCommit(
  git: Git,
  request: ApplyRequest,
  { made, head, work, view }: Sides,
  config: readonly (readonly [string, string])[],
): Promise<{ kind: 'work'; commit: string | null; index: string } | Problem> {
  const index = view.file('work-index')
  // A repository inside the worktree is not part of this one; it stays where it is.
  const paths = [...work.changed, ...work.untracked].filter((path) => !path.endsWith('/'))
  if (paths.length === 0) return { kind: 'work', commit: null, index }
  await view.at(head.commit, () => copyFile(view.file('index'), index))
  // The person's own filters run here, as they would in a commit of theirs; those of the repository do not.
  const environment = { GIT_DIR: made.gitDir, GIT_WORK_TREE: made.path, GIT_INDEX_FILE: index }
  await git.run({
    cwd: made.path,
    args: ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'],
    environment,
    config,
    input: paths.map((path) => `${path}\0`).join(''),
    timeoutMs: 600_000,
  })
  const tree = await git.text({ cwd: made.path, args: ['write-tree'], environment, config })
  const message = request.workMessage ?? `Work of ${made.branch}\n`
  return { kind: 'work', commit: await commitTree(git, made, tree, [head.commit], message), index }
}

async function commitTree(
  git: Git,
  { gitDir }: { readonly gitDir: string },
  tree: string,
  parents: readonly string[],
  message: string,
): Promise<string> {
  return git.text({
    cwd: gitDir,
    args: ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-'],
    environment: { GIT_DIR: gitDir },
    input: message.endsWith('\n') ? message : `${message}\n`,
  })
}

/** Moves the child's branch (or its detached HEAD) to the commit of its work, and its index with it. */
async function placeWorkCommit(
  git: Git,
  { made, head }: Sides,
  commit: string,
  index: string,
  config: readonly (readonly [string, string])[],
): Promise<Problem | null> {
  const held = problem(
    'locked',
    `Another git holds the index of ${made.path}. If none is running, delete ${join(made.gitDir, 'index.lock')} and try again.`,
  )
  const lock = join(made.gitDir, 'index.lock')
  // git's own way: whoever creates the lock may replace the index by renaming it.
  const own = `${lock}.coxswain`
  await unlink(own).catch(() => undefined)
  await copyFile(index, own)
  try {
    await link(own, lock)
  } catch {
    await unlink(own).catch(() => undefined)
    return held
  }
  await unlink(own)
  const moved = await git.run({
    cwd: made.commonDir,
    args: [
      'update-ref',
      ...(head.ref === null ? ['--no-deref'] : []),
      '-m',
      'coxswain: work committed',
      'HEAD',
      commit,
      head.commit,
    ],
    environment: { GIT_DIR: made.gitDir },
    config,
    exits: [1, 128],
  })
  if (moved.exitCode !== 0) {
    await unlink(lock)
    return problem('locked', `The branch in ${made.path} moved at that moment. Apply again.`, moved.stderr)
  }
  await rename(lock, join(made.gitDir, 'index'))
  return null
}
