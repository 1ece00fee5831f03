// A person's walk with one child in a real VS Code, on the real supervisor, keeper, git and demo agent.
import { expect } from 'vitest'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { newChild } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '600' }) })

test('dispatch, watch, steer with proof, pause, resume, stop, and nothing is left running', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('No children yet').waitFor()
  await newChild(workbench, 'Write a tour of this repository into docs/tour.md')

  const row = workbench.row(/Write a tour of this repository/)
  await row.waitFor()
  const panel = workbench.webview()
  await panel.getByRole('heading', { level: 1, name: /Write a tour/ }).waitFor()
  await panel.locator('.row-text, .row-toolStarted').first().waitFor()
  await expect.poll(() => workbench.treeText()).toMatch(/^Working, 1 child\n {2}Write a tour.+accepting steer/)

  const input = panel.getByLabel('Steer this child')
  await input.fill('Mention the tests in the tour.')
  await input.press('Enter')
  const receipt = panel.locator('.waiting .steer-line').filter({ hasText: 'Mention the tests' })
  await receipt.locator('.state').filter({ hasText: 'confirmed' }).waitFor()
  await expect.poll(() => receipt.innerText()).toMatch(/queued .+→.+delivered .+→.+confirmed/)
  expect(await input.inputValue()).toBe('')

  await panel.getByRole('button', { name: 'Pause' }).click()
  await expect.poll(() => workbench.treeText()).toMatch(/^Paused, 1 child/)
  await panel.locator('.phase').filter({ hasText: 'paused' }).waitFor()

  await panel.getByRole('button', { name: 'Resume', exact: true }).click()
  await expect.poll(() => workbench.treeText()).toMatch(/^Working, 1 child/)
  await panel.getByRole('heading', { level: 2, name: /Resumed \(attempt 2\)/ }).waitFor()

  await workbench.rowAction(row, 'Stop…')
  await expect.poll(() => workbench.dialog.innerText()).toMatch(/Stop “Write a tour of this repository/)
  await workbench.answerDialog('Stop')
  await panel.locator('.phase').filter({ hasText: 'stopped' }).waitFor()
  // What it had written until then is there for review.
  await expect.poll(() => workbench.treeText()).toMatch(/^(?:Finished|Ready for review), 1 child/)
  await until('nothing of the child runs', () =>
    home.processes().every(({ command }) => !/demoAgent\.js|keeper-\w+\.js/.test(command)),
  )
  expect(repository.git('branch', '--list', 'coxswain/*')).toMatch(/coxswain\//)
})
