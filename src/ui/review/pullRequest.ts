// Prepares a pull request: its text in an editor for the person to change, its branch at hand. Pushes nothing.
import * as vscode from 'vscode'
import type { CommandRoom, Wanted } from '../commandRoom'
import { actions } from '../present/actions'
import { t } from '../present/l10n'
import { pullRequestText } from '../present/pullRequest'
import { forNotice } from '../present/safe'
import { isProblem } from './changes'

export function pullRequestCommands({ command, meant, supervision, say }: CommandRoom): void {
  command('preparePullRequest', async (...args) => {
    const able: Wanted = (child) => actions(child).review.able
    const [child] = await meant(args.slice(0, 1), able, t('Prepare a pull request'), t('No child has a worktree.'))
    const now = await supervision.open()
    if (child === undefined || now.kind === 'closed') return
    const files = await now.coxswain.changes.files(child.child.id)
    if (isProblem(files)) return say(child, { ok: false, words: files.message })
    const document = await vscode.workspace.openTextDocument({
      language: 'markdown',
      content: pullRequestText(child.child, files),
    })
    await vscode.window.showTextDocument(document, { preview: false })
    const branch = child.child.worktree?.branch ?? ''
    const copy = t('Copy push command')
    void Promise.resolve(
      vscode.window.showInformationMessage(
        forNotice(t('The text of the pull request is open. Its branch is {branch}; nothing was pushed.', { branch })),
        copy,
      ),
    ).then((pressed) =>
      // Our own branch names hold no character that a shell reads.
      pressed === copy && /^[\w./-]+$/.test(branch)
        ? vscode.env.clipboard.writeText(`git push -u origin ${branch}`)
        : undefined,
    )
  })
}
