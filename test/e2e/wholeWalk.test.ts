// One child from its brief to the person's branch, by the panel's own buttons, on the real supervisor, git and checks.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'
import { newChild } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '400' }) })

test(
  'dispatch, steer, pause, resume, verify, review and apply',
  { timeout: 240_000 },
  async ({ workbench, repository }) => {
    await workbench.showContainer('Coxswain')
    await newChild(workbench, 'Write a tour of this repository into docs/tour.md', { contract: 'Light contract…' })
    await workbench.answer('docs/tour.md', 'Files it must deliver')
    const panel = workbench.webview()
    await panel.getByRole('heading', { level: 1, name: /Write a tour/ }).waitFor()
    await panel.locator('.row-text, .row-toolStarted').first().waitFor()

    await panel.getByLabel('Steer this child').fill('Mention the tests in the tour.')
    await panel.getByLabel('Steer this child').press('Enter')
    await panel.locator('.waiting .state').filter({ hasText: 'confirmed' }).waitFor()
    await panel.getByRole('button', { name: 'Pause' }).click()
    await panel.locator('.phase').filter({ hasText: 'paused' }).waitFor()
    await panel.getByRole('button', { name: 'Resume', exact: true }).click()
    await panel.getByRole('heading', { level: 2, name: /Resumed \(attempt 2\)/ }).waitFor()

    await panel.locator('.phase').filter({ hasText: 'succeeded, verified' }).waitFor()
    await panel.getByRole('button', { name: 'Verify again' }).click()
    await panel.locator('.phase').filter({ hasText: 'succeeded, verified' }).waitFor()
    await panel.getByRole('button', { name: 'Review changes' }).click()
    await workbench.page.locator('.multiDiffEditor').getByText('tour.md', { exact: true }).first().waitFor()

    await workbench.rowMenu(workbench.row(/Write a tour/), 'Apply…')
    await workbench.pick('Squash')
    await workbench.dialog.filter({ hasText: /Apply “Write a tour.+to main\?/ }).waitFor()
    await workbench.answerDialog('Apply')
    await workbench.statusBarItem(/Applied to main/).waitFor()
    expect(existsSync(path.join(repository.folder, 'docs/tour.md'))).toBe(true)
    expect(repository.git('show', '--stat', '--format=', 'main')).toMatch(/docs\/tour\.md/)
    await expect.poll(() => workbench.treeText()).toMatch(/^Finished, 1 child/)

    // All of it was done before the walkthrough was opened for the first time.
    await workbench.run('Coxswain: Open walkthrough')
    const ticked = (id: string) => workbench.page.locator(`[data-done-step-id$="#${id}"][aria-checked="true"]`)
    for (const id of ['first', 'steer', 'control', 'verify']) await ticked(id).first().waitFor()
    expect(await ticked('agents').count()).toBe(0)
  },
)
