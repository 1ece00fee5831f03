import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { eventually, script, Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

/** The same log as if all of it had happened so many days earlier. */
function age(id: string, days: number): void {
  const { events } = stage.paths.child(id)
  const earlier = (at: string): string => new Date(Date.parse(at) - days * 86_400_000).toISOString()
  const text = readFileSync(events, 'utf8')
  writeFileSync(
    events,
    text.replace(/"at":"([^"]+)"/g, (_, at: string) => `"at":"${earlier(at)}"`),
  )
}

it('what finished children left goes with their age: never worktree, branch or record; the result then is unknown', async () => {
  stage = Stage.make()
  const [old = '', young = '', paused = ''] = await Promise.all([
    stage.detached({ goal: script({ write: { path: 'x.md', text: 'x' } }, { commit: 'Add x' }), title: 'Old' }),
    stage.detached({ goal: script({ say: 'one' }), title: 'Young' }),
    stage.detached({ goal: script({ say: 'one' }, { hang: true }), title: 'Paused' }),
  ])
  await Promise.all([old, young].map((id) => stage.settled(id)))
  await eventually(() => stage.said(paused).includes('one'), 'the third works')
  await stage.json('interrupt', paused)
  await stage.until(paused, 'paused', (child) => child.paused)
  await eventually(
    async () => !stage.ps().some(({ command }) => command.includes('supervise')),
    'nobody owns the store',
  )
  age(old, 15)
  age(young, 13)
  age(paused, 15)
  const before = stage.left()
  const branches = stage.git('log', '--all', '--format=%s')

  // Nobody who was not told how long removes anything.
  await stage.json('doctor')
  expect(existsSync(stage.paths.child(old).result(1))).toBe(true)

  const window = await stage.coxswain({ role: 'window', set: { keepFinishedDays: 14 } })
  await window.tryOwn()
  await stage.until(old, 'expired', (child) => child.expiredAt !== null)
  expect(readdirSync(stage.paths.child(old).folder)).toEqual(['events.jsonl'])
  expect([stage.left(), stage.git('log', '--all', '--format=%s')]).toEqual([before, branches])
  for (const id of [young, paused]) expect((await stage.child(id)).expiredAt).toBe(null)
  expect(existsSync(stage.paths.child(young).result(1))).toBe(true)
  expect(existsSync(stage.paths.child(paused).transcript)).toBe(true)
  expect(readFileSync(stage.paths.audit, 'utf8')).toContain(`"child":"${old}","days":14`)

  const result = await stage.json('result', old)
  expect([result.phase, result.title, result.failure]).toEqual([
    'UNKNOWN',
    'Old',
    'The result of this round is not in the store any more. Results are kept for as long as coxswain.keepFinishedDays says; its worktree and branch are not removed.',
  ])
  expect((await stage.json('result', young)).phase).toBe('SUCCESS')
  window.dispose()
  await window.closed()
  expect((await stage.json('doctor')).expired).toBe(1)
  expect((await stage.child(old)).misfits).toBe(0)

  // It can still be gone on with: its worktree and its session are there.
  const answer = await stage.json('resume', old, script({ say: 'again' }))
  expect(answer.status).toBe('resuming')
  const again = await stage.until(old, 'round 2', ({ completions }) => completions.length === 2)
  expect([again.phase, again.expiredAt, stage.said(old).at(-1)]).toEqual(['SUCCESS', null, 'again'])
})
