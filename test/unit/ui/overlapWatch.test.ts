// When git is asked which files two children at work both change, and what their rows then say.
import { expect, test } from 'vitest'
import { row } from '../../../src/ui/present/row'
import { OverlapWatch } from '../../../src/ui/tree/overlapWatch'
import { ended, now, view } from './children'

const shared = new Map([
  ['src/auth.ts', ['a', 'b']],
  ['README.md', ['a', 'b', 'c']],
])
const three = [view({ id: 'a', title: 'One' }), view({ id: 'b', title: 'Two' }), view({ id: 'c', title: 'Three' })]

function watch() {
  const state = { visible: true, time: 0, asked: [] as string[][], told: 0 }
  let answered: () => void = () => undefined
  const next = (): Promise<void> => new Promise((resolve) => (answered = resolve))
  const overlaps = new OverlapWatch(
    async () => ({
      shared: async (ids) => {
        state.asked.push([...ids])
        setImmediate(answered)
        return shared
      },
    }),
    () => state.told++,
    () => state.visible,
    () => state.time,
  )
  return { state, overlaps, next }
}

test('git is not asked while the tree is hidden, for one child alone, or sooner than every ten seconds', async () => {
  const { state, overlaps, next } = watch()
  state.visible = false
  overlaps.want(three)
  state.visible = true
  overlaps.want(three.slice(0, 1))
  overlaps.want([...three.slice(0, 1), view(ended('SUCCESS', { id: 'e' }))])
  expect(state.asked).toEqual([])
  let answered = next()
  overlaps.want(three)
  overlaps.want(three)
  await answered
  expect([state.asked, state.told]).toEqual([[['a', 'b', 'c']], 1])
  state.time = 9_000
  overlaps.want(three)
  expect(state.asked).toHaveLength(1)
  state.time = 11_000
  answered = next()
  overlaps.want(three)
  await answered
  // The same answer again is no news.
  expect([state.asked.length, state.told]).toEqual([2, 1])
})

test('a row names the files and who else changed them, and forgets once nobody else is at work', async () => {
  const { overlaps, next } = watch()
  const answered = next()
  overlaps.want(three)
  await answered
  const [first] = three
  if (first === undefined) throw new Error('no view')
  const shown = row(first, now(90), undefined, (id) => overlaps.of(id))
  expect(shown.description).toContain('2 files changed by others too')
  expect(shown.sentence).toContain('2 files changed by others too')
  expect(
    shown.tooltip.filter(({ name }) => name.startsWith('Also')).map(({ name, value }) => `${name}: ${value}`),
  ).toEqual(['Also changed by “Two”: src/auth.ts, README.md', 'Also changed by “Three”: README.md'])
  overlaps.want(three.slice(0, 1))
  expect(overlaps.of('a')).toEqual([])
})
