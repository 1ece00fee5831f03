// Makes the sample git repository that `npm start` opens: a small project with tests and three commits of history.
// Must never touch a folder that holds anything already.
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Refusal, run } from './system.mjs'

const source = fileURLToPath(new URL('sample', import.meta.url))

const history = [
  { message: 'Moor boats in berths', files: ['package.json', 'src/harbour.js', 'test/harbour.test.js'] },
  { message: 'Tell the depth of the water', files: ['src/tides.js', 'test/tides.test.js'] },
  { message: 'Say what the library does and what is wished for', files: ['README.md'] },
]

/**
 * @param {string} folder new or empty
 * @throws {Refusal} when it holds something, or git fails
 */
export function makeSampleRepository(folder) {
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).length > 0) throw new Refusal(`${folder} is not empty: no sample repository is made there`)
  /** @param {string[]} args */
  const git = (...args) => run('git', args, { cwd: folder })
  git('init', '--quiet', '--initial-branch=main')
  // The sample commits by its own name, whatever the person's git settings are, and agents in it can commit too.
  git('config', 'user.name', 'Harbour Master')
  git('config', 'user.email', 'harbour@example.invalid')
  git('config', 'commit.gpgsign', 'false')
  for (const { message, files } of history) {
    for (const file of files) cpSync(path.join(source, file), path.join(folder, file))
    git('add', '--', ...files)
    git('commit', '--quiet', '--no-verify', '-m', message)
  }
}
