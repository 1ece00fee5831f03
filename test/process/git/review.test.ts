import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { changedFiles, diffFile, fileAtBase, fileNow, status } from '../../../src/git/review'
import { treeHash } from '../../../src/git/treeHash'
import { Bench } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
afterEach(() => bench.dispose())

describe('a review', () => {
  it('shows both sides of every changed file, renames as such, binaries as such', async () => {
    const long = Array.from({ length: 40 }, (_, n) => `line ${n}\n`).join('')
    const root = bench.repository('project', {
      'moved.txt': long,
      'image.bin': 'a\0b',
      'gone.txt': 'g\n',
      'päth/ü "x".txt': 'old\n',
    })
    const worktree = await bench.add(root)
    const at = worktree.path
    bench.sh(at, 'mv', 'moved.txt', 'elsewhere.txt')
    bench.commit(at, { 'image.bin': 'a\0c' })
    bench.sh(at, 'rm', '-q', 'gone.txt')
    bench.write(at, { 'päth/ü "x".txt': 'new\n', 'fresh.bin': '\0' })
    expect(await changedFiles(bench.git, worktree)).toEqual({
      kind: 'files',
      cut: false,
      files: [
        { path: 'elsewhere.txt', from: 'moved.txt', kind: 'renamed', insertions: 0, deletions: 0, binary: false },
        { path: 'gone.txt', kind: 'deleted', insertions: 0, deletions: 1, binary: false },
        { path: 'image.bin', kind: 'modified', insertions: null, deletions: null, binary: true },
        { path: 'päth/ü "x".txt', kind: 'modified', insertions: 1, deletions: 1, binary: false },
        { path: 'fresh.bin', kind: 'untracked', insertions: null, deletions: null, binary: true },
      ],
    })
    const path = 'päth/ü "x".txt'
    expect(await fileAtBase(bench.git, worktree, path)).toEqual({
      kind: 'content',
      content: Buffer.from('old\n'),
      binary: false,
      size: 4,
    })
    expect(await fileNow(bench.git, worktree, path)).toEqual({
      kind: 'content',
      content: Buffer.from('new\n'),
      binary: false,
      size: 4,
    })
    expect(await fileAtBase(bench.git, worktree, 'image.bin')).toMatchObject({ binary: true, size: 3 })
    for (const absent of ['fresh.bin', 'no/such', '', '.', 'päth', '../x', ':(glob)**', '--all']) {
      expect([absent, await fileAtBase(bench.git, worktree, absent)]).toEqual([
        absent,
        expect.objectContaining({ content: null }),
      ])
    }
    const diff = await diffFile(bench.git, worktree, path)
    expect(diff.kind === 'diff' && diff.text.split('\n').slice(-4)).toEqual(['@@ -1 +1 @@', '-old', '+new', ''])
  })

  it('does not take what a sparse checkout leaves out for deleted, whatever was merged into it', async () => {
    const root = bench.repository('project', { 'in/a': 'a\n', 'out/b': 'b\n', 'out/c': 'c\n' })
    bench.sh(root, 'sparse-checkout', 'set', '--cone', 'in')
    const worktree = await bench.add(root)
    bench.sh(root, 'sparse-checkout', 'disable')
    bench.commit(root, { 'out/b': 'changed on main\n', 'out/new': 'n\n' })
    bench.commit(worktree.path, { 'in/a': 'work\n' })
    bench.sh(worktree.path, 'merge', '-q', '--no-edit', 'main')
    bench.sh(worktree.path, 'rm', '-q', '--cached', 'in/a')
    bench.write(worktree.path, { 'in/fresh': 'f\n' })
    expect(await status(bench.git, worktree)).toMatchObject({
      dirty: true,
      commits: 3,
      files: [{ path: 'in/a', kind: 'modified' }, { path: 'in/fresh' }],
      uncommitted: ['in/fresh'],
    })
  })

  it('is bounded: what is longer is cut and said to be', async () => {
    const root = bench.repository('project', { 'long.txt': 'x\n', 'huge.bin': 'x'.repeat(6 * 1024 * 1024) })
    const worktree = await bench.add(root)
    bench.write(worktree.path, {
      'long.txt': 'a line of text that goes on\n'.repeat(120_000),
      'huge.bin': 'y'.repeat(6 * 1024 * 1024),
    })
    for (let n = 0; n < 30; n++) {
      bench.write(
        worktree.path,
        Object.fromEntries(Array.from({ length: 100 }, (_, m) => [`many/${n}/${'long-name-'.repeat(12)}${m}`, ''])),
      )
    }
    const diff = await diffFile(bench.git, worktree, 'long.txt')
    expect(diff.kind === 'diff' && [diff.cut, diff.text.length]).toEqual([true, 1024 * 1024])
    for (const side of [
      await fileAtBase(bench.git, worktree, 'huge.bin'),
      await fileNow(bench.git, worktree, 'huge.bin'),
    ]) {
      expect(side.kind === 'content' && [side.size, side.content?.length]).toEqual([6 * 1024 * 1024, 5 * 1024 * 1024])
    }
    const state = await status(bench.git, worktree)
    expect(state.kind === 'status' && [state.files.length, state.untracked, state.problems]).toEqual([
      2000,
      3000,
      ['cut'],
    ])
    expect(await treeHash(bench.git, worktree, { maxBytes: 1024 * 1024 })).toMatchObject({ code: 'too-large' })
  })
})

describe('the hash of a tree', () => {
  it('is the same for the same work, committed or not, here or in another worktree, and for no other', async () => {
    const root = bench.repository('project', { 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': '*.out\n' })
    const [one, two] = [await bench.add(root), await bench.add(root)]
    const hash = async (worktree: typeof one, extra: string[] = []) => {
      const hashed = await treeHash(bench.git, worktree, { extra })
      return hashed.kind === 'hash' ? hashed.hash : hashed.code
    }
    expect(await hash(one)).toBe(await hash(two))
    bench.commit(one.path, { 'a.txt': 'work\n', 'new.txt': 'n\n' })
    bench.write(two.path, { 'a.txt': 'work\n', 'new.txt': 'n\n', 'x.out': 'ignored' })
    const same = await hash(one)
    expect(await hash(two)).toBe(same)
    const changes: [string, () => void][] = [
      ['content', () => writeFileSync(join(two.path, 'b.txt'), 'B\n')],
      [
        'mode',
        () =>
          bench.sh(two.path, 'checkout', '-q', 'b.txt') +
          bench.sh(two.path, 'update-index', '--chmod=+x', 'b.txt') +
          bench.sh(two.path, 'checkout', '-q', '--', 'b.txt'),
      ],
    ]
    for (const [what, change] of changes) {
      change()
      expect([what, (await hash(two)) === same]).toEqual([what, false])
    }
    bench.sh(two.path, 'reset', '-q', 'b.txt')
    bench.sh(two.path, 'checkout', '-q', 'b.txt')
    expect(await hash(two)).toBe(same)
    expect(await hash(two, ['x.out'])).not.toBe(same)
    expect(await hash(two, ['absent.out'])).toBe(same)
  })
})
