// The text of a pull request from a child's record: what was asked, what it says it did, what the checks found, what
// changed. A claim stays marked as one. Pure.
import { currentAttempt, type Child } from '../../core/child'
import { plainLine, plainText } from '../../core/plainText'
import type { ChangedFile } from '../../git/review'
import { t } from './l10n'
import { changeSummary } from './review'
import { titleOf, verdictStatusWords } from './words'

const filesAtMost = 60

export function pullRequestText(child: Child, files: readonly ChangedFile[]): string {
  const summary = currentAttempt(child)?.report?.summary ?? null
  const { verdict } = child
  const parts = [
    `# ${inline(titleOf(child))}`,
    `## ${t('Task')}`,
    quote(child.task.goal),
    ...(summary === null ? [] : [`## ${t('What the agent says it did')}`, quote(summary)]),
    ...(verdict === null
      ? []
      : [
          `## ${t('Checks')}: ${verdictStatusWords(verdict)}`,
          verdict.checks
            .map(
              ({ result, check, reason }) =>
                `- ${result} ${inline(checkName(check))}${result === 'PASS' ? '' : `: ${inline(plainLine(reason))}`}`,
            )
            .join('\n'),
        ]),
    `## ${t('Changes')}: ${changeSummary(files)}`,
    files
      .slice(0, filesAtMost)
      .map(({ path, kind, from }) => `- ${inline(path)} (${kind}${from === undefined ? '' : ` from ${inline(from)}`})`)
      .join('\n'),
    ...(files.length > filesAtMost ? [t('… and {n} more', { n: files.length - filesAtMost })] : []),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function checkName(check: Readonly<Record<string, unknown>>): string {
  return plainLine(typeof check['name'] === 'string' ? check['name'] : JSON.stringify(check), 120)
}

const inline = (text: string): string => plainLine(text, 300).replace(/[\\`*_[\]<>]/g, '\\$&')
const quote = (text: string): string =>
  plainText(text)
    .trim()
    .split('\n')
    .map((line) => `> ${line.replace(/[<]/g, '\\<')}`)
    .join('\n')
