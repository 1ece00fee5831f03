// A limit counts time in which this process ran, on a clock that cannot be set.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LimitClock } from '../../src/process/limitClock'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => void vi.useRealTimers())

/** The process stands still for `ms`: time passes, no timer runs. */
function freeze(ms: number): void {
  const later = performance.now() + ms
  vi.spyOn(performance, 'now').mockImplementation(() => later)
  vi.advanceTimersByTime(0)
  vi.restoreAllMocks()
  // From here on the clock is ahead by what was frozen.
  const real = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => real() + ms)
}

test('a limit is reached after its time, once', () => {
  const reached = vi.fn()
  new LimitClock(12_000, reached).start()
  vi.advanceTimersByTime(11_999)
  expect(reached).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(reached).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(100_000)
  expect(reached).toHaveBeenCalledTimes(1)
})

test('a machine frozen for ten minutes has used up one tick of a limit, not ten minutes', () => {
  const reached = vi.fn()
  new LimitClock(60_000, reached).start()
  vi.advanceTimersByTime(10_000)
  freeze(600_000)
  vi.advanceTimersByTime(49_999)
  expect(reached).not.toHaveBeenCalled()
  vi.advanceTimersByTime(5_001)
  expect(reached).toHaveBeenCalledTimes(1)
})

test('no jump of the wall clock reaches a limit or puts it off', () => {
  const reached = vi.fn()
  new LimitClock(60_000, reached).start()
  vi.setSystemTime(Date.now() + 8 * 3_600_000)
  vi.advanceTimersByTime(59_999)
  expect(reached).not.toHaveBeenCalled()
  vi.setSystemTime(Date.now() - 9 * 3_600_000)
  vi.advanceTimersByTime(1)
  expect(reached).toHaveBeenCalledTimes(1)
})

test('while it stands still nothing counts, and what had counted is kept', () => {
  const reached = vi.fn()
  const clock = new LimitClock(20_000, reached)
  clock.start()
  vi.advanceTimersByTime(7_000)
  clock.stop()
  clock.stop()
  vi.advanceTimersByTime(1_000_000)
  clock.start()
  clock.start()
  vi.advanceTimersByTime(12_999)
  expect(reached).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(reached).toHaveBeenCalledTimes(1)
})

test('a limit beyond what one timer can hold is no instant end', () => {
  const reached = vi.fn()
  new LimitClock(30 * 24 * 3_600_000, reached).start()
  vi.advanceTimersByTime(24 * 3_600_000)
  expect(reached).not.toHaveBeenCalled()
})
