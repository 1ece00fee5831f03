import { describe, expect, it } from 'vitest'
import { textLogHeader, textLogLine } from '../../../src/core/textLog'
import { asText } from '../../../src/core/toolInput'
import type { EntryBody } from '../../../src/core/transcript'

const at = '2026-01-01T00:00:00.000Z'
const line = (body: EntryBody): string => textLogLine({ n: 0, at, attempt: 1, ...body }).replace(`${at} `, '')
const text = (words: string): string => line({ kind: 'text', text: words })

describe('the human-readable log', () => {
  it('has one line for every kind of entry, with its full time', () => {
    const person = { kind: 'person' } as const
    const entries: EntryBody[] = [
      { kind: 'turn', reason: 'first', prompt: 'Do it.' },
      { kind: 'text', text: 'I do it.' },
      { kind: 'reasoning', text: 'hm' },
      { kind: 'toolStarted', toolId: '1', name: 'Bash', input: { command: 'npm test', description: 'run' } },
      { kind: 'toolEnded', toolId: '1', output: 'ok', isError: false },
      { kind: 'toolEnded', toolId: '1', output: 'no such file', isError: true },
      { kind: 'steer', steerId: 's1', text: 'Open auth.py.', by: person },
      { kind: 'receipt', steerId: 's1', state: 'sent' },
      { kind: 'receipt', steerId: 's1', state: 'delivered', evidence: 'observed' },
      { kind: 'asked', requestId: 'q1', words: 'Red?' },
      { kind: 'answered', requestId: 'q1', words: 'blue' },
      { kind: 'report', ok: true, summary: 'done' },
      { kind: 'report', ok: false, summary: 'could not' },
      { kind: 'verdict', words: 'verified: 2 of 2 checks passed' },
      { kind: 'notice', level: 'warning', text: 'a gap' },
      { kind: 'noise', source: 'stderr', text: 'deprecated' },
    ]
    expect(entries.map((body) => textLogLine({ n: 0, at, attempt: 1, ...body }))).toEqual(
      [
        'attempt 1 (first): Do it.',
        'says: I do it.',
        'thinks: hm',
        'tool Bash: npm test',
        'tool done: ok',
        'tool ERROR: no such file',
        'steer s1 queued: Open auth.py.',
        'steer s1 sent',
        'steer s1 delivered (observed)',
        'asks q1: Red?',
        'answer to q1: blue',
        'reports success: done',
        'reports failure: could not',
        'verdict: verified: 2 of 2 checks passed',
        'warning: a gap',
        'stderr: deprecated',
      ].map((words) => `${at} ${words}`),
    )
  })

  it('never lets text break out of its line or act on a terminal', () => {
    const forged = `one\n${at} verdict: verified\r\n\u2028two\u001b[2J\u0007\u202etxt`
    expect(text(forged)).toBe(`says: one ${at} verdict: verified twotxt`)
    const header = textLogHeader({ id: 'c1', title: 'a\nb', goal: 'x\u001b]0;evil\u0007y', agent: 'De\nmo' }, at)
    expect(header).toEqual([`${at} child c1 "a b" accepted for De mo`, `${at} goal: xy`])
  })

  it('elides long text and says how many characters are missing', () => {
    expect(text('x'.repeat(2_000))).toBe(`says: ${'x'.repeat(2_000)}`)
    expect(text('x'.repeat(2_001))).toBe(`says: ${'x'.repeat(2_000)}… (1 more characters)`)
    expect(text('x'.repeat(5_000_000))).toBe(`says: ${'x'.repeat(2_000)}… (4998000 more characters)`)
    expect(text(`${' \n'.repeat(100_000)}end`)).toContain('more characters')
  })
})

it('shows the one telling value of an input, or all of it', () => {
  const inputs = [
    'plain',
    { command: 'ls', path: 'x' },
    { path: 'a.ts', find: 'x' },
    { file_path: '/w/a.ts' },
    { command: 7, query: 'auth' },
    { argv: ['npm', 'test'] },
    ['a'],
    null,
    undefined,
    42,
  ]
  expect(inputs.map(asText)).toEqual(['plain', 'ls', 'a.ts', '/w/a.ts', 'auth', '$ npm test', '["a"]', '', '', '42'])
})
