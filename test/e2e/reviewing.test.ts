// What a person does with a child's changes besides taking them: comments that reach it, marks on files, a pull request's
// text, the list of worktrees.
import { expect } from 'vitest'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { coxswain, layoutSaved, scriptedChild, showChild, stopAll } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '20' }) })

const changed = [{ replace: { path: 'src/greet.js', find: 'Hello', with: 'Bonjour' } }, { commit: 'Greet in French' }]

test('comments on lines of a review reach the child as one message, and a review is whole after a reload', async ({
  workbench,
  repository,
  home,
}) => {
  const { page } = workbench
  await workbench.showContainer('Coxswain')
  const id = await scriptedChild(home, repository, 'Greet in French', changed)
  const panel = await showChild(workbench, 'Greet in French')
  await panel.locator('.phase').filter({ hasText: 'says it is done' }).waitFor()
  await panel.getByRole('button', { name: 'Review changes' }).click()
  const diff = page.locator('.multiDiffEditor')
  await diff.getByText('Bonjour').first().waitFor()

  await diff.locator('.editor.modified .view-line').filter({ hasText: 'Bonjour' }).first().click()
  // A slow window learns only after the click that this editor is in a review, so its first menu may lack the entry.
  await workbench.pickFromMenu(() => page.keyboard.press('Shift+F10'), 'Comment on this line')
  const box = page.locator('.review-widget .monaco-editor').last()
  await box.click()
  await page.keyboard.type('Say Salut instead.')
  await page.locator('.review-widget').getByRole('button', { name: 'Add comment' }).click()
  await page.locator('.review-widget').getByText('not sent yet').waitFor()
  await workbench.screenshot('review-comment')

  await layoutSaved(workbench, 'Say Salut instead.')
  await layoutSaved(workbench, 'coxswain-review')
  await workbench.reload()
  const restored = page.locator('.multiDiffEditor')
  await restored.getByText('Bonjour').first().waitFor()
  await restored.getByText('greet.js', { exact: true }).first().waitFor()

  await workbench.run('Coxswain: Send comments to the child')
  await until('the child was resumed with the comment', async () => {
    const [shown] = (await coxswain(home, repository, 'show', id)) as { attempt: number }[]
    return shown?.attempt === 2
  })
  const entries = (await coxswain(home, repository, 'transcript', id)) as { kind: string; prompt?: string }[]
  expect(entries.filter(({ kind }) => kind === 'turn').at(-1)?.prompt).toMatch(
    /src\/greet\.js:1\n {3}> export const greet = .+Bonjour.+\n {3}Say Salut instead\./,
  )
  expect(await workbench.offers('Coxswain: Send comments to the child')).toBe(false)
  await stopAll(home, repository)
})

test('a file that a running child has changed is marked in the explorer', async ({ workbench, repository, home }) => {
  const { page } = workbench
  await workbench.showContainer('Coxswain')
  for (const title of ['One', 'Two']) await scriptedChild(home, repository, title, [...changed, { hang: 'here' }])
  await expect.poll(() => workbench.treeText()).toMatch(/^Working, 2 children/)
  await page.keyboard.press('Control+p')
  await workbench.input.fill('greet.js')
  await workbench.quickPickRows.filter({ hasText: 'greet.js' }).first().click()
  await workbench.run('File: Reveal Active File in Explorer View')
  const file = page.locator('.explorer-folders-view [role=treeitem]').filter({ hasText: /greet\.js/ })
  // VS Code draws the badge beside the name as generated content.
  const badge = (): Promise<string | undefined> =>
    file
      .locator('.monaco-icon-label')
      .evaluate((label) => label.ownerDocument.defaultView?.getComputedStyle(label, '::after').content)
  await expect.poll(badge).toContain('◆2')
  await workbench.screenshot('explorer-marks')

  await stopAll(home, repository)
})

test('worktrees are listed with what discarding them would lose; a pull request gets its text', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  await scriptedChild(home, repository, 'Greet in French', changed)
  await expect.poll(() => workbench.treeText()).toMatch(/^Ready for review, 1 child/)
  await workbench.run('Coxswain: Manage worktrees…')
  const row = workbench.quickPickRows.filter({ hasText: 'Greet in French' })
  await expect
    .poll(() => row.innerText())
    .toMatch(/old · [\d.]+ [KM]B · would lose 1 commit that is on no other branch/)
  await row.locator('.codicon-pass').waitFor()
  await workbench.screenshot('worktrees')
  await row.click()
  await workbench.pick('Discard…')
  await workbench.answerDialog('Cancel')

  await workbench.rowMenu(workbench.row(/Greet in French/), 'Prepare pull request…')
  await workbench.toast(/nothing was pushed/).waitFor()
  await workbench.page.locator('.view-line').getByText('What the agent says it did').waitFor()
  await workbench.run('Coxswain: Open audit log')
  await workbench.statusBarItem(/Audit trail intact/).waitFor()
  await workbench.run('Coxswain: Reconcile now')
  await workbench.toast(/0 children run, 1 in all/).waitFor()
  await workbench.run('Coxswain: Copy diagnostics')
  await workbench.statusBarItem(/Diagnostics copied/).waitFor()
  await stopAll(home, repository)
})
