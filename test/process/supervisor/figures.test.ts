// Figures about steers, pauses and ends, measured with real children. The short form runs in CI; the long one, `npm run
// test:figures`, prints what it measured.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { isRefusal } from '../../../src/supervisor/commands'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import { isOver } from '../../../src/supervisor/waiting'
import { eventually, Stage } from './stage'

const ends = Number(process.env['COXSWAIN_ENDS'] ?? '25')
const pauses = Number(process.env['COXSWAIN_PAUSES'] ?? '10')
const steps = Number(process.env['COXSWAIN_STEPS'] ?? '25')
const long = 60 * 60_000

let stage: Stage
afterEach(() => stage.clear())

const prelude = `
  import { appendFileSync, existsSync, readFileSync, rmSync, openSync, writeFileSync } from 'node:fs'
  const { COXSWAIN_CONTROL_DIR: control, COXSWAIN_CHILD_ID: me, COXSWAIN_ATTEMPT: attempt } = process.env
  const say = (line) => console.log(JSON.stringify(line))
  const note = (name, line) => appendFileSync(ROOT + '/' + name + '-' + me, line + '\\n')
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  let seen = 0
  const takeSteers = () => {
    let lines = []
    try { lines = readFileSync(control + '/prompt-queue.jsonl', 'utf8').split('\\n').slice(0, -1) } catch {}
    const ids = lines.slice(seen).map((line) => JSON.parse(line).id)
    seen = lines.length
    for (const id of ids) say({ type: 'steer_taken', id })
    return ids
  }
`

async function withKid(program: string): Promise<Coxswain> {
  const file = stage.agents(`${prelude.replaceAll('ROOT', JSON.stringify(stage.root))}\n${program}`)
  const agents = JSON.parse(readFileSync(file, 'utf8'))
  return await stage.coxswain({ role: 'run', set: { agents, maxChildrenTotal: 8, childTimeoutSeconds: 0 } })
}

async function spawn({ commands }: Coxswain): Promise<string> {
  const answer = await commands.spawn({ tasks: [{ goal: 'x', agent: 'kid' }] })
  if (isRefusal(answer)) throw new Error(answer.error.message)
  return answer.subagent_ids[0] ?? ''
}

const noted = (name: string, id: string): string[] => {
  const path = join(stage.root, `${name}-${id}`)
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
}

it(
  `a steer accepted in the instant of the end is delivered or missed, never lost, in ${ends} ends`,
  async () => {
    stage = Stage.make()
    // Reads its queue a last time some moments before, or right at, its end.
    const coxswain = await withKid(`
      say({ type: 'ready' })
      const read = (ids) => ids.forEach((id) => note('read', id))
      for (let n = 0; n < 3; n++) { await pause(15); read(takeSteers()); say({ type: 'text', text: 'step ' + n }) }
      await pause(Math.random() * 20)
      if (Math.random() < 0.5) read(takeSteers())
      say({ type: 'result', ok: true, summary: 'done' })
      if (Math.random() < 0.3) read(takeSteers())`)
    let [accepted, delivered, missed] = [0, 0, 0]
    const trial = async (): Promise<void> => {
      const id = await spawn(coxswain)
      const mine: string[] = []
      for (;;) {
        const answer = await coxswain.commands.steer({ subagent_id: id, message: 'Open lib/auth.py.' })
        if (!isRefusal(answer)) mine.push(answer.steer_id)
        else if (isOver(coxswain.view.get(id)?.child)) break
        await new Promise((resolve) => setTimeout(resolve, 4))
      }
      const child = coxswain.view.get(id)?.child
      if (child === undefined) throw new Error(`${id} is not in view`)
      const state = (of: string) => child.steers.find((steer) => steer.id === of)?.state
      const got = mine.filter((steer) => state(steer) === 'delivered' || state(steer) === 'confirmed')
      const lost = mine.filter((steer) => state(steer) === 'missed')
      const result = JSON.parse(readFileSync(stage.paths.child(id).result(1), 'utf8'))
      expect([id, got.length + lost.length, child.steers.length]).toEqual([id, mine.length, mine.length])
      // What is said to be delivered was read, by the child and once; what it read is not said to be missed. What it had
      // in its first prompt it need not read.
      const read = noted('read', id)
      const carried = child.steers.filter((steer) => steer.carried).map((steer) => steer.id)
      expect([id, got.filter((steer) => !carried.includes(steer))]).toEqual([id, read])
      expect([id, result.missed_steers.map((steer: { steer_id: string }) => steer.steer_id)]).toEqual([id, lost])
      accepted += mine.length
      delivered += got.length
      missed += lost.length
    }
    let left = ends
    const worker = async (): Promise<void> => {
      while (left-- > 0) await trial()
    }
    await Promise.all([worker(), worker(), worker()])
    expect(delivered + missed).toBe(accepted)
    expect(missed).toBeGreaterThan(0)
    console.log(`${ends} ends: ${accepted} steers accepted, ${delivered} delivered, ${missed} missed, 0 lost`)
  },
  long,
)

