// The small background supervisor: owns the store until its children have ended, then goes. Started by commands that leave
// work behind; a person has no need to call it.
import type { Invocation } from './invocation'
import { withStore } from './commands'

/** With nothing live it stays this long, so that the command that brought it can still be served. */
const idleMs = 5_000
const lookMs = 500

export async function supervise({ open, flags }: Invocation): Promise<number> {
  return await withStore(await open('background'), async (coxswain) => {
    if (!(await coxswain.tryOwn(flags.take === undefined ? undefined : Number(flags.take)))) return 0
    const going = new AbortController()
    const go = (): void => going.abort()
    process.on('SIGTERM', go).on('SIGINT', go)
    let idleSince = performance.now()
    while (!going.signal.aborted && coxswain.isOwner()) {
      await new Promise((resolve) => setTimeout(resolve, lookMs))
      if (coxswain.inUse()) idleSince = performance.now()
      else if (performance.now() - idleSince >= idleMs) return 0
    }
    return 0
  })
}
