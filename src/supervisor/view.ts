// What every reader sees: the fold of the store's files, followed as they grow. Needs no owner and writes nothing, so a
// second window or the command line shows the same truth as the window that runs the children.
import type { Child } from '../core/child'
import type { TranscriptEntry } from '../core/transcript'

/** A child as shown: its fold, and what it is doing now (read from the end of its transcript). */
export interface ChildView {
  readonly child: Child
  /** One line, control characters removed, e.g. "Bash: npm test". */
  readonly activity: string | null
  /** ISO 8601 UTC: when the activity began. */
  readonly activityAt: string | null
  /** Nobody speaks for its parent now, and it matters to it: `isParentAway`. */
  readonly parentAway: boolean
  /** Number of transcript entries so far. */
  readonly entryCount: number
}

export interface StoreView {
  /** Newest first; archived ones too. */
  list(): readonly ChildView[]
  get(childId: string): ChildView | undefined
  /** Entries [from, from + count) of a child's transcript; fewer at the end. */
  entries(childId: string, from: number, count: number): Promise<readonly TranscriptEntry[]>
  /** The one thing told upwards: this child changed (its state, activity or transcript). Coalesced per tick. */
  onDidChange(listener: (childId: string) => void): { dispose(): void }
  dispose(): void
}
