import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hashInside, openInside } from '../../../src/git/insideTree'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'coxswain-inside-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('nothing outside is read while folder and file are swapped for links in a loop', async () => {
  const root = join(folder, 'root')
  mkdirSync(join(folder, 'outside'))
  writeFileSync(join(folder, 'outside/file'), 'secret')
  mkdirSync(join(root, 'real'), { recursive: true })
  writeFileSync(join(root, 'real/file'), 'inside')
  symlinkSync('real', join(root, 'door'))
  const swapper = spawn(
    process.execPath,
    [
      '-e',
      `
      const fs = require('node:fs')
      const [root, outside] = process.argv.slice(1)
      console.log('swapping')
      for (;;) {
        for (const target of [outside, 'real']) {
          fs.symlinkSync(target, root + '/door.next')
          fs.renameSync(root + '/door.next', root + '/door')
        }
        fs.renameSync(root + '/real', root + '/aside')
        fs.symlinkSync(outside, root + '/real')
        fs.unlinkSync(root + '/real')
        fs.renameSync(root + '/aside', root + '/real')
      }`,
      root,
      join(folder, 'outside'),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await new Promise((ready) => swapper.stdout.once('data', ready))
  const seen = new Map<string, number>()
  for (let turn = 0; turn < 10_000; turn++) {
    const path = turn % 2 === 0 ? 'door/file' : 'real/file'
    const opened = turn % 4 < 2 ? await openInside(root, path, 100) : await hashInside(root, path, 100)
    const what = opened.kind === 'file' && 'content' in opened ? opened.content.toString() : opened.kind
    seen.set(what, (seen.get(what) ?? 0) + 1)
  }
  const ended = new Promise((done) => swapper.once('exit', done))
  swapper.kill('SIGKILL')
  await ended
  expect(seen.get('secret')).toBeUndefined()
  // It was a race, not a walk in the park: both outcomes were met.
  expect(seen.get('inside') ?? 0).toBeGreaterThan(0)
  expect(seen.get('refused') ?? 0).toBeGreaterThan(0)
})

it('a path that is not plainly inside is refused, and a cut is a cut', async () => {
  mkdirSync(join(folder, 'root-sibling'))
  mkdirSync(join(folder, 'root'))
  writeFileSync(join(folder, 'root-sibling/x'), 'x')
  writeFileSync(join(folder, 'root/..hidden'), '0123456789')
  symlinkSync('../root-sibling', join(folder, 'root/out'))
  symlinkSync('../root-sibling/x', join(folder, 'root/link'))
  const root = join(folder, 'root')
  for (const path of [
    '../root-sibling/x',
    'out/x',
    '/etc/passwd',
    '',
    '.',
    'a/../../root-sibling/x',
    'x\0y',
    'a//b',
    'out',
  ]) {
    const opened = await openInside(root, path, 100)
    expect([path, opened.kind]).toEqual([path, path === 'out' ? 'link' : 'refused'])
  }
  expect(await openInside(root, 'link', 100)).toEqual({ kind: 'link', target: '../root-sibling/x' })
  expect(await openInside(root, 'absent/x', 100)).toEqual({ kind: 'absent' })
  expect(await openInside(root, '..hidden', 4)).toMatchObject({ kind: 'file', size: 10, content: Buffer.from('0123') })
  expect(await hashInside(root, '..hidden', 4)).toMatchObject({ kind: 'refused', reason: 'too large' })
})
