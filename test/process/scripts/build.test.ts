// What the build leaves behind, made in a copy of the sources so that it takes nothing from under other tests.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'build-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the build leaves a command line that runs by its own name, as its link does', () => {
  const parts = ['src', 'webview', 'scripts', 'l10n', 'media', 'package.json', 'package.nls.json', 'tsconfig.json']
  for (const part of parts) cpSync(part, path.join(folder, part), { recursive: true })
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'))
  symlinkSync('dist/cli.js', path.join(folder, 'coxswain'))
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: folder })
  expect(execFileSync('./coxswain', ['--version'], { cwd: folder, encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/)
})
