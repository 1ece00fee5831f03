// What is asked on the way to a discarded worktree, against the answers a supervisor may give.
import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/ui/acts'
import { confirmedDiscard } from '../../../src/ui/present/discard'

/** What was tried and asked, in order, with a person who agrees so many times. */
async function walk(answers: readonly Outcome[], agrees: number): Promise<string> {
  const steps: string[] = []
  let left = agrees
  const queue = [...answers]
  const outcome = await confirmedDiscard(
    (confirmed) => {
      steps.push(`discard ${confirmed ?? 'nothing'}`)
      return Promise.resolve(queue.shift() ?? { ok: false, words: 'asked too often' })
    },
    (words) => {
      steps.push(`asked: ${words}`)
      return Promise.resolve(left-- > 0)
    },
  )
  return [...steps, `${outcome.ok ? 'done' : 'not done'}: ${outcome.words}`].join('\n')
}

const loses = (what: string, confirm: string): Outcome => ({
  ok: false,
  words: `would lose ${what}`,
  code: 'would_lose',
  confirm,
})

test('what would be lost is asked about, and exactly that is given back', async () => {
  expect(await walk([loses('a.md', 'A'), { ok: true, words: 'removed' }], 1)).toBe(
    'discard nothing\nasked: would lose a.md\ndiscard A\ndone: removed',
  )
})

test('what has come to be meanwhile is asked about anew; a no ends it without a word', async () => {
  expect(await walk([loses('a.md', 'A'), loses('a.md and b.md', 'B')], 1)).toBe(
    'discard nothing\nasked: would lose a.md\ndiscard A\nasked: would lose a.md and b.md\nnot done: ',
  )
})

test.each(['busy', 'repository', 'unavailable'] as const)(
  'a refusal as %s is told and not to be overridden',
  async (code) => {
    expect(await walk([{ ok: false, words: 'it runs', code }], 9)).toBe('discard nothing\nnot done: it runs')
  },
)
