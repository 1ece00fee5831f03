import { rmSync } from 'node:fs'
import { afterEach, expect, it, vi } from 'vitest'
import { Stage } from './stage'

const dice = vi.hoisted(() => ({ next: undefined as (() => number) | undefined }))
vi.mock('node:crypto', async (original) => {
  const real = await original<typeof import('node:crypto')>()
  return { ...real, randomInt: (max: number) => (dice.next === undefined ? real.randomInt(max) : dice.next()) }
})

let stage: Stage
afterEach(async () => {
  dice.next = undefined
  await stage.clear()
})

const parent = (session: string) => ({ kind: 'parent', session }) as const
const letters = 'abcdefghjkmnpqrstvwxyz0123456789'

/** Chance gives these ids first, one letter at a time. */
function dealt(...ids: string[]): void {
  const left = [...ids.join('')].map((letter) => letters.indexOf(letter))
  dice.next = () => left.shift() ?? Math.floor(Math.random() * letters.length)
}

it('an id that a child has, or had, is given to no other, so that nobody-s old authority reaches a new child', async () => {
  stage = Stage.make()
  const mine = await stage.coxswain({ role: 'run', as: parent('mine') })
  const theirs = await stage.coxswain({ role: 'window', as: parent('theirs') })
  const brief = { tasks: [{ goal: 'Follow this.\n```demo\n[{"say":"one"}]\n```' }] }
  const spawned = await mine.commands.spawn(brief)
  const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
  await stage.settled(id)
  // First while it is on disk, then after somebody has removed its record.
  for (const [dispatch, free, removed] of [
    ['aaaaaaaaaa', 'bbbbbbbbbb', false],
    ['cccccccccc', 'dddddddddd', true],
  ] as const) {
    if (removed) rmSync(stage.paths.child(id).folder, { recursive: true })
    dealt(dispatch, id, free)
    const other = await theirs.commands.spawn(brief)
    dice.next = undefined
    const given = 'subagent_ids' in other ? (other.subagent_ids[0] ?? '') : ''
    expect(given).toBe(free)
    const refused = await mine.commands.stop({ subagent_id: given })
    expect('error' in refused && refused.error.code).toBe('unknown_child')
    await stage.settled(given)
  }
})
