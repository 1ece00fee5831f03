// One transcript entry as a row. Rows are built anew whenever they come into view, so what a person unfolded is kept by
// entry number outside of them.
import { exactDuration } from '../../src/protocol/duration'
import type { PanelEntry, PanelSteer, ShownText } from '../../src/protocol/panel'
import type { EntryCache } from './cache'
import { clockTime, el, icon, size, time } from './dom'
import { prose } from './prose'
import { say } from './strings'

export interface RowContext {
  readonly cache: EntryCache
  readonly unfolded: Set<string>
  steer(id: string): PanelSteer | undefined
  /** True while the attempt of this entry is the one that runs. */
  runs(attempt: number): boolean
  open(n: number, part: 'text' | 'input' | 'output'): void
}

type Of<K extends PanelEntry['kind']> = Extract<PanelEntry, { kind: K }>

export function entryRow(entry: PanelEntry, context: RowContext): HTMLElement {
  const row = body(entry, context)
  row.classList.add('row', `row-${entry.kind}`)
  row.dataset['vscodeContext'] = JSON.stringify({ webviewSection: 'entry', n: entry.n })
  return row
}

/** Stands where an entry is still on its way. */
export function missingRow(): HTMLElement {
  return el('div', 'row row-missing', say.loading)
}

function body(entry: PanelEntry, context: RowContext): HTMLElement {
  switch (entry.kind) {
    case 'turn':
      return turn(entry, context)
    case 'text':
      return el('div', '', subagent(entry.subagent), prose(entry.text.text), rest(entry, 'text', entry.text, context))
    case 'reasoning':
      return fold(entry.n, context, '', [icon('lightbulb'), say.reasoning, preview(entry.text.text)], () => [
        el('div', 'prose', entry.text.text),
        rest(entry, 'text', entry.text, context),
      ])
    case 'toolStarted':
      return tool(entry, context)
    case 'toolEnded':
      return context.cache.startOf(entry) === undefined
        ? fold(entry.n, context, entry.isError ? 'bad' : '', [icon('tools'), say.output, time(entry.at)], () => [
            pre(entry.output),
            rest(entry, 'output', entry.output, context),
          ])
        : el('div', 'nothing')
    case 'steer':
      return steer(entry, context)
    case 'receipt':
      // The steer's own row tells all its times; of the way only what was proven is worth a line where it happened.
      return superseded(entry, context)
        ? el('div', 'nothing')
        : line('megaphone', `${say.steerReceipt} ${entry.words}`, entry.at, 'quiet')
    case 'asked':
      return line('question', `${say.asks}: ${entry.words}`, entry.at, 'strong')
    case 'answered':
      return line('reply', `${say.answered}: ${entry.words}`, entry.at)
    case 'report':
      return report(entry, context)
    case 'verdict':
      return line('beaker', entry.words, entry.at, 'strong')
    case 'notice':
      return line(entry.level, entry.words, entry.at, entry.level)
    case 'noise':
      return el(
        'div',
        'noise',
        el('span', 'noise-source', entry.source),
        ' ',
        entry.text.text,
        rest(entry, 'text', entry.text, context),
      )
  }
}

/** A failure that follows our own request to end is what was asked for, no bad news. */
export function reportTitle(entry: Of<'report'>): string {
  if (entry.ok) return say.claimsSuccess
  switch (entry.asked) {
    case 'stop':
      return say.stopped
    case 'pause':
      return say.paused
    case null:
      return say.claimsFailure
  }
}

function report(entry: Of<'report'>, context: RowContext): HTMLElement {
  const neutral = entry.asked !== null && !entry.ok
  const sign = entry.ok ? 'pass' : entry.asked === null ? 'error' : `debug-${entry.asked}`
  return el(
    'div',
    '',
    el(
      'div',
      entry.ok || neutral ? 'card' : 'card bad',
      el('div', 'card-title', icon(sign), reportTitle(entry), time(entry.at)),
      ...(saidBefore(entry, context) ? [] : [prose(entry.text.text), rest(entry, 'text', entry.text, context)]),
    ),
  )
}

/** Many agents report in the very words they have just said: once is enough. */
function saidBefore(entry: Of<'report'>, { cache }: RowContext): boolean {
  for (let n = entry.n - 1; n >= Math.max(0, entry.n - 4); n--) {
    const before = cache.get(n)
    if (before?.kind === 'text' && before.attempt === entry.attempt)
      return before.text.text.trim() === entry.text.text.trim()
  }
  return false
}

function turn(entry: Of<'turn'>, context: RowContext): HTMLElement {
  return el(
    'div',
    '',
    el('h2', 'turn-title', entry.words, time(entry.at)),
    fold(entry.n, context, 'prompt', [icon('comment'), say.prompt, preview(entry.prompt.text)], () => [
      el('div', 'prose', entry.prompt.text),
      rest(entry, 'text', entry.prompt, context),
    ]),
  )
}

