// Children whose record was damaged so far that it tells of no child: no list can show them, while an agent of theirs may
// still work under its keeper. Only looks.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessIdentity } from '../core/events'
import { readAgent, readKeeper } from '../process/attachKeeper'
import { isRunning } from '../process/identity'
import type { StorePaths } from '../record/paths'
import type { StoreView } from './view'

export interface UnreadableChild {
  readonly id: string
  /** Its record. */
  readonly events: string
  /** Whom to ask to end what still runs of it: an agent's keeper, which ends it well, or the agent that has none. */
  readonly running: readonly ProcessIdentity[]
}

/** Those of which an agent was started, or was about to be. */
export async function unreadableChildren(paths: StorePaths, view: StoreView): Promise<readonly UnreadableChild[]> {
  const found: UnreadableChild[] = []
  for (const id of await readdir(paths.children)) {
    if (view.get(id) !== undefined) continue
    const { attempts, events } = paths.child(id)
    const folders = (await readdir(attempts).catch(() => [])).map((name) => join(attempts, name))
    if (folders.length === 0) continue
    const running = await Promise.all(folders.map(runningIn))
    found.push({ id, events, running: running.filter((each) => each !== undefined) })
  }
  return found
}

async function runningIn(attemptDir: string): Promise<ProcessIdentity | undefined> {
  const [keeper, agent] = await Promise.all([readKeeper(attemptDir), readAgent(attemptDir)])
  if (agent === undefined || !isRunning(agent)) return undefined
  return keeper !== undefined && isRunning(keeper) ? keeper : agent
}
