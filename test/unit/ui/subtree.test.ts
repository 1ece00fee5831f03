// A child with all it dispatched: who they are, what they cost together, and what is asked before it is paused alone.
import { expect, test } from 'vitest'
import { below } from '../../../src/core/subtree'
import { pauseQuestion } from '../../../src/ui/present/pausing'
import { row } from '../../../src/ui/present/row'
import { attempt, child, ended, now, view } from './children'

test('a subtree is the child and all below it, even where parents run in a circle', () => {
  const all = [
    child({ id: 'a', parentChild: 'c' }),
    child({ id: 'b', parentChild: 'a' }),
    child({ id: 'c', parentChild: 'b' }),
    child({ id: 'd' }),
  ]
  expect(below(all[0] ?? child(), all).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
})

test('the hover of one that dispatched others tells what it spent, and what it spent with them', () => {
  const used = (inputTokens: number, costUsd: number | null) => ({
    attempts: [attempt({ usage: { inputTokens, outputTokens: 0, costUsd } })],
  })
  const top = view({ id: 'top', ...used(1_000, 0.5) })
  const all = [
    top.child,
    child({ id: 'a', parentChild: 'top', ...used(2_000, 0.25) }),
    child({ id: 'b', parentChild: 'a', ...used(500, null) }),
    child({ id: 'c', ...used(70_000, 9) }),
  ]
  const spent = (subtree: typeof all) =>
    row(top, now(90), undefined, undefined, () => subtree)
      .tooltip.filter(({ name }) => name.startsWith('Spent'))
      .map(({ name, value }) => `${name}: ${value}`)
  expect(spent([top.child])).toEqual(['Spent: 1.0k tokens, $0.500'])
  expect(spent([...below(top.child, all)])).toEqual([
    'Spent: 1.0k tokens, $0.500',
    'Spent with its children: 3.5k tokens, $0.750',
  ])
})

test('before one is paused whose children work it is asked, by their names; before any other nothing is', () => {
  const top = child({ id: 'top', title: 'Plan' })
  const all = [
    top,
    child({ id: 'a', parentChild: 'top', title: 'Tides' }),
    child({ id: 'b', parentChild: 'a', title: 'Harbour' }),
    child({ id: 'c', parentChild: 'top', title: 'Done', ...ended('SUCCESS') }),
    child({ id: 'd', title: 'Beside' }),
  ]
  expect(pauseQuestion(top, all)).toEqual({
    question: 'Pause “Plan”?',
    detail: [
      'The call it is making now is lost, and the children it dispatched go on:',
      '• Tides\n• Harbour',
      'What they come to waits until it is resumed. To end them too, stop it with all it dispatched.',
    ].join('\n\n'),
  })
  for (const one of all.slice(2)) expect(pauseQuestion(one, all)).toBeNull()
})
