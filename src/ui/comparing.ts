// Children that got the same goal, side by side, and "keep this one": the others are stopped and discarded, each behind the
// same guards as by hand. Decides nothing about which is better.
import * as vscode from 'vscode'
import { isLive, type Child } from '../core/child'
import type { ChildView, StoreView } from '../supervisor/view'
import { askOne, BACK } from './ask'
import type { CommandRoom, Wanted } from './commandRoom'
import { discardChild } from './handBack'
import { actions } from './present/actions'
import { compared, siblings } from './present/comparison'
import { t } from './present/l10n'
import { icon } from './present/row'
import { forNotice, forPick } from './present/safe'
import type { StatOf } from './present/standing'
import { titleOf } from './present/words'
import { isProblem } from './review/changes'

export function comparisonCommands(room: CommandRoom): void {
  const { command, meant, opened, supervision, panels } = room

  command('compare', async (...args) => {
    const view = await opened()
    if (view === null) return
    const all = view.list().map(({ child }) => child)
    const inGroup: Wanted = (child) => siblings(child, all).length > 1
    const needed = t('No goal was given to several children. New child… › More choices… does that.')
    const [chosen] = await meant(args.slice(0, 1), inGroup, t('Compare children of one goal'), needed)
    if (chosen !== undefined) await compare(view, chosen.child)
  })
  command('keepThis', async (...args) => {
    const view = await opened()
    if (view === null) return
    const all = view.list().map(({ child }) => child)
    const inGroup: Wanted = (child) => siblings(child, all).length > 1
    const [chosen] = await meant(args.slice(0, 1), inGroup, t('Keep one of several children'))
    if (chosen !== undefined) await keep(view, chosen)
  })

  async function compare(view: StoreView, child: Child): Promise<void> {
    const group = siblings(
      child,
      view.list().map((each) => each.child),
    )
    const picked = await askOne<string>({
      title: t('“{title}”: {n} children', { title: titleOf(child), n: group.length }),
      placeholder: t('Which one do you want to look at, or keep?'),
      items: statsOf(group).then((statOf) =>
        compared(group, statOf, Date.now()).map(({ childId, name, state, figures }) => {
          const sign = icon(group.find((each) => each.id === childId) ?? child)
          return {
            value: childId,
            label: forPick(name),
            description: forPick(state),
            detail: forPick(figures),
            iconPath: new vscode.ThemeIcon(
              sign.id,
              sign.color === null ? undefined : new vscode.ThemeColor(sign.color),
            ),
          }
        }),
      ),
      active: (value) => value === child.id,
    })
    const chosen = picked === undefined || picked === BACK ? undefined : view.get(picked)
    if (chosen === undefined) return
    const { review } = actions(chosen.child)
    const act = await askOne<'review' | 'transcript' | 'keep' | 'back'>({
      title: t('“{title}”', { title: titleOf(chosen.child) }),
      placeholder: t('What with this one?'),
      items: [
        ...(review.able ? [{ value: 'review' as const, label: t('Review changes') }] : []),
        { value: 'transcript', label: t('Show transcript') },
        {
          value: 'keep',
          label: t('Keep this one…'),
          detail: t('Stops the others and discards their worktrees; what would be lost is named first.'),
        },
        { value: 'back', label: t('Back to the comparison') },
      ],
    })
    if (act === undefined || act === BACK) return
    if (act === 'review') await vscode.commands.executeCommand('coxswain.reviewChanges', chosen.child.id)
    else if (act === 'transcript') panels.show(chosen.child.id, { preserveFocus: false })
    else if (act === 'keep') await keep(view, chosen)
    else await compare(view, chosen.child)
  }

  /** How much each changed, asked of git now: a comparison is looked at once. */
  async function statsOf(group: readonly Child[]): Promise<StatOf> {
    const now = await supervision.open()
    const stats = new Map<string, { files: number; insertions: number; deletions: number }>()
    if (now.kind === 'open')
      for (const child of group) {
        if (child.worktree === null || child.discarded) continue
        const stat = await now.coxswain.changes.stat(child.id)
        if (!isProblem(stat)) stats.set(child.id, stat)
      }
    return (id) => stats.get(id) ?? null
  }

  async function keep(view: StoreView, kept: ChildView): Promise<void> {
    const others = siblings(
      kept.child,
      view.list().map(({ child }) => child),
    ).filter(({ id, discarded }) => id !== kept.child.id && !discarded)
    const running = others.filter((child) => isLive(child) || child.paused)
    if (running.length > 0) {
      const stopped = await room.acts.stop(running.map(({ id }) => id))
      if (!stopped.ok) return room.tell(kept, stopped)
      const ended = await over(
        view,
        running.map(({ id }) => id),
      )
      if (!ended) return room.tell(kept, { ok: false, words: t('the others have not ended yet; keep it again then') })
    }
    for (const { id } of others) {
      const other = view.get(id)
      if (other === undefined || other.child.worktree === null) continue
      const outcome = await discardChild(room.acts, other.child)
      // Called off by the person: what is left is left.
      if (!outcome.ok && outcome.words === '') return
      room.tell(other, outcome)
    }
    vscode.window.setStatusBarMessage(forNotice(t('Kept “{title}”', { title: titleOf(kept.child) })), 6_000)
    panels.show(kept.child.id, { preserveFocus: false })
  }

  /** Resolves to true once none of them runs, to false when that takes too long. */
  function over(view: StoreView, ids: readonly string[]): Promise<boolean> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (ids.every((id) => !isLiveNow(view, id))) finish(true)
      }
      const following = view.onDidChange(check)
      const timer = setTimeout(() => finish(false), 60_000)
      const finish = (ended: boolean): void => {
        clearTimeout(timer)
        following.dispose()
        resolve(ended)
      }
      check()
    })
  }
}

function isLiveNow(view: StoreView, id: string): boolean {
  const child = view.get(id)?.child
  return child !== undefined && isLive(child)
}
