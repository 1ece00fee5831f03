import { expect, test } from 'vitest'
import { checkOutcome, closing, suiteOutcome } from '../../../scripts/testReport.mjs'

const report = (...tests: [name: string, status: string][]) => ({
  testResults: [
    {
      name: 'a.test.ts',
      status: tests.some(([, status]) => status === 'failed') ? 'failed' : 'passed',
      message: '',
      assertionResults: tests.map(([fullName, status]) => ({ fullName, status })),
    },
  ],
})

test('the last line sums all suites, and a green run exits with 0', () => {
  const outcomes = [
    checkOutcome('lint', 0, 1000),
    suiteOutcome('unit', report(['one', 'passed'], ['two', 'passed']), 0, 2000),
    suiteOutcome('e2e', report(['three', 'passed']), 0, 61_500),
  ]
  expect(closing(outcomes, true)).toEqual({
    lines: [
      'lint       ok         1.0 s',
      'unit       ok         2.0 s  2 tests',
      'e2e        ok        61.5 s  1 tests',
      '3 passed, 0 failed',
    ],
    exitCode: 0,
  })
})

test('a failed test, a failed check and a file that could not be loaded are named and counted', () => {
  const broken = { name: 'b.test.ts', status: 'failed', message: 'no such module\n  at x', assertionResults: [] }
  const unit = report(['one', 'passed'], ['two', 'failed'])
  const outcomes = [
    checkOutcome('typecheck', 2, 0),
    suiteOutcome('unit', { testResults: [...unit.testResults, broken] }, 1, 0),
  ]
  const { lines, exitCode } = closing(outcomes, false)
  expect(lines.slice(2)).toEqual([
    'FAILED  typecheck: exit code 2',
    'FAILED  unit: a.test.ts > two',
    'FAILED  unit: b.test.ts: no such module',
    '1 passed, 3 failed',
  ])
  expect(exitCode).toBe(1)
})

test('what each try of a failed test said stands below it, with its place and without colours', () => {
  const said = [
    '\x1b[31mexpected 1 to be 2\x1b[39m\n\nDiff:\n    at inner (lib.ts:3:1)\n    at /a.test.ts:7:9\n    at /a.test.ts:1:1',
    'waited in vain',
  ]
  const { testResults } = report(['one', 'failed'])
  const assertionResults = [{ fullName: 'one', status: 'failed', failureMessages: said }]
  const outcome = suiteOutcome('unit', { testResults: [{ ...testResults[0]!, assertionResults }] }, 1, 0)
  expect(closing([outcome], true).lines.slice(1)).toEqual([
    'FAILED  unit: a.test.ts > one',
    '  expected 1 to be 2',
    '  Diff:',
    '      at /a.test.ts:7:9',
    '  waited in vain',
    '0 passed, 1 failed',
  ])
})

test('a skipped test is named, and fails the run only under CI', () => {
  const outcomes = [suiteOutcome('host', report(['one', 'passed'], ['two', 'skipped'], ['three', 'todo']), 0, 0)]
  expect(closing(outcomes, false)).toEqual({
    lines: [
      'host       ok         0.0 s  3 tests',
      'SKIPPED host: a.test.ts > two',
      'SKIPPED host: a.test.ts > three',
      '1 passed, 0 failed, 2 skipped',
    ],
    exitCode: 0,
  })
  expect(closing(outcomes, true).exitCode).toBe(1)
})

test.each([
  ['wrote no report', undefined, 1, 'vitest ended with exit code 1'],
  ['failed after its tests had passed', report(['one', 'passed']), 1, 'vitest ended with exit code 1'],
  ['ran nothing', report(), 0, 'no test ran'],
])('a suite that %s is a failure', (_what, written, exitCode, failure) => {
  expect(suiteOutcome('unit', written, exitCode, 0).failed.map(({ name }) => name)).toEqual([failure])
})
