// A person's steps through the hits of a search. The host answers one at a time; what is pressed meanwhile waits its turn,
// so that no press is lost and each goes on from the hit before it. Pure.

export interface FindRequest {
  readonly query: string
  /** The hit it goes on from; null = none yet. */
  readonly after: number | null
  readonly back: boolean
}

/** Presses that may wait: a key held down must not search on long after it was let go. */
const waitingAtMost = 20

export class Finding {
  private query = ''
  private at: number | null = null
  private asked = false
  private waiting: FindRequest[] = []

  constructor(private readonly ask: (request: FindRequest) => void) {}

  /** One step on, or back. Other words begin anew, and nobody waits for the former ones. */
  press(query: string, back: boolean): void {
    if (query !== this.query) this.startOver()
    this.query = query
    if (this.asked) {
      if (this.waiting.length < waitingAtMost) this.waiting.push({ query, after: null, back })
      return
    }
    this.asked = true
    this.ask({ query, after: this.at, back })
  }

  /** The hit of the step that was asked for. */
  answered(at: number | null): void {
    this.at = at
    this.asked = false
    const next = this.waiting.shift()
    if (next !== undefined) this.press(next.query, next.back)
  }

  /** The next step is the first one; what is still under way is not waited for. */
  startOver(): void {
    this.at = null
    this.asked = false
    this.waiting = []
  }
}
