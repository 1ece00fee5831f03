import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { discard } from '../../../src/git/discard'
import { slug } from '../../../src/git/names'
import { baseMoved, status } from '../../../src/git/review'
import { treeHash } from '../../../src/git/treeHash'
import { reconcile } from '../../../src/git/worktree'
import { Bench, isGone, mainSnapshot } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
afterEach(() => bench.dispose())

const branchesOf = (root: string) => bench.sh(root, 'for-each-ref', '--format=%(refname)', 'refs/heads/')

describe('names', () => {
  const titles = [
    '--upload-pack=x',
    '$(id)',
    'a\u3000b',
    'fix: x',
    'a..b',
    'x.lock',
    'HEAD',
    'n'.repeat(300),
    'CON',
    '',
    '計画',
    '@',
    '-',
    '../../etc',
    'a\nb\0c',
    '\u202egnp.exe',
  ]

  it('from any title are safe: plain ASCII that git takes as a branch and a shell takes as a word', async () => {
    const root = bench.repository()
    for (const [index, title] of titles.entries()) {
      const worktree = await bench.add(root, { title, childId: `t${index}` })
      expect(worktree.branch).toMatch(/^coxswain\/[a-z0-9][a-z0-9-]{0,45}$/)
      expect(worktree.path).toBe(join(bench.folder, 'project.coxswain', `${slug(title)}-t${index}`))
      expect(bench.sh(root, 'check-ref-format', '--branch', worktree.branch)).toBe(worktree.branch)
    }
  })

  it('of a base are looked up and never read as anything else', async () => {
    const root = bench.repository()
    const first = bench.sh(root, 'rev-parse', 'HEAD')
    bench.commit(root, { 'a.txt': 'second' }, 'fix: x')
    bench.sh(root, 'tag', '-a', '-m', 'tagged', 'v1', first)
    bench.sh(root, 'branch', 'bräñch', first)
    for (const base of ['v1', 'bräñch', 'refs/heads/bräñch', first, first.slice(0, 8), 'HEAD~1', 'main@{1}']) {
      const worktree = await bench.add(root, { base })
      expect([base, worktree.base]).toEqual([base, first])
    }
    const before = branchesOf(root)
    for (const base of [
      ...titles.slice(0, 6),
      'n'.repeat(300),
      'CON',
      '計画',
      '-',
      '--all',
      '-h',
      'main..v1',
      '^main',
      'HEAD:a.txt',
      'no/such',
      'a\nb',
      '0'.repeat(40),
      '../../etc/passwd',
    ]) {
      const refused = await bench.tryAdd(root, { base })
      expect([base, refused]).toEqual([base, expect.objectContaining({ kind: 'problem', code: 'bad-base' })])
    }
    expect(branchesOf(root)).toBe(before)
  })

  it('never track another branch, whatever the configuration wishes', async () => {
    const origin = bench.repository('origin')
    bench.sh(bench.folder, 'clone', '-q', origin, 'clone')
    const root = join(bench.folder, 'clone')
    bench.sh(root, 'config', 'branch.autoSetupMerge', 'always')
    bench.sh(root, 'config', 'branch.autoSetupRebase', 'always')
    const config = readFileSync(join(root, '.git/config'), 'utf8')
    await bench.add(root, { base: 'origin/main' })
    expect(readFileSync(join(root, '.git/config'), 'utf8')).toBe(config)
  })
})

