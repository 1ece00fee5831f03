// How high every row of a long list is: measured where it was once on screen, guessed elsewhere. A Fenwick tree, so that
// "which row is at this pixel" and "where does this row begin" stay cheap with 50,000 rows. Pure.

/** Browsers cap an element's height near 33.5 million pixels; stay clear of it. */
const MAX_TOTAL = 30_000_000

export class Heights {
  private readonly own: number[] = []
  private readonly sums: number[] = [0]
  private measured = 0
  private measuredTotal = 0
  private readonly isMeasured: boolean[] = []

  constructor(private guess: number) {}

  get length(): number {
    return this.own.length
  }

  get total(): number {
    return this.top(this.own.length)
  }

  /** Grows with guessed rows, or forgets rows from the end. */
  resize(length: number): void {
    while (this.own.length > length) {
      const i = this.own.length - 1
      if (this.isMeasured[i] === true) {
        this.measured--
        this.measuredTotal -= this.own[i] ?? 0
      }
      this.own.pop()
      this.isMeasured.pop()
      this.sums.pop()
    }
    const guess = Math.min(this.guess, Math.max(1, MAX_TOTAL / Math.max(1, length)))
    while (this.own.length < length) {
      this.own.push(guess)
      this.isMeasured.push(false)
      const i = this.own.length
      // The new node covers (i - lowbit, i]: its own height and the nodes below it in that range.
      let sum = guess
      for (let j = i - 1; j > i - (i & -i); j -= j & -j) sum += this.sums[j] ?? 0
      this.sums.push(sum)
    }
  }

  /** @returns whether it differs from what was believed */
  measure(index: number, height: number): boolean {
    const former = this.own[index]
    if (former === undefined) return false
    if (this.isMeasured[index] === true) this.measuredTotal -= former
    else {
      this.isMeasured[index] = true
      this.measured++
    }
    this.measuredTotal += height
    if (former === height) return false
    this.own[index] = height
    for (let i = index + 1; i <= this.own.length; i += i & -i) this.sums[i] = (this.sums[i] ?? 0) + height - former
    return true
  }

  /** The column has another width: all is guesswork again, with what was learned as the guess. */
  forget(): void {
    if (this.measured > 0) this.guess = Math.max(16, Math.min(200, this.measuredTotal / this.measured))
    const length = this.own.length
    this.own.length = 0
    this.isMeasured.length = 0
    this.sums.length = 1
    this.measured = 0
    this.measuredTotal = 0
    this.resize(length)
  }

  /** Where a row begins, in pixels from the top. */
  top(index: number): number {
    let sum = 0
    for (let i = Math.min(index, this.own.length); i > 0; i -= i & -i) sum += this.sums[i] ?? 0
    return sum
  }

  height(index: number): number {
    return this.own[index] ?? 0
  }

  /** The row that covers a pixel; the first or last one outside the list; -1 when there is none. */
  at(pixel: number): number {
    const length = this.own.length
    if (length === 0) return -1
    let index = 0
    let rest = Math.max(0, pixel)
    for (let step = 2 ** Math.floor(Math.log2(length)); step >= 1; step /= 2) {
      const next = index + step
      if (next <= length && (this.sums[next] ?? 0) <= rest) {
        index = next
        rest -= this.sums[next] ?? 0
      }
    }
    return Math.min(index, length - 1)
  }
}
