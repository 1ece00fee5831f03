// Which processes are there: one file per process that names it, in the folder of what it is there for. Windows that show a
// store say so, and let an owner without a window know that a person is at hand; processes that speak for a parent say so,
// and let a person know that it has not gone.
import { readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identitySchema, type ProcessIdentity } from '../core/events'
import { readTextSync } from './readFile'

/** Says that this process is there, until disposed. */
export function bePresent(folder: string, me: ProcessIdentity): { dispose(): void } {
  const path = join(folder, String(me.pid))
  writeFileSync(path, JSON.stringify(me), { mode: 0o600 })
  return { dispose: () => rmSync(path, { force: true }) }
}

/** Whether a process that still runs is there. A folder that is not there has nobody in it. */
export function isAnyonePresent(folder: string, isRunning: (identity: ProcessIdentity) => boolean): boolean {
  return namesIn(folder).some((name) => {
    try {
      const parsed = identitySchema.safeParse(JSON.parse(readTextSync(join(folder, name))))
      return parsed.success && isRunning(parsed.data)
    } catch {
      return false
    }
  })
}

/** Removes the folder if nothing is left in it. */
export function leaveEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Somebody else is there, or what makes this parent known again.
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
