// The side bar's native tree: a rendering of the view, brought up to date at most five times a second. Holds no state of a
// child, only what a person did to the tree itself (filter, unfolded groups).
import * as path from 'node:path'
import * as vscode from 'vscode'
import type { Child } from '../../core/child'
import { below } from '../../core/subtree'
import { comparable } from '../present/comparison'
import { t } from '../present/l10n'
import { ageStep, row, unread, type Row } from '../present/row'
import {
  buildTree,
  filters,
  needsYouCount,
  nothingFiltered,
  type ChildNode,
  type GroupNode,
  type MoreNode,
  type Standing,
  type TreeFilter,
  type TreeNode,
} from '../present/standing'
import { Unfolding, type Fold } from '../present/unfolding'
import { titleOf } from '../present/words'
import type { Changes } from '../review/changes'
import type { Supervision } from '../supervision'
import { ChangeStats } from './changeStats'
import { DropFiles } from './dropFiles'
import { OverlapWatch } from './overlapWatch'

const CHILD_SCHEME = 'coxswain-child'
const refreshEveryMs = 200
const foldedKey = 'coxswain.foldedGroups'
const closedKey = 'coxswain.closedRows'

const groupTitles: Readonly<Record<Standing, () => string>> = {
  needsYou: () => t('Needs you'),
  working: () => t('Working'),
  paused: () => t('Paused'),
  review: () => t('Ready for review'),
  finished: () => t('Finished'),
}
export const groupTitle = (standing: Standing): string => groupTitles[standing]()

export class ChildrenTree implements vscode.TreeDataProvider<TreeNode>, vscode.Disposable {
  private readonly treeChanged = new vscode.EventEmitter<TreeNode[] | undefined>()
  readonly onDidChangeTreeData = this.treeChanged.event
  readonly treeView: vscode.TreeView<TreeNode>
  private readonly parts: vscode.Disposable[] = []
  private groups: readonly GroupNode[] = []
  private parents = new Map<string, TreeNode>()
  private filterNow: TreeFilter = nothingFiltered
  private readonly stats = new ChangeStats(
    () => this.changes(),
    () => this.refreshSoon(),
    () => this.treeView.visible,
  )
  private readonly overlaps = new OverlapWatch(
    () => this.changes(),
    () => this.refreshSoon(),
    () => this.treeView.visible,
    () => this.now(),
  )
  private readonly overlapsOf = (childId: string) => this.overlaps.of(childId)
  private readonly subtreeOf = (child: Child) =>
    below(
      child,
      (this.supervision.view?.list() ?? []).map((view) => view.child),
    )
  private readonly lookUp = (id: string) => this.supervision.view?.get(id)?.child
  private readonly statOf = (childId: string) => this.stats.of(childId)
  private readonly unfolded = new Set<Standing>()
  /** Groups as a person left them, kept over reloads and while a group is empty. */
  private readonly folded: Set<Standing>
  private readonly unfolding: Unfolding
  private nodes = new Map<string, ChildNode | GroupNode>()
  /** Children that got the same goal as another of their dispatch. */
  private comparable: ReadonlySet<string> = new Set()
  /** What each row shows, to be compared. */
  private rows = new Map<string, string>()
  /** Which rows there are, and where. */
  private shape = ''
  /** A child that is to be shown as soon as its row is there to be seen. */
  private awaited: string | null = null
  private refreshTimer: NodeJS.Timeout | null = null
  private refreshedAt = 0
  private tickTimer: NodeJS.Timeout | null = null

  constructor(
    private readonly supervision: Supervision,
    private readonly now: () => number,
    private readonly memory: vscode.Memento,
  ) {
    this.folded = new Set(memory.get<Standing[]>(foldedKey, ['finished']))
    this.unfolding = new Unfolding(memory.get<string[]>(closedKey, []))
    this.treeView = vscode.window.createTreeView('coxswain.children', {
      treeDataProvider: this,
      canSelectMany: true,
      dragAndDropController: new DropFiles(),
      showCollapseAll: true,
    })
    this.parts.push(
      this.treeView,
      this.treeChanged,
      supervision.onDidChange(() => this.refreshSoon()),
      this.treeView.onDidCollapseElement(({ element }) => this.remember(element, true)),
      this.treeView.onDidExpandElement(({ element }) => this.remember(element, false)),
      this.treeView.onDidChangeVisibility(({ visible }) => {
        if (visible) {
          void supervision.open()
          this.refreshSoon()
        }
        this.planTick()
      }),
    )
    if (this.treeView.visible) void supervision.open()
    this.publish()
  }

