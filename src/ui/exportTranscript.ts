// Writes a child's transcript to a file the person names: Markdown to read, JSON lines to process.
import * as vscode from 'vscode'
import type { ChildView } from '../supervisor/view'
import { entryMarkdown, headMarkdown } from './present/export'
import { t } from './present/l10n'
import { titleOf } from './present/words'
import type { Supervision } from './supervision'

const chunk = 200

export async function exportTranscript(child: ChildView, supervision: Supervision): Promise<void> {
  const folder = supervision.folder()
  const name = titleOf(child.child)
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .toLowerCase()
  const target = await vscode.window.showSaveDialog({
    title: t('Export transcript'),
    filters: { Markdown: ['md'], [t('JSON lines')]: ['jsonl'] },
    ...(folder === null ? {} : { defaultUri: vscode.Uri.joinPath(vscode.Uri.file(folder), `${name}.md`) }),
  })
  const view = supervision.view
  if (target === undefined || view === null) return
  const asJson = /\.jsonl?$/.test(target.path)
  const parts: string[] = asJson ? [] : [headMarkdown(child)]
  for (let at = 0; ; at += chunk) {
    const entries = await view.entries(child.child.id, at, chunk)
    for (const entry of entries) parts.push(asJson ? JSON.stringify(entry) : entryMarkdown(entry, child.child))
    if (entries.length < chunk) break
  }
  await vscode.workspace.fs.writeFile(target, Buffer.from(`${parts.join('\n')}\n`))
  if (!asJson) await vscode.window.showTextDocument(target, { preview: true })
}
