import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Harbour } from '../src/harbour.js'

const berths = [
  { name: 'A1', length: 12, depth: 2 },
  { name: 'A2', length: 8, depth: 1.5 },
]
const pelican = { name: 'Pelican', length: 7, draught: 1.2 }

test('a boat takes the shortest berth it fits', () => {
  const harbour = new Harbour(berths)
  assert.equal(harbour.moor(pelican).name, 'A2')
  assert.deepEqual(harbour.list(), ['A2 Pelican'])
})

test('a boat that fits nowhere is turned away by name', () => {
  const harbour = new Harbour(berths)
  assert.throws(() => harbour.moor({ name: 'Leviathan', length: 40, draught: 6 }), /no berth for Leviathan/)
})

test('a departed boat frees its berth', () => {
  const harbour = new Harbour(berths)
  harbour.moor(pelican)
  harbour.depart('Pelican')
  assert.deepEqual(harbour.list(), [])
})
