import { describe, expect, test } from 'vitest'
import { decide, stuckWords, tailOf, type PolicyOptions, type TailLine } from '../../src/core/policy'
import type { EntryBody, TranscriptEntry } from '../../src/core/transcript'

const child = { subagent_id: 'c1', accepting_steer: true, goal: 'Find null dereferences in lib/auth.py' }
const drifted = 'Stop listing the repo. Open the file named in your goal. Return findings as file:line only.'
const bash = { tool: 'Bash', input: { command: 'npm test', timeout: 5 } }
const sameBash = { tool: 'Bash', input: { timeout: 5, command: 'npm test' } }
const scope: PolicyOptions = { inScope: (path) => path.startsWith('lib/'), worktree: '/w/child' }

describe('one look at a live child', () => {
  const table: [string, Partial<typeof child>, TailLine[], PolicyOptions, object][] = [
    [
      'not accepting steer',
      { accepting_steer: false },
      ['retrying the same command'],
      {},
      { action: 'wait', reason: 'finishing' },
    ],
    ['nothing said yet', {}, [], {}, { action: 'wait', reason: 'on track' }],
    ['work', {}, ['lib/auth.py:12 user may be None', bash], {}, { action: 'wait', reason: 'on track' }],
    [
      'a loop in words',
      {},
      ['I am Retrying the same command now'],
      {},
      { action: 'stop', reason: 'loop: it says "retrying the same command"' },
    ],
    [
      'the other loop marker',
      {},
      ['Hm. The previous approach failed, trying again.'],
      {},
      { action: 'stop', reason: 'loop: it says "the previous approach failed, trying again"' },
    ],
    [
      'the same call three times',
      {},
      [bash, 'ok', sameBash, bash],
      {},
      { action: 'stop', reason: 'loop: Bash was called 3 times with the same arguments' },
    ],
    ['the same call twice', {}, [bash, sameBash], {}, { action: 'wait', reason: 'on track' }],
    [
      'the same tool with other arguments',
      {},
      [1, 2, 3].map((n) => ({ tool: 'Read', input: { n } })),
      {},
      { action: 'wait', reason: 'on track' },
    ],
    [
      'drift to the readme',
      {},
      ['Reading readme.md'],
      {},
      { action: 'steer', reason: 'drift: it is at "README.md"', message: drifted },
    ],
    [
      'a look around at the start',
      {},
      [{ tool: 'Read', input: { path: 'README.md' } }, 'I have read README.md.', { tool: 'ls', input: {} }],
      { orientationCalls: 2 },
      { action: 'wait', reason: 'on track' },
    ],
    [
      'the readme once it is at work',
      {},
      [bash, { tool: 'ls', input: {} }, { tool: 'Read', input: { path: 'README.md' } }],
      { orientationCalls: 2 },
      { action: 'steer', reason: 'drift: it is at "README.md"', message: drifted },
    ],
    [
      'an intention at the start',
      {},
      ['Let me start by listing all files'],
      { orientationCalls: 2 },
      { action: 'steer', reason: 'drift: it is at "Let me start by listing all files"', message: drifted },
    ],
    [
      'the readme in what it writes',
      {},
      [{ tool: 'Write', input: { path: 'docs/tour.md', text: 'Begin with README.md.' } }],
      {},
      { action: 'wait', reason: 'on track' },
    ],
    [
      'drift in a tool call',
      {},
      [{ tool: 'Read', input: { file_path: '/w/child/README.md' } }],
      {},
      { action: 'steer', reason: 'drift: it is at "README.md"', message: drifted },
    ],
    [
      'the second drift marker',
      {},
      ['I will now search the entire repo for it'],
      {},
      { action: 'steer', reason: 'drift: it is at "I will now search the entire repo"', message: drifted },
    ],
    [
      'the third drift marker',
      {},
      ['Let me start by listing all files.'],
      {},
      { action: 'steer', reason: 'drift: it is at "Let me start by listing all files"', message: drifted },
    ],
    [
      'a marker that the goal names',
      { goal: 'Rewrite README.md' },
      ['Reading README.md'],
      {},
      { action: 'wait', reason: 'on track' },
    ],
    [
      'loop outranks drift',
      {},
      ['Reading README.md', 'retrying the same command'],
      {},
      { action: 'stop', reason: 'loop: it says "retrying the same command"' },
    ],
    [
      'an edit outside the scope',
      {},
      [{ tool: 'Edit', input: { file_path: '/w/child/test/a.py' } }],
      scope,
      {
        action: 'steer',
        reason: "drift: Edit edits test/a.py, outside the contract's scope",
        message: "Put test/a.py back as it was, and change nothing outside of the contract's scope.",
      },
    ],
    [
      'an edit outside the worktree',
      {},
      [{ tool: 'write_file', input: { path: '/etc/hosts' } }],
      scope,
      {
        action: 'steer',
        reason: "drift: write_file edits /etc/hosts, outside the contract's scope",
        message: "Put /etc/hosts back as it was, and change nothing outside of the contract's scope.",
      },
    ],
    ...[
      ['lib/../test/a.py', 'test/a.py'],
      ['/w/child/lib/../../other/a.py', '/w/other/a.py'],
      ['lib/../../a.py', '../a.py'],
      ['/w//child/./test//a.py', 'test/a.py'],
      [`test/${'a'.repeat(30_000)}`, `test/${'a'.repeat(394)}…`],
    ].map(([file_path = '', shown = '']): [string, Partial<typeof child>, TailLine[], PolicyOptions, object] => [
      `an edit outside the scope, on a detour to ${shown.slice(0, 20)}`,
      {},
      [{ tool: 'Edit', input: { file_path } }],
      scope,
      {
        action: 'steer',
        reason: `drift: Edit edits ${shown}, outside the contract's scope`,
        message: `Put ${shown} back as it was, and change nothing outside of the contract's scope.`,
      },
    ]),
    [
      'an edit within the scope, on a detour',
      {},
      [{ tool: 'Edit', input: { file_path: '/w/child/test/../lib/./auth.py' } }],
      scope,
      { action: 'wait', reason: 'on track' },
    ],
    [
      'an edit within the scope',
      {},
      [{ tool: 'Edit', input: { file_path: '/w/child/lib/auth.py' } }],
      scope,
      { action: 'wait', reason: 'on track' },
    ],
    [
      'reading outside the scope',
      {},
      [{ tool: 'Read', input: { file_path: '/w/child/test/a.py' } }],
      scope,
      { action: 'wait', reason: 'on track' },
    ],
    [
      'markers of a person',
      {},
      ['thinking about life'],
      { driftMarkers: ['about life'], driftMessage: 'Work.' },
      { action: 'steer', reason: 'drift: it is at "about life"', message: 'Work.' },
    ],
    [
      'default markers replaced',
      {},
      ['README.md', 'retrying the same command'],
      { driftMarkers: [], loopMarkers: [] },
      { action: 'wait', reason: 'on track' },
    ],
    [
      'an empty marker',
      {},
      ['anything'],
      { driftMarkers: [''], loopMarkers: [''] },
      { action: 'wait', reason: 'on track' },
    ],
    [
      'what lies more than 40 lines back',
      {},
      ['README.md', ...Array.from({ length: 40 }, (_, n) => `line ${n}`)],
      {},
      { action: 'wait', reason: 'on track' },
    ],
    [
      'what lies 40 lines back',
      {},
      ['README.md', ...Array.from({ length: 39 }, (_, n) => `line ${n}`)],
      {},
      { action: 'steer', reason: 'drift: it is at "README.md"', message: drifted },
    ],
  ]
  test.each(table)('%s', (_, entry, tail, options, expected) => {
    expect(decide({ ...child, ...entry }, tail, options)).toEqual({ subagent_id: 'c1', ...expected })
  })

  test('arguments nested without end are compared as far as they go', () => {
    let input: unknown = 1
    for (let n = 0; n < 50_000; n++) input = [input]
    expect(
      decide(child, [
        { tool: 'x', input },
        { tool: 'x', input },
        { tool: 'x', input },
      ]).action,
    ).toBe('stop')
  })
})

