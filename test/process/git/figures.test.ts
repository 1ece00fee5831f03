// The figures of the git room, printed: many worktrees at once, what one costs beside a bare git, and how long a list takes.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { discard } from '../../../src/git/discard'
import { status } from '../../../src/git/review'
import { addWorktree, reconcile, type Worktree } from '../../../src/git/worktree'
import { Bench } from './bench'

/** Two hundred in the long form; enough to meet every queue in the short one. */
const many = Number(process.env['COXSWAIN_MANY'] ?? 40)
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })
const bench = new Bench()
afterAll(() => bench.dispose())

it(
  'a worktree of 1,500 files is made beside a bare git worktree add, and both costs are printed',
  { timeout: 300_000 },
  async () => {
    const root = bench.repository(
      'large',
      Object.fromEntries(
        Array.from({ length: 1500 }, (_, n) => [`src/${n % 50}/f${n}.ts`, `${'line\n'.repeat(40)}${n}\n`]),
      ),
    )
    const repository = await bench.inspect(root)
    const bare: number[] = []
    const ours: number[] = []
    for (let turn = 0; turn < 3; turn++) {
      let started = performance.now()
      bench.sh(root, 'worktree', 'add', '-q', '-b', `bare-${turn}`, join(bench.folder, `bare-${turn}`))
      bare.push(performance.now() - started)
      started = performance.now()
      const added = await addWorktree(bench.git, { repository, childId: `turn${turn}`, title: 'large' })
      ours.push(performance.now() - started)
      if (added.kind === 'problem') throw new Error(added.message)
      expect(await discard(bench.git, added)).toMatchObject({ kind: 'discarded', removed: true })
    }
    const median = (times: number[]) => times.sort((a, b) => a - b)[1] ?? 0
    console.log(`1,500 files: bare worktree add ${median(bare).toFixed(0)} ms, ours ${median(ours).toFixed(0)} ms`)
  },
)

describe(`${many} children of one repository`, () => {
  let root = ''
  const all: Worktree[] = []
  beforeAll(() => {
    root = bench.repository(
      'many',
      Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`src/f${n}.ts`, `${n}\n`])),
    )
  })

  it('get their worktrees, twenty at a time, with no failure and no stray branch', async () => {
    const repository = await bench.inspect(root)
    const started = performance.now()
    let next = 0
    const worker = async () => {
      while (next < many) {
        const childId = `c${String(next++).padStart(4, '0')}`
        const added = await addWorktree(bench.git, { repository, childId, title: 'many' })
        if (added.kind === 'problem') throw new Error(`${added.message} ${added.detail ?? ''}`)
        all.push(added)
      }
    }
    await Promise.all(Array.from({ length: 20 }, worker))
    const ms = performance.now() - started
    console.log(`${many} creates, 20 at a time: ${Math.round(ms)} ms, ${Math.round(ms / many)} ms each`)
    expect(new Set(all.map(({ path }) => path)).size).toBe(many)
    expect(bench.sh(root, 'for-each-ref', '--format=%(refname)', 'refs/heads/coxswain/').split('\n')).toHaveLength(many)
    expect((await reconcile(bench.git, repository.commonDir, all)).size).toBe(many)
  })

  it('are listed by one git process each', async () => {
    const counter = join(bench.folder, 'counter')
    writeFileSync(join(bench.folder, 'git-counted'), `#!/bin/sh\nprintf . >>'${counter}'\nexec git "$@"\n`, {
      mode: 0o755,
    })
    const counted = bench.makeGit({}, join(bench.folder, 'git-counted'))
    for (const [name, git] of [
      ['counted', counted],
      ['first', bench.git],
      ['second', bench.git],
    ] as const) {
      const started = performance.now()
      const states = await Promise.all(all.map((worktree) => status(git, worktree)))
      console.log(`status of ${many}, ${name}: ${Math.round(performance.now() - started)} ms`)
      expect(states.every((state) => state.kind === 'status' && !state.dirty && state.problems.length === 0)).toBe(true)
    }
    expect(readFileSync(counter, 'utf8')).toHaveLength(many)
  })

  it('leave nothing behind when all are discarded', async () => {
    const started = performance.now()
    for (const worktree of all)
      expect(await discard(bench.git, worktree)).toMatchObject({ kind: 'discarded', removed: true })
    console.log(`${many} discards: ${Math.round((performance.now() - started) / many)} ms each`)
    expect(bench.sh(root, 'for-each-ref', 'refs/heads/coxswain/')).toBe('')
    expect(existsSync(join(root, '.git/worktrees'))).toBe(false)
    expect(readdirSync(bench.folder)).not.toContain('many.coxswain')
    expect(readdirSync(join(bench.store, 'views'))).toEqual([])
  })
})
