// A real worktree of a real repository for verification tests, and the world verification asks: git run plainly, programs
// started in their own group. What the product hands in is built elsewhere; this one is small enough to trust.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { EndedPhase } from '../../../src/core/child'
import type { Contract } from '../../../src/core/contract'
import type { Verdict } from '../../../src/core/events'
import type { Judgement } from '../../../src/core/verdict'
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

const text = (bytes: Buffer): string => bytes.toString('utf8')
const lines = (bytes: Buffer): string[] =>
  text(bytes)
    .split('\0')
    .filter((line) => line !== '')

export class Worktree {
  private constructor(
    readonly folder: string,
    readonly path: string,
    readonly base: string,
    readonly firstLaunchedAt: string,
  ) {}

  /** A repository with these files in its one commit, and a worktree of it as an agent would find it. */
  static async make(
    files: Readonly<Record<string, string | Uint8Array>> = { 'README.md': '# Base\n' },
  ): Promise<Worktree> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'verification-')))
    const repository = join(folder, 'repository')
    mkdirSync(repository)
    await git(repository, ['init', '--quiet', '--initial-branch=main'])
    for (const [name, content] of Object.entries(files)) put(join(repository, name), content)
    await git(repository, ['add', '--all'])
    await git(repository, ['commit', '--quiet', '--allow-empty', '--message=base'])
    const base = text(await git(repository, ['rev-parse', 'HEAD'])).trim()
    const path = join(folder, 'worktrees', 'child')
    await git(repository, ['worktree', 'add', '--quiet', '-b', 'child', path, base])
    return new Worktree(folder, path, base, await nextInstant(folder))
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
    rmSync(this.folder, { recursive: true, force: true })
  }

  world(): World {
    return {
      run: runProgram,
      treeHash: async (paths) => {
        const tracked = lines(await this.git('ls-files', '-z'))
        const hash = createHash('sha256')
        for (const path of [...new Set([...tracked, ...paths])].sort()) {
          const at = join(this.path, path)
          const stats = existsSync(at) ? lstatSync(at) : undefined
          hash
            .update(`${path}\0`)
            .update(stats?.isFile() === true ? readFileSync(at) : 'absent')
            .update('\0')
        }
        return hash.digest('hex')
      },
      changedFiles: async () => {
        // An index of our own: flags the child set in its index hide nothing.
        const index = { GIT_INDEX_FILE: join(this.folder, 'index') }
        await git(this.path, ['read-tree', this.base], index)
        const tracked = lines(
          await git(this.path, ['diff', '-z', '--name-only', '--no-renames', '--no-ext-diff', this.base], index),
        )
        const committed = lines(await git(this.path, ['diff', '-z', '--name-only', '--no-renames', this.base, 'HEAD']))
        const untracked = lines(
          await git(this.path, ['ls-files', '-z', '--others', '--exclude-per-directory=.gitignore'], index),
        )
        return [...new Set([...tracked, ...committed, ...untracked])].sort()
      },
      committed: async () => {
        const index = { GIT_INDEX_FILE: join(this.folder, 'index') }
        await git(this.path, ['read-tree', 'HEAD'], index)
        const commits = Number(text(await git(this.path, ['rev-list', '--count', `${this.base}..HEAD`])))
        const status = lines(
          await git(this.path, ['status', '-z', '--porcelain', '--untracked-files=all', '--no-renames'], index),
        )
        return { commits, uncommitted: status.map((line) => line.slice(3)) }
      },
      blobAtBase: async (path) => {
        const listed = text(await git(this.path, ['ls-tree', '-z', '--full-tree', this.base, '--', path]))
        const blob = /^\d+ blob ([0-9a-f]+)\t/.exec(listed)?.[1]
        return blob === undefined ? null : git(this.path, ['cat-file', 'blob', blob])
      },
    }
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

/** In its own process group, without a shell; the group ends with it. */
export function runProgram({ argv, cwd, timeoutMs, outputCapBytes }: RunRequest): Promise<RunOutcome> {
  return new Promise((done) => {
    const child = spawn(argv[0] ?? '', argv.slice(1), {
      cwd,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let outputBytes = 0
    let why: 'timed out' | 'too much output' | null = null
    const end = (reason: typeof why): void => {
      why ??= reason
      if (child.pid !== undefined)
        try {
          process.kill(-child.pid, 'SIGKILL')
        } catch {
          // It is gone.
        }
    }
    const timer = setTimeout(() => end('timed out'), timeoutMs)
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => {
        outputBytes += piece.length
        output = (output + piece.toString('utf8')).slice(-16_384)
        if (outputBytes > outputCapBytes) end('too much output')
      })
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      done({ kind: 'not started', reason: error.code === 'ENOENT' ? 'there is no such program' : error.message })
    })
    child.once('exit', () => end(null))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (why === 'timed out') done({ kind: 'timed out', output })
      else if (why === 'too much output') done({ kind: 'too much output', output, limitBytes: outputCapBytes })
      else done({ kind: 'exited', code, signal, output, outputBytes })
    })
  })
}

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
