// The entries the webview holds right now: those around the viewport and the tail. Forgets what is far away, for the
// record has it; knows which tool call an output belongs to among those it holds. Pure.
import type { PanelEntry } from '../../src/protocol/panel'

type ToolEnd = Extract<PanelEntry, { kind: 'toolEnded' }>
type ToolStart = Extract<PanelEntry, { kind: 'toolStarted' }>

/** Characters held before distant entries are forgotten. */
const ROOM = 6_000_000

export class EntryCache {
  private readonly byNumber = new Map<number, PanelEntry>()
  private readonly starts = new Map<string, ToolStart>()
  private readonly ends = new Map<string, ToolEnd>()
  private readonly asked = new Map<number, number>()
  private size = 0

  get(n: number): PanelEntry | undefined {
    return this.byNumber.get(n)
  }

  endOf(start: ToolStart): ToolEnd | undefined {
    return this.ends.get(key(start))
  }

  startOf(end: ToolEnd): ToolStart | undefined {
    return this.starts.get(key(end))
  }

  /** @returns the numbers of entries that look different now: those put in, and tool calls whose output arrived */
  put(entries: readonly PanelEntry[]): Set<number> {
    const touched = new Set<number>()
    for (const entry of entries) {
      if (this.byNumber.has(entry.n)) continue
      this.byNumber.set(entry.n, entry)
      this.size += weight(entry)
      touched.add(entry.n)
      if (entry.kind === 'toolStarted') {
        this.starts.set(key(entry), entry)
        const end = this.ends.get(key(entry))
        if (end !== undefined) touched.add(end.n)
      } else if (entry.kind === 'toolEnded') {
        this.ends.set(key(entry), entry)
        const start = this.starts.get(key(entry))
        if (start !== undefined) touched.add(start.n)
      }
    }
    return touched
  }

  /**
   * The first gap within [from, to) that nobody has been asked for lately, or null.
   * @param now milliseconds, any origin
   */
  gap(from: number, to: number, now: number): { from: number; count: number } | null {
    for (let n = Math.max(0, from); n < to; n++) {
      if (this.byNumber.has(n) || now - (this.asked.get(n) ?? -Infinity) < 4_000) continue
      let end = n + 1
      while (end < to && end - n < 100 && !this.byNumber.has(end)) end++
      for (let i = n; i < end; i++) this.asked.set(i, now)
      return { from: n, count: end - n }
    }
    return null
  }

  /** What came for a request: the rest of it may be asked for again at once. */
  answered(from: number, count: number): void {
    for (let n = from; n < from + count; n++) this.asked.delete(n)
  }

  /** Forgets entries far from [from, to) and from the tail, until there is room. */
  trim(from: number, to: number, total: number): void {
    if (this.size <= ROOM) return
    const distance = (n: number): number => (n >= from && n < to ? 0 : n < from ? from - n : n - to)
    const far = [...this.byNumber.keys()]
      .filter((n) => distance(n) > 100 && n < total - 100)
      .sort((a, b) => distance(b) - distance(a))
    for (const n of far) {
      if (this.size <= ROOM * 0.7) return
      const entry = this.byNumber.get(n)
      if (entry === undefined) continue
      this.byNumber.delete(n)
      this.size -= weight(entry)
      if (entry.kind === 'toolStarted') this.starts.delete(key(entry))
      if (entry.kind === 'toolEnded') this.ends.delete(key(entry))
    }
  }

  clear(): void {
    this.byNumber.clear()
    this.starts.clear()
    this.ends.clear()
    this.asked.clear()
    this.size = 0
  }
}

/** A tool id is unique within an attempt only. */
function key(entry: ToolStart | ToolEnd): string {
  return `${entry.attempt} ${entry.toolId}`
}

function weight(entry: PanelEntry): number {
  const texts = Object.values(entry).map((value) => {
    if (typeof value === 'string') return value.length
    return typeof value === 'object' && value !== null && 'text' in value ? value.text.length : 0
  })
  return texts.reduce((sum, length) => sum + length, 200)
}
