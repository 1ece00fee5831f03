import { describe, expect, test } from 'vitest'
import { readContract, type Contract } from '../../../src/core/contract'
import type { CheckResult, Verdict } from '../../../src/core/events'
import {
  checksToOverride,
  describeVerdict,
  judge,
  resultText,
  type Findings,
  type Situation,
} from '../../../src/core/verdict'

function contract(more: Record<string, unknown> = {}): Contract {
  const reading = readContract({
    deliverables: [{ path: 'a.md' }],
    checks: [{ command: { argv: ['npm', 'test'] } }],
    ...more,
  })
  if (!reading.ok) throw new Error(reading.problems.join('\n'))
  return reading.contract
}

const check = (result: CheckResult['result'], recoverable = true): CheckResult => ({
  check: { command: { argv: ['npm', 'test'], timeoutSeconds: 300 } },
  result,
  reason: `npm ${result}`,
  recoverable,
  ms: 1,
})

const pass = check('PASS')
const fail = check('FAIL')
const outside = check('FAIL', false)
const unknown = check('UNKNOWN', false)
const missing = [{ name: 'a.md', reason: 'there is no file a.md' }]

const findings = (more: Partial<Findings> = {}): Findings => ({
  report: { kind: 'parsed', extracted: false },
  missing: [],
  checks: [pass],
  tree: 'same',
  notes: [],
  ...more,
})

const situation = (more: Partial<Situation> = {}): Situation => ({
  phase: 'SUCCESS',
  claimed: 'success',
  round: 1,
  attempt: 1,
  earlier: [],
  askAgain: { possible: true },
  ...more,
})

const retried = (status: Verdict['status'], attempt: number, round = 1): Verdict => ({
  status,
  disposition: 'retry',
  round,
  attempt,
  checks: [],
  notes: [],
})

const unreadable: Findings['report'] = { kind: 'unreadable', complaint: 'Unexpected token' }
const absent: Findings['report'] = { kind: 'absent' }

function outcome(found: Partial<Findings>, at: Partial<Situation> = {}, given: Record<string, unknown> = {}): string {
  const { verdict, nextTurn } = judge(contract(given), findings(found), situation(at), '/w')
  const last = verdict.notes.at(-1)
  return `${verdict.status} ${verdict.disposition}${nextTurn === null ? '' : ' +turn'}${last === undefined ? '' : ` (${last})`}`
}