it(
  `${pauses} pauses and resumes of one child: one completion, and never two processes`,
  async () => {
    stage = Stage.make()
    // Whoever finds another at work says so.
    const coxswain = await withKid(
      `
      const lock = ROOT_LOCK + me
      try { openSync(lock, 'wx') } catch { note('two', attempt) }
      process.on('SIGTERM', () => { rmSync(lock, { force: true }); process.exit(0) })
      process.on('SIGINT', () => { rmSync(lock, { force: true }); process.exit(0) })
      note('starts', attempt)
      say({ type: 'ready' })
      say({ type: 'text', text: 'attempt ' + attempt })
      while (!existsSync(ROOT_GO)) await pause(5)
      say({ type: 'result', ok: true, summary: 'done' })
      rmSync(lock, { force: true })`
        .replace('ROOT_LOCK', JSON.stringify(join(stage.root, 'lock-')))
        .replace('ROOT_GO', JSON.stringify(stage.latch('go'))),
    )
    const id = await spawn(coxswain)
    for (let n = 1; n <= pauses; n++) {
      await eventually(() => noted('starts', id).length === n, `attempt ${n} works`)
      expect(await coxswain.commands.interrupt({ subagent_id: id, reason: `${n}` })).toMatchObject({
        status: 'interrupt_requested',
      })
      await stage.until(id, 'paused', (child) => child.paused)
      expect(await coxswain.commands.resume({ subagent_id: id })).toMatchObject({ status: 'resuming' })
    }
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, child.round, child.attempts.length]).toEqual(['SUCCESS', 1, pauses + 1])
    expect(noted('starts', id)).toEqual(Array.from({ length: pauses + 1 }, (_, n) => String(n + 1)))
    expect(noted('two', id)).toEqual([])
    expect(stage.events(id).filter(({ type }) => type === 'completionSent')).toHaveLength(1)
    expect((await coxswain.completions({ kind: 'person' })).map(({ subagents }) => subagents.length)).toEqual([1])
    await stage.untilNothingRuns()
    console.log(`${pauses} pauses and resumes: 1 completion, 0 times two processes`)
  },
  long,
)

it(
  `a steer that is with a cooperative child before a step ends reaches its very next step, in ${steps} of ${steps}`,
  async () => {
    stage = Stage.make()
    // A step is a tool call; the queue is read between steps.
    const coxswain = await withKid(`
      say({ type: 'ready' })
      for (let n = 1; n <= ${steps}; n++) {
        say({ type: 'tool_started', id: String(n), name: 'run', input: { n } })
        note('steps', n)
        while (!existsSync(${JSON.stringify(stage.latch(''))} + n)) await pause(5)
        say({ type: 'tool_ended', id: String(n), output: '' })
        for (const id of takeSteers()) note('reached', id + ' after ' + n)
        say({ type: 'text', text: 'step ' + n })
      }
      say({ type: 'result', ok: true, summary: 'done' })`)
    const id = await spawn(coxswain)
    const expected: string[] = []
    for (let n = 1; n <= steps; n++) {
      await eventually(() => noted('steps', id).length === n, `step ${n} is under way`)
      const answer = await coxswain.commands.steer({ subagent_id: id, message: `At ${n}: open lib/auth.py.` })
      if (isRefusal(answer)) throw new Error(answer.error.message)
      const { steer_id: steerId } = answer
      expected.push(`${steerId} after ${n}`)
      await stage.until(id, 'with the agent', ({ steers }) => steers.find((s) => s.id === steerId)?.state === 'sent')
      stage.open(String(n))
    }
    const child = await stage.settled(id)
    expect(noted('reached', id)).toEqual(expected)
    expect(child.steers.map(({ state }) => state)).toEqual(Array(steps).fill('confirmed'))
    console.log(`${steps} steers: ${noted('reached', id).length} reached the very next step`)
  },
  long,
)
