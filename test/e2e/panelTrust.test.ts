// Restricted Mode, counted: no program of ours runs and nothing of ours is read or written before trust.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { vscodeTest } from './harness/vscodeTest.js'

const test = vscodeTest({
  trust: false,
  env: (home) => {
    // A git that tells who called it, in front of the real one.
    const bin = path.join(home.folder, 'bin')
    mkdirSync(bin)
    writeFileSync(
      path.join(bin, 'git'),
      `#!/bin/sh\nprintf '%s\\n' "$GIT_LITERAL_PATHSPECS $*" >> '${home.folder}/git-calls'\nPATH="\${PATH#*:}" exec git "$@"\n`,
    )
    chmodSync(path.join(bin, 'git'), 0o755)
    // VS Code asks the login shell for PATH, and that one starts from the system's.
    writeFileSync(path.join(home.home, '.profile'), `PATH='${bin}':"$PATH"\nexport PATH\n`)
    return { PATH: `${bin}:${home.env.PATH ?? ''}` }
  },
})

/** Ours are told from the built-in git extension's by a variable that only we set. */
const ours = (folder: string): string[] => {
  const file = path.join(folder, 'git-calls')
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((call) => call.startsWith('1 '))
}

test('before trust no git, no process and no record; after it the tree opens', async ({ workbench, home }) => {
  await workbench.restrictedBanner.waitFor()
  await workbench.showContainer('Coxswain')
  await workbench.sideBar.getByText('Coxswain starts nothing in a folder you have not trusted').waitFor()
  expect(ours(home.folder)).toEqual([])
  expect(existsSync(home.store)).toBe(false)
  expect(home.processes().filter(({ command }) => /keeper-|demoAgent|cli\.js/.test(command))).toEqual([])

  await workbench.trustFolder()
  await workbench.run('Coxswain: New child…')
  await workbench.input.waitFor()
  await workbench.page.keyboard.press('Escape')
  await workbench.sideBar.getByText('No children yet').waitFor()
  // The same measure sees our calls once they are allowed: it would have seen them before.
  expect(ours(home.folder).length).toBeGreaterThan(0)
})
