// Work on a record for one seed: facts, entries, frames, whole files, deeds, an epoch and slots, in random order, through the
// very code that keeps them. It notes what was acknowledged when, and judges what a power cut left of it.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChildEvent, Fact } from '../../../src/core/events'
import { Journal } from '../../../src/process/keeper/journal'
import { readInputJournal } from '../../../src/process/inputJournal'
import { attemptFiles } from '../../../src/process/attemptFiles'
import { createWhole, placeFolder, syncFolder, writeWhole } from '../../../src/record/atomicWrite'
import { AuditLog, checkAudit } from '../../../src/record/audit'
import { ChildLog, LogReader } from '../../../src/record/childLog'
import { claim, readOwner } from '../../../src/record/lease'
import { Slots } from '../../../src/record/slots'
import { TranscriptFile, type NewEntry } from '../../../src/record/transcriptFile'
import { readEntry } from '../../../src/core/transcript'
import { accepted, alphabet } from '../../unit/core/sample'
import { seeded, cutPower, type Random } from './powerCut'
import { traceFiles, type FileChange } from './tracedFiles'

const a = alphabet(1)
const now = () => new Date(Date.UTC(2026, 0, 1))
const me = { pid: process.pid, startTime: '1', bootId: '00000000-0000-0000-0000-000000000000' }

/** What was acknowledged, by the length of the history at that moment. */
interface Work {
  readonly changes: readonly FileChange[]
  /** `durable`: promised to outlast a power cut. */
  readonly facts: readonly { readonly at: number; readonly durable: boolean; readonly events: readonly ChildEvent[] }[]
  readonly entries: readonly { readonly at: number; readonly durable: boolean; readonly text: string }[]
  readonly frames: readonly string[]
  readonly versions: readonly { readonly at: number; readonly content: string }[]
  readonly results: readonly { readonly at: number; readonly name: string; readonly content: string }[]
  readonly deeds: readonly { readonly at: number; readonly what: string }[]
  readonly epochs: readonly { readonly at: number; readonly epoch: number }[]
}

const long = (random: Random): string => 'x'.repeat(Math.floor(random() ** 4 * 3_000))
const places = (root: string) => {
  const child = join(root, 'children', 'c1')
  return {
    child,
    events: join(child, 'events.jsonl'),
    transcript: join(child, 'transcript.jsonl'),
    log: join(child, 'task-0.log'),
    attempt: join(child, 'attempts', '1'),
    whole: join(root, 'whole.json'),
    results: join(child, 'results'),
    audit: join(root, 'audit.jsonl'),
    owner: join(root, 'owner'),
    slots: join(root, 'slots'),
  }
}