  private remember(node: TreeNode, folded: boolean): void {
    if (node.kind === 'child') void this.memory.update(closedKey, this.unfolding.left(node.id, folded))
    if (node.kind !== 'group') return
    if (folded) this.folded.add(node.standing)
    else this.folded.delete(node.standing)
    void this.memory.update(foldedKey, [...this.folded])
  }

  get filter(): TreeFilter {
    return this.filterNow
  }

  setFilter(filter: TreeFilter): void {
    this.filterNow = filter
    this.refreshNow()
  }

  unfold(standing: Standing): void {
    this.unfolded.add(standing)
    this.refreshNow()
  }

  /** The rows a person has selected, groups left out. */
  selectedChildren(): readonly string[] {
    return this.treeView.selection.flatMap((node) => (node.kind === 'child' ? [node.id] : []))
  }

  /**
   * The row a person has just clicked. While VS Code fetches the tree anew it knows of no selection; a click that fell into
   * that still means its row.
   */
  async selectedNode(): Promise<TreeNode | undefined> {
    // They have turned to another row than the one they were to be shown.
    this.awaited = null
    for (let tries = 0; tries < 20 && this.treeView.selection.length === 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, 50))
    return this.treeView.selection[0]
  }

  /**
   * Shows and selects a row, if it is in the tree. That of a child the store has not shown yet is shown when it comes, and
   * then neither takes the focus nor comes before another view a person went to meanwhile.
   */
  async reveal(childId: string, focus: boolean): Promise<void> {
    this.awaited = null
    // A reveal during a refresh makes VS Code register one element twice: bring the tree up to date first, then reveal.
    if (this.refreshTimer !== null || this.find(childId) === null) this.refreshNow()
    const node = this.find(childId)
    if (node !== null) await this.treeView.reveal(node, { select: true, focus, expand: false })
    else if (!this.knows(childId)) {
      this.awaited = childId
      await vscode.commands.executeCommand('coxswain.children.focus', { preserveFocus: !focus })
    }
  }

  private async revealAwaited(): Promise<void> {
    const { awaited } = this
    if (awaited === null || !this.treeView.visible || !this.knows(awaited)) return
    this.awaited = null
    const node = this.find(awaited)
    if (node !== null) await this.treeView.reveal(node, { select: true, focus: false, expand: false })
  }

  private knows(childId: string): boolean {
    return this.supervision.view?.get(childId) !== undefined
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    switch (node.kind) {
      case 'group':
        return groupItem(node, this.folded.has(node.standing))
      case 'more':
        return moreItem(node)
      case 'child':
        return childItem(
          node,
          row(node.view, this.now(), this.statOf, this.overlapsOf, this.subtreeOf, this.lookUp),
          this.comparable.has(node.id),
          this.unfolding.of(node),
        )
    }
  }

  getChildren(node?: TreeNode): TreeNode[] {
    if (node === undefined) return [...this.groups]
    switch (node.kind) {
      case 'group': {
        const more: MoreNode[] = node.hidden > 0 ? [{ kind: 'more', standing: node.standing, hidden: node.hidden }] : []
        return [...node.roots, ...more]
      }
      case 'child':
        return [...node.children]
      case 'more':
        return []
    }
  }

  getParent(node: TreeNode): TreeNode | undefined {
    return node.kind === 'child' ? this.parents.get(node.id) : undefined
  }

  dispose(): void {
    if (this.refreshTimer !== null) clearTimeout(this.refreshTimer)
    if (this.tickTimer !== null) clearTimeout(this.tickTimer)
    for (const part of this.parts.reverse()) part.dispose()
  }

  private find(childId: string): ChildNode | null {
    const within = (nodes: readonly ChildNode[]): ChildNode | null => {
      for (const node of nodes) {
        const hit = node.id === childId ? node : within(node.children)
        if (hit !== null) return hit
      }
      return null
    }
    for (const group of this.groups) {
      const hit = within(group.roots)
      if (hit !== null) return hit
    }
    return null
  }

  private refreshSoon(): void {
    if (this.refreshTimer !== null) return
    const wait = Math.max(0, this.refreshedAt + refreshEveryMs - this.now())
    this.refreshTimer = setTimeout(() => this.refreshNow(), wait)
  }

  private refreshNow(): void {
    if (this.refreshTimer !== null) clearTimeout(this.refreshTimer)
    this.refreshTimer = null
    this.refreshedAt = this.now()
    const rowsBefore = this.rows
    const shapeBefore = this.shape
    this.publish()
    // VS Code draws a refreshed row anew, which closes a hover on it: rows that look the same are left alone, and the
    // whole tree is refreshed only when rows come, go or move.
    if (this.shape !== shapeBefore) this.treeChanged.fire(undefined)
    else {
      const changed = [...this.rows].filter(([id, text]) => rowsBefore.get(id) !== text)
      const nodes = changed.map(([id]) => this.nodes.get(id)).filter((node) => node !== undefined)
      if (nodes.length > 0) this.treeChanged.fire(nodes)
    }
    // A row that has gone again before VS Code came to it is not there to be shown.
    this.revealAwaited().catch(() => undefined)
  }

  private publish(): void {
    const views = this.supervision.view?.list() ?? []
    this.stats.want(views)
    this.comparable = comparable(views.map(({ child }) => child))
    this.overlaps.want(views)
    this.intern(buildTree(views, this.filterNow, this.unfolded, this.statOf))

    const needs = needsYouCount(views)
    this.treeView.badge =
      needs === 0
        ? undefined
        : { value: needs, tooltip: needs === 1 ? t('1 child needs you') : t('{n} children need you', { n: needs }) }
    const { closedMessage } = this.supervision
    this.treeView.message =
      closedMessage !== '' && this.supervision.state === 'failed'
        ? closedMessage
        : filters(this.filterNow) && views.length > 0
          ? this.groups.length === 0
            ? t('No child matches the filter. Clear it with the button above.')
            : t('Filtered. Clear with the button above.')
          : views.length > 0
            ? this.whichRepository()
            : ''
    this.planTick()
  }

  private async changes(): Promise<Changes | null> {
    const opened = await this.supervision.open()
    return opened.kind === 'open' ? opened.coxswain.changes : null
  }

  /** In a window with several folders, whose children these are. */
  private whichRepository(): string {
    const folder = this.supervision.folder()
    const others = this.supervision.folders().length - 1
    if (folder === null || others < 1) return ''
    return t('Shows {name}, one of {n} folders. Choose another with the button above.', {
      name: path.basename(folder),
      n: others + 1,
    })
  }

  /** VS Code knows a row by its object: the same row keeps the same object and only gets a new content. */
  private intern(groups: readonly GroupNode[]): void {
    const former = this.nodes
    const now = this.now()
    this.nodes = new Map()
    this.rows = new Map()
    this.parents = new Map()
    const keep = <N extends ChildNode | GroupNode>(id: string, fresh: N): N => {
      const known = former.get(id)
      const node: N = known === undefined ? fresh : Object.assign(known as N, fresh)
      this.nodes.set(id, node)
      return node
    }
    const child = (fresh: ChildNode): ChildNode => {
      const node = keep(fresh.id, { ...fresh, children: fresh.children.map(child) })
      for (const below of node.children) this.parents.set(below.id, node)
      const { tooltip: _tooltip, ...shown } = row(node.view, now, this.statOf, this.overlapsOf)
      this.rows.set(node.id, JSON.stringify([shown, unread(node.view.child)]))
      return node
    }
    this.groups = groups.map((fresh) => {
      const id = `group:${fresh.standing}`
      const node = keep(id, { ...fresh, roots: fresh.roots.map(child) })
      for (const root of node.roots) this.parents.set(root.id, node)
      this.rows.set(id, String(node.count))
      return node
    })
    this.unfolding.follow(this.groups.flatMap((group) => group.roots))
    const shape = (nodes: readonly ChildNode[]): unknown[] =>
      nodes.map((node) => [...Object.values(this.unfolding.of(node)), shape(node.children)])
    this.shape = JSON.stringify(this.groups.map((group) => [group.standing, group.hidden, shape(group.roots)]))
  }

  /** Elapsed words move only while somebody can see them: a few times a minute. */
  private planTick(): void {
    if (this.tickTimer !== null) clearTimeout(this.tickTimer)
    this.tickTimer = null
    if (!this.treeView.visible) return
    const ages = (this.supervision.view?.list() ?? [])
      .filter((view) => !view.child.archived)
      .map((view) => ageStep(view, this.now()))
    const soonest = Math.min(...ages)
    if (Number.isFinite(soonest)) this.tickTimer = setTimeout(() => this.refreshSoon(), soonest)
  }
}

