import { afterEach, expect, it } from 'vitest'
import { currentAttempt } from '../../../src/core/child'
import { eventually, kill, script, Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

/** A keeper is given ten seconds to answer, or five and five again by a new owner; then the ladder takes its time. */
const patientMs = 40_000

async function frozen(): Promise<string> {
  const id = await stage.detached(script({ say: 'one' }, { hang: 'deaf' }))
  await eventually(() => stage.said(id).includes('one'), 'the child works')
  const attempt = currentAttempt(await stage.child(id))
  kill(attempt?.keeper?.pid ?? 0, 'SIGSTOP')
  return id
}

async function endedWithoutIt(id: string): Promise<void> {
  const child = await stage.until(id, 'settled', ({ completions }) => completions.length === 1, patientMs)
  const attempt = currentAttempt(child)
  expect([child.phase, attempt?.ended, attempt?.exit]).toEqual(['CANCELLED', 'CANCELLED', null])
  expect(attempt?.vanished).toMatch(/^Its keeper is gone without a record of the end\. \d of its processes still ran/)
  const told = stage.transcript(id).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []))
  expect(told.filter((text) => text.startsWith('Its keeper does not answer. The keeper was killed'))).toHaveLength(1)
  expect(stage.childProcesses()).toEqual([])
}

it('a stop goes on without a keeper that does not answer, ends the whole group, and says so', async () => {
  stage = Stage.make()
  const id = await frozen()
  expect((await stage.json('stop', id)).status).toBe('interrupt_requested')
  await endedWithoutIt(id)
})

it('so it does under a new owner that never reached the keeper', async () => {
  stage = Stage.make()
  const id = await frozen()
  const owner = await stage.owner()
  kill(owner?.process.pid ?? 0, 'SIGKILL')
  await eventually(() => !stage.ps().some(({ pid }) => pid === owner?.process.pid), 'the owner is dead')
  expect((await stage.json('stop', id)).status).toBe('interrupt_requested')
  await endedWithoutIt(id)
})
