// An agent's text as elements: fenced code, inline code and bold are told apart, everything else stays as it was written.
// No links, no images, no HTML: what is not one of the three is a text node.
import { el } from './dom'

/** Fences are found line by line; an unclosed one runs to the end. */
export function prose(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment()
  let plain: string[] = []
  let code: string[] | null = null
  let fence = ''
  const flush = (): void => {
    const joined = plain.join('\n').replace(/^\n+|\n+$/g, '')
    plain = []
    if (joined !== '') fragment.append(el('div', 'prose', inline(joined)))
  }
  for (const line of text.split('\n')) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1]
    if (code === null && mark !== undefined) {
      flush()
      code = []
      fence = mark
    } else if (code !== null && mark !== undefined && mark.startsWith(fence)) {
      fragment.append(el('pre', 'code', code.join('\n')))
      code = null
    } else (code ?? plain).push(line)
  }
  if (code !== null) fragment.append(el('pre', 'code', code.join('\n')))
  flush()
  return fragment
}

function inline(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment()
  let at = 0
  for (const match of text.matchAll(/`([^`\n]{1,400})`|\*\*([^*\n]{1,400})\*\*/g)) {
    if (match.index > at) fragment.append(text.slice(at, match.index))
    fragment.append(match[1] !== undefined ? el('code', '', match[1]) : el('strong', '', match[2] ?? ''))
    at = match.index + match[0].length
  }
  if (at < text.length) fragment.append(text.slice(at))
  return fragment
}
