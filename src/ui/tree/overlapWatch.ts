// Which files children at work have changed that another one at work has changed too: a warning before any merge. Asked of
// git only while the tree is on screen and two of them run, one child after the other, and seldom beside what it costs.
import { isLive } from '../../core/child'
import type { ChildView } from '../../supervisor/view'
import type { Overlap } from '../present/standing'
import { titleOf } from '../present/words'
import type { Changes } from '../review/changes'

/** Not asked more often than this, nor more often than a twentieth of the time goes into it. */
const everyMs = 10_000
const share = 20

export class OverlapWatch {
  private known = new Map<string, readonly Overlap[]>()
  private running = false
  private nextAt = 0

  constructor(
    private readonly changes: () => Promise<Pick<Changes, 'shared'> | null>,
    private readonly told: () => void,
    private readonly visible: () => boolean,
    private readonly now: () => number,
  ) {}

  /** As of the last look; empty when nobody else touches what this child has changed. */
  of(childId: string): readonly Overlap[] {
    return this.known.get(childId) ?? []
  }

  /** Looks again if it is time; returns at once. */
  want(views: readonly ChildView[]): void {
    const atWork = views.filter(({ child }) => isLive(child) && child.worktree !== null && !child.archived)
    if (atWork.length < 2) {
      this.known = new Map()
      return
    }
    if (this.running || !this.visible() || this.now() < this.nextAt) return
    this.running = true
    const started = this.now()
    void this.look(atWork).finally(() => {
      this.running = false
      this.nextAt = this.now() + Math.max(everyMs, share * (this.now() - started))
    })
  }

  private async look(views: readonly ChildView[]): Promise<void> {
    const changes = await this.changes()
    const ids = views.map(({ child }) => child.id)
    const shared = await changes?.shared(ids, this.visible).catch(() => null)
    if (shared === null || shared === undefined) return
    const titles = new Map(views.map(({ child }) => [child.id, titleOf(child)]))
    const known = new Map<string, Overlap[]>()
    for (const [path, children] of shared)
      for (const one of children)
        for (const other of children) {
          if (one === other) continue
          const found = known.get(one) ?? []
          known.set(one, found)
          const beside = found.find(({ childId }) => childId === other)
          if (beside === undefined) found.push({ childId: other, title: titles.get(other) ?? other, paths: [path] })
          else beside.paths.push(path)
        }
    const before = JSON.stringify([...this.known])
    this.known = known
    if (JSON.stringify([...known]) !== before) this.told()
  }
}
