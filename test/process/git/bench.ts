// A bench of real repositories in temporary folders, for the tests of the git room. Everything is removed at the end.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Git } from '../../../src/git/git'
import { inspectRepository, type Problem, type Repository } from '../../../src/git/repository'
import { addWorktree, type AddRequest, type Worktree } from '../../../src/git/worktree'

export class Bench {
  /** Links resolved. */
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'coxswain-git-')))
  readonly store = join(this.folder, 'store')
  readonly home = join(this.folder, 'home')
  readonly environment: Record<string, string> = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: this.home,
  }
  git = this.makeGit()
  private ids = 0

  constructor() {
    mkdirSync(this.store)
    mkdirSync(this.home)
    writeFileSync(
      join(this.home, '.gitconfig'),
      '[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
    )
  }

  makeGit(environment: Record<string, string> = {}, executable?: string): Git {
    return new Git({
      environment: { ...this.environment, ...environment },
      store: this.store,
      ...(executable === undefined ? {} : { executable }),
    })
  }

  /** A plain git call as a person or an agent would make it, hooks and all. Standard output without the last newline. */
  sh(cwd: string, ...args: string[]): string {
    return execFileSync('git', args, {
      cwd,
      env: { ...this.environment, GIT_TERMINAL_PROMPT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 1 << 28,
    })
      .toString()
      .replace(/\n$/, '')
  }

  write(root: string, files: Record<string, string | Buffer>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), content)
    }
  }

  commit(root: string, files: Record<string, string | Buffer>, message = 'work'): string {
    this.write(root, files)
    this.sh(root, 'add', '-A')
    this.sh(root, 'commit', '-q', '--allow-empty', '-m', message)
    return this.sh(root, 'rev-parse', 'HEAD')
  }

  /** A repository with one commit. */
  repository(name = 'project', files: Record<string, string> = { 'a.txt': 'one\ntwo\n', 'src/b.txt': 'b\n' }): string {
    const root = join(this.folder, name)
    mkdirSync(root, { recursive: true })
    this.sh(root, 'init', '-q', '-b', 'main')
    this.commit(root, files, 'first')
    return root
  }

  async inspect(folder: string, git = this.git): Promise<Repository> {
    const repository = await inspectRepository(git, folder)
    if (repository.kind === 'problem')
      throw new Error(`${repository.code}: ${repository.message}\n${repository.detail ?? ''}`)
    return repository
  }

  async add(folder: string, more: Partial<AddRequest> = {}, git = this.git): Promise<Worktree> {
    const added = await this.tryAdd(folder, more, git)
    if (added.kind === 'problem') throw new Error(`${added.code}: ${added.message}\n${added.detail ?? ''}`)
    return added
  }

  async tryAdd(folder: string, more: Partial<AddRequest> = {}, git = this.git): Promise<Worktree | Problem> {
    const repository = more.repository ?? (await this.inspect(folder, git))
    return addWorktree(git, {
      repository,
      childId: `c${String(++this.ids).padStart(5, '0')}`,
      title: 'Fix the parser',
      ...more,
    })
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Every file below a folder with its mode and content hash, as one text: for "not a byte has changed". */
export function snapshot(root: string, leaveOut: RegExp = /^$/): string {
  const lines: string[] = []
  const visit = (path: string) => {
    for (const name of readdirSync(join(root, path)).sort()) {
      const inner = path === '' ? name : `${path}/${name}`
      if (leaveOut.test(inner)) continue
      const facts = lstatSync(join(root, inner))
      if (facts.isDirectory()) visit(inner)
      else if (facts.isSymbolicLink()) lines.push(`${inner} -> ${readlinkSync(join(root, inner))}`)
      else if (facts.isFile()) {
        lines.push(
          `${inner} ${facts.mode.toString(8)} ${createHash('sha256')
            .update(readFileSync(join(root, inner)))
            .digest('hex')}`,
        )
      }
    }
  }
  visit('')
  return lines.join('\n')
}

/** The working files and git's own state that a new worktree has no reason to touch. */
export const mainSnapshot = (root: string): string =>
  snapshot(root, /(^|\/)\.git\/(.*\/)?(worktrees|(logs\/)?refs\/heads\/coxswain|objects)(\/|$)/)

/** No longer running: gone, or a zombie nobody has collected. */
export function isGone(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return true
  }
}
