// Takes the pictures of the README in a real VS Code: `npm run screenshots` writes them to docs/pictures.
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import path from 'node:path'
import { vscodeTest } from '../harness/vscodeTest.js'
import type { Workbench } from '../harness/workbench.js'
import { newChild } from '../panelParts.js'

const folder = fileURLToPath(new URL('../../../docs/pictures', import.meta.url))
const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '1500' }) })

/** The window as it stands, in a dark and a light theme. */
async function picture(workbench: Workbench, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const theme of ['light', 'dark'] as const) {
    await workbench.setTheme(theme)
    await workbench.page.screenshot({ path: path.join(folder, `${name}-${theme}.png`) })
  }
}

test('two children at work, one of them steered', async ({ workbench }) => {
  await workbench.page.setViewportSize({ width: 1280, height: 800 })
  await workbench.showContainer('Coxswain')
  await newChild(workbench, 'List what src exports in docs/exports.md')
  await workbench.row(/List what src/).waitFor()
  await newChild(workbench, 'Write a tour of this repository into docs/tour.md')
  const row = workbench.row(/Write a tour/)
  await row.waitFor()
  await row.click()
  const panel = workbench.webview()
  await panel.getByRole('heading', { level: 1, name: /Write a tour/ }).waitFor()
  await panel.locator('.row-text, .row-toolStarted').first().waitFor()
  const input = panel.getByLabel('Steer this child')
  await input.fill('Mention the tests in the tour.')
  await input.press('Enter')
  await panel.getByText('confirmed').first().waitFor()
  await picture(workbench, 'steered')
})
