// The README against the code: the table of abilities is the adapters' own.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withTable } from '../../scripts/abilityTable.mjs'

test('the table of abilities is what the adapters say (else: node scripts/abilityTable.mjs)', async () => {
  const readme = readFileSync('README.md', 'utf8')
  expect(await withTable(readme)).toBe(readme)
})
