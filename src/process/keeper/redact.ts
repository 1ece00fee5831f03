// Replaces known secret values in a stream of bytes before they reach the disk, wherever the stream is cut into chunks.
// It knows values, never shapes: text that merely looks like a token stays as it is.

export interface Secret {
  readonly name: string
  readonly value: string
}

interface Pattern {
  readonly bytes: Buffer
  readonly replacement: Buffer
}

/** Shorter values ("true", "1", "admin") would turn ordinary output into riddles, so they are left alone. */
export const shortestSecret = 8

/**
 * A redactor for one stream. The leftmost match wins, then the longest. What could be the start of a secret is held
 * back until the next bytes or `finish` decide; never more than the longest secret.
 */
export class Redactor {
  readonly #patterns: readonly Pattern[]
  #held: Buffer = Buffer.alloc(0)

  constructor(secrets: readonly Secret[]) {
    this.#patterns = patternsOf(secrets)
  }

  push(chunk: Buffer): Buffer {
    if (this.#patterns.length === 0) return chunk
    return this.#scan(this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]), false)
  }

  finish(): Buffer {
    return this.#scan(this.#held, true)
  }

  #scan(bytes: Buffer, final: boolean): Buffer {
    const parts: Buffer[] = []
    const next = this.#patterns.map((pattern) => bytes.indexOf(pattern.bytes))
    let from = 0
    let holdFrom = final ? bytes.length : this.#holdFrom(bytes, 0)
    for (;;) {
      const match = this.#nextMatch(bytes, from, next)
      // A longer secret may begin at or before this match; only more bytes can tell.
      if (match === undefined || match.at >= holdFrom) break
      parts.push(bytes.subarray(from, match.at), match.pattern.replacement)
      from = match.at + match.pattern.bytes.length
      if (!final && holdFrom < from) holdFrom = this.#holdFrom(bytes, from)
    }
    parts.push(bytes.subarray(from, holdFrom))
    this.#held = Buffer.from(bytes.subarray(holdFrom))
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  #nextMatch(bytes: Buffer, from: number, next: number[]): { pattern: Pattern; at: number } | undefined {
    let best: { pattern: Pattern; at: number } | undefined
    this.#patterns.forEach((pattern, index) => {
      let at = next[index] ?? -1
      if (at !== -1 && at < from) {
        at = bytes.indexOf(pattern.bytes, from)
        next[index] = at
      }
      if (at === -1) return
      const longer = at === best?.at && pattern.bytes.length > best.pattern.bytes.length
      if (best === undefined || at < best.at || longer) best = { pattern, at }
    })
    return best
  }

  /** Where, after `from`, the earliest suffix begins that is the start of a longer secret; else the length. */
  #holdFrom(bytes: Buffer, from: number): number {
    let earliest = bytes.length
    for (const { bytes: secret } of this.#patterns) {
      const first = secret[0]
      for (let at = Math.max(from, bytes.length - secret.length + 1); at < earliest; at++) {
        if (bytes[at] === first && bytes.compare(secret, 0, bytes.length - at, at) === 0) earliest = at
      }
    }
    return earliest
  }
}

/** A whole text with the secrets replaced. */
export function redactText(text: string, secrets: readonly Secret[]): string {
  const redactor = new Redactor(secrets)
  return Buffer.concat([redactor.push(Buffer.from(text)), redactor.finish()]).toString()
}

function patternsOf(secrets: readonly Secret[]): Pattern[] {
  const patterns = new Map<string, Pattern>()
  for (const { name, value } of secrets) {
    if (value.length < shortestSecret) continue
    const replacement = Buffer.from(`[redacted ${name}]`)
    for (const form of writtenForms(value)) {
      if (!patterns.has(form)) patterns.set(form, { bytes: Buffer.from(form), replacement })
    }
  }
  return [...patterns.values()]
}

/** As it is, and as JSON writes it: agents speak JSON lines, where quotes, newlines and accents look different. */
function writtenForms(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1)
  const inAscii = inJson.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return [value, inJson, inAscii]
}
