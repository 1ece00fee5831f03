import { writeFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { listEntry } from '../../../src/supervisor/payloads'
import { bundleOwners, Owner, ownerOptions, type Bundles } from './owners'
import { eventually, Stage } from './stage'

let bundles: Bundles
let stage: Stage
let owner: Owner
beforeAll(async () => {
  bundles = await bundleOwners()
})
afterAll(() => bundles.clear())
afterEach(async () => {
  await owner.kill()
  await stage.clear()
})

const hours = 3_600_000

it('a host that froze while its wall clock jumped ends nothing, starts nothing, and counts no time backwards', async () => {
  stage = Stage.make()
  const program = stage.file(
    `import { existsSync } from 'node:fs'
    const say = (line) => console.log(JSON.stringify(line))
    say({ type: 'ready', session_id: 's' })
    if (process.argv[2] === 'asks') say({ type: 'asked', id: 'q', tool: 'Bash', input: {} })
    const timer = setInterval(() => {
      say({ type: 'text', text: 'tick' })
      if (!existsSync(${JSON.stringify(stage.latch('end'))})) return
      clearInterval(timer)
      say({ type: 'result', ok: true, summary: 'done' })
    }, 50)`,
    'kid.mjs',
  )
  const kid = (role: string) => ({ kind: 'commandLine', command: [process.execPath, program, role], protocol: 'lines' })
  const set = {
    agents: { works: kid('works'), asks: kid('asks') },
    childTimeoutSeconds: 3_600,
    approvalTimeoutSeconds: 3_600,
    afterWindowCloses: 'pause',
    reloadLeaseSeconds: 3_600,
  }
  const clock = stage.file('0', 'clock')
  owner = new Owner(bundles, stage, ownerOptions(stage, set), { CLOCK_FILE: clock })
  const jump = async (ms: number): Promise<void> => {
    // As a machine that sleeps does it: frozen first, another time after.
    owner.signal('SIGSTOP')
    writeFileSync(clock, String(ms))
    owner.signal('SIGUSR2')
    owner.signal('SIGCONT')
    const before = await Promise.all(ids.map(async (id) => stage.said(id).length))
    await eventually(() => ids.every((id, i) => stage.said(id).length > (before[i] ?? 0) + 2), 'all go on')
  }
  const ids: string[] = []
  for (const agent of ['works', 'asks']) {
    const answer = await owner.ask('spawn', { tasks: [{ goal: 'Tick.', agent }] })
    ids.push(answer.subagent_ids[0])
  }
  await eventually(() => ids.every((id) => stage.said(id).length > 2), 'both work')
  for (const ms of [8 * hours, -1 * hours, 0, -24 * hours]) {
    await jump(ms)
    for (const id of ids) {
      const child = await stage.child(id)
      const { phase, attempts, conditions } = child
      expect([phase, attempts.length, attempts[0]?.endRequest, conditions]).toEqual(['RUNNING', 1, null, {}])
      expect(listEntry(child, null, new Date(Date.now() + ms)).running_seconds).toBeGreaterThanOrEqual(0)
    }
  }
  // The jumps were seen: what it wrote bears their dates.
  expect(new Set(ids.flatMap((id) => stage.transcript(id).map(({ at }) => at.slice(0, 10)))).size).toBeGreaterThan(1)
  stage.open('end')
  for (const id of ids) {
    const child = await stage.settled(id)
    expect([child.phase, child.attempts.length]).toEqual(['SUCCESS', 1])
    const { durationMs = -1 } = child.attempts[0]?.exit ?? {}
    expect(durationMs).toBeGreaterThan(0)
    expect(durationMs).toBeLessThan(10 * 60_000)
    const result = await stage.json('result', id)
    expect(result.duration_s).toBeGreaterThan(0)
  }
  expect(owner.errors).toEqual([])
  console.log('wall clock +8 h, -1 h, -24 h while frozen: 0 kills, 0 negative durations')
})
