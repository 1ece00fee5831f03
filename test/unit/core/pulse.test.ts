import { expect, it } from 'vitest'
import { hear } from '../../../src/core/hear'
import { beat, resting, type Pulse } from '../../../src/core/pulse'
import { fold } from '../../../src/core/reduce'
import type { AgentSignal } from '../../../src/core/signals'
import { accepted, alphabet, events, sampleTask } from './sample'

const text: AgentSignal = { kind: 'text', text: 'x' }
const starts = (id: string, subagent?: string): AgentSignal => ({
  kind: 'toolStarted',
  id,
  name: 'Bash',
  input: {},
  ...(subagent === undefined ? {} : { subagent }),
})
const ends = (id: string): AgentSignal => ({ kind: 'toolEnded', id, output: '', isError: false })

it('knows which tools run, however their ends are ordered', () => {
  const running = (...signals: AgentSignal[]): string[] => [
    ...signals.reduce<Pulse>((pulse, signal) => beat(pulse, signal), resting).toolsInFlight,
  ]
  expect(running(starts('a'), starts('b'))).toEqual(['a', 'b'])
  expect(running(starts('a'), starts('b'), ends('a'))).toEqual(['b'])
  expect(running(starts('a'), ends('never started'))).toEqual(['a'])
  expect(running(starts('a'), { kind: 'result', ok: true })).toEqual([])
})

it('counts a turn for what a model says after it has read something, whatever it calls in it', () => {
  const task = sampleTask()
  const limited = { ...task, limits: { ...task.limits, maxTurns: 9 } }
  const child = fold(events(accepted(limited), alphabet(1).worktree, alphabet(1).first, alphabet(1).launched))
  if (child === undefined) throw new Error('no child')
  const turns = (...signals: AgentSignal[]): number =>
    hear(child, 1, signals, 'stdout').facts.filter(({ type }) => type === 'turnsTaken').length
  expect(turns(text, text, starts('a'), starts('b'), ends('a'), ends('b'), text)).toBe(2)
  expect(turns(text, starts('a'), starts('s', 'helper'), ends('a'), starts('t', 'helper'), ends('t'), text)).toBe(2)
  expect(turns(text, { kind: 'result', ok: true }, text)).toBe(2)
})
