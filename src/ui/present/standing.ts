// Who must act next on a child, and from that the tree: which group a root and all below it stand in, in which order.
// Pure: same children, same tree.
import { isLive, missedSteers, openRequests, type Child } from '../../core/child'
import type { ChildView } from '../../supervisor/view'
import { needWords, titleOf } from './words'

export const standings = ['needsYou', 'working', 'paused', 'review', 'finished'] as const
export type Standing = (typeof standings)[number]

/** What is known of how much a child changed; null when nothing is. */
export type StatOf = (childId: string) => { files: number; insertions: number; deletions: number } | null
export const noStats: StatOf = () => null

/** Files that another child at work has changed too. */
export interface Overlap {
  readonly childId: string
  readonly title: string
  readonly paths: string[]
}
export type OverlapsOf = (childId: string) => readonly Overlap[]
export const noOverlaps: OverlapsOf = () => []

/** Where one child stands by itself. A stopped or failed child that changed something is there for review. */
export function standingOf(child: Child, statOf: StatOf = noStats): Standing {
  if (child.archived) return 'finished'
  if (needWords(child) !== null) return 'needsYou'
  if (child.discarded && !isLive(child) && child.phase !== 'UNKNOWN') return 'finished'
  switch (child.phase) {
    case 'PENDING':
    case 'STARTING':
    case 'RUNNING':
    case 'CANCEL_REQUESTED':
      return 'working'
    case 'UNKNOWN':
      return 'needsYou'
    case 'INTERRUPTED':
      return 'paused'
    case 'SUCCESS':
      return child.worktree !== null && !child.applied && !child.discarded ? 'review' : 'finished'
    case 'FAILURE':
    case 'CANCELLED':
      return (statOf(child.id)?.files ?? 0) > 0 && !child.applied ? 'review' : 'finished'
  }
}

/** A child that has gone wrong never hides behind "Show more". */
function neverFolds(child: Child): boolean {
  return child.phase === 'FAILURE' || child.pinned || missedSteers(child).length > 0 || isLive(child)
}

export interface ChildNode {
  readonly kind: 'child'
  readonly id: string
  readonly view: ChildView
  readonly children: readonly ChildNode[]
}
export interface GroupNode {
  readonly kind: 'group'
  readonly standing: Standing
  /** Children of this group, all levels; of those who need a person, only these, as the badge counts them. */
  readonly count: number
  readonly roots: readonly ChildNode[]
  /** Roots folded away behind "Show N more". */
  readonly hidden: number
}
export interface MoreNode {
  readonly kind: 'more'
  readonly standing: Standing
  readonly hidden: number
}
export type TreeNode = GroupNode | ChildNode | MoreNode

export interface TreeFilter {
  /** Part of title, goal, branch or agent, case folded. */
  readonly text?: string
  readonly agents?: readonly string[]
  readonly standings?: readonly Standing[]
  readonly archived?: boolean
}

export const nothingFiltered: TreeFilter = {}

/** True when the filter hides anything at all. */
export function filters(filter: TreeFilter): boolean {
  return (
    (filter.text ?? '') !== '' ||
    filter.agents !== undefined ||
    filter.standings !== undefined ||
    filter.archived === true
  )
}

function matches(view: ChildView, filter: TreeFilter, statOf: StatOf): boolean {
  const { child } = view
  if (filter.agents !== undefined && !filter.agents.includes(child.task.recipe.agent)) return false
  if (filter.standings !== undefined && !filter.standings.includes(standingOf(child, statOf))) return false
  const text = filter.text?.trim().toLowerCase() ?? ''
  if (text === '') return true
  const hay = [titleOf(child), child.task.goal, child.worktree?.branch ?? '', child.task.recipe.label]
  return hay.some((part) => part.toLowerCase().includes(text))
}

/** How many children need a person: the badge, the status bar and the group say the same number. */
export function needsYouCount(views: readonly ChildView[]): number {
  return views.filter((view) => standingOf(view.child) === 'needsYou').length
}

