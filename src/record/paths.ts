// Where everything of a store lies. Pure names; `makeFolder` is the one thing here that touches the disk, and it makes
// private folders only.
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { homedir, tmpdir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** Longest path of a Unix socket that every platform takes, in bytes. */
const longestSocketPath = 103
/** Room for the file name of a socket and its slash. */
const socketNameBytes = 24

export interface ChildPaths {
  readonly folder: string
  readonly events: string
  readonly transcript: string
  readonly contract: string
  /** What setting up its worktree printed. */
  readonly setupLog: string
  readonly attempts: string
  textLog(index: number): string
  attempt(n: number): AttemptPaths
  readonly results: string
  /** The immutable result of a round. */
  result(round: number): string
  /** A text kept whole beside the results. */
  wholeText(name: string): string
  /** Captured output of contract commands and the like. */
  readonly evidence: string
  /** Events a person was told of. */
  readonly told: string
}

export interface AttemptPaths {
  readonly folder: string
  readonly prompt: string
  readonly control: string
}

export interface StorePaths {
  readonly root: string
  /** Whose store it is. */
  readonly repository: string
  readonly children: string
  readonly owner: string
  /** One file per window that shows this store, naming its process. */
  readonly present: string
  /** One file per child, touched when something of it changed. */
  readonly bell: string
  readonly bin: string
  readonly git: string
  readonly worktrees: string
  readonly demoSessions: string
  readonly secret: string
  /** One folder per parent session: which processes speak for it, and whose it is if it is durable. */
  readonly parents: string
  parent(session: string): string
  readonly audit: string
  /** How new worktrees are set up, as a person agreed to. */
  readonly setup: string
  readonly sockets: string
  /** Always empty: where a program that answers one prompt is run. */
  readonly oneShots: string
  child(id: string): ChildPaths
}

/** The user's data folder for Coxswain. `COXSWAIN_DATA_DIR` overrides it. */
export function dataFolder(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const own = environment['COXSWAIN_DATA_DIR']
  if (own !== undefined && own !== '') return own
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'coxswain')
  const xdg = environment['XDG_DATA_HOME']
  return join(xdg !== undefined && xdg !== '' ? xdg : join(homedir(), '.local', 'share'), 'coxswain')
}

/** A repository's name as people know it: that of its folder. `commonDir` is absolute and real. */
export function repositoryName(commonDir: string): string {
  return basename(commonDir) === '.git' ? basename(dirname(commonDir)) : basename(commonDir)
}

/** The store of a repository: every checkout and every window of it shares one. `commonDir` is absolute and real. */
export function defaultStore(data: string, commonDir: string): string {
  const readable = repositoryName(commonDir)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 24)
  return join(data, 'stores', `${readable === '' ? 'repo' : readable}-${hash(commonDir)}`)
}

export function storePaths(root: string): StorePaths {
  const children = join(root, 'children')
  return {
    root,
    repository: join(root, 'repository.json'),
    children,
    owner: join(root, 'owner'),
    present: join(root, 'present'),
    bell: join(root, 'bell'),
    bin: join(root, 'bin'),
    git: join(root, 'git'),
    worktrees: join(root, 'worktrees'),
    demoSessions: join(root, 'demo-sessions'),
    secret: join(root, 'secret'),
    parents: join(root, 'parents'),
    parent: (session) => join(root, 'parents', session.replace(':', '-')),
    audit: join(root, 'audit.jsonl'),
    setup: join(root, 'setup.json'),
    sockets: socketFolder(root),
    oneShots: join(root, 'one-shots'),
    child: (id) => childPaths(join(children, id)),
  }
}

function childPaths(folder: string): ChildPaths {
  const attempts = join(folder, 'attempts')
  const results = join(folder, 'results')
  return {
    folder,
    events: join(folder, 'events.jsonl'),
    transcript: join(folder, 'transcript.jsonl'),
    contract: join(folder, 'contract.json'),
    setupLog: join(folder, 'setup.log'),
    attempts,
    evidence: join(folder, 'evidence'),
    told: join(folder, 'told'),
    textLog: (index) => join(folder, `task-${index}.log`),
    attempt: (n) => {
      const attempt = join(attempts, String(n))
      return { folder: attempt, prompt: join(attempt, 'prompt.md'), control: join(attempt, 'control') }
    },
    results,
    result: (round) => join(results, `round-${round}.json`),
    wholeText: (name) => join(results, name),
  }
}

/** In the store when its path is short enough, else a private folder with a short name. */
function socketFolder(root: string): string {
  const inside = join(root, 's')
  if (Buffer.byteLength(inside) + socketNameBytes <= longestSocketPath) return inside
  const runtime = process.env['XDG_RUNTIME_DIR']
  const base = runtime !== undefined && runtime !== '' && Buffer.byteLength(runtime) < 60 ? runtime : tmpdir()
  const short = Buffer.byteLength(base) < 60 ? base : '/tmp'
  return join(short, `coxswain-${userInfo().uid}-${hash(root)}`)
}

/** Something in the store is not as it must be; the message says what a person can do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/**
 * Makes a folder that only this user can enter, and its parents. Throws when something else stands in its place: a link,
 * or a folder of another user or open to others. Answers the topmost folder it made, if it made any.
 */
export function makeFolder(path: string): string | undefined {
  const topmost = mkdirSync(path, { recursive: true, mode: 0o700 })
  const found = lstatSync(path)
  const mine = found.isDirectory() && (process.getuid === undefined || found.uid === process.getuid())
  if (!mine || (found.mode & 0o077) !== 0)
    throw new StoreError(`${path} is not a private folder of this user. Remove it or make it 0700, then try again.`)
  return topmost
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)
