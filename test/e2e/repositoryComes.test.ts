// A folder that becomes a repository while the window is open: noticed without anybody asking again.
import { mkdtempSync } from 'node:fs'
import path from 'node:path'
import { makeRepository } from './harness/repository.js'
import { vscodeTest } from './harness/vscodeTest.js'

const test = vscodeTest()

test('git init and the first commit are noticed by themselves', async ({ workbench, home }) => {
  const folder = mkdtempSync(path.join(home.folder, 'no-repository-yet-'))
  await workbench.open(folder)
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('This folder is not a git repository').waitFor()
  const repository = makeRepository(folder, {})
  await workbench.sideBar.getByText('This repository has no commit yet').waitFor()
  repository.git('commit', '--quiet', '--allow-empty', '--no-verify', '-m', 'Begin')
  await workbench.sideBar.getByText('No children yet').waitFor()
})