describe('the decision tree', () => {
  const table: [string, Partial<Findings>, Partial<Situation>, Record<string, unknown>, string][] = [
    ['all pass', {}, {}, {}, 'verified accept'],
    [
      'all pass, though the agent reported a failure',
      {},
      { phase: 'FAILURE', claimed: 'failure' },
      {},
      'verified accept (the agent itself reported a failure)',
    ],
    ['unreadable report', { report: unreadable }, {}, {}, 'parse_error retry +turn (asked again, 1 of 1)'],
    [
      'unreadable report, asked once',
      { report: unreadable },
      { attempt: 2, earlier: [retried('parse_error', 1)] },
      {},
      'parse_error partial (not asked again: 1 of 1 retry used)',
    ],
    [
      'unreadable report, more retries allowed for checks',
      { report: unreadable },
      { attempt: 2, earlier: [retried('parse_error', 1)] },
      { maxRetries: 5 },
      'parse_error partial (not asked again: 1 of 1 retry used)',
    ],
    [
      'unreadable report, asked in an earlier round',
      { report: unreadable },
      { round: 2, attempt: 2, earlier: [retried('parse_error', 1, 1)] },
      {},
      'parse_error retry +turn (asked again, 1 of 1)',
    ],
    [
      'unreadable report, no retries',
      { report: unreadable },
      {},
      { maxRetries: 0 },
      'parse_error partial (not asked again: maxRetries is 0)',
    ],
    [
      'unreadable report before missing and failing ones',
      { report: unreadable, missing, checks: [fail] },
      {},
      {},
      'parse_error retry +turn (asked again, 1 of 1)',
    ],
    [
      'ended without a report',
      { report: absent },
      { phase: 'FAILURE', claimed: 'nothing' },
      {},
      'parse_error retry +turn (asked again, 1 of 1)',
    ],
    [
      'interrupted before it reported',
      { report: absent },
      { phase: 'INTERRUPTED', claimed: 'nothing' },
      {},
      'incomplete partial (it ended before it reported)',
    ],
    [
      'stopped before it reported, checks failing',
      { report: absent, checks: [fail] },
      { phase: 'CANCELLED', claimed: 'nothing' },
      {},
      'failed partial (it ended before it reported)',
    ],
    ['missing deliverable', { missing, checks: [fail] }, {}, {}, 'incomplete retry +turn (asked again, 1 of 1)'],
    [
      'missing deliverable, asked once',
      { missing },
      { attempt: 2, earlier: [retried('incomplete', 1)] },
      {},
      'incomplete partial (not asked again: 1 of 1 retry used)',
    ],
    [
      'missing deliverable after a readable second try',
      { missing },
      { attempt: 2, earlier: [retried('parse_error', 1)] },
      {},
      'incomplete retry +turn (asked again, 1 of 1)',
    ],
    ['failing check', { checks: [pass, fail] }, {}, {}, 'failed retry +turn (asked again, 1 of 1)'],
    [
      'failing check, one of two retries used',
      { checks: [fail] },
      { attempt: 2, earlier: [retried('failed', 1)] },
      { maxRetries: 2 },
      'failed retry +turn (asked again, 2 of 2)',
    ],
    [
      'failing check, both retries used',
      { checks: [fail] },
      { attempt: 3, earlier: [retried('failed', 1), retried('failed', 2)] },
      { maxRetries: 2 },
      'failed partial (not asked again: 2 of 2 retries used)',
    ],
    [
      'failing check, the same attempt looked at twice',
      { checks: [fail] },
      { attempt: 2, earlier: [retried('failed', 1), retried('failed', 1)] },
      { maxRetries: 2 },
      'failed retry +turn (asked again, 2 of 2)',
    ],
    [
      'failing check, no retries',
      { checks: [fail] },
      {},
      { maxRetries: 0 },
      'failed partial (not asked again: maxRetries is 0)',
    ],
    [
      'failing check, cannot resume',
      { checks: [fail] },
      { askAgain: { possible: false, why: 'gptme cannot resume' } },
      {},
      'failed partial (cannot be asked again: gptme cannot resume)',
    ],
    [
      'failing check, agent reported failure',
      { checks: [fail] },
      { phase: 'FAILURE', claimed: 'failure' },
      {},
      'failed partial (not asked again: only a claimed success is questioned)',
    ],
    [
      'failing check, stopped',
      { checks: [fail] },
      { phase: 'CANCELLED' },
      {},
      'failed partial (not asked again: it was called off)',
    ],
    ['out of scope', { checks: [outside] }, {}, {}, 'failed escalate'],
    [
      'out of scope with an unreadable report',
      { report: unreadable, checks: [outside] },
      {},
      {},
      'failed escalate (the report could not be read: Unexpected token)',
    ],
    ['out of scope, stopped by a person', { checks: [outside] }, { phase: 'CANCELLED' }, {}, 'failed partial'],
    [
      'a failing and an undecided check',
      { checks: [fail, unknown] },
      {},
      {},
      'failed retry +turn (asked again, 1 of 1)',
    ],
    ['undecided', { checks: [pass, unknown] }, {}, {}, 'unverified escalate'],
    [
      'nothing to check',
      { checks: [] },
      {},
      {},
      'unverified escalate (nothing in this contract can be checked by a machine)',
    ],
    [
      'files changed meanwhile',
      { tree: 'changed' },
      {},
      {},
      'stale escalate (files changed while the checks ran; verify again when nothing writes to the worktree)',
    ],
    [
      'files changed meanwhile and a check failed',
      { tree: 'changed', checks: [fail] },
      {},
      {},
      'stale escalate (files changed while the checks ran; verify again when nothing writes to the worktree)',
    ],
    [
      'whether files changed is not known',
      { tree: 'unknown' },
      {},
      {},
      'unverified escalate (whether files changed while the checks ran could not be found out)',
    ],
    [
      'restructured by another model',
      { report: { kind: 'parsed', extracted: true } },
      {},
      {},
      'verified accept (extracted: the report was restructured by another model; nothing in it is evidence)',
    ],
    [
      'light, all there',
      { report: { kind: 'not demanded' } },
      {},
      { level: 'light', checks: undefined },
      'verified accept',
    ],
    [
      'light, missing',
      { report: { kind: 'not demanded' }, missing, checks: [fail] },
      {},
      { level: 'light', checks: undefined },
      'incomplete partial (a light contract never asks again)',
    ],
    [
      'light, not fresh',
      { report: { kind: 'not demanded' }, checks: [fail] },
      {},
      { level: 'light', checks: undefined },
      'failed partial (a light contract never asks again)',
    ],
    [
      'no contract',
      {},
      {},
      { level: 'none', checks: undefined, deliverables: undefined },
      'unverified accept (no contract: nothing was checked)',
    ],
  ]
  test.each(table)('%s', (_, found, at, given, expected) => {
    expect(outcome(found, at, given)).toBe(expected)
  })

  test('no sequence of ends asks more often than the contract allows', () => {
    const kinds: Partial<Findings>[] = [{ report: unreadable }, { report: absent }, { missing }, { checks: [fail] }]
    for (let seed = 0; seed < 4 ** 6; seed++) {
      const earlier: Verdict[] = []
      let attempt = 1
      for (; attempt <= 10; attempt++) {
        const kind = kinds[Math.floor(seed / 4 ** (attempt % 6)) % 4] ?? {}
        const { verdict } = judge(contract({ maxRetries: 2 }), findings(kind), situation({ attempt, earlier }), '/w')
        earlier.push(verdict)
        if (verdict.disposition !== 'retry') break
      }
      expect(attempt).toBeLessThanOrEqual(1 + 1 + 1 + 2)
    }
  })

  test('the next turn says exactly what is wrong and asks for nothing else', () => {
    const turn = (found: Partial<Findings>) => judge(contract(), findings(found), situation(), '/w').nextTurn
    expect(turn({ checks: [pass, { ...fail, evidence: 'npm exited with 1\n2 tests failed' }] })).toBe(
      [
        'One check failed on the real files in /w:',
        '- npm test exits with 0: npm FAIL',
        '  | npm exited with 1',
        '  | 2 tests failed',
        'Fix exactly this and change nothing else; do not change the checks.',
        'Then answer with one JSON object, and nothing else:',
        '{"artifacts":{"a.md":"a.md"},"summary":"<what you did and what is left>"}',
      ].join('\n'),
    )
    expect(turn({ report: unreadable })).toContain('output must be JSON')
    expect(turn({ report: unreadable })).toContain('The complaint was: Unexpected token')
    expect(turn({ missing })).toContain('- a.md: there is no file a.md\n')
  })
})

