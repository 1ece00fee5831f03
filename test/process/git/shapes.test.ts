// Every shape of repository and of machine people have, through the whole life of a child: look, create, run, compare,
// verify, discard. Each cell is a clear result, and the main checkout is the same before and after. Printed as a table.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { discard } from '../../../src/git/discard'
import type { Git } from '../../../src/git/git'
import { inspectRepository } from '../../../src/git/repository'
import { changedFiles, status } from '../../../src/git/review'
import { treeHash } from '../../../src/git/treeHash'
import { addWorktree, type AddRequest } from '../../../src/git/worktree'
import { Bench, mainSnapshot } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
let undo: () => void = () => undefined
afterEach(() => {
  undo()
  undo = () => undefined
  bench.dispose()
})

const table: string[][] = [['shape', 'look', 'create', 'compare', 'verify', 'discard']]
afterAll(() => {
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  console.log(table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n'))
})

interface Shape {
  readonly folder: string
  readonly git?: Git
  readonly request?: Partial<AddRequest>
  /** The checkout whose bytes must not change; `folder` when absent. */
  readonly main?: string
}

/** Walks a child through its life there and answers the row of the table. */
async function life(name: string, shape: Shape): Promise<string[]> {
  const git = shape.git ?? bench.git
  const main = shape.main ?? shape.folder
  const before = existsSync(main) ? mainSnapshot(main) : ''
  const row = [name]
  table.push(row)
  const repository = await inspectRepository(git, shape.folder)
  if (repository.kind === 'problem') {
    expect(repository.message).toMatch(/^[^\n]{20,300}$/)
    expect(repository.message).not.toMatch(/fatal:|error:/)
    row.push(repository.code)
    if (existsSync(main)) expect(mainSnapshot(main)).toBe(before)
    return row
  }
  row.push(['ok', ...repository.notes.map(({ code }) => code)].join(' '))
  const branches = () => bench.sh(repository.topLevel, 'for-each-ref', 'refs/heads/')
  const branchesBefore = branches()
  const worktree = await addWorktree(git, { repository, childId: 'child0001', title: 'Work', ...shape.request })
  if (worktree.kind === 'problem') {
    expect(worktree.message).toMatch(/^[^\n]{20,400}$/)
    expect(worktree.message).not.toMatch(/fatal:|error:/)
    row.push(worktree.code)
    expect(mainSnapshot(main)).toBe(before)
    expect(branches()).toBe(branchesBefore)
    expect(existsSync(join(repository.commonDir, 'worktrees'))).toBe(false)
    return row
  }
  row.push(['ok', ...worktree.notes.map(({ code }) => code).filter((code) => !row[1]?.includes(code))].join(' '))
  expect(worktree.path.startsWith(repository.topLevel + '/')).toBe(false)
  // The agent's part: one commit and one new file, by a plain git.
  writeFileSync(join(worktree.cwd, 'committed.txt'), 'c\n')
  const quiet = ['core.hooksPath=/dev/null', 'filter.lfs.process=', 'filter.lfs.required=false']
  const plain = quiet.flatMap((setting) => ['-c', setting])
  bench.sh(worktree.cwd, ...plain, 'add', 'committed.txt')
  bench.sh(worktree.cwd, ...plain, 'commit', '-q', '-m', 'work')
  writeFileSync(join(worktree.cwd, 'fresh.txt'), 'f\n')
  const state = await status(git, worktree)
  if (state.kind === 'problem') throw new Error(`${state.code} ${state.message} ${state.detail ?? ''}`)
  row.push([`${state.commits} commit`, `+${state.insertions}-${state.deletions}`, ...state.problems].join(' '))
  const files = await changedFiles(git, worktree)
  expect(files.kind === 'files' && files.files.map(({ path }) => path.split('/').at(-1))).toEqual([
    'committed.txt',
    'fresh.txt',
  ])
  const hash = await treeHash(git, worktree)
  row.push(hash.kind === 'hash' ? `${hash.files} files` : hash.code)
  expect(await discard(git, worktree)).toMatchObject({ code: 'would-lose' })
  const gone = await discard(git, worktree, { force: true })
  row.push(gone.kind === 'discarded' ? 'gone' : gone.code)
  expect(existsSync(worktree.path)).toBe(false)
  expect(branches()).toBe(branchesBefore)
  expect(mainSnapshot(main)).toBe(before)
  return row
}

const works = ['1 commit +2-0', 'gone'] as const

/** The row of a shape in which everything works: what looking and creating add, and how many files there are. */
const whole = (look: string, create: string, files: number) => [look, create, works[0], `${files} files`, works[1]]

describe('a repository', () => {
  it.each<[string, () => Shape, string[]]>([
    ['plain', () => ({ folder: bench.repository() }), whole('ok', 'ok', 4)],
    [
      'no commits yet',
      () => {
        const folder = join(bench.folder, 'unborn')
        bench.sh(bench.folder, 'init', '-q', 'unborn')
        return { folder }
      },
      ['no-commits'],
    ],
    [
      'unborn branch among others',
      () => {
        const folder = bench.repository()
        bench.sh(folder, 'checkout', '-q', '--orphan', 'fresh')
        return { folder }
      },
      ['no-commits'],
    ],
    [
      'detached',
      () => {
        const folder = bench.repository()
        bench.sh(folder, 'checkout', '-q', '--detach')
        return { folder }
      },
      whole('ok detached', 'ok', 4),
    ],
    [
      'bare',
      () => {
        bench.sh(bench.folder, 'clone', '-q', '--bare', bench.repository(), 'bare.git')
        return { folder: join(bench.folder, 'bare.git') }
      },
      ['bare'],
    ],
    [
      'checkout of a bare one',
      () => {
        bench.sh(bench.folder, 'clone', '-q', '--bare', bench.repository(), 'hub/.bare')
        bench.sh(join(bench.folder, 'hub/.bare'), 'worktree', 'add', '-q', '../main', 'main')
        return { folder: join(bench.folder, 'hub/main') }
      },
      whole('ok linked-worktree', 'ok', 4),
    ],
    [
      'inside .git',
      () => ({ folder: join(bench.repository(), '.git/refs'), main: join(bench.folder, 'project') }),
      ['inside-git-folder'],
    ],
    ['no repository', () => ({ folder: bench.home }), ['not-a-repository']],
    ['no folder', () => ({ folder: join(bench.folder, 'nowhere') }), ['no-folder']],
    [
      'broken .git',
      () => {
        bench.write(bench.folder, { 'broken/.git': 'gitdir: /nowhere/at/all\n' })
        return { folder: join(bench.folder, 'broken') }
      },
      ['broken-repository'],
    ],
    [
      'commit lost',
      () => {
        const folder = bench.repository()
        writeFileSync(join(folder, '.git/refs/heads/main'), `${'1'.repeat(40)}\n`)
        return { folder }
      },
      ['broken-repository'],
    ],
    [
      'submodule opened',
      () => {
        const folder = bench.repository('super')
        bench.sh(folder, 'submodule', 'add', '-q', bench.repository('lib'), 'vendor/lib')
        bench.commit(folder, {}, 'add lib')
        return { folder: join(folder, 'vendor/lib'), main: folder }
      },
      whole('ok in-submodule', 'ok elsewhere', 4),
    ],
    [
      'with submodules',
      () => {
        const folder = bench.repository('super')
        bench.sh(folder, 'submodule', 'add', '-q', bench.repository('lib'), 'vendor/lib')
        bench.commit(folder, {}, 'add lib')
        return { folder }
      },
      whole('ok submodules', 'ok', 5),
    ],
    [
      'subfolder of a monorepo',
      () => ({
        folder: join(bench.repository('mono', { 'pkg/a/x.ts': 'x\n', 'pkg/b/y.ts': 'y\n' }), 'pkg/a'),
        main: join(bench.folder, 'mono'),
      }),
      whole('ok', 'ok', 4),
    ],
    [
      'subfolder that is new',
      () => {
        const folder = bench.repository()
        mkdirSync(join(folder, 'brand/new'), { recursive: true })
        return { folder: join(folder, 'brand/new'), main: folder }
      },
      whole('ok', 'ok', 4),
    ],
    [
      'subfolder that is a link elsewhere',
      () => {
        const folder = bench.repository()
        symlinkSync(bench.home, join(folder, 'out'))
        bench.commit(folder, {}, 'link')
        bench.sh(folder, 'rm', '-q', 'out')
        bench.commit(folder, { 'out/x': 'x' }, 'folder')
        return { folder: join(folder, 'out'), main: folder, request: { base: 'HEAD~1' } }
      },
      whole('ok', 'ok folder-missing', 5),
    ],
    [
      'nested in another',
      () => {
        const outer = bench.repository('outer')
        bench.write(outer, { '.gitignore': 'inner\n' })
        const folder = bench.repository('outer/inner')
        return { folder, main: outer }
      },
      whole('ok nested', 'ok elsewhere', 4),
    ],
    [
      'our own worktree opened',
      () => {
        const root = bench.repository()
        bench.sh(root, 'worktree', 'add', '-q', '-b', 'coxswain/earlier-1', '../project.coxswain/earlier-1')
        bench.sh(root, 'branch', '-m', 'coxswain/earlier-1', 'earlier')
        return { folder: join(bench.folder, 'project.coxswain/earlier-1'), main: root }
      },
      whole('ok linked-worktree', 'ok', 4),
    ],
    [
      'sparse',
      () => {
        const folder = bench.repository('project', { 'in/a': 'a\n', 'out/b': 'b\n', 'top.txt': 't\n' })
        bench.sh(folder, 'sparse-checkout', 'set', '--cone', 'in')
        return { folder }
      },
      whole('ok sparse', 'ok', 4),
    ],
    [
      'sparse with a sparse index',
      () => {
        const folder = bench.repository('project', { 'in/a': 'a\n', 'out/b': 'b\n', 'top.txt': 't\n' })
        bench.sh(folder, 'sparse-checkout', 'set', '--cone', '--sparse-index', 'in')
        return { folder }
      },
      whole('ok sparse', 'ok', 4),
    ],
    [
      'shallow',
      () => {
        const origin = bench.repository('origin')
        bench.commit(origin, { 'a.txt': '2\n' })
        bench.commit(origin, { 'a.txt': '3\n' })
        bench.sh(bench.folder, 'clone', '-q', '--depth', '1', `file://${origin}`, 'shallow')
        return { folder: join(bench.folder, 'shallow') }
      },
      whole('ok shallow', 'ok', 4),
    ],
    [
      'partial clone',
      () => {
        const origin = bench.repository('origin')
        bench.sh(origin, 'config', 'uploadpack.allowFilter', 'true')
        bench.sh(bench.folder, 'clone', '-q', '--filter=blob:none', '--no-checkout', `file://${origin}`, 'partial')
        const folder = join(bench.folder, 'partial')
        bench.sh(folder, 'read-tree', 'HEAD')
        return { folder }
      },
      whole('ok partial', 'ok', 4),
    ],
    [
      'large files, filter missing',
      () => {
        const folder = bench.repository('project', {
          'a.txt': 'a\n',
          '.gitattributes': '*.big filter=lfs\n',
          'x.big': 'pointer\n',
        })
        bench.sh(bench.home, 'config', '--global', 'filter.lfs.process', 'git-lfs-that-is-missing filter-process')
        bench.sh(bench.home, 'config', '--global', 'filter.lfs.required', 'true')
        return { folder }
      },
      ['ok large-files filter-missing', 'filter-missing'],
    ],
    [
      'large files as pointers',
      () => {
        const folder = bench.repository('project', {
          'a.txt': 'a\n',
          '.gitattributes': '*.big filter=lfs\n',
          'x.big': 'pointer\n',
        })
        bench.sh(bench.home, 'config', '--global', 'filter.lfs.process', 'git-lfs-that-is-missing filter-process')
        bench.sh(bench.home, 'config', '--global', 'filter.lfs.required', 'true')
        return { folder, request: { largeFiles: 'pointers' } }
      },
      whole('ok large-files filter-missing', 'ok', 5),
    ],
    [
      'SHA-256 objects',
      () => {
        const folder = join(bench.folder, 'sha256')
        bench.sh(bench.folder, 'init', '-q', '-b', 'main', '--object-format=sha256', 'sha256')
        bench.commit(folder, { a: 'a\n' })
        return { folder }
      },
      whole('ok', 'ok', 3),
    ],
    [
      'line endings converted',
      () => {
        bench.sh(bench.home, 'config', '--global', 'core.autocrlf', 'true')
        return { folder: bench.repository('project', { 'a.txt': 'one\r\ntwo\r\n' }) }
      },
      whole('ok', 'ok', 3),
    ],
    [
      'spaces, emoji, other scripts',
      () => ({
        folder: bench.repository('mein Proj 🚣 проект 計画', { 'ü ö/文 件.txt': 'x\n', 'quote\'"$(id).txt': 'y\n' }),
      }),
      whole('ok', 'ok', 4),
    ],
    ['a line break in the name', () => ({ folder: bench.repository('two\nlines') }), whole('ok', 'ok', 4)],
    ['a dash in front', () => ({ folder: bench.repository('--upload-pack=x') }), whole('ok', 'ok', 4)],
    ['longest name', () => ({ folder: bench.repository('x'.repeat(255)) }), whole('ok', 'ok', 4)],
    [
      'long paths',
      () => ({ folder: bench.repository('project', { [`${Array(12).fill('d'.repeat(60)).join('/')}/f.txt`]: 'x\n' }) }),
      whole('ok', 'ok', 3),
    ],
    [
      'case clash',
      () => ({ folder: bench.repository('project', { 'Read.me': '1\n', 'read.me': '2\n' }) }),
      whole('ok', 'ok', 4),
    ],
    [
      'hooks that fail',
      () => {
        const folder = bench.repository()
        for (const hook of ['post-checkout', 'reference-transaction', 'pre-commit', 'post-index-change']) {
          writeFileSync(join(folder, '.git/hooks', hook), `#!/bin/sh\ntouch '${bench.folder}/hook-ran'\nexit 1\n`, {
            mode: 0o755,
          })
        }
        return { folder }
      },
      whole('ok', 'ok', 4),
    ],
    [
      'stale index.lock',
      () => {
        const folder = bench.repository()
        writeFileSync(join(folder, '.git/index.lock'), '')
        return { folder }
      },
      whole('ok', 'ok', 4),
    ],
    [
      'a branch called coxswain',
      () => {
        const folder = bench.repository()
        bench.sh(folder, 'branch', 'coxswain')
        return { folder }
      },
      whole('ok', 'ok', 4),
    ],
    [
      'no room beside it',
      () => {
        const folder = bench.repository()
        writeFileSync(join(bench.folder, 'project.coxswain'), 'a file is in the way')
        return { folder }
      },
      whole('ok', 'ok elsewhere', 4),
    ],
    [
      'its parent is the open folder',
      () => ({ folder: bench.repository(), request: { avoid: [bench.folder] } }),
      whole('ok', 'ok elsewhere', 4),
    ],
    [
      'root inside the project',
      () => {
        const folder = bench.repository()
        return { folder, request: { worktreeRoot: join(folder, '.worktrees') } }
      },
      ['ok', 'root-inside-repository'],
    ],
    [
      'root that leads inside by a link',
      () => {
        const folder = bench.repository()
        symlinkSync(folder, join(bench.folder, 'link'))
        return { folder, request: { worktreeRoot: join(bench.folder, 'link/deep') } }
      },
      ['ok', 'root-inside-repository'],
    ],
    [
      'root nobody can make',
      () => ({ folder: bench.repository(), request: { worktreeRoot: '/proc/nowhere' } }),
      ['ok', 'no-place'],
    ],
    [
      'worktrees with relative paths',
      () => {
        const folder = bench.repository()
        bench.sh(folder, 'config', 'worktree.useRelativePaths', 'true')
        return { folder }
      },
      whole('ok', 'ok', 4),
    ],
    [
      'GIT_* in the environment',
      () => {
        const other = bench.repository('other')
        const folder = bench.repository()
        const git = bench.makeGit({
          GIT_DIR: join(other, '.git'),
          GIT_WORK_TREE: other,
          GIT_INDEX_FILE: join(other, '.git/index'),
          GIT_OBJECT_DIRECTORY: '/nowhere',
          GIT_CONFIG_PARAMETERS: "'core.bare=true'",
          GIT_CEILING_DIRECTORIES: bench.folder,
          GIT_TRACE: '1',
        })
        return { folder, git }
      },
      whole('ok', 'ok', 4),
    ],
    [
      'read-only',
      () => {
        const folder = bench.repository()
        // Permissions do not bind root; a read-only mount does.
        if (process.getuid?.() !== 0) chmodSync(join(folder, '.git'), 0o555)
        else {
          execFileSync('mount', ['--bind', folder, folder])
          execFileSync('mount', ['-o', 'remount,bind,ro', folder])
          undo = () => execFileSync('umount', [folder])
        }
        return { folder }
      },
      ['read-only'],
    ],
    ['no git', () => ({ folder: bench.repository(), git: bench.makeGit({ PATH: bench.home }) }), ['no-git']],
    ['a git that is not one', () => ({ folder: bench.repository(), git: bench.makeGit({}, '/bin/true') }), ['no-git']],
    [
      'an old git',
      () => ({ folder: bench.repository(), git: bench.makeGit({}, script('old', 'echo git version 2.17.1')) }),
      ['old-git'],
    ],
    [
      'an owner git does not trust',
      () => ({
        folder: bench.repository(),
        git: bench.makeGit({}, script('other', 'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git "$@"')),
      }),
      ['other-owner'],
    ],
    [
      'an agent broke the configuration',
      () => {
        const folder = bench.repository()
        writeFileSync(join(folder, '.git/config'), '[core\n')
        return { folder }
      },
      ['broken-repository'],
    ],
    [
      'a configuration that moves the files elsewhere',
      () => {
        const folder = bench.repository()
        bench.sh(folder, 'config', 'core.worktree', bench.folder)
        return { folder }
      },
      ['broken-repository'],
    ],
    [
      'an extension git does not know',
      () => {
        const folder = bench.repository()
        bench.sh(folder, 'config', 'core.repositoryFormatVersion', '1')
        bench.sh(folder, 'config', 'extensions.fromTheFuture', 'true')
        return { folder }
      },
      ['broken-repository'],
    ],
  ])('that is %s', async (name, make, expected) => {
    expect(await life(name, make())).toEqual([name, ...expected])
    expect(existsSync(join(bench.folder, 'hook-ran'))).toBe(false)
  })

  it('gives two opened folders of one repository their own working folders, and two repositories of one name their own places', async () => {
    const mono = bench.repository('mono', { 'a/x': '1', 'b/y': '2' })
    const [a, b] = await Promise.all([bench.add(join(mono, 'a')), bench.add(join(mono, 'b'))])
    expect([a.cwd, b.cwd]).toEqual([join(a.path, 'a'), join(b.path, 'b')])
    expect(a.path).not.toBe(b.path)
    const one = bench.repository('x/same')
    const two = bench.repository('y/same')
    const avoid = [bench.folder]
    const [first, second] = [
      await bench.add(one, { avoid, childId: 'same' }),
      await bench.add(two, { avoid, childId: 'same' }),
    ]
    expect(first.path).not.toBe(second.path)
  })
})

function script(name: string, body: string): string {
  const path = join(bench.folder, `git-${name}`)
  writeFileSync(path, `#!/bin/sh\n${body}\n`)
  chmodSync(path, 0o755)
  return path
}