/** Does the work of this seed below `root`, an empty private folder. */
export async function workOn(root: string, seed: number): Promise<Work> {
  const random = seeded(seed)
  const changes: FileChange[] = []
  const stop = traceFiles(root, (change) => changes.push(change))
  const at = (): number => changes.length
  const work = { facts: [], entries: [], frames: [], versions: [], results: [], deeds: [], epochs: [] } as {
    [K in Exclude<keyof Work, 'changes'>]: Work[K][number][]
  }
  try {
    const paths = places(root)
    for (const folder of [paths.child, paths.attempt, paths.results, paths.owner, paths.slots])
      await placeFolder(folder)
    let log = await ChildLog.open(paths.events, 1, now)
    const append = async (facts: readonly Fact[], durable: boolean): Promise<void> => {
      const events = await log.append(facts, durable)
      work.facts.push({ at: at(), durable, events })
    }
    await append([accepted(), a.worktree, a.first, a.launched], true)
    const transcript = await TranscriptFile.open(paths.transcript, paths.log, () => undefined)
    const audit = await AuditLog.open(paths.audit, now)
    const journal = new Journal(attemptFiles(paths.attempt).input)
    journal.note({})
    // Their names are safe, so that what is at stake is their content.
    await transcript.sync()
    await syncFolder(paths.attempt)
    const slots = new Slots(paths.slots, () => true)
    let epoch = 1
    const acts: (() => Promise<void>)[] = [
      ...Array.from({ length: 4 }, () => async () => {
        const durable = random() < 0.4
        const count = 1 + Math.floor(random() * 3)
        const facts = Array.from({ length: count }, (_, i): Fact => {
          const text = `${work.facts.length}.${i} ${long(random)}`
          return { type: 'noted', level: 'info', text }
        })
        await append(facts, durable)
      }),
      async () => {
        const texts = Array.from({ length: 1 + Math.floor(random() * 3) }, () => `said ${long(random)}`)
        const end = work.entries.length
        await transcript.append(
          texts.map((text, i): NewEntry => {
            const cursor = { source: 'stdout' as const, end: end + i + 1 }
            return { at: 'x', attempt: 1, body: { kind: 'text', text }, cursor }
          }),
        )
        const durable = random() < 0.2
        if (durable) await transcript.sync()
        for (const text of texts) work.entries.push({ at: at(), durable, text })
      },
      () => {
        const text = `frame ${work.frames.length + 1} ${long(random)}`
        const after = { stdout: 0, stderr: 0 }
        journal.append({ seq: work.frames.length + 1, at: 0, after, text })
        work.frames.push(text)
        return Promise.resolve()
      },
      async () => {
        const content = JSON.stringify({ version: work.versions.length, more: long(random) })
        await writeWhole(paths.whole, content)
        work.versions.push({ at: at(), content })
      },
      async () => {
        const name = `round-${work.results.length + 1}.json`
        const content = JSON.stringify({ round: work.results.length + 1, more: long(random) })
        await createWhole(join(paths.results, name), content)
        work.results.push({ at: at(), name, content })
      },
      async () => {
        const what = `deed ${work.deeds.length}`
        await audit.add({ who: 'person', what, child: 'c1', more: long(random) })
        work.deeds.push({ at: at(), what })
      },
      async () => {
        const claimant = { process: me, token: 't', socketPath: '/s', role: 'run', version: '0' } as const
        const lease = await claim(paths.owner, claimant, () => false)
        if (!('isHeld' in lease)) throw new Error('the store was not taken')
        work.epochs.push({ at: at(), epoch: lease.epoch })
        if (random() < 0.5) lease.release()
      },
      async () => {
        await slots.take([{ id: 'c1', title: 'x' }], me, 3)
        await slots.release('c1')
      },
      async () => {
        await log.close()
        log = await ChildLog.open(paths.events, ++epoch, now)
      },
    ]
    for (let n = 0; n < 30; n++) await acts[Math.floor(random() * acts.length)]?.()
    for (const file of [log, transcript, audit]) await file.close()
  } finally {
    stop()
  }
  return { changes, ...work }
}

