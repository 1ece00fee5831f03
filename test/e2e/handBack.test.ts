// What a person does with the work of a child that has ended.
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'
import { scriptedChild, showChild } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '20' }) })

test('a worktree is discarded only after what would be lost was named', async ({ workbench, repository, home }) => {
  await workbench.showContainer('Coxswain')
  await scriptedChild(home, repository, 'Sound the horn', [
    { write: { path: 'horn.md', text: 'Horn.\n' } },
    { ask: { tool: 'Bash', input: { command: 'make horn' } } },
    { hang: 'here' },
  ])
  const panel = await showChild(workbench, 'Sound the horn')
  await panel.locator('.request').getByText('make horn').waitFor()
  await panel.getByRole('button', { name: 'Stop…' }).click()
  await workbench.answerDialog('Stop')
  await panel.locator('.phase').filter({ hasText: 'stopped' }).waitFor()

  await workbench.run('Coxswain: Discard worktree…')
  await workbench.pick('Sound the horn')
  await workbench.answerDialog('Discard worktree')
  await workbench.dialog.filter({ hasText: 'horn.md' }).waitFor()
  await workbench.answerDialog('Discard and lose it')
  await panel.locator('.phase').filter({ hasText: 'discarded' }).waitFor()
  await expect.poll(() => repository.git('worktree', 'list')).not.toContain('sound-the-horn')
})

test('a steer that was missed can be dismissed', async ({ workbench, repository, home }) => {
  await workbench.showContainer('Coxswain')
  await scriptedChild(home, repository, 'Ring the bell', [{ ask: { tool: 'Bash', input: { command: 'make bell' } } }])
  const panel = await showChild(workbench, 'Ring the bell')
  await panel.locator('.request').getByText('make bell').waitFor()
  await panel.getByLabel('Steer this child').fill('Twice.')
  await panel.getByLabel('Steer this child').press('Enter')
  await panel.locator('.waiting .steer-line').getByText('Twice.').waitFor()
  await panel.getByRole('button', { name: 'Pause' }).click()
  await panel.locator('.missed').getByText('1 steer was missed').waitFor()
  await panel.getByRole('button', { name: 'Dismiss' }).click()
  await panel.locator('.missed:not(.suggestion)').waitFor({ state: 'hidden' })
  await panel.locator('.card.steer .state').filter({ hasText: 'withdrawn' }).waitFor()
})
