// Reads the journal of stdin frames that a keeper wrote: what the agent was sent, in order, and where in its output.
import { readFile } from 'node:fs/promises'
import { attemptFiles } from './attemptFiles'
import { parseObject } from './json'
import { unlessOutOfFiles } from './outOfFiles'
import { parseOffsets, type Offsets } from './wire'

export interface JournaledFrame {
  readonly seq: number
  readonly id: string | undefined
  /** Wall clock, milliseconds since 1970. */
  readonly at: number
  /** How much output had been written when the frame was taken: a refold puts it in there. */
  readonly after: Offsets
  /** As sent, except that known secrets are replaced. */
  readonly text: string
}

/**
 * The frames of the journal, up to the first that is missing: what follows it is what a power cut left. A stub of a line
 * that could not be written has no number of its own and is passed over. Empty when there is no journal;
 * rejects while no file can be opened.
 */
export async function readInputJournal(attemptDir: string): Promise<JournaledFrame[]> {
  const text = await readFile(attemptFiles(attemptDir).input, 'utf8').catch((error: unknown) =>
    unlessOutOfFiles(error, ''),
  )
  const frames: JournaledFrame[] = []
  for (const line of text.split('\n')) {
    const entry = parseObject(line)
    const after = parseOffsets(entry?.['after'])
    if (entry === undefined || after === undefined) continue
    const { seq, id, at, text: frame } = entry
    if (seq !== frames.length + 1 || typeof at !== 'number' || typeof frame !== 'string') continue
    frames.push({ seq, id: typeof id === 'string' ? id : undefined, at, after, text: frame })
  }
  return frames
}
