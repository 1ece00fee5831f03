// How much each ended child changed, for its row: asked of git once per end, one child after the other, and only while
// the tree is on screen. Live children are not asked: their worktree changes faster than the answer.
import { isLive } from '../../core/child'
import type { ChildView } from '../../supervisor/view'
import type { WorktreeState } from '../../supervisor/tools'
import { isProblem, type Changes } from '../review/changes'

/** More ended children than this are not asked about; they are folded away anyway. */
const atMost = 60

export class ChangeStats {
  private readonly known = new Map<string, { key: string; stat: WorktreeState | null }>()
  private running = false

  constructor(
    private readonly changes: () => Promise<Changes | null>,
    private readonly told: () => void,
    private readonly visible: () => boolean,
  ) {}

  /** What is known now; null when nothing is, or when it cannot be known. */
  of(childId: string): WorktreeState | null {
    return this.known.get(childId)?.stat ?? null
  }

  /** Finds out what is missing for these children; returns at once. */
  want(views: readonly ChildView[]): void {
    if (this.running || !this.visible()) return
    const missing = views
      .filter(({ child }) => !isLive(child) && !child.archived && !child.discarded && child.worktree !== null)
      .slice(0, atMost)
      .filter((view) => this.known.get(view.child.id)?.key !== keyOf(view))
    if (missing.length === 0) return
    this.running = true
    void this.ask(missing).finally(() => {
      this.running = false
    })
  }

  private async ask(views: readonly ChildView[]): Promise<void> {
    const changes = await this.changes()
    for (const view of views) {
      if (changes === null || !this.visible()) return
      const stat = await changes.stat(view.child.id).catch(() => null)
      this.known.set(view.child.id, { key: keyOf(view), stat: stat === null || isProblem(stat) ? null : stat })
      this.told()
    }
  }
}

/** Changes when the worktree may have: another attempt, another end, an apply. */
function keyOf({ child }: ChildView): string {
  return [child.attempts.length, child.phase, child.settledAt, child.applied].join(' ')
}
