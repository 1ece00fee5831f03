import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readEntry, type EntryBody } from '../../../src/core/transcript'
import { createWhole, writeThroughLink, writeWhole } from '../../../src/record/atomicWrite'
import { hearBells, Bell } from '../../../src/record/bell'
import { dataFolder, defaultStore, makeFolder, storePaths } from '../../../src/record/paths'
import { TranscriptFile } from '../../../src/record/transcriptFile'
import { folder } from './place'

function withoutUmask<T>(act: () => T): T {
  const before = process.umask(0)
  try {
    return act()
  } finally {
    process.umask(before)
  }
}

describe('whole files', () => {
  it('are replaced in one step, private, and leave nothing beside them', async () => {
    const place = folder()
    const path = join(place, 'file')
    await withoutUmask(() => writeWhole(path, 'one'))
    await Promise.all(Array.from({ length: 20 }, (_, n) => writeWhole(path, `${n}`.repeat(10_000))))
    const content = readFileSync(path, 'utf8')
    expect([new Set(content.match(/../g)).size <= 1 || new Set(content).size === 1, readdirSync(place)]).toEqual([
      true,
      ['file'],
    ])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('keep what was there when they cannot be placed, and leave nothing half-written', async () => {
    const place = folder()
    mkdirSync(join(place, 'file'))
    writeFileSync(join(place, 'file', 'inside'), 'kept')
    await expect(writeWhole(join(place, 'file'), 'new')).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY/)
    expect([readdirSync(place), readFileSync(join(place, 'file', 'inside'), 'utf8')]).toEqual([['file'], 'kept'])
    await expect(writeWhole(join(place, 'nowhere', 'file'), 'x')).rejects.toThrow(/ENOENT/)
  })

  it('of a person are replaced where a link to them leads, or made there, and the link stays', async () => {
    const place = folder()
    const [there, missing] = [join(place, 'there'), join(place, 'kept', 'missing')]
    writeFileSync(there, 'old', { mode: 0o640 })
    symlinkSync('there', join(place, 'a'))
    symlinkSync(missing, join(place, 'b'))
    symlinkSync('b', join(place, 'c'))
    symlinkSync('loop', join(place, 'loop'))
    await writeThroughLink(join(place, 'a'), 'new')
    await writeThroughLink(join(place, 'c'), 'made')
    await writeThroughLink(join(place, 'plain'), 'mine')
    await expect(writeThroughLink(join(place, 'loop'), 'x')).rejects.toThrow(/leads to itself/)
    expect(readdirSync(place).sort()).toEqual(['a', 'b', 'c', 'kept', 'loop', 'plain', 'there'])
    expect(['a', 'b', 'c', 'loop'].map((name) => lstatSync(join(place, name)).isSymbolicLink())).not.toContain(false)
    expect([there, missing, join(place, 'plain')].map((path) => readFileSync(path, 'utf8'))).toEqual([
      'new',
      'made',
      'mine',
    ])
    expect([there, missing].map((path) => statSync(path).mode & 0o777)).toEqual([0o640, 0o600])
  })

  it('that somebody made read-only, or that are no files, are left as they are, also behind a link', async () => {
    const place = folder()
    const locked = join(place, 'locked')
    writeFileSync(locked, 'theirs', { mode: 0o444 })
    symlinkSync(locked, join(place, 'link'))
    mkdirSync(join(place, 'folder'))
    execFileSync('mkfifo', [join(place, 'fifo')])
    for (const name of ['locked', 'link', 'folder', 'fifo'])
      await expect(writeThroughLink(join(place, name), 'new')).rejects.toThrow(/is read-only or no file.* try again\.$/)
    expect([readFileSync(locked, 'utf8'), readdirSync(place).sort()]).toEqual([
      'theirs',
      ['fifo', 'folder', 'link', 'locked'],
    ])
  })

  it('are created by exactly one of many at once, whole and with its content', async () => {
    const place = folder()
    for (let round = 0; round < 10; round++) {
      const path = join(place, `file-${round}`)
      const contents = Array.from({ length: 12 }, (_, n) => `${n}`.repeat(5_000))
      const made = await withoutUmask(() => Promise.all(contents.map((content) => createWhole(path, content))))
      expect(made.filter(Boolean)).toHaveLength(1)
      expect(readFileSync(path, 'utf8')).toBe(contents[made.indexOf(true)])
      expect(statSync(path).mode & 0o777).toBe(0o600)
    }
    expect(readdirSync(place)).toHaveLength(10)
  })

  it('are not created through a link, even one that leads nowhere', async () => {
    const place = folder()
    symlinkSync(join(place, 'elsewhere'), join(place, 'link'))
    expect(await createWhole(join(place, 'link'), 'x')).toBe(false)
    expect(existsSync(join(place, 'elsewhere'))).toBe(false)
  })
})

describe('folders', () => {
  it('are private with all the parents that were made for them', () => {
    const place = folder()
    withoutUmask(() => makeFolder(join(place, 'a', 'b', 'c')))
    expect(['a', 'a/b', 'a/b/c'].map((name) => statSync(join(place, name)).mode & 0o777)).toEqual([0o700, 0o700, 0o700])
    makeFolder(join(place, 'a', 'b', 'c'))
  })

  it('are refused where a link, a file or a folder open to others stands', () => {
    const place = folder()
    mkdirSync(join(place, 'open'))
    chmodSync(join(place, 'open'), 0o750)
    mkdirSync(join(place, 'target'), { mode: 0o700 })
    symlinkSync(join(place, 'target'), join(place, 'link'))
    writeFileSync(join(place, 'file'), '')
    for (const name of ['open', 'link'])
      expect(() => makeFolder(join(place, name))).toThrow(
        /is not a private folder of this user\. Remove it or make it 0700/,
      )
    expect(() => makeFolder(join(place, 'file'))).toThrow(/EEXIST/)
  })
})

describe('places', () => {
  it('of one repository are the same for every checkout, and differ from every other-s', () => {
    expect(defaultStore('/d', '/home/a/My Repo!/.git')).toMatch(/^\/d\/stores\/my-repo-[0-9a-f]{12}$/)
    expect(defaultStore('/d', '/home/a/x/.git')).not.toBe(defaultStore('/d', '/home/b/x/.git'))
    expect(defaultStore('/d', '/srv/bare.git')).toMatch(/^\/d\/stores\/bare-git-/)
    expect(defaultStore('/d', '/…/.git')).toMatch(/^\/d\/stores\/repo-/)
  })

  it('of data follow the environment', () => {
    expect([
      dataFolder({ COXSWAIN_DATA_DIR: '/x' }),
      dataFolder({ COXSWAIN_DATA_DIR: '', XDG_DATA_HOME: '/y' }),
    ]).toEqual(['/x', process.platform === 'darwin' ? expect.any(String) : '/y/coxswain'])
  })

  it('of sockets are short however deep the store lies', () => {
    const deep = `/${'very-long-folder-name/'.repeat(8)}store`
    const names = [storePaths('/short').sockets, storePaths(deep).sockets, storePaths(`${deep}2`).sockets]
    for (const name of names) expect(Buffer.byteLength(`${name}/owner-12345678.sock`)).toBeLessThanOrEqual(103)
    expect(new Set(names).size).toBe(3)
  })
})

describe('the transcript', () => {
  const at = '2026-01-01T00:00:00.000Z'
  const said = (text: string, end: number) => ({
    at,
    attempt: 1,
    body: { kind: 'text', text } satisfies EntryBody,
    cursor: { source: 'stdout' as const, end },
  })

  it('counts from 0 without a gap over owners, knows how far the raw output was told, and cuts a torn tail', async () => {
    const place = folder()
    const [path, log] = [join(place, 't.jsonl'), join(place, 'task-0.log')]
    const open = () => TranscriptFile.open(path, log, (words) => expect.fail(words))
    const first = await open()
    await first.say(['header'])
    await first.append([said('one', 10), said('two', 20)])
    await first.close()
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"n":2,"at":"${at}","attempt":1,"kind":"te`)
    const second = await open()
    expect([second.cursor(1), second.cursor(2)]).toEqual([
      { stdout: 20, stderr: 0 },
      { stdout: 0, stderr: 0 },
    ])
    await second.append([said('three', 30)])
    await second.close()
    const entries = readFileSync(path, 'utf8').trim().split('\n').map(readEntry)
    expect(entries.map((entry) => [entry?.n, entry?.kind === 'text' && entry.text])).toEqual([
      [0, 'one'],
      [1, 'two'],
      [2, 'three'],
    ])
    expect(readFileSync(log, 'utf8').split('\n')).toEqual([
      'header',
      `${at} says: one`,
      `${at} says: two`,
      `${at} says: three`,
      '',
    ])
  })

  it('that cannot be written is reported once, and rejects nothing', async () => {
    const place = folder()
    const troubles: string[] = []
    const file = await TranscriptFile.open(join(place, 't'), join(place, 'l'), (words) => troubles.push(words))
    await file.close()
    await file.append([said('one', 1)])
    await file.append([said('two', 2)])
    expect([troubles.length, troubles[0]]).toEqual([
      1,
      expect.stringMatching(/^The transcript could not be written: .*The child goes on\.$/),
    ])
    expect(readFileSync(join(place, 't'), 'utf8')).toBe('')
  })
})

describe('bells', () => {
  it('are heard by the name of the child, and never throw for a folder that is gone', async () => {
    const place = folder()
    const heard = new Promise<string>((resolve, reject) => {
      const ears = hearBells(
        place,
        (id) => {
          ears.dispose()
          resolve(id)
        },
        () => reject(new Error('deaf')),
      )
    })
    new Bell(place).ring('c1')
    expect(await heard).toBe('c1')
    new Bell(join(place, 'gone')).ring('c1')
    let deaf = false
    hearBells(
      join(place, 'gone'),
      () => undefined,
      () => (deaf = true),
    ).dispose()
    expect(deaf).toBe(true)
  })
})
