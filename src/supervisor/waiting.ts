// Waiting for what the store's files will say: asked again whenever something changed. For whoever may wait: join mode, the
// command line, other extensions; never for a parent agent.
import { awaitsVerdict, isLive, type Child } from '../core/child'
import type { StoreView } from './view'

/** Over for whoever waits: settled with its result on disk, or paused. */
export function isOver(child: Child | undefined): boolean {
  if (child === undefined || isLive(child)) return false
  return child.paused || child.completions.some((done) => done.round === child.round)
}

/** Asks again whenever something changed; resolves once `done` says so, or `signal` aborts. */
export async function until(
  { view }: { readonly view: StoreView },
  done: () => Promise<boolean>,
  signal?: AbortSignal,
): Promise<void> {
  let wake: () => void = () => undefined
  let changed = true
  const listening = view.onDidChange(() => {
    changed = true
    wake()
  })
  const aborted = (): void => wake()
  signal?.addEventListener('abort', aborted)
  // Watching needs no process of its own to stay; this keeps ours until the answer is there.
  const stay = setInterval(() => undefined, 60_000)
  try {
    for (;;) {
      changed = false
      if (signal?.aborted === true || (await done())) return
      if (!(changed as boolean)) await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    clearInterval(stay)
    signal?.removeEventListener('abort', aborted)
    listening.dispose()
  }
}

/**
 * Tells of a child, look by look, whether the verdict beyond its first `before` is there, or will not come any more because
 * it went on or was discarded.
 */
export function verdictOver(before: number): (child: Child) => boolean {
  let awaited = false
  return (child) => {
    const isOver = child.verdicts.length > before || (awaited && !awaitsVerdict(child))
    awaited ||= awaitsVerdict(child)
    return isOver
  }
}
