// What an agent can write, our git calls must not run. Every trap leaves a file behind when it is sprung, and a plain git
// call shows that the traps work.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { discard, inspectDiscard } from '../../../src/git/discard'
import { configFingerprint } from '../../../src/git/programs'
import { inspectRepository } from '../../../src/git/repository'
import { changedFiles, diffFile, fileAtBase, fileNow, status } from '../../../src/git/review'
import { treeHash } from '../../../src/git/treeHash'
import { reconcile, type Worktree } from '../../../src/git/worktree'
import { Bench } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
afterEach(() => {
  if (process.getuid?.() === 0) process.seteuid?.(0)
  bench.dispose()
})

const sprung = (): string[] => readdirSync(join(bench.folder, 'sprung')).sort()

/** Everything a repository's own files can make git start, all at once. */
function setTraps(root: string, worktree: Worktree): void {
  const folder = join(bench.folder, 'sprung')
  mkdirSync(folder, { recursive: true })
  const trap = (name: string) => {
    const path = join(bench.folder, `trap-${name}`)
    writeFileSync(path, `#!/bin/sh\necho "$0 $*" >>'${folder}/${name}'\ncat 2>/dev/null\nexit 0\n`)
    chmodSync(path, 0o755)
    return path
  }
  const set = (key: string, value: string) => bench.sh(root, 'config', key, value)
  set('core.fsmonitor', trap('fsmonitor'))
  set('core.hooksPath', join(bench.folder, 'hooks'))
  set('core.pager', trap('pager'))
  set('core.editor', trap('editor'))
  set('core.sshCommand', trap('ssh'))
  set('core.askPass', trap('askpass'))
  set('core.gitProxy', trap('proxy'))
  set('core.alternateRefsCommand', trap('alternates'))
  set('credential.helper', trap('credential'))
  set('diff.external', trap('diff-external'))
  set('diff.x.textconv', trap('textconv'))
  set('diff.x.command', trap('diff-command'))
  set('filter.x.clean', trap('clean'))
  set('filter.x.smudge', trap('smudge'))
  set('filter.y=z.process', trap('process'))
  set('filter.y=z.required', 'true')
  set('filter.x.required', 'true')
  set('merge.x.driver', trap('merge'))
  set('gpg.program', trap('gpg'))
  set('commit.gpgSign', 'true')
  set('log.showSignature', 'true')
  set('alias.status', `!${trap('alias')}`)
  set('hook.evil.command', trap('config-hook'))
  for (const event of ['post-checkout', 'reference-transaction', 'post-index-change', 'pre-commit', 'post-commit']) {
    bench.sh(root, 'config', '--add', 'hook.evil.event', event)
  }
  bench.write(bench.folder, {
    'included.cfg': `[filter "w"]\n\tclean = ${trap('included')}\n\tsmudge = ${trap('included')}\n`,
  })
  set('include.path', join(bench.folder, 'included.cfg'))
  const hooks = join(root, '.git/hooks')
  for (const name of [
    'post-checkout',
    'post-index-change',
    'reference-transaction',
    'pre-commit',
    'post-commit',
    'post-merge',
    'post-rewrite',
    'fsmonitor-watchman',
  ]) {
    writeFileSync(join(hooks, name), readFileSync(trap(`hook-${name}`)), { mode: 0o755 })
  }
  mkdirSync(join(bench.folder, 'hooks'), { recursive: true })
  writeFileSync(join(bench.folder, 'hooks/post-checkout'), readFileSync(trap('hookspath')), { mode: 0o755 })
  mkdirSync(join(root, '.git/info'), { recursive: true })
  writeFileSync(join(root, '.git/info/attributes'), '*.txt filter=x diff=x merge=x\n*.bin filter=y=z\n*.inc filter=w\n')
  bench.write(worktree.path, { '.gitattributes': '* filter=x diff=x merge=x\n*.bin filter=y=z\n*.inc filter=w\n' })
}

