import { describe, expect, it } from 'vitest'
import type { Child } from '../../../src/core/child'
import { decideHandedOn, decideOwnDispatch, depthOf, roleAt } from '../../../src/core/spawnTree'
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
