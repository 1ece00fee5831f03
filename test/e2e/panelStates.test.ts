// The panel through what happens to windows: other owners, questions, hiding, reloading. Children are dispatched from a
// terminal, so the window is a reader of a store that somebody else owns.
import { writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { accessibilityViolations } from './harness/axe.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { everyTheme } from './harness/workbench.js'
import { coxswain, layoutSaved, newChild, rowsOf, said, scriptedChild, showChild, stopAll } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '20' }) })

test('a child started in a terminal is seen, steered and stopped in the window', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const gate = `${home.folder}/gate-lamps`
  const steps = [{ say: 'Counting.' }, { wait: { file: gate } }, { say: 'Counted.' }, { hang: 'here' }]
  await scriptedChild(home, repository, 'Count the lamps', steps)
  const panel = await showChild(workbench, 'Count the lamps')
  await said(panel, 'Counting.').waitFor()
  // The log scrolls; the page around it has no second bar.
  const frame = await workbench.webviewFrame()
  expect(
    await frame.evaluate<number>('document.documentElement.scrollHeight - document.documentElement.clientHeight'),
  ).toBe(0)

  const input = panel.getByLabel('Steer this child')
  await input.fill('Count the buoys\ninstead.')
  await input.press('Enter')
  await panel.locator('.waiting .state').filter({ hasText: 'sent' }).waitFor()
  writeFileSync(gate, '')
  await panel.locator('.waiting .state').filter({ hasText: 'confirmed' }).waitFor()
  await panel.locator('.card.steer').getByText('Count the buoys').waitFor()

  await panel.getByRole('button', { name: 'Stop…' }).click()
  await workbench.answerDialog('Stop')
  await panel.locator('.phase').filter({ hasText: 'stopped' }).waitFor()
  await until('nothing of it runs', () => home.processes().every(({ command }) => !/demoAgent/.test(command)))
})

test('a question waits in the record: it is there after a reload, and the answer reaches the child', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  await newChild(workbench, 'Ask me which file, then write about the pier')
  let panel = workbench.webview()
  await panel.locator('.request').getByText('You wanted to be asked').waitFor()
  await expect
    .poll(() => workbench.treeText())
    .toMatch(/^Needs you, 1 child\n {2}Ask me which file.+needs you: asks: You/)
  await workbench.statusBarItem('1 needs you').waitFor()
  await panel.getByLabel('Steer this child').fill('half a thought')
  await layoutSaved(workbench, 'half a thought')
  const group = workbench.row(/^Needs you, 1 child/)
  await group.click()
  await expect.poll(() => workbench.treeText()).toBe('Needs you, 1 child')
  await layoutSaved(workbench, String.raw`\"finished\",\"needsYou\"`)
  await workbench.reload()

  panel = workbench.webview()
  await panel.locator('.request').getByText('You wanted to be asked').waitFor()
  expect(await panel.getByLabel('Steer this child').inputValue()).toBe('half a thought')
  await workbench.showContainer('Coxswain')
  await group.waitFor()
  expect(await workbench.treeText(), 'what was closed stays closed').toBe('Needs you, 1 child')
  await workbench.run('Coxswain: Answer next request')
  await workbench.pick('TOUR.md')
  await panel.locator('.row-answered').getByText('TOUR.md').waitFor()
  await panel.locator('.request').waitFor({ state: 'detached' })
  await panel.locator('.row-text').getByText('You answered').waitFor()
  await stopAll(home, repository)
})

test('what is said while the panel is hidden is there when it is shown: no gap, nothing twice', async ({
  workbench,
  repository,
  home,
}) => {
  await workbench.showContainer('Coxswain')
  const gate = `${home.folder}/gate-hidden`
  const lines = Array.from({ length: 120 }, (_, i) => ({ say: `Line ${i}.` }))
  const id = await scriptedChild(home, repository, 'Recite', [
    ...lines.slice(0, 3),
    { wait: { file: gate } },
    ...lines.slice(3),
    { hang: 'here' },
  ])
  const panel = await showChild(workbench, 'Recite')
  await said(panel, 'Line 2.').waitFor()

  await workbench.run('File: New Untitled Text File')
  await panel.locator('.scroller').waitFor({ state: 'hidden' })
  writeFileSync(gate, '')
  await until('the last line is in the record', async () => {
    const entries = (await coxswain(home, repository, 'transcript', id)) as { text?: string }[]
    return entries.some(({ text }) => text === 'Line 119.')
  })

  await workbench.row(/Recite/).click()
  await said(panel, 'Line 119.').waitFor()
  const scroller = panel.locator('.scroller')
  const seen = new Set<number>()
  for (const place of [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0]) {
    await scroller.evaluate((element, part) => (element.scrollTop = element.scrollHeight * part), place)
    await until('the rows in view have come', async () => (await panel.locator('.row-missing').count()) === 0)
    const here = (await rowsOf(panel)).flatMap((text) => /^Line (\d+)\.$/.exec(text)?.[1] ?? []).map(Number)
    expect(here).toEqual([...here].sort((a, b) => a - b))
    expect(new Set(here).size).toBe(here.length)
    for (const n of here) seen.add(n)
  }
  expect(seen.size).toBe(120)
  await stopAll(home, repository)
})

test('every theme is accessible, with everything a child can show', async ({ workbench, repository, home }) => {
  await workbench.showContainer('Coxswain')
  await scriptedChild(home, repository, 'Show it all', [
    { think: 'First I think.' },
    { say: 'I say **this**, `that`, and\n~~~\ncode\n~~~' },
    { run: ['git', 'status'] },
    { warn: 'careful' },
    { ask: { tool: 'Bash', input: { command: 'rm -rf build' } } },
    { hang: 'here' },
  ])
  const panel = await showChild(workbench, 'Show it all')
  await panel.locator('.request').getByText('rm -rf build').waitFor()
  await panel.getByLabel('Steer this child').fill('One more thing.')
  await panel.getByLabel('Steer this child').press('Enter')
  await panel.locator('.waiting .steer-line').first().waitFor()
  await panel.locator('.row-toolStarted summary').first().click()
  for (const theme of everyTheme) {
    await workbench.setTheme(theme)
    await workbench.screenshot(`panel-${theme}`)
    expect(await accessibilityViolations(await workbench.webviewFrame()), theme).toEqual([])
  }
  await stopAll(home, repository)
})