function tool(entry: Of<'toolStarted'>, context: RowContext): HTMLElement {
  const end = context.cache.endOf(entry)
  const running = end === undefined && context.runs(entry.attempt)
  const state =
    end !== undefined
      ? el(
          'span',
          'tool-state',
          [end.isError ? say.failed : '', tookWords(Date.parse(end.at) - Date.parse(entry.at))]
            .filter((part) => part !== '')
            .join(' · '),
        )
      : running
        ? el('span', 'tool-state', say.running)
        : null
  const sign = running ? icon('loading~spin') : icon(end?.isError === true ? 'error' : toolIcon(entry.name))
  return fold(
    entry.n,
    context,
    end?.isError === true ? 'bad' : '',
    [sign, el('span', 'tool-name', entry.name), el('span', 'tool-brief', entry.brief), subagent(entry.subagent), state],
    () => [
      el('div', 'part', say.input),
      pre(entry.input),
      rest(entry, 'input', entry.input, context),
      ...(end === undefined
        ? []
        : [
            el('div', 'part', say.output),
            end.output.whole === 0 ? el('div', 'quiet', say.noOutput) : pre(end.output),
            rest(end, 'output', end.output, context),
          ]),
    ],
  )
}

/** Nothing for less than a tenth of a second: entries read again after an unwatched spell carry one and the same time. */
function tookWords(ms: number): string {
  return ms < 100 ? '' : exactDuration(ms)
}

function toolIcon(name: string): string {
  const lower = name.toLowerCase()
  if (/bash|shell|command|terminal|exec|run/.test(lower)) return 'terminal'
  if (/edit|write|patch|replace|save/.test(lower)) return 'edit'
  if (/read|view|open|cat/.test(lower)) return 'file'
  if (/grep|search|glob|find|list/.test(lower)) return 'search'
  if (/web|fetch|http|browser/.test(lower)) return 'globe'
  return 'tools'
}

function steer(entry: Of<'steer'>, context: RowContext): HTMLElement {
  const now = context.steer(entry.steerId)
  return el(
    'div',
    '',
    el(
      'div',
      'card steer',
      el('div', 'card-title', icon('megaphone'), say.steeredBy(entry.by), time(entry.at)),
      el('div', 'prose', now?.text ?? entry.text),
      now === undefined ? null : receipt(now),
    ),
  )
}

/** Handed over proves nothing, and delivered is told by confirmed once that has come. */
function superseded(entry: Of<'receipt'>, context: RowContext): boolean {
  return entry.state === 'sent' || (entry.state === 'delivered' && context.steer(entry.steerId)?.state === 'confirmed')
}

/** A steer's state with every time it passed through. */
export function receipt(steer: PanelSteer): HTMLElement {
  let shown = ''
  const way = steer.history.map(({ state, at, how }) => {
    const clock = clockTime(at)
    const words = `${state}${clock === shown ? '' : ` ${clock}`}${how === null ? '' : ` (${how})`}`
    shown = clock
    return words
  })
  const times = way.join(' → ')
  // The way ends in the present state: more words only where it went wrong or nothing is proven yet.
  const proven = steer.state === 'delivered' || steer.state === 'confirmed'
  const element = el(
    'div',
    'receipt',
    el('span', `state state-${steer.state}`, steer.state),
    proven ? null : el('span', 'receipt-words', steer.words),
    el('span', 'receipt-times', times),
  )
  element.title = `${times}: ${steer.words}`
  return element
}

function line(sign: string, words: string, at: string, look = ''): HTMLElement {
  return el('div', `line ${look}`, icon(sign), el('span', 'line-words', words), time(at))
}

function fold(
  n: number,
  context: RowContext,
  look: string,
  summary: readonly (Node | string | null)[],
  content: () => readonly (Node | null)[],
): HTMLElement {
  const key = `${n}`
  const head = el('summary', '', ...summary)
  const details = el('details', look, head)
  const fill = (): void => {
    if (details.childElementCount > 1) return
    details.append(el('div', 'folded', ...content()))
  }
  if (context.unfolded.has(key)) {
    fill()
    details.open = true
  }
  // Filled on the first opening: a folded tool call costs one line.
  head.addEventListener('click', fill)
  details.addEventListener('toggle', () => {
    if (details.open) {
      fill()
      context.unfolded.add(key)
    } else context.unfolded.delete(key)
  })
  return el('div', '', details)
}

function rest(
  entry: { readonly n: number },
  part: 'text' | 'input' | 'output',
  text: ShownText,
  context: RowContext,
): HTMLElement | null {
  if (text.text.length >= text.whole || !text.text.endsWith('…')) return null
  const link = el('button', 'link', say.showAll(size(text.whole)))
  link.type = 'button'
  link.addEventListener('click', () => context.open(entry.n, part))
  return link
}

function pre(text: ShownText): HTMLElement {
  const element = el('pre', 'code', text.text)
  element.tabIndex = 0
  return element
}

function preview(text: string): HTMLElement {
  return el('span', 'preview', text.slice(0, 200).replace(/\s+/g, ' '))
}

function subagent(name: string | null): HTMLElement | null {
  return name === null ? null : el('span', 'subagent', say.by(name))
}
