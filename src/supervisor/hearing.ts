// An agent's lines become facts and entries, each exactly once: a new owner hears the past again through a fresh adapter
// and tells only what lies beyond what was told before. What follows from what was heard is decided by the child's run.
import type { Conversation } from '../agents/agent'
import type { Attempt, Child } from '../core/child'
import type { Fact } from '../core/events'
import { hear, type Heard } from '../core/hear'
import { plainLine } from '../core/plainText'
import type { Pulse } from '../core/pulse'
import type { Outgoing } from '../core/signals'
import type { EntryBody } from '../core/transcript'
import type { RawLine } from '../process/lines'
import type { AttemptPaths } from '../record/paths'
import type { NewEntry } from '../record/transcriptFile'
import type { Past } from './attempt'
import { notice } from './attemptWords'
import type { ChildRecord } from './childRecord'

/** What is to be done about what was heard. */
export interface Effects {
  readonly replies: { frames: readonly Outgoing[]; id: string }[]
  /** Its last word: a report, one that leaves work in the background, or something after it. Undefined: neither. */
  lastWord: 'report' | 'reportInBackground' | 'more' | undefined
  used: boolean
  /** A ceiling it kept itself has ended its turn; in words. */
  limit: string | null
}

/** An attempt that is listened to. */
export interface Heeded {
  readonly attempt: number
  readonly conversation: Conversation
  /** What the agent had been told between the lines that are heard again. */
  readonly past: Past
  pulse: Pulse
}

/** Tells what is new in `lines`. */
export async function hearLines(
  record: ChildRecord,
  heeded: Heeded,
  lines: readonly RawLine[],
  now: () => Date,
): Promise<Effects> {
  const { attempt, conversation, past } = heeded
  const effects: Effects = { replies: [], lastWord: undefined, used: false, limit: null }
  const told = { ...record.cursor(attempt) }
  const entries: NewEntry[] = []
  const at = now().toISOString()
  for (const line of lines) {
    past.before(line, conversation)
    const cursor = { source: line.source, end: line.end }
    const factsAreNew = line.end > record.child.cursor[line.source]
    const entriesAreNew = line.end > told[line.source]
    const hearer = entriesAreNew && !factsAreNew ? past.hearerOf(line) : undefined
    const heard = hearLine(hearer ?? record.child, heeded, line)
    heeded.pulse = heard.pulse
    if (entriesAreNew) for (const body of heard.entries) entries.push({ at, attempt, body, cursor })
    if (factsAreNew && heard.facts.length > 0) {
      const facts = await keepLongSummary(record, attempt, heard, line.end)
      await record.appendFacts(
        facts.map((fact) => ({ ...fact, cursor }) as Fact),
        heard.sync,
      )
    }
    heard.replies.forEach((frames, i) => effects.replies.push({ frames, id: `reply-${line.source}-${line.end}-${i}` }))
    if (heard.reported) effects.lastWord = 'report'
    else if (heard.inBackground) effects.lastWord = 'reportInBackground'
    else if (heard.goesOn) effects.lastWord = 'more'
    effects.used ||= heard.facts.some((fact) => fact.type === 'used' || fact.type === 'turnsTaken')
    effects.limit ??= heard.limit
  }
  if (entries.length > 0) await record.writeEntries(entries)
  return effects
}

/** The facts of what was heard; a summary too long to be shown whole is kept in a file, named after where it was read. */
export async function keepLongSummary(
  record: ChildRecord,
  attempt: number,
  { facts, longSummary }: Heard,
  place: number | 'end',
): Promise<readonly Fact[]> {
  if (longSummary === null) return facts
  const wholeText = `report-${attempt}-${place}.txt`
  await record.keepWhole(wholeText, longSummary)
  return facts.map((fact) => (fact.type === 'reported' ? { ...fact, wholeText } : fact))
}

function hearLine(hearer: Child, { attempt, conversation, pulse }: Heeded, line: RawLine): Heard {
  switch (line.kind) {
    case 'line':
      return hear(hearer, attempt, conversation.read(line.source, line.text), line.source, pulse)
    case 'overLong':
      return notice(pulse, `A line of ${line.byteCount} bytes was skipped: ${plainLine(line.head, 80)}`)
    case 'gap':
      return notice(pulse, `${line.byteCount} bytes of its ${line.source} are missing from the record.`)
  }
}

/** What was said to this attempt and is on record, but did not get into the transcript before a crash. */
export async function tellAgain(record: ChildRecord, { n, reason }: Attempt, prompt: string): Promise<void> {
  const bodies: (EntryBody & { kind: 'turn' | 'steer' })[] = [{ kind: 'turn', reason, prompt }]
  for (const { id, text, by } of record.child.steers) bodies.push({ kind: 'steer', steerId: id, text, by })
  await record.write(bodies.filter((body) => !record.tells(n, body)))
}

/** Steers that the former supervisor handed over and did not live to record. */
export async function recordHandedOver(
  record: ChildRecord,
  conversation: Conversation,
  attempt: number,
  past: Past,
  paths: AttemptPaths,
): Promise<void> {
  for (const { id, text, queuedAt, state } of record.child.steers) {
    if (state !== 'queued' || conversation.steer === undefined) continue
    const frames = conversation.steer.write({ id, text, queuedAt })
    if (await past.holds(frames, `steer-${id}`, paths))
      await record.append([{ type: 'steerSent', steerId: id, attempt }], false)
  }
}
