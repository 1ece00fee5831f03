// Lets one file call of this process fail, through `node:fs` itself: the k-th, counted from 1, of those below a folder that
// can fail that way. The code that calls knows nothing of it.
import { syncBuiltinESMExports } from 'node:module'
import fs from 'node:fs'
import fsPromises, { type FileHandle } from 'node:fs/promises'
import { isAbsolute, relative, resolve } from 'node:path'

export const failures = ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'] as const
export type Failure = (typeof failures)[number]

const words: Record<Failure, string> = {
  ENOSPC: 'no space left on device',
  EIO: 'i/o error',
  EMFILE: 'too many open files',
  EACCES: 'permission denied',
}

/** How each call can fail. */
const ways: Record<string, readonly Failure[]> = {
  open: ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'],
  readdir: ['EIO', 'EMFILE', 'EACCES'],
  readFile: ['EIO', 'EMFILE', 'EACCES'],
  writeFile: ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'],
  mkdir: ['ENOSPC', 'EIO', 'EACCES'],
  rename: ['ENOSPC', 'EIO', 'EACCES'],
  link: ['ENOSPC', 'EIO', 'EACCES'],
  copyFile: ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'],
  unlink: ['EIO', 'EACCES'],
  rm: ['EIO', 'EACCES'],
  stat: ['EIO', 'EACCES'],
  lstat: ['EIO', 'EACCES'],
  utimes: ['EIO', 'EACCES'],
  exists: ['EIO', 'EACCES'],
  write: ['ENOSPC', 'EIO'],
  sync: ['ENOSPC', 'EIO'],
  datasync: ['ENOSPC', 'EIO'],
  fsync: ['ENOSPC', 'EIO'],
  fdatasync: ['ENOSPC', 'EIO'],
  truncate: ['EIO'],
  read: ['EIO'],
  close: ['EIO'],
}
const onPaths = Object.keys(ways).slice(0, 14)
const onOpenFiles = Object.keys(ways).slice(14)

export interface Failing {
  /** Calls so far that could have failed this way. */
  calls(): number
  /** What failed, once it did. */
  failed(): string | undefined
  stop(): void
}

type Call = (...args: unknown[]) => unknown

/** `root`: absolute and real. `count`: so many calls fail, from the k-th on. */
export function failFiles(root: string, failure: Failure, k: number, count = 1): Failing {
  let calls = 0
  let failed: string | undefined
  const files = new Set<number>()
  /** Convenience functions call the plain ones; a call is counted once. */
  let inside = 0

  const below = (path: unknown): boolean => {
    if (typeof path !== 'string') return false
    const found = relative(root, resolve(path))
    return found === '' || (!found.startsWith('..') && !isAbsolute(found))
  }
  const creates = (flags: unknown): boolean =>
    typeof flags === 'string' ? /[wa]/.test(flags) : (Number(flags) & fs.constants.O_CREAT) !== 0
  /** The error that this call is to end with, if it is the one. */
  const due = (name: string, args: readonly unknown[]): NodeJS.ErrnoException | undefined => {
    if (inside > 0 || ways[name]?.includes(failure) !== true) return undefined
    if (name === 'open' && failure === 'ENOSPC' && !creates(args[1])) return undefined
    if (++calls < k || calls >= k + count) return undefined
    failed = `${name} ${typeof args[0] === 'string' ? relative(root, args[0]) : ''}`
    const path = typeof args[0] === 'string' ? `, ${name} '${args[0]}'` : `, ${name}`
    return Object.assign(new Error(`${failure}: ${words[failure]}${path}`), { code: failure, syscall: name, errno: -1 })
  }

  const original = { ...fs } as unknown as Record<string, Call>
  const originalPromises = { ...fsPromises } as unknown as Record<string, Call>
  const sync: Record<string, Call> = {}
  const promised: Record<string, Call> = {}
  const plainly = (act: () => unknown): unknown => {
    inside++
    try {
      return act()
    } finally {
      inside--
    }
  }
  for (const name of onPaths) {
    const syncName = `${name}Sync`
    const plain = original[syncName]
    if (plain !== undefined)
      sync[syncName] = (...args) => {
        const error = below(args[0]) ? due(name, args) : undefined
        // Whoever asks whether something is there is told no.
        if (error !== undefined && name === 'exists') return false
        if (error !== undefined) throw error
        const result = name === 'open' ? plain(...args) : plainly(() => plain(...args))
        if (name === 'open' && below(args[0])) files.add(result as number)
        return result
      }
    const plainPromised = originalPromises[name]
    if (plainPromised !== undefined)
      promised[name] = async (...args) => {
        const error = below(args[0]) ? due(name, args) : undefined
        if (error !== undefined) throw error
        const result = await plainPromised(...args)
        return name === 'open' && below(args[0]) ? failing(result as FileHandle) : result
      }
  }
  for (const name of onOpenFiles) {
    const plain = original[`${name}Sync`]
    if (plain === undefined) continue
    sync[`${name}Sync`] = (...args) => {
      const ours = files.has(args[0] as number)
      const error = ours ? due(name, []) : undefined
      if (name === 'close') files.delete(args[0] as number)
      if (error !== undefined && name === 'close') plain(...args)
      if (error !== undefined) throw error
      return plain(...args)
    }
  }
  function failing(file: FileHandle): FileHandle {
    const handle = file as unknown as Record<string, Call>
    const calledOn: Record<string, Call> = {}
    for (const name of [...onOpenFiles, 'writeFile', 'readFile', 'stat']) {
      const plain = handle[name]
      if (plain === undefined) continue
      calledOn[name] = async (...args) => {
        const known = name === 'writeFile' ? 'write' : name === 'readFile' ? 'read' : name
        const error = due(known, [])
        if (error === undefined) return await plain.apply(file, args)
        if (name === 'close') await plain.apply(file, args)
        // A full disk takes what still fits, and refuses the rest.
        const [data] = args
        if (name === 'write' && failure === 'ENOSPC' && Buffer.isBuffer(data))
          await plain.call(file, data.subarray(0, data.length >> 1))
        throw error
      }
    }
    return Object.assign(file, calledOn)
  }

  Object.assign(fs, sync)
  Object.assign(fsPromises, promised)
  syncBuiltinESMExports()
  return {
    calls: () => calls,
    failed: () => failed,
    stop: () => {
      for (const name of Object.keys(sync)) Object.assign(fs, { [name]: original[name] })
      for (const name of Object.keys(promised)) Object.assign(fsPromises, { [name]: originalPromises[name] })
      syncBuiltinESMExports()
    },
  }
}
