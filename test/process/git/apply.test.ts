import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apply, type ApplyRequest, previewApply } from '../../../src/git/apply'
import { discard } from '../../../src/git/discard'
import { changedFiles, status } from '../../../src/git/review'
import type { Worktree } from '../../../src/git/worktree'
import { Bench, snapshot } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
afterEach(() => bench.dispose())

const request = (worktree: Worktree, into: string, more: Partial<ApplyRequest> = {}): ApplyRequest => ({
  worktree,
  into,
  how: 'squash',
  message: 'Fix the parser',
  verdict: 'verified',
  ...more,
})

/** A child with one commit and uncommitted work beside it. */
async function child(root: string): Promise<Worktree> {
  const worktree = await bench.add(root)
  bench.commit(worktree.path, { 'a.txt': 'one\ntwo\nthree\n' }, 'third line')
  bench.write(worktree.path, { 'new/file.txt': 'new\n', 'src/b.txt': 'b changed\n' })
  bench.write(worktree.path, { '.git-ignored': '' })
  rmSync(join(worktree.path, '.git-ignored'))
  return worktree
}

const everything = (root: string) => snapshot(root, /(^|\/)\.git\/objects\//)

describe("applying a child's work", () => {
  it('shows both what will be committed and what will change, and changes nothing yet', async () => {
    const root = bench.repository()
    const worktree = await child(root)
    const before = [everything(root), snapshot(worktree.path)]
    expect(await previewApply(bench.git, request(worktree, root))).toMatchObject({
      kind: 'preview',
      branch: 'main',
      uncommitted: ['src/b.txt', 'new/file.txt'],
      files: [{ path: 'a.txt', insertions: 1, deletions: 0 }],
    })
    expect([everything(root), snapshot(worktree.path)]).toEqual(before)
  })

  it.each([
    ['squash', ['Fix the parser', 'first'], 1],
    ['merge', ['Fix the parser', 'Work of the child', 'third line', 'first'], 2],
  ] as const)(
    'by %s commits once on the person’s branch, and the child’s uncommitted work once on its own',
    async (how, subjects, parents) => {
      const root = bench.repository()
      const worktree = await child(root)
      bench.write(root, { 'untracked.txt': 'mine' })
      const applied = await apply(bench.git, request(worktree, root, { how, workMessage: 'Work of the child' }))
      expect(applied).toMatchObject({ kind: 'applied', branch: 'main' })
      expect(bench.sh(root, 'log', '--format=%s', '--topo-order').split('\n')).toEqual(subjects)
      expect(bench.sh(root, 'rev-list', '--parents', '-1', 'HEAD').split(' ')).toHaveLength(parents + 1)
      expect(bench.sh(root, 'status', '--porcelain')).toBe('?? untracked.txt')
      expect(readFileSync(join(root, 'new/file.txt'), 'utf8')).toBe('new\n')
      expect(bench.sh(worktree.path, 'status', '--porcelain')).toBe('')
      expect(bench.sh(worktree.path, 'log', '-1', '--format=%s %an')).toBe('Work of the child Ann')
      expect(await status(bench.git, worktree)).toMatchObject({ commits: 2, dirty: false })
      expect(await apply(bench.git, request(worktree, root, { how: 'squash' }))).toMatchObject({
        code: 'nothing-to-apply',
      })
      if (how === 'merge') expect(await discard(bench.git, worktree)).toMatchObject({ kind: 'discarded' })
    },
  )

  it('as a patch leaves it staged, on any checkout, with no commit', async () => {
    const root = bench.repository()
    const worktree = await child(root)
    bench.sh(root, 'checkout', '-q', '--detach')
    const before = bench.sh(root, 'rev-parse', 'HEAD')
    expect(await apply(bench.git, request(worktree, root, { how: 'patch' }))).toMatchObject({
      kind: 'applied',
      commit: null,
    })
    expect(bench.sh(root, 'rev-parse', 'HEAD')).toBe(before)
    expect(bench.sh(root, 'status', '--porcelain').split('\n').sort()).toEqual([
      'A  new/file.txt',
      'M  a.txt',
      'M  src/b.txt',
    ])
  })

  it('merges with what the person did meanwhile', async () => {
    const root = bench.repository()
    const worktree = await child(root)
    bench.commit(root, { 'mine.txt': 'mine' })
    expect(await apply(bench.git, request(worktree, root))).toMatchObject({ kind: 'applied' })
    expect(existsSync(join(root, 'mine.txt'))).toBe(true)
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n')
  })

  const refusals: [string, (root: string, worktree: Worktree) => Partial<ApplyRequest>, string, RegExp][] = [
    ['it conflicts', (root) => (bench.commit(root, { 'a.txt': 'another\n' }), {}), 'conflicts', /a\.txt/],
    [
      'only the uncommitted work conflicts',
      (root) => (bench.commit(root, { 'src/b.txt': 'another\n' }), {}),
      'conflicts',
      /src\/b\.txt/,
    ],
    [
      'the checkout is dirty',
      (root) => (bench.write(root, { 'src/b.txt': 'mine\n' }), {}),
      'target-dirty',
      /src\/b\.txt/,
    ],
    [
      'something is staged',
      (root) => (bench.write(root, { x: 'x' }), bench.sh(root, 'add', 'x'), {}),
      'target-dirty',
      /\(x\)/,
    ],
    [
      'an untracked file is in the way',
      (root) => (bench.write(root, { 'new/file.txt': 'mine\n' }), {}),
      'target-dirty',
      /in the way/,
    ],
    [
      'an ignored file is in the way',
      (root) => {
        bench.commit(root, { '.gitignore': 'new\n' })
        bench.write(root, { 'new/file.txt': 'mine\n' })
        return {}
      },
      'target-dirty',
      /in the way/,
    ],
    [
      'the branch is checked out elsewhere',
      (root) => {
        bench.sh(root, 'worktree', 'add', '-q', '-b', 'release', join(bench.folder, 'release-checkout'))
        return { branch: 'release' }
      },
      'branch-elsewhere',
      /release-checkout/,
    ],
    [
      'the branch is checked out nowhere',
      (root) => (bench.sh(root, 'branch', 'other'), { branch: 'other' }),
      'branch-elsewhere',
      /not checked out/,
    ],
    [
      'no branch is checked out',
      (root) => (bench.sh(root, 'checkout', '-q', '--detach'), {}),
      'target-detached',
      /no new commit|No branch/,
    ],
    [
      'a merge is under way',
      (root) => (writeFileSync(join(root, '.git/MERGE_HEAD'), `${bench.sh(root, 'rev-parse', 'HEAD')}\n`), {}),
      'target-busy',
      /merge/,
    ],
    [
      'another git is at work there',
      (root) => (writeFileSync(join(root, '.git/index.lock'), ''), {}),
      'locked',
      /index\.lock/,
    ],
    [
      'another git is at work in the worktree',
      (_, worktree) => (writeFileSync(join(worktree.gitDir, 'index.lock'), ''), {}),
      'locked',
      /index\.lock/,
    ],
    [
      'git does not know the person',
      () => (writeFileSync(join(bench.home, '.gitconfig'), '[user]\n\tuseConfigOnly = true\n'), {}),
      'no-identity',
      /user\.name/,
    ],
    ['it is not verified', () => ({ verdict: 'failed' }), 'not-verified', /failed/],
    [
      'the override names another verdict',
      () => ({ verdict: 'failed', override: 'unverified' }),
      'not-verified',
      /failed/,
    ],
    ['something changed since it was shown', () => ({ seen: 'an older token' }), 'changed', /Look again/],
    [
      'the receiving folder is another repository',
      () => ({ into: bench.repository('other') }),
      'bad-target',
      /not another checkout/,
    ],
    [
      'the receiving folder is the worktree itself',
      (_, worktree) => ({ into: worktree.path }),
      'bad-target',
      /not another checkout/,
    ],
  ]

  it.each(refusals)('is refused when %s, and everything stays as it was', async (_, arrange, code, words) => {
    const root = bench.repository()
    const worktree = await child(root)
    const more = arrange(root, worktree)
    const before = [everything(root), snapshot(worktree.path)]
    const refused = await apply(bench.git, request(worktree, root, more))
    expect([everything(root), snapshot(worktree.path)]).toEqual(before)
    expect(refused).toMatchObject({ kind: 'problem', code, message: expect.stringMatching(words) })
  })

  it('goes through with an override that says the verdict by name, and with the preview that was shown', async () => {
    const root = bench.repository()
    const worktree = await child(root)
    const shown = await previewApply(bench.git, request(worktree, root))
    const seen = shown.kind === 'preview' ? shown.token : ''
    expect(
      await apply(bench.git, request(worktree, root, { verdict: 'failed', override: 'failed', seen })),
    ).toMatchObject({
      kind: 'applied',
    })
  })

  it('runs no program the child put into the repository', async () => {
    const root = bench.repository()
    const worktree = await child(root)
    bench.commit(root, { 'a.txt': 'zero\none\ntwo\n' }, 'a change of the person, in the same file')
    const trap = join(bench.folder, 'trap')
    const sprung = join(bench.folder, 'sprung')
    writeFileSync(trap, `#!/bin/sh\necho "$*" >>'${sprung}'\ncat\n`, { mode: 0o755 })
    for (const key of [
      'core.fsmonitor',
      'filter.x.clean',
      'filter.x.smudge',
      'merge.x.driver',
      'gpg.program',
      'diff.external',
      'hook.x.command',
    ]) {
      bench.sh(root, 'config', key, trap)
    }
    for (const event of ['post-checkout', 'reference-transaction', 'post-index-change'])
      bench.sh(root, 'config', '--add', 'hook.x.event', event)
    bench.sh(root, 'config', 'commit.gpgSign', 'true')
    bench.sh(root, 'config', 'branch.main.mergeOptions', '-s trap')
    for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change', 'pre-commit', 'post-merge']) {
      writeFileSync(join(root, '.git/hooks', hook), `#!/bin/sh\necho ${hook} >>'${sprung}'\n`, { mode: 0o755 })
    }
    mkdirSync(join(root, '.git/info'), { recursive: true })
    writeFileSync(join(root, '.git/info/attributes'), '* filter=x merge=x diff=x\n')
    expect(await apply(bench.git, request(worktree, root, { how: 'merge' }))).toMatchObject({ kind: 'applied' })
    expect(existsSync(sprung)).toBe(false)
  })
})

