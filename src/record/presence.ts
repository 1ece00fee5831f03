// Which windows show a store: a file per window that names its process. It lets an owner without a window of its own know
// that a person is at hand to answer.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identitySchema, type ProcessIdentity } from '../core/events'

/** Says that this process shows the store, until disposed. */
export function bePresent(folder: string, me: ProcessIdentity): { dispose(): void } {
  const path = join(folder, String(me.pid))
  writeFileSync(path, JSON.stringify(me), { mode: 0o600 })
  return { dispose: () => rmSync(path, { force: true }) }
}

/** Whether a window that still runs shows the store. */
export function isAnyonePresent(folder: string, isRunning: (identity: ProcessIdentity) => boolean): boolean {
  return readdirSync(folder).some((name) => {
    try {
      const parsed = identitySchema.safeParse(JSON.parse(readFileSync(join(folder, name), 'utf8')))
      return parsed.success && isRunning(parsed.data)
    } catch {
      return false
    }
  })
}
