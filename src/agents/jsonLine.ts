// One line of an agent's output as JSON, guarded: too long, too deep or no object is no line at all. Shared by every
// adapter that reads NDJSON; knows no protocol.
import type { AgentSignal } from '../core/signals'

/** Longer lines are noise: no honest line comes near (UTF-16 units). */
const maxLineLength = 16 * 1024 * 1024
/** What is kept of a line that was not understood (UTF-16 units). */
const maxNoiseLength = 2_000
/** Values nested deeper than this are refused: whoever walks them later may recurse. */
const maxDepth = 64

/** The line without a byte order mark, a carriage return and blanks around it. */
export function trimmedLine(line: string): string {
  return line.replace(/^\uFEFF/, '').trim()
}

/** The object a trimmed line holds, or `undefined`. Never throws. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  if (text.length > maxLineLength || !text.startsWith('{')) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return deeperThan(value, maxDepth) ? undefined : (value as Record<string, unknown>)
}

export function noise(text: string): AgentSignal {
  if (text.length <= maxNoiseLength) return { kind: 'noise', text }
  return { kind: 'noise', text: `${text.slice(0, maxNoiseLength)}… (${text.length - maxNoiseLength} more characters)` }
}

/** Walks level by level, so depth costs no stack. */
function deeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true
    const next: unknown[] = []
    for (const item of level) {
      if (item === null || typeof item !== 'object') continue
      for (const inner of Object.values(item)) if (inner !== null && typeof inner === 'object') next.push(inner)
    }
    level = next
  }
  return false
}
