// Which parents are there: those a running process speaks for. Told by files of the store, so that every window knows it of
// parents anywhere; a process that was killed is known by its identity, not by what it left behind.
import { identityOf, isRunning } from '../process/identity'
import { makeFolder, type StorePaths } from '../record/paths'
import { bePresent, isAnyonePresent, leaveEmpty } from '../record/presence'

/** Ids we made: anything else names no folder. */
const isSessionId = (session: string): boolean => /^[a-z]+:[a-z0-9]+$/.test(session)

export function isParentPresent(paths: StorePaths, session: string): boolean {
  return isSessionId(session) && isAnyonePresent(paths.parent(session), isRunning)
}

/** Says that this process speaks for that parent, until disposed. */
export function speakFor(paths: StorePaths, session: string): { dispose(): void } {
  const me = identityOf(process.pid)
  if (me === undefined || !isSessionId(session)) return { dispose: () => undefined }
  const folder = paths.parent(session)
  makeFolder(folder)
  const presence = bePresent(folder, me)
  return {
    dispose: () => {
      presence.dispose()
      leaveEmpty(folder)
    },
  }
}

/** What was last found of each parent that was asked for; `look` asks again. */
export class ParentPresence {
  private readonly found = new Map<string, boolean>()

  constructor(private readonly paths: StorePaths) {}

  readonly isPresent = (session: string): boolean => {
    const known = this.found.get(session) ?? isParentPresent(this.paths, session)
    this.found.set(session, known)
    return known
  }

  /** The parents that have come or gone since the last look. */
  look(): ReadonlySet<string> {
    const changed = new Set<string>()
    for (const [session, before] of this.found) {
      const now = isParentPresent(this.paths, session)
      if (now !== before) changed.add(session)
      this.found.set(session, now)
    }
    return changed
  }
}
