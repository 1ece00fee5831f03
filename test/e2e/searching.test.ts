// Finding words in what children said: over all transcripts from the palette, and in one that is long.
import { expect } from 'vitest'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { coxswain, scriptedChild, showChild, stopAll } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '5' }) })

test('words are found over all transcripts, and the hit opens where it was said', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const lines = Array.from({ length: 400 }, (_, i) => ({ say: `Line ${i}, ${i === 37 ? 'the marlinspike' : 'rope'}.` }))
  const ids = [
    await scriptedChild(home, repository, 'Long tale', lines),
    await scriptedChild(home, repository, 'Short tale', [{ run: ['echo', 'A MARLINSPIKE in an output'] }]),
  ]
  for (const id of ids)
    await until('it has ended', async () => {
      const [shown] = (await coxswain(home, repository, 'show', id)) as { phase: string }[]
      return shown?.phase === 'SUCCESS'
    })
  await workbench.run('Coxswain: Search transcripts…')
  await workbench.input.fill('marlinspike')
  const hit = workbench.quickPickRows.filter({ hasText: 'Line 37, the marlinspike' })
  await hit.first().waitFor()
  expect((await workbench.quickPickRows.allInnerTexts()).join('\n')).toMatch(
    /Short tale[\s\S]+A MARLINSPIKE in an output[\s\S]+Long tale[\s\S]+Line 37/,
  )
  expect(await hit.first().locator('.highlight').allInnerTexts(), 'what was looked for is marked').toContain(
    'marlinspike',
  )
  await workbench.screenshot('search-transcripts')
  await hit
    .filter({ hasText: /Long tale\s*Line 37/ })
    .first()
    .click()
  const panel = workbench.webview()
  await panel.getByRole('heading', { level: 1, name: 'Long tale' }).waitFor()
  const found = panel.locator('.row-found')
  await expect.poll(() => found.allInnerTexts()).toEqual(['Line 37, the marlinspike.'])
  expect(await found.isVisible()).toBe(true)
  await workbench.screenshot('search-hit')

  await workbench.run('Coxswain: Search transcripts…')
  await workbench.input.fill('in an output')
  await workbench.pick(/Short tale\s*A MARLINSPIKE in an output/)
  await panel.getByRole('heading', { level: 1, name: 'Short tale' }).waitFor()
  await panel.locator('.row-found pre').filter({ hasText: 'A MARLINSPIKE in an output' }).first().waitFor()
  await stopAll(home, repository)
})

test('find in a transcript goes over the whole log, not the part that is on the page', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const lines = Array.from({ length: 600 }, (_, i) => ({ say: i % 200 === 3 ? `The heron of ${i}.` : `Reed ${i}.` }))
  await scriptedChild(home, repository, 'Reeds', lines)
  const panel = await showChild(workbench, 'Reeds')
  await panel.locator('.row-text').getByText('Reed 599.', { exact: true }).waitFor()
  await panel.locator('.scroller').focus()
  await workbench.page.keyboard.press('Control+f')
  await panel.getByRole('textbox', { name: 'Find in the whole transcript' }).fill('heron')
  await panel.getByText('4 found', { exact: true }).waitFor()
  await workbench.page.keyboard.press('Enter')
  // The prompt is one of the hits, for the child was told of the herons.
  await panel.getByText('1 of 4').waitFor()
  await workbench.page.keyboard.press('Enter')
  const found = panel.locator('.row-found')
  await expect.poll(() => found.allInnerTexts()).toEqual(['The heron of 3.'])
  await workbench.page.keyboard.press('Enter')
  await expect.poll(() => found.allInnerTexts()).toEqual(['The heron of 203.'])
  for (const place of ['2 of 4', '1 of 4', '4 of 4']) {
    await workbench.page.keyboard.press('Shift+Enter')
    await panel.getByText(place).waitFor()
  }
  await expect.poll(() => found.allInnerTexts()).toEqual(['The heron of 403.'])
  await workbench.screenshot('find')
  await stopAll(home, repository)
})
