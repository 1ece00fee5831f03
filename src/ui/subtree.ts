// Acting on a child and everything it dispatched, and on all that goes on: named one by one before anything ends.
import { isLive, type Child } from '../core/child'
import type { CommandRoom, Wanted } from './commandRoom'
import { t } from './present/l10n'

export function subtreeCommands({ command, meant, opened, acts, tell }: CommandRoom): void {
  command('stopSubtree', async (...args) => {
    const view = await opened()
    if (view === null) return
    const all = view.list().map(({ child }) => child)
    const stoppable: Wanted = (child) => below(child, all).some(ends)
    const needed = t('No child can be stopped now: it has to be running or paused.')
    const [root] = await meant(args.slice(0, 1), stoppable, t('Stop a child and all it dispatched'), needed)
    if (root === undefined) return
    const ending = below(root.child, all).filter(ends)
    if (ending.length === 0) tell(root, { ok: false, words: needed })
    else tell(root, await acts.stop(ending.map(({ id }) => id)))
  })
}

const ends = (child: Child): boolean => isLive(child) || child.paused

/** The child and all below it, in the order of their dispatch; a circle of parents is walked once. */
export function below(root: Child, all: readonly Child[]): readonly Child[] {
  const found = new Map([[root.id, root]])
  for (const { id } of found.values())
    for (const child of all) if (child.parentChild === id && !found.has(child.id)) found.set(child.id, child)
  return [...found.values()]
}