describe('a child that sets traps in the shared configuration', () => {
  it('gets none of its programs run by anything we ask of git', async () => {
    const root = bench.repository('project', {
      'a.txt': 'a\n',
      'b.bin': 'b\n',
      'c.inc': 'c\n',
      '.gitignore': '*.log\n',
    })
    const worktree = await bench.add(root)
    const next = await bench.inspect(root)
    bench.commit(worktree.path, { 'd.txt': 'd\n' })
    setTraps(root, worktree)
    bench.write(worktree.path, {
      'a.txt': 'changed\n',
      'b.bin': 'changed\n',
      'c.inc': 'changed\n',
      'new.txt': 'n\n',
      'x.log': 'l',
    })

    const { git } = bench
    expect(await status(git, worktree)).toMatchObject({ kind: 'status', dirty: true, commits: 1 })
    expect(await changedFiles(git, worktree)).toMatchObject({ kind: 'files' })
    expect(await diffFile(git, worktree, 'a.txt')).toMatchObject({ kind: 'diff' })
    expect(await fileAtBase(git, worktree, 'a.txt')).toMatchObject({ content: Buffer.from('a\n') })
    expect(await fileNow(git, worktree, 'a.txt')).toMatchObject({ content: Buffer.from('changed\n') })
    expect(await treeHash(git, worktree, { extra: ['x.log'] })).toMatchObject({ kind: 'hash' })
    expect(await inspectDiscard(git, worktree)).toMatchObject({ kind: 'inspection', unproven: [] })
    await configFingerprint(git, worktree.commonDir)
    await reconcile(git, worktree.commonDir, [worktree])
    expect(await inspectRepository(git, root)).toMatchObject({ kind: 'repository' })
    expect(await inspectRepository(git, worktree.path)).toMatchObject({ kind: 'repository' })
    const sibling = await bench.add(root, { repository: next })
    expect(sibling.notes.map(({ code }) => code)).toEqual([])
    expect(await discard(git, sibling)).toMatchObject({ removed: true })
    expect(await discard(git, worktree, { force: true })).toMatchObject({ removed: true })
    expect(sprung()).toEqual([])

    // The traps are alive: a person's own git runs them.
    const asPerson = (...args: string[]) => {
      try {
        bench.sh(root, ...args)
      } catch {
        // A filter that is required and does not answer well fails the call; it has been run by then.
      }
    }
    asPerson('config', '--remove-section', 'filter.y=z')
    bench.write(root, { 'a.txt': 'x' })
    asPerson('checkout', '-q', '-b', 'x')
    asPerson('add', '-A')
    bench.write(root, { 'a.txt': 'y' })
    asPerson('diff')
    expect(sprung()).toEqual(expect.arrayContaining(['clean', 'diff-command', 'fsmonitor', 'hookspath']))
  })

  it('cannot have a program of a submodule run, whose configuration is another file', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    mkdirSync(join(bench.folder, 'sprung'))
    const inner = bench.repository('inner')
    bench.sh(worktree.path, 'submodule', 'add', '-q', inner, 'sub')
    bench.commit(worktree.path, {}, 'add sub')
    const trap = join(bench.folder, 'trap')
    writeFileSync(trap, `#!/bin/sh\ntouch '${bench.folder}/sprung/submodule'\ncat\n`, { mode: 0o755 })
    bench.sh(join(worktree.path, 'sub'), 'config', 'filter.x.clean', trap)
    bench.write(worktree.path, { 'sub/a.txt': 'changed', 'sub/.gitattributes': '* filter=x\n' })
    expect(await status(bench.git, worktree)).toMatchObject({ commits: 1 })
    expect(await changedFiles(bench.git, worktree)).toMatchObject({ kind: 'files' })
    const inspection = await inspectDiscard(bench.git, worktree)
    expect(inspection).toMatchObject({
      losses: expect.arrayContaining([
        expect.objectContaining({ kind: 'repository', names: ['(submodule histories)/', 'sub/'] }),
      ]),
    })
    expect(sprung()).toEqual([])
    execFileSync('git', ['status'], { cwd: worktree.path, env: bench.environment, stdio: 'ignore' })
    expect(sprung()).toEqual(['submodule'])
  })

  it('is seen to have changed the shared configuration, its includes or a hook', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    const prints = [(await configFingerprint(bench.git, worktree.commonDir)).hash]
    const note = async () => prints.push((await configFingerprint(bench.git, worktree.commonDir)).hash)
    await note()
    expect(new Set(prints).size).toBe(1)
    bench.sh(worktree.path, 'config', 'user.name', 'Eve')
    await note()
    writeFileSync(join(root, '.git/hooks/pre-push'), '#!/bin/sh\n', { mode: 0o755 })
    await note()
    chmodSync(join(root, '.git/hooks/pre-push'), 0o644)
    await note()
    bench.write(bench.folder, { 'extra.cfg': '[core]\n' })
    bench.sh(worktree.path, 'config', 'include.path', join(bench.folder, 'extra.cfg'))
    await note()
    bench.write(bench.folder, { 'extra.cfg': '[core]\n\tfsmonitor = evil\n' })
    await note()
    expect(new Set(prints).size).toBe(prints.length - 1)
    expect(await configFingerprint(bench.git, worktree.commonDir)).toMatchObject({
      programs: expect.arrayContaining(['include.path', 'core.fsmonitor']),
      hooks: ['pre-push'],
    })
  })

  it('cannot hide work from us by flags in its own index', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    bench.sh(worktree.path, 'update-index', '--assume-unchanged', 'a.txt')
    bench.sh(worktree.path, 'update-index', '--skip-worktree', 'src/b.txt')
    bench.write(worktree.path, { 'a.txt': 'hidden 1', 'src/b.txt': 'hidden 2' })
    expect(bench.sh(worktree.path, 'status', '--porcelain')).toBe('')
    expect(await status(bench.git, worktree)).toMatchObject({
      dirty: true,
      files: [{ path: 'a.txt' }, { path: 'src/b.txt' }],
    })
    expect(await inspectDiscard(bench.git, worktree)).toMatchObject({
      losses: [{ kind: 'uncommitted', names: ['a.txt', 'src/b.txt'] }],
    })
  })

  it('cannot make git show another history by replacing the base', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    const commit = bench.commit(worktree.path, { 'a.txt': 'new\n' })
    bench.sh(root, 'replace', worktree.base, commit)
    expect(await status(bench.git, worktree)).toMatchObject({ commits: 1, files: [{ path: 'a.txt' }] })
    expect(await fileAtBase(bench.git, worktree, 'a.txt')).toMatchObject({ content: Buffer.from('one\ntwo\n') })
    bench.sh(root, 'replace', commit, bench.sh(root, 'commit-tree', '-m', 'empty', `${worktree.base}^{tree}`))
    expect(await inspectDiscard(bench.git, worktree)).toMatchObject({
      losses: [{ kind: 'commits', names: [`${commit} work`] }],
    })
  })
})

