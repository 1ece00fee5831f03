// Films the README's moving picture in a real VS Code: a child is dispatched, steered, paused, resumed and verified.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeRepository } from '../harness/repository.js'
import { vscodeTest } from '../harness/vscodeTest.js'
import { film } from './screencast.js'

const folder = fileURLToPath(new URL('../../../docs/pictures', import.meta.url))
const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '800' }) })
/** Between two keys, in ms: as a person types, and as a watcher can follow. */
const delay = 45

test('a child is dispatched, steered, paused, resumed and verified', async ({ workbench, home }) => {
  mkdirSync(folder, { recursive: true })
  const { page } = workbench
  await page.setViewportSize({ width: 1200, height: 720 })
  await workbench.open(makeRepository(path.join(home.folder, 'greeter')).folder)
  await workbench.setTheme('dark')
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('No children yet').waitFor()
  await film(page, path.join(folder, 'steering.gif'), async () => {
    await workbench.run('Coxswain: New child…')
    await workbench.input.pressSequentially('Write a tour of this repository into docs/tour.md', { delay })
    await page.keyboard.press('Enter')
    await workbench.pick('Demo agent')
    await workbench.pick('Light contract…')
    await workbench.inputMessage.filter({ hasText: 'Files it must deliver' }).waitFor()
    await workbench.input.pressSequentially('docs/tour.md', { delay })
    await page.keyboard.press('Enter')
    const panel = workbench.webview()
    await panel.locator('.row-text').first().waitFor()
    const input = panel.locator('textarea')
    await input.pressSequentially('Mention the tests in the tour.', { delay })
    await input.press('Enter')
    await panel.locator('.waiting .state').filter({ hasText: 'confirmed' }).waitFor()
    await panel.getByRole('button', { name: 'Pause' }).click()
    await panel.locator('.phase').filter({ hasText: 'paused' }).waitFor()
    await panel.getByRole('button', { name: 'Resume with this' }).waitFor()
    await input.pressSequentially('Go on, but keep it short.', { delay })
    await input.press('Enter')
    await panel.locator('.phase').filter({ hasText: 'succeeded, verified' }).waitFor({ timeout: 90_000 })
  })
})