describe('large files', () => {
  /** A stand-in for Git LFS: pointers in git, content beside it. */
  function installLfs(): void {
    const program = join(bench.folder, 'lfs')
    writeFileSync(
      program,
      `#!/bin/sh
store='${bench.folder}/lfs-store'; mkdir -p "$store"
if [ "$1" = clean ]; then
  cat >"$store/new.$$"; oid=$(sha256sum <"$store/new.$$" | cut -c1-64); size=$(wc -c <"$store/new.$$")
  mv "$store/new.$$" "$store/$oid"
  printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' "$oid" "$size"
else
  oid=$(sed -n 's/^oid sha256://p'); cat "$store/$oid"
fi
`,
      { mode: 0o755 },
    )
    for (const verb of ['clean', 'smudge'])
      bench.sh(bench.home, 'config', '--global', `filter.lfs.${verb}`, `${program} ${verb}`)
    bench.sh(bench.home, 'config', '--global', 'filter.lfs.required', 'true')
  }

  it('are checked out as themselves, seen as unchanged when they are, and applied as pointers', async () => {
    installLfs()
    const root = bench.repository('project', {
      '.gitattributes': '*.big filter=lfs\n',
      'one.big': 'big one\n',
      'a.txt': 'a\n',
    })
    const worktree = await bench.add(root)
    const at = worktree.path
    expect(readFileSync(join(at, 'one.big'), 'utf8')).toBe('big one\n')
    expect(await status(bench.git, worktree)).toMatchObject({ dirty: false, files: [] })
    // Rewritten with the same bytes, and a new one committed by the agent's own git.
    rmSync(join(at, 'one.big'))
    writeFileSync(join(at, 'one.big'), 'big one\n')
    bench.commit(at, { 'two.big': 'big two\n' })
    rmSync(join(at, 'two.big'))
    writeFileSync(join(at, 'two.big'), 'big two\n')
    expect(await status(bench.git, worktree)).toMatchObject({
      dirty: false,
      commits: 1,
      files: [{ path: 'two.big', kind: 'added' }],
    })
    expect(await changedFiles(bench.git, worktree)).toMatchObject({ files: [{ path: 'two.big' }] })
    writeFileSync(join(at, 'one.big'), 'another\n')
    bench.write(at, { 'three.big': 'big three\n' })
    expect(await status(bench.git, worktree)).toMatchObject({ dirty: true, untracked: 1 })
    expect(await discard(bench.git, worktree)).toMatchObject({
      detail: expect.stringMatching(/^uncommitted: one\.big\nuntracked: three\.big\ncommits: /),
    })
    expect(await apply(bench.git, request(worktree, root))).toMatchObject({ kind: 'applied' })
    for (const [name, content] of [
      ['one', 'another\n'],
      ['two', 'big two\n'],
      ['three', 'big three\n'],
    ] as const) {
      expect(readFileSync(join(root, `${name}.big`), 'utf8')).toBe(content)
      expect(bench.sh(root, 'cat-file', 'blob', `HEAD:${name}.big`)).toMatch(/^version https:\/\/git-lfs/)
    }
    expect(bench.sh(root, 'status', '--porcelain')).toBe('')
  })
})