describe('a result', () => {
  const verdict = judge(contract(), findings({ checks: [pass, fail] }), situation({ attempt: 3 }), '/w').verdict
  const result = {
    phase: 'SUCCESS' as const,
    report: { ok: true, summary: 'Done.', output: { b: 1, a: 2 } },
    verdict,
    missedSteers: ['look again'],
    treeHash: 'abc',
  }

  test('hashes the same whenever and wherever the same came out', () => {
    const slower = {
      ...result,
      report: { ...result.report, output: { a: 2, b: 1 } },
      verdict: {
        ...verdict,
        attempt: 9,
        notes: ['asked again'],
        checks: verdict.checks.map((item) => ({ ...item, ms: 999, evidence: 'took 3 s in /home/me' })),
      },
    }
    expect(resultText(slower)).toBe(resultText(result))
  })

  test('hashes differently when anything of the outcome differs', () => {
    const texts = new Set([
      resultText(result),
      resultText({ ...result, phase: 'FAILURE' }),
      resultText({ ...result, report: null }),
      resultText({ ...result, verdict: null }),
      resultText({ ...result, verdict: { ...verdict, status: 'verified' } }),
      resultText({ ...result, verdict: { ...verdict, checks: [pass, pass] } }),
      resultText({ ...result, missedSteers: [] }),
      resultText({ ...result, treeHash: null }),
    ])
    expect(texts.size).toBe(8)
  })

  test('is told in one line, and an override must name what did not pass', () => {
    expect(describeVerdict(verdict)).toBe('failed: 1 of 2 checks, asked again')
    expect(checksToOverride(verdict)).toEqual(['npm test exits with 0'])
    const unread = judge(contract(), findings({ report: unreadable }), situation(), '/w').verdict
    expect(checksToOverride(unread)).toEqual(['parse_error'])
    const none = judge(
      contract({ level: 'none', checks: undefined, deliverables: undefined }),
      findings(),
      situation(),
      '/w',
    )
    expect(checksToOverride({ ...none.verdict, checks: [] })).toEqual([])
  })
})
