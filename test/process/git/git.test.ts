import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GitCall, GitFailure } from '../../../src/git/git'
import { Bench, isGone } from './bench'

let bench: Bench
beforeEach(() => {
  bench = new Bench()
})
afterEach(() => bench.dispose())

/** A git whose first words decide what it does; `"$verb"` is the command. */
const fake = (body: string) => {
  const path = join(bench.folder, 'git-fake')
  writeFileSync(path, `#!/bin/bash\n${body}\n`, { mode: 0o755 })
  return bench.makeGit({}, path)
}
const outcome = async (git: ReturnType<typeof fake>, call: Partial<GitCall> = {}) => {
  try {
    const { stdout, exitCode, cut } = await git.run({ cwd: bench.folder, args: ['status'], ...call })
    return { out: stdout.toString(), exitCode, cut }
  } catch (failure) {
    if (!(failure instanceof GitFailure)) throw failure
    return { kind: failure.kind, exitCode: failure.exitCode }
  }
}
describe('a git call', () => {
  it('answers what git wrote, byte for byte, and its exit when that was expected', async () => {
    expect(await outcome(fake('printf "a\\0\\xff"; exit 0'))).toEqual({ out: 'a\0\ufffd', exitCode: 0, cut: false })
    expect(await outcome(fake('exit 1'), { exits: [1] })).toEqual({ out: '', exitCode: 1, cut: false })
    expect(await outcome(fake('cat'), { input: 'x'.repeat(300_000) })).toMatchObject({ out: 'x'.repeat(300_000) })
    expect(await outcome(fake('exit 3'), { input: 'y'.repeat(8_000_000) })).toEqual({ kind: 'failed', exitCode: 3 })
  })

  it('says which way it failed', async () => {
    expect(await outcome(fake('exit 2'), { exits: [1] })).toEqual({ kind: 'failed', exitCode: 2 })
    expect(await outcome(fake('kill -KILL $$'))).toEqual({ kind: 'killed', exitCode: null })
    expect(await outcome(bench.makeGit({}, '/no/such/git'))).toEqual({ kind: 'no-git', exitCode: null })
    expect(await outcome(fake('exit 0'), { cwd: join(bench.folder, 'nowhere') })).toEqual({
      kind: 'no-folder',
      exitCode: null,
    })
    expect(await outcome(fake('exit 0'), { args: ['a\0b'] })).toMatchObject({ kind: 'no-git' })
  })

  it('is ended with everything it started when it takes too long, or is cancelled', async () => {
    const pids = join(bench.folder, 'pids')
    const stubborn = fake(
      `trap '' TERM; (trap '' TERM; echo $BASHPID >>'${pids}'; while :; do sleep 1; done) & echo $$ >>'${pids}'; wait`,
    )
    expect(await outcome(stubborn, { timeoutMs: 300 })).toEqual({ kind: 'timed-out', exitCode: null })
    const stop = new AbortController()
    const watcher = watch(bench.folder, (_, name) => name === 'pids' && stop.abort())
    expect(await outcome(stubborn, { signal: stop.signal })).toEqual({ kind: 'cancelled', exitCode: null })
    watcher.close()
    expect(await outcome(stubborn, { signal: stop.signal })).toEqual({ kind: 'cancelled', exitCode: null })
    const all = readFileSync(pids, 'utf8').trim().split('\n')
    expect(all).toHaveLength(4)
    const polite = fake(`(trap '' TERM; echo $BASHPID >>'${pids}'; while :; do sleep 1; done) & wait`)
    expect(await outcome(polite, { timeoutMs: 300 })).toEqual({ kind: 'timed-out', exitCode: null })
    all.push(...readFileSync(pids, 'utf8').trim().split('\n').slice(4))
    expect(all).toHaveLength(5)
    await expect.poll(() => all.filter((pid) => !isGone(pid)), { timeout: 10_000 }).toEqual([])
  })

  it('does not wait for what outlives git with its output in hand', async () => {
    const pid = join(bench.folder, 'pid')
    const leaving = fake(
      `setsid bash -c 'echo $$ >"${pid}"; exec sleep 300' & until [ -s '${pid}' ]; do :; done; echo done`,
    )
    const started = performance.now()
    expect(await outcome(leaving)).toEqual({ out: 'done\n', exitCode: 0, cut: false })
    expect(performance.now() - started).toBeLessThan(20_000)
    process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL')
  })

  it('loses nothing while its host is too busy to read', async () => {
    const pid = join(bench.folder, 'pid')
    const leaving = fake(
      `setsid bash -c 'echo $$ >"${pid}"; exec sleep 300' & until [ -s '${pid}' ]; do :; done; head -c 60000 /dev/zero`,
    )
    const call = leaving.run({ cwd: bench.folder, args: ['x'] })
    const until = performance.now() + 2_500
    await new Promise(setImmediate)
    while (performance.now() < until);
    expect((await call).stdout.length).toBe(60_000)
    process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL')
  })

  it('keeps no more than it was allowed, and ends a git that goes on', async () => {
    const endless = fake(`echo $$ >'${join(bench.folder, 'pid')}'; exec yes`)
    expect(await outcome(endless, { maxBytes: 1000 })).toEqual({ kind: 'too-much-output', exitCode: null })
    expect(await outcome(endless, { maxBytes: 1000, cut: true })).toEqual({
      out: 'y\n'.repeat(500),
      exitCode: 0,
      cut: true,
    })
    expect(isGone(readFileSync(join(bench.folder, 'pid'), 'utf8').trim())).toBe(true)
    const loud = fake('head -c 5000000 /dev/zero >&2; exit 128')
    const failure = await loud.run({ cwd: bench.folder, args: ['x'] }).catch((error: unknown) => error)
    expect(failure instanceof GitFailure && failure.stderr.length).toBe(16 * 1024)
  })

  it('queues writing calls of one repository, not those of two, and goes on after a failure', async () => {
    const order: string[] = []
    const git = bench.git
    let open: () => void = () => undefined
    const gate = new Promise<void>((go) => (open = go))
    const first = git.write('/one', async () => {
      await gate
      order.push('one a')
      throw new Error('no')
    })
    const second = git.write('/one', async () => order.push('one b'))
    await git.write('/two', async () => order.push('two'))
    open()
    await expect(first).rejects.toThrow('no')
    await second
    expect(order).toEqual(['two', 'one a', 'one b'])
    expect(existsSync(bench.folder)).toBe(true)
  })

  it('reads at most two at a time', async () => {
    const log = join(bench.folder, 'log')
    const git = fake(`echo + >>'${log}'; sleep 0.1; echo - >>'${log}'`)
    await Promise.all(Array.from({ length: 6 }, () => git.read({ cwd: bench.folder, args: ['status'] })))
    let running = 0
    const most = Math.max(
      ...readFileSync(log, 'utf8')
        .trim()
        .split('\n')
        .map((line) => (running += line === '+' ? 1 : -1)),
    )
    expect([most, running]).toEqual([2, 0])
  })
})
