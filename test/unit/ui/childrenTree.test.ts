// What the tree asks of VS Code, and when: which row it shows, and when it draws rows anew.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type * as vscode from 'vscode'
import type { ChildView } from '../../../src/supervisor/view'
import type { Supervision } from '../../../src/ui/supervision'
import { ChildrenTree } from '../../../src/ui/tree/childrenTree'
import { at, ended, now, view } from './children'
import { executed, FakeTreeView } from './fakeVscode'

vi.mock('vscode', async () => (await import('./fakeVscode')).fakeVscode)

beforeEach(() => {
  vi.useFakeTimers({ now: now(90) })
  executed.length = 0
})
afterEach(() => {
  vi.useRealTimers()
})

function stage(...views: ChildView[]) {
  let changed: () => void = () => undefined
  const supervision = {
    view: { list: () => views, get: (id: string) => views.find(({ child }) => child.id === id) },
    onDidChange: (listener: () => void) => {
      changed = listener
      return { dispose: () => undefined }
    },
    open: async () => ({ kind: 'closed' }),
    closedMessage: '',
    state: 'open',
    folder: () => '/repository',
    folders: () => ['/repository'],
  } as unknown as Supervision
  const memory = { get: (_key: string, initial: unknown) => initial, update: async () => undefined }
  const tree = new ChildrenTree(supervision, () => Date.now(), memory as unknown as vscode.Memento)
  /** The store shows a child, and says so. */
  const comes = async (id: string): Promise<void> => {
    views.push(view({ id }))
    changed()
    await vi.advanceTimersByTimeAsync(1_000)
  }
  return { tree, treeView: FakeTreeView.last, comes, views }
}

test('a row that is not there yet is shown when it comes, without taking the focus', async () => {
  const { tree, treeView, comes } = stage(view({ id: 'old' }))
  await tree.reveal('new', false)
  await comes('other')
  expect(treeView.revealed).toEqual([])
  await comes('new')
  await comes('later')
  expect(treeView.revealed).toEqual(['new'])
  expect(executed).toEqual(['coxswain.children.focus {"preserveFocus":true}'])
  tree.dispose()
})

test('a row the store has but has not told of yet is shown at once', async () => {
  const { tree, treeView, views } = stage()
  views.push(view({ id: 'new' }))
  await tree.reveal('new', false)
  expect(treeView.revealed).toEqual(['new'])
  tree.dispose()
})

test('a row that comes late does not leave another view, and is shown when the tree is', async () => {
  const { tree, treeView, comes } = stage()
  await tree.reveal('new', false)
  treeView.show(false)
  await comes('new')
  expect(treeView.revealed).toEqual([])
  treeView.show(true)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(treeView.revealed).toEqual(['new'])
  tree.dispose()
})

test('a row that comes late leaves the one a person has chosen meanwhile', async () => {
  const { tree, treeView, comes } = stage(view({ id: 'old' }))
  await tree.reveal('new', false)
  treeView.selection = tree.getChildren().slice(0, 1)
  await tree.selectedNode()
  await comes('new')
  expect(treeView.revealed).toEqual([])
  tree.dispose()
})

test('a row that the filter hides is not waited for', async () => {
  const { tree, treeView, comes } = stage()
  tree.setFilter({ text: 'another' })
  await tree.reveal('new', false)
  await comes('new')
  tree.setFilter({})
  expect(treeView.revealed).toEqual([])
  tree.dispose()
})

test.each<[string, ChildView, string]>([
  ['ended', view({ id: 'c', ...ended('SUCCESS') }), '1m 2m 3m 4m 5m'],
  [
    'works',
    view({ id: 'c' }, { activity: 'Bash: npm test', activityAt: at(85) }),
    '10s 20s 30s 40s 50s 1m 2m 3m 4m 5m',
  ],
])(
  'the age of a child that %s goes on while the tree is seen, and rests while it is not',
  async (_what, child, ages) => {
    const { tree, treeView } = stage(child)
    const told: (string | undefined)[] = []
    tree.onDidChangeTreeData((nodes) => {
      for (const node of nodes ?? [])
        if (node.kind === 'child') told.push(/\b\d+[smh]\b/.exec(String(tree.getTreeItem(node).description))?.[0])
    })
    await vi.advanceTimersByTimeAsync(300_000)
    expect(told.join(' ')).toBe(ages)
    told.length = 0
    treeView.show(false)
    await vi.advanceTimersByTimeAsync(600_000)
    expect([told, vi.getTimerCount()]).toEqual([[], 0])
    treeView.show(true)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(told).toEqual(['15m'])
    tree.dispose()
    expect(vi.getTimerCount()).toBe(0)
  },
)
