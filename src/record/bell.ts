// How an owner tells readers, in whatever process, that something of a child changed: it touches a file named after the
// child. The bell carries no truth; who hears it reads the child's own files.
import { constants, type FSWatcher, watch } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Through no link, and waiting for nobody. */
const flag = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK

export class Bell {
  private readonly due = new Set<string>()
  private ringing = false

  constructor(private readonly folder: string) {}

  /** Rings for a child; several rings while one is under way become one. Never rejects. */
  ring(childId: string): void {
    this.due.add(childId)
    if (this.ringing) return
    this.ringing = true
    void this.run()
  }

  private async run(): Promise<void> {
    for (const id of this.due) {
      this.due.delete(id)
      await writeFile(join(this.folder, id), '1', { mode: 0o600, flag }).catch(() => undefined)
    }
    this.ringing = false
  }
}

/** Hears bells. When watching fails (a system out of watches), `onDeaf` says so, and the caller has to look by itself. */
export function hearBells(folder: string, heard: (childId: string) => void, onDeaf: () => void): { dispose(): void } {
  let watcher: FSWatcher | undefined
  try {
    watcher = watch(folder, { persistent: false }, (_event, name) => {
      if (name !== null) heard(name)
    })
    watcher.on('error', () => {
      watcher?.close()
      onDeaf()
    })
  } catch {
    onDeaf()
  }
  return { dispose: () => watcher?.close() }
}
