// What is worth a notification, and that each is worth exactly one.
import { expect, test } from 'vitest'
import type { Child } from '../../../src/core/child'
import { claimedOf, happenings, happeningWords } from '../../../src/ui/present/attention'
import { approval, at, attempt, child, ended, question, steer, verdict } from './children'

const told = (over: Partial<Child>): string =>
  happenings(child(over))
    .map(({ kind, words }) => `${kind}: ${words}`)
    .join('\n')

const interrupted = (cause: 'timeout' | 'interrupt'): Partial<Child> => ({
  phase: 'INTERRUPTED',
  attempts: [attempt({ ended: 'INTERRUPTED', endRequest: { cause, reason: '', by: { kind: 'policy' }, at: at(9) } })],
})

test.each<[string, Partial<Child>, string]>([
  ['works', {}, ''],
  ['asks', { requests: [question()] }, 'asks: asks: Which file first?'],
  [
    'asks twice',
    { requests: [question(), { ...approval(), id: 'rq-2' }] },
    'asks: asks: Which file first?\nasks: wants to use Bash',
  ],
  ['was answered', { requests: [question('', { answer: { kind: 'text', text: 'a' } })] }, ''],
  ['was asked to stop while it asks', { phase: 'CANCEL_REQUESTED', requests: [question()] }, ''],
  ['is done', ended('SUCCESS'), 'done: says it is done'],
  ['is done, of another child', { ...ended('SUCCESS'), parentChild: 'c-0' }, ''],
  ['failed', ended('FAILURE'), 'failed: failed'],
  ['was stopped by a person', ended('CANCELLED'), ''],
  ['did not pass', ended('SUCCESS', { verdict: verdict({ status: 'incomplete' }) }), 'needs: incomplete'],
  ['missed a steer', ended('SUCCESS', { steers: [steer({ state: 'missed' })] }), 'needs: 1 steer was missed'],
  ['ran into its time limit', interrupted('timeout'), 'interrupted: interrupted: time limit reached'],
  ['was paused by a person', { ...interrupted('interrupt'), paused: true }, ''],
  ['is archived', { ...ended('FAILURE'), archived: true }, ''],
])('a child that %s', (_what, over, words) => {
  expect(told(over)).toBe(words)
})

test('a notice is a sentence: what a child does follows its name, what it needs is said of it', () => {
  const notice = (over: Partial<Child>): string[] => happenings(child(over)).map((each) => happeningWords('Pier', each))
  expect([
    ...notice({ requests: [question()] }),
    ...notice(ended('FAILURE')),
    ...notice(ended('SUCCESS', { verdict: verdict({ status: 'incomplete' }) })),
  ]).toEqual(['“Pier” asks: Which file first?', '“Pier” failed', '“Pier”: incomplete'])
})

test('the same event keeps its name while figures in it move; another round or attempt is another event', () => {
  const key = (over: Partial<Child>): string | undefined => happenings(child(over))[0]?.key
  const missed = (n: number): Partial<Child> =>
    ended('SUCCESS', { steers: Array.from({ length: n }, (_, i) => steer({ id: `s-${i}`, state: 'missed' })) })
  const stuck = (words: string): Partial<Child> => ({ conditions: { stuck: { words, until: null } } })
  expect(key(stuck('quiet for 5 min'))).toBe(key(stuck('quiet for 9 min')))
  expect(key(missed(2))).toBe(key(missed(3)))
  expect(key(missed(2))).not.toBe(key({ ...missed(2), round: 2 }))
  expect(key({ requests: [question()] })).not.toBe(key({ requests: [question('', { attempt: 2 })] }))
})

test('an event whose claim fails is told, and so are those after it; one that another window has claimed is not', async () => {
  const failures: string[] = []
  const ours = await claimedOf(
    ['mine', 'theirs', 'unwritten', 'mine too'],
    (event) => (event === 'unwritten' ? Promise.reject(new Error('disk full')) : Promise.resolve(event !== 'theirs')),
    (error) => failures.push(String(error)),
  )
  expect(ours).toEqual(['mine', 'unwritten', 'mine too'])
  expect(failures).toEqual(['Error: disk full'])
})
