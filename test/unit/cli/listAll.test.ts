import { expect, test } from 'vitest'
import { listAllLine } from '../../../src/cli/listAll'
import { child, ended } from '../ui/children'

test('the age of an ended child is that of its end, of one at work that of its start', () => {
  const acceptedAt = '2026-03-01T12:00:00.000Z'
  const over = { id: 'c', title: 'T', acceptedAt, settledAt: '2026-03-01T12:00:40.000Z' }
  const now = new Date('2026-03-01T12:01:00.000Z')
  expect(listAllLine(child(ended('SUCCESS', over)), now)).toMatch(/^c  says it is done +20s ago  T$/)
  expect(listAllLine(child({ ...over, settledAt: null }), now)).toMatch(/^c  working +1m ago  T$/)
})
