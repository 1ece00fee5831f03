// What a person does with children beyond the first walk: limits, files, suggestions, links, a whole subtree.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { accessibilityViolations } from './harness/axe.js'
import { installedCli } from './harness/commandLine.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { coxswain, layoutSaved, newChild, scriptedChild, showChild, stopAll } from './panelParts.js'

const spawning = { 'coxswain.orchestratorEnabled': true, 'coxswain.maxSpawnDepth': 2 }
const test = vscodeTest({
  settings: { ...spawning, 'coxswain.maxChildrenTotal': 1 },
  env: () => ({ COXSWAIN_DEMO_PACE_MS: '20' }),
})

const steersOf = async (...child: Parameters<typeof coxswain>): Promise<readonly string[]> => {
  const [shown] = (await coxswain(...child)) as { steers: { text: string }[] }[]
  return shown?.steers.map(({ text }) => text) ?? []
}

test('an agent that is not installed leads to how to get it and back, with the goal kept; the limit is raised on the way', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  await newChild(workbench, 'Ask me which file, then write about the pier')
  await expect.poll(() => workbench.treeText()).toMatch(/^Needs you, 1 child/)

  await workbench.run('Coxswain: New child…')
  await workbench.answer('Ask me which file, then write about the quay')
  await workbench.pick(/not installed|Check agents/)
  await workbench.quickPickRows.filter({ hasText: 'not installed' }).first().click()
  await workbench.toast(/nstall/).waitFor()
  await workbench.pick('Demo agent')
  await workbench.pick('No contract')
  await workbench
    .toast(/Ask me which file/)
    .getByRole('button', { name: 'Raise limit…' })
    .click()
  await workbench.answer('8', 'now 1')
  await expect.poll(() => workbench.treeText()).toMatch(/^Needs you, 2 children\n.+pier.+\n.+quay/)
  await stopAll(home, repository)
})

test('files that are dropped on a row, chosen in its menu or mentioned in the panel go along with a steer', async ({
  workbench,
  repository,
  home,
}) => {
  const { page } = workbench
  await workbench.showContainer('Coxswain')
  const id = await scriptedChild(home, repository, 'Mind the files', [{ say: 'Here.' }, { hang: 'here' }])
  const row = workbench.row(/Mind the files/)
  await expect.poll(() => workbench.treeText()).toMatch(/^Working, 1 child\n {2}Mind the files.+accepting steer/)
  await page.keyboard.press('Control+p')
  await workbench.input.fill('greet.js')
  await workbench.quickPickRows.filter({ hasText: 'greet.js' }).first().click()
  await page.locator('.tab', { hasText: 'greet.js' }).first().dragTo(row)
  await workbench.answer('Say Salut there.', '1 file goes along')
  const steers = () => steersOf(home, repository, 'show', id)
  await until('the first has come', async () => (await steers()).length === 1)

  await workbench.rowMenu(row, 'Steer with files…')
  await workbench.quickPickRows.filter({ hasText: 'README.md' }).waitFor()
  expect(await workbench.quickPickRows.filter({ hasText: 'README.md' }).innerText()).toBe('README.md')
  await workbench.pick('README.md')
  await page.locator('.quick-input-widget').getByText('1 Selected').waitFor()
  await page.keyboard.press('Enter')
  await workbench.answer('Read this first.', '1 file goes along')
  await until('the second has come', async () => (await steers()).length === 2)
  expect(await steers()).toEqual([
    'Say Salut there.\n\nFiles that go along:\n- src/greet.js',
    'Read this first.\n\nFiles that go along:\n- README.md',
  ])

  const panel = await showChild(workbench, 'Mind the files')
  const input = panel.getByLabel('Steer this child')
  await input.click()
  await page.keyboard.type('Look at @gre')
  const offered = panel.getByRole('listbox', { name: 'Files of its worktree' }).getByRole('option')
  await expect.poll(() => offered.allInnerTexts()).toEqual(['src/greet.js', 'test/greet.test.js'])
  expect(await accessibilityViolations(await workbench.webviewFrame())).toEqual([])
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => input.getAttribute('aria-activedescendant')).toBe('mention-1')
  await page.keyboard.press('Enter')
  expect(await input.inputValue()).toBe('Look at @test/greet.test.js ')
  await page.keyboard.type('and @src')
  await offered.first().waitFor()
  await page.keyboard.press('Escape')
  await offered.first().waitFor({ state: 'hidden' })
  await page.keyboard.press('Enter')
  await until('the third has come', async () => (await steers())[2] === 'Look at @test/greet.test.js and @src')
  await stopAll(home, repository)
})

