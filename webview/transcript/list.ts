// The virtual list: of 50,000 rows only those near the viewport exist. Keeps the row a person reads where it is while
// rows around it get their true heights, and follows the end while they are at the end.
import { el } from './dom'
import { Heights } from './heights'

export interface ListSource {
  /** Builds the row of an entry, or a stand-in while it is on its way. */
  row(n: number): HTMLElement
  /** These rows are wanted now, with a margin. */
  wanted(from: number, to: number): void
  /** A person moved, or the list did by itself. */
  moved(): void
}

/** Rows beyond each edge of the viewport that exist already, in pixels. */
const MARGIN = 500
/** Free space below the last row, in pixels. */
const END = 12

export class VirtualList {
  readonly element = el('div', 'scroller')
  private readonly before = el('div', 'space')
  private readonly rows = el('div', 'rows')
  private readonly after = el('div', 'space')
  private readonly heights = new Heights(30)
  private readonly mounted = new Map<number, HTMLElement>()
  private anchor = { n: 0, offset: 0 }
  private followsNow = true
  private scheduled = 0
  private setTop = -1
  private width = 0

  constructor(private readonly source: ListSource) {
    this.element.tabIndex = 0
    this.element.append(this.before, this.rows, this.after)
    this.element.addEventListener('scroll', () => this.scrolled(), { passive: true })
    this.element.addEventListener('keydown', (event) => this.key(event))
    // Unfolding a row must not push it away from under the pointer: the end is no longer what the person looks at.
    this.rows.addEventListener('click', (event) => {
      if (event.target instanceof Element && event.target.closest('summary') !== null) this.stay()
    })
    const observer = new ResizeObserver(() => this.resized())
    observer.observe(this.element)
    observer.observe(this.rows)
  }

  get length(): number {
    return this.heights.length
  }

  get follows(): boolean {
    return this.followsNow
  }

  /** The first row in view and how far it is scrolled past. */
  get place(): { n: number; offset: number } {
    return this.anchor
  }

  resize(length: number): void {
    if (length === this.heights.length) return
    this.heights.resize(length)
    for (const [n, row] of this.mounted)
      if (n >= length) {
        row.remove()
        this.mounted.delete(n)
      }
    this.schedule()
  }

  /** Builds these rows anew if they exist. */
  renew(rows: Iterable<number>): void {
    for (const n of rows) {
      const former = this.mounted.get(n)
      if (former === undefined) continue
      const focused = former.contains(document.activeElement)
      const fresh = this.source.row(n)
      former.replaceWith(fresh)
      this.mounted.set(n, fresh)
      if (focused) fresh.querySelector<HTMLElement>('summary, button, [tabindex]')?.focus()
    }
    this.schedule()
  }

  clear(): void {
    for (const row of this.mounted.values()) row.remove()
    this.mounted.clear()
    this.heights.resize(0)
    this.anchor = { n: 0, offset: 0 }
    this.followsNow = true
    this.setTop = -1
    this.schedule()
  }

  /** Shows a row at the top, a little below the edge. */
  go(n: number, offset = -40): void {
    this.followsNow = false
    this.anchor = { n: Math.max(0, Math.min(n, this.heights.length - 1)), offset }
    this.schedule()
  }

  toEnd(): void {
    this.followsNow = true
    this.schedule()
  }

  /** The numbers of the rows that exist right now. */
  mountedRows(): readonly number[] {
    return [...this.mounted.keys()]
  }

  schedule(): void {
    if (this.scheduled !== 0) return
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0
      this.layout()
    })
  }

  private stay(): void {
    if (!this.followsNow) return
    this.followsNow = false
    const top = this.element.scrollTop
    const n = Math.max(0, this.heights.at(top))
    this.anchor = { n, offset: top - this.heights.top(n) }
  }

  private scrolled(): void {
    const top = this.element.scrollTop
    if (Math.abs(top - this.setTop) < 1) return
    this.setTop = -1
    this.followsNow = top + this.element.clientHeight >= this.element.scrollHeight - 3
    const n = Math.max(0, this.heights.at(top))
    this.anchor = { n, offset: top - this.heights.top(n) }
    this.schedule()
  }

  private resized(): void {
    const width = this.element.clientWidth
    if (width !== this.width && this.width !== 0) this.heights.forget()
    this.width = width
    this.schedule()
  }

  private layout(): void {
    const viewport = this.element.clientHeight
    if (viewport === 0) return
    // A row's true height may bring others into view; a few rounds settle it.
    for (let round = 0; round < 4; round++) {
      const { first, last } = this.window(viewport)
      this.mount(first, last)
      const changed = this.measureAll()
      this.space(first, last)
      this.settle(viewport)
      const again = this.window(viewport)
      if (!changed && again.first === first && again.last === last) break
    }
    const { first, last } = this.window(viewport)
    this.source.wanted(first, last)
    this.source.moved()
  }

  private topNow(viewport: number): number {
    if (this.followsNow) return Math.max(0, this.heights.total + END - viewport)
    return Math.max(0, this.heights.top(this.anchor.n) + this.anchor.offset)
  }

  /** Rows [first, last) that have to exist. */
  private window(viewport: number): { first: number; last: number } {
    if (this.heights.length === 0) return { first: 0, last: 0 }
    const top = this.topNow(viewport)
    const first = this.heights.at(top - MARGIN)
    const last = this.heights.at(top + viewport + MARGIN) + 1
    return { first, last }
  }

  private mount(first: number, last: number): void {
    for (const [n, row] of this.mounted)
      if (n < first || n >= last) {
        row.remove()
        this.mounted.delete(n)
      }
    let next: ChildNode | null = this.rows.firstChild
    for (let n = first; n < last; n++) {
      let row = this.mounted.get(n)
      if (row === undefined) {
        row = this.source.row(n)
        this.mounted.set(n, row)
        this.rows.insertBefore(row, next)
      } else next = row.nextSibling
    }
  }

  private measureAll(): boolean {
    let changed = false
    for (const [n, row] of this.mounted)
      if (!row.classList.contains('row-missing') && this.heights.measure(n, row.offsetHeight)) changed = true
    return changed
  }

  private space(first: number, last: number): void {
    this.before.style.height = `${this.heights.top(first)}px`
    this.after.style.height = `${Math.max(0, this.heights.total - this.heights.top(last)) + END}px`
  }

  private settle(viewport: number): void {
    const top = this.followsNow ? this.element.scrollHeight : this.topNow(viewport)
    if (Math.abs(this.element.scrollTop - top) >= 1) this.element.scrollTop = top
    this.setTop = this.element.scrollTop
    if (!this.followsNow && this.heights.length > 0 && this.element.scrollHeight - this.setTop <= viewport + 3)
      this.followsNow = true
    if (this.followsNow && this.heights.length > 0) {
      const n = this.heights.at(this.setTop)
      this.anchor = { n, offset: this.setTop - this.heights.top(n) }
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.element) return
    if (event.key === 'End') this.toEnd()
    else if (event.key === 'Home') this.go(0, 0)
    else return
    event.preventDefault()
  }
}
