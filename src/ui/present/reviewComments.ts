// A person's line comments as the one message a child gets. Pure.
import { plainLine, plainText } from '../../core/plainText'

export interface LineComment {
  readonly path: string
  readonly side: 'base' | 'now'
  /** From 1; the file may move on, so the line itself goes along. */
  readonly line: number
  readonly lineText: string
  readonly body: string
}

/** For the agent, in English whatever the person's language is. */
export function commentsMessage(comments: readonly LineComment[]): string {
  const sorted = [...comments].sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
  const each = sorted.map(({ path, side, line, lineText, body }, n) => {
    const where = `${plainLine(path, 500)}:${line}${side === 'base' ? ' (before your changes)' : ''}`
    const quoted = plainLine(lineText, 300)
    return [
      `${n + 1}. ${where}`,
      ...(quoted === '' ? [] : [`   > ${quoted}`]),
      ...plainText(body)
        .trim()
        .split('\n')
        .map((text) => `   ${text}`),
    ].join('\n')
  })
  const head =
    comments.length === 1
      ? 'A comment on your changes, from their review. Deal with it, then say what you did:'
      : `${comments.length} comments on your changes, from their review. Deal with each, then say what you did:`
  return [head, ...each].join('\n\n')
}
