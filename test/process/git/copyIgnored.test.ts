// Ignored files that come along into a new worktree: exactly those, never .git, never through a link, never over what is
// there, and never what the child's commit does not ignore.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { copyIgnored, type Copied } from '../../../src/git/copyIgnored'
import type { Problem } from '../../../src/git/repository'
import { status } from '../../../src/git/review'
import type { Worktree } from '../../../src/git/worktree'
import { globBases, globMatcher } from '../../../src/verification/globs'
import { Bench, mainSnapshot, snapshot } from './bench'

const bench = new Bench()
afterAll(() => bench.dispose())
let count = 0

function repository(ignore: string, files: Record<string, string>): string {
  const root = bench.repository(`r${++count}`, { 'a.txt': 'a\n', '.gitignore': ignore })
  bench.write(root, files)
  return root
}

async function copy(
  root: string,
  globs: string[],
  more: { base?: string; maxFiles?: number; maxBytes?: number; worktree?: Worktree } = {},
): Promise<{ tree: string; worktree: Worktree; outcome: Copied | Problem }> {
  const worktree = more.worktree ?? (await bench.add(root, more.base === undefined ? {} : { base: more.base }))
  const { maxFiles = 1000, maxBytes = 1 << 20 } = more
  const wish = { wanted: globMatcher(globs), bases: globBases(globs), maxFiles, maxBytes }
  const outcome = await copyIgnored(bench.git, root, worktree, wish)
  return { tree: worktree.path, worktree, outcome }
}

const there = (tree: string): string[] =>
  snapshot(tree, /^(\.git|a\.txt|\.gitignore)$/)
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replace(/ \d+ [0-9a-f]{64}$/, ''))

