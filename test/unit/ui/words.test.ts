// Small words and guards on the way to VS Code's own surfaces.
import { expect, test } from 'vitest'
import { exactDuration, shortDuration } from '../../../src/protocol/duration'
import { refuseGoal, refuseSteer, roomLeft } from '../../../src/ui/present/input'
import { forNotice, forPick } from '../../../src/ui/present/safe'
import { commandIn, costWords, namedOnce, phaseWords, shortNumber, sizeWords } from '../../../src/ui/present/words'
import { child, ended, verdict } from './children'

test.each([
  [-5, '0s'],
  [41_900, '41s'],
  [60_000, '1m'],
  [3_599_000, '59m'],
  [3_900_000, '1h 05m'],
  [97_200_000, '1d 3h'],
])('%i ms have been going on for %s', (ms, words) => {
  expect(shortDuration(ms)).toBe(words)
})

test.each([
  [0, '0.0s'],
  [1_234, '1.2s'],
  [59_999, '59.9s'],
  [125_000, '2m 05s'],
])('%i ms took %s', (ms, words) => {
  expect(exactDuration(ms)).toBe(words)
})

test.each([
  ['see [here](command:workbench.action.terminal.new) now', 'see [here] (command:workbench.action.terminal.new) now'],
  ['[a](file:///etc/passwd)', '[a] (file:///etc/passwd)'],
  ['[a](https://evil/?q=secret "t")', '[a] (https://evil/?q=secret "t")'],
])('a notification shows %s without a link', (text, shown) => {
  expect(forNotice(text)).toBe(shown)
})

test('a quick pick shows an icon’s name, not the icon', () => {
  expect(forPick('$(trash) gone')).toBe('\\$(trash) gone')
})

test('goals and steers: empty and over 16,000 characters are refused with the count', () => {
  expect(refuseGoal('  \n')).toBe('Say what the child is to do.')
  expect(refuseGoal('x'.repeat(16_000))).toBeNull()
  expect(refuseGoal('x'.repeat(20_000))).toBe(
    '20,000 characters; a goal may have 16,000. Put the rest into a file of the repository and name it.',
  )
  expect(refuseSteer('')).toBe('Say what it should do differently.')
  expect(refuseSteer('x'.repeat(16_001))).toBe('16,001 characters; a steer may have 16,000.')
  expect([roomLeft('x', 100), roomLeft('x'.repeat(90), 100), roomLeft('x'.repeat(101), 100)]).toEqual([
    null,
    '90 of 100 characters',
    null,
  ])
})

test('figures', () => {
  expect([999, 1_234, 99_999, 123_456, 2_500_000].map(shortNumber)).toEqual(['999', '1.2k', '100.0k', '123k', '2.5M'])
  expect([12, 2_048, 5_242_880].map(sizeWords)).toEqual(['12 B', '2.0 KB', '5.0 MB'])
  expect(
    [null, 0, 0.0004, 0.0421, 12.5].map((costUsd) => costWords({ inputTokens: 0, outputTokens: 0, costUsd })),
  ).toEqual([null, null, null, '$0.042', '$12.50'])
})

test.each([
  [{ ...ended('SUCCESS'), verdict: verdict() }, 'succeeded, verified, applied to main'],
  [{ ...ended('SUCCESS'), appliedTo: null }, 'says it is done, applied'],
  [{ ...ended('CANCELLED') }, 'stopped, applied to main'],
  [{ ...ended('SUCCESS'), discarded: true }, 'applied to main, discarded'],
  [{ phase: 'RUNNING' as const }, 'working'],
])('work that was applied says so and where to: %#', (over, words) => {
  expect(phaseWords(child({ applied: true, appliedTo: 'main', ...over }))).toBe(words)
})

test('a refusal names its child once', () => {
  const quays = child({ title: 'Count the quays' })
  expect(namedOnce(quays, '"Count the quays" is not running any more.')).toBe(
    '"Count the quays" is not running any more.',
  )
  expect(namedOnce(quays, 'The disk is full.')).toBe('Count the quays: The disk is full.')
})

test('the command that installs an agent can be taken out of its sentence', () => {
  expect(commandIn('Install it with `npm install -g x`, then run `x` once.')).toBe('npm install -g x')
  expect(commandIn('Install "x".')).toBeNull()
})
