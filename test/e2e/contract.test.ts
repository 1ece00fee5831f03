// A contract's way through the window: a lie is caught beside its claim, asked again and mended; what is not mended ends
// partial, is taken or overridden by name, and the audit tells it all.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Locator } from 'playwright-core'
import { expect } from 'vitest'
import { accessibilityViolations } from './harness/axe.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { everyTheme } from './harness/workbench.js'
import { coxswain, newChild, scriptedChild, showChild } from './panelParts.js'

const test = vscodeTest()

const sources = { file_contains: { path: 'out.md', text: 'Sources' } }
const contract = {
  deliverables: [{ path: 'out.md', description: 'what was found' }],
  checks: [{ file_exists: { path: 'README.md' } }, { command: { argv: ['grep', '-n', 'Hello', 'src/greet.js'] } }],
}

/** Where the middle of what a person sees lies, in pixels from the top. */
async function middleOf(what: Locator): Promise<number> {
  const box = await what.boundingBox()
  if (box === null) throw new Error('it is not to be seen')
  return box.y + box.height / 2
}

test('a lie is named beside its claim, asked again with exactly that, and mended', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const latch = `${repository.folder}-go`
  await scriptedChild(home, repository, 'Find the sources', [{ lie: 'out.md' }, { wait: { file: latch } }], {
    contract,
  })
  const panel = await showChild(workbench, 'Find the sources')
  writeFileSync(latch, '')
  await panel.locator('.phase').filter({ hasText: 'succeeded, verified' }).waitFor()
  await expect.poll(() => workbench.treeText()).toMatch(/^Ready for review, 1 child\n.+succeeded, verified/)
  const verification = panel.locator('.verification')
  await verification.locator('summary').filter({ hasText: 'Checks: verified' }).click()
  await verification.getByText('Attempt 1: incomplete: a deliverable is missing, asked again').waitFor()
  await panel.locator('.row-turn').filter({ hasText: 'Asked again (attempt 2)' }).getByText('Prompt').click()
  await panel
    .locator('.row-turn')
    .getByText(/out\.md: claimed, but there is no/)
    .last()
    .waitFor()
  await workbench.screenshot('contract-mended')
})

test('what is not mended ends partial: its row says so, evidence opens, and it is applied only by name', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const id = await scriptedChild(
    home,
    repository,
    'Keep lying',
    [
      { write: { path: 'notes.md', text: 'one\ntwo\n' } },
      { commit: 'Notes' },
      { lie: { path: 'out.md', stubborn: true } },
      { report: { artifacts: { 'out.md': 'out.md' }, summary: 'I wrote out.md and 14 notes.' } },
    ],
    {
      contract: {
        ...contract,
        checks: [...contract.checks, { file_contains: { path: 'notes.md', regex: '^three$', flags: 'm' } }],
      },
    },
  )
  const panel = await showChild(workbench, 'Keep lying')
  const verification = panel.locator('.verification')
  await verification.getByText('Checks: partial, incomplete').waitFor()
  await expect.poll(() => workbench.treeText()).toMatch(/^Needs you, 1 child\n.+partial, incomplete/)
  const missing = verification.locator('.check').filter({ hasText: 'deliverable out.md' })
  await expect
    .poll(() => missing.innerText())
    .toMatch(/FAIL[\s\S]+It says\s+out\.md\s+Found\s+claimed, but there is no/)
  expect(await panel.locator('.need').isVisible(), 'it stands once, with its checks').toBe(false)
  for (const theme of everyTheme) {
    await workbench.setTheme(theme)
    await workbench.screenshot(`contract-partial-${theme}`)
    expect(await middleOf(missing.locator('.codicon').first()), theme).toBeCloseTo(
      await middleOf(missing.locator('.check-result')),
      0,
    )
    const outlines = await panel
      .locator('.buttons vscode-button.refused, .buttons vscode-button:not(.refused)')
      .evaluateAll((buttons) => buttons.filter((each) => each.clientHeight > 0).map((each) => each.clientHeight))
    expect([theme, new Set(outlines).size]).toEqual([theme, 1])
  }
  expect(await accessibilityViolations(await workbench.webviewFrame())).toEqual([])
  await workbench.setTheme('dark')
  await panel.locator('.goal > summary').click()
  const widths = await panel
    .locator('.header, .goal-text')
    .evaluateAll((parts) => parts.map((part) => part.clientWidth))
  expect(Math.min(...widths), 'the goal has the width of the panel').toBeGreaterThan(Math.max(...widths) - 40)
  await panel.locator('.goal > summary').click()

  // Evidence: the file, and all that a command printed.
  const grep = verification.locator('.check').filter({ hasText: 'grep -n Hello' })
  await grep.getByRole('button', { name: 'Open all it found' }).click()
  await workbench.page
    .locator('.editor-instance')
    .getByText(/grep.exited.with.0/)
    .first()
    .waitFor()
  await verification.getByRole('button', { name: 'Open file' }).first().click()
  await workbench.page.locator('.tab', { hasText: 'notes.md' }).waitFor()

  // Applying it takes the names of what did not pass.
  await expect(coxswain(home, repository, 'apply', id)).rejects.toThrow(/deliverable out\.md/)
  await workbench.rowMenu(workbench.row(/Keep lying/), 'Apply…')
  await workbench.pick('Squash')
  await expect
    .poll(() => workbench.dialog.innerText())
    .toMatch(/It did not pass everything:\s+• deliverable out\.md\s+• notes\.md matches/)
  await workbench.answerDialog('Cancel')
  expect(existsSync(path.join(repository.folder, 'notes.md'))).toBe(false)

  await verification.getByRole('button', { name: 'Accept as partial' }).click()
  await verification.getByText(/You took it as partial/).waitFor()
  await expect.poll(() => workbench.treeText()).toMatch(/^Ready for review, 1 child\n.+partial, incomplete/)

  await workbench.rowMenu(workbench.row(/Keep lying/), 'Apply…')
  await workbench.pick('Squash')
  await workbench.answerDialog('Apply all the same')
  await until('its work is on main', () => existsSync(path.join(repository.folder, 'notes.md')))

  await workbench.run('Coxswain: Open audit log')
  await workbench.page.locator('.tab', { hasText: 'audit' }).waitFor()
  const [checked] = (await coxswain(home, repository, 'audit', '--check')) as { broken: unknown; lines: number }[]
  expect(checked?.broken).toBe(null)
})

