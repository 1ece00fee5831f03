// A real worktree of a real repository, made and read by the product's own git room, for verification tests; and what a
// child would do in it. Repositories are shared by all worktrees of one test file that begin alike.
import { execFile } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { worktreeFacts } from '../../../src/git/facts'
import { Git } from '../../../src/git/git'
import { inspectRepository, type Repository } from '../../../src/git/repository'
import type { KnownWorktree } from '../../../src/git/view'
import { addWorktree } from '../../../src/git/worktree'
import type { EndedPhase } from '../../../src/core/child'
import type { Contract } from '../../../src/core/contract'
import type { Verdict } from '../../../src/core/events'
import type { Judgement } from '../../../src/core/verdict'
import { runCommand } from '../../../src/process/runCommand'
import { contractFromValue } from '../../../src/verification/contractText'
import { verify, type ClaimedReport } from '../../../src/verification/verify'
import type { Limits, RunOutcome, RunRequest, World } from '../../../src/verification/world'

export const workerFile = resolve('dist/contentWorker.js')

const environment = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  LANG: 'C.UTF-8',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'child',
  GIT_AUTHOR_EMAIL: 'child@example.org',
  GIT_COMMITTER_NAME: 'child',
  GIT_COMMITTER_EMAIL: 'child@example.org',
}

export function git(cwd: string, args: readonly string[], more: Record<string, string> = {}): Promise<Buffer> {
  return new Promise((done, fail) => {
    execFile(
      'git',
      ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', ...args],
      { cwd, env: { ...environment, ...more }, encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 },
      (error, stdout) => (error === null ? done(stdout) : fail(error)),
    )
  })
}

interface Shared {
  readonly folder: string
  readonly git: Git
  readonly repository: Repository
}

const shared = new Map<string, Promise<Shared>>()
let ids = 0

export interface Beginning {
  /** The files of the one commit. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** A repository that no other worktree shares, for children that write to it. */
  readonly own?: boolean
}

async function makeRepository(files: Readonly<Record<string, string | Uint8Array>>): Promise<Shared> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'verification-')))
  const top = join(folder, 'repository')
  const store = join(folder, 'store')
  for (const made of [top, store]) mkdirSync(made)
  await git(top, ['init', '--quiet', '--initial-branch=main'])
  for (const [name, content] of Object.entries(files)) put(join(top, name), content)
  await git(top, ['add', '--all'])
  await git(top, ['commit', '--quiet', '--allow-empty', '--message=base'])
  const room = new Git({ environment, store })
  const repository = await inspectRepository(room, top)
  if (repository.kind === 'problem') throw new Error(repository.message)
  return { folder, git: room, repository }
}

/** Removes every repository of this test file. */
export async function disposeRepositories(): Promise<void> {
  for (const made of shared.values()) rmSync((await made).folder, { recursive: true, force: true })
  shared.clear()
}

export class Worktree {
  private constructor(
    private readonly from: Shared,
    private readonly known: KnownWorktree,
    /** A folder beside the worktree's, for what a child may reach outside. */
    readonly outside: string,
    readonly firstLaunchedAt: string,
  ) {}

  /** A worktree as an agent would find it. */
  static async make({ files = { 'README.md': '# Base\n' }, own = false }: Beginning = {}): Promise<Worktree> {
    const key = own ? `own ${++ids}` : JSON.stringify(Object.entries(files))
    let making = shared.get(key)
    if (making === undefined) shared.set(key, (making = makeRepository(files)))
    const from = await making
    const added = await addWorktree(from.git, {
      repository: from.repository,
      childId: `child${++ids}`,
      title: 'child',
      worktreeRoot: join(from.folder, 'worktrees'),
    })
    if (added.kind === 'problem') throw new Error(`${added.message} ${added.detail ?? ''}`)
    const outside = mkdtempSync(join(from.folder, 'outside-'))
    return new Worktree(from, added, outside, await nextInstant(outside))
  }

  get path(): string {
    return this.known.path
  }

  /** The main checkout. */
  get repository(): string {
    return this.from.repository.topLevel
  }

  write(name: string, content: string | Uint8Array): void {
    put(join(this.path, name), content)
  }

  file(name: string): string {
    return join(this.path, name)
  }

  git(...args: string[]): Promise<Buffer> {
    return git(this.path, args)
  }

  dispose(): void {
    rmSync(this.path, { recursive: true, force: true })
    rmSync(this.outside, { recursive: true, force: true })
  }

  world(): World {
    return { run, ...worktreeFacts(this.from.git, this.known) }
  }

  /** What the supervisor does after an attempt has ended, with every answer the record would give. */
  async judge(asked: {
    readonly contract: unknown
    readonly report: string | ClaimedReport | null
    readonly phase?: EndedPhase
    readonly attempt?: number
    readonly round?: number
    readonly earlier?: readonly Verdict[]
    readonly cannotAsk?: string
    readonly limits?: Partial<Limits>
    readonly world?: Partial<World>
    readonly signal?: AbortSignal
    readonly extracted?: Record<string, unknown>
  }): Promise<Judgement> {
    const { report } = asked
    return verify({
      contract: contract(asked.contract),
      report: typeof report === 'string' ? { ok: true, summary: report, output: undefined } : report,
      ...(asked.extracted === undefined ? {} : { extracted: asked.extracted }),
      worktree: this.path,
      firstLaunchedAt: this.firstLaunchedAt,
      situation: {
        phase: asked.phase ?? 'SUCCESS',
        round: asked.round ?? 1,
        attempt: asked.attempt ?? 1,
        earlier: asked.earlier ?? [],
        askAgain: asked.cannotAsk === undefined ? { possible: true } : { possible: false, why: asked.cannotAsk },
      },
      world: { ...this.world(), ...asked.world },
      limits: { contentMs: 1_500, ...asked.limits },
      workerFile,
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    })
  }
}

export function contract(value: unknown): Contract {
  const reading = contractFromValue(value)
  if (!reading.ok) throw new Error(reading.problems.join('\n'))
  return reading.contract
}

/** The report of a child that did what it was told, for these deliverables. */
export function claims(...names: string[]): string {
  return JSON.stringify({ artifacts: Object.fromEntries(names.map((name) => [name, name])), summary: 'Done.' })
}

/** As the product runs a command check. */
const run = (request: RunRequest): Promise<RunOutcome> => runCommand({ ...request, environment })

function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** A moment that the disk's clock, too, puts after everything written so far: its steps are coarser than ours. */
async function nextInstant(folder: string): Promise<string> {
  const probe = join(folder, 'clock')
  writeFileSync(probe, '')
  const before = lstatSync(probe).mtimeMs
  for (;;) {
    await new Promise((resume) => setImmediate(resume))
    writeFileSync(probe, '')
    const now = lstatSync(probe).mtimeMs
    if (Math.floor(now) > Math.floor(before) && Date.now() > now) return new Date(Math.floor(now)).toISOString()
  }
}
