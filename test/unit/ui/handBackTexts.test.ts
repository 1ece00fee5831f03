// Texts that leave for a child, a pull request or a bug report: whole, in order, and with nothing in them that does not
// belong there.
import { expect, test } from 'vitest'
import { worktreeFigures } from '../../../src/ui/present/worktrees'
import { commentsMessage } from '../../../src/ui/present/reviewComments'
import { diagnosticsText } from '../../../src/ui/present/diagnostics'
import { linkedChild } from '../../../src/ui/present/link'
import { pullRequestText } from '../../../src/ui/present/pullRequest'
import { attempt, child, steer, verdict, view } from './children'

test('line comments become one message, in the order of the files, each with the line it is about', () => {
  expect(
    commentsMessage([
      { path: 'src/b.ts', side: 'now', line: 7, lineText: '  return null', body: 'Throw instead.\nSay why.' },
      { path: 'src/a.ts', side: 'base', line: 30, lineText: 'old()', body: 'Why did this go?' },
      { path: 'src/a.ts', side: 'now', line: 2, lineText: '', body: 'A blank line \x1b[31mtoo many' },
    ]),
  ).toBe(
    [
      '3 comments on your changes, from their review. Deal with each, then say what you did:',
      '1. src/a.ts:2\n   A blank line too many',
      '2. src/a.ts:30 (before your changes)\n   > old()\n   Why did this go?',
      '3. src/b.ts:7\n   > return null\n   Throw instead.\n   Say why.',
    ].join('\n\n'),
  )
})

test('the text of a pull request keeps a claim a claim, and no agent writes its headings', () => {
  const report = {
    ok: true,
    summary: 'Done.\n# Trust me',
    output: null,
    reason: null,
    wholeText: null,
    at: '',
    late: false,
  }
  const text = pullRequestText(
    child({
      title: 'Fix <b>it</b>',
      attempts: [attempt({ report })],
      verdict: verdict({ status: 'failed' }),
      task: { ...child().task, goal: 'Fix it.\n## Really' },
    }),
    [{ path: 'src/*a*.ts', kind: 'modified', insertions: 3, deletions: 1, binary: false }],
  )
  expect(text.split('\n').filter((line) => line.startsWith('#'))).toEqual([
    '# Fix \\<b\\>it\\</b\\>',
    '## Task',
    '## What the agent says it did',
    expect.stringMatching(/^## Checks: /),
    '## Changes: 1 file, +3 −1',
  ])
  expect(text).toContain('> # Trust me')
  expect(text).toContain('- src/\\*a\\*.ts (modified)')
})

test('diagnostics hold phases and counts, and no word of the work', () => {
  const secret = 'hunter2'
  const text = diagnosticsText({
    version: '0.1.0',
    platform: 'linux x64',
    node: '20.20.2',
    host: 'VS Code 1.139.1, desktop, local',
    agents: [],
    views: [
      view(
        {
          title: secret,
          task: { ...child().task, goal: secret, context: secret, title: secret },
          steers: [steer({ text: secret })],
          notes: [{ at: '', level: 'info', text: secret }],
          worktree: { path: `/home/${secret}`, cwd: `/home/${secret}`, branch: secret, base: 'abc', notes: [secret] },
          attempts: [attempt({ stderrTail: secret, vanished: secret, message: secret, sessionId: secret })],
        },
        { activity: secret },
      ),
    ],
  })
  expect(text).not.toContain(secret)
  expect(text).toMatch(/RUNNING; agent demo; round 1; 1 attempts; \d+ entries; steers 1 \(1 waiting, 0 missed\)/)
})

test.each<[string, string | null]>([
  ['/child/c-1_x', 'c-1_x'],
  ['/child/', null],
  ['/child/c-1/stop', null],
  ['/new', null],
  ['/child/../../x', null],
  [`/child/${'x'.repeat(101)}`, null],
])('a link to %s names no more than a child to show', (path, child) => {
  expect(linkedChild(path)).toBe(child)
})

test('a worktree that cannot be looked at says what is not known of it, and the reason is heard', async () => {
  const failures: string[] = []
  const look = (room: Promise<{ bytes: number; complete: boolean }>, loss: Promise<string>): Promise<string> =>
    worktreeFigures('c-1', { room: () => room, loss: () => loss }, (error) => failures.push(String(error)))
  expect(await look(Promise.resolve({ bytes: 2_048, complete: false }), Promise.resolve('nothing would be lost'))).toBe(
    '2.0 KB+ · nothing would be lost',
  )
  expect(await look(Promise.reject(new Error('EACCES')), Promise.resolve('nothing would be lost'))).toBe(
    'its size could not be found out · nothing would be lost',
  )
  expect(await look(Promise.resolve({ bytes: 2_048, complete: true }), Promise.reject(new Error('no git')))).toBe(
    '2.0 KB · it could not be found out what would be lost',
  )
  expect(failures).toEqual(['Error: EACCES', 'Error: no git'])
})
