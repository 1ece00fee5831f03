// As much of VS Code's API as the tree of children touches, for tests with a clock of their own: what it was told is kept,
// and what a person does to the view is played by the test.
import type { TreeNode } from '../../../src/ui/present/standing'

class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>()
  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.listeners.add(listener)
    return { dispose: () => this.listeners.delete(listener) }
  }
  fire(value: T): void {
    for (const listener of this.listeners) listener(value)
  }
  dispose(): void {
    this.listeners.clear()
  }
}

/** The view that was made last. */
export class FakeTreeView {
  static last: FakeTreeView
  visible = true
  badge: unknown
  message = ''
  selection: TreeNode[] = []
  /** Ids of the rows it was asked to show, "focused" where it was to take the focus. */
  readonly revealed: string[] = []
  private readonly visibility = new EventEmitter<{ visible: boolean }>()
  readonly onDidChangeVisibility = this.visibility.event
  readonly onDidCollapseElement = new EventEmitter<never>().event
  readonly onDidExpandElement = new EventEmitter<never>().event

  constructor() {
    FakeTreeView.last = this
  }
  show(visible: boolean): void {
    this.visible = visible
    this.visibility.fire({ visible })
  }
  async reveal(node: TreeNode, { focus }: { focus: boolean }): Promise<void> {
    this.revealed.push(`${node.kind === 'child' ? node.id : node.kind}${focus ? ' focused' : ''}`)
  }
  dispose(): void {}
}

/** Every command that was asked for, with its arguments as JSON. */
export const executed: string[] = []

export const fakeVscode = {
  EventEmitter,
  TreeItem: class {
    constructor(
      readonly label: string,
      readonly collapsibleState: number,
    ) {}
  },
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  ThemeIcon: class {
    constructor(readonly id: string) {}
  },
  ThemeColor: class {
    constructor(readonly id: string) {}
  },
  MarkdownString: class {
    appendMarkdown(): this {
      return this
    }
    appendText(): this {
      return this
    }
  },
  Uri: { from: (parts: unknown) => parts },
  window: { createTreeView: () => new FakeTreeView() },
  commands: {
    executeCommand: async (id: string, ...args: unknown[]) => {
      executed.push([id, ...args.map((arg) => JSON.stringify(arg))].join(' '))
    },
  },
}
