// Makes git repositories for tests, with a history of one commit and an author of their own.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** A repository on disk: its folder, and git run inside it (returns what git printed, trimmed). */
export interface Repository {
  readonly folder: string
  git(...args: string[]): string
}

/** The files of a repository by relative path. */
export type Files = Record<string, string>

const someFiles: Files = {
  'README.md': '# Greeter\n\nSays hello.\n',
  'src/greet.js': 'export const greet = (name) => `Hello, ${name}`\n',
  'test/greet.test.js':
    "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { greet } from '../src/greet.js'\n\ntest('greets by name', () => assert.equal(greet('Ada'), 'Hello, Ada'))\n",
}

/**
 * @param folder to be made, or empty
 * @param files committed as the first commit; an empty record leaves the repository without a commit
 */
export function makeRepository(folder: string, files: Files = someFiles): Repository {
  mkdirSync(folder, { recursive: true })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Test Author')
  git('config', 'user.email', 'author@example.invalid')
  git('config', 'commit.gpgsign', 'false')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  if (Object.keys(files).length > 0) {
    git('add', '--all')
    git('commit', '--quiet', '--no-verify', '-m', 'Begin')
  }
  return { folder, git }
}
