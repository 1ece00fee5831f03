// Shows a person what a child changed: every file against the child's base in VS Code's own multi-diff, and the file
// itself, in the worktree, when they want to edit it.
import { realpath } from 'node:fs/promises'
import * as path from 'node:path'
import * as vscode from 'vscode'
import type { Child } from '../../core/child'
import type { CheckResult } from '../../core/events'
import type { ChildView } from '../../supervisor/view'
import { t } from '../present/l10n'
import { forNotice } from '../present/safe'
import { titleOf } from '../present/words'
import type { Coxswain } from '../supervision'
import { isProblem } from './changes'
import { readReviewUri, reviewUri } from './reviewFiles'

export async function reviewChanges({ changes }: Coxswain, { child }: ChildView): Promise<void> {
  const title = titleOf(child)
  const files = await vscode.window.withProgress(
    { location: { viewId: 'coxswain.children' }, title: t('Comparing') },
    () => changes.files(child.id),
  )
  if (isProblem(files)) {
    void vscode.window.showWarningMessage(forNotice(files.message))
    return
  }
  const resources = files
    .filter((file) => file.special !== 'repository')
    .map((file): [vscode.Uri, vscode.Uri | undefined, vscode.Uri | undefined] => {
      const now = reviewUri(child.id, 'now', file.path)
      const before = reviewUri(child.id, 'base', file.from ?? file.path)
      if (file.kind === 'added' || file.kind === 'untracked') return [now, undefined, now]
      if (file.kind === 'deleted') return [before, before, undefined]
      return [now, before, now]
    })
  if (resources.length === 0) {
    void vscode.window.showInformationMessage(forNotice(t('“{title}” has changed no file.', { title })))
    return
  }
  await vscode.commands.executeCommand('vscode.changes', t('Changes of {title}', { title }), resources)
}

/** The file itself instead of its read-only side. */
export async function editReviewedFile({ view }: Coxswain, uri: unknown): Promise<void> {
  const here = vscode.window.activeTextEditor?.document.uri
  // From the menu of a multi-diff VS Code names the whole review; the file is the one the cursor is in.
  const address =
    [uri, here].map((each) => (each instanceof vscode.Uri ? readReviewUri(each) : null)).find(Boolean) ?? null
  const worktree = address === null ? null : (view.get(address.childId)?.child.worktree ?? null)
  if (address === null || worktree === null) return
  const file = await fileInside(worktree.path, address.path)
  if (file !== null) await vscode.window.showTextDocument(vscode.Uri.file(file))
}

/** The file a check points at, at its line, beside the panel. One that leads out of the worktree is named and not opened. */
export async function openCheckedFile(child: Child, { path: name, line }: Location): Promise<void> {
  const { worktree } = child
  if (worktree === null) return
  const file = await fileInside(worktree.path, name)
  if (file === null) return
  const at = new vscode.Position(Math.max(0, (line ?? 1) - 1), 0)
  await vscode.window.showTextDocument(vscode.Uri.file(file), {
    preview: true,
    viewColumn: vscode.ViewColumn.Beside,
    selection: new vscode.Range(at, at),
  })
}

/** The file by its name in the worktree; null after telling that it is not there, or that a link leads out of it. */
async function fileInside(worktree: string, name: string): Promise<string | null> {
  const file = path.resolve(worktree, name)
  const found = (each: string): Promise<string | null> => realpath(each).catch(() => null)
  const [root, real] = await Promise.all([found(worktree), found(file)])
  if (root !== null && real?.startsWith(root + path.sep) === true) return file
  const words =
    root === null || real === null
      ? t('There is no file {name} in its worktree.', { name })
      : t('{name} leads out of its worktree and is not opened.', { name })
  void vscode.window.showInformationMessage(forNotice(words))
  return null
}

type Location = NonNullable<CheckResult['location']>
