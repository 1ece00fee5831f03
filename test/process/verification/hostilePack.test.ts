// Every hostile file of the pack under every check that opens a file: none passes that must not, none takes longer than
// its limit, nothing outside the worktree is read.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { kinded, readCheck, type Check } from '../../../src/core/contract'
import { runCheck, type Bench } from '../../../src/verification/checks'
import { defaultLimits } from '../../../src/verification/world'
import { plainBench } from './plainBench'

interface Entry {
  readonly path: string
  readonly what: string
  /** Words a check for existence must say; null where the file exists. */
  readonly looks: string | null
  readonly reads: string
}

const limits = { ...defaultLimits, contentMs: 1_000 }
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hostile-')))
const outsideFiles = [join(folder, 'outside', 'file'), join(folder, 'worktree-2', 'file')]
let pack: Entry[]
let bench: Bench

beforeAll(async () => {
  const printed = execFileSync(process.execPath, [resolve('test/fixtures/contracts/hostilePack.mjs'), folder])
  pack = printed
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
  for (const file of outsideFiles) utimesSync(file, new Date(1_000_000), new Date(2_000_000))
  bench = await plainBench(join(folder, 'worktree'), limits)
})
afterAll(async () => {
  await bench.reader.dispose()
  rmSync(folder, { recursive: true, force: true })
})

const checksOf = (path: string): Check[] =>
  [
    { file_exists: { path } },
    { sha256: { path, hash: '0'.repeat(64) } },
    { file_contains: { path, text: 'CANARY-OF-THE-OUTSIDE' } },
    { file_contains: { path, regex: '^(a+)+$' } },
    { file_contains: { path, regex: '^(\\s*\\w+\\s*)+\\?$', flags: 'i' } },
    { json_schema_ok: { path, required: ['status', 'rows'] } },
    { json_schema_ok: { path, each: true, schema: { type: 'number', minimum: 10 } } },
    { count_at_least: { path, n: 3, pointer: '/rows' } },
    { count_at_least: { path, n: 4 } },
    { count_at_most: { path, n: 0 } },
    { test_report: { path } },
  ].map((written) => {
    const read = readCheck(written, 'check')
    if (!read.ok) throw new Error(read.problems.join())
    return read.check
  })

test('no hostile file passes a check it must not, or holds one up, or lets one read outside', async () => {
  expect(pack.length).toBeGreaterThanOrEqual(40)
  let checks = 0
  let longestMs = 0
  const passes: string[] = []
  for (const entry of pack)
    for (const check of checksOf(entry.path)) {
      const found = await runCheck(check, bench)
      const { kind } = kinded(check)
      const words = `${entry.what}: ${kind} ${found.result} ${found.reason}`
      checks++
      longestMs = Math.max(longestMs, found.ms)
      expect(found.result, words).not.toBe('UNKNOWN')
      if (kind === 'file_exists' && entry.looks === null) expect(found.result, words).toBe('PASS')
      else if (found.result === 'PASS') passes.push(words)
      else if (entry.looks !== null) expect(found.reason, words).toContain(entry.looks)
      else if (kind !== 'file_exists') expect(found.reason, words).toContain(kind === 'sha256' ? '' : entry.reads)
      expect(`${found.reason} ${found.evidence ?? ''}`, words).not.toMatch(/CANARY(?!-OF-THE-OUTSIDE")/)
      expect(`${found.reason} ${found.evidence ?? ''}`, words).not.toMatch(/[\u0000-\u0008\u001b\u202e]/)
      // A check that is ended at its limit has used it; everything else is far from it.
      expect(found.ms, words).toBeLessThan(10_000)
    }
  console.log(
    `hostile pack: ${pack.length} files, ${checks} checks, ${passes.length} false passes, longest ${Math.round(longestMs)} ms`,
  )
  expect(passes).toEqual([])
  for (const file of outsideFiles) expect(statSync(file).atimeMs, file).toBe(1_000_000)
}, 300_000)
