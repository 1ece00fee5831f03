// How new worktrees are made ready, agreed to in the window by somebody who was shown exactly what will run.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'
import { newChild } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '20' }) })

test('what the repository offers runs after it was shown and agreed to, and is asked about again once it changed', async ({
  workbench,
  repository,
}) => {
  const offer = (command: string[]): void => {
    mkdirSync(path.join(repository.folder, '.coxswain'), { recursive: true })
    writeFileSync(path.join(repository.folder, '.coxswain/setup.json'), JSON.stringify({ command }))
  }
  offer(['touch', 'made-ready'])
  await workbench.showContainer('Coxswain')
  await workbench.run('Coxswain: Set up worktrees…')
  await workbench.pick(/What this repository offers/)
  await workbench.dialog.filter({ hasText: 'runs touch made-ready (for at most 600 s)' }).waitFor()
  await workbench.answerDialog('Agree')

  const worktrees = (): string[] =>
    repository
      .git('worktree', 'list', '--porcelain')
      .split('\n')
      .filter((line) => line.startsWith('worktree '))
      .slice(1)
      .map((line) => line.slice('worktree '.length))
  await newChild(workbench, 'Describe this repository')
  await expect.poll(() => worktrees().some((tree) => existsSync(path.join(tree, 'made-ready')))).toBe(true)

  offer(['touch', 'something-else'])
  await workbench.run('Coxswain: New child…')
  await workbench.dialog.filter({ hasText: 'runs touch something-else' }).waitFor()
  await workbench.answerDialog('Cancel')
  expect(worktrees()).toHaveLength(1)
})