describe('the tail of a transcript', () => {
  const transcript = (...bodies: EntryBody[]): TranscriptEntry[] =>
    bodies.map((body, n) => ({ n, at: '2026-01-01T00:00:00Z', attempt: 1, ...body }))

  test('is what the child itself wrote and did since its last steer', () => {
    expect(
      tailOf(
        transcript(
          { kind: 'text', text: 'retrying the same command' },
          { kind: 'steer', steerId: 's', text: 'Open README.md', by: { kind: 'person' } },
          { kind: 'receipt', steerId: 's', state: 'delivered' },
          { kind: 'text', text: 'one\n\ntwo' },
          { kind: 'toolStarted', toolId: 't', name: 'Bash', input: { command: 'ls' } },
          { kind: 'toolEnded', toolId: 't', output: 'README.md', isError: false },
          { kind: 'noise', source: 'stderr', text: 'README.md' },
          { kind: 'noise', source: 'stdout', text: 'three' },
          { kind: 'notice', level: 'info', text: 'README.md' },
        ),
      ),
    ).toEqual(['one', 'two', { tool: 'Bash', input: { command: 'ls' } }, 'three'])
  })

  test('is never more than its last 40 lines', () => {
    const text = Array.from({ length: 1_000 }, (_, n) => `line ${n}`).join('\n')
    const tail = tailOf(transcript({ kind: 'text', text }))
    expect([tail.length, tail[0], tail.at(-1)]).toEqual([40, 'line 960', 'line 999'])
  })
})

describe('a quiet child', () => {
  const minute = 60_000
  const table: [number, number, string | null][] = [
    [2 * minute, 0, null],
    [3 * minute, 0, 'stuck? quiet for 3 minutes'],
    [19 * minute, 1, null],
    [20 * minute, 1, 'stuck? quiet for 20 minutes, one tool running'],
    [30 * minute, 2, 'stuck? quiet for 30 minutes, 2 tools running'],
  ]
  test.each(table)('%i ms with %i tools running', (quiet, tools, words) => {
    expect(stuckWords(quiet, tools)).toBe(words)
  })
})
