// What goes along with a brief or a steer: files as paths the child can open, and the text of those it would not find in
// its own worktree. Pure.
import { plainLine, plainText } from '../../core/plainText'

export interface Attachment {
  /** Relative to the repository with `/`, or absolute when it lies outside. */
  readonly path: string
  readonly outside: boolean
  /** Lines from 1, both included. */
  readonly lines?: { readonly from: number; readonly to: number }
  /** The text, for a file the child would not find as it is here; null when it is no text, or too long. */
  readonly text: string | null
  /** The last commit does not hold it as it is here. */
  readonly uncommitted: boolean
}

const images = /\.(?:png|jpe?g|gif|webp|svg|bmp|avif)$/i

/** The passage of a context or a message; '' when nothing is attached. Longer than `max` UTF-16 units it names files only. */
export function attachedText(attachments: readonly Attachment[], max: number): string {
  if (attachments.length === 0) return ''
  const whole = compose(attachments, true)
  return whole.length <= max ? whole : compose(attachments, false).slice(0, Math.max(0, max))
}

function compose(attachments: readonly Attachment[], withText: boolean): string {
  // For the agent, which reads English whatever the person's language is.
  const lines = attachments.map((attachment) => {
    const { path, lines: range, outside, uncommitted, text } = attachment
    const place = range === undefined ? path : `${path}:${range.from}-${range.to}`
    const what = images.test(path) ? 'an image' : null
    const where = outside
      ? 'outside of your worktree; read it where it lies'
      : uncommitted
        ? 'not committed as it is now, so your worktree lacks it or has an older one'
        : null
    const remarks = [what, where].filter((remark) => remark !== null)
    const head = `- ${plainLine(place, 1_000)}${remarks.length === 0 ? '' : ` (${remarks.join('; ')})`}`
    return withText && text !== null ? `${head}\n${fence(text)}` : head
  })
  return ['Files that go along:', ...lines].join('\n')
}

function fence(text: string): string {
  const plain = plainText(text)
  const longest = Math.max(2, ...[...plain.matchAll(/`+/g)].map(([run]) => run.length))
  const mark = '`'.repeat(longest + 1)
  return `${mark}\n${plain}${plain.endsWith('\n') ? '' : '\n'}${mark}`
}

/** The paths mentioned as `@lib/auth.py` or `@lib/auth.py:3-9`, each once, in order; whether they exist is not looked at. */
export function mentions(text: string): readonly string[] {
  const found = [...text.matchAll(/(?:^|[\s("'“])@([\w./+-]+)/g)].flatMap(([, path = '']) => {
    const trimmed = path.replace(/[.,]+$/, '')
    return trimmed === '' ? [] : [trimmed]
  })
  return [...new Set(found)]
}

/** The `@` that was just typed opens the list of files; one inside a word, as in an address, does not. */
export function beginsMention(text: string): boolean {
  return /(?:^|[\s("'“])@$/.test(text)
}
