// A child as it was when an attempt's output was first heard: what is on record as fact, but was not told before a crash,
// can so be told again in the words it would have had then. It reads only.
import type { Child } from '../core/child'
import type { ChildEvent } from '../core/events'
import { reduce } from '../core/reduce'
import { LogReader } from '../record/childLog'

export class AsItWas {
  private child: Child | undefined
  private next = 0

  private constructor(
    private readonly events: readonly ChildEvent[],
    attempt: number,
  ) {
    const begun = events.findIndex((event) => event.type === 'launching' && event.attempt === attempt)
    while (this.next <= begun) this.step()
  }

  /** `log`: the child's events.jsonl. */
  static async of(log: string, attempt: number): Promise<AsItWas> {
    return new AsItWas(await new LogReader(log).read(), attempt)
  }

  /** The child just before it heard the line of `source` that ends at `end`. Ask in the order of the lines. */
  before(source: 'stdout' | 'stderr', end: number): Child | undefined {
    for (let event = this.events[this.next]; event !== undefined; event = this.events[this.next]) {
      if ('cursor' in event && event.cursor?.source === source && event.cursor.end >= end) break
      this.step()
    }
    return this.child
  }

  private step(): void {
    const event = this.events[this.next++]
    if (event !== undefined) this.child = reduce(this.child, event)
  }
}
