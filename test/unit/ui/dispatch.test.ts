// The pure parts of a dispatch: what is attached and how it reads, who is compared with whom.
import { expect, test } from 'vitest'
import { attachedText, beginsMention, mentions, type Attachment } from '../../../src/ui/present/attachments'
import { comparable, compared, siblings } from '../../../src/ui/present/comparison'
import { attempt, child, ended, now, recipe, verdict } from './children'

const file = (over: Partial<Attachment> = {}): Attachment => ({
  path: 'lib/auth.py',
  outside: false,
  text: null,
  uncommitted: false,
  ...over,
})

test('what goes along is named with what the child would not see of it, and its text where it would not find it', () => {
  expect(
    attachedText(
      [
        file(),
        file({ path: 'src/a.ts', lines: { from: 3, to: 9 } }),
        file({ path: 'notes.md', uncommitted: true, text: 'one\n```\ntwo' }),
        file({ path: '/home/me/shot.PNG', outside: true }),
      ],
      32_000,
    ),
  ).toBe(
    [
      'Files that go along:',
      '- lib/auth.py',
      '- src/a.ts:3-9',
      '- notes.md (not committed as it is now, so your worktree lacks it or has an older one)',
      '````',
      'one',
      '```',
      'two',
      '````',
      '- /home/me/shot.PNG (an image; outside of your worktree; read it where it lies)',
    ].join('\n'),
  )
})

test('attachments that are too long are named without their text; none are nothing', () => {
  const long = attachedText([file({ uncommitted: true, text: 'x'.repeat(500) })], 300)
  expect(long).not.toContain('xxx')
  expect(long).toContain('lib/auth.py')
  expect(attachedText([], 300)).toBe('')
})

test.each<[string, readonly string[]]>([
  ['Fix @lib/auth.py, please', ['lib/auth.py']],
  ['(@a.ts) and “@b/c-d.ts”.', ['a.ts', 'b/c-d.ts']],
  ['mail me@example.org', []],
  ['@a.ts @a.ts @../secret', ['a.ts', '../secret']],
])('mentions of %s', (text, found) => {
  expect(mentions(text)).toEqual(found)
})

test('only an @ at the beginning of a word opens the list of files', () => {
  expect(['@', 'Fix @', 'me@', 'Fix @a', ''].map(beginsMention)).toEqual([true, true, false, false, false])
})

const twin = (id: string, over: Parameters<typeof child>[0] = {}) => child({ id, delegationId: 'd-1', ...over })

test('children of one goal and dispatch are compared, in order, each told from the others', () => {
  const one = twin('a', { index: 1, ...ended('SUCCESS', { verdict: verdict({ status: 'verified' }) }) })
  const two = twin('b', {
    index: 0,
    attempts: [attempt({ usage: { inputTokens: 10_000, outputTokens: 2_000, costUsd: 0.25 } })],
  })
  const other = twin('c', { index: 2, task: { ...one.task, recipe: recipe({ label: 'Claude', model: 'opus' }) } })
  const alone = twin('d', { delegationId: 'd-2' })
  const another = twin('e', { task: { ...one.task, goal: 'Something else' } })
  const all = [one, two, other, alone, another]
  expect(siblings(one, all).map(({ id }) => id)).toEqual(['b', 'a', 'c'])
  expect([...comparable(all)].sort()).toEqual(['a', 'b', 'c'])
  const stat = { files: 2, insertions: 10, deletions: 1 }
  expect(
    compared(siblings(one, all), (id) => (id === 'a' ? stat : null), now(61)).map(
      ({ name, state, figures }) => `${name} | ${state} | ${figures}`,
    ),
  ).toEqual([
    'Demo agent, number 1 | working | 1m · 12.0k tokens · $0.250',
    expect.stringMatching(/^Demo agent, number 2 \| succeeded, verified \| 2 files \+10 −1 · /),
    'Claude · opus | working | 1m',
  ])
})

test('an archived child is not compared', () => {
  expect([...comparable([twin('a'), twin('b', { archived: true })])]).toEqual([])
})