describe('a worktree that was tampered with', () => {
  const outside = () => {
    bench.write(bench.folder, { 'outside/precious.txt': 'precious' })
    return join(bench.folder, 'outside')
  }
  const precious = () => readFileSync(join(bench.folder, 'outside/precious.txt'), 'utf8')

  it('is removed without following links out of it', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    symlinkSync(outside(), join(worktree.path, 'node_modules'))
    symlinkSync(join(bench.folder, 'outside/precious.txt'), join(worktree.path, 'link.txt'))
    expect(await discard(bench.git, worktree, { force: true })).toMatchObject({ removed: true })
    expect(precious()).toBe('precious')
  })

  it('whose folder became a link loses only the link', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    rmSync(worktree.path, { recursive: true })
    symlinkSync(outside(), worktree.path)
    expect(await status(bench.git, worktree)).toMatchObject({ problems: ['missing'] })
    expect(await fileNow(bench.git, worktree, 'precious.txt')).not.toMatchObject({ content: Buffer.from('precious') })
    expect(await discard(bench.git, worktree)).toMatchObject({ removed: true })
    expect(existsSync(worktree.path)).toBe(false)
    expect(precious()).toBe('precious')
  })

  it('whose git entry points at another folder does not take that folder along', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    writeFileSync(join(worktree.gitDir, 'gitdir'), `${outside()}/.git\n`)
    expect(await discard(bench.git, worktree, { force: true })).toMatchObject({ code: 'not-ours' })
    expect(precious()).toBe('precious')
    expect(existsSync(worktree.path)).toBe(true)
  })

  it('that lost its marker is left alone', async () => {
    const worktree = await bench.add(bench.repository())
    rmSync(join(worktree.gitDir, 'coxswain.json'))
    expect(await discard(bench.git, worktree, { force: true })).toMatchObject({ code: 'not-ours' })
    expect(existsSync(join(worktree.path, 'a.txt'))).toBe(true)
  })

  it('with folders nobody may write to is removed all the same', async () => {
    // Permissions do not bind root.
    bench.dispose()
    if (process.getuid?.() === 0) process.seteuid?.(65534)
    bench = new Bench()
    const root = bench.repository()
    const worktree = await bench.add(root)
    bench.write(worktree.path, { 'mod/cache/file.go': 'x' })
    chmodSync(join(worktree.path, 'mod/cache'), 0o555)
    chmodSync(join(worktree.path, 'mod'), 0o555)
    expect(await discard(bench.git, worktree, { force: true })).toMatchObject({ removed: true })
    expect(existsSync(worktree.path)).toBe(false)
  })

  it('has files of every special kind, and reading it neither hangs nor leaves it', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    const at = worktree.path
    execFileSync('mkfifo', [join(at, 'pipe')])
    rmSync(join(at, 'a.txt'))
    execFileSync('mkfifo', [join(at, 'a.txt')])
    symlinkSync(outside(), join(at, 'out'))
    renameSync(join(at, 'src'), join(at, 'src2'))
    symlinkSync(outside(), join(at, 'src'))
    bench.write(bench.folder, { 'outside/b.txt': 'outside b' })
    expect(await status(bench.git, worktree)).toMatchObject({ kind: 'status', dirty: true })
    for (const path of [
      'pipe',
      'a.txt',
      'out/precious.txt',
      'src/b.txt',
      '../../outside/precious.txt',
      '/etc/passwd',
      '..',
      '',
    ]) {
      expect(await fileNow(bench.git, worktree, path)).toMatchObject({ content: null })
    }
    const hashed = await treeHash(bench.git, worktree, { extra: ['out/precious.txt', '../escape', 'pipe'] })
    expect(hashed).toMatchObject({
      kind: 'hash',
      refused: ['../escape', 'a.txt', 'out/precious.txt', 'pipe', 'src/b.txt'],
    })
    const inspection = await inspectDiscard(bench.git, worktree)
    expect(inspection).toMatchObject({
      unproven: [],
      losses: [{ kind: 'untracked', names: ['out', 'src', 'src2/b.txt'] }],
    })
  })
})

