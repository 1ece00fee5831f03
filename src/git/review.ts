// What a child changed, against the base it was given: how many commits, which files, how many lines, and the content of
// both sides. Read only, through our own view, bounded in bytes and entries, and honest about what was cut.
import { type Git, GitFailure } from './git'
import { isPlainPath, openInside } from './insideTree'
import { unchangedLargeFiles } from './largeFiles'
import { asProblem, type Problem, problem } from './repository'
import { type Head, findWorktree, type KnownWorktree, type Made, View } from './view'

export type ChangeKind = 'added' | 'modified' | 'deleted' | 'type-changed' | 'renamed' | 'untracked'

export interface ChangedFile {
  /** Relative to the worktree's top, `/` between parts. A name that is not UTF-8 has replacement characters. */
  readonly path: string
  /** Where a renamed file was. */
  readonly from?: string
  readonly kind: ChangeKind
  /** Lines; null when binary or not counted. */
  readonly insertions: number | null
  readonly deletions: number | null
  readonly binary: boolean
  /** A link, a submodule or nested repository; otherwise an ordinary file. */
  readonly special?: 'link' | 'repository'
}

export type StatusProblem =
  /** The folder or git's entry for it is gone. */
  | 'missing'
  /** Another branch is checked out there. */
  | 'branch-switched'
  | 'detached'
  /** Our branch no longer exists (deleted or renamed). */
  | 'branch-gone'
  /** The base is not an ancestor of what is there now. */
  | 'base-left'
  | 'base-missing'
  /** More changed files than were counted. */
  | 'cut'

export interface WorktreeStatus {
  readonly kind: 'status'
  /** Commits that are here and not in the base. */
  readonly commits: number
  /** Something is not committed (tracked or untracked, not ignored). */
  readonly dirty: boolean
  /** Untracked files, not ignored. */
  readonly untracked: number
  /** Tracked and untracked paths that no commit holds as they are. */
  readonly uncommitted: readonly string[]
  readonly files: readonly ChangedFile[]
  readonly insertions: number
  readonly deletions: number
  /** Short name; null when detached. */
  readonly branchNow: string | null
  readonly head: string | null
  readonly problems: readonly StatusProblem[]
}

const statusBytes = 1024 * 1024
const filesKept = 2_000
const countedFiles = 300
const countedBytes = 4 * 1024 * 1024

/**
 * The state of one worktree against its base: one git process when nothing is committed or changed, a few otherwise.
 * A worktree that is gone is a status with the problem `missing`, not a failure.
 */
export async function status(git: Git, known: KnownWorktree): Promise<WorktreeStatus | Problem> {
  try {
    const there = await findWorktree(git, known)
    return there === null ? absent : await readStatus(git, there.made, there.head)
  } catch (failure) {
    if (failure instanceof GitFailure && failure.kind === 'no-folder') return absent
    return asProblem(failure, `look at the worktree ${known.path}`)
  }
}

const absent: WorktreeStatus = {
  kind: 'status',
  commits: 0,
  dirty: false,
  untracked: 0,
  uncommitted: [],
  files: [],
  insertions: 0,
  deletions: 0,
  branchNow: null,
  head: null,
  problems: ['missing'],
}

