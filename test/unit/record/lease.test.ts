import { readdirSync, renameSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { claim, lastBeat, Lease, readOwner, type Claimant } from '../../../src/record/lease'
import { folder } from './place'

const claimant = (pid: number): Claimant => ({
  process: { pid, startTime: '1', bootId: 'b' },
  token: `token-${pid}`,
  socketPath: `/s/${pid}`,
  role: 'window',
  version: '1.0.0',
})
const alive = () => true
const dead = () => false

async function lease(place: string, pid: number, running = dead, takeFrom?: number): Promise<Lease> {
  const claimed = await claim(place, claimant(pid), running, takeFrom)
  if (!(claimed instanceof Lease)) throw new Error(`held by ${claimed.process.pid}`)
  return claimed
}

describe('ownership of a store', () => {
  it('goes to exactly one of many at once; the others are told who has it', async () => {
    for (let round = 0; round < 20; round++) {
      const place = folder()
      const claimed = await Promise.all(Array.from({ length: 8 }, (_, n) => claim(place, claimant(100 + n), alive)))
      const [winner, ...more] = claimed.filter((one) => one instanceof Lease)
      expect(more).toEqual([])
      for (const one of claimed) expect(one instanceof Lease ? one.record : one).toEqual(winner?.record)
      expect([winner?.epoch, readdirSync(place)]).toEqual([1, ['epoch.1']])
    }
  })

  it('is not lost by a disk that fails for the moment', async () => {
    const place = folder()
    const held = await lease(place, 1)
    renameSync(place, `${place}-away`)
    // A link to itself: whoever looks gets an error, and not the answer that nothing is there.
    symlinkSync(place, place)
    expect(held.isHeld()).toBe(true)
    unlinkSync(place)
    expect(held.isHeld()).toBe(false)
    renameSync(`${place}-away`, place)
    expect(held.isHeld()).toBe(true)
  })

  it('passes on when its holder has died or let go, never by age alone, and never twice under one number', async () => {
    const place = folder()
    expect(await readOwner(place)).toBeUndefined()
    const first = await lease(place, 1)
    utimesSync(join(place, 'epoch.1'), new Date(0), new Date(0))
    expect(await claim(place, claimant(2), alive)).toEqual(first.record)
    const second = await lease(place, 2)
    expect([first.isHeld(), second.isHeld(), second.epoch]).toEqual([false, true, 2])
    second.release()
    expect([await readOwner(place), second.isHeld()]).toEqual([undefined, true])
    const third = await lease(place, 3, alive)
    expect([third.epoch, second.isHeld(), await readOwner(place)]).toEqual([3, false, third.record])
  })

  it('is taken from one known to be frozen, and from no other', async () => {
    const place = folder()
    const frozen = await lease(place, 1)
    expect(await claim(place, claimant(2), alive, 7)).toEqual(frozen.record)
    const taker = await lease(place, 2, alive, 1)
    expect([taker.epoch, frozen.isHeld()]).toEqual([2, false])
    expect(await claim(place, claimant(3), alive, 1)).toEqual(taker.record)
  })

  it('stays lost to a frozen owner, however many came after it', async () => {
    const place = folder()
    const frozen = await lease(place, 1)
    const held: boolean[] = []
    for (let n = 2; n <= 9; n++) {
      await lease(place, n, alive, n - 1)
      held.push(frozen.isHeld())
    }
    expect(held).toEqual(Array.from({ length: 8 }, () => false))
  })

  it('of a record that is torn, forged or unreadable is nobody-s', async () => {
    for (const content of [
      '',
      '{',
      '\0'.repeat(100),
      '{"v":2}',
      JSON.stringify({ v: 1, epoch: 1, process: { pid: -1 } }),
    ]) {
      const place = folder()
      writeFileSync(join(place, 'epoch.1'), content)
      expect(await readOwner(place)).toBeUndefined()
      expect((await lease(place, 2, alive)).epoch).toBe(2)
    }
  })

  it('shows a beating heart, is private, and keeps few of the former ones', async () => {
    const place = folder()
    const before = process.umask(0)
    let last = await lease(place, 1)
    process.umask(before)
    expect(statSync(join(place, 'epoch.1')).mode & 0o777).toBe(0o600)
    utimesSync(join(place, 'epoch.1'), new Date(0), new Date(0))
    const still = await lastBeat(place, 1)
    last.beat()
    expect([still, ((await lastBeat(place, 1)) ?? 0) > 0, await lastBeat(place, 9)]).toEqual([0, true, undefined])
    for (let pid = 2; pid <= 20; pid++) {
      last.release()
      last = await lease(place, pid)
    }
    expect(readdirSync(place).filter((name) => name.startsWith('epoch.')).length).toBeLessThanOrEqual(5)
    expect((await readOwner(place))?.epoch).toBe(20)
  })
})