describe('adding fails as a whole', () => {
  const causes: [string, (root: string) => { more?: object; git?: ReturnType<Bench['makeGit']> }, string][] = [
    [
      'the checkout breaks half-way',
      (root) => {
        const blob = bench.sh(root, 'rev-parse', 'HEAD:src/b.txt')
        rmSync(join(root, '.git/objects', blob.slice(0, 2), blob.slice(2)))
        return {}
      },
      'add-failed',
    ],
    [
      'a filter that is required breaks',
      (root) => {
        bench.commit(root, { '.gitattributes': '*.txt filter=own\n' })
        bench.sh(bench.home, 'config', '--global', 'filter.own.smudge', 'false')
        bench.sh(bench.home, 'config', '--global', 'filter.own.required', 'true')
        return {}
      },
      'add-failed',
    ],
    [
      'it takes too long',
      (root) => {
        bench.commit(root, { '.gitattributes': '*.txt filter=own\n' })
        bench.sh(
          bench.home,
          'config',
          '--global',
          'filter.own.smudge',
          `echo $$ >>'${bench.folder}/filters'; sleep 300`,
        )
        return { more: { timeoutMs: 1_500 } }
      },
      'timed-out',
    ],
    [
      'another git holds a lock',
      (root) => {
        bench.sh(root, 'config', 'extensions.worktreeConfig', 'true')
        writeFileSync(join(root, '.git/HEAD.lock'), '')
        return { git: bench.makeGit({}, failing('worktree')) }
      },
      'locked',
    ],
    ['git crashes', () => ({ git: bench.makeGit({}, failing('worktree', 'kill -SEGV $$')) }), 'git-failed'],
    ['git says yes and does nothing', () => ({ git: bench.makeGit({}, failing('worktree', 'exit 0')) }), 'add-failed'],
    [
      'the branch cannot be made',
      (root) => {
        writeFileSync(join(root, '.git/refs/heads/coxswain'), '')
        writeFileSync(join(root, '.git/refs/heads/coxswain-work-stuck'), '')
        return { more: { title: 'work', childId: 'stuck' } }
      },
      'add-failed',
    ],
  ]

  const failing = (verb: string, how = 'exit 128'): string => {
    const path = join(bench.folder, 'git-failing')
    writeFileSync(path, `#!/bin/sh\ncase "$*" in *' ${verb} '*) ${how} ;; esac\nexec git "$@"\n`, { mode: 0o755 })
    return path
  }

  it.each(causes)('when %s: no branch, no folder, no entry, main checkout untouched', async (_, arrange, code) => {
    const root = bench.repository()
    const { more, git } = arrange(root)
    const before = [mainSnapshot(root), branchesOf(root)]
    const problem = await bench.tryAdd(root, more ?? {}, git)
    expect(problem).toMatchObject({ kind: 'problem', code })
    expect([mainSnapshot(root), branchesOf(root)]).toEqual(before)
    expect(existsSync(join(root, '.git/worktrees'))).toBe(false)
    expect(existsSync(join(bench.folder, 'project.coxswain'))).toBe(false)
    expect(existsSync(join(bench.store, 'views')) ? readdirSync(join(bench.store, 'views')) : []).toEqual([])
    const filters = join(bench.folder, 'filters')
    for (const pid of existsSync(filters) ? readFileSync(filters, 'utf8').trim().split('\n') : []) {
      await expect.poll(() => [pid, isGone(pid)], { timeout: 10_000 }).toEqual([pid, true])
    }
  })

  it('when it is cancelled in the middle', async () => {
    const root = bench.repository()
    bench.commit(root, { '.gitattributes': '*.txt filter=own\n' })
    const started = join(bench.folder, 'started')
    mkdirSync(started)
    bench.sh(bench.home, 'config', '--global', 'filter.own.smudge', `touch '${started}/now'; sleep 300`)
    const stop = new AbortController()
    const watcher = watch(started, () => stop.abort())
    expect(await bench.tryAdd(root, { signal: stop.signal })).toMatchObject({ code: 'cancelled' })
    watcher.close()
    expect(branchesOf(root)).toBe('refs/heads/main')
    expect(existsSync(join(bench.folder, 'project.coxswain'))).toBe(false)
  })
})

