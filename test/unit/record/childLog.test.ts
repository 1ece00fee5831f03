import { appendFileSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Fact } from '../../../src/core/events'
import { ChildLog, LogReader } from '../../../src/record/childLog'
import { accepted, alphabet } from '../core/sample'
import { folder } from './place'

const a = alphabet(1)
const now = () => new Date(Date.UTC(2026, 0, 1))
const noOddities = { unreadable: 0, unknownKinds: 0, stale: 0 }
const note = (text: string): Fact => ({ type: 'noted', level: 'info', text })

async function logOf(path: string, facts: readonly Fact[], epoch = 1): Promise<ChildLog> {
  const log = await ChildLog.open(path, epoch, now)
  await log.append(facts, false)
  return log
}

async function read(path: string): Promise<LogReader> {
  const reader = new LogReader(path)
  await reader.read()
  return reader
}

describe('a child-s log', () => {
  it('numbers its facts from 1 without a gap, and folds what it appended', async () => {
    const path = join(folder(), 'events.jsonl')
    const log = await logOf(path, [accepted(), a.worktree])
    const [event] = await log.append([a.first], true)
    expect([event?.seq, event?.epoch, event?.at, log.child?.phase]).toEqual([
      3,
      1,
      '2026-01-01T00:00:00.000Z',
      'STARTING',
    ])
    await log.close()
    const reader = await read(path)
    expect([reader.child, reader.oddities]).toEqual([log.child, noOddities])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('torn at every byte of its last record is the child before it, and takes the next fact', async () => {
    const path = join(folder(), 'events.jsonl')
    const before = await logOf(path, [accepted(), a.worktree])
    await before.close()
    const start = statSync(path).size
    const whole = await logOf(path, [a.stop])
    await whole.close()
    const content = readFileSync(path)
    for (let size = start; size <= content.length; size++) {
      truncateSync(path, 0)
      appendFileSync(path, content.subarray(0, size))
      const log = await ChildLog.open(path, 2, now)
      const phase = size === content.length ? 'CANCELLED' : 'STARTING'
      expect([size, log.child?.phase, log.oddities]).toEqual([size, phase, noOddities])
      await log.append([note('after')], false)
      await log.close()
      const { child, oddities } = await read(path)
      expect([size, child?.phase, child?.notes.length, child?.misfits, oddities]).toEqual([
        size,
        phase,
        1,
        0,
        noOddities,
      ])
    }
  })

  it('passes over runs of NUL, fused lines, half JSON and lines of another shape, and counts them', async () => {
    const path = join(folder(), 'events.jsonl')
    const log = await logOf(path, [accepted(), a.worktree])
    const event = (type: string, more = {}) => JSON.stringify({ v: 1, seq: 3, at: 'x', epoch: 1, type, ...more })
    appendFileSync(path, `${'\0'.repeat(4096)}\n`)
    appendFileSync(path, `${event('stopRequested')}${event('stopRequested')}\n`)
    appendFileSync(path, `{"v":1,"seq":3,"at":"x","type":"noted","lev\n`)
    appendFileSync(path, `null\n42\n[]\n"x"\n${event('noted', { v: 2, level: 'info', text: 'x' })}\n`)
    appendFileSync(path, `\n${event('teleported', { to: 'moon' })}\n${event('noted', { level: 'loud', text: 'x' })}\n`)
    await log.close()
    const next = await ChildLog.open(path, 1, now)
    expect([next.child?.phase, next.child?.misfits, next.oddities]).toEqual([
      'STARTING',
      0,
      { unreadable: 8, unknownKinds: 2, stale: 0 },
    ])
    await next.append([note('goes on')], false)
    await next.close()
    expect((await read(path)).child?.notes.map(({ text }) => text)).toEqual(['goes on'])
  })

  it('does not fold what a replaced owner still writes, for the new owner, for readers, and for the next', async () => {
    const path = join(folder(), 'events.jsonl')
    const frozen = await logOf(path, [accepted(), a.worktree], 1)
    const following = await read(path)
    const owner = await ChildLog.open(path, 2, now)
    await frozen.append([a.stop], true)
    await owner.append([a.first], true)
    await frozen.append([note('I am still here')], true)
    await owner.append([a.launched], true)
    await following.read()
    const fresh = await read(path)
    const third = await ChildLog.open(path, 3, now)
    for (const { child, oddities } of [following, fresh, third]) {
      expect([child?.phase, child?.notes, child?.misfits, oddities.stale]).toEqual(['RUNNING', [], 0, 2])
      expect(child).toEqual(owner.child)
    }
    await Promise.all([frozen.close(), owner.close(), third.close()])
  })

  it('knows an old fence below a newer one for nothing', async () => {
    const path = join(folder(), 'events.jsonl')
    const owner = await logOf(path, [accepted()], 5)
    appendFileSync(path, '{"v":1,"fence":3,"at":"x"}\n{"v":1,"fence":"9"}\n{"v":1,"fence":9.5}\n')
    const former = { v: 1, seq: 2, at: 'x', epoch: 4, type: 'noted', level: 'info', text: 'former' }
    appendFileSync(path, `${JSON.stringify(former)}\n`)
    await owner.append([note('mine')], false)
    await owner.close()
    const { child, oddities } = await read(path)
    expect([child?.notes.map(({ text }) => text), oddities.stale]).toEqual([['mine'], 1])
  })

  it('changes nothing when it cannot write', async () => {
    const path = join(folder(), 'events.jsonl')
    const log = await logOf(path, [accepted()])
    await log.close()
    await expect(log.append([a.stop], true)).rejects.toThrow()
    expect([log.child?.phase, log.child?.lastSeq]).toEqual(['PENDING', 1])
  })

  it('without its first fact is no child', async () => {
    const path = join(folder(), 'events.jsonl')
    const log = await logOf(path, [a.stop, note('x')])
    await log.close()
    expect((await read(path)).child).toBeUndefined()
  })
})
