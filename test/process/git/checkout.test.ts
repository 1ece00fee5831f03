// The person's own checkout as a new child would miss it, on real git.
import { realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { branches, unlikeHead } from '../../../src/git/checkout'
import { Checkout } from '../../../src/ui/checkout'
import { Bench } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
afterEach(() => bench.dispose())

it('names the files that the last commit does not hold as they are, whatever their names', async () => {
  const root = bench.repository('project', {
    'same.txt': 's\n',
    'changed.txt': 'c\n',
    '.gitignore': 'out/\n*.log\n',
    ':(glob)*.txt': 'odd\n',
  })
  bench.write(root, { 'changed.txt': 'C\n', 'new.txt': 'n\n', 'out/deep/built.js': 'b\n', 'a.log': 'l\n' })
  const asked = ['same.txt', 'changed.txt', 'new.txt', 'out/deep/built.js', 'a.log', ':(glob)*.txt', 'nowhere.txt']
  const unlike = await unlikeHead(bench.git, root, asked)
  expect('kind' in unlike ? unlike : [...unlike]).toEqual(['changed.txt', 'new.txt', 'out/deep/built.js', 'a.log'])
})

it('lists the branches, and says in words where there is no repository', async () => {
  const root = bench.repository('project', { 'a.txt': 'a\n' })
  bench.sh(root, 'branch', 'feature/one')
  expect(await branches(bench.git, root)).toEqual(expect.arrayContaining(['feature/one']))
  expect(await branches(bench.git, '/')).toMatchObject({ kind: 'problem' })
})

it('finds the place of a file by whatever links it is reached, and leaves a link of the repository its own name', async () => {
  const root = bench.repository('project', { 'src/a.js': 'a\n' })
  const link = `${root}-link`
  symlinkSync(root, link)
  symlinkSync('/etc/hostname', join(root, 'src/name'))
  const checkout = new Checkout(bench.git, realpathSync(root), join(root, '.git'))
  const files = [`${link}/src/a.js`, `${root}/src/a.js`, `${link}/src/name`, '/etc/hostname', `${link}/not/there.js`]
  expect(await Promise.all(files.map((file) => checkout.place(file)))).toEqual([
    'src/a.js',
    'src/a.js',
    'src/name',
    null,
    null,
  ])
})

it('lists the other worktrees with what each stands on', async () => {
  const root = realpathSync(bench.repository('project', { 'a.txt': 'a\n' }))
  bench.sh(root, 'worktree', 'add', '-q', '-b', 'feature', `${root}-feature`)
  bench.sh(root, 'worktree', 'add', '-q', '--detach', `${root}-old`)
  const head = bench.sh(root, 'rev-parse', 'HEAD').trim()
  expect(await new Checkout(bench.git, root, join(root, '.git')).worktrees()).toEqual([
    { path: `${root}-feature`, at: 'feature' },
    { path: `${root}-old`, at: head },
  ])
})
