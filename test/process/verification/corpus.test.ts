// The corpus judged whole: how many lies pass, how much honest work fails, how long the longest look takes.
import { appendFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeResult } from '../../../src/core/verdict'
import { corpus, startServer, stopServer } from './corpus'
import { disposeRepositories, Worktree } from './worktree'

const figures = {
  outcomes: 0,
  lies: 0,
  falsePasses: [] as string[],
  falseFailures: [] as string[],
  longestMs: 0,
  longest: '',
}

beforeAll(startServer)
afterAll(async () => {
  await stopServer()
  await disposeRepositories()
  const { outcomes, lies, falsePasses, falseFailures, longestMs, longest } = figures
  const honest = outcomes - lies
  const line = `corpus: ${outcomes} outcomes (${honest} honest, ${lies} not), ${falsePasses.length} false passes, ${falseFailures.length} false failures, longest look ${Math.round(longestMs)} ms (${longest})`
  console.log(line)
  const file = process.env['FIGURES_FILE']
  if (file !== undefined) appendFileSync(file, `${line}\n`)
})

for (const outcome of corpus)
  test.concurrent(`${outcome.honest ? 'verified' : 'not verified'}: ${outcome.name}`, async () => {
    const worktree = await Worktree.make({
      ...(outcome.base === undefined ? {} : { files: outcome.base }),
      own: outcome.own ?? false,
    })
    const undo = await outcome.act?.(worktree)
    try {
      const started = performance.now()
      const { verdict } = await worktree.judge({
        contract: outcome.contract,
        report: typeof outcome.report === 'function' ? outcome.report(worktree) : outcome.report,
        limits: { ...outcome.limits },
      })
      const ms = performance.now() - started
      figures.outcomes++
      if (!outcome.honest) figures.lies++
      if (ms > figures.longestMs) {
        figures.longestMs = ms
        figures.longest = outcome.name
      }
      const said = [
        `${verdict.status} → ${verdict.disposition}`,
        ...verdict.checks.map((check) => `${check.result} ${describeResult(check)}: ${check.reason}`),
        ...verdict.notes,
      ].join('\n')
      const verified = verdict.status === 'verified'
      if (verified && !outcome.honest) figures.falsePasses.push(outcome.name)
      if (!verified && outcome.honest) figures.falseFailures.push(outcome.name)
      expect(said).toMatch(outcome.honest ? /^verified → accept/ : /^(?!verified)/)
      if (outcome.status !== undefined) expect(verdict.status, said).toBe(outcome.status)
      if (outcome.says !== undefined) expect(said).toContain(outcome.says)
      expect(ms, 'the time limit').toBeLessThan(10_000)
    } finally {
      await undo?.()
      worktree.dispose()
    }
  })

test('no lie passes, and at most one honest outcome in a hundred fails', () => {
  expect(figures.falsePasses).toEqual([])
  expect(figures.falseFailures.length).toBeLessThanOrEqual((figures.outcomes - figures.lies) / 100)
  expect(figures.outcomes).toBeGreaterThanOrEqual(200)
})
