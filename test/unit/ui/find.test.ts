// What a search finds in a transcript: what a person has read, never the names of the fields it is stored in.
import { expect, test } from 'vitest'
import type { EntryBody, TranscriptEntry } from '../../../src/core/transcript'
import { excerpt, hitsIn, holds, isPlace, needleOf, nextHit } from '../../../src/ui/present/find'
import { at } from './children'

const entry = (body: EntryBody): TranscriptEntry => ({ n: 0, at: at(), attempt: 1, ...body })
const tool = entry({
  kind: 'toolStarted',
  toolId: 't-1',
  name: 'Edit',
  input: { path: 'lib/auth.py', edits: [{ old: 'a\nb', new: 'Null Check' }] },
})

test.each<[string, TranscriptEntry, string, boolean]>([
  ['a text in another case', entry({ kind: 'text', text: 'The Café closes' }), 'café', true],
  ['words over a line break', entry({ kind: 'text', text: 'one\ntwo' }), 'one\ntwo', true],
  [
    'words between terminal colours',
    entry({ kind: 'noise', source: 'stderr', text: 'a \x1b[31mred\x1b[0m fox' }),
    'red fox',
    true,
  ],
  ['what a tool was given, however deep', tool, 'null check', true],
  ['a tool’s name', tool, 'edit', true],
  [
    'an output',
    entry({ kind: 'toolEnded', toolId: 't', output: 'x'.repeat(1e6) + 'needle', isError: false }),
    'needle',
    true,
  ],
  ['the name of a field', tool, 'toolid', false],
  ['the name of a kind', entry({ kind: 'text', text: 'hello' }), 'text', false],
  ['an attempt’s number', entry({ kind: 'text', text: 'hello' }), '"attempt":1', false],
])('%s', (_what, where, query, found) => {
  const needle = needleOf(query)
  expect(holds(where, needle)).toBe(found)
  expect(excerpt(where, needle) !== null).toBe(found)
})

test('a hit reads as one line with the words around it', () => {
  const long = entry({ kind: 'text', text: `${'before '.repeat(20)}the needle\nand ${'after '.repeat(40)}` })
  expect(excerpt(long, 'needle')).toMatch(/^…(?:\w+ )+the needle and (?:after )+\w*…$/)
  expect(excerpt(entry({ kind: 'text', text: 'a needle' }), 'needle')).toBe('a needle')
})

test.each<[number | null, boolean, number, number]>([
  [null, false, 3, 1],
  [3, false, 7, 2],
  [9, false, 3, 1],
  [8, false, 9, 3],
  [null, true, 9, 3],
  [3, true, 9, 3],
  [9, true, 7, 2],
])('from %s, back %s, the hit is at %i, number %i of three', (after, back, at, place) => {
  expect(nextHit([3, 7, 9], after, back)).toEqual({ at, place, count: 3 })
})

test('without a hit there is none', () => {
  expect(nextHit([], 5, true)).toEqual({ at: null, place: 0, count: 0 })
})

test('the line that says where a child works is told from what was said', () => {
  const place = 'Works in /w/count-the-quays on branch coxswain/count-the-quays.'
  expect(isPlace(entry({ kind: 'notice', level: 'info', text: place }))).toBe(true)
  expect(isPlace(entry({ kind: 'notice', level: 'info', text: 'Process ended with code 0.' }))).toBe(false)
  expect(isPlace(entry({ kind: 'text', text: place }))).toBe(false)
})

/** A log of `total` entries in which every tenth holds the word; each look at the disk takes 60 ms. */
function searched(total: number, wantedUntil = Infinity) {
  let time = 0
  const told: number[] = []
  const hits = hitsIn(total, 'heron', {
    read: async (from, count) => {
      time += 60
      const numbers = Array.from({ length: Math.min(count, total - from) }, (_, i) => from + i)
      return numbers.map((n) => ({ ...entry({ kind: 'text', text: n % 10 === 3 ? 'A heron.' : 'A reed.' }), n }))
    },
    found: (count) => told.push(count),
    isWanted: () => time < wantedUntil,
    now: () => time,
  })
  return { hits, told }
}

test('a long search says now and then how much it has found, and one nobody waits for ends', async () => {
  const whole = searched(400)
  expect((await whole.hits)?.slice(0, 3)).toEqual([3, 13, 23])
  expect(await whole.hits).toHaveLength(40)
  expect(whole.told).toEqual([16, 32])
  const calledOff = searched(400, 200)
  expect([await calledOff.hits, calledOff.told]).toEqual([null, []])
})
