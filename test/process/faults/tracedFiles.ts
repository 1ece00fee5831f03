// Watches every change that a process makes to files below one folder, through `node:fs` itself: what was written where,
// what was synced, what was named, in the order in which it took effect. The code that writes knows nothing of it.
import { syncBuiltinESMExports } from 'node:module'
import fs from 'node:fs'
import fsPromises, { type FileHandle } from 'node:fs/promises'
import { basename, dirname, isAbsolute, relative, resolve } from 'node:path'

export type FileChange =
  /** A name in a folder: of a new file, of a further link to one, of a folder, or none any more. */
  | { readonly op: 'create' | 'mkdir' | 'remove'; readonly path: string }
  | { readonly op: 'link' | 'rename'; readonly from: string; readonly path: string }
  | { readonly op: 'write'; readonly path: string; readonly at: number; readonly data: Buffer }
  | { readonly op: 'truncate'; readonly path: string; readonly size: number }
  /** Of a file: its content. Of a folder: its names. */
  | { readonly op: 'sync'; readonly path: string }
  /** Something the process was told, e.g. that a record was taken. */
  | { readonly op: 'mark'; readonly path: string; readonly words: string }

type Patch = Record<string, (...args: never[]) => unknown>

/** Hands every change below `root` (absolute, real) to `take`, paths relative to it. Answers how to stop. */
export function traceFiles(root: string, take: (change: FileChange) => void): () => void {
  const original = { ...fs }
  const originalPromises = { ...fsPromises }
  const files = new Map<number, string>()
  /** Convenience functions call the plain ones; a change is told once. */
  let inside = 0

  const within = (path: unknown): string | undefined => {
    if (typeof path !== 'string' && !(path instanceof URL) && !Buffer.isBuffer(path)) return undefined
    const found = relative(root, resolve(String(path)))
    return found === '' || (!found.startsWith('..') && !isAbsolute(found)) ? found : undefined
  }
  const sizeOf = (fd: number): number => original.fstatSync(fd).size
  const exists = (path: string): boolean => original.existsSync(path)
  const bytes = (data: unknown): Buffer =>
    typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as Uint8Array)

  /** What opening did to the file. */
  const opened = (path: string, flags: unknown, existed: boolean): void => {
    if (!existed) take({ op: 'create', path })
    const truncates = typeof flags === 'string' ? flags.startsWith('w') : (Number(flags) & fs.constants.O_TRUNC) !== 0
    if (existed && truncates) take({ op: 'truncate', path, size: 0 })
  }
  const writes = (flags: unknown): boolean =>
    typeof flags === 'string' ? flags !== 'r' : flags !== undefined && (Number(flags) & 3) !== 0

  const sync: Patch = {
    openSync(path: string, flags?: string | number, mode?: number) {
      const name = within(path)
      if (name === undefined) return original.openSync(path, flags ?? 'r', mode)
      const existed = exists(path)
      const fd = original.openSync(path, flags ?? 'r', mode)
      files.set(fd, name)
      if (writes(flags) && inside === 0) opened(name, flags, existed)
      return fd
    },
    closeSync(fd: number) {
      files.delete(fd)
      original.closeSync(fd)
    },
    writeSync(fd: number, ...rest: unknown[]) {
      const path = files.get(fd)
      const written = (original.writeSync as (...args: unknown[]) => number)(fd, ...rest)
      if (path === undefined || inside > 0) return written
      const [data, offset] = rest
      const from = typeof offset === 'number' && typeof data !== 'string' ? offset : 0
      // Every writer here appends or writes a new file from its start: what was written is now its end.
      const taken = bytes(data).subarray(from, from + written)
      take({ op: 'write', path, at: sizeOf(fd) - written, data: Buffer.from(taken) })
      return written
    },
    fsyncSync: (fd: number) => synced(fd, () => original.fsyncSync(fd)),
    fdatasyncSync: (fd: number) => synced(fd, () => original.fdatasyncSync(fd)),
    ftruncateSync(fd: number, size: number) {
      original.ftruncateSync(fd, size)
      const path = files.get(fd)
      if (path !== undefined) take({ op: 'truncate', path, size })
    },
    writeFileSync(path: string, data: string, options?: fs.WriteFileOptions) {
      const name = within(path)
      const existed = name !== undefined && exists(path)
      plainly(() => original.writeFileSync(path, data, options))
      if (name !== undefined) wholeFile(name, existed, bytes(data))
    },
    renameSync(from: string, to: string) {
      original.renameSync(from, to)
      named('rename', from, to)
    },
    linkSync(from: string, to: string) {
      original.linkSync(from, to)
      named('link', from, to)
    },
    unlinkSync(path: string) {
      original.unlinkSync(path)
      removed(path)
    },
    rmSync(path: string, options?: fs.RmOptions) {
      const existed = exists(path)
      original.rmSync(path, options)
      if (existed) removed(path)
    },
    mkdirSync(path: string, options?: fs.MakeDirectoryOptions) {
      const due = missing(path)
      const made = original.mkdirSync(path, options)
      for (const name of due) take({ op: 'mkdir', path: name })
      return made
    },
  }

  function plainly<T>(act: () => T): T {
    inside++
    try {
      return act()
    } finally {
      inside--
    }
  }
  function synced(fd: number, act: () => void): void {
    act()
    const path = files.get(fd)
    if (path !== undefined) take({ op: 'sync', path })
  }
  function wholeFile(path: string, existed: boolean, data: Buffer): void {
    take(existed ? { op: 'truncate', path, size: 0 } : { op: 'create', path })
    take({ op: 'write', path, at: 0, data })
  }
  function named(op: 'rename' | 'link', from: string, to: string): void {
    const path = within(to)
    const former = within(from)
    if (path !== undefined && former !== undefined) take({ op, from: former, path })
  }
  function removed(path: string): void {
    const name = within(path)
    if (name !== undefined) take({ op: 'remove', path: name })
  }
  /** The folders that making this one makes, topmost first. */
  function missing(path: string): string[] {
    const due: string[] = []
    for (let at = resolve(path); within(at) !== undefined && !exists(at); at = dirname(at)) {
      const name = within(at)
      if (name !== undefined) due.unshift(name)
    }
    return due
  }

  const handle = (file: FileHandle, path: string): FileHandle => {
    const own = {
      write: file.write.bind(file) as (...args: unknown[]) => Promise<{ bytesWritten: number }>,
      writeFile: file.writeFile.bind(file),
      truncate: file.truncate.bind(file),
      sync: file.sync.bind(file),
      datasync: file.datasync.bind(file),
    }
    const after = async (act: Promise<void>, change: FileChange): Promise<void> => {
      await act
      take(change)
    }
    return Object.assign(file, {
      async write(data: unknown, ...rest: unknown[]) {
        const result = await own.write(data, ...rest)
        const from = typeof data === 'string' || typeof rest[0] !== 'number' ? 0 : rest[0]
        const taken = bytes(data).subarray(from, from + result.bytesWritten)
        take({ op: 'write', path, at: sizeOf(file.fd) - taken.length, data: Buffer.from(taken) })
        return result
      },
      async writeFile(data: string) {
        await own.writeFile(data)
        take({ op: 'write', path, at: 0, data: bytes(data) })
      },
      truncate: (size = 0) => after(own.truncate(size), { op: 'truncate', path, size }),
      sync: () => after(own.sync(), { op: 'sync', path }),
      datasync: () => after(own.datasync(), { op: 'sync', path }),
    })
  }

  const promised: Patch = {
    async open(path: string, flags?: string | number, mode?: number) {
      const name = within(path)
      if (name === undefined) return await originalPromises.open(path, flags, mode)
      const existed = exists(path)
      const file = await originalPromises.open(path, flags, mode)
      if (writes(flags)) opened(name, flags, existed)
      return handle(file, name)
    },
    async writeFile(path: string, data: string, options?: fs.WriteFileOptions) {
      const name = within(path)
      const existed = name !== undefined && exists(path)
      await originalPromises.writeFile(path, data, options)
      if (name !== undefined) wholeFile(name, existed, bytes(data))
    },
    async rename(from: string, to: string) {
      await originalPromises.rename(from, to)
      named('rename', from, to)
    },
    async link(from: string, to: string) {
      await originalPromises.link(from, to)
      named('link', from, to)
    },
    async unlink(path: string) {
      await originalPromises.unlink(path)
      removed(path)
    },
    async rm(path: string, options?: fs.RmOptions) {
      const existed = exists(path)
      await originalPromises.rm(path, options)
      if (existed) removed(path)
    },
    async mkdir(path: string, options?: fs.MakeDirectoryOptions) {
      const due = missing(path)
      const made = await originalPromises.mkdir(path, options)
      for (const name of due) take({ op: 'mkdir', path: name })
      return made
    },
  }

  Object.assign(fs, sync)
  Object.assign(fsPromises, promised)
  syncBuiltinESMExports()
  return () => {
    for (const name of Object.keys(sync)) Object.assign(fs, { [name]: original[name as keyof typeof original] })
    for (const name of Object.keys(promised))
      Object.assign(fsPromises, { [name]: originalPromises[name as keyof typeof originalPromises] })
    syncBuiltinESMExports()
  }
}

export const nameIn = (path: string): { readonly folder: string; readonly name: string } => ({
  folder: dirname(path) === '.' ? '' : dirname(path),
  name: basename(path),
})