function groupItem(node: GroupNode, folded: boolean): vscode.TreeItem {
  const item = new vscode.TreeItem(
    groupTitle(node.standing),
    folded ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.Expanded,
  )
  item.id = `group:${node.standing}`
  item.description = String(node.count)
  item.contextValue = `group ${node.standing}`
  item.accessibilityInformation = {
    label:
      node.count === 1
        ? t('{group}, 1 child', { group: groupTitle(node.standing) })
        : t('{group}, {n} children', { group: groupTitle(node.standing), n: node.count }),
  }
  return item
}

function moreItem(node: MoreNode): vscode.TreeItem {
  const item = new vscode.TreeItem(t('Show {n} more', { n: node.hidden }))
  item.id = `more:${node.standing}`
  item.contextValue = 'more'
  item.command = { command: 'coxswain.openSelected', title: t('Show more') }
  return item
}

const collapsibleStates: Readonly<Record<Fold, vscode.TreeItemCollapsibleState>> = {
  none: vscode.TreeItemCollapsibleState.None,
  closed: vscode.TreeItemCollapsibleState.Collapsed,
  open: vscode.TreeItemCollapsibleState.Expanded,
}

function childItem(
  node: ChildNode,
  shown: Row,
  compared: boolean,
  { fold, id }: ReturnType<Unfolding['of']>,
): vscode.TreeItem {
  const item = new vscode.TreeItem(shown.label, collapsibleStates[fold])
  item.id = id
  item.description = shown.description
  item.iconPath = new vscode.ThemeIcon(
    shown.icon.id,
    shown.icon.color === null ? undefined : new vscode.ThemeColor(shown.icon.color),
  )
  item.contextValue = [
    shown.context,
    ...(node.children.length > 0 ? ['hasChildren'] : []),
    ...(compared ? ['compared'] : []),
  ].join(' ')
  item.accessibilityInformation = { label: shown.sentence }
  item.tooltip = tooltip(titleOf(node.view.child), shown.tooltip)
  item.resourceUri = childUri(node.id, unread(node.view.child))
  // Without arguments: VS Code forgets a row's arguments when the row is refreshed, and a click that falls into a
  // refresh would find its command gone. The click has selected the row by then.
  item.command = { command: 'coxswain.openSelected', title: t('Show transcript') }
  return item
}

/** Values by others go in as text, never as Markdown; links, HTML and commands stay off. */
function tooltip(title: string, pairs: readonly { name: string; value: string }[]): vscode.MarkdownString {
  const markdown = new vscode.MarkdownString('', false)
  markdown.isTrusted = false
  markdown.supportHtml = false
  markdown.appendMarkdown('**').appendText(title).appendMarkdown('**\n\n')
  for (const { name, value } of pairs) markdown.appendMarkdown(`${name}: `).appendText(value).appendMarkdown('  \n')
  return markdown
}

function childUri(childId: string, isUnread: boolean): vscode.Uri {
  return vscode.Uri.from({ scheme: CHILD_SCHEME, path: `/${childId}`, query: isUnread ? 'unread' : '' })
}

/** The mark of a child that settled and was not looked at since. */
export class UnreadMarks implements vscode.FileDecorationProvider {
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== CHILD_SCHEME || uri.query !== 'unread') return undefined
    return { badge: '●', tooltip: t('Settled, not looked at yet') }
  }
}