/** Cuts the power once in the history, restarts on what is left below `target`, and says what was not kept. */
export async function afterPowerCut(work: Work, seed: number, target: string): Promise<string[]> {
  const random = seeded(seed + 1_000_003)
  const cut = Math.floor(random() * (work.changes.length + 1))
  mkdirSync(target, { mode: 0o700 })
  cutPower(work.changes.slice(0, cut), random, target)
  const paths = places(target)
  const wrong: string[] = []
  const promised = <T extends { at: number }>(all: readonly T[]): T[] => all.filter(({ at }) => at <= cut)
  const prefix = (what: string, found: readonly string[], all: readonly string[], due: number): void => {
    const first = found.findIndex((one, i) => one !== all[i])
    if (first >= 0) wrong.push(`${what}: number ${first} is not the one that was written there`)
    if (found.length < due) wrong.push(`${what}: ${found.length} left of ${due} that were promised`)
  }
  const count = (all: readonly { at: number; durable: boolean; n: number }[]): number => {
    const last = all.findLastIndex(({ at, durable }) => durable && at <= cut)
    return all.slice(0, last + 1).reduce((sum, { n }) => sum + n, 0)
  }

  const told = (events: readonly ChildEvent[]): string[] => events.map(({ seq, type }) => `${seq} ${type}`)
  const all = told(work.facts.flatMap(({ events }) => events))
  const due = count(work.facts.map(({ at, durable, events }) => ({ at, durable, n: events.length })))
  const readFacts = async (): Promise<string[]> => told(await new LogReader(paths.events).read())
  // An append counts whole or not at all.
  const ends = new Set(
    work.facts.map((_, i) => work.facts.slice(0, i + 1).reduce((n, { events }) => n + events.length, 0)),
  )
  if (promised(work.facts).length > 0 || readdirSync(target).includes('children')) {
    const before = await readFacts()
    prefix('facts, to a reader', before, all, due)
    if (before.length > 0 && !ends.has(before.length)) wrong.push('facts: half of an append counts')
    if (due > 0) {
      const owner = await ChildLog.open(paths.events, 99, now)
      await owner.append([{ type: 'noted', level: 'info', text: 'after' }], true)
      await owner.close()
      const after = await readFacts()
      prefix('facts, to the next owner', after.slice(0, -1), all, due)
      if (after.length !== before.length + 1) wrong.push('facts: the next owner saw others than the reader')
      if (owner.child?.misfits !== 0) wrong.push('facts: some do not fit')
    }
  }
  if (due > 0) {
    const transcript = await TranscriptFile.open(paths.transcript, paths.log, () => undefined)
    const kept = lines(paths.transcript).flatMap((line) => readEntry(line) ?? []).length
    if (transcript.cursor(1).stdout !== kept) wrong.push('transcript: it does not know how far it reaches')
    await transcript.append([{ at: 'x', attempt: 1, body: { kind: 'text', text: 'after' } }])
    await transcript.close()
    const entries = lines(paths.transcript).flatMap((line) => readEntry(line) ?? [])
    if (entries.some((entry, i) => entry.n !== i)) wrong.push('transcript: an entry is missing between others')
    const said = entries.map((entry) => (entry.kind === 'text' ? entry.text : ''))
    const texts = work.entries.map(({ text }) => text)
    prefix('transcript', said.slice(0, -1), texts, count(work.entries.map((entry) => ({ ...entry, n: 1 }))))
    if (said.at(-1) !== 'after') wrong.push('transcript: what came after the power cut is not read')
    const frames = (await readInputJournal(paths.attempt)).map(({ text }) => text)
    prefix('frames', frames, work.frames, 0)
  }
  if (promised(work.versions).length > 0) {
    const content = readFileSync(paths.whole, 'utf8')
    const version = work.versions.findIndex((one) => one.content === content)
    if (version < promised(work.versions).length - 1) wrong.push(`a whole file: version ${version}`)
  }
  for (const { name, content } of promised(work.results))
    if (lines(join(paths.results, name))[0] !== content) wrong.push(`result ${name} is not what was written`)
  if (promised(work.deeds).length > 0) {
    const audit = await AuditLog.open(paths.audit, now)
    await audit.add({ who: 'person', what: 'after', child: 'c1' })
    await audit.close()
    const deeds = lines(paths.audit).map((line) => (JSON.parse(line) as { what: string }).what)
    const kept = deeds.slice(0, -1).filter((what) => what !== 'repaired')
    prefix(
      'deeds',
      kept,
      work.deeds.map(({ what }) => what),
      promised(work.deeds).length,
    )
    const { broken } = await checkAudit(paths.audit)
    if (broken !== null) wrong.push(`the audit trail is broken: ${broken.why}`)
  }
  const last = promised(work.epochs).at(-1)?.epoch ?? 0
  if (last > 0) {
    const owner = await readOwner(paths.owner)
    if (owner !== undefined && owner.epoch < last) wrong.push(`an old owner came back: ${owner.epoch}`)
    const claimant = { process: me, token: 't', socketPath: '/s', role: 'run', version: '0' } as const
    const lease = await claim(paths.owner, claimant, () => false)
    if (!('isHeld' in lease) || lease.epoch <= last) wrong.push('an epoch was given twice')
    const slots = new Slots(paths.slots, () => false)
    if ((await slots.take([{ id: 'c2', title: 'x' }], me, 3)) !== undefined) wrong.push('a slot is held by nobody')
  }
  return wrong.map((what) => `seed ${seed}, cut at ${cut} of ${work.changes.length}: ${what}`)
}

function lines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}
