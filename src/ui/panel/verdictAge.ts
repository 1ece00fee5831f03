// Whether the child on screen has a worktree that changed since its verdict. Looks while the panel is visible and the
// child has ended, never otherwise: once, and again when files of the worktree change or a person comes back.
import * as vscode from 'vscode'
import { isLive, type Child } from '../../core/child'
import type { Changes } from '../review/changes'

/** After a change, so that a build is looked at once. */
const lookAfterMs = 1_000

export class VerdictAge implements vscode.Disposable {
  private key = ''
  private changedNow = false
  private watching: vscode.Disposable | null = null
  private timer: NodeJS.Timeout | null = null
  private looking = false
  private again = false

  constructor(
    private readonly changes: () => Changes | null,
    /** The answer is another than before. */
    private readonly told: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** What is known of this child; false while nothing is. */
  changed(child: Child): boolean {
    return keyOf(child) === this.key && this.changedNow
  }

  /** Looks after this child from now on; null when none is on screen. */
  follow(child: Child | null): void {
    const key = child === null ? '' : keyOf(child)
    if (key === this.key) return
    this.stop()
    this.key = key
    this.changedNow = false
    if (child === null || key === '' || child.worktree === null) return
    const watcher = vscode.workspace.createFileSystemWatcher(
      new vscode.RelativePattern(vscode.Uri.file(child.worktree.path), '**'),
    )
    const soon = (): void => this.lookSoon(child.id)
    this.watching = vscode.Disposable.from(
      watcher,
      watcher.onDidCreate(soon),
      watcher.onDidChange(soon),
      watcher.onDidDelete(soon),
      // Where no watcher reaches.
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) soon()
      }),
    )
    this.look(child.id)
  }

  dispose(): void {
    this.stop()
    this.key = ''
  }

  private stop(): void {
    this.watching?.dispose()
    this.watching = null
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }

  private lookSoon(childId: string): void {
    this.timer ??= setTimeout(() => {
      this.timer = null
      this.look(childId)
    }, lookAfterMs)
  }

  private look(childId: string): void {
    if (this.looking) {
      this.again = true
      return
    }
    this.looking = true
    this.ask(childId)
      .catch(this.failed)
      .finally(() => {
        this.looking = false
        if (this.again && this.key !== '') this.lookSoon(childId)
        this.again = false
      })
  }

  private async ask(childId: string): Promise<void> {
    const { key } = this
    const changed = (await this.changes()?.changedSinceVerdict(childId)) ?? null
    if (key !== this.key || changed === null || changed === this.changedNow) return
    this.changedNow = changed
    this.told()
  }
}

/** Empty when there is nothing to look after: it works, has no verdict, or no worktree any more. */
function keyOf(child: Child): string {
  const { verdict, worktree } = child
  if (isLive(child) || verdict?.tree === undefined || worktree === null || child.discarded) return ''
  return `${child.id} ${child.verdicts.length} ${verdict.tree}`
}
