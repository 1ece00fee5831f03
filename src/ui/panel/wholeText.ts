// The whole of a long transcript entry as a read-only document: VS Code's editor handles five megabytes, a page of ours
// should not. The address names a child and an entry, nothing else.
import * as vscode from 'vscode'
import { findingText, wholeText } from '../present/panel'
import { t } from '../present/l10n'
import type { Supervision } from '../supervision'

export const TEXT_SCHEME = 'coxswain-text'
export type Part = 'text' | 'input' | 'output'

export function wholeTextUri(childId: string, n: number, part: Part): vscode.Uri {
  return vscode.Uri.from({ scheme: TEXT_SCHEME, path: `/${childId}/${n} ${part}.txt` })
}

/** All that a check of its present verdict found. */
export function findingUri(childId: string, check: number): vscode.Uri {
  return vscode.Uri.from({ scheme: TEXT_SCHEME, path: `/${childId}/check ${check + 1}.txt` })
}

export class WholeTexts implements vscode.TextDocumentContentProvider {
  constructor(private readonly supervision: Supervision) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const check = /^\/([^/]+)\/check (\d+)\.txt$/.exec(uri.path)
    if (check !== null) {
      const child = this.supervision.view?.get(check[1] ?? '')?.child
      const finding = child === undefined ? null : findingText(child, Number(check[2]) - 1)
      return finding ?? t('This verdict has no such check any more.')
    }
    const match = /^\/([^/]+)\/(\d+) (text|input|output)\.txt$/.exec(uri.path)
    const opened = await this.supervision.open()
    if (match === null || opened.kind === 'closed') return t('This entry cannot be read.')
    const [, childId = '', n = '', part] = match
    const [entry] = await opened.coxswain.view.entries(childId, Number(n), 1)
    const text = entry === undefined ? null : wholeText(entry, part as Part)
    return text ?? t('This entry cannot be read.')
  }
}
