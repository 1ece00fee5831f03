// Turns every test that ran inside the extension host into one here, so that all suites have one report and one count.
import { expect, inject, test } from 'vitest'
import { runInHost } from './runInHost.js'

const { exit, results, output } = await runInHost(inject('vscode'))

test('the suites ran inside the extension host to their end', () => {
  expect({ exit, ran: results.length > 0 }, output).toEqual({
    exit: results.some((one) => one.state === 'failed') ? 1 : 0,
    ran: true,
  })
})

for (const { title, state, error } of results) {
  test.skipIf(state === 'skipped')(title, () => {
    if (state === 'failed') throw new Error(error)
  })
}