describe('several at once', () => {
  describe('by an owner that died in the middle is cleared, and the child gets the one it should have had', () => {
    const place = (): string => join(bench.folder, 'project.coxswain', 'half-x7')
    const again = async (root: string): Promise<void> => {
      const worktree = await bench.add(root, { title: 'half', childId: 'x7' })
      expect([worktree.path, worktree.branch]).toEqual([place(), 'coxswain/half-x7'])
      expect(bench.sh(root, 'worktree', 'list').split('\n')).toHaveLength(2)
      expect(branchesOf(root).split('\n')).toEqual(['refs/heads/coxswain/half-x7', 'refs/heads/main'])
      expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
    }

    it('before git was asked', async () => {
      const root = bench.repository()
      mkdirSync(place(), { recursive: true })
      await again(root)
    })

    it('after the branch was made', async () => {
      const root = bench.repository()
      mkdirSync(place(), { recursive: true })
      bench.sh(root, 'branch', 'coxswain/half-x7')
      await again(root)
    })

    it('with files half written, from a base that has moved on since', async () => {
      const root = bench.repository()
      bench.sh(root, 'worktree', 'add', '-q', '-b', 'coxswain/half-x7', place())
      rmSync(join(place(), 'src'), { recursive: true })
      writeFileSync(join(place(), 'a.txt'), 'on')
      bench.commit(root, { 'c.txt': 'later' })
      await again(root)
    })

    it('once the git that outlived it is through', async () => {
      const root = bench.repository()
      bench.sh(root, 'worktree', 'add', '-q', '-b', 'coxswain/half-x7', place())
      const lock = join(root, '.git', 'worktrees', 'half-x7', 'locked')
      writeFileSync(lock, 'initializing')
      let isLocked = true
      const adding = bench.add(root, { title: 'half', childId: 'x7' }).then((worktree) => [worktree.path, isLocked])
      await bench.git.text({ cwd: root, args: ['rev-parse', 'HEAD'] })
      isLocked = false
      rmSync(lock)
      expect(await adding).toEqual([place(), false])
    })

    it('and what is not of that kind is left alone', async () => {
      const root = bench.repository()
      mkdirSync(place(), { recursive: true })
      writeFileSync(join(place(), 'mine.txt'), 'mine')
      const worktree = await bench.add(root, { title: 'half', childId: 'x7' })
      expect(worktree.path).toBe(`${place()}-2`)
      expect(readFileSync(join(place(), 'mine.txt'), 'utf8')).toBe('mine')
      bench.sh(root, 'worktree', 'add', '-q', '-b', 'own', join(bench.folder, 'project.coxswain', 'other-x8'))
      expect((await bench.add(root, { title: 'other', childId: 'x8' })).path).toMatch(/other-x8-2$/)
      expect(bench.sh(root, 'branch', '--list', 'own')).toContain('own')
    })
  })

  it('from several processes, with a person using git meanwhile, all succeed and leave no stray branch', async () => {
    const root = bench.repository(
      'project',
      Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}`, `${n}`])),
    )
    const program = join(bench.folder, 'add.ts')
    writeFileSync(
      program,
      `
      import { Git } from '${process.cwd()}/src/git/git'
      import { inspectRepository } from '${process.cwd()}/src/git/repository'
      import { addWorktree } from '${process.cwd()}/src/git/worktree'
      const [, , name, store, root] = process.argv
      const git = new Git({ environment: process.env, store })
      const repository = await inspectRepository(git, root)
      const all = await Promise.all(Array.from({ length: 8 }, (_, n) => addWorktree(git, { repository, childId: name + n, title: 'same' })))
      for (const one of all) console.log(one.kind === 'worktree' ? 'ok' : JSON.stringify(one))
    `,
    )
    const { build } = await import('esbuild')
    const bundle = join(bench.folder, 'add.mjs')
    await build({
      entryPoints: [program],
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: bundle,
      nodePaths: [join(process.cwd(), 'node_modules')],
      banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
    })
    const run = (name: string) =>
      new Promise<string>((done) => {
        const child = spawn(process.execPath, [bundle, name, bench.store, root], { env: bench.environment })
        let said = ''
        child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
        child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
        child.on('close', () => done(said))
      })
    const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map(run))
    for (let turn = 0; turn < 10; turn++) {
      bench.sh(root, 'config', 'some.key', String(turn))
      bench.sh(root, 'pack-refs', '--all')
      bench.sh(root, 'branch', `person-${turn}`)
    }
    expect((await all).join('')).toBe('ok\n'.repeat(40))
    expect(branchesOf(root).match(/^refs\/heads\/coxswain\//gm)).toHaveLength(40)
    expect(bench.sh(root, 'worktree', 'list').split('\n')).toHaveLength(41)
  })
})

describe('a worktree over time', () => {
  it('is found again, and its work seen, after our store was cleared', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    const { path, branch, base, childId } = worktree
    bench.write(path, { 'a.txt': 'changed' })
    rmSync(bench.store, { recursive: true })
    const fresh = bench.makeGit()
    for (const git of [bench.git, fresh]) {
      expect(await status(git, { path, branch, base, childId })).toMatchObject({
        dirty: true,
        files: [{ path: 'a.txt' }],
      })
    }
    expect(await status(fresh, { path, branch, base, childId: 'other' })).toMatchObject({ problems: ['missing'] })
    expect(await discard(fresh, { path, branch, base, childId })).toMatchObject({ code: 'would-lose' })
    expect(await discard(fresh, { path, branch, base, childId }, { force: true })).toMatchObject({ removed: true })
    expect(branchesOf(root)).toBe('refs/heads/main')
  })

  it('whose store cannot be used is a problem with a reason, not a crash', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    rmSync(bench.store, { recursive: true })
    writeFileSync(bench.store, 'a file in the place of the store')
    for (const answer of [
      await status(bench.git, worktree),
      await treeHash(bench.git, worktree),
      await discard(bench.git, worktree),
      await bench.tryAdd(root),
    ]) {
      expect(answer).toMatchObject({ kind: 'problem', message: expect.stringMatching(/ENOTDIR|EEXIST/) })
    }
    expect(existsSync(join(worktree.path, 'a.txt'))).toBe(true)
    expect(branchesOf(root).split('\n')).toHaveLength(2)
  })

  it('says when the branch was switched, detached, deleted, or no longer stands on its base', async () => {
    const root = bench.repository()
    const look = async (change: (at: string, branch: string) => void) => {
      const worktree = await bench.add(root)
      bench.commit(worktree.path, { x: '1' })
      change(worktree.path, worktree.branch)
      const state = await status(bench.git, worktree)
      return state.kind === 'status' ? state.problems : state.code
    }
    expect(await look(() => undefined)).toEqual([])
    expect(await look((at) => bench.sh(at, 'switch', '-q', '-c', 'other'))).toEqual(['branch-switched'])
    expect(await look((at) => bench.sh(at, 'checkout', '-q', '--detach'))).toEqual(['detached'])
    expect(await look((at, branch) => bench.sh(at, 'update-ref', '-d', `refs/heads/${branch}`))).toEqual([
      'branch-gone',
    ])
    expect(
      await look((at) => {
        bench.sh(at, 'checkout', '-q', '--orphan', 'new')
        bench.commit(at, { y: '1' })
        bench.sh(at, 'branch', '-M', 'unrelated')
      }),
    ).toEqual(['branch-switched', 'base-left'])
    expect(await look((at) => rmSync(at, { recursive: true }))).toEqual(['missing'])
  })

  it('deleted by hand does not stand in the way of the next, and is cleared up by discard alone', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root, { childId: 'one' })
    const foreign = join(bench.folder, 'on-a-stick')
    bench.sh(root, 'worktree', 'add', '-q', '-b', 'foreign', foreign)
    rmSync(worktree.path, { recursive: true })
    rmSync(foreign, { recursive: true })
    const again = await bench.add(root, { childId: 'one' })
    expect(again.path).toBe(`${worktree.path}-2`)
    expect(again.branch).toBe(`${worktree.branch}-2`)
    expect(await discard(bench.git, worktree)).toMatchObject({ removed: true })
    expect(
      bench
        .sh(root, 'worktree', 'list', '--porcelain')
        .match(/^worktree .*$/gm)
        ?.sort(),
    ).toEqual([`worktree ${root}`, `worktree ${again.path}`, `worktree ${foreign}`].sort())
  })

  it('is told how far the branch it started from has moved on', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    expect(await baseMoved(bench.git, worktree, 'main')).toEqual({ kind: 'moved', commits: 0, rewritten: false })
    bench.commit(root, { 'a.txt': 'on' })
    expect(await baseMoved(bench.git, worktree, 'main')).toEqual({ kind: 'moved', commits: 1, rewritten: false })
    bench.sh(root, 'checkout', '-q', '--orphan', 'anew')
    bench.commit(root, {})
    bench.sh(root, 'branch', '-M', 'anew', 'main')
    expect(await baseMoved(bench.git, worktree, 'main')).toMatchObject({ rewritten: true })
    expect(await baseMoved(bench.git, worktree, 'no-such')).toBeNull()
  })

  it('may go without a word when another worktree holds its commits', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    const commit = bench.commit(worktree.path, { x: 'x' })
    expect(await discard(bench.git, worktree)).toMatchObject({ code: 'would-lose' })
    bench.sh(root, 'worktree', 'add', '-q', '--detach', join(bench.folder, 'holder'), commit)
    expect(await discard(bench.git, worktree)).toMatchObject({ kind: 'discarded' })
  })

  it('removed by git itself counts as discarded', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    bench.sh(root, 'worktree', 'remove', worktree.path)
    expect(await discard(bench.git, worktree)).toMatchObject({ kind: 'discarded' })
    expect(branchesOf(root)).toBe('refs/heads/main')
  })

  it('of which git lost its entry is cleared up once that is confirmed', async () => {
    const root = bench.repository()
    const worktree = await bench.add(root)
    bench.write(worktree.path, { 'only-here.txt': 'x' })
    rmSync(worktree.gitDir, { recursive: true })
    expect((await reconcile(bench.git, worktree.commonDir, [worktree])).get(worktree.childId)).toMatchObject({
      kind: 'forgotten',
    })
    expect(await discard(bench.git, worktree)).toMatchObject({ code: 'would-lose', detail: 'untracked: only-here.txt' })
    expect(await discard(bench.git, worktree, { force: true })).toMatchObject({ removed: true })
    expect(existsSync(worktree.path)).toBe(false)
  })
})