async function readStatus(git: Git, made: Made, head: Head): Promise<WorktreeStatus> {
  const problems: StatusProblem[] = []
  const ours = `refs/heads/${made.branch}`
  if (head.ref === null) problems.push('detached')
  else if (head.ref !== ours) problems.push('branch-switched')
  if (head.commit === null) problems.push('branch-gone')
  const branchNow = head.ref?.replace(/^refs\/heads\//, '') ?? null
  const view = await View.open(git, made)
  // With the branch gone the files are still there; they are compared with the base.
  const commit = head.commit ?? made.base
  const work = await view.at(commit, () => workingState(view))
  if (work.cut) problems.push('cut')

  const committed = commit === made.base ? noCommits : await commitsSince(view, made.base, commit)
  if (committed.problem !== null) problems.push(committed.problem)
  const tracked =
    commit === made.base && !work.trackedChanged
      ? { files: [], cut: false }
      : await view.at(commit, () => changesFrom(view, made.base, [], work))
  if (tracked.cut && !work.cut) problems.push('cut')
  const untracked = await countUntracked(made.path, work.untracked)
  const files = [...tracked.files, ...untracked].slice(0, filesKept)
  if (tracked.files.length + untracked.length > filesKept && !problems.includes('cut')) problems.push('cut')
  const sum = (side: 'insertions' | 'deletions') => files.reduce((total, file) => total + (file[side] ?? 0), 0)
  return {
    kind: 'status',
    commits: committed.count,
    dirty: work.trackedChanged || work.untracked.length > 0,
    untracked: work.untracked.length,
    uncommitted: [...work.changed, ...work.untracked],
    files,
    insertions: sum('insertions'),
    deletions: sum('deletions'),
    branchNow,
    head: head.commit,
    problems,
  }
}

export interface WorkingState {
  readonly trackedChanged: boolean
  /** Tracked paths that differ from the commit. */
  readonly changed: readonly string[]
  readonly untracked: readonly string[]
  /** Paths git calls changed whose bytes are what the stored LFS pointer stands for → the pointer's blob. */
  readonly sameContent: ReadonlyMap<string, string>
  /** Absent files a sparse checkout leaves out; only asked for when something is absent. */
  readonly leftOut: ReadonlySet<string>
  readonly cut: boolean
}

/** What differs between our index, which describes a commit, and the files. */
export async function workingState(view: View): Promise<WorkingState> {
  const { stdout, cut } = await view.run({
    args: [
      'status',
      '--porcelain=v2',
      '-z',
      '--untracked-files=all',
      '--ignore-submodules=dirty',
      '--no-renames',
      '--no-ahead-behind',
    ],
    maxBytes: statusBytes,
    cut: true,
    timeoutMs: 120_000,
  })
  const changed = new Map<string, string>()
  const absent: string[] = []
  const untracked: string[] = []
  const entries = stdout.toString('utf8').split('\0')
  if (cut) entries.pop()
  for (const entry of entries) {
    if (entry.startsWith('? ')) untracked.push(entry.slice(2))
    else if (entry.startsWith('1 ')) {
      const parts = entry.split(' ')
      const path = parts.slice(8).join(' ')
      changed.set(path, parts[5] === '000000' ? '' : (parts[7] ?? ''))
      if (parts[5] === '000000') absent.push(path)
    }
  }
  const leftOut = absent.length > 0 ? await view.leftOut() : new Set<string>()
  for (const path of absent) if (leftOut.has(path)) changed.delete(path)
  const sameContent = view.made.filters ? await unchangedLargeFiles(view, changed) : new Map<string, string>()
  const really = [...changed.keys()].filter((path) => !sameContent.has(path))
  return { trackedChanged: really.length > 0, changed: really, untracked, sameContent, leftOut, cut }
}

const noCommits = { count: 0, problem: null }

async function commitsSince(
  view: View,
  base: string,
  commit: string,
): Promise<{ count: number; problem: 'base-left' | 'base-missing' | null }> {
  const counted = await view.run({
    args: ['rev-list', '--left-right', '--count', '--end-of-options', `${base}...${commit}`, '--'],
    exits: [128],
    timeoutMs: 60_000,
  })
  const [, behind, ahead] = /^(\d+)\t(\d+)/.exec(counted.stdout.toString('utf8')) ?? []
  if (counted.exitCode !== 0 || behind === undefined || ahead === undefined)
    return { count: 0, problem: 'base-missing' }
  return { count: Number(ahead), problem: behind === '0' ? null : 'base-left' }
}

/** Tracked files that differ between a commit and the working tree, with line counts. */
async function changesFrom(
  view: View,
  base: string,
  more: readonly string[],
  { sameContent, leftOut }: WorkingState,
): Promise<{ files: ChangedFile[]; cut: boolean }> {
  const compare = (counts: boolean) =>
    view.run({
      args: [
        'diff',
        '--raw',
        '--no-abbrev',
        ...(counts ? ['--numstat'] : []),
        '-z',
        '--no-ext-diff',
        '--no-textconv',
        '--no-color',
        '--ignore-submodules=dirty',
        ...(more.length > 0 ? more : ['--no-renames']),
        '--end-of-options',
        base,
        '--',
      ],
      maxBytes: 2 * statusBytes,
      cut: true,
      exits: counts ? [128] : [],
      timeoutMs: 120_000,
    })
  let compared = await compare(true)
  // A pipe or an unreadable file in the place of a tracked one cannot be counted; it can still be listed.
  if (compared.exitCode !== 0) compared = await compare(false)
  const { stdout, cut } = compared
  const { files, blobs } = parseRawNumstat(stdout.toString('utf8'))
  const same = ({ path }: ChangedFile) => sameContent.has(path) && sameContent.get(path) === blobs.get(path)
  const out = ({ kind, path }: ChangedFile) => kind === 'deleted' && leftOut.has(path)
  return { files: files.filter((file) => !same(file) && !out(file)), cut }
}

/** Parses `diff --raw --numstat -z`: all raw records, then all counts, in the same order. `blobs` are the old side's. */
export function parseRawNumstat(text: string): { files: ChangedFile[]; blobs: Map<string, string> } {
  const fields = text.split('\0')
  const files = new Map<string, { -readonly [Key in keyof ChangedFile]: ChangedFile[Key] }>()
  const blobs = new Map<string, string>()
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] ?? ''
    const raw = /^:(\d+) (\d+) ([0-9a-f]+) [0-9a-f]+ ([A-Z])\d*$/.exec(field)
    if (raw) {
      const [, oldMode = '', newMode = '', blob = '', letter = ''] = raw
      const first = fields[++index]
      const moved = letter === 'R' || letter === 'C' ? fields[++index] : undefined
      const path = moved ?? first
      if (path === undefined || path === '') continue
      const modes = newMode === '000000' ? oldMode : newMode
      blobs.set(path, blob)
      files.set(path, {
        path,
        ...(moved !== undefined && first !== undefined ? { from: first } : {}),
        kind: kinds[letter] ?? 'modified',
        insertions: null,
        deletions: null,
        binary: false,
        ...(modes === '120000'
          ? { special: 'link' as const }
          : modes === '160000'
            ? { special: 'repository' as const }
            : {}),
      })
      continue
    }
    const counts = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(field)
    if (!counts) continue
    let path = counts[3] ?? ''
    if (path === '') {
      path = fields[index + 2] ?? ''
      index += 2
    }
    const file = files.get(path)
    if (!file) continue
    file.binary = counts[1] === '-'
    file.insertions = counts[1] === '-' ? null : Number(counts[1])
    file.deletions = counts[2] === '-' ? null : Number(counts[2])
  }
  return { files: [...files.values()], blobs }
}

