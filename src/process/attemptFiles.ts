// The names inside an attempt's folder. One writer each: the host writes launch.json through its record, the keeper
// everything else.
import { join } from 'node:path'

export type OutputSource = 'stdout' | 'stderr'
export const outputSources: readonly OutputSource[] = ['stdout', 'stderr']

export interface AttemptFiles {
  readonly launch: string
  /** Exists from the moment a keeper (or a host that forbids the start) has claimed the attempt; never rewritten. */
  readonly keeper: string
  readonly agent: string
  readonly exit: string
  /** Every stdin frame with its sequence number. */
  readonly input: string
  /** What the keeper did: requests to end, steps of the ladder, hosts that came and went. */
  readonly control: string
  readonly gaps: string
  readonly raw: string
}

export function attemptFiles(attemptDir: string): AttemptFiles {
  return {
    launch: join(attemptDir, 'launch.json'),
    keeper: join(attemptDir, 'keeper.json'),
    agent: join(attemptDir, 'agent.json'),
    exit: join(attemptDir, 'exit.json'),
    input: join(attemptDir, 'input.jsonl'),
    control: join(attemptDir, 'control.jsonl'),
    gaps: join(attemptDir, 'gaps.jsonl'),
    raw: join(attemptDir, 'raw'),
  }
}

/** A segment's name carries the offset of its first byte in the whole stream, so a lost one shows as a hole. */
export const segmentName = (source: OutputSource, start: number): string =>
  `${source}-${String(start).padStart(15, '0')}.raw`

/** Start offsets of the segments of one source among the names of a folder, ascending. */
export function segmentStarts(names: readonly string[], source: OutputSource): number[] {
  const starts: number[] = []
  for (const name of names) {
    const match = /^(stdout|stderr)-(\d{15})\.raw$/.exec(name)
    if (match?.[1] === source && match[2] !== undefined) starts.push(Number(match[2]))
  }
  return starts.sort((a, b) => a - b)
}