describe('a record that names something else', () => {
  it('never has it deleted: the repository, the root, a parent, nothing, a foreign worktree, a sibling', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    const sibling = await bench.add(root)
    const foreign = join(bench.folder, 'foreign')
    bench.sh(root, 'worktree', 'add', '-q', '-b', 'foreign', foreign)
    const paths = [
      '',
      '.',
      '/',
      '..',
      root,
      join(root, '.git'),
      bench.folder,
      join(bench.folder, 'project.coxswain'),
      foreign,
      sibling.path,
      `${worktree.path}/..`,
      `${worktree.path}/`,
      `${worktree.path}/src`,
    ]
    for (const path of paths) {
      expect([path, await discard(bench.git, { ...worktree, path }, { force: true })]).toEqual([
        path,
        expect.objectContaining({ kind: 'problem', code: 'not-ours' }),
      ])
    }
    expect(await discard(bench.git, { ...worktree, branch: 'main' }, { force: true })).toMatchObject({
      code: 'not-ours',
    })
    expect(await discard(bench.git, { ...worktree, childId: 'another' }, { force: true })).toMatchObject({
      code: 'not-ours',
    })
    for (const path of [root, foreign, sibling.path, worktree.path]) expect(existsSync(join(path, 'a.txt'))).toBe(true)
    expect(bench.sh(root, 'branch', '--format=%(refname:short)').split('\n')).toHaveLength(4)
  })
})
