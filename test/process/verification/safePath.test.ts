import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  eachPiece,
  findInside,
  folderInside,
  openRoot,
  readInside,
  type Root,
} from '../../../src/verification/safePath'
import { defaultLimits } from '../../../src/verification/world'

let folder: string
let inside: string
let root: Root
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'paths-')))
  inside = join(folder, 'worktree')
  mkdirSync(inside)
  root = await openRoot(inside)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const look = async (path: string): Promise<string> => {
  const read = await readInside(root, path, defaultLimits, 1024)
  return read.ok ? read.bytes.toString() : `${read.problem}: ${read.reason}`
}

describe('what stands at a path', () => {
  test('a name that only looks like an escape is read', async () => {
    writeFileSync(join(inside, '..hidden'), 'a')
    mkdirSync(join(inside, '...'))
    writeFileSync(join(inside, '...', 'b'), 'b')
    expect([await look('..hidden'), await look('.../b')]).toEqual(['a', 'b'])
  })

  test('a path that leaves is refused before anything is opened, however it is spelled', async () => {
    writeFileSync(join(folder, 'secret'), 'secret')
    mkdirSync(join(inside, 'a'))
    for (const path of ['../secret', 'a/../../secret', '/etc/passwd', 'a\0b', '..'])
      expect(await look(path)).toMatch(/^outside: .*(leaves the worktree|NUL character); nothing outside is read$/)
  })

  test('a worktree that is itself reached through a link is one', async () => {
    writeFileSync(join(inside, 'a'), 'a')
    symlinkSync(inside, join(folder, 'link'))
    root = await openRoot(join(folder, 'link'))
    expect(await look('a')).toBe('a')
  })

  test('a sibling that shares the prefix is outside', async () => {
    mkdirSync(`${inside}-2`)
    writeFileSync(`${inside}-2/a`, 'secret')
    symlinkSync(`${inside}-2`, join(inside, 'b'))
    expect(await look('b/a')).toBe('outside: b/a is a link that leaves the worktree; nothing outside is read')
  })

  test('a FIFO without a writer and a device are refused without waiting', async () => {
    execFileSync('mkfifo', [join(inside, 'pipe')])
    symlinkSync('/dev/tty', join(inside, 'tty'))
    expect(await look('pipe')).toBe('not a file: pipe is a FIFO, not a regular file')
    expect(await look('tty')).toMatch(/^outside/)
  })

  test('a file beyond the limit is not read, one at the limit is', async () => {
    writeFileSync(join(inside, 'a'), 'x'.repeat(1024))
    writeFileSync(join(inside, 'b'), 'x'.repeat(1025))
    expect(await look('a')).toHaveLength(1024)
    expect(await look('b')).toBe('too large: b has 1.0 KiB; the limit is 1.0 KiB')
  })

  test('a folder for a command is one inside', async () => {
    mkdirSync(join(inside, 'pkg'))
    writeFileSync(join(inside, 'file'), '')
    symlinkSync(folder, join(inside, 'up'))
    expect(await folderInside(root, 'pkg', defaultLimits)).toEqual({ ok: true, path: join(inside, 'pkg') })
    expect(await folderInside(root, 'file', defaultLimits)).toMatchObject({ ok: false, reason: 'file is no folder' })
    expect(await folderInside(root, 'up', defaultLimits)).toMatchObject({ ok: false, problem: 'outside' })
    expect(await folderInside(root, 'none', defaultLimits)).toMatchObject({ ok: false, problem: 'absent' })
  })

  test('no handle stays open', async () => {
    writeFileSync(join(inside, 'a'), 'a')
    symlinkSync('/etc/passwd', join(inside, 'out'))
    const open = () =>
      execFileSync('ls', [`/proc/${process.pid}/fd`])
        .toString()
        .trim()
        .split('\n').length
    const before = open()
    for (let n = 0; n < 200; n++) {
      await look('a')
      await look('out')
      await look('none')
      await findInside(root, 'a', defaultLimits)
      await eachPiece(root, 'a', defaultLimits, () => undefined)
    }
    expect(open()).toBeLessThan(before + 50)
  })
})

/** Exchanges what stands at `dir` and `file` for links outside and back, as fast as it can, until it is ended. */
const swapper = `
const { renameSync, symlinkSync, writeFileSync, mkdirSync } = require('node:fs')
const [inside, outside] = process.argv.slice(1)
process.chdir(inside)
mkdirSync('dir'); writeFileSync('dir/file', 'inside')
symlinkSync(outside, 'dir.link')
writeFileSync('file', 'inside'); symlinkSync(outside + '/file', 'file.link')
process.stdout.write('ready\\n')
for (;;) {
  renameSync('dir', 'dir.real'); renameSync('dir.link', 'dir')
  renameSync('file', 'file.real'); renameSync('file.link', 'file')
  renameSync('dir', 'dir.link'); renameSync('dir.real', 'dir')
  renameSync('file', 'file.link'); renameSync('file.real', 'file')
}`

test('10,000 reads while links are swapped in beneath them: none of them reads outside', async () => {
  const outside = join(folder, 'outside')
  mkdirSync(outside)
  const secret = join(outside, 'file')
  writeFileSync(secret, 'SECRET')
  // Older than its last change, so that the disk notes the first read of it.
  utimesSync(secret, new Date(1_000_000), new Date(2_000_000))
  const child = spawn(process.execPath, ['-e', swapper, inside, outside], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await new Promise((ready) => child.stdout.once('data', ready))
    const seen = { inside: 0, outside: 0, refused: 0, absent: 0 }
    for (let n = 0; n < 10_000; n++) {
      const read = await readInside(root, n % 2 === 0 ? 'dir/file' : 'file', defaultLimits, 1024)
      if (read.ok) seen[read.bytes.toString() === 'inside' ? 'inside' : 'outside']++
      else seen[read.problem === 'absent' ? 'absent' : 'refused']++
    }
    console.log(
      `swap: 10,000 reads, ${seen.inside} inside, ${seen.refused} refused, ${seen.absent} absent at that moment, ${seen.outside} outside`,
    )
    expect(seen.outside).toBe(0)
    expect(statSync(secret).atimeMs).toBe(1_000_000)
    // The race was one: both sides of it were met, often.
    expect(Math.min(seen.inside, seen.refused)).toBeGreaterThan(100)
  } finally {
    child.kill('SIGKILL')
  }
})
