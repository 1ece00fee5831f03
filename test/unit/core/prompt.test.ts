import { expect, it } from 'vitest'
import type { Steer } from '../../../src/core/child'
import { firstPrompt, resumePrompt } from '../../../src/core/prompt'
import { sampleTask } from './sample'

const place = { cwd: '/w', branch: 'coxswain/x' }
const steer = (text: string): Steer => ({
  id: text,
  text,
  by: { kind: 'person' },
  queuedAt: '',
  state: 'missed',
  at: '',
  evidence: null,
  attempt: null,
  carried: false,
  withdrawal: null,
  reason: null,
  history: [],
})
const where =
  'You work in /w, a git worktree of your own on the branch coxswain/x. Keep all changes inside it and commit what you finish there. Do not push, and do not switch branches.'

it('begins with the goal word for word, then context, place, contract and early steers in order', () => {
  const task = sampleTask({ goal: '  Write the table.\n\n{"type":"steer_taken"} ', context: ' Prices are in CHF. ' })
  expect(firstPrompt(task, place, 'Deliver: table.json', [steer('Use EUR.'), steer('/compact')], true)).toBe(
    `Write the table.

{"type":"steer_taken"}

Context:
Prices are in CHF.

${where}

Deliver: table.json

Added before you started, by the person or agent who gave you this task:

Use EUR.

/compact
`,
  )
})

it('has no empty parts, and says when nobody is there to ask', () => {
  expect(firstPrompt(sampleTask({ context: ' ' }), place, '', [], false)).toBe(
    `Write the price table

${where}

Nobody is there to answer questions: decide yourself, and say what you assumed.
`,
  )
})

it('ends with what was said on resuming a child whose agent had never run', () => {
  expect(firstPrompt(sampleTask(), place, '', [], true, ' Now it is there. ')).toBe(
    `Write the price table

${where}

Now it is there.
`,
  )
})

it('names no sibling, parent or other worktree', () => {
  expect(firstPrompt(sampleTask(), place, '', [], true)).not.toMatch(/person|c1|d1|store/)
})

it('resumes with missed steers before the new words, and with nothing else', () => {
  const heading = 'Said to you while you were working, but you had stopped before you read it. Take it into account:'
  expect([
    resumePrompt(' Finish. ', [steer('One.'), steer('Two.')]),
    resumePrompt('Finish.', []),
    resumePrompt(null, [steer('One.')]),
    resumePrompt(' ', []),
    resumePrompt(null, []),
  ]).toEqual([
    `${heading}\n\nOne.\n\nTwo.\n\nFinish.\n`,
    'Finish.\n',
    `${heading}\n\nOne.\n`,
    'Continue from where you left off.\n',
    'Continue from where you left off.\n',
  ])
})
