import { expect, test } from 'vitest'
import { cutText, plainLine, plainText, trimMiddle, visibleText } from '../../../src/core/plainText'

test.each([
  ['colour', '\x1b[31;1mred\x1b[0m', 'red'],
  ['eight-bit CSI', '\x9b31mred', 'red'],
  ['a link', '\x1b]8;;command:evil\x1b\\click\x1b]8;;\x1b\\', 'click'],
  ['the clipboard', 'a\x1b]52;c;ZXZpbA==\x07b', 'ab'],
  ['the window title', 'a\x1b]0;title\x07b', 'ab'],
  ['VS Code shell integration', 'a\x1b]633;E;rm -rf ~\x07b', 'ab'],
  ['a device control string', 'a\x1bP+q544e\x1b\\b', 'ab'],
  ['an application command', 'a\x1b_Gf=24;AAAA\x1b\\b', 'ab'],
  ['an unfinished OSC ends with its line', 'a\x1b]0;never\nnext', 'a\nnext'],
  ['an unfinished CSI at the end', 'a\x1b[31', 'a'],
  ['a reset', 'a\x1bcb', 'ab'],
  ['a charset switch', 'a\x1b(0b', 'ab'],
  ['C0 and C1', 'a\x00\x07\x08\x7f\x85b', 'ab'],
  ['direction overrides', 'gpj.\u202eexe\u2066\u2069\u061c\u200f', 'gpj.exe'],
  ['invisible tags', 'hi\u{e0041}\u{e0042}', 'hi'],
  ['what people write', 'Zoë\t👩‍💻\nعربي', 'Zoë\t👩‍💻\nعربي'],
  ['line ends', 'a\r\nb\rc\u2028d', 'a\nb\nc\nd'],
])('%s', (_name, text, shown) => {
  expect(plainText(text)).toBe(shown)
})

test('nothing that remains is a control, an escape or a bidi control, whatever the bytes', () => {
  const alphabet = ['\x1b', '[', ']', 'P', '\\', '\x07', '\x9c', '\x9b', '\x9d', '\x90', '3', 'm', '\n', '\u202e', 'a']
  let seed = 7
  for (let round = 0; round < 5_000; round++) {
    let text = ''
    for (let i = 0; i < 12; i++) {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      text += alphabet[seed % alphabet.length]
    }
    expect(plainText(text), JSON.stringify(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/)
  }
})

test('a megabyte of half-open escapes takes no quadratic time', () => {
  const started = performance.now()
  plainText('\x1b]8;;'.repeat(200_000) + '\x1b[' + '1;'.repeat(300_000))
  expect(performance.now() - started).toBeLessThan(1_000)
})

test('a line is folded, cut, and never ends in half a character', () => {
  expect(plainLine('  a\n\tb  c ')).toBe('a b c')
  expect(plainLine('abcdef', 4)).toBe('abc…')
  expect(cutText('ab😀cd', 4)).toBe('ab…')
  expect(cutText('ab😀', 4)).toBe('ab😀')
})

test('what a person approves shows its hidden characters instead of losing them', () => {
  expect(visibleText('rm \u202e-rf\x1b[8m ~\r\nls')).toBe('rm \\u{202e}-rf\\u{1b}[8m ~\nls')
})

test('a text trimmed in the middle keeps its ends, says how much is missing, and cuts no character in half', () => {
  const trimmed = [11, 13].map((max) => trimMiddle('🚣'.repeat(20), max, (left) => `(${left})`).split('\n'))
  expect(trimmed).toEqual([
    ['🚣🚣🚣', '(30)', '🚣🚣'],
    ['🚣🚣🚣🚣', '(28)', '🚣🚣'],
  ])
  expect(trimMiddle('short', 5, () => 'never')).toBe('short')
})
