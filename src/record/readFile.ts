// Reads a whole file of ours. A folder, a FIFO or a device in its place is said to be there; nobody waits for what one would
// never say, and nothing without a bound enters memory.
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { StoreError } from './paths'

/** Far more than any file that is read whole has. */
const mostBytes = 64 * 1024 * 1024
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK

/** Rejects as the system does, and with a StoreError when it is no ordinary file of a bearable size. */
export async function readText(path: string): Promise<string> {
  const file = await open(path, openFlags)
  try {
    mustBeOrdinary(path, await file.stat())
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** As `readText`, for those who cannot wait. */
export function readTextSync(path: string): string {
  const file = openSync(path, openFlags)
  try {
    mustBeOrdinary(path, fstatSync(file))
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function mustBeOrdinary(path: string, found: Stats): void {
  mustBeFile(path, found)
  if (found.size > mostBytes)
    throw new StoreError(`${path} is larger than ${mostBytes / 1024 / 1024} MB. Move it away, then try again.`)
}

/** Throws a StoreError when a folder, a FIFO or a device was opened: what is written there is kept by nobody. */
export function mustBeFile(path: string, found: Stats): void {
  if (!found.isFile()) throw new StoreError(`${path} is no ordinary file. Move away what stands there, then try again.`)
}
