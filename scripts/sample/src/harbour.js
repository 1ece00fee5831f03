/**
 * @typedef {{name: string, length: number, depth: number}} Berth lengths and depths in metres
 * @typedef {{name: string, length: number, draught: number}} Boat
 */

/** Keeps which boat lies in which berth. */
export class Harbour {
  #berths
  /** @type {Map<string, Boat>} */
  #moored = new Map()

  /** @param {Berth[]} berths */
  constructor(berths) {
    this.#berths = berths
  }

  /**
   * Moors a boat in the shortest free berth that is long and deep enough.
   * @param {Boat} boat
   * @returns {Berth}
   */
  moor(boat) {
    const fitting = this.#berths
      .filter((berth) => !this.#moored.has(berth.name))
      .filter((berth) => berth.length >= boat.length && berth.depth >= boat.draught)
      .sort((a, b) => a.length - b.length)
    const [berth] = fitting
    if (!berth) throw new Error(`no berth for ${boat.name}`)
    this.#moored.set(berth.name, boat)
    return berth
  }

  /** @param {string} name of a boat */
  depart(name) {
    for (const [berth, boat] of this.#moored) {
      if (boat.name === name) this.#moored.delete(berth)
    }
  }

  /** @returns {string[]} lines like `A1 Pelican`, sorted by berth */
  list() {
    return [...this.#moored].map(([berth, boat]) => `${berth} ${boat.name}`).sort()
  }
}
