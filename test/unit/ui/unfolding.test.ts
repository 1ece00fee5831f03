// Which rows stand open, and when VS Code has to meet a row anew for it to open.
import { expect, test } from 'vitest'
import { buildTree } from '../../../src/ui/present/standing'
import { Unfolding } from '../../../src/ui/present/unfolding'
import type { ChildView } from '../../../src/supervisor/view'
import { child, ended, question, view } from './children'

const role = 'orchestrator' as const
const orchestrator = (over: Parameters<typeof view>[0] = {}): ChildView =>
  view({ id: 'boss', task: { ...child().task, role }, ...over })
const kid = (over: Parameters<typeof view>[0] = {}): ChildView => view({ id: 'kid', parentChild: 'boss', ...over })
const over = { ...ended('SUCCESS', { discarded: true }) }

/** How the row of `boss` stands, and under which id, with these children in the record. */
function boss(unfolding: Unfolding, ...views: ChildView[]): string {
  const roots = buildTree(views).flatMap((group) => group.roots)
  unfolding.follow(roots)
  const node = roots.find(({ id }) => id === 'boss')
  if (node === undefined) throw new Error('no such row')
  const { fold, id } = unfolding.of(node)
  return `${id} ${fold}`
}

test('a row stands open while anything below it is at work or needs a person', () => {
  const asks = ended('SUCCESS', { requests: [] })
  const standing = (...views: ChildView[]) => boss(new Unfolding(), ...views)
  expect(standing(orchestrator(over), kid())).toBe('boss open')
  expect(standing(orchestrator(over), kid({ requests: [question()] }))).toBe('boss open')
  expect(standing(orchestrator(over), kid({ ...asks, ...ended('INTERRUPTED', { parked: 'limit' }) }))).toBe('boss open')
  expect(standing(orchestrator(over), kid(over), view({ id: 'grandkid', parentChild: 'kid' }))).toBe('boss open')
  expect(standing(orchestrator(over), kid(over))).toBe('boss closed')
  expect(standing(orchestrator(over))).toBe('boss none')
  expect(standing(view({ id: 'boss' }))).toBe('boss none')
})

test('the row of an orchestrator at work stays the same when its first child comes', () => {
  const unfolding = new Unfolding()
  expect(boss(unfolding, orchestrator())).toBe('boss open')
  expect(boss(unfolding, orchestrator(), kid())).toBe('boss open')
  // Nothing closes under a person's eyes: VS Code leaves a row it knows as it stands.
  expect(boss(unfolding, orchestrator(over), kid(over))).toBe('boss closed')
  expect(boss(unfolding, orchestrator(), kid())).toBe('boss open')
})

test('a row that was met closed, or without anything below it, is met anew when something is at work there', () => {
  const unfolding = new Unfolding()
  expect(boss(unfolding, orchestrator(over), kid(over))).toBe('boss closed')
  expect(boss(unfolding, orchestrator(over), kid())).toBe('boss#1 open')
  expect(boss(unfolding, orchestrator(over), kid(), view({ id: 'twin', parentChild: 'boss' }))).toBe('boss#1 open')
  const bare = new Unfolding()
  expect(boss(bare, view({ id: 'boss' }))).toBe('boss none')
  expect(boss(bare, view({ id: 'boss' }), kid())).toBe('boss#1 open')
})

test('what a person closed stays closed, after a reload too, and what they opened needs no other id', () => {
  const unfolding = new Unfolding()
  expect(boss(unfolding, orchestrator(), kid())).toBe('boss open')
  const remembered = unfolding.left('boss', true)
  expect(boss(unfolding, orchestrator(), kid({ requests: [question()] }))).toBe('boss closed')
  expect(boss(new Unfolding(remembered), orchestrator(), kid())).toBe('boss closed')
  expect(unfolding.left('boss', false)).toEqual([])
  expect(boss(unfolding, orchestrator(), kid())).toBe('boss open')
  const opened = new Unfolding()
  expect(boss(opened, orchestrator(over), kid(over))).toBe('boss closed')
  opened.left('boss', false)
  expect(boss(opened, orchestrator(), kid())).toBe('boss open')
})
