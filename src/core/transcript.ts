// One line of transcript.jsonl: what the child said and did and what was said to it, in reading order. Structured, not
// fsynced, rebuildable from raw output and the event log; the panel and `coxswain transcript` show nothing else.
import { z } from 'zod'
import { actorSchema } from './events'
import { plainLine } from './plainText'
import { asText } from './toolInput'

const entryKinds = [
  /** An attempt begins: its number, why, and the user turn it starts with. */
  z.object({ kind: z.literal('turn'), reason: z.enum(['first', 'resume', 'retry', 'wake']), prompt: z.string() }),
  z.object({ kind: z.literal('text'), text: z.string(), subagent: z.string().optional() }),
  z.object({ kind: z.literal('reasoning'), text: z.string() }),
  z.object({
    kind: z.literal('toolStarted'),
    toolId: z.string(),
    name: z.string(),
    input: z.unknown(),
    subagent: z.string().optional(),
  }),
  z.object({ kind: z.literal('toolEnded'), toolId: z.string(), output: z.string(), isError: z.boolean() }),
  /** Where a steer was queued; its present state is the child's, by id. */
  z.object({ kind: z.literal('steer'), steerId: z.string(), text: z.string(), by: actorSchema }),
  /** Where a steer's state changed. */
  z.object({
    kind: z.literal('receipt'),
    steerId: z.string(),
    state: z.enum(['sent', 'delivered', 'confirmed', 'missed', 'withdrawn', 'refused', 'unknown']),
    evidence: z.string().optional(),
  }),
  z.object({ kind: z.literal('asked'), requestId: z.string(), words: z.string() }),
  z.object({ kind: z.literal('answered'), requestId: z.string(), words: z.string() }),
  z.object({ kind: z.literal('report'), ok: z.boolean(), summary: z.string() }),
  z.object({ kind: z.literal('verdict'), words: z.string() }),
  /** Said by Coxswain, e.g. an interrupt asked for, an end, a gap. */
  z.object({ kind: z.literal('notice'), level: z.enum(['info', 'warning', 'error']), text: z.string() }),
  z.object({ kind: z.literal('noise'), source: z.enum(['stdout', 'stderr']), text: z.string() }),
] as const

const entryBodySchema = z.discriminatedUnion('kind', entryKinds)
export type EntryBody = z.infer<typeof entryBodySchema>

/** `n` counts from 0 without a gap; `at` is ISO 8601 UTC; `cursor` is the raw offset the entry ends at, if it came from there. */
const entrySchema = z.intersection(
  z.object({
    n: z.number().int().nonnegative(),
    at: z.string(),
    attempt: z.number().int().nonnegative(),
    cursor: z.object({ source: z.enum(['stdout', 'stderr']), end: z.number().int().nonnegative() }).optional(),
  }),
  entryBodySchema,
)
export type TranscriptEntry = z.infer<typeof entrySchema>

/** A line of transcript.jsonl; undefined when it is none. */
export function readEntry(line: string): TranscriptEntry | undefined {
  try {
    const parsed = entrySchema.safeParse(JSON.parse(line))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

/** What a child is doing as of this entry, in one line; undefined when the entry says nothing about that. */
export function activityOf(entry: EntryBody): string | undefined {
  switch (entry.kind) {
    case 'toolStarted':
      return plainLine(toolWords(entry.name, asText(entry.input)), 120)
    case 'text':
      return plainLine(entry.text, 120)
    case 'reasoning':
      return 'thinking'
    case 'turn':
      return 'starting'
    case 'asked':
      return plainLine(`asks: ${entry.words}`, 120)
    case 'answered':
      return plainLine(`was answered: ${entry.words}`, 120)
    case 'report':
      return 'finishing'
    case 'toolEnded':
    case 'steer':
    case 'receipt':
    case 'verdict':
    case 'notice':
    case 'noise':
      return undefined
  }
}

function toolWords(name: string, input: string): string {
  if (input === '') return name
  // A shell line says by its sign what it is.
  return input.startsWith('$ ') ? input : `${name}: ${input}`
}
