// Every string people read can be translated, and none is lost on the way.
import { expect, test } from 'vitest'
import { everyString, stringsOf } from '../../scripts/l10n.mjs'

test('every string of the host and the webview is collected', () => {
  const strings = everyString()
  expect(strings.length).toBeGreaterThan(400)
  for (const one of ['Needs you', 'Steer this child', '“{title}” wants to use {tool}', '{place} of {n}', 'Stop…'])
    expect(strings).toContain(one)
})

test('a string that cannot be collected is named with its place', () => {
  expect(stringsOf('src/ui/a.ts', 'const x = 1\nt(`${x} children`)\nt("fine", { x })').problems).toEqual([
    'src/ui/a.ts:2: t() takes a string literal, with {names} for what varies',
  ])
  expect(stringsOf('webview/transcript/strings.ts', "const say = { a: 'A', b: (n) => `${n} new` }")).toEqual({
    strings: ['A'],
    problems: [expect.stringMatching(/^webview\/transcript\/strings\.ts:1: write t\(/)],
  })
})
