// Whole files, replaced in one step: written aside, synced, renamed. Readers see the former content or the new one.
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readlink, realpath, rename, stat, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { makeFolder } from './paths'

const deepestLinks = 40

/** Replaces `path` (0600 unless `mode` says otherwise). The former content stays when anything fails; nothing half-written is left beside it. */
export async function writeWhole(path: string, data: string, mode = 0o600): Promise<void> {
  await aside(path, data, mode, (temporary) => rename(temporary, path))
}

/**
 * A person's own file that may be a link to where they keep it: what the link names is replaced, or made where there is
 * none yet, and the link stays. It keeps its rights; a new one gets 0600. What its owner made read-only is not replaced, nor
 * is a folder.
 */
export async function writeThroughLink(path: string, data: string): Promise<void> {
  const target = await linkedTo(path)
  await mkdir(dirname(target), { recursive: true })
  const found = await stat(target).catch(() => undefined)
  const mode = (found?.mode ?? 0o600) & 0o777
  if (found?.isFile() === false || (mode & 0o200) === 0)
    throw new Error(`${target} is read-only or no file, so it is left as it is. Change that, then try again.`)
  await writeWhole(target, data, mode)
}

/** Where a chain of links ends, also when nothing is there. */
async function linkedTo(path: string): Promise<string> {
  let at = path
  for (let followed = 0; followed < deepestLinks; followed++) {
    const next = await readlink(at).catch(() => undefined)
    if (next === undefined) return at
    at = resolve(await realpath(dirname(at)), next)
  }
  throw new Error(`${path} is a link that leads to itself.`)
}

/** Creates `path` (0600) whole, or answers false because it exists. Of many at once exactly one gets true. */
export async function createWhole(path: string, data: string): Promise<boolean> {
  return await aside(path, data, 0o600, async (temporary) => {
    try {
      return await linkNew(temporary, path)
    } finally {
      await unlink(temporary)
    }
  })
}

/** Gives `from` a further name. False: something of that name is there. */
export async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function aside<T>(
  path: string,
  data: string,
  mode: number,
  place: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(temporary, 'wx', mode)
  try {
    try {
      await file.writeFile(data)
      await file.sync()
    } finally {
      await file.close()
    }
    const result = await place(temporary)
    await syncFolder(dirname(path))
    return result
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}

/** A rename is only durable once its folder is. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** As `makeFolder`; every folder that it had to make is on the medium once it resolves. */
export async function placeFolder(path: string): Promise<void> {
  const topmost = makeFolder(path)
  if (topmost === undefined) return
  for (let made = path; ; made = dirname(made)) {
    await syncFolder(dirname(made))
    if (made === topmost || made === dirname(made)) return
  }
}
