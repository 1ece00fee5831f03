// A window with several folders: one repository at a time, chosen by the person and remembered, the others named.
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { makeRepository } from './harness/repository.js'
import type { TestHome } from './harness/testHome.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { newChild, stopAll } from './panelParts.js'

const answersFile = (home: TestHome) => path.join(home.folder, 'answers.jsonl')
const test = vscodeTest({ sample: true, env: (home) => ({ COXSWAIN_SAMPLE_ANSWERS: answersFile(home) }) })

test('of several folders the chosen one is shown, and again after a reload', async ({ workbench, home }) => {
  const folder = mkdtempSync(path.join(home.folder, 'both-'))
  const [port, wharf] = ['port', 'wharf'].map((name) => makeRepository(path.join(folder, name)))
  if (port === undefined || wharf === undefined) throw new Error('no repositories')
  const file = path.join(folder, 'both.code-workspace')
  writeFileSync(file, JSON.stringify({ folders: [{ path: port.folder }, { path: wharf.folder }] }))
  await workbench.openWorkspace(file)
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('the children of one repository are shown at a time').waitFor()
  // Another extension has a child in the one that is shown first.
  const answered = (): unknown[] =>
    existsSync(answersFile(home))
      ? readFileSync(answersFile(home), 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown)
      : []
  const launch = async (goal: string, so: number): Promise<void> => {
    await workbench.run('Sample: Launch a child')
    await workbench.answer(`Ask me which file, then ${goal}`)
    await until('it is launched', () => answered().length === so)
    expect(answered()[so - 1]).toHaveProperty('handle')
  }
  const branches = (repository: typeof port): number =>
    repository.git('branch', '--list', 'coxswain/*').split('\n').filter(Boolean).length
  await launch('mend the pier', 1)
  await until('its branch', () => branches(port) === 1)
  await workbench.row(/mend the pier, needs you/).waitFor()
  await workbench.run('Coxswain: Choose repository…')
  await workbench.pick('wharf')
  await workbench.sideBar.getByText('No children yet').waitFor()
  // A new child works in the one that is shown.
  await newChild(workbench, 'List the free berths')
  await until('its branch', () => wharf.git('branch', '--list', 'coxswain/*').includes('list-the-free-berths'))
  // Its panel takes the focus when it comes, and would close what the next command asks.
  await workbench.webview().getByRole('heading', { level: 1, name: 'List the free berths' }).waitFor()
  // So does what an extension launches now; the handle of the other still opens its child.
  await launch('count the sacks', 2)
  await until('its branch', () => branches(wharf) === 2)
  expect(branches(port)).toBe(1)
  await workbench.row(/count the sacks, needs you/).waitFor()
  await workbench.run('Sample: States of its children')
  await until('its states', () => answered().length === 3)
  expect(answered()[2]).toEqual(['RUNNING', 'RUNNING'])
  await workbench.sideBar.getByText('Shows wharf, one of 2 folders.').waitFor()
  await workbench.reload()
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('Shows wharf, one of 2 folders.').waitFor()
  await workbench.run('Coxswain: Choose repository…')
  await workbench.pick('port')
  await workbench.row(/mend the pier, needs you/).waitFor()
  await stopAll(home, wharf)
  await stopAll(home, port)
})