const kinds: Record<string, ChangeKind> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  T: 'type-changed',
  R: 'renamed',
  C: 'added',
  U: 'modified',
}

/** Untracked files as changes; the lines of the first few hundred small ones are counted here, without git. */
async function countUntracked(root: string, paths: readonly string[]): Promise<ChangedFile[]> {
  let budget = countedBytes
  const files: ChangedFile[] = []
  for (const [index, path] of paths.slice(0, filesKept).entries()) {
    const plain = { path, kind: 'untracked' as const, insertions: null, deletions: null, binary: false }
    if (path.endsWith('/')) {
      files.push({ ...plain, special: 'repository' })
      continue
    }
    const opened =
      index < countedFiles && budget > 0 ? await openInside(root, path, Math.min(budget, 1024 * 1024)) : null
    if (opened === null || opened.kind !== 'file') {
      files.push(opened?.kind === 'link' ? { ...plain, special: 'link' } : plain)
      continue
    }
    budget -= opened.content.length
    const binary = opened.content.subarray(0, 8_000).includes(0)
    files.push({
      ...plain,
      binary,
      insertions: binary ? null : lineCount(opened.content),
      deletions: binary ? null : 0,
    })
  }
  return files
}

function lineCount(content: Buffer): number {
  let lines = 0
  for (let at = content.indexOf(10); at >= 0; at = content.indexOf(10, at + 1)) lines++
  return content.length > 0 && content.at(-1) !== 10 ? lines + 1 : lines
}

/** Every changed file for a review, renames recognised. */
export async function changedFiles(
  git: Git,
  known: KnownWorktree,
): Promise<{ kind: 'files'; files: readonly ChangedFile[]; cut: boolean } | Problem> {
  return through(git, known, 'compare the child with its base', async (view, made, commit) => {
    const work = await view.at(commit, () => workingState(view))
    const tracked = await view.at(commit, () => changesFrom(view, made.base, ['-M', '-l400'], work))
    const untracked = await countUntracked(made.path, work.untracked)
    const files = [...tracked.files, ...untracked]
    return { kind: 'files', files: files.slice(0, filesKept), cut: work.cut || tracked.cut || files.length > filesKept }
  })
}

export interface FileContent {
  readonly kind: 'content'
  /** Null when there is no such file on this side. A link's content is where it points. */
  readonly content: Buffer | null
  readonly binary: boolean
  /** Bytes of the whole file, of which `content` may hold the first part only. */
  readonly size: number
}

const nothing: FileContent = { kind: 'content', content: null, binary: false, size: 0 }
const contentBytes = 5 * 1024 * 1024
const content = (bytes: Buffer, size: number): FileContent => ({
  kind: 'content',
  content: bytes,
  binary: bytes.subarray(0, 8_000).includes(0),
  size,
})

/** A file as it was at the base, exactly as stored (a Git LFS file is its pointer), at most 5 MiB of it. */
export async function fileAtBase(git: Git, known: KnownWorktree, path: string): Promise<FileContent | Problem> {
  return fileAt(git, known, known.base, path)
}

