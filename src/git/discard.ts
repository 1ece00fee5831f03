// Removes a child's worktree and branch, after asking git and the disk at that moment what would be lost with them. It
// deletes only what was demonstrably made by us, never through a link, and never something that was not named first.
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { chmod, lstat, readdir, readFile, realpath, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path'
import { type Git, GitFailure } from './git'
import { exists } from './insideTree'
import { unchangedLargeFiles } from './largeFiles'
import { shortId } from './names'
import { readSettings, withoutRepositoryPrograms } from './programs'
import { asProblem, type Problem, problem } from './repository'
import { forgetView, type KnownWorktree, locate, type Made, readHead, readMarker, readSmallFile, View } from './view'
import { isWithin, type ListedWorktree, listWorktrees } from './worktree'

export type LossKind =
  /** Tracked files that differ from the last commit. */
  | 'uncommitted'
  /** Content that is only in git's index. */
  | 'staged'
  | 'untracked'
  | 'ignored'
  /** A repository inside the worktree, with a history of its own. */
  | 'repository'
  /** Commits on no other branch, tag or worktree. */
  | 'commits'
  /** Commits only the reflog or an unfinished rebase, merge or bisect of this worktree knows: amended, reset away. */
  | 'reflog-commits'

export interface Loss {
  readonly kind: LossKind
  /** Files, or folders ending in `/` that stand for everything below; commits as `hash subject`. Together they cover the loss. */
  readonly names: readonly string[]
  /** How many files, folders or commits there are before any were folded into a folder. */
  readonly count: number
}

export interface DiscardInspection {
  readonly kind: 'inspection'
  /** Whether a folder is there at all. */
  readonly present: boolean
  readonly losses: readonly Loss[]
  /** What could not be looked at; empty means the list is proven complete. */
  readonly unproven: readonly string[]
  /** The reason somebody locked the worktree with; null when it is not locked. */
  readonly locked: string | null
  /** A name for exactly this answer: pass it to `discard` to confirm what was shown. */
  readonly token: string
}

export interface Discarded {
  readonly kind: 'discarded'
  /** False when there was nothing to remove. */
  readonly removed: boolean
  /** Why the branch is still there; null when it is gone. */
  readonly branchKept: string | null
  /** What went with it and is nowhere else. */
  readonly losses: readonly Loss[]
}

const namesKept = 100
const walkLimit = 2_000_000
const listBytes = 256 * 1024 * 1024

/** Asks what would be lost. Changes nothing. */
export async function inspectDiscard(git: Git, known: KnownWorktree): Promise<DiscardInspection | Problem> {
  try {
    const found = await findOurs(git, known)
    if (found.kind === 'problem') return found
    return (await inspectFound(git, found)).inspection
  } catch (failure) {
    return asProblem(failure, `look at what discarding ${known.path} would lose`)
  }
}

/**
 * Removes the worktree and its branch. Refuses with `would-lose` or `unproven` unless `force`, or `confirmed` equal to
 * the token of an inspection that still holds. What is absent already is success.
 */
export async function discard(
  git: Git,
  known: KnownWorktree,
  consent: { readonly force?: boolean; readonly confirmed?: string } = {},
): Promise<Discarded | Problem> {
  try {
    const first = await findOurs(git, known)
    if (first.kind === 'problem') return first
    if (first.kind === 'nothing') {
      await forgetView(git, known.path)
      return nothingThere
    }
    return await git.write(first.made.commonDir, async () => {
      // Looked at again: the queue may have been long, and what counts is this moment.
      const found = await findOurs(git, known)
      if (found.kind !== 'found') return found.kind === 'problem' ? found : nothingThere
      const { inspection, branchTip } = await inspectFound(git, found)
      const allowed = consent.force === true || consent.confirmed === inspection.token
      if (!allowed) {
        const refusal = whyRefused(known, inspection, consent.confirmed !== undefined)
        if (refusal) return refusal
      }
      return await remove(git, found, inspection, branchTip)
    })
  } catch (failure) {
    return asProblem(failure, `discard ${known.path}`)
  }
}

const nothingThere: Discarded = { kind: 'discarded', removed: false, branchKept: null, losses: [] }

function whyRefused(known: KnownWorktree, inspection: DiscardInspection, changed: boolean): Problem | null {
  const { losses, unproven, locked, token } = inspection
  const again = changed ? 'It has changed since it was shown. ' : ''
  if (unproven.length > 0) {
    const unseen = `It could not be shown that discarding ${known.path} loses nothing: ${unproven.join('; ')}.`
    return { ...problem('unproven', `${again}${unseen} Look at it, or discard it by force.`), token }
  }
  if (losses.length > 0) {
    const lost = `Discarding ${known.path} would lose ${describeLosses(losses)}.`
    const names = losses.flatMap(({ kind, names }) => names.map((name) => `${kind}: ${name}`)).join('\n')
    return {
      ...problem('would-lose', `${again}${lost} Confirm that, or commit or copy it first.`, names),
      token,
    }
  }
  if (locked !== null) {
    return problem(
      'locked',
      `${known.path} was locked${locked === '' ? '' : ` ("${locked}")`}. Unlock it with git worktree unlock, or discard it by force.`,
    )
  }
  return null
}

const words: Record<LossKind, [one: string, many: string]> = {
  uncommitted: ['changed file', 'changed files'],
  staged: ['staged file', 'staged files'],
  untracked: ['untracked file', 'untracked files'],
  ignored: ['ignored file or folder', 'ignored files or folders'],
  repository: ['repository inside it', 'repositories inside it'],
  commits: ['commit that is on no other branch', 'commits that are on no other branch'],
  'reflog-commits': ['commit that only its reflog knows', 'commits that only its reflog knows'],
}

/** "3 changed files (a, b, c) and 1 commit …": for a sentence. */
export function describeLosses(losses: readonly Loss[]): string {
  const parts = losses.map(({ kind, names, count }) => {
    const isCommits = kind === 'commits' || kind === 'reflog-commits'
    const shown = (isCommits ? names.map(shortened) : names).slice(0, 3).join(', ')
    return `${count} ${words[kind][count === 1 ? 0 : 1]} (${shown}${names.length > 3 ? ', …' : ''})`
  })
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

/** A commit as people read it: what git needs to find it, and its subject. */
const shortened = (commit: string): string => commit.replace(/^([0-9a-f]{12})[0-9a-f]+ /, '$1 ')

interface Found {
  readonly kind: 'found'
  readonly made: Made
  /** What stands at the path: the folder itself, a link in its place, or nothing. */
  readonly place: 'folder' | 'link' | 'nothing'
  /** git still has its entry for this worktree. */
  readonly entry: boolean
  readonly locked: string | null
  /** What git listed when this was shown; the same moment for everything that follows. */
  readonly listed: readonly ListedWorktree[]
}

/** Shows that this is a worktree we made, or says why it is left alone. */
async function findOurs(git: Git, known: KnownWorktree): Promise<Found | { kind: 'nothing' } | Problem> {
  const notOurs = problem(
    'not-ours',
    `${known.path === '' ? 'A worktree without a path' : known.path} is not a worktree Coxswain made for this child, so it is left alone.`,
  )
  const { path } = known
  if (
    !isAbsolute(path) ||
    path.includes('\0') ||
    normalize(path) !== path ||
    !basename(path).includes(shortId(known.childId))
  ) {
    return notOurs
  }
  const facts = await lstat(path).catch((failure: NodeJS.ErrnoException) => {
    if (failure.code === 'ENOENT' || failure.code === 'ENOTDIR') return null
    throw new GitFailure('failed', 'lstat', `${path} cannot be looked at (${failure.code ?? 'unknown'}).`)
  })
  const made = (await locate(git, known)) ?? (await fromRepository(known))
  if (made === null) return facts === null ? { kind: 'nothing' } : notOurs
  if (made.branch !== known.branch || made.path !== path || !/^coxswain[/-]/.test(made.branch)) return notOurs
  if (dirname(made.gitDir) !== join(made.commonDir, 'worktrees')) return notOurs
  if (isWithin(path, made.commonDir)) return notOurs

  const entryThere = await exists(made.gitDir)
  if (entryThere) {
    const back = (await readSmallFile(join(made.gitDir, 'gitdir')))?.toString('utf8').trimEnd()
    if (back !== undefined && resolve(made.gitDir, back) !== join(path, '.git')) {
      const moved = dirname(resolve(made.gitDir, back))
      // An agent can write that file; it is only told, never followed.
      return problem(
        'not-ours',
        `git says this worktree was moved to ${moved}. Reconcile first, then discard it there.`,
      )
    }
    if ((await readMarker(made.gitDir)) !== known.childId) return notOurs
  }
  const commonThere = await exists(made.commonDir)
  const listed = commonThere ? await listWorktrees(git, made.commonDir) : []
  const [main] = listed
  if (main !== undefined && isWithin(path, main.path)) return notOurs
  const entry = listed.slice(1).find((worktree) => worktree.path === path)
  if (facts === null)
    return { kind: 'found', made, place: 'nothing', entry: entryThere, locked: entry?.locked ?? null, listed }
  if (facts.isSymbolicLink())
    return { kind: 'found', made, place: 'link', entry: entryThere, locked: entry?.locked ?? null, listed }
  if (!facts.isDirectory() || (await realpath(path)) !== path) return notOurs
  return { kind: 'found', made, place: 'folder', entry: entryThere, locked: entry?.locked ?? null, listed }
}

/** With our store cleared and the folder gone, git's own entry with our marker, or only the branch, is what is left. */
async function fromRepository(known: KnownWorktree): Promise<Made | null> {
  const { commonDir, path, branch, base, childId } = known
  if (commonDir === undefined || (await exists(path))) return null
  const entries = join(commonDir, 'worktrees')
  for (const name of await readdir(entries).catch(() => [])) {
    const gitDir = join(entries, name)
    if ((await readMarker(gitDir)) === childId)
      return { version: 1, path, branch, base, childId, gitDir, commonDir, filters: true }
  }
  return { version: 1, path, branch, base, childId, gitDir: join(entries, basename(path)), commonDir, filters: true }
}

async function inspectFound(
  git: Git,
  found: Found | { kind: 'nothing' },
): Promise<{ inspection: DiscardInspection; branchTip: string | null }> {
  const losses: Loss[] = []
  const unproven: string[] = []
  let branchTip: string | null = null
  if (found.kind === 'found') {
    const { made } = found
    if (await exists(made.commonDir)) {
      branchTip = await refTip(git, made.commonDir, `refs/heads/${made.branch}`)
      const head = found.entry ? await readHead(git, made) : { ref: `refs/heads/${made.branch}`, commit: branchTip }
      if (head === null) unproven.push('its HEAD cannot be read')
      if (found.place === 'folder')
        await lostFiles(git, made, head?.commit ?? branchTip ?? made.base, found.entry, losses, unproven)
      await lostCommits(git, made, [head?.commit ?? null, branchTip], found, losses, unproven)
    } else if (found.place === 'folder') {
      unproven.push(`its repository ${made.commonDir} is gone`)
    }
  }
  const facts = {
    present: found.kind === 'found' && found.place !== 'nothing',
    losses,
    unproven,
    locked: found.kind === 'found' ? found.locked : null,
  }
  const token = createHash('sha256')
    .update(JSON.stringify([facts, branchTip]))
    .digest('hex')
  return { inspection: { kind: 'inspection', ...facts, token }, branchTip }
}

/** Every file that is not exactly what the commit holds: found by walking the disk, explained by git. */
async function lostFiles(
  git: Git,
  made: Made,
  commit: string,
  entry: boolean,
  losses: Loss[],
  unproven: string[],
): Promise<void> {
  const mounted = await mountsBelow(made.path)
  if (mounted.length > 0) unproven.push(`another file system is mounted at ${mounted.join(', ')}`)
  const view = await View.open(git, made)
  const state = await view.at(commit, async () => {
    const tracked = await view.run({ args: ['ls-files', '-z'], maxBytes: listBytes, timeoutMs: 120_000 })
    const said = await view.run({
      args: [
        'status',
        '--porcelain=v2',
        '-z',
        '--untracked-files=all',
        '--ignored=matching',
        '--ignore-submodules=dirty',
        '--no-renames',
        '--no-ahead-behind',
      ],
      maxBytes: listBytes,
      timeoutMs: 300_000,
    })
    return { tracked: fields(tracked.stdout), said: fields(said.stdout) }
  })
  const changed = new Map<string, string>()
  const ignored = new Set<string>()
  const submodules = new Set<string>()
  for (const line of state.said) {
    const parts = line.split(' ')
    if (parts[0] === '!') ignored.add(line.slice(2))
    else if (parts[0] === '1' || parts[0] === 'u') {
      const path = parts.slice(parts[0] === '1' ? 8 : 10).join(' ')
      if (parts[3] === '160000') submodules.add(path)
      else changed.set(path, parts[5] === '000000' ? '' : (parts[7] ?? ''))
    }
  }
  if (made.filters) {
    const readable = new Map(
      [...changed].filter(([path]) => isUtf8(Buffer.from(path, 'latin1'))).map(([path, blob]) => [shown(path), blob]),
    )
    for (const path of (await unchangedLargeFiles(view, readable)).keys()) {
      changed.delete(Buffer.from(path).toString('latin1'))
    }
  }
  const tracked = new Set(state.tracked)
  const uncommitted: string[] = []
  const untracked: string[] = []
  const ignoredFound: string[] = []
  const repositories: string[] = []
  const walked = await walk(made.path, (path, kind) => {
    if (kind === 'repository') {
      // An empty folder is how a submodule looks before it is filled; this one has something in it.
      repositories.push(`${path}/`)
      return false
    }
    if (kind === 'folder') {
      if (!ignored.has(`${path}/`)) return true
      ignoredFound.push(`${path}/`)
      return false
    }
    if (changed.has(path)) uncommitted.push(path)
    else if (!tracked.has(path)) (ignored.has(path) ? ignoredFound : untracked).push(path)
    return false
  })
  unproven.push(...walked)
  if (await exists(join(made.gitDir, 'modules'))) repositories.push('(submodule histories)/')
  push(losses, 'uncommitted', uncommitted)
  push(losses, 'untracked', untracked)
  push(losses, 'ignored', ignoredFound)
  push(losses, 'repository', repositories)

  if (entry && (await exists(join(made.gitDir, 'index')))) {
    try {
      const staged = await view.run({
        args: ['diff-index', '--cached', '--raw', '-z', '--no-renames', '--ignore-submodules=dirty', commit, '--'],
        index: join(made.gitDir, 'index'),
        maxBytes: listBytes,
      })
      const names: string[] = []
      const records = fields(staged.stdout)
      for (let index = 0; index + 1 < records.length; index += 2) {
        if (!/ D$/.test(records[index] ?? '')) names.push(records[index + 1] ?? '')
      }
      push(losses, 'staged', names)
    } catch (failure) {
      if (!(failure instanceof GitFailure)) throw failure
      unproven.push('its index cannot be read')
    }
  }
}

/** Paths as git gives them, one JavaScript character per byte, so that names that are not UTF-8 stay distinct. */
const fields = (output: Buffer): string[] =>
  output
    .toString('latin1')
    .split('\0')
    .filter((field) => field !== '')
const shown = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8')

function push(losses: Loss[], kind: LossKind, names: readonly string[]): void {
  if (names.length > 0) losses.push({ kind, names: cover(names.map(shown)), count: names.length })
}

/** At most a hundred names that together cover all: when there are more, those deepest down are folded into their folders. */
export function cover(names: readonly string[]): string[] {
  let kept = [...new Set(names)].sort()
  while (kept.length > namesKept) {
    const depth = Math.max(...kept.map((name) => name.replace(/\/$/, '').split('/').length))
    // Nothing left to fold: all lie at the top, and each is named.
    if (depth <= 1) break
    kept = [
      ...new Set(
        kept.map((name) => {
          const parts = name.replace(/\/$/, '').split('/')
          return parts.length < depth ? name : `${parts.slice(0, -1).join('/')}/`
        }),
      ),
    ].sort()
  }
  return kept
}

/**
 * Visits everything below a folder without following a link. `visit` answers whether to go into a folder. The `.git` at
 * the top is ours when it is a file. Answers what could not be visited.
 */
async function walk(
  root: string,
  visit: (path: string, kind: 'file' | 'folder' | 'repository') => boolean,
): Promise<string[]> {
  const unread: string[] = []
  let entries = 0
  const folders: string[] = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const full = Buffer.concat([Buffer.from(root), Buffer.from('/'), Buffer.from(folder, 'latin1')])
    let names
    try {
      names = await readdir(full, { withFileTypes: true, encoding: 'buffer' })
    } catch (failure) {
      unread.push(`${shown(folder) || root} cannot be read (${(failure as NodeJS.ErrnoException).code ?? 'unknown'})`)
      continue
    }
    if (folder !== '' && names.some(({ name }) => name.toString('latin1') === '.git')) {
      visit(folder.slice(0, -1), 'repository')
      continue
    }
    for (const entry of names) {
      if (++entries > walkLimit) return [...unread, `it holds more than ${walkLimit} files`]
      const path = folder + entry.name.toString('latin1')
      if (entry.isDirectory()) {
        if (visit(path, path === '.git' ? 'repository' : 'folder')) folders.push(`${path}/`)
      } else if ((entry.isFile() || entry.isSymbolicLink()) && path !== '.git') visit(path, 'file')
    }
  }
  return unread.slice(0, 5)
}

async function mountsBelow(path: string): Promise<string[]> {
  const text = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  return text
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8))),
    )
    .filter((mount) => mount !== '' && isWithin(path, Buffer.from(mount, 'latin1').toString('utf8')))
}

