// An exported transcript is a document, whatever was said in it.
import { expect, test } from 'vitest'
import type { TranscriptEntry } from '../../../src/core/transcript'
import { entryMarkdown, headMarkdown } from '../../../src/ui/present/export'
import { at, attempt, child, ended, steer, verdict, view } from './children'

test('the head names goal, agent, state and what became of each steer', () => {
  const done = view(
    ended('SUCCESS', {
      title: 'Fix [it](command:x)',
      verdict: verdict(),
      steers: [steer({ state: 'confirmed', evidence: { kind: 'observed' } })],
    }),
  )
  expect(headMarkdown(done)).toBe(`# Fix \\[it\\]\\(command:x\\)

\`\`\`text
Fix the null check in lib/auth.py.
\`\`\`

- Agent: \`Demo agent\`
- State: \`succeeded, verified\`
- Checks: \`verified\`
- Branch: \`coxswain/fix-the-null-check\`
- Started: \`2026-03-01T12:00:00.000Z\`
- Settled: \`2026-03-01T12:01:00.000Z\`

## Steers

- \`Open lib/auth.py.\`: confirmed, the model answered after it (seen in the agent’s own log)

## Transcript

`)
})

test('text with fences and HTML of its own stays inside its fence', () => {
  const entry: TranscriptEntry = {
    n: 1,
    at: at(5),
    attempt: 1,
    kind: 'text',
    text: '```js\nx\n```\n````\n<img src=x onerror=alert(1)>\x1b[31m',
  }
  expect(entryMarkdown(entry)).toBe(
    '**Agent** · 2026-03-01T12:00:05.000Z\n\n`````text\n```js\nx\n```\n````\n<img src=x onerror=alert(1)>\n`````\n',
  )
})

test('a report that followed our own request to end is no failure', () => {
  const entry: TranscriptEntry = { n: 3, at: at(30), attempt: 1, kind: 'report', ok: false, summary: 'I stop here.' }
  const asked = (cause: 'stop' | 'interrupt') => {
    const endRequest = { cause, reason: 'by you', by: { kind: 'person' }, at: at(20) } as const
    return entryMarkdown(entry, child({ phase: 'INTERRUPTED', attempts: [attempt({ endRequest })] }))
  }
  expect([asked('stop'), asked('interrupt')].map((text) => text.split(' · ')[0])).toEqual(['**Stopped**', '**Paused**'])
  expect(entryMarkdown(entry, child())).toContain('**Reports failure**')
})
