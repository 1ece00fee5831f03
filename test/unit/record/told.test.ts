// An event of a child is told by one of all windows.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { storePaths } from '../../../src/record/paths'
import { tellOnce } from '../../../src/record/told'
import { folder } from './place'
import { mkdirSync } from 'node:fs'

it('an event is claimed by exactly one of many, whatever its name holds, and another event by another', async () => {
  const child = storePaths(folder()).child('c-1')
  mkdirSync(child.folder, { recursive: true, mode: 0o700 })
  for (const event of ['asked 1 rq-1', 'asked 1 ../../../etc', 'x'.repeat(5_000)]) {
    const claims = await Promise.all(Array.from({ length: 8 }, () => tellOnce(child, event)))
    expect(claims.filter(Boolean)).toHaveLength(1)
    expect(await tellOnce(child, event)).toBe(false)
  }
  expect(statSync(join(child.told)).mode & 0o777).toBe(0o700)
})
