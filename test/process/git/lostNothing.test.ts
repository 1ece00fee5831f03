// Whatever an agent did in its worktree, no byte that lived only there goes without having been named. Random trees, from
// a seed that is printed; an oracle of its own looks at the disk, the index and the history with a plain git.
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { discard, inspectDiscard, type DiscardInspection } from '../../../src/git/discard'
import type { Worktree } from '../../../src/git/worktree'
import { Bench } from './bench'

const trees = Number(process.env['COXSWAIN_TREES'] ?? 16)
const firstSeed = Number(process.env['COXSWAIN_SEED'] ?? 1)
const bench = new Bench()
afterAll(() => bench.dispose())

/** A small deterministic generator (mulberry32). */
function random(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    pick: <T>(list: readonly T[]): T => list[below(list.length)] as T,
    chance: (share: number) => next() < share,
  }
}

const paths = [
  'a.txt',
  'b.txt',
  'src/c.ts',
  'src/deep/d.ts',
  'build/out.o',
  'x.log',
  'new/one',
  'new/two',
  'ü ñ/文.txt',
  'odd\'"$(id)',
  ' lead',
  '-dash',
  'vendor/e',
  'line\nbreak',
  'cache/f/g',
  '.hidden',
  'sub.git/h',
  '.gitignore',
]
const tracked = {
  'a.txt': 'a\n',
  'b.txt': 'b\n',
  'src/c.ts': 'c\n',
  'src/deep/d.ts': 'd\n',
  '.gitignore': '*.log\nbuild/\ncache\n',
  'vendor/e': 'e\n',
}

function work(at: string, seed: number): string[] {
  const { below, pick, chance } = random(seed)
  const done: string[] = []
  const git = (...args: string[]) => {
    done.push(`git ${args.join(' ')}`)
    try {
      bench.sh(at, ...args)
    } catch {
      // Not every act is possible in every state; an agent goes on too.
    }
  }
  const put = (path: string, content: string) => {
    done.push(`write ${path}`)
    try {
      mkdirSync(dirname(join(at, path)), { recursive: true })
      writeFileSync(join(at, path), content)
    } catch {
      // A file stands where a folder is needed.
    }
  }
  const content = () => `${seed}-${below(1000)}\n`.repeat(1 + below(3))
  const acts: (() => void)[] = [
    () => put(pick(paths), content()),
    () => put(pick(paths), content()),
    () => put(pick(paths), ''),
    () => put(pick(paths), pick(['a\n', 'b\n', 'c\n'])),
    () => git('add', '-A'),
    () => git('add', '-f', '--', pick(paths)),
    () => git('add', '--', pick(paths)),
    () => git('add', '-N', '--', pick(paths)),
    () => git('commit', '-q', '-m', `commit ${below(1000)}`),
    () => git('commit', '-q', '-a', '-m', `all ${below(1000)}`),
    () => git('commit', '-q', '--amend', '-m', `amended ${below(1000)}`),
    () => git('reset', '-q', '--hard', 'HEAD~1'),
    () => git('reset', '-q', 'HEAD~1'),
    () => git('checkout', '-q', '--detach'),
    () => git('switch', '-q', '-c', `other-${seed}-${below(100)}`),
    () => git('branch', `kept-${seed}-${below(100)}`),
    () => git('tag', `tag-${seed}-${below(100)}`),
    () => git('stash', '-q'),
    () => git('rm', '-q', '--cached', '--', pick(paths)),
    () => git('update-index', '--assume-unchanged', pick(paths)),
    () => git('update-index', '--skip-worktree', pick(paths)),
    () => git('mv', '--', pick(paths), `moved-${below(100)}`),
    () => git('checkout', '-q', '--orphan', `orphan-${seed}-${below(100)}`),
    () => git('revert', '--no-edit', 'HEAD'),
    () => git('cherry-pick', `${'HEAD@{1}'}`),
    () => git('rebase', '-q', 'HEAD~2', '--exec', 'false'),
    () => git('merge', '-q', '--no-edit', 'main'),
    () => git('bisect', 'start', 'HEAD', 'main'),
    () => git('branch', '-m', `renamed-${seed}-${below(100)}`),
    () => git('update-ref', 'refs/worktree/mine', 'HEAD'),
    () => git('gc', '-q'),
    () => {
      const path = pick(paths)
      done.push(`remove ${path}`)
      rmSync(join(at, path), { recursive: true, force: true })
    },
    () => {
      const path = pick(paths)
      done.push(`link ${path}`)
      rmSync(join(at, path), { recursive: true, force: true })
      try {
        symlinkSync(content(), join(at, path))
      } catch {
        // Its folder is not there.
      }
    },
    () => mkdirSync(join(at, `empty-${below(9)}`), { recursive: true }),
    () => {
      const inner = join(at, pick(['inner', 'src/inner', 'build/inner', 'new']))
      try {
        mkdirSync(inner, { recursive: true })
        bench.sh(inner, 'init', '-q')
        done.push(`init ${inner}`)
        if (chance(0.5)) bench.commit(inner, { 'deep/file': content() })
      } catch {
        // A file is in the way.
      }
    },
    () => put('odd/.git/not-a-repository', content()),
    () => put('odd/.git', content()),
  ]
  for (let left = 1 + below(9); left > 0; left--) pick(acts)()
  return done
}

