// The README's own agent must be what it says: a child in about twenty lines that takes a steer on the way.
import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { repository } from '../../../scripts/system.mjs'
import { makeRepository } from '../../e2e/harness/repository.js'

const [, script = ''] =
  /```sh\n(#!\/bin\/sh\n[\s\S]*?)```/.exec(readFileSync(path.join(repository, 'README.md'), 'utf8')) ?? []

let folder: string
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'readme-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the program of the README counts, takes one steer once, commits and claims success', async () => {
  const { git } = makeRepository(path.join(folder, 'worktree'))
  const control = path.join(folder, 'control')
  mkdirSync(control)
  const file = path.join(folder, 'tally.sh')
  writeFileSync(file, script, { mode: 0o755 })
  // A second is a long time here.
  mkdirSync(path.join(folder, 'bin'))
  writeFileSync(path.join(folder, 'bin/sleep'), '#!/bin/sh\nexec /bin/sleep 0.1\n', { mode: 0o755 })

  const child = spawn(file, {
    cwd: path.join(folder, 'worktree'),
    env: {
      PATH: `${path.join(folder, 'bin')}:${process.env.PATH ?? ''}`,
      COXSWAIN_CONTROL_DIR: control,
      COXSWAIN_SESSION_ID: 's-1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (bytes: Buffer) => {
    if (!out.includes('step 3') && String(out + bytes.toString()).includes('step 3')) {
      const steer = { id: 'steer-7', content: 'say "hello"', queued_at: '2026-01-01T00:00:00Z', steer: true }
      appendFileSync(path.join(control, 'prompt-queue.jsonl'), `${JSON.stringify(steer)}\n`)
    }
    out += bytes.toString()
  })
  const code = await new Promise((resolve) => child.once('close', resolve))

  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; text?: string; id?: string })
  expect(code).toBe(0)
  expect(lines.filter((line) => !/^step/.test(line.text ?? ''))).toEqual([
    { type: 'ready', session_id: 's-1' },
    { type: 'steer_taken', id: 'steer-7' },
    { type: 'text', text: 'noted' },
    { type: 'result', ok: true, summary: 'counted to ten' },
  ])
  expect(lines.filter((line) => /^step/.test(line.text ?? ''))).toHaveLength(10)
  expect(git('log', '--format=%s')).toBe('Count to ten\nBegin')
  expect(script.trim().split('\n').length).toBeLessThanOrEqual(22)
})
