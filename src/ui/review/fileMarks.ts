// Marks files of the person's own checkout that running children have changed in theirs, so that two people's worth of work
// on one file is seen before any merge. Asks git about one child at a time, only in a focused window.
import { realpath } from 'node:fs/promises'
import * as vscode from 'vscode'
import { isLive, type Child } from '../../core/child'
import { t } from '../present/l10n'
import { placeOf, shownAt, type ShownFolder } from '../present/shownPaths'
import { titleOf } from '../present/words'
import type { Supervision } from '../supervision'
import { isProblem } from './changes'

/** A child's worktree is looked at so often at most. */
const everyMs = 10_000
const namedAtMost = 5

export class FileMarks implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri[]>()
  readonly onDidChangeFileDecorations = this.changed.event
  /** Child → the files it changed, relative to the top of the repository. */
  private readonly files = new Map<string, readonly string[]>()
  private readonly lookedAt = new Map<string, { entries: number; at: number }>()
  private top: string | null = null
  private folders: readonly ShownFolder[] = []
  private looking = false
  /** VS Code shows files somewhere: until it asks, git is not. */
  private asked = false
  private timer: NodeJS.Timeout | null = null
  private readonly following: vscode.Disposable

  constructor(
    private readonly supervision: Supervision,
    private readonly failed: (error: unknown) => void,
  ) {
    this.following = vscode.Disposable.from(
      supervision.onDidChange(() => this.plan(1_000)),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) this.plan(0)
      }),
    )
  }

  dispose(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.following.dispose()
    this.changed.dispose()
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== 'file') return undefined
    if (!this.asked) {
      this.asked = true
      this.plan(0)
    }
    if (this.top === null || this.files.size === 0) return undefined
    const place = placeOf(this.top, this.folders, uri.fsPath)
    if (place === null) return undefined
    const ids = [...this.files].filter(([, files]) => files.includes(place)).map(([id]) => id)
    if (ids.length === 0) return undefined
    const titles = ids
      .map((id) => this.supervision.view?.get(id)?.child)
      .filter((child) => child !== undefined)
      .slice(0, namedAtMost)
      .map(titleOf)
      .join(', ')
    return {
      badge: ids.length === 1 ? '◆' : `◆${Math.min(9, ids.length)}`,
      tooltip:
        ids.length === 1
          ? t('Changed by a running child: {titles}', { titles })
          : t('Changed by {n} running children: {titles}', { n: ids.length, titles }),
    }
  }

  private plan(afterMs: number): void {
    if (this.timer !== null) return
    this.timer = setTimeout(() => {
      this.timer = null
      this.look().catch(this.failed)
    }, afterMs)
  }

  private async look(): Promise<void> {
    const { view } = this.supervision
    if (this.looking || !this.asked || view === null || !vscode.window.state.focused) return
    const running = view.list().filter(({ child }) => counts(child))
    for (const id of [...this.files.keys()]) if (!running.some(({ child }) => child.id === id)) this.note(id, [])
    if (running.length === 0) return
    this.looking = true
    let again = false
    try {
      const opened = await this.supervision.open()
      if (opened.kind === 'closed') return
      this.top = opened.coxswain.checkout.topLevel
      this.folders = await Promise.all(
        this.supervision.folders().map(async (shown) => ({ shown, real: await realpath(shown).catch(() => shown) })),
      )
      for (const { child, entryCount } of running) {
        const former = this.lookedAt.get(child.id)
        // A child that said nothing has changed nothing.
        if (former?.entries === entryCount) continue
        if (former !== undefined && Date.now() - former.at < everyMs) {
          again = true
          continue
        }
        this.lookedAt.set(child.id, { entries: entryCount, at: Date.now() })
        const files = await opened.coxswain.changes.files(child.id)
        if (!isProblem(files))
          this.note(
            child.id,
            files.flatMap((file) => (file.from === undefined ? [file.path] : [file.path, file.from])),
          )
      }
    } finally {
      this.looking = false
    }
    if (again) this.plan(everyMs)
  }

  private note(childId: string, files: readonly string[]): void {
    const former = this.files.get(childId) ?? []
    if (files.length === 0) this.files.delete(childId)
    else this.files.set(childId, files)
    const { top, folders } = this
    if (top === null) return
    const touched = [...new Set([...former, ...files])].flatMap((place) => shownAt(top, folders, place))
    if (touched.length > 0) this.changed.fire(touched.map((file) => vscode.Uri.file(file)))
  }
}

const counts = (child: Child): boolean => (isLive(child) || child.paused) && child.worktree !== null
