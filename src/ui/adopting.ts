// Adopting: a child whose parent has gone becomes the person's own, after a question that says what that means.
import * as vscode from 'vscode'
import type { CommandRoom, Wanted } from './commandRoom'
import { t } from './present/l10n'
import { forNotice } from './present/safe'
import { titleOf } from './present/words'

export function adoptingCommands({ command, meant, acts, supervision, say }: CommandRoom): void {
  command('adopt', async (...args) => {
    const left: Wanted = ({ id }) => supervision.view?.get(id)?.parentAway === true
    const needed = t('No child has lost its parent.')
    const [child] = await meant(args.slice(0, 1), left, t('Adopt a child whose parent is away'), needed)
    if (child === undefined) return
    const adopt = t('Adopt')
    const choice = await vscode.window.showWarningMessage(
      forNotice(t('Adopt “{title}”?', { title: titleOf(child.child) })),
      {
        modal: true,
        detail: t(
          'Its parent is away. The child is yours from now on: what it comes to is told to you, and its former parent can no longer act on it, even when it comes back.',
        ),
      },
      adopt,
    )
    if (choice === adopt) say(child, await acts.adopt(child.child.id))
  })
}
