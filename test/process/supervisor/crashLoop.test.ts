import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

it('a child that ends at once five times is parked with the reason, and only a person goes on with it', async () => {
  stage = Stage.make()
  const starts = join(stage.root, 'starts')
  const agents = stage.agents(`
    import { appendFileSync } from 'node:fs'
    appendFileSync(${JSON.stringify(starts)}, 'x')
    console.log(JSON.stringify({ type: 'ready', session_id: 's' }))
    console.log(JSON.stringify({ type: 'result', ok: true, summary: 'done', output: { artifacts: {}, summary: 'done' } }))`)
  const contract = { checks: [{ file_exists: { path: 'never.txt' } }], maxRetries: 9 }
  const id = await stage.detached({ goal: 'Crash.', agent: 'kid', contract }, '--agents', agents)
  const child = await stage.until(id, 'settled', ({ completions }) => completions.length === 1, 60_000)
  expect([child.attempts.length, child.parked]).toEqual([5, 'it ended at once five times within ten seconds'])
  expect(child.attempts.map(({ reason }) => reason)).toEqual(['first', 'retry', 'retry', 'retry', 'retry'])
  expect(readFileSync(starts, 'utf8')).toBe('xxxxx')
  const told = stage.transcript(id).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []))
  expect(told).toContain('Not asked again: it ended at once five times within ten seconds. Resume it to go on.')
  await stage.untilNothingRuns()
  await stage.json('resume', id, 'Once more.')
  const after = await stage.until(id, 'round 2', ({ completions }) => completions.length === 2, 60_000)
  expect(after.attempts[5]?.reason).toBe('resume')
  console.log(`crash loop: ${child.attempts.length} starts in the first round, 0 after it was parked`)
})
