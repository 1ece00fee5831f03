// The mention that is being typed, as far as text and caret tell. Pure.

export interface Mention {
  /** Where its @ stands. */
  readonly from: number
  /** What is typed behind it. */
  readonly typed: string
}

/** Null while no mention is being typed: an @ inside a word, as in an address, begins none. */
export function mentionAt(text: string, caret: number): Mention | null {
  const found = /(?:^|[\s("'“])@([\w./+-]*)$/.exec(text.slice(0, caret))
  const typed = found?.[1]
  return typed === undefined ? null : { from: caret - typed.length - 1, typed }
}

/** The text with the path in place of what was typed, and where the caret stands then. */
export function withMention(text: string, { from, typed }: Mention, path: string): { text: string; caret: number } {
  const rest = text.slice(from + 1 + typed.length)
  const gap = rest.startsWith(' ') ? '' : ' '
  return { text: `${text.slice(0, from)}@${path}${gap}${rest}`, caret: from + 1 + path.length + 1 }
}
