// The human-readable log of a child: one line per entry with its full UTC time, long text elided with a count. Pure; the
// exact words stay in transcript.jsonl and in the raw output.
import { plainText } from './plainText'
import { asText } from './toolInput'
import type { TranscriptEntry } from './transcript'

const longest = 2_000

/** The line of an entry, without its newline. */
export function textLogLine(entry: TranscriptEntry): string {
  return `${entry.at} ${words(entry)}`
}

/** The first lines of a log. */
export function textLogHeader(child: { id: string; title: string; goal: string; agent: string }, at: string): string[] {
  return [
    `${at} child ${child.id} "${oneLine(child.title)}" accepted for ${oneLine(child.agent)}`,
    `${at} goal: ${oneLine(child.goal)}`,
  ]
}

function words(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case 'turn':
      return `attempt ${entry.attempt} (${entry.reason}): ${oneLine(entry.prompt)}`
    case 'text':
      return `says: ${oneLine(entry.text)}`
    case 'reasoning':
      return `thinks: ${oneLine(entry.text)}`
    case 'toolStarted':
      return `tool ${oneLine(entry.name)}: ${oneLine(asText(entry.input))}`
    case 'toolEnded':
      return `tool ${entry.isError ? 'ERROR' : 'done'}: ${oneLine(entry.output)}`
    case 'steer':
      return `steer ${entry.steerId} queued: ${oneLine(entry.text)}`
    case 'receipt':
      return `steer ${entry.steerId} ${entry.state}${entry.evidence === undefined ? '' : ` (${entry.evidence})`}`
    case 'asked':
      return `asks ${entry.requestId}: ${oneLine(entry.words)}`
    case 'answered':
      return `answer to ${entry.requestId}: ${oneLine(entry.words)}`
    case 'report':
      return `reports ${entry.ok ? 'success' : 'failure'}: ${oneLine(entry.summary)}`
    case 'verdict':
      return `verdict: ${oneLine(entry.words)}`
    case 'notice':
      return `${entry.level}: ${oneLine(entry.text)}`
    case 'noise':
      return `${entry.source}: ${oneLine(entry.text)}`
  }
}

function oneLine(text: string): string {
  const plain = plainText(text.slice(0, longest * 4))
    .replace(/\s+/g, ' ')
    .trim()
  const cut = plain.length > longest ? plain.slice(0, longest) : plain
  const left = text.length - cut.length
  return left > longest * 3 || plain.length > longest ? `${cut}… (${left} more characters)` : cut
}
