// Handing out work: by keyboard alone, with what goes along, to several at once, and from a problem in the editor.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { newChild, stopAll } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '50' }) })

test('a child is dispatched by keyboard alone, with a file that was mentioned', async ({
  workbench,
  repository,
  home,
}) => {
  const { keyboard } = workbench.page
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('No children yet').waitFor()
  writeFileSync(path.join(repository.folder, 'notes.md'), 'Only on this disk.\n')
  const started = Date.now()
  await workbench.run('Coxswain: New child…')
  await workbench.input.waitFor()
  await keyboard.type('Describe @')
  await workbench.quickPickRows.filter({ hasText: 'notes.md' }).waitFor()
  await keyboard.type('notes')
  await workbench.quickPickRows.filter({ hasText: 'notes.md' }).first().waitFor()
  await workbench.screenshot('dispatch-mention')
  await keyboard.press('Enter')
  await expect.poll(() => workbench.input.inputValue()).toBe('Describe @notes.md ')
  await keyboard.type('well.')
  expect(await workbench.input.inputValue()).toBe('Describe @notes.md well.')
  await keyboard.press('Enter')
  await workbench.quickPickRows.filter({ hasText: 'Demo agent' }).waitFor()
  await keyboard.type('demo')
  await keyboard.press('Enter')
  await workbench.quickPickRows.filter({ hasText: 'No contract' }).waitFor()
  await keyboard.press('Enter')
  await workbench.row(/Describe @notes\.md/).waitFor()
  await expect.poll(() => workbench.row(/Describe @notes\.md/).getAttribute('aria-selected')).toBe('true')
  console.log(`Dispatched by keyboard, palette and mention included, after ${Date.now() - started} ms`)
  const panel = workbench.webview()
  await panel.locator('.row-turn summary').click()
  const prompt = await panel.locator('.row-turn .prose').innerText()
  expect(prompt).toMatch(/notes\.md \(not committed as it is now[\s\S]+Only on this disk\./)
  await stopAll(home, repository)
})

test('one goal goes to several children, which are compared, and the one that is kept is left', async ({
  workbench,
  repository,
  home,
}) => {
  const { keyboard } = workbench.page
  await workbench.showContainer('Coxswain')
  await newChild(workbench, 'Write a tour of this repository into docs/tour.md', { contract: 'More choices…' })
  await workbench.screenshot('dispatch-more')
  await workbench.pick('Effort…')
  await workbench.pick('high')
  await workbench.pick('Several children, to compare…')
  await workbench.quickPickRows.filter({ hasText: 'Demo agent' }).waitFor()
  await keyboard.press('Enter')
  await workbench.quickPickRows.filter({ hasText: /^2/ }).waitFor()
  await keyboard.press('Enter')
  await workbench.pick('Back to the contract')
  await workbench.quickPickRows.filter({ hasText: 'More choices…' }).filter({ hasText: 'high · 2 children' }).waitFor()
  await workbench.pick('No contract')
  await expect.poll(() => workbench.treeText()).toMatch(/^Ready for review, 2 children/)

  // Both made the same commits in the same second, which git knows as one: what is lost has to differ.
  for (const line of repository.git('worktree', 'list', '--porcelain').split('\n'))
    if (line.startsWith('worktree ') && !line.endsWith(repository.folder))
      writeFileSync(path.join(line.slice(9), 'extra.txt'), 'left uncommitted\n')
  await workbench.run('Coxswain: Compare children of one goal…')
  await workbench.pick(/Write a tour/)
  await workbench.quickPickRows.filter({ hasText: /Demo agent.*number 2/ }).waitFor()
  const rows = await workbench.quickPickRows.allInnerTexts()
  expect(rows).toHaveLength(2)
  for (const row of rows) expect(row).toMatch(/says it is done[\s\S]+2 files \+\d+ −0 · \d+s/)
  await workbench.screenshot('compare')
  await workbench.pick(/number 2/)
  await workbench.pick('Keep this one…')
  await workbench.answerDialog('Discard worktree')
  await workbench.dialog.filter({ hasText: 'extra.txt' }).waitFor()
  await workbench.screenshot('compare-lose')
  await workbench.answerDialog('Discard and lose it')
  await until('one worktree is left', () => repository.git('worktree', 'list').split('\n').length === 2)
  await expect.poll(() => workbench.treeText()).toMatch(/Ready for review, 1 child/)
  await stopAll(home, repository)
})

test('over the cap a child waits for a slot, or the limit is raised', async ({ workbench, repository, home }) => {
  workbench.changeSettings({ 'coxswain.maxChildrenTotal': 1 })
  await workbench.reload()
  await workbench.showContainer('Coxswain')
  await newChild(workbench, 'Ask me which file, then write about the pier')
  await expect.poll(() => workbench.treeText()).toMatch(/^Needs you, 1 child/)
  await newChild(workbench, 'Wait for me')
  await workbench
    .toast(/Ask me which file/)
    .getByRole('button', { name: 'Start when one is free' })
    .click()
  await workbench.row(/Wait for me.+waiting for a free slot/).waitFor()
  await workbench.run('Coxswain: Answer next request')
  await workbench.pick('TOUR.md')
  await expect.poll(() => workbench.treeText()).toMatch(/^Ready for review, 2 children/)
  workbench.changeSettings({ 'coxswain.maxChildrenTotal': 4 })
  await stopAll(home, repository)
})

test('a problem in the editor becomes a brief by its Quick Fix', async ({ workbench, repository }) => {
  const { keyboard, page } = { keyboard: workbench.page.keyboard, page: workbench.page }
  writeFileSync(path.join(repository.folder, 'broken.json'), '{ "a": 1,, }\n')
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('No children yet').waitFor()
  await keyboard.press('Control+p')
  await workbench.input.fill('broken.json')
  await workbench.quickPickRows.filter({ hasText: 'broken.json' }).first().click()
  await page.locator('.squiggly-error').first().waitFor()
  await workbench.run('Go to Next Problem in Files (Error, Warning, Info)')
  await keyboard.press('Escape')
  await keyboard.press('Control+.')
  await page.locator('.action-widget').getByText('Dispatch a child to fix this…').waitFor()
  await workbench.screenshot('quick-fix')
  await page.locator('.action-widget').getByText('Dispatch a child to fix this…').click()
  await expect.poll(() => workbench.input.inputValue()).toMatch(/^Fix this problem in broken\.json: /)
  await keyboard.press('Escape')
})
