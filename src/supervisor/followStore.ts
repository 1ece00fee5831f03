// A StoreView over the files: folds every child's log, follows what grows, and needs nobody's leave. It reads only.
import { readdir } from 'node:fs/promises'
import type { Child } from '../core/child'
import { isParentAway } from '../core/spawnTree'
import { readEntry, activityOf, type TranscriptEntry } from '../core/transcript'
import { hearBells } from '../record/bell'
import { LogReader } from '../record/childLog'
import { LineFile } from '../record/lineFile'
import type { StorePaths } from '../record/paths'
import { ParentPresence } from './parentPresence'
import type { ChildView, StoreView } from './view'

/** How often to look when the system cannot tell us of changes. */
const deafLookMs = 500
/** How often to look which parents are there: one that was killed tells nobody. */
const parentsLookMs = 2_000

interface Followed {
  readonly log: LogReader
  readonly transcript: LineFile
  /** Byte offset of every entry: pages are read from disk, not kept. */
  readonly offsets: number[]
  activity: string | null
  activityAt: string | null
  reading: Promise<void>
  due: boolean
}

export interface FollowedStore extends StoreView {
  /** Resolves once everything on disk at the time of the call has been folded. */
  refresh(): Promise<void>
  /** Every child, with all that is on disk of it now. */
  recorded(): Promise<readonly Child[]>
}

/** Opens the view of a store; its folders exist. Resolves once everything on disk has been folded. */
export async function followStore(paths: StorePaths): Promise<FollowedStore> {
  const view = new FileStoreView(paths)
  await view.start()
  return view
}

class FileStoreView implements FollowedStore {
  private readonly children = new Map<string, Followed>()
  private readonly listeners = new Set<(childId: string) => void>()
  private readonly changed = new Set<string>()
  private bells: { dispose(): void } | undefined
  private timer: NodeJS.Timeout | undefined
  private parentsTimer: NodeJS.Timeout | undefined
  private disposed = false
  private readonly parents: ParentPresence

  constructor(private readonly paths: StorePaths) {
    this.parents = new ParentPresence(paths)
  }

  async start(): Promise<void> {
    this.parentsTimer = setInterval(() => this.lookForParents(), parentsLookMs)
    this.parentsTimer.unref()
    this.bells = hearBells(
      this.paths.bell,
      (childId) => void this.refreshOne(childId),
      () => this.lookRegularly(),
    )
    await this.refresh()
  }

  list(): readonly ChildView[] {
    const views: ChildView[] = []
    for (const id of this.children.keys()) {
      const view = this.get(id)
      if (view !== undefined) views.push(view)
    }
    return views.sort((a, b) =>
      a.child.acceptedAt < b.child.acceptedAt
        ? 1
        : a.child.acceptedAt > b.child.acceptedAt
          ? -1
          : b.child.index - a.child.index,
    )
  }

  get(childId: string): ChildView | undefined {
    const followed = this.children.get(childId)
    if (followed?.log.child === undefined) return undefined
    const { activity, activityAt, offsets } = followed
    const { child } = followed.log
    const parentAway = isParentAway(child, (id) => this.children.get(id)?.log.child, this.parents.isPresent)
    return { child, activity, activityAt, parentAway, entryCount: offsets.length }
  }

  async entries(childId: string, from: number, count: number): Promise<readonly TranscriptEntry[]> {
    const followed = this.children.get(childId)
    const start = followed?.offsets[Math.max(0, from)]
    if (followed === undefined || start === undefined || count <= 0) return []
    const entries: TranscriptEntry[] = []
    const file = new LineFile(this.paths.child(childId).transcript, start)
    const end = followed.offsets[from + count] ?? Number.POSITIVE_INFINITY
    await file.readNew((line, at) => {
      if (at >= end) return false
      const entry = readEntry(line)
      if (entry !== undefined) entries.push(entry)
      return entries.length < count
    })
    return entries
  }

  onDidChange(listener: (childId: string) => void): { dispose(): void } {
    this.listeners.add(listener)
    return { dispose: () => this.listeners.delete(listener) }
  }

  dispose(): void {
    this.disposed = true
    this.bells?.dispose()
    clearInterval(this.timer)
    clearInterval(this.parentsTimer)
    this.listeners.clear()
  }

  private lookForParents(): void {
    const changed = this.parents.look()
    if (changed.size === 0) return
    for (const [id, { log }] of this.children) if (changed.has(log.child?.parentSession ?? '')) this.tell(id)
  }

  private lookRegularly(): void {
    if (this.disposed) return
    this.timer ??= setInterval(() => void this.refresh(), deafLookMs)
    this.timer.unref()
  }

  async refresh(): Promise<void> {
    const names = await readdir(this.paths.children).catch(() => [] as string[])
    await Promise.all(names.filter(isChildId).map((name) => this.refreshOne(name)))
  }

  /** Twice, so that of every child all is read that was on disk before the last that is read of any other. */
  async recorded(): Promise<readonly Child[]> {
    await this.refresh()
    await this.refresh()
    return this.list().map(({ child }) => child)
  }

  /** Reads what is new of one child; calls that come meanwhile are served by one more reading. */
  private async refreshOne(childId: string): Promise<void> {
    if (!isChildId(childId)) return
    const known = this.children.get(childId)
    const followed = known ?? this.follow(childId)
    if (known !== undefined && followed.due) return followed.reading
    followed.due = true
    followed.reading = followed.reading.then(async () => {
      followed.due = false
      if (this.disposed) return
      if (await this.read(followed)) this.tell(childId)
    })
    return followed.reading
  }

  private follow(childId: string): Followed {
    const paths = this.paths.child(childId)
    const followed: Followed = {
      log: new LogReader(paths.events),
      transcript: new LineFile(paths.transcript),
      offsets: [],
      activity: null,
      activityAt: null,
      reading: Promise.resolve(),
      due: false,
    }
    this.children.set(childId, followed)
    return followed
  }

  private async read(followed: Followed): Promise<boolean> {
    const before = followed.offsets.length
    try {
      const events = await followed.log.read()
      await followed.transcript.readNew(
        (line, at) => {
          const entry = readEntry(line)
          if (entry === undefined || entry.n !== followed.offsets.length) return
          followed.offsets.push(at)
          const activity = activityOf(entry)
          if (activity !== undefined) {
            followed.activity = activity
            followed.activityAt = entry.at
          }
        },
        () => (followed.offsets.length = 0),
      )
      return events.length > 0 || followed.offsets.length > before
    } catch {
      // Unreadable right now (out of files, say): the next bell or look tries again.
      return false
    }
  }

  private tell(childId: string): void {
    this.changed.add(childId)
    if (this.changed.size > 1) return
    setImmediate(() => {
      const due = [...this.changed]
      this.changed.clear()
      for (const id of due) for (const listener of this.listeners) listener(id)
    })
  }
}

const isChildId = (name: string): boolean => /^[a-z0-9]{6,40}$/.test(name)