test('a verdict says when the worktree has changed since, and is made anew', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const id = await scriptedChild(
    home,
    repository,
    'Write it well',
    [{ write: { path: 'out.md', text: 'Sources\n' } }, { commit: 'Out' }],
    {
      contract: { ...contract, checks: [sources] },
    },
  )
  const panel = await showChild(workbench, 'Write it well')
  const verification = panel.locator('.verification')
  await verification.getByText('Checks: verified').waitFor()
  const [shown] = (await coxswain(home, repository, 'show', id)) as { worktree: { path: string } }[]
  const file = path.join(shown?.worktree.path ?? '', 'out.md')
  appendFileSync(file, 'more\n')
  await verification.getByText('Out of date: files of the worktree have changed since.').waitFor()
  await workbench.screenshot('contract-stale')
  writeFileSync(file, 'nothing\n')
  await panel.getByRole('button', { name: 'Verify again' }).first().click()
  await verification.getByText('Checks: partial, 1 check failed').waitFor()
  await expect.poll(() => verification.locator('.stale').count()).toBe(0)
  await workbench.screenshot('contract-again')

  // As tests: a failure at its file, and a run that verifies again.
  await workbench.rowMenu(workbench.row(/Write it well/), 'Show checks as tests')
  const tests = workbench.page.locator('.test-explorer')
  await tests.getByText('Write it well').waitFor()
  await workbench.screenshot('contract-tests')
  writeFileSync(file, 'Sources\n')
  await workbench.run('Test: Rerun Failed Tests')
  await verification.getByText('Checks: verified').waitFor()
  expect(readFileSync(file, 'utf8')).toBe('Sources\n')
})

test('a contract file is agreed to once, and again when it has changed; a template starts a child that is checked', async ({
  workbench,
  repository,
}) => {
  const file = path.join(repository.folder, 'job.coxswain.json')
  writeFileSync(file, JSON.stringify({ checks: [{ command: { argv: ['git', 'diff', '--quiet'] } }] }))
  await workbench.showContainer('Coxswain')
  const choose = async (goal: string): Promise<void> => {
    await newChild(workbench, goal, { contract: 'From a file…' })
    await workbench.pick('job.coxswain.json')
  }
  await choose('Write a tour into one.md')
  await expect
    .poll(() => workbench.dialog.innerText())
    .toMatch(/Use the contract in job[\s\S]+git diff --quiet exits with 0/)
  await workbench.answerDialog('Use this contract')
  await workbench.row(/Write a tour into one/).waitFor()
  await choose('Write a tour into two.md')
  await workbench.row(/Write a tour into two/).waitFor()
  writeFileSync(file, JSON.stringify({ checks: [{ command: { argv: ['git', 'status'] } }] }))
  await choose('Write a tour into three.md')
  await expect
    .poll(() => workbench.dialog.innerText())
    .toMatch(/It has changed since you agreed to it[\s\S]+git status exits with 0/)
  await workbench.answerDialog('Cancel')
  await workbench.pick('Research report')
  await workbench.answer('three.md', 'The file of the report')
  await workbench.row(/Write a tour into three/).waitFor()
})
