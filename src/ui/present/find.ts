// What of a transcript is searched, and how a hit reads: the words a person has seen or said, not the shape they are
// stored in. Pure.
import { asText } from '../../core/toolInput'
import { plainLine, plainText } from '../../core/plainText'
import type { TranscriptEntry } from '../../core/transcript'

/** Every text of an entry, whole, as it came. */
function texts(entry: TranscriptEntry): readonly string[] {
  switch (entry.kind) {
    case 'turn':
      return [entry.prompt]
    case 'text':
    case 'reasoning':
    case 'steer':
    case 'notice':
    case 'noise':
      return [entry.text]
    case 'toolStarted':
      return [entry.name, asText(entry.input), ...leaves(entry.input)]
    case 'toolEnded':
      return [entry.output]
    case 'receipt':
      return [entry.state, entry.evidence ?? '']
    case 'asked':
    case 'answered':
    case 'verdict':
      return [entry.words]
    case 'report':
      return [entry.summary]
  }
}

/** The texts inside a tool's input, however it is nested; a hostile one is followed only so far. */
function leaves(value: unknown, depth = 0): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > 8) return []
  return Object.values(value).flatMap((each) => leaves(each, depth + 1))
}

/** As typed by a person → as compared. */
export function needleOf(query: string): string {
  return plainText(query).trim().toLowerCase()
}

/** The line that says where it works: its title stands in the folder's and the branch's name, which nobody looks for. */
export function isPlace(entry: TranscriptEntry): boolean {
  return entry.kind === 'notice' && /^Works in .+ on branch .+\.$/.test(entry.text)
}

/** @param needle from needleOf, not empty */
export function holds(entry: TranscriptEntry, needle: string): boolean {
  return texts(entry).some((text) => plainText(text).toLowerCase().includes(needle))
}

/** Characters before and after a hit that are shown with it. */
const before = 40
const after = 120

/** The words around the first hit, one line, with ellipses where something is cut; null when there is none. */
export function excerpt(entry: TranscriptEntry, needle: string): string | null {
  for (const raw of texts(entry)) {
    const text = plainText(raw)
    const at = text.toLowerCase().indexOf(needle)
    if (at < 0) continue
    const from = Math.max(0, at - before)
    const words = plainLine(text.slice(from, at + needle.length + after), before + needle.length + after)
    return `${from > 0 ? '…' : ''}${words}${at + needle.length + after < text.length ? '…' : ''}`
  }
  return null
}

export interface Look {
  /** Entries [from, from + count) of the log. */
  read(from: number, count: number): Promise<readonly TranscriptEntry[]>
  /** Told now and then of how many were found so far. */
  found(count: number): void
  /** False once nobody waits for it any more. */
  isWanted(): boolean
  /** Milliseconds since 1970. */
  now(): number
}

const readAtOnce = 40
const tellEveryMs = 200

/**
 * Looks through the first `total` entries of a log.
 * @param needle from needleOf; an empty one is nowhere
 * @returns numbers of the entries that hold it, rising; null when it was called off
 */
export async function hitsIn(total: number, needle: string, look: Look): Promise<readonly number[] | null> {
  const hits: number[] = []
  let told = look.now()
  for (let at = 0; needle !== '' && at < total; at += readAtOnce) {
    const entries = await look.read(at, readAtOnce)
    if (!look.isWanted()) return null
    for (const entry of entries) if (holds(entry, needle)) hits.push(entry.n)
    if (look.now() - told < tellEveryMs) continue
    told = look.now()
    look.found(hits.length)
  }
  return hits
}

/**
 * Which hit comes next, round once at either end.
 * @param hits entry numbers, rising
 * @param after the hit a person stands on; null = none yet
 * @returns `at` null when there is none; `place` counts from 1
 */
export function nextHit(
  hits: readonly number[],
  after: number | null,
  back: boolean,
): { readonly at: number | null; readonly place: number; readonly count: number } {
  const beyond =
    after === null ? -1 : back ? hits.findLastIndex((hit) => hit < after) : hits.findIndex((hit) => hit > after)
  const index = beyond >= 0 ? beyond : back ? hits.length - 1 : 0
  const at = hits[index] ?? null
  return { at, place: at === null ? 0 : index + 1, count: hits.length }
}