const foldAfter = 5

/**
 * Children → groups in the order in which a person should look at them. Archived children are left out unless the filter
 * asks for them. A child whose parent is not in the list stands as a root.
 */
export function buildTree(
  views: readonly ChildView[],
  filter: TreeFilter = nothingFiltered,
  unfolded: ReadonlySet<Standing> = new Set(),
  statOf: StatOf = noStats,
): readonly GroupNode[] {
  const shown = views.filter(
    (view) => (filter.archived === true || !view.child.archived) && matches(view, filter, statOf),
  )
  const byId = new Map(shown.map((view) => [view.child.id, view]))
  const below = new Map<string | null, ChildView[]>()
  for (const view of shown) {
    const parent = view.child.parentChild !== null && byId.has(view.child.parentChild) ? view.child.parentChild : null
    const siblings = below.get(parent)
    if (siblings === undefined) below.set(parent, [view])
    else siblings.push(view)
  }
  // A parent link that runs in a circle would never be reached from a root; `seen` also keeps the walk finite.
  const seen = new Set<string>()
  const node = (view: ChildView): ChildNode => {
    seen.add(view.child.id)
    const children = (below.get(view.child.id) ?? [])
      .filter((next) => !seen.has(next.child.id))
      .sort(oldestFirst)
      .map(node)
    return { kind: 'child', id: view.child.id, view, children }
  }
  const roots = (below.get(null) ?? []).map(node)
  for (const view of shown) if (!seen.has(view.child.id)) roots.push(node(view))

  const groups = new Map(roots.map((root) => [root.id, urgent(root, statOf)]))
  return standings.flatMap((standing) => {
    const here = roots.filter((root) => groups.get(root.id) === standing).sort(order[standing])
    if (here.length === 0) return []
    const counted = ({ child }: ChildView): boolean =>
      standing !== 'needsYou' || standingOf(child, statOf) === 'needsYou'
    const folds = standing === 'finished' && !unfolded.has(standing)
    let room = foldAfter
    const visible = folds ? here.filter((root) => neverFolds(root.view.child) || room-- > 0) : here
    return [
      {
        kind: 'group' as const,
        standing,
        count: here.reduce((sum, root) => sum + size(root, counted), 0),
        roots: visible,
        hidden: here.length - visible.length,
      },
    ]
  })
}

function size(node: ChildNode, counted: (view: ChildView) => boolean): number {
  return node.children.reduce((sum, child) => sum + size(child, counted), counted(node.view) ? 1 : 0)
}

function urgent(node: ChildNode, statOf: StatOf): Standing {
  const own = standingOf(node.view.child, statOf)
  return node.children
    .map((child) => urgent(child, statOf))
    .reduce((most, next) => (standings.indexOf(next) < standings.indexOf(most) ? next : most), own)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const oldestFirst = (a: ChildView, b: ChildView): number =>
  compare(a.child.acceptedAt, b.child.acceptedAt) || a.child.index - b.child.index || compare(a.child.id, b.child.id)

const pinnedFirst = (a: ChildNode, b: ChildNode): number => Number(b.view.child.pinned) - Number(a.view.child.pinned)
const asks = (node: ChildNode): boolean =>
  (isLive(node.view.child) && openRequests(node.view.child).length > 0) || node.children.some(asks)
const asksFirst = (a: ChildNode, b: ChildNode): number => Number(asks(b)) - Number(asks(a))
const newestFirst = (a: ChildNode, b: ChildNode): number => pinnedFirst(a, b) || -oldestFirst(a.view, b.view)
const order: Readonly<Record<Standing, (a: ChildNode, b: ChildNode) => number>> = {
  // A child that stands still until it is answered comes before one that has ended; who has waited longest is first; elsewhere the newest is what a person has in mind.
  needsYou: (a, b) => asksFirst(a, b) || pinnedFirst(a, b) || oldestFirst(a.view, b.view),
  working: newestFirst,
  paused: newestFirst,
  review: newestFirst,
  finished: newestFirst,
}
