// A tool's input in words, wherever it is read: the row, the transcript's folded line and the text log agree.
import { expect, test } from 'vitest'
import { textLogLine } from '../../../src/core/textLog'
import { asText } from '../../../src/core/toolInput'
import { activityOf } from '../../../src/core/transcript'

const at = '2026-03-01T12:00:00.000Z'
const everywhere = (name: string, input: unknown): string[] => {
  const body = { kind: 'toolStarted' as const, toolId: 't', name, input }
  return [asText(input), activityOf(body) ?? '', textLogLine({ n: 0, at, attempt: 1, ...body }).slice(at.length + 1)]
}

test('a question that was answered is not what it is doing any more', () => {
  const words = (['asked', 'answered'] as const).map((kind) => activityOf({ kind, requestId: 'r', words: 'may it?' }))
  expect(words).toEqual(['asks: may it?', 'was answered: may it?'])
})

test.each<[string, unknown, string, string]>([
  ['run', { argv: ['git', 'ls-files'] }, '$ git ls-files', '$ git ls-files'],
  ['Bash', { command: 'npm test' }, 'npm test', 'Bash: npm test'],
  ['shell', { command: ['sh', '-c', 'echo hi'] }, "$ sh -c 'echo hi'", "$ sh -c 'echo hi'"],
  ['commit', { message: 'Write the tour', paths: ['docs/tour.md'] }, 'Write the tour', 'commit: Write the tour'],
  ['write', { path: 'docs/tour.md', content: 'x' }, 'docs/tour.md', 'write: docs/tour.md'],
  ['odd', { n: 3 }, '{"n":3}', 'odd: {"n":3}'],
  ['list', ['a', 1], '["a",1]', 'list: ["a",1]'],
  ['none', undefined, '', 'none'],
])('the input of %s %j', (name, input, text, activity) => {
  expect(everywhere(name, input)).toEqual([text, activity, `tool ${name}: ${text}`])
})
