// A private folder for a test of files, removed with it.
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'

const folders: string[] = []

export function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'cxs-record-')))
  chmodSync(made, 0o700)
  folders.push(made)
  return made
}

afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true })
})
