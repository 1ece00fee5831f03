// Which rows of the tree stand open: those with something at work below them, or with somebody who needs the person, unless
// a person closed them. VS Code asks how a row stands only when it first meets the row's id: a row that has to open later
// gets another id. Pure, save for what it remembers.
import { isLive } from '../../core/child'
import { standingOf, type ChildNode } from './standing'

export type Fold = 'none' | 'closed' | 'open'

interface Met {
  /** How VS Code was told it stands when it met the id, or how a person left it since. */
  fold: Fold
  generation: number
}

/** Closed rows that are remembered, the latest ones. */
const remembered = 200

export class Unfolding {
  private met = new Map<string, Met>()
  private readonly closed: Set<string>

  /** @param closed children whose rows a person closed, in the order they did */
  constructor(closed: Iterable<string> = []) {
    this.closed = new Set(closed)
  }

  /** All rows as they are now. */
  follow(roots: readonly ChildNode[]): void {
    const former = this.met
    this.met = new Map()
    const walk = (node: ChildNode): void => {
      const wanted = this.wanted(node)
      const known = former.get(node.id) ?? { fold: wanted, generation: 0 }
      const opens = wanted === 'open' && known.fold !== 'open'
      this.met.set(node.id, opens ? { fold: wanted, generation: known.generation + 1 } : known)
      node.children.forEach(walk)
    }
    roots.forEach(walk)
  }

  of(node: ChildNode): { readonly fold: Fold; readonly id: string } {
    const generation = this.met.get(node.id)?.generation ?? 0
    return { fold: this.wanted(node), id: generation === 0 ? node.id : `${node.id}#${generation}` }
  }

  /** A person closed or opened a row. Answers what is to be remembered of it. */
  left(id: string, closed: boolean): readonly string[] {
    this.closed.delete(id)
    if (closed) this.closed.add(id)
    const met = this.met.get(id)
    if (met !== undefined) met.fold = closed ? 'closed' : 'open'
    return [...this.closed].slice(-remembered)
  }

  private wanted(node: ChildNode): Fold {
    // One that may dispatch stands open before it has, so that its row stays the same when its first child comes.
    const mayDispatch = node.view.child.task.role === 'orchestrator' && isLive(node.view.child)
    if (node.children.length === 0 && !mayDispatch) return 'none'
    if (this.closed.has(node.id)) return 'closed'
    return mayDispatch || node.children.some(matters) ? 'open' : 'closed'
  }
}

/** It, or one below it, is at work or needs a person. */
function matters({ view: { child }, children }: ChildNode): boolean {
  return isLive(child) || standingOf(child) === 'needsYou' || children.some(matters)
}
