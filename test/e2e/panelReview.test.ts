// From a finished child to the person's branch: both sides of every change, applied or thrown away, on real git.
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'
import { coxswain, scriptedChild, showChild } from './panelParts.js'

const test = vscodeTest()

test('changes are reviewed against the base and applied to the branch', async ({ workbench, repository, home }) => {
  await workbench.showContainer('Coxswain')
  const id = await scriptedChild(home, repository, 'Greet in French', [
    { write: { path: 'src/bonjour.js', text: "export const bonjour = 'Bonjour'\n" } },
    { replace: { path: 'src/greet.js', find: 'Hello', with: 'Bonjour' } },
    { commit: 'Greet in French' },
  ])
  const panel = await showChild(workbench, 'Greet in French')
  await panel.locator('.phase').filter({ hasText: 'says it is done' }).waitFor()
  const [shown] = (await coxswain(home, repository, 'show', id)) as { worktree: { path: string } }[]
  writeFileSync(path.join(shown?.worktree.path ?? '', 'notes.md'), 'left uncommitted\n')
  await expect.poll(() => workbench.treeText()).toMatch(/^Ready for review, 1 child\n.+files \+\d/)

  await panel.getByRole('button', { name: 'Review changes' }).click()
  const diff = workbench.page.locator('.multiDiffEditor')
  for (const file of ['bonjour.js', 'greet.js', 'notes.md'])
    await diff.getByText(file, { exact: true }).first().waitFor()
  await diff.getByText('Hello, ').first().waitFor()
  await workbench.screenshot('review')

  await workbench.rowMenu(workbench.row(/Greet in French/), 'Apply…')
  await workbench.pick('Merge')
  await expect.poll(() => workbench.dialog.innerText()).toMatch(/Apply “Greet in French” to main\?[\s\S]+notes\.md/)
  await workbench.answerDialog('Apply')
  await workbench.statusBarItem(/Applied to main/).waitFor()
  expect(repository.git('log', '--format=%s', '-3', 'main')).toContain('Greet in French')
  expect(existsSync(path.join(repository.folder, 'src/bonjour.js'))).toBe(true)
  await expect.poll(() => workbench.treeText()).toMatch(/^Finished, 1 child/)
})
