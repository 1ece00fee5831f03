import { execFileSync, spawn } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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

  test('a name in other letter case is told', async () => {
    writeFileSync(join(inside, 'README.MD'), 'a')
    mkdirSync(join(inside, 'docs'))
    writeFileSync(join(inside, 'docs', 'e\u0301.md'), 'a')
    expect(await look('readme.md')).toBe('absent: there is no file readme.md, but there is README.MD')
    expect(await look('docs/\u00c9.md')).toBe('absent: there is no file docs/\u00c9.md, but there is docs/e\u0301.md')
    expect(await look('none.md')).toBe('absent: there is no file none.md')
  })

  test('a removed file that somebody keeps open is no file of the worktree', async () => {
    const kept = openSync(join(inside, 'kept'), 'w+')
    writeFileSync(kept, 'only in memory')
    unlinkSync(join(inside, 'kept'))
    symlinkSync(`/proc/${process.pid}/fd/${kept}`, join(inside, 'a'))
    expect(await look('a')).toBe('moved: a was removed while it was looked at')
    closeSync(kept)
  })

  test('every handle is closed, whatever was found', async () => {
    writeFileSync(join(inside, 'a'), 'a')
    writeFileSync(join(inside, 'big'), 'x'.repeat(2_000))
    mkdirSync(join(inside, 'folder'))
    symlinkSync('/etc/passwd', join(inside, 'out'))
    const warnings: string[] = []
    const warned = (warning: Error) => warnings.push(warning.message)
    process.on('warning', warned)
    for (let n = 0; n < 50; n++) {
      for (const path of ['a', 'big', 'folder', 'out', 'none', 'A']) await look(path)
      await findInside(root, 'a', defaultLimits)
      await eachPiece(root, 'a', defaultLimits, () => undefined)
      await folderInside(root, 'folder', defaultLimits)
    }
    // A handle that is forgotten is closed by the collector, with a warning.
    setFlagsFromString('--expose-gc')
    ;(runInNewContext('gc') as () => void)()
    await new Promise((next) => setImmediate(next))
    await new Promise((next) => setImmediate(next))
    process.off('warning', warned)
    expect(warnings).toEqual([])
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
