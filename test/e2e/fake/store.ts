// The two interfaces the window lives on, held in memory: children that a test moves through their states, and wishes
// answered as the real ones are. Only for what needs states on demand; what a person does is tested on the real thing.
import type { Child } from '../../../src/core/child'
import type { TranscriptEntry } from '../../../src/core/transcript'
import type { Commands } from '../../../src/supervisor/commands'
import type { ChildView, StoreView } from '../../../src/supervisor/view'
import { at, steer } from '../../unit/ui/children'

export class FakeStore implements StoreView {
  readonly asked: { command: string; request: unknown }[] = []
  private readonly children = new Map<string, { child: Child; entries: TranscriptEntry[]; activity: string | null }>()
  private readonly listeners = new Set<(id: string) => void>()
  private steers = 0
  private readonly begun = new Date().toISOString()

  put(child: Child, entries: readonly object[] = [], activity: string | null = null): void {
    const numbered = entries.map((body, n) => ({ n, at: at(n * 2), attempt: 1, ...body }) as TranscriptEntry)
    this.children.set(child.id, { child, entries: numbered, activity })
    this.tell(child.id)
  }

  change(id: string, over: Partial<Child>, activity?: string | null): void {
    const held = this.children.get(id)
    if (held === undefined) return
    held.child = { ...held.child, ...over }
    if (activity !== undefined) held.activity = activity
    this.tell(id)
  }

  say(id: string, ...bodies: readonly object[]): void {
    const held = this.children.get(id)
    if (held === undefined) return
    for (const body of bodies)
      held.entries.push({
        n: held.entries.length,
        at: new Date().toISOString(),
        attempt: 1,
        ...body,
      } as TranscriptEntry)
    this.tell(id)
  }

  list(): readonly ChildView[] {
    return [...this.children.keys()].map((id) => this.get(id)).filter((view) => view !== undefined)
  }

  get(id: string): ChildView | undefined {
    const held = this.children.get(id)
    return (
      held && {
        child: held.child,
        activity: held.activity,
        activityAt: held.activity === null ? null : this.begun,
        entryCount: held.entries.length,
      }
    )
  }

  entries(id: string, from: number, count: number): Promise<readonly TranscriptEntry[]> {
    return Promise.resolve(this.children.get(id)?.entries.slice(from, from + count) ?? [])
  }

  onDidChange(listener: (id: string) => void): { dispose(): void } {
    this.listeners.add(listener)
    return { dispose: () => this.listeners.delete(listener) }
  }

  dispose(): void {
    this.listeners.clear()
  }

  private tell(id: string): void {
    for (const listener of this.listeners) listener(id)
  }

  readonly commands: Commands = new Proxy({} as Commands, {
    get: (_target, command: string) => async (request: { subagent_id?: string; message?: string }) => {
      this.asked.push({ command, request })
      const id = request.subagent_id ?? ''
      if (command === 'steer') {
        const steerId = `steer-${++this.steers}`
        const given = steer({
          id: steerId,
          text: request.message ?? '',
          queuedAt: new Date().toISOString(),
          history: [{ state: 'queued', at: new Date().toISOString(), evidence: null }],
        })
        this.change(id, { steers: [...(this.children.get(id)?.child.steers ?? []), given] })
        this.say(id, { kind: 'steer', steerId, text: request.message, by: { kind: 'person' } })
        return {
          action: 'steer',
          subagent_id: id,
          steer_id: steerId,
          status: 'queued',
          note: 'Queued: appended to its next tool result; the current tool call is never cut.',
        }
      }
      if (command === 'interrupt') this.change(id, { phase: 'INTERRUPTED', paused: true })
      if (command === 'stop') this.change(id, { phase: 'CANCELLED' })
      if (command === 'resume') this.change(id, { phase: 'RUNNING', paused: false })
      return { action: command, subagent_id: id, status: 'done', note: '' }
    },
  })
}
