import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Slots } from '../../../src/record/slots'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slots-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

const holder = (pid: number) => ({ pid, startTime: '1', bootId: 'b' })
const child = (id: string) => ({ id, title: `Child ${id}` })

test('a batch gets all its slots or none, and the refusal names who holds them', async () => {
  const slots = new Slots(join(folder, 's'), () => true)
  expect(await slots.take([child('a'), child('b')], holder(1), 3)).toBeUndefined()
  expect(await slots.take([child('c'), child('d')], holder(2), 3)).toEqual([child('a'), child('b')])
  expect(await slots.take([child('c')], holder(2), 3)).toBeUndefined()
  await slots.release('a')
  expect(await slots.take([child('e')], holder(2), 3)).toBeUndefined()
})

test('who holds a slot is told with its repository, and without one where the slot is of before it was written', async () => {
  const place = join(folder, 's')
  const slots = new Slots(place, () => true)
  const away = { ...child('a'), repository: 'pier' }
  await slots.take([away], holder(1), 2)
  await slots.hold('a', holder(2))
  await writeFile(join(place, 'slot.2.1'), JSON.stringify({ v: 1, childId: 'b', title: 'Child b', holder: holder(3) }))
  expect(await slots.take([child('c')], holder(4), 2)).toEqual([away, child('b')])
})

test('a slot passes to the keeper, and is free once its holder is dead', async () => {
  const alive = new Set([1, 2])
  const slots = new Slots(join(folder, 's'), ({ pid }) => alive.has(pid))
  await slots.take([child('a')], holder(1), 1)
  await slots.hold('a', holder(2))
  alive.delete(1)
  expect(await slots.take([child('b')], holder(3), 1)).toEqual([child('a')])
  alive.delete(2)
  expect(await slots.take([child('b')], holder(3), 1)).toBeUndefined()
})

test('of many at once that find a dead holder exactly one takes its slot', async () => {
  const place = join(folder, 's')
  await new Slots(place, () => true).take([child('old')], holder(1), 1)
  const slots = new Slots(place, ({ pid }) => pid !== 1)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => slots.take([child(`n${i}`)], holder(2 + i), 1)),
  )
  expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
  expect(await readdir(place)).toEqual(['slot.1.2'])
})