describe('copying ignored files', () => {
  const ignore = '.env\nnode_modules/\n*.local\nbuild/*\n!build/keep\n'
  const files = {
    '.env': 'S=1\n',
    'pkg/a/.env': 'S=2\n',
    'node_modules/x/i.js': 'x',
    'node_modules/x/.env': 'not mine',
    'pkg/a/node_modules/y/i.js': 'y',
    'config/one.local': '1',
    'config/two.txt': 'untracked',
    'build/out': 'o',
    'build/keep': 'k',
    'secret.pem': 'not ignored',
    'odd [n]ame/.env': 'odd',
    ':(top)x.local': 'magic',
  }
  it.each([
    [['.env'], ['.env']],
    [['**/.env'], ['.env', 'odd [n]ame/.env', 'pkg/a/.env']],
    [['node_modules'], ['node_modules/x/.env', 'node_modules/x/i.js']],
    [['./node_modules/'], ['node_modules/x/.env', 'node_modules/x/i.js']],
    [['node_modules/x/*.js'], ['node_modules/x/i.js']],
    [['pkg/*/node_modules'], ['pkg/a/node_modules/y/i.js']],
    [['pkg/**/*.js'], ['pkg/a/node_modules/y/i.js']],
    [['config/*.local'], ['config/one.local']],
    [['*.local'], [':(top)x.local']],
    [
      ['build', 'config', 'secret.pem', 'a.txt'],
      ['build/out', 'config/one.local'],
    ],
    [['odd [[]n]ame/.env'], ['odd [n]ame/.env']],
    [['nothing/here'], []],
  ])('%j takes %j and nothing else; the checkout stays as it was', async (globs, expected) => {
    const root = repository(ignore, files)
    const before = mainSnapshot(root)
    const { tree, worktree, outcome } = await copy(root, globs)
    expect(outcome).toMatchObject({ kind: 'copied', files: expected.length, notes: [] })
    expect(there(tree)).toEqual(expected)
    expect(mainSnapshot(root)).toBe(before)
    expect(await status(bench.git, worktree)).toMatchObject({ dirty: false, untracked: 0 })
  })

  it('keeps modes and content; what is copied is a file of its own', async () => {
    const root = repository('bin/\n', { 'bin/run': '#!/bin/sh\n' })
    chmodSync(join(root, 'bin/run'), 0o700)
    const { tree } = await copy(root, ['bin'])
    writeFileSync(join(tree, 'bin/run'), 'changed')
    expect([readFileSync(join(root, 'bin/run'), 'utf8'), lstatSync(join(tree, 'bin/run')).mode & 0o777]).toEqual([
      '#!/bin/sh\n',
      0o700,
    ])
  })

  it('links come along when they stay inside, as they are; others are named and left out', async () => {
    const root = repository('deps/\n', { 'deps/real/f': 'f', '.env': '' })
    for (const [path, target] of [
      ['deps/inside', 'real/f'],
      ['deps/up', '../a.txt'],
      ['deps/gone', 'not/there'],
      ['deps/absolute', '/etc/passwd'],
      ['deps/out', '../../elsewhere'],
      ['deps/self', join(root, 'a.txt')],
      ['deps/hop', 'absolute'],
      ['deps/git', '../.git/config'],
    ] as const)
      symlinkSync(target, join(root, path))
    const { tree, outcome } = await copy(root, ['deps'])
    expect(there(tree)).toEqual([
      'deps/gone -> not/there',
      'deps/inside -> real/f',
      'deps/real/f',
      'deps/up -> ../a.txt',
    ])
    expect([...(outcome as Copied).notes].sort()).toEqual([
      'Not copied, because it is a link that leads out of the repository: deps/absolute, deps/hop, deps/out and 1 more.',
      'Not copied, because it leads into a git folder: deps/git.',
    ])
  })

  it('a FIFO, a socket and a git folder among them hold nothing up and stay behind', async () => {
    const root = repository('deps/\n', {
      'deps/f': 'f',
      'deps/sub/.git/config': '[core]\n',
      'deps/sub/.GIT/x': 'x',
      'deps/mod/.git': 'gitdir: x\n',
    })
    execFileSync('mkfifo', [join(root, 'deps/fifo')])
    const { tree, outcome } = await copy(root, ['deps'])
    expect(there(tree)).toEqual(['deps/f'])
    expect([...(outcome as Copied).notes].sort()).toEqual([
      'Not copied, because it belongs to a git folder: deps/mod/.git, deps/sub/.GIT, deps/sub/.git.',
      'Not copied, because it is neither a file nor a folder: deps/fifo.',
    ])
  })

  it('what the child’s commit does not ignore, or has, is left alone', async () => {
    const root = bench.repository(`r${++count}`, { 'a.txt': 'a\n', 'kept/.env': 'tracked then\n' })
    const old = bench.sh(root, 'rev-parse', 'HEAD')
    bench.sh(root, 'rm', '-q', 'kept/.env')
    bench.commit(root, { '.gitignore': '.env\n' })
    bench.write(root, { '.env': 'S=1\n', 'kept/.env': 'S=2\n' })
    const { tree, outcome, worktree } = await copy(root, ['**/.env'], { base: old })
    expect(there(tree)).toEqual(['kept/.env'])
    expect(readFileSync(join(tree, 'kept/.env'), 'utf8')).toBe('tracked then\n')
    expect(outcome).toMatchObject({
      files: 0,
      notes: ['Not copied, because the commit the child starts from does not ignore it: .env, kept/.env.'],
    })
    expect(await status(bench.git, worktree)).toMatchObject({ dirty: false })
  })

  it('never writes through a link that the child’s commit put in the way', async () => {
    const root = bench.repository(`r${++count}`, { 'a.txt': 'a\n', '.gitignore': '*.env\n' })
    const outside = join(bench.folder, `outside-${count}`)
    mkdirSync(outside)
    symlinkSync(outside, join(root, 'pkg'))
    bench.sh(root, 'add', '-A')
    bench.sh(root, 'commit', '-q', '-m', 'a link')
    const linked = bench.sh(root, 'rev-parse', 'HEAD')
    bench.sh(root, 'rm', '-q', 'pkg')
    bench.commit(root, { 'pkg/b.txt': 'b' })
    bench.write(root, { 'pkg/x.env': 'S=1\n' })
    const { tree, outcome } = await copy(root, ['pkg/*.env'], { base: linked })
    expect(readlinkSync(join(tree, 'pkg'))).toBe(outside)
    expect(existsSync(join(outside, 'x.env'))).toBe(false)
    expect(outcome).toMatchObject({
      files: 0,
      notes: ['Not copied, because something else is in the place of its folder: pkg/x.env.'],
    })
  })

  it('too many files or bytes are refused before anything is copied, with a sentence that names them', async () => {
    const root = repository(
      'deps/\n',
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`deps/${n}`, 'x'.repeat(100)])),
    )
    const many = await copy(root, ['deps'], { maxFiles: 20 })
    expect(many.outcome).toMatchObject({
      kind: 'problem',
      message: expect.stringMatching(
        /^The ignored files to copy are more than 20 files \(met in deps\/\d+\)\. Nothing was copied\./,
      ),
    })
    expect(there(many.tree)).toEqual([])
    const large = await copy(root, ['deps'], { maxBytes: 2048 })
    expect(large.outcome).toMatchObject({ message: expect.stringContaining('are more than 2 KiB') })
    expect(there(large.tree)).toEqual([])
  })

  it('a second time nothing is written over', async () => {
    const root = repository('.env\n', { '.env': 'S=1\n' })
    const { worktree, tree } = await copy(root, ['.env'])
    writeFileSync(join(tree, '.env'), 'S=of the child\n')
    const again = await copy(root, ['.env'], { worktree })
    expect(readFileSync(join(tree, '.env'), 'utf8')).toBe('S=of the child\n')
    expect(again.outcome).toMatchObject({
      files: 0,
      notes: ['Not copied, because there is something of that name already: .env.'],
    })
  })

  it('runs no program that the repository names', async () => {
    const root = repository('.env\n', { '.env': 'S=1\n', '.gitattributes': '* filter=evil\n' })
    const mark = join(bench.folder, `ran-${count}`)
    bench.sh(root, 'config', 'filter.evil.clean', `touch ${mark}; cat`)
    bench.sh(root, 'config', 'core.fsmonitor', `touch ${mark}`)
    mkdirSync(dirname(mark), { recursive: true })
    writeFileSync(join(root, 'a.txt'), 'b\n')
    expect((await copy(root, ['.env'])).outcome).toMatchObject({ files: 1 })
    expect(existsSync(mark)).toBe(false)
  })

  it('can be called off', async () => {
    const root = repository('.env\n', { '.env': 'S=1\n' })
    const worktree = await bench.add(root)
    const outcome = await copyIgnored(bench.git, root, worktree, {
      wanted: () => true,
      bases: [''],
      signal: AbortSignal.abort(),
    })
    expect(outcome).toMatchObject({ kind: 'problem', code: 'cancelled' })
    expect(there(worktree.path)).toEqual([])
  })
})
