// Acting on a child and everything it dispatched, and on all that goes on: named one by one before anything ends.
import { isLive, type Child } from '../core/child'
import { below } from '../core/subtree'
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