test('a suggestion stands in the panel: one press does it, another takes it away', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const strays = [{ write: { path: 'lib/a.js', text: 'x\n' } }, { hang: 'here' }]
  const contract = { scope: ['docs/**'] }
  const wanders = await scriptedChild(home, repository, 'Wanders', strays, { contract })
  await scriptedChild(home, repository, 'Strays', strays, { contract })
  let panel = await showChild(workbench, 'Wanders')
  await panel.locator('.suggestion').getByText('Steer it?').waitFor()
  await workbench.screenshot('suggestion')
  await panel.locator('.suggestion').getByRole('button', { name: 'Steer it so' }).click()
  await panel.locator('.suggestion').waitFor({ state: 'hidden' })
  expect(await steersOf(home, repository, 'show', wanders)).toEqual([
    "Put lib/a.js back as it was, and change nothing outside of the contract's scope.",
  ])
  panel = await showChild(workbench, 'Strays')
  await panel.locator('.suggestion').getByRole('button', { name: 'Dismiss' }).click()
  await panel.locator('.suggestion').waitFor({ state: 'hidden' })
  await stopAll(home, repository)
})

test('a link opens a child and does nothing to it', async ({ workbench, repository, home }) => {
  await workbench.showContainer('Coxswain')
  const id = await scriptedChild(home, repository, 'Stay afloat', [{ say: 'Afloat.' }, { hang: 'here' }])
  await expect.poll(() => workbench.treeText()).toMatch(/^Working, 1 child/)
  await workbench.run('Developer: Open URL')
  await workbench.answer(`vscode://coxswain.coxswain/child/${id}?action=stop&command=coxswain.stop#stop`)
  await workbench.dialog.getByRole('button', { name: 'Open' }).click()
  await workbench.webview().getByRole('heading', { level: 1, name: 'Stay afloat' }).waitFor()
  expect(await workbench.treeText()).toMatch(/^Working, 1 child/)
  expect(await workbench.dialog.count()).toBe(0)
  await stopAll(home, repository)
})

test('a child and all it dispatched stay folded over a reload, and are stopped together after each was named', async ({
  workbench,
  repository,
  home,
}) => {
  const data = home.store
  mkdirSync(data, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(data, 'settings.json'), JSON.stringify(spawning))
  await workbench.showContainer('Coxswain')
  const hang = '```demo\n[{"hang":"here"}]\n```'
  const below = path.join(home.folder, 'below.json')
  writeFileSync(below, JSON.stringify({ tasks: [{ goal: `Row\n\n${hang}`, title: 'Row', agent: 'demo' }] }))
  const dispatch = [process.execPath, installedCli(home), 'run', '--task', below, '--detach']
  const id = await scriptedChild(home, repository, 'Steer the boat', [{ run: dispatch }, { hang: 'here' }], {
    role: 'orchestrator',
  })
  // What it dispatches is seen at once.
  await expect.poll(() => workbench.treeText()).toMatch(/^Working, 2 children\n {2}Steer the boat.+\n {4}Row/)
  const row = workbench.row(/Steer the boat/)
  await row.locator('.monaco-tl-twistie').click()
  const folded = /^Working, 2 children\n {2}Steer the boat.+$/
  await expect.poll(() => workbench.treeText()).toMatch(folded)
  await layoutSaved(workbench, String.raw`\"coxswain.closedRows\":[\"${id}\"]`)
  await workbench.reload()
  await workbench.showContainer('Coxswain')
  await row.waitFor()
  expect(await workbench.treeText(), 'what was closed stays closed').toMatch(folded)
  await workbench.rowMenu(row, 'Stop subtree…')
  await expect.poll(() => workbench.dialog.innerText()).toMatch(/Stop 2 children\?[\s\S]+• Steer the boat\s+• Row/)
  await workbench.answerDialog('Stop')
  await expect.poll(() => workbench.treeText()).toMatch(/^Finished, 2 children/)
  await until('nothing of either runs', () => home.processes().every(({ command }) => !/demoAgent/.test(command)))
})

test('checks of a contract that was changed since are not shown as tests, and why is told', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const id = await scriptedChild(home, repository, 'Deliver it', [{ write: { path: 'out.md', text: 'x\n' } }], {
    contract: { deliverables: [{ path: 'out.md', description: 'it' }] },
  })
  await expect.poll(() => workbench.treeText()).toMatch(/^Ready for review, 1 child\n.+verified/)
  const [shown] = (await coxswain(home, repository, 'show', id)) as { live_transcript: string }[]
  const file = path.join(path.dirname(shown?.live_transcript ?? ''), 'contract.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('out.md', 'in.md'))
  await workbench.rowMenu(workbench.row(/Deliver it/), 'Show checks as tests')
  await workbench.toast(/The contract of “?"?Deliver it/).waitFor()
  // VS Code shows its testing view once there is anything to show in it.
  expect(await workbench.viewContainer('Testing').count()).toBe(0)
})
