// Worktrees: how new ones are set up, the way into one, and the list of all with size, age and what discarding would lose.
// What would be lost is asked of git when the list is shown, and again before anything goes.
import * as vscode from 'vscode'
import type { Child } from '../core/child'
import { plainText } from '../core/plainText'
import { shortDuration } from '../protocol/duration'
import { askOne, BACK } from './ask'
import type { CommandRoom, Wanted } from './commandRoom'
import { discardChild } from './handBack'
import { actions } from './present/actions'
import { t } from './present/l10n'
import { icon } from './present/row'
import { forNotice, forPick } from './present/safe'
import { phaseWords, titleOf } from './present/words'
import { worktreeFigures } from './present/worktrees'
import type { Changes } from './review/changes'
import { setUpWorktrees } from './setUpWorktrees'

interface Row extends vscode.QuickPickItem {
  readonly childId: string
}

export function worktreeCommands(room: CommandRoom): void {
  const { command, meant, opened, supervision, log } = room
  command('manageWorktrees', async () => {
    const view = await opened()
    const now = await supervision.open()
    if (view === null || now.kind === 'closed') return
    const children = view
      .list()
      .map(({ child }) => child)
      .filter(hasWorktree)
    if (children.length === 0) {
      void vscode.window.showInformationMessage(t('No child has a worktree.'))
      return
    }
    const childId = await pickWorktree(children, now.coxswain.changes, (error) =>
      log.error('a worktree could not be looked at', String(error)),
    )
    const chosen = childId === null ? undefined : view.get(childId)
    if (chosen !== undefined) await act(chosen.child)
  })

  command('setUpWorktrees', async () => {
    const now = await supervision.open()
    if (now.kind === 'open') await setUpWorktrees(now.coxswain)
    else void vscode.window.showWarningMessage(forNotice(now.message))
  })

  command('openWorktree', async (...args) => {
    const path = await worktreeOf(args, t('Open the worktree of a child'))
    if (path !== null)
      await vscode.commands.executeCommand('vscode.openFolder', vscode.Uri.file(path), { forceNewWindow: true })
  })
  command('openTerminal', async (...args) => {
    const path = await worktreeOf(args, t('Open a terminal in the worktree of a child'))
    if (path !== null) vscode.window.createTerminal({ cwd: path, name: t('Worktree') }).show()
  })
  command('copyBranch', async (...args) => {
    const [child] = await meant(
      args.slice(0, 1),
      hasWorktree,
      t('Copy the branch of a child'),
      t('No child has a branch.'),
    )
    const branch = child?.child.worktree?.branch
    if (branch !== undefined) await vscode.env.clipboard.writeText(plainText(branch))
  })

  async function worktreeOf(args: readonly unknown[], question: string): Promise<string | null> {
    const [child] = await meant(args.slice(0, 1), hasWorktree, question, t('No child has a worktree.'))
    if (child === undefined) return null
    const { worktree, discarded } = child.child
    if (worktree !== null && !discarded) return worktree.path
    void vscode.window.showInformationMessage(t('This child has no worktree.'))
    return null
  }

  async function act(child: Child): Promise<void> {
    const { discard, review } = actions(child)
    const what = await askOne<'review' | 'openWorktree' | 'openTerminal' | 'discard'>({
      title: t('The worktree of “{title}”', { title: titleOf(child) }),
      placeholder: forPick(child.worktree?.path ?? ''),
      items: [
        ...(review.able ? [{ value: 'review' as const, label: t('Review changes') }] : []),
        { value: 'openWorktree', label: t('Open in a new window') },
        { value: 'openTerminal', label: t('Open a terminal here') },
        discard.able
          ? {
              value: 'discard',
              label: t('Discard…'),
              detail: t('Worktree and branch; what would be lost is named first.'),
            }
          : { value: 'discard', label: t('Discard…'), detail: t('Not now: {why}.', { why: discard.why }) },
      ],
    })
    if (what === undefined || what === BACK) return
    const view = room.supervision.view?.get(child.id)
    if (what === 'review') await vscode.commands.executeCommand('coxswain.reviewChanges', child.id)
    else if (what !== 'discard') await vscode.commands.executeCommand(`coxswain.${what}`, child.id)
    else if (view !== undefined && discard.able) room.say(view, await discardChild(room.acts, child))
  }
}

const hasWorktree: Wanted = (child) => child.worktree !== null && !child.discarded

/** The list is there at once; sizes and losses come in one worktree after the other. */
function pickWorktree(
  children: readonly Child[],
  changes: Changes,
  failed: (error: unknown) => void,
): Promise<string | null> {
  return new Promise((resolve) => {
    const pick = vscode.window.createQuickPick<Row>()
    let over = false
    let chosen: string | null = null
    const known = new Map<string, string>()
    const rows = (): Row[] =>
      children.map((child) => ({
        childId: child.id,
        label: forPick(titleOf(child)),
        description: forPick(`${phaseWords(child)} · ${child.worktree?.branch ?? ''}`),
        detail: forPick(
          [
            t('{age} old', { age: shortDuration(Date.now() - Date.parse(child.acceptedAt)) }),
            known.get(child.id) ?? '…',
          ].join(' · '),
          300,
        ),
        iconPath: new vscode.ThemeIcon(icon(child).id),
      }))
    pick.title = t('Worktrees of children')
    pick.placeholder = t('Enter shows what can be done with one')
    pick.matchOnDescription = true
    pick.matchOnDetail = true
    pick.items = rows()
    pick.busy = true
    pick.onDidAccept(() => {
      chosen = pick.selectedItems[0]?.childId ?? null
      pick.hide()
    })
    pick.onDidHide(() => {
      over = true
      pick.dispose()
      resolve(chosen)
    })
    pick.show()
    const look = async (): Promise<void> => {
      for (const child of children) {
        if (over) return
        known.set(child.id, await worktreeFigures(child.id, changes, failed))
        if (over) return
        const active = pick.activeItems[0]?.childId
        pick.items = rows()
        pick.activeItems = pick.items.filter(({ childId }) => childId === active)
      }
      pick.busy = false
    }
    look().catch((error: unknown) => {
      failed(error)
      if (!over) pick.busy = false
    })
  })
}
