// A window with several folders: one repository at a time, chosen by the person and remembered, the others named.
import { mkdtempSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { makeRepository } from './harness/repository.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { newChild, stopAll } from './panelParts.js'

const test = vscodeTest()

test('of several folders the chosen one is shown, and again after a reload', async ({ workbench, home }) => {
  const folder = mkdtempSync(path.join(home.folder, 'both-'))
  const [port, wharf] = ['port', 'wharf'].map((name) => makeRepository(path.join(folder, name)))
  if (port === undefined || wharf === undefined) throw new Error('no repositories')
  const file = path.join(folder, 'both.code-workspace')
  writeFileSync(file, JSON.stringify({ folders: [{ path: port.folder }, { path: wharf.folder }] }))
  await workbench.openWorkspace(file)
  await workbench.viewContainer('Coxswain').click()
  await workbench.sideBar.getByText('the children of one repository are shown at a time').waitFor()
  await workbench.run('Coxswain: Choose repository…')
  await workbench.pick('wharf')
  await workbench.sideBar.getByText('No children yet').waitFor()
  // A new child works in the one that is shown.
  await newChild(workbench, 'List the free berths')
  await until('its branch', () => wharf.git('branch', '--list', 'coxswain/*').includes('list-the-free-berths'))
  expect(port.git('branch', '--list', 'coxswain/*')).toBe('')
  await workbench.sideBar.getByText('Shows wharf, one of 2 folders.').waitFor()
  await workbench.reload()
  await workbench.sideBar.getByText('Shows wharf, one of 2 folders.').waitFor()
  await workbench.run('Coxswain: Choose repository…')
  await workbench.pick('port')
  await workbench.sideBar.getByText('No children yet').waitFor()
  await stopAll(home, wharf)
})
