import { execFileSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AppendFile } from '../../../src/record/appendFile'
import { LineFile } from '../../../src/record/lineFile'
import { folder } from './place'

async function linesOf(path: string, from = 0): Promise<string[]> {
  const lines: string[] = []
  await new LineFile(path, from).readNew((line) => lines.push(line))
  return lines
}

describe('a file that only grows', () => {
  it('cut at every byte of its last record takes the next record whole, and loses no other', async () => {
    const path = join(folder(), 'log')
    const records = ['{"n":1}', '{"n":2,"text":"€"}', '{"n":3,"text":"last"}']
    const whole = `${records.join('\n')}\n`
    const bytes = Buffer.byteLength(whole)
    const last = Buffer.byteLength(records[2] ?? '') + 1
    for (let cut = 0; cut <= last; cut++) {
      writeFileSync(path, whole)
      truncateSync(path, bytes - cut)
      const file = await AppendFile.open(path)
      expect([cut, file.cutBytes]).toEqual([cut, cut === 0 || cut === last ? 0 : last - cut])
      await file.append(['{"n":4}'], false)
      await file.close()
      const kept = cut === 0 ? records : records.slice(0, 2)
      expect([cut, await linesOf(path)]).toEqual([cut, [...kept, '{"n":4}']])
    }
  })

  it('cuts a torn line that is longer than a block, and a file that is one torn line', async () => {
    const path = join(folder(), 'log')
    writeFileSync(path, `${'a'.repeat(100_000)}\n${'x'.repeat(200_000)}`)
    const file = await AppendFile.open(path)
    expect([file.cutBytes, file.size]).toEqual([200_000, 100_001])
    await file.close()
    writeFileSync(path, 'x'.repeat(200_000))
    const other = await AppendFile.open(path)
    expect([other.cutBytes, other.size, statSync(path).size]).toEqual([200_000, 0, 0])
    await other.close()
  })

  it('keeps the order of appends that nobody waited for', async () => {
    const path = join(folder(), 'log')
    const file = await AppendFile.open(path)
    await Promise.all(Array.from({ length: 200 }, (_, n) => file.append([`${n}a`, `${n}b`], n % 50 === 0)))
    await file.close()
    expect(await linesOf(path)).toEqual(Array.from({ length: 200 }, (_, n) => [`${n}a`, `${n}b`]).flat())
  })

  it('is handed over when it is closed without waiting', async () => {
    const path = join(folder(), 'log')
    const file = await AppendFile.open(path)
    const appended = file.append(['one'], true)
    await file.close()
    await appended
    expect(await linesOf(path)).toEqual(['one'])
    await expect(file.append(['two'], false)).rejects.toThrow()
  })

  it('that rests holds no descriptor, goes on where it ended, and is not made anew when it was removed', async () => {
    const path = join(folder(), 'log')
    const file = await AppendFile.open(path)
    const held = (): number =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`) === path
        } catch {
          return false
        }
      }).length
    await file.append(['one'], true)
    expect(held()).toBe(1)
    await file.rest()
    expect(held()).toBe(0)
    await file.append(['two'], true)
    expect([held(), file.size, await linesOf(path)]).toEqual([1, 8, ['one', 'two']])
    await file.rest()
    rmSync(path)
    await expect(file.append(['three'], true)).rejects.toThrow('ENOENT')
    expect(existsSync(path)).toBe(false)
    await file.close()
  })

  it('is private whatever the umask, and is never followed through a link', async () => {
    const place = folder()
    const before = process.umask(0)
    try {
      const file = await AppendFile.open(join(place, 'log'))
      await file.close()
    } finally {
      process.umask(before)
    }
    expect(statSync(join(place, 'log')).mode & 0o777).toBe(0o600)
    symlinkSync(join(place, 'elsewhere'), join(place, 'link'))
    await expect(AppendFile.open(join(place, 'link'))).rejects.toThrow(/ELOOP/)
    expect(existsSync(join(place, 'elsewhere'))).toBe(false)
  })
})

describe('reading lines', () => {
  it('hands over each line once, as it becomes whole', async () => {
    const path = join(folder(), 'log')
    const reader = new LineFile(path)
    const lines: string[] = []
    const read = async () => {
      let restarted = false
      await reader.readNew(
        (line) => lines.push(line),
        () => (restarted = true),
      )
      return [restarted, ...lines.splice(0)]
    }
    expect(await read()).toEqual([false])
    writeFileSync(path, 'one\ntw')
    expect(await read()).toEqual([false, 'one'])
    writeFileSync(path, 'one\ntwo\n\nthree')
    expect(await read()).toEqual([false, 'two', ''])
    expect(await read()).toEqual([false])
    writeFileSync(path, 'one\ntwo\n\nthree\n')
    expect(await read()).toEqual([false, 'three'])
    writeFileSync(path, 'new\n')
    expect(await read()).toEqual([true, 'new'])
  })

  it('stops where it is told to, with the place of each line', async () => {
    const path = join(folder(), 'log')
    writeFileSync(path, 'a\nbb\nccc\n')
    const reader = new LineFile(path)
    const starts: [string, number][] = []
    await reader.readNew((line, start) => {
      starts.push([line, start])
      return line !== 'bb'
    })
    expect([starts, reader.offset]).toEqual([
      [
        ['a', 0],
        ['bb', 2],
      ],
      5,
    ])
    expect(await linesOf(path, reader.offset)).toEqual(['ccc'])
  })

  it('takes lines across blocks whole: long ones, many-byte characters, runs of NUL', async () => {
    const path = join(folder(), 'log')
    const block = 256 * 1024
    const lines = ['x'.repeat(block - 2), '€'.repeat(block), '\0'.repeat(5_000), '', 'end']
    writeFileSync(path, `${lines.join('\n')}\n`)
    const found = await linesOf(path)
    expect(found.map((line) => line.length)).toEqual(lines.map((line) => line.length))
    expect(found.every((line, n) => line === lines[n])).toBe(true)
  })

  it('does not read through a link', async () => {
    const place = folder()
    writeFileSync(join(place, 'log'), 'secret\n')
    symlinkSync(join(place, 'log'), join(place, 'link'))
    await expect(linesOf(join(place, 'link'))).rejects.toThrow(/ELOOP/)
  })
})

it('a FIFO in its place takes nothing that nobody would keep', async () => {
  const path = join(folder(), 'log')
  execFileSync('mkfifo', [path])
  await expect(AppendFile.open(path)).rejects.toThrow(`${path} is no ordinary file.`)
})
