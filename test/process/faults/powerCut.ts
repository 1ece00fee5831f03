// What a disk may hold after the power went in the middle of a history of changes: all that was synced, and of each later
// write all, nothing, its beginning, or rubbish. Names in a folder come back in the order they were given, up to some point.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nameIn, type FileChange } from './tracedFiles'

export type Random = () => number

/** Numbers in [0, 1), the same ones for the same seed. */
export function seeded(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

const sectorBytes = 512

interface Inode {
  content: Buffer
  /** Not on the medium yet. */
  pending: (FileChange & { op: 'write' | 'truncate' })[]
}

interface Folder {
  readonly names: Map<string, Inode | Folder>
  pending: (() => void)[]
}

const isFolder = (found: Inode | Folder): found is Folder => 'names' in found
const newFolder = (): Folder => ({ names: new Map(), pending: [] })

/** Writes below `target` what a power cut after `changes` may have left of the traced folder. */
export function cutPower(changes: readonly FileChange[], random: Random, target: string): void {
  // The same history twice: as every process saw it, and as the medium has it.
  const seen = new Map<string, Inode | Folder>([['', newFolder()]])
  const medium = seen.get('') as Folder
  const folderAt = (path: string): Folder => {
    const found = seen.get(path)
    if (found === undefined || !isFolder(found)) throw new Error(`no folder ${path} in the history`)
    return found
  }
  const inodeAt = (path: string): Inode => {
    const found = seen.get(path)
    if (found === undefined || isFolder(found)) throw new Error(`no file ${path} in the history`)
    return found
  }
  const rename = (path: string, found: Inode | Folder | undefined, former?: string): void => {
    const { folder, name } = nameIn(path)
    const names = folderAt(folder)
    names.pending.push(() => {
      if (former !== undefined) names.names.delete(nameIn(former).name)
      if (found === undefined) names.names.delete(name)
      else names.names.set(name, found)
    })
    if (former !== undefined) seen.delete(former)
    if (found === undefined) {
      for (const known of [...seen.keys()]) if (known === path || known.startsWith(`${path}/`)) seen.delete(known)
    } else seen.set(path, found)
  }
  for (const change of changes) {
    switch (change.op) {
      case 'create':
        rename(change.path, { content: Buffer.alloc(0), pending: [] })
        break
      case 'mkdir':
        rename(change.path, newFolder())
        break
      case 'remove':
        rename(change.path, undefined)
        break
      case 'link':
        rename(change.path, inodeAt(change.from))
        break
      case 'rename':
        rename(change.path, inodeAt(change.from), change.from)
        break
      case 'write':
      case 'truncate':
        inodeAt(change.path).pending.push(change)
        break
      case 'sync': {
        const found = seen.get(change.path)
        if (found === undefined) throw new Error(`no ${change.path} to sync in the history`)
        if (isFolder(found)) for (const act of found.pending.splice(0)) act()
        else {
          for (const write of found.pending.splice(0)) found.content = written(found.content, write)
        }
        break
      }
      case 'mark':
        break
      default:
        change satisfies never
    }
  }
  // Some cuts lose nothing, or everything that was not synced; most lose a mixture.
  const mood = random()
  const luck = mood < 0.1 ? 1 : mood < 0.25 ? 0 : random()
  lay(medium, target, { random, luck })
}

function lay(folder: Folder, target: string, chance: Chance): void {
  const kept =
    chance.luck === 1
      ? folder.pending.length
      : Math.floor(chance.random() * (folder.pending.length + 1) * Math.min(1, chance.luck * 2))
  for (const act of folder.pending.slice(0, kept)) act()
  mkdirSync(target, { recursive: true, mode: 0o700 })
  for (const [name, found] of folder.names) {
    const path = join(target, name)
    if (isFolder(found)) lay(found, path, chance)
    else writeFileSync(path, survived(found, chance), { mode: 0o600 })
  }
}

interface Chance {
  readonly random: Random
  /** How likely it is that a write made it to the medium. */
  readonly luck: number
}

function survived(file: Inode, { random, luck }: Chance): Buffer {
  let { content } = file
  for (const change of file.pending) {
    if (random() < luck) {
      content = written(content, change)
    } else if (change.op === 'write') {
      const fate = random()
      // Shortened; garbled; else dropped.
      if (fate < 0.3)
        content = written(content, {
          ...change,
          data: change.data.subarray(0, Math.floor(random() * change.data.length)),
        })
      else if (fate < 0.65) content = written(content, { ...change, data: garbled(change, random) })
    }
  }
  return content
}

/** Whole sectors of the medium are zero or hold what something else left there. */
function garbled({ at, data }: { at: number; data: Buffer }, random: Random): Buffer {
  const copy = Buffer.from(data)
  const first = Math.floor(at / sectorBytes)
  const last = Math.floor((at + data.length - 1) / sectorBytes)
  const victim = first + Math.floor(random() * (last - first + 1))
  for (let sector = first; sector <= last; sector++) {
    if (sector !== victim && random() < 0.5) continue
    const from = Math.max(0, sector * sectorBytes - at)
    const to = Math.min(copy.length, (sector + 1) * sectorBytes - at)
    const zero = random() < 0.5
    for (let i = from; i < to; i++) copy[i] = zero ? 0 : Math.floor(random() * 256)
  }
  return copy
}

/** The content with a change made; a hole is zeros. */
function written(content: Buffer, change: FileChange & { op: 'write' | 'truncate' }): Buffer {
  if (change.op === 'truncate') {
    if (change.size <= content.length) return content.subarray(0, change.size)
    return Buffer.concat([content, Buffer.alloc(change.size - content.length)])
  }
  if (change.data.length === 0) return content
  const end = change.at + change.data.length
  const result = Buffer.alloc(Math.max(content.length, end))
  content.copy(result)
  change.data.copy(result, change.at)
  return result
}
