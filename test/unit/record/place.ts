// A private folder for a test of files, removed with it.
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'

const folders: string[] = []

/** `fast`: in memory where the system has such a place, for tests to which the medium does not matter. */
export function folder(fast = false): string {
  const parent = fast && existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const made = realpathSync(mkdtempSync(join(parent, 'cxs-record-')))
  chmodSync(made, 0o700)
  folders.push(made)
  return made
}

afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true })
})
