import assert from 'node:assert/strict'
import { test } from 'node:test'
import { depthAt, isAfloat } from '../src/tides.js'

const tide = { mean: 3, range: 2, high: new Date('2026-01-01T06:00:00Z') }

test('high water is half the range above the mean', () => {
  assert.equal(depthAt(tide.high, tide), 4)
})

test('a deep boat sits on the mud at low water', () => {
  const low = new Date(tide.high.getTime() + 6.21 * 60 * 60 * 1000)
  assert.equal(isAfloat(low, tide, 2.5), false)
  assert.equal(isAfloat(tide.high, tide, 2.5), true)
})
