import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { DisposedError, Jobs } from '../../../src/supervisor/jobs'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const full = Object.assign(new Error('no space'), { code: 'ENOSPC', errno: -28, syscall: 'write' })

it('what the system refused is tried again until it succeeds', async () => {
  const told: unknown[] = []
  const jobs = new Jobs(
    'c1',
    () => undefined,
    (error) => told.push(error),
  )
  const tries = [full, new Error('not written', { cause: full })]
  const done = jobs.surely(() => {
    const error = tries.shift()
    return error === undefined ? Promise.resolve('written') : Promise.reject(error)
  })
  await vi.runAllTimersAsync()
  expect([await done, tries, told]).toEqual(['written', [], []])
})

it('what no further try can mend is tried once, told, and handed to whoever waits', async () => {
  const bugs = [
    new TypeError('x is not a function'),
    'a string',
    Object.assign(new Error('bad'), { code: 'EBADF', errno: -9 }),
    Object.assign(new Error('of Node'), { code: 'ERR_INVALID_ARG_TYPE' }),
  ]
  const told: unknown[] = []
  const jobs = new Jobs(
    'c1',
    () => undefined,
    (error) => told.push(error),
  )
  let tries = 0
  for (const bug of bugs) {
    const done = jobs.surely(() => {
      tries++
      return Promise.reject(bug)
    })
    await expect(done).rejects.toBe(bug)
  }
  expect([tries, told]).toEqual([bugs.length, bugs])
})

it('nothing is told of a failure that comes once the child was let go', async () => {
  const told: unknown[] = []
  const jobs = new Jobs(
    'c1',
    () => undefined,
    (error) => told.push(error),
  )
  const done = jobs.surely(() => {
    jobs.close()
    return Promise.reject(new Error('the file was closed'))
  })
  await expect(done).rejects.toBeInstanceOf(DisposedError)
  expect(told).toEqual([])
})
