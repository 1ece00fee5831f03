// Both sides of a child's changes as read-only files of our own scheme, same path on both sides, so that VS Code's
// multi-diff shows them and restores them after a reload. The address names a child and a side; what may be read is
// decided by git/ alone.
import * as vscode from 'vscode'
import type { Supervision } from '../supervision'
import { t } from '../present/l10n'
import { isProblem, type Side } from './changes'

export const REVIEW_SCHEME = 'coxswain-review'
/** How long a side is remembered: one opening of a diff asks for it several times. */
const rememberMs = 5_000

export function reviewUri(childId: string, side: Side, path: string): vscode.Uri {
  return vscode.Uri.from({
    scheme: REVIEW_SCHEME,
    path: `/${path}`,
    query: new URLSearchParams({ child: childId, side }).toString(),
  })
}

export interface ReviewAddress {
  readonly childId: string
  readonly side: Side
  readonly path: string
}

export function readReviewUri(uri: vscode.Uri): ReviewAddress | null {
  const query = new URLSearchParams(uri.query)
  const childId = query.get('child')
  const side = query.get('side')
  if (uri.scheme !== REVIEW_SCHEME || childId === null || (side !== 'base' && side !== 'now')) return null
  return { childId, side, path: uri.path.replace(/^\//, '') }
}

export class ReviewFiles implements vscode.FileSystemProvider {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>()
  readonly onDidChangeFile = this.changed.event
  private readonly remembered = new Map<string, { at: number; bytes: Promise<Uint8Array> }>()

  constructor(private readonly supervision: Supervision) {}

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined)
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const bytes = await this.readFile(uri)
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: 0,
      size: bytes.length,
      permissions: vscode.FilePermission.Readonly,
    }
  }

  readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const key = uri.toString()
    const known = this.remembered.get(key)
    if (known !== undefined && Date.now() - known.at < rememberMs) return known.bytes
    const bytes = this.read(uri)
    this.remembered.set(key, { at: Date.now(), bytes })
    // A failure is asked for again; a success is let go once the diff has it.
    const forget = (): void => {
      if (this.remembered.get(key)?.bytes === bytes) this.remembered.delete(key)
    }
    bytes.then(() => setTimeout(forget, rememberMs), forget)
    return bytes
  }

  /** Asks open diffs of this child to read again: its worktree has changed. */
  refresh(childId: string): void {
    this.remembered.clear()
    const events = vscode.workspace.textDocuments
      .filter(({ uri }) => readReviewUri(uri)?.childId === childId && readReviewUri(uri)?.side === 'now')
      .map(({ uri }) => ({ type: vscode.FileChangeType.Changed, uri }))
    if (events.length > 0) this.changed.fire(events)
  }

  readDirectory(): [string, vscode.FileType][] {
    return []
  }
  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions(t('A review is read-only.'))
  }
  writeFile(): never {
    throw vscode.FileSystemError.NoPermissions(t('A review is read-only. Open the file itself to edit it.'))
  }
  delete(): never {
    throw vscode.FileSystemError.NoPermissions(t('A review is read-only.'))
  }
  rename(): never {
    throw vscode.FileSystemError.NoPermissions(t('A review is read-only.'))
  }

  private async read(uri: vscode.Uri): Promise<Uint8Array> {
    const address = readReviewUri(uri)
    if (address === null) throw vscode.FileSystemError.FileNotFound(uri)
    const opened = await this.supervision.open()
    if (opened.kind === 'closed') throw vscode.FileSystemError.Unavailable(opened.message)
    const bytes = await opened.coxswain.changes.content(address.childId, address.side, address.path)
    if (isProblem(bytes)) throw vscode.FileSystemError.Unavailable(bytes.message)
    if (bytes === null) throw vscode.FileSystemError.FileNotFound(uri)
    return bytes
  }
}
