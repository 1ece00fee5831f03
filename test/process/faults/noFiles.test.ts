// A process that has no file descriptor left, or that the system tells nothing: nobody is taken for dead because of it.
import { build } from 'esbuild'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { attemptFiles } from '../../../src/process/attemptFiles'
import { identityOf, isRunning, readStat, signalProcess } from '../../../src/process/identity'
import { readInputJournal } from '../../../src/process/inputJournal'
import { folder } from '../../unit/record/place'
import { failFiles, type Failing } from './failingFiles'

let failing: Failing | undefined
afterEach(() => failing?.stop())

/** In a process that may have few files open: takes all that are left, then looks around. */
const program = `
  import { openSync } from 'node:fs'
  import { findMembers } from './src/process/sweep'
  import { identityOf, isRunning } from './src/process/identity'
  const parent = identityOf(process.ppid)
  if (parent === undefined) throw new Error('no parent')
  let code = ''
  while (code === '') {
    try {
      openSync('/dev/null', 'r')
    } catch (error) {
      code = (error as { code: string }).code
    }
  }
  const stranger = { ...parent, startTime: '1' }
  const tree = { leader: undefined, marker: process.env['COXSWAIN_MARKER'] ?? '', pipes: [] }
  console.log(JSON.stringify([code, isRunning(parent), isRunning(stranger), findMembers(tree, false).length]))
`

it('with every file descriptor in use the process table is read all the same', async () => {
  const outfile = join(folder(), 'looks.js')
  const stdin = { contents: program, resolveDir: resolve('.'), loader: 'ts' } as const
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'cjs', target: 'node20' })
  // The shell that waits carries the marker too.
  const said = execFileSync('sh', ['-c', `ulimit -n 60; "${process.execPath}" "${outfile}"; true`], {
    env: { PATH: process.env['PATH'], COXSWAIN_MARKER: 'no-files.1' },
    encoding: 'utf8',
  })
  expect(JSON.parse(said)).toEqual(['EMFILE', true, false, 1])
})

it('what the system does not tell of a process is no death, and brings it no signal', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' })
  await once(child, 'spawn')
  const identity = identityOf(child.pid ?? 0)
  if (identity === undefined) throw new Error('it does not run')
  failing = failFiles('/proc', 'EMFILE', 1, Infinity)
  expect(() => readStat(identity.pid)).toThrow(/EMFILE/)
  expect([isRunning(identity), signalProcess(identity, 'SIGKILL')]).toEqual([true, false])
  failing.stop()
  expect([isRunning(identity), signalProcess(identity, 'SIGKILL')]).toEqual([true, true])
  await once(child, 'exit')
  expect(isRunning(identity)).toBe(false)
})

it('a journal that cannot be opened is not taken for an empty one', async () => {
  const attempt = realpathSync(folder())
  const frame = { seq: 1, at: 1, after: { stdout: 0, stderr: 0 }, text: 'steer' }
  expect(await readInputJournal(attempt)).toEqual([])
  writeFileSync(attemptFiles(attempt).input, `${JSON.stringify(frame)}\n`)
  failing = failFiles(attempt, 'EMFILE', 1)
  await expect(readInputJournal(attempt)).rejects.toThrow(/EMFILE/)
  expect(await readInputJournal(attempt)).toEqual([{ ...frame, id: undefined }])
})
