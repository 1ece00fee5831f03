// What a person does with the work of a child that has ended.
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'
import { scriptedChild, showChild } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '20' }) })

test('a worktree is discarded only after what would be lost was named', async ({ workbench, repository, home }) => {
  await workbench.viewContainer('Coxswain').click()
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
