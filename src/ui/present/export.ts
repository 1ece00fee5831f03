// A whole transcript as one Markdown document, for people to keep or attach. Pure; text by others is fenced or quoted, so
// that a renderer shows it and obeys nothing in it.
import type { Child } from '../../core/child'
import type { TranscriptEntry } from '../../core/transcript'
import { plainLine, plainText } from '../../core/plainText'
import type { ChildView } from '../../supervisor/view'
import { t } from './l10n'
import { actorWords, askedToEnd, inputText } from './panel'
import { phaseWords, steerStateWords, titleOf, verdictWords } from './words'

/** The head of the document; the entries follow, one after the other, by entryMarkdown. */
export function headMarkdown({ child }: ChildView): string {
  const facts: [string, string | null][] = [
    [t('Goal'), null],
    [t('Agent'), child.task.recipe.label],
    [t('State'), phaseWords(child)],
    [t('Checks'), verdictWords(child)],
    [t('Branch'), child.worktree?.branch ?? null],
    [t('Started'), child.acceptedAt],
    [t('Settled'), child.settledAt],
  ]
  const lines = facts.flatMap(([name, value]) => (value === null ? [] : [`- ${name}: ${code(plainLine(value))}`]))
  const steers = child.steers.map(
    (steer) => `- ${code(plainLine(steer.text, 400))}: ${steer.state}, ${steerStateWords(steer)}`,
  )
  return [
    `# ${escaped(titleOf(child))}`,
    fence(child.task.goal),
    lines.join('\n'),
    ...(steers.length > 0 ? [`## ${t('Steers')}`, steers.join('\n')] : []),
    `## ${t('Transcript')}`,
    '',
  ].join('\n\n')
}

/** `child`: tells a report that followed our own request to end from one that did not. */
export function entryMarkdown(entry: TranscriptEntry, child?: Child): string {
  const head = (words: string): string => `**${escaped(words)}** · ${entry.at}`
  switch (entry.kind) {
    case 'turn':
      return `### ${t('Attempt {n}', { n: entry.attempt })} · ${entry.at}\n\n${fence(entry.prompt)}\n`
    case 'text':
      return `${head(t('Agent'))}\n\n${fence(entry.text)}\n`
    case 'reasoning':
      return `${head(t('Reasoning'))}\n\n${fence(entry.text)}\n`
    case 'toolStarted':
      return `${head(entry.name)}\n\n${fence(inputText(entry.input, plainText))}\n`
    case 'toolEnded':
      return `${head(entry.isError ? t('Output (failed)') : t('Output'))}\n\n${fence(entry.output)}\n`
    case 'steer':
      return `${head(t('Steer by {who}', { who: actorWords(entry.by) }))}\n\n${fence(entry.text)}\n`
    case 'receipt':
      return `${head(t('Steer {state}', { state: entry.state }))}${entry.evidence === undefined ? '' : `: ${escaped(plainLine(entry.evidence))}`}\n`
    case 'asked':
    case 'answered':
    case 'verdict':
      return `${head(entry.kind)}\n\n${fence(entry.words)}\n`
    case 'report':
      return `${head(reportWords(entry.ok, askedToEnd(entry, child)))}\n\n${fence(entry.summary)}\n`
    case 'notice':
      return `${head('Coxswain')}: ${escaped(plainLine(entry.text, 2_000))}\n`
    case 'noise':
      return `${head(entry.source)}\n\n${fence(entry.text)}\n`
  }
}

function reportWords(ok: boolean, asked: 'stop' | 'pause' | null): string {
  if (ok) return t('Reports success (its claim)')
  if (asked === null) return t('Reports failure')
  return asked === 'stop' ? t('Stopped') : t('Paused')
}

/** A fence longer than any run of backticks inside. */
function fence(text: string): string {
  const plain = plainText(text)
  const longest = Math.max(2, ...[...plain.matchAll(/`+/g)].map(([run]) => run.length))
  const mark = '`'.repeat(longest + 1)
  return `${mark}text\n${plain}\n${mark}`
}

function code(text: string): string {
  return `\`${text.replace(/`/g, 'ˋ')}\``
}

function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]()<>#+\-.!|~]/g, '\\$&')
}
