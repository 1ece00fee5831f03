import { describe, expect, it } from 'vitest'
import type { Child } from '../../../src/core/child'
import { decideHandedOn, decideOwnDispatch, depthOf, isParentAway, roleAt } from '../../../src/core/spawnTree'
import { fold } from '../../../src/core/reduce'
import { accepted, events } from './sample'

const child = (id: string, parentChild: string | null, over: Partial<Child['task']> = {}): Child => {
  const base = fold(events(accepted()))
  if (base === undefined) throw new Error('no child')
  return { ...base, id, parentChild, task: { ...base.task, ...over } }
}
const family = [
  child('top', null, { role: 'orchestrator' }),
  child('left', 'top', { role: 'orchestrator' }),
  child('right', 'top'),
  child('deep', 'left'),
  child('other', null),
  child('loop', 'loop'),
  child('lost', 'gone'),
]
const lookUp = (id: string): Child | undefined => family.find((one) => one.id === id)
const get = (id: string): Child => {
  const found = lookUp(id)
  if (found === undefined) throw new Error(id)
  return found
}

describe('the spawn tree', () => {
  it('counts depth from a person or an outside parent, whatever the record holds', () => {
    expect(['top', 'left', 'deep', 'other', 'loop', 'lost'].map((id) => depthOf(get(id), lookUp))).toEqual([
      1, 2, 3, 1, 1, 2,
    ])
  })

  it('gives the role of an orchestrator only where one may dispatch, and says why not', () => {
    const on = { orchestratorEnabled: true, maxSpawnDepth: 2 }
    expect(roleAt('leaf', 9, on)).toEqual({ role: 'leaf', note: null })
    expect(roleAt('orchestrator', 1, on)).toEqual({ role: 'orchestrator', note: null })
    expect(roleAt('orchestrator', 2, on)).toMatchObject({
      role: 'leaf',
      note: expect.stringContaining('maxSpawnDepth'),
    })
    expect(roleAt('orchestrator', 1, { ...on, orchestratorEnabled: false })).toMatchObject({
      role: 'leaf',
      note: expect.stringContaining('orchestratorEnabled'),
    })
  })

  it('lets only an orchestrator dispatch, above the depth that is allowed, while it is switched on', () => {
    const on = { orchestratorEnabled: true, maxSpawnDepth: 2 }
    const said = (id: string, limits = on) => decideOwnDispatch(get(id), lookUp, limits)?.message ?? null
    expect(said('top')).toBeNull()
    expect(said('right')).toMatch(/^A leaf child/)
    expect(said('left')).toMatch(/below depth 2/)
    expect(said('left', { ...on, maxSpawnDepth: 3 })).toBeNull()
    expect(said('top', { ...on, orchestratorEnabled: false })).toMatch(/switched off/)
  })

  it('hands on no more freedom and no more tools than it was given', () => {
    const { recipe } = get('top').task
    const parent = child('p', null, { recipe: { ...recipe, autonomy: 'edit', allowedTools: ['read', 'edit'] } })
    expect(decideHandedOn(parent, 'ask', ['read'])).toBeNull()
    expect(decideHandedOn(parent, 'autonomous', ['read'])?.message).toContain('"edit"')
    expect(decideHandedOn(parent, 'edit', ['read', 'run', 'web'])?.message).toContain('does not have: run, web')
    expect(decideHandedOn(parent, 'edit', undefined)?.message).toContain('does not have: every tool')
    expect(decideHandedOn(get('top'), 'ask', ['run'])).toBeNull()
  })
})

describe('a parent that is away', () => {
  const outside = { ...get('other'), parentSession: 'mcp:1' }
  const away = (child: Child, present: readonly string[] = []): boolean =>
    isParentAway(child, lookUp, (session) => present.includes(session))

  it('is one nobody speaks for while its child is at work, paused, or has ended unheard', () => {
    expect([away(outside), away(outside, ['mcp:1']), away(get('other'))]).toEqual([true, false, false])
    const ended = { ...outside, phase: 'SUCCESS' as const, settledAt: '2026-01-01T00:00:00.000Z' }
    const completion = { id: 'other.1', round: 1, at: '2026-01-01T00:00:00.000Z', acknowledged: true }
    expect(away({ ...ended, completions: [{ ...completion, acknowledged: false }] })).toBe(true)
    expect(away({ ...ended, completions: [completion] })).toBe(false)
    expect(away({ ...ended, completions: [{ ...completion, acknowledged: false }], archived: true })).toBe(false)
    expect(away({ ...outside, phase: 'INTERRUPTED', paused: true })).toBe(true)
  })

  it('is a child of ours that has ended, and none that is at work or paused', () => {
    const below = { ...get('deep'), parentSession: 'child:left' }
    const above = (over: Partial<Child>): boolean =>
      isParentAway(
        below,
        (id) => (id === 'left' ? { ...get('left'), ...over } : undefined),
        () => false,
      )
    expect(above({ phase: 'RUNNING' })).toBe(false)
    expect(above({ phase: 'INTERRUPTED', paused: true })).toBe(false)
    expect(above({ phase: 'CANCELLED' })).toBe(true)
    expect(away({ ...get('lost'), parentSession: 'child:gone' })).toBe(true)
  })
})
