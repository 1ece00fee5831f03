// The test server's process group must end with whoever started it, however that one dies.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { processes } from '../../../scripts/vscode/server.mjs'
import { until } from '../../e2e/harness/until.js'

const leaderFile = fileURLToPath(new URL('../../../scripts/vscode/groupLeader.mjs', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'leader-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A server that ignores the polite signal and has a child that does so too. */
const stubborn = `
  process.on('SIGTERM', () => {})
  require('node:child_process').spawn('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 60; done'], { stdio: 'inherit' })
  setInterval(() => {}, 60000)
`

/** A process that starts a leader as the test server's starter does, and writes the leader's pid to a file. */
const starter = `
  const { spawn } = require('node:child_process')
  const [leader, file] = process.argv.slice(1)
  const child = spawn(process.execPath, [leader, process.execPath, '-e', ${JSON.stringify(stubborn)}], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdout.on('data', (bytes) => { if (String(bytes).includes('ready')) require('node:fs').writeFileSync(file, String(child.pid)) })
`

const membersOf = (group: number) => processes().filter((one) => one.group === group).length

async function startStarter(): Promise<{ process: ChildProcess; group: number }> {
  const file = path.join(folder, 'pid')
  writeFileSync(file, '')
  const child = spawn(process.execPath, ['-e', starter, leaderFile, file], { stdio: 'inherit' })
  const group = await until('the group is up', () => Number(readFileSync(file, 'utf8')) || undefined)
  return { process: child, group }
}

test('the whole group is killed when its starter is killed, though it ignores the polite signal', async () => {
  const started = await startStarter()
  expect(membersOf(started.group)).toBeGreaterThanOrEqual(3)
  started.process.kill('SIGKILL')
  await until('the group is empty', () => membersOf(started.group) === 0)
})

test('a signal to the leader ends the whole group', async () => {
  const started = await startStarter()
  process.kill(started.group, 'SIGTERM')
  await until('the group is empty', () => membersOf(started.group) === 0)
  started.process.kill('SIGKILL')
})

test('the group ends when its server ends by itself, children left behind included', async () => {
  const script = `require('node:child_process').spawn('sleep', ['60'], { stdio: 'ignore' }); setTimeout(() => process.exit(3), 50)`
  const leader = spawn(process.execPath, [leaderFile, process.execPath, '-e', script], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let said = ''
  leader.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()))
  await new Promise((resolve) => leader.once('close', resolve))
  expect(said).toBe('VS Code ended (exit code 3)\n')
  expect(membersOf(leader.pid ?? 0)).toBe(0)
})
