// The pure parts of the webview: the arithmetic of the long list and what it holds of the transcript.
import { expect, test } from 'vitest'
import type { PanelEntry } from '../../../src/protocol/panel'
import { EntryCache } from '../../../webview/transcript/cache'
import { Finding, type FindRequest } from '../../../webview/transcript/finding'
import { Heights } from '../../../webview/transcript/heights'

/** The same, the slow way. */
function reference(heights: readonly number[], pixel: number): number {
  let sum = 0
  for (const [i, height] of heights.entries()) {
    sum += height
    if (pixel < sum) return i
  }
  return heights.length - 1
}

test('the list finds the row at every pixel while rows are measured, added and dropped', () => {
  const heights = new Heights(20)
  const slow: number[] = []
  let seed = 3
  const random = (n: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % n
  }
  for (let step = 0; step < 2_000; step++) {
    const what = random(10)
    if (what < 3) {
      const length = Math.max(0, slow.length + random(40) - 12)
      heights.resize(length)
      while (slow.length > length) slow.pop()
      while (slow.length < length) slow.push(20)
    } else if (slow.length > 0) {
      const i = random(slow.length)
      // Zero is a height too: an output that is shown in its call's row takes no room of its own.
      const height = random(5) === 0 ? 0 : random(300)
      heights.measure(i, height)
      slow[i] = height
    }
    const total = slow.reduce((sum, height) => sum + height, 0)
    expect(heights.total).toBe(total)
    if (slow.length === 0) continue
    const i = random(slow.length)
    expect(heights.top(i)).toBe(slow.slice(0, i).reduce((sum, height) => sum + height, 0))
    if (total > 0) {
      const pixel = random(total)
      expect(heights.at(pixel)).toBe(reference(slow, pixel))
    }
  }
})

test('an empty list has no row, and pixels outside find the first and the last', () => {
  const heights = new Heights(10)
  expect(heights.at(0)).toBe(-1)
  heights.resize(3)
  expect([heights.at(-5), heights.at(1_000)]).toEqual([0, 2])
})

test('the list stays below the height browsers allow, however long it is', () => {
  const heights = new Heights(30)
  heights.resize(5_000_000)
  expect(heights.total).toBeLessThan(33_000_000)
})

test('a new width forgets the measures and keeps what they taught', () => {
  const heights = new Heights(20)
  heights.resize(100)
  for (let i = 0; i < 10; i++) heights.measure(i, 100)
  heights.forget()
  expect(heights.height(0)).toBe(100)
  expect(heights.total).toBe(10_000)
})

const text = (n: number, length = 1): PanelEntry => ({
  n,
  at: '',
  attempt: 1,
  kind: 'text',
  text: { text: 'x'.repeat(length), whole: length },
  subagent: null,
})
const started = (n: number, attempt = 1): PanelEntry => ({
  n,
  at: '',
  attempt,
  kind: 'toolStarted',
  toolId: 't',
  name: 'Bash',
  brief: '',
  input: { text: '', whole: 0 },
  subagent: null,
})
const done = (n: number, attempt = 1): PanelEntry => ({
  n,
  at: '',
  attempt,
  kind: 'toolEnded',
  toolId: 't',
  output: { text: '', whole: 0 },
  isError: false,
})

test('a tool call and its output find each other in either order, within their attempt only', () => {
  const cache = new EntryCache()
  expect([...cache.put([started(1)])]).toEqual([1])
  expect([...cache.put([done(5, 2)])]).toEqual([5])
  expect([...cache.put([done(2)])]).toEqual([2, 1])
  const call = cache.get(1)
  expect(call?.kind === 'toolStarted' && cache.endOf(call)?.n).toBe(2)
  expect([...cache.put([started(4, 2)])].sort()).toEqual([4, 5])
})

test('gaps are asked for once, in pieces of at most a hundred, and again when no answer came', () => {
  const cache = new EntryCache()
  cache.put([text(5)])
  expect(cache.gap(0, 300, 0)).toEqual({ from: 0, count: 5 })
  expect(cache.gap(0, 300, 1)).toEqual({ from: 6, count: 100 })
  expect(cache.gap(0, 106, 2)).toBeNull()
  expect(cache.gap(0, 5, 5_000)).toEqual({ from: 0, count: 5 })
})

test('what is far from the view is forgotten when it gets too much, the view and the tail never', () => {
  const cache = new EntryCache()
  for (let n = 0; n < 2_000; n++) cache.put([text(n, 12_000)])
  cache.trim(900, 950, 2_000)
  const kept = Array.from({ length: 2_000 }, (_, n) => n).filter((n) => cache.get(n) !== undefined)
  expect(kept.length).toBeLessThan(600)
  for (const n of [900, 925, 949, 1_999, 1_950]) expect(kept, String(n)).toContain(n)
})

test('each of several quick presses in find is one step, from the hit before it', () => {
  const asked: FindRequest[] = []
  const finding = new Finding((request) => asked.push(request))
  for (let press = 0; press < 3; press++) finding.press('heron', false)
  finding.press('heron', true)
  for (const hit of [3, 203, 403, 203]) finding.answered(hit)
  expect(asked.map(({ after, back }) => [after, back])).toEqual([
    [null, false],
    [3, false],
    [203, false],
    [403, true],
  ])
  finding.press('heron', false)
  finding.press('heron', false)
  // Other words wait for no answer to the former ones.
  finding.press('reed', false)
  expect(asked.slice(4)).toEqual([
    { query: 'heron', after: 203, back: false },
    { query: 'reed', after: null, back: false },
  ])
})