/** Every name that must be covered, by looking at everything with plain means. */
function mustBeNamed(root: string, worktree: Worktree): { files: string[]; staged: string[]; commits: string[] } {
  const at = worktree.path
  const sh = (...args: string[]) => bench.sh(at, ...args)
  const inHead = new Map<string, string>()
  const resolve = (name: string): string | null => {
    try {
      return sh('rev-parse', '--verify', '-q', `${name}^{commit}`)
    } catch {
      return null
    }
  }
  // On an orphan branch without a commit, what our own branch holds is kept, or named as a commit.
  const head = resolve('HEAD') ?? resolve(`refs/heads/${worktree.branch}`) ?? worktree.base
  for (const line of sh('ls-tree', '-r', '-z', '--full-tree', head).split('\0')) {
    const match = /^(\d+) \w+ ([0-9a-f]+)\t(.*)$/s.exec(line)
    if (match) inHead.set(match[3] ?? '', `${match[1]} ${match[2]}`)
  }
  const blob = (content: Buffer) => createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
  const files: string[] = []
  const visit = (path: string) => {
    for (const name of readdirSync(join(at, path))) {
      const inner = path === '' ? name : `${path}/${name}`
      if (inner === '.git') continue
      const facts = lstatSync(join(at, inner))
      if (facts.isDirectory()) visit(inner)
      else {
        const link = facts.isSymbolicLink()
        const mode = link ? '120000' : facts.mode & 0o100 ? '100755' : '100644'
        const id = blob(link ? Buffer.from(readlinkSync(join(at, inner))) : readFileSync(join(at, inner)))
        if (inHead.get(inner) !== `${mode} ${id}`) files.push(inner)
      }
    }
  }
  visit('')
  const staged: string[] = []
  for (const line of sh('ls-files', '-s', '-z').split('\0')) {
    const match = /^(\d+) ([0-9a-f]+) \d\t(.*)$/s.exec(line)
    if (!match || match[2] === blob(Buffer.alloc(0))) continue
    if (inHead.get(match[3] ?? '') !== `${match[1]} ${match[2]}`) staged.push(match[3] ?? '')
  }
  const others = bench
    .sh(root, 'for-each-ref', '--format=%(objectname) %(refname)')
    .split('\n')
    .filter((line) => !line.endsWith(` refs/heads/${worktree.branch}`))
    .map((line) => line.slice(0, line.indexOf(' ')))
  const exclude = [...others, bench.sh(root, 'rev-parse', 'HEAD')].map((commit) => `^${commit}`)
  const own = ['HEAD', worktree.branch].filter((name) => resolve(name) !== null)
  const logs = own.flatMap((name) => {
    try {
      return sh('reflog', 'show', '--format=%H', name).split('\n')
    } catch {
      return []
    }
  })
  const tips = [...new Set([...own, ...logs, head])].filter((tip) => tip !== '')
  const commits = sh('rev-list', '--ignore-missing', ...tips, ...new Set(exclude), '--')
    .split('\n')
    .filter((line) => line !== '')
  return { files, staged, commits }
}

const covers = (names: readonly string[], path: string) =>
  names.some((name) => name === path || (name.endsWith('/') && path.startsWith(name)))

describe('discarding', () => {
  it(`names every byte that lives only there, in ${trees} random trees from seed ${firstSeed}`, async () => {
    const root = bench.repository('project', tracked)
    bench.commit(root, { 'later.txt': 'main went on\n' })
    let safe = 0
    for (let seed = firstSeed; seed < firstSeed + trees; seed++) {
      const worktree = await bench.add(root, { childId: `s${seed}` })
      const done = work(worktree.path, seed)
      const told = `seed ${seed}: ${done.join('; ')}`
      const needed = mustBeNamed(root, worktree)
      const inspection = (await inspectDiscard(bench.git, worktree)) as DiscardInspection
      expect(inspection.kind, told).toBe('inspection')
      const names = (...kinds: string[]) =>
        inspection.losses.filter(({ kind }) => kinds.includes(kind)).flatMap((loss) => loss.names)
      const onDisk = names('uncommitted', 'untracked', 'ignored', 'repository')
      const unproven = inspection.unproven.length > 0
      for (const path of needed.files) expect(covers(onDisk, path) ? path : `unnamed ${path}`, told).toBe(path)
      for (const path of needed.staged) {
        expect(covers([...names('staged'), ...(unproven ? [path] : [])], path) ? path : `unnamed ${path}`, told).toBe(
          path,
        )
      }
      const commits = names('commits', 'reflog-commits').map((name) => name.slice(0, 40))
      for (const commit of needed.commits) expect(commits, told).toContain(commit)

      const nothing = inspection.losses.length === 0 && !unproven
      const answer = await discard(bench.git, worktree)
      if (nothing) {
        safe++
        expect(answer, told).toMatchObject({ kind: 'discarded' })
      } else {
        expect(answer, told).toMatchObject({ kind: 'problem' })
        expect(mustBeNamed(root, worktree), told).toEqual(needed)
        expect(await discard(bench.git, worktree, { confirmed: inspection.token }), told).toMatchObject({
          kind: 'discarded',
        })
      }
      expect(readdirSync(bench.folder), told).not.toContain('project.coxswain')
    }
    console.log(`${trees} random trees: ${safe} discarded without a question, ${trees - safe} with everything named`)
    expect(safe).toBeLessThan(trees)
  }, 3_600_000)
})
