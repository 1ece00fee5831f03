// Takes the pictures of the README in a real VS Code: `npm run screenshots` writes them to docs/pictures.
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import path from 'node:path'
import { vscodeTest } from '../harness/vscodeTest.js'
import type { Workbench } from '../harness/workbench.js'

const folder = fileURLToPath(new URL('../../../docs/pictures', import.meta.url))
const test = vscodeTest()

/** The window as it stands, in a dark and a light theme. */
async function picture(workbench: Workbench, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const theme of ['dark', 'light'] as const) {
    await workbench.setTheme(theme)
    await workbench.page.screenshot({ path: path.join(folder, `${name}-${theme}.png`) })
  }
}

test('the side bar before the first child', async ({ workbench }) => {
  await workbench.viewContainer('Coxswain').click()
  await workbench.sideBar.getByText('Coxswain').first().waitFor()
  await picture(workbench, 'side-bar')
})
