import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { discard, inspectDiscard } from '../../../src/git/discard'
import { status } from '../../../src/git/review'
import { reconcile } from '../../../src/git/worktree'
import { Bench, mainSnapshot } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
afterEach(() => bench.dispose())

describe('a worktree for a child', () => {
  it('stands beside the repository on a branch of its own, and leaves the main checkout as it was', async () => {
    const root = bench.repository()
    const before = mainSnapshot(root)
    const worktree = await bench.add(root, { title: 'Fix: the Ünïcode parser!', childId: 'abc123' })
    expect(worktree).toMatchObject({
      path: join(bench.folder, 'project.coxswain', 'fix-the-unicode-parser-abc123'),
      cwd: join(bench.folder, 'project.coxswain', 'fix-the-unicode-parser-abc123'),
      branch: 'coxswain/fix-the-unicode-parser-abc123',
      base: bench.sh(root, 'rev-parse', 'HEAD'),
      baseLabel: 'main',
      notes: [],
    })
    expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
    expect(bench.sh(worktree.path, 'symbolic-ref', 'HEAD')).toBe('refs/heads/coxswain/fix-the-unicode-parser-abc123')
    expect(mainSnapshot(root)).toBe(before)
  })

  it('keeps the opened subfolder as the working folder', async () => {
    const root = bench.repository('mono', { 'pkg/a/x.ts': '1\n' })
    const worktree = await bench.add(join(root, 'pkg/a'))
    expect(worktree.cwd).toBe(join(worktree.path, 'pkg/a'))
    expect(existsSync(join(worktree.cwd, 'x.ts'))).toBe(true)
  })

  it('says what changed: commits, lines, untracked files', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    expect(await status(bench.git, worktree)).toMatchObject({ commits: 0, dirty: false, files: [], problems: [] })
    bench.commit(worktree.path, { 'a.txt': 'one\n2\nthree\n' })
    bench.write(worktree.path, { 'src/b.txt': 'b\nc\n', 'new file.txt': 'x\ny\n' })
    expect(await status(bench.git, worktree)).toEqual({
      kind: 'status',
      commits: 1,
      dirty: true,
      untracked: 1,
      uncommitted: ['src/b.txt', 'new file.txt'],
      files: [
        { path: 'a.txt', kind: 'modified', insertions: 2, deletions: 1, binary: false },
        { path: 'src/b.txt', kind: 'modified', insertions: 1, deletions: 0, binary: false },
        { path: 'new file.txt', kind: 'untracked', insertions: 2, deletions: 0, binary: false },
      ],
      insertions: 5,
      deletions: 1,
      branchNow: worktree.branch,
      head: bench.sh(worktree.path, 'rev-parse', 'HEAD'),
      problems: [],
    })
  })

  it('is discarded with its branch when nothing would be lost', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    expect(await discard(bench.git, worktree)).toEqual({
      kind: 'discarded',
      removed: true,
      branchKept: null,
      losses: [],
    })
    expect(existsSync(worktree.path)).toBe(false)
    expect(existsSync(dirname(worktree.path))).toBe(false)
    expect(bench.sh(root, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
    expect(bench.sh(root, 'branch', '--list', 'coxswain/*')).toBe('')
    expect(await discard(bench.git, worktree)).toMatchObject({ kind: 'discarded', removed: false })
  })

  it('is not discarded without confirmation when something would be lost, and names all of it', async () => {
    const root = bench.repository('project', { 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': '*.log\ncache/\n' })
    const worktree = await bench.add(root)
    const at = worktree.path
    bench.commit(at, { 'kept.txt': '1' }, 'a commit of its own')
    bench.commit(at, { 'gone.txt': '1' }, 'reset away')
    bench.sh(at, 'reset', '-q', '--hard', 'HEAD~1')
    bench.write(at, { 'a.txt': 'changed', 'b.txt': 'staged', 'new.txt': 'n', 'x.log': 'l', 'cache/deep/file': 'c' })
    bench.sh(at, 'add', 'b.txt')
    bench.write(at, { 'b.txt': 'b\n' })
    mkdirSync(join(at, 'inner'))
    bench.sh(join(at, 'inner'), 'init', '-q')
    const inspection = await inspectDiscard(bench.git, worktree)
    if (inspection.kind === 'problem') throw new Error(inspection.message)
    expect(inspection.unproven).toEqual([])
    expect(
      inspection.losses.map(({ kind, names }) => [kind, ...names.map((name) => name.replace(/^[0-9a-f]{40} /, ''))]),
    ).toEqual([
      ['uncommitted', 'a.txt'],
      ['untracked', 'new.txt'],
      ['ignored', 'cache/', 'x.log'],
      ['repository', 'inner/'],
      ['staged', 'b.txt'],
      ['commits', 'a commit of its own'],
      ['reflog-commits', 'reset away'],
    ])
    const refused = await discard(bench.git, worktree)
    expect(refused).toMatchObject({ kind: 'problem', code: 'would-lose' })
    expect(existsSync(join(at, 'cache/deep/file'))).toBe(true)
    bench.write(at, { 'one-more.txt': '' })
    expect(await discard(bench.git, worktree, { confirmed: inspection.token })).toMatchObject({ code: 'would-lose' })
    rmSync(join(at, 'one-more.txt'))
    expect(await discard(bench.git, worktree, { confirmed: inspection.token })).toMatchObject({ kind: 'discarded' })
    expect(existsSync(at)).toBe(false)
  })

  it('is reported as missing, forgotten, moved, locked, or on another branch, as git says', async () => {
    const root = bench.repository()
    const { commonDir } = await bench.inspect(root)
    const names = [
      'present',
      'missing',
      'forgotten',
      'moved',
      'locked',
      'switched',
      'renamed',
      'detached',
      'absent',
      'unlinked',
    ]
    const all = new Map(
      await Promise.all(names.map(async (name) => [name, await bench.add(root, { childId: name })] as const)),
    )
    const at = (name: string) => all.get(name)?.path ?? ''
    rmSync(at('missing'), { recursive: true })
    rmSync(join(commonDir, 'worktrees', at('forgotten').split('/').at(-1) ?? ''), { recursive: true })
    rmSync(join(at('unlinked'), '.git'))
    bench.sh(root, 'worktree', 'move', at('moved'), join(bench.folder, 'elsewhere'))
    bench.sh(root, 'worktree', 'lock', '--reason', 'on a stick', at('locked'))
    bench.sh(at('switched'), 'switch', '-q', '-c', 'other')
    bench.sh(at('renamed'), 'branch', '-m', 'better-name')
    bench.sh(at('detached'), 'checkout', '-q', '--detach')
    bench.sh(root, 'worktree', 'remove', at('absent'))
    const found = await reconcile(bench.git, commonDir, [...all.values()])
    expect(
      Object.fromEntries([...found].map(([id, { kind, ...rest }]) => [id, 'branch' in rest ? rest.branch : kind])),
    ).toEqual({
      present: 'ours',
      missing: 'missing',
      forgotten: 'forgotten',
      moved: 'moved',
      locked: 'ours',
      switched: 'switched',
      renamed: 'switched',
      detached: 'detached',
      absent: 'absent',
      unlinked: 'forgotten',
    })
    expect(found.get('moved')).toMatchObject({ to: join(bench.folder, 'elsewhere') })
    expect(found.get('locked')).toMatchObject({ locked: 'on a stick' })
    expect(found.get('renamed')).toMatchObject({ branchNow: 'better-name', ourBranchExists: false })
  })
})
