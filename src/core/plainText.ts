// What may be shown or logged of text that someone else wrote: no terminal escapes, no control characters, no characters
// that turn the reading direction. Everything that leaves us for a screen, a log or a file people read passes here; the
// raw record is never changed by it.

// Built from escapes so that this file itself stays plain. Each alternative consumes what it starts, so the whole is linear.
const OSC = String.raw`(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?`
const STRING = String.raw`(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c)?`
const CSI = String.raw`(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?`
const ESCAPE = String.raw`\x1b[ -/]*[0-~]?`
const CONTROL = String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]`
/** Bidirectional controls, byte order mark, and the invisible tag characters. */
const INVISIBLE = String.raw`[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]`

const unsafe = new RegExp([OSC, STRING, CSI, ESCAPE, CONTROL, INVISIBLE].join('|'), 'gu')
const hidden = new RegExp([CONTROL, INVISIBLE].join('|'), 'gu')
const lineEnds = /\r\n?|[\u2028\u2029]/g

/** Several lines of text: line feeds and tabs stay, every other control, escape sequence and bidi control goes. */
export function plainText(text: string): string {
  return text.replace(lineEnds, '\n').replace(unsafe, '')
}

/** Like plainText, but what goes is written out as `\\u{1b}`: for what a person is asked to approve. */
export function visibleText(text: string): string {
  return text
    .replace(lineEnds, '\n')
    .replace(hidden, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** One line of text, white space folded, cut to `max` characters with an ellipsis. */
export function plainLine(text: string, max = 200): string {
  // Cut first: a caller may hold five megabytes and want a title. Escapes can only shorten, so the margin suffices.
  const folded = plainText(text.slice(0, max * 8))
    .replace(/\s+/g, ' ')
    .trim()
  return cutText(folded, max)
}

/** The first `max` UTF-16 units, never half a character; an ellipsis says that something is missing. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 2)
  const end = last >= 0xd800 && last <= 0xdbff ? max - 2 : max - 1
  return `${text.slice(0, end)}…`
}

/**
 * `max` characters of a longer text, and between its beginning and its end, which say the most, a line that tells how many
 * are missing.
 */
export function trimMiddle(text: string, max: number, note: (left: number) => string): string {
  if (text.length <= max) return text
  const head = withoutHalves(text.slice(0, Math.ceil(max * 0.6)))
  const tail = withoutHalves(text.slice(text.length - Math.floor(max * 0.4)))
  return `${head}\n${note(text.length - head.length - tail.length)}\n${tail}`
}

/** Without half a character at either end. */
function withoutHalves(text: string): string {
  const first = text.charCodeAt(0)
  const last = text.charCodeAt(text.length - 1)
  return text.slice(first >= 0xdc00 && first <= 0xdfff ? 1 : 0, last >= 0xd800 && last <= 0xdbff ? -1 : undefined)
}
