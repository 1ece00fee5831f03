import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Judgement } from '../../../src/core/verdict'
import { describeResult, describeVerdict } from '../../../src/core/verdict'
import { claims, disposeRepositories, Worktree } from './worktree'

let worktree: Worktree
beforeEach(async () => {
  worktree = await Worktree.make()
})
afterEach(() => worktree.dispose())
afterAll(disposeRepositories)

/** A judgement as a person reads it. */
function told({ verdict }: Judgement): string[] {
  return [
    `${verdict.status} → ${verdict.disposition}`,
    ...verdict.checks.map((result) => `${result.result} ${describeResult(result)}: ${result.reason}`),
    ...verdict.notes.map((note) => `(${note})`),
  ]
}

describe('one whole look', () => {
  test('work that is there and right is verified', async () => {
    worktree.write('table.json', JSON.stringify({ rows: [{ price: 1 }, { price: 2 }] }))
    worktree.write('summary.md', '# Prices\n\nSources: two\n')
    const judgement = await worktree.judge({
      contract: {
        deliverables: [{ path: 'table.json' }],
        checks: [
          { json_schema_ok: { path: 'table.json', pointer: '/rows', each: true, required: ['price'] } },
          { count_at_least: { path: 'table.json', pointer: '/rows', n: 2 } },
          { file_contains: { path: 'summary.md', text: 'Sources' } },
          { command: { argv: ['test', '-f', 'table.json'] } },
        ],
        scope: ['table.json', 'summary.md'],
        output: { type: 'object', required: ['artifacts', 'summary'] },
      },
      report: claims('table.json'),
    })
    expect(told(judgement)).toEqual([
      'verified → accept',
      'PASS deliverable table.json: table.json is there',
      'PASS each item of table.json at /rows has price: all of 2 entries of table.json at /rows are as the schema says',
      'PASS table.json at /rows has at least 2 different entries: table.json at /rows has 2 entries, at least 2 are wanted',
      'PASS summary.md contains "Sources": summary.md contains "Sources"',
      'PASS test -f table.json exits with 0: test exited with 0',
      'PASS nothing changed but table.json, summary.md: all 2 changed files match table.json, summary.md',
      'PASS the returned object satisfies its schema: the returned object is as the schema says',
    ])
    expect(judgement.nextTurn).toBeNull()
    expect(describeVerdict(judgement.verdict)).toBe('verified: all 7 checks pass')
  })

  test('a claim without a file is caught, named beside the claim, and asked for exactly', async () => {
    const judgement = await worktree.judge({
      contract: { deliverables: [{ path: 'orders.json' }] },
      report: claims('orders.json'),
    })
    expect(told(judgement)).toEqual([
      'incomplete → retry',
      'FAIL deliverable orders.json: claimed, but there is no file orders.json',
      '(asked again, 1 of 1)',
    ])
    expect(judgement.nextTurn).toBe(
      [
        `One deliverable is missing. Looked for in ${worktree.path}:`,
        '- orders.json: claimed, but there is no file orders.json',
        'Deliver exactly what is listed and change nothing else. Then answer with one JSON object that names every deliverable, and nothing else:',
        '{"artifacts":{"orders.json":"orders.json"},"summary":"<what you did and what is left>"}',
      ].join('\n'),
    )
    const again = await worktree.judge({
      contract: { deliverables: [{ path: 'orders.json' }] },
      report: claims('orders.json'),
      attempt: 2,
      earlier: [judgement.verdict],
    })
    expect(told(again)).toEqual([
      'incomplete → partial',
      'FAIL deliverable orders.json: claimed, but there is no file orders.json',
      '(not asked again: 1 of 1 retry used)',
    ])
    worktree.write('orders.json', '[]')
    const kept = await worktree.judge({
      contract: { deliverables: [{ path: 'orders.json' }] },
      report: claims('orders.json'),
      attempt: 2,
      earlier: [judgement.verdict],
    })
    expect(told(kept)[0]).toBe('verified → accept')
  })
})
