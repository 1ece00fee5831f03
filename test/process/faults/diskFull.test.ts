import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { Fact } from '../../../src/core/events'
import { writeWhole } from '../../../src/record/atomicWrite'
import { AuditLog, checkAudit } from '../../../src/record/audit'
import { ChildLog, LogReader } from '../../../src/record/childLog'
import { TranscriptFile } from '../../../src/record/transcriptFile'
import { accepted } from '../../unit/core/sample'
import { folder } from '../../unit/record/place'
import { eventually, script, Stage } from '../supervisor/stage'
import { SmallDisk } from './smallDisk'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const now = () => new Date(Date.UTC(2026, 0, 1))

it('a record on a full disk keeps what was acknowledged, takes nothing half, and goes on once there is room', async () => {
  const path = join(folder(), 'disk')
  mkdirSync(path, { mode: 0o700 })
  const disk = new SmallDisk(path, 256)
  ends.push(() => disk.remove())
  const events = join(path, 'events.jsonl')
  const whole = join(path, 'whole.json')
  const log = await ChildLog.open(events, 1, now)
  const troubles: string[] = []
  const told = await TranscriptFile.open(join(path, 'transcript.jsonl'), join(path, 'task-0.log'), (words) =>
    troubles.push(words),
  )
  const audit = await AuditLog.open(join(path, 'audit.jsonl'), now)
  await log.append([accepted()], true)
  await writeWhole(whole, 'before')
  const kept: string[] = []
  const refused = { facts: 0, files: 0, deeds: 0 }
  const deeds = { taken: 0 }
  const words: string[] = []
  let last = 'before'
  for (let n = 0; n < 60; n++) {
    if (n === 20) disk.fill(10_000)
    if (n === 40) disk.free()
    const text = `note ${n} ${'x'.repeat(900)}`
    const facts = ['a', 'b'].map((part): Fact => ({ type: 'noted', level: 'info', text: `${text} ${part}` }))
    await log.append(facts, n % 2 === 0).then(
      () => kept.push(`${text} a`, `${text} b`),
      () => refused.facts++,
    )
    words.push(text)
    await told.append([{ at: 'x', attempt: 1, body: { kind: 'text', text } }])
    await audit.add({ who: 'person', what: 'note', child: 'c1', text }).then(
      () => deeds.taken++,
      () => refused.deeds++,
    )
    await writeWhole(whole, text.repeat(8)).catch(() => refused.files++)
    const content = readFileSync(whole, 'utf8')
    expect(content === 'before' || content === last || content === text.repeat(8)).toBe(true)
    last = content
  }
  for (const file of [log, told, audit]) await file.close()
  // It was full for a good while: everything was refused at least once, and somebody was told of the transcript.
  expect([refused.facts > 0, refused.files > 0, refused.deeds > 0, troubles.length > 0]).toEqual([
    true,
    true,
    true,
    true,
  ])
  const reader = new LogReader(events)
  await reader.read()
  expect(reader.child?.notes.map(({ text }) => text)).toEqual(kept)
  expect([reader.oddities, log.child]).toEqual([{ unreadable: 0, unknownKinds: 0, stale: 0 }, reader.child])
  expect(await checkAudit(join(path, 'audit.jsonl'))).toEqual({ lines: deeds.taken, broken: null })
  const lines = readFileSync(join(path, 'transcript.jsonl'), 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(words)
})

it('on a full disk a person hears why a wish is refused; the child lives on, and once there is room the wish is granted', async () => {
  const stage = Stage.make()
  ends.push(() => stage.clear())
  const disk = new SmallDisk(stage.data, 8 * 1024)
  ends.push(() => disk.remove())
  const coxswain = await stage.coxswain({ role: 'run' })
  const spawned = await coxswain.commands.spawn({
    tasks: [{ goal: script({ say: 'one' }, stage.waits('go'), { say: 'two' }, { say: 'three' }) }],
  })
  const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
  await eventually(() => coxswain.view.get(id)?.activity === 'one', 'it works')
  disk.fill()
  // More than what is left of a page that the log has already.
  const message = `Look here. ${'x'.repeat(9_000)}`
  const steered = await coxswain.commands.steer({ subagent_id: id, message, steer_id: 's' })
  expect('error' in steered && steered.error.message).toMatch(/^The disk is full.*Free some space, then try again\.$/)
  const again = await coxswain.commands.spawn({ tasks: [{ goal: `More. ${'x'.repeat(9_000)}` }] })
  expect('error' in again && again.error.message).toMatch(/^The disk is full.*Free some space, then try again\.$/)
  disk.free()
  stage.open('go')
  expect(await coxswain.commands.steer({ subagent_id: id, message, steer_id: 's' })).toMatchObject({
    status: 'queued',
  })
  const child = await stage.settled(id)
  expect([child.phase, child.steers.length, child.misfits]).toEqual(['SUCCESS', 1, 0])
  expect(stage.said(id).filter((text) => ['one', 'two', 'three'].includes(text))).toEqual(['one', 'two', 'three'])
  expect(await checkAudit(stage.paths.audit)).toMatchObject({ broken: null })
})