/** A file at any commit of the repository; `commit` is a full hash. */
async function fileAt(git: Git, known: KnownWorktree, commit: string, path: string): Promise<FileContent | Problem> {
  if (!/^[0-9a-f]{40,64}$/.test(commit)) return problem('bad-base', 'A file is read at a full commit hash only.')
  if (!isPlainPath(path)) return nothing
  return through(git, known, `read ${path}`, async (view, made) => {
    const listed = await view.run({ args: ['ls-tree', '-z', '-l', '--full-tree', commit, '--', path], cwd: made.path })
    const entry = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(
      listed.stdout.toString('utf8').replace(/\0[\s\S]*$/, ''),
    )
    if (!entry || entry[2] !== 'blob' || entry[5] !== path) return nothing
    const blob = await view.run({ args: ['cat-file', 'blob', entry[3] ?? ''], maxBytes: contentBytes, cut: true })
    return content(blob.stdout, Number(entry[4]))
  })
}

/** A file as it is now in the worktree, at most 5 MiB of it; links are not followed, nothing outside is read. */
export async function fileNow(git: Git, known: KnownWorktree, path: string): Promise<FileContent | Problem> {
  const there = await findWorktree(git, known)
  if (there === null) return gone(known)
  const opened = await openInside(there.made.path, path, contentBytes)
  switch (opened.kind) {
    case 'file':
      return content(opened.content, opened.size)
    case 'link':
      return content(Buffer.from(opened.target), Buffer.byteLength(opened.target))
    case 'absent':
    case 'refused':
      return nothing
    default:
      return opened satisfies never
  }
}

/** One file's difference from the base, as unified diff text of at most 1 MiB. Untracked files have none; read them whole. */
export async function diffFile(
  git: Git,
  known: KnownWorktree,
  path: string,
): Promise<{ kind: 'diff'; text: string; cut: boolean } | Problem> {
  if (!isPlainPath(path)) return { kind: 'diff', text: '', cut: false }
  return through(git, known, `compare ${path}`, async (view, made, commit) => {
    const { stdout, cut } = await view.at(commit, () =>
      view.run({
        args: [
          'diff',
          '--no-ext-diff',
          '--no-textconv',
          '--no-color',
          '--no-renames',
          '--ignore-submodules=dirty',
          '--end-of-options',
          made.base,
          '--',
          path,
        ],
        maxBytes: statusBytes,
        cut: true,
        timeoutMs: 60_000,
      }),
    )
    return { kind: 'diff', text: stdout.toString('utf8'), cut }
  })
}

const gone = (known: KnownWorktree): Problem =>
  problem('gone', `The worktree ${known.path} is no longer there, or git no longer knows it as this child's.`)

async function through<T>(
  git: Git,
  known: KnownWorktree,
  tried: string,
  act: (view: View, made: Made, commit: string) => Promise<T>,
): Promise<T | Problem> {
  try {
    const there = await findWorktree(git, known)
    if (there === null) return gone(known)
    const { made, head } = there
    return await act(await View.open(git, made), made, head.commit ?? made.base)
  } catch (failure) {
    if (failure instanceof GitFailure && failure.kind === 'no-folder') return gone(known)
    return asProblem(failure, tried)
  }
}

/** Paths that more than one of these children changed → the children, for a warning before any merge. Pure. */
export function overlaps(changes: ReadonlyMap<string, readonly ChangedFile[]>): Map<string, string[]> {
  const byPath = new Map<string, Set<string>>()
  for (const [childId, files] of changes) {
    for (const file of files) {
      for (const path of file.from === undefined ? [file.path] : [file.path, file.from]) {
        const children = byPath.get(path) ?? new Set()
        byPath.set(path, children.add(childId))
      }
    }
  }
  return new Map(
    [...byPath].filter(([, children]) => children.size > 1).map(([path, children]) => [path, [...children]]),
  )
}

/**
 * How far a branch has moved on since a child's base was taken from it: commits on the branch that are not in the base.
 * `rewritten` when the base is no longer part of the branch at all; null when there is no such branch.
 */
export async function baseMoved(
  git: Git,
  known: KnownWorktree,
  branch: string,
): Promise<{ kind: 'moved'; commits: number; rewritten: boolean } | null | Problem> {
  return through(git, known, `compare ${branch} with the base`, async (view, made) => {
    const tip = await git.run({
      cwd: made.commonDir,
      args: ['rev-parse', '--verify', '--quiet', '--end-of-options', `refs/heads/${branch}^{commit}`],
      environment: { GIT_DIR: made.commonDir },
      exits: [1, 128],
    })
    if (tip.exitCode !== 0) return null
    const since = await commitsSince(view, made.base, tip.stdout.toString('utf8').trimEnd())
    return { kind: 'moved', commits: since.count, rewritten: since.problem !== null }
  })
}
