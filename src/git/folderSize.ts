// How much room a folder takes on disk. Follows no link and stops at a limit, so that it can be asked of anything.
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const entriesAtMost = 200_000

/** Bytes on disk of all files below; `complete` is false when there were more entries than are counted. */
export async function folderSize(root: string): Promise<{ readonly bytes: number; readonly complete: boolean }> {
  let bytes = 0
  let entries = 0
  const open = [root]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const names = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const entry of names) {
      if (++entries > entriesAtMost) return { bytes, complete: false }
      const path = join(folder, entry.name)
      if (entry.isDirectory()) open.push(path)
      else
        bytes += await lstat(path).then(
          ({ blocks, size }) => (blocks > 0 ? blocks * 512 : size),
          () => 0,
        )
    }
  }
  return { bytes, complete: true }
}