async function refTip(git: Git, commonDir: string, ref: string): Promise<string | null> {
  const { stdout, exitCode } = await git.run({
    cwd: commonDir,
    args: ['rev-parse', '--verify', '--quiet', '--end-of-options', ref],
    environment: { GIT_DIR: commonDir },
    exits: [1, 128],
  })
  return exitCode === 0 ? stdout.toString('utf8').trimEnd() : null
}

const hashes = /\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g

async function lostCommits(
  git: Git,
  made: Made,
  tips: readonly (string | null)[],
  { entry, listed }: Found,
  losses: Loss[],
  unproven: string[],
): Promise<void> {
  try {
    const ours = `refs/heads/${made.branch}`
    const refs = await git.run({
      cwd: made.commonDir,
      args: ['for-each-ref', '--format=%(objectname) %(refname)'],
      environment: { GIT_DIR: made.commonDir },
      maxBytes: listBytes,
    })
    const kept = refs.stdout
      .toString('utf8')
      .split('\n')
      // Replacements and leftovers of a bisect keep objects alive, but nobody would look for work there.
      .filter((line) => line !== '' && !line.endsWith(` ${ours}`) && !/ refs\/(replace|bisect|rewritten)\//.test(line))
      .map((line) => line.slice(0, line.indexOf(' ')))
    for (const other of listed) {
      if (other.path !== made.path && other.head !== null && !/^0+$/.test(other.head)) kept.push(other.head)
    }
    const live = tips.filter((tip): tip is string => tip !== null)
    push2(losses, 'commits', await commitsOnly(git, made, live, kept))

    const remembered = await rememberedCommits(made, entry, unproven)
    push2(losses, 'reflog-commits', await commitsOnly(git, made, remembered, [...kept, ...live]))
  } catch (failure) {
    if (!(failure instanceof GitFailure)) throw failure
    unproven.push('its commits cannot be compared with the other branches')
  }
}

function push2(losses: Loss[], kind: LossKind, { names, count }: { names: string[]; count: number }): void {
  if (count > 0) losses.push({ kind, names, count })
}

/** Commits that the first hashes reach and the others do not. Hashes of things that are gone already count for nothing. */
async function commitsOnly(
  git: Git,
  made: Made,
  from: readonly string[],
  kept: readonly string[],
): Promise<{ names: string[]; count: number }> {
  if (from.length === 0) return { names: [], count: 0 }
  const input = [...new Set(from), ...[...new Set(kept)].map((commit) => `^${commit}`)].join('\n') + '\n'
  const call = { cwd: made.commonDir, environment: { GIT_DIR: made.commonDir }, input, timeoutMs: 120_000 }
  const counted = await git.text({ ...call, args: ['rev-list', '--ignore-missing', '--count', '--stdin'] })
  const count = Number(counted)
  if (count === 0) return { names: [], count }
  const listed = await git.text({
    ...call,
    args: [
      'rev-list',
      '--ignore-missing',
      '--no-commit-header',
      '--format=%H %<(100,trunc)%s',
      `--max-count=${namesKept}`,
      '--stdin',
    ],
  })
  const names = listed.split('\n').map((line) => line.replace(/[\0-\x1f\x7f-\x9f]/g, ' ').trimEnd())
  if (count > names.length) names.push(`and ${count - names.length} older ones`)
  return { names, count }
}

/** Every hash that only this worktree's git folder, or the log of its branch, still mentions. */
async function rememberedCommits(made: Made, entry: boolean, unproven: string[]): Promise<string[]> {
  const found = new Set<string>()
  const read = async (path: string) => {
    if (!(await exists(path))) return
    const content = await readSmallFile(path, 16 * 1024 * 1024)
    if (content === null) unproven.push(`${basename(path)} cannot be read`)
    else for (const match of content.toString('latin1').matchAll(hashes)) found.add(match[0])
  }
  await read(join(made.commonDir, 'logs/refs/heads', made.branch))
  if (!entry) return [...found]
  const folders = [
    '.',
    'logs',
    'rebase-merge',
    'rebase-apply',
    'sequencer',
    'refs/bisect',
    'refs/worktree',
    'refs/rewritten',
    'logs/refs/bisect',
    'logs/refs/worktree',
  ]
  for (const folder of folders) {
    const full = join(made.gitDir, folder)
    for (const item of await readdir(full, { withFileTypes: true }).catch(() => [])) {
      if (item.isFile() && !/^(index|gitdir|commondir|sharedindex\..*|coxswain\.json)$/.test(item.name))
        await read(join(full, item.name))
    }
  }
  return [...found].filter((name) => !/^0+$/.test(name))
}

/** Takes the folder out of sight first, so that nobody works in a half-removed tree, then removes it, its entry and its branch. */
async function remove(
  git: Git,
  { made, place, entry, listed }: Found,
  inspection: DiscardInspection,
  branchTip: string | null,
): Promise<Discarded | Problem> {
  const root = dirname(made.path)
  const aside = `.discarded-${shortId(made.childId)}-`
  if (place === 'link') await unlink(made.path)
  if (place === 'folder') await rename(made.path, join(root, `${aside}${Date.now()}`))
  for (const name of await readdir(root).catch(() => [])) {
    if (!name.startsWith(aside)) continue
    const left = await removeTree(join(root, name))
    if (left !== null)
      return problem(
        'unproven',
        `${made.path} was taken away but not all of it could be removed (${left}). Discard again once that is solved.`,
      )
  }
  if (entry) {
    await rm(made.gitDir, { recursive: true, force: true })
    await rmdir(dirname(made.gitDir)).catch(() => undefined)
  }
  await rmdir(root).catch(() => undefined)
  const branchKept = branchTip === null ? null : await deleteBranch(git, made, branchTip, listed)
  await forgetView(git, made.path)
  const removed = inspection.present || entry || branchTip !== null
  return { kind: 'discarded', removed, branchKept, losses: inspection.losses }
}

/** Null when it is gone, else the path and reason. Folders an agent made read-only are opened up first; links are not followed. */
async function removeTree(path: string): Promise<string | null> {
  for (const opened of [false, true]) {
    try {
      if (opened) await openUp(path)
      await rm(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 })
      return null
    } catch (failure) {
      const { code = 'unknown', path: where = path } = failure as NodeJS.ErrnoException
      if (opened) return `${where}: ${code}`
    }
  }
  return null
}

async function openUp(folder: string): Promise<void> {
  const facts = await lstat(folder).catch(() => null)
  if (!facts?.isDirectory()) return
  if ((facts.mode & 0o700) !== 0o700) await chmod(folder, 0o700).catch(() => undefined)
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (entry.isDirectory()) await openUp(join(folder, entry.name))
  }
}

async function deleteBranch(
  git: Git,
  made: Made,
  tip: string,
  listed: readonly ListedWorktree[],
): Promise<string | null> {
  const ref = `refs/heads/${made.branch}`
  const holder = listed.find((other) => other.branch === ref && other.path !== made.path)
  if (holder) return `${made.branch} is checked out in ${holder.path}`
  const config = withoutRepositoryPrograms(await readSettings(git, made.commonDir, made.commonDir).catch(() => []))
  const deleted = await git.run({
    cwd: made.commonDir,
    args: ['update-ref', '--no-deref', '-d', ref, tip],
    environment: { GIT_DIR: made.commonDir },
    config,
    exits: [1, 128],
  })
  return deleted.exitCode === 0 ? null : `${made.branch} moved, or another git holds it`
}
