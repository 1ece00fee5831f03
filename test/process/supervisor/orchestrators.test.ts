import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Caller } from '../../../src/core/ownership'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import { eventually, kill, script, Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

const switched = { orchestratorEnabled: true, maxSpawnDepth: 2, maxChildrenTotal: 9 }
const as = (child: string): Caller => ({ kind: 'parent', session: `child:${child}`, child })

async function spawned(coxswain: Coxswain, task: { goal: string; [key: string]: unknown }): Promise<string> {
  const answer = await coxswain.commands.spawn({ tasks: [task] })
  if ('error' in answer) throw new Error(answer.error.message)
  return answer.subagent_ids[0] as string
}

const refused = (answer: object): unknown =>
  'error' in answer ? (answer.error as { message: string }).message : answer

describe('an orchestrator', () => {
  it('dispatches through the command line as itself; its children begin at its own last commit', async () => {
    stage = Stage.make()
    writeFileSync(
      join(stage.data, 'settings.json'),
      JSON.stringify({ ...switched, 'coxswain.maxChildrenPerParent': 2 }),
    )
    const agents = stage.agents(`
      import { execFileSync } from 'node:child_process'
      import { readFileSync, writeFileSync } from 'node:fs'
      const run = (file, ...args) => execFileSync(file, args, { encoding: 'utf8' })
      const say = (line) => console.log(JSON.stringify(line))
      if (process.env.COXSWAIN_RESUME) {
        say({ type: 'result', ok: true, summary: 'heard' })
        process.exit(0)
      }
      writeFileSync('plan.md', 'a plan')
      run('git', 'add', '.')
      run('git', 'commit', '-qm', 'A plan')
      const cli = process.env.COXSWAIN_CLI
      const task = JSON.stringify({ tasks: [{ goal: ${JSON.stringify(script(stage.waits('go'), { say: 'one' }, { commit: 'Below' }))}, agent: 'demo' }] })
      writeFileSync(process.env.COXSWAIN_CONTROL_DIR + '/task.json', task)
      const handle = JSON.parse(run(cli, 'run', '--task', process.env.COXSWAIN_CONTROL_DIR + '/task.json', '--detach', '--json'))
      say({ type: 'text', text: handle.subagent_ids[0] })
      say({ type: 'text', text: JSON.stringify(JSON.parse(run(cli, 'list', '--json')).subagents.map((s) => s.subagent_id)) })
      say({ type: 'text', text: readFileSync(process.env.COXSWAIN_PROMPT_FILE, 'utf8').includes('delegate_task') })
      say({ type: 'result', ok: true, summary: 'handed out' })`)
    const top = await stage.detached(
      { goal: 'Plan and hand out.', agent: 'kid', role: 'orchestrator' },
      '--agents',
      agents,
    )
    await stage.until(top, 'waiting for its children', ({ delegating }) => delegating)
    const [below = '', seen] = stage.said(top)
    stage.open('go')
    const child = await stage.settled(below)
    expect([child.parentChild, child.parentSession, child.task.role, child.phase]).toEqual([
      top,
      `child:${top}`,
      'leaf',
      'SUCCESS',
    ])
    expect(JSON.parse(seen ?? '')).toEqual([below])
    expect(
      stage
        .git('log', '--format=%s', child.worktree?.branch ?? '')
        .split('\n')
        .slice(-2),
    ).toEqual(['A plan', 'First'])
  })

  it('controls its own tree and nothing else; whoever stands above controls both', async () => {
    stage = Stage.make()
    const person = await stage.coxswain({ set: switched })
    const top = await spawned(person, { goal: script(stage.waits('end')), role: 'orchestrator', title: 'Top' })
    const beside = await spawned(person, { goal: script(stage.waits('end')), title: 'Beside' })
    const outside = await stage.coxswain({ set: switched, as: { kind: 'parent', session: 'outside' }, role: 'command' })
    const its = await stage.coxswain({ set: switched, as: as(top), role: 'command' })
    await stage.until(top, 'at work', ({ phase }) => phase === 'RUNNING')
    const below = await spawned(its, { goal: script(stage.waits('end')), title: 'Below' })
    await stage.until(below, 'at work', ({ phase }) => phase === 'RUNNING')
    const lateral = await stage.coxswain({ set: switched, as: as(beside), role: 'command' })
    const unknown = "There is no such subagent in this conversation's spawn tree. Use list for the ids that are yours."
    const steer = (by: Coxswain, id: string) => by.commands.steer({ subagent_id: id, message: 'Mind the tide.' })
    expect(refused(await steer(lateral, below))).toBe(unknown)
    expect(refused(await steer(outside, below))).toBe(unknown)
    expect(refused(await steer(its, beside))).toBe(unknown)
    expect(refused(await steer(its, top))).toBe(unknown)
    expect(await steer(its, below)).toMatchObject({ status: 'queued' })
    expect(await steer(person, below)).toMatchObject({ status: 'queued' })
    // Its merging stays in its own worktree.
    expect(refused(await its.commands.apply({ subagent_id: below }))).toMatch(/^Only a person applies work/)
    for (const id of [top, beside, below])
      expect(await person.commands.stop({ subagent_id: id })).toMatchObject({ action: 'stop' })
    await Promise.all([top, beside, below].map((id) => stage.settled(id)))
    await stage.untilNothingRuns()
  })

  it('may deny what its child asks leave for, and never allow it', async () => {
    stage = Stage.make()
    const person = await stage.coxswain({ set: switched })
    const top = await spawned(person, { goal: script(stage.waits('end')), role: 'orchestrator' })
    await stage.until(top, 'at work', ({ phase }) => phase === 'RUNNING')
    const its = await stage.coxswain({ set: switched, as: as(top), role: 'command' })
    const below = await spawned(its, { goal: script({ ask: { tool: 'Bash', input: { command: 'rm -rf /' } } }) })
    const { requests } = await stage.until(below, 'it asks', (child) => child.requests.length === 1)
    const asked = { subagent_id: below, request_id: requests[0]?.id ?? '' }
    expect(refused(await its.commands.answer({ ...asked, answer: { kind: 'allow', scope: 'once' } }))).toMatch(
      /^Only a person can allow this\./,
    )
    expect(await its.commands.answer({ ...asked, answer: { kind: 'deny', message: 'No.' } })).toMatchObject({
      status: 'done',
    })
    stage.open('end')
    await Promise.all([top, below].map((id) => stage.settled(id)))
  })

  it('goes no deeper than the settings allow, and hands on no more than it has', async () => {
    stage = Stage.make()
    const person = await stage.coxswain({ set: switched })
    const leaf = await spawned(person, { goal: script(stage.waits('end')) })
    const top = await spawned(person, { goal: script(stage.waits('end')), role: 'orchestrator', autonomy: 'edit' })
    await stage.until(top, 'at work', ({ phase }) => phase === 'RUNNING')
    const spawn = async (child: string, task: object, set: object = switched) => {
      const its = await stage.coxswain({ set: { ...set }, as: as(child), role: 'command' })
      return await its.commands.spawn({ tasks: [{ goal: script(stage.waits('end')), ...task }] })
    }
    expect(refused(await spawn(leaf, {}))).toBe(
      'A leaf child may not dispatch children of its own. Do the work yourself.',
    )
    expect(refused(await spawn(top, { autonomy: 'autonomous' }))).toBe(
      'A child\'s autonomy cannot go beyond its parent\'s, which is "edit".',
    )
    expect(await spawn(top, { role: 'orchestrator' })).toMatchObject({
      status: 'dispatched',
      notes: [expect.stringContaining('Nothing may be dispatched below depth 2 (coxswain.maxSpawnDepth)')],
    })
    expect(refused(await spawn('aaaaaaaaaa', {}))).toMatch(/^There is no such subagent/)
    stage.open('end')
    await eventually(() => stage.childProcesses().length === 0, 'all have ended')
  })

  it('is a leaf, and is told so, where orchestrators are switched off', async () => {
    stage = Stage.make()
    const person = await stage.coxswain({ set: { maxSpawnDepth: 2 } })
    const answer = await person.commands.spawn({ tasks: [{ goal: script({ say: 'one' }), role: 'orchestrator' }] })
    expect(answer).toMatchObject({
      notes: [expect.stringContaining('Orchestrators are switched off (coxswain.orchestratorEnabled)')],
    })
    const id = 'error' in answer ? '' : (answer.subagent_ids[0] ?? '')
    const child = await stage.settled(id)
    expect(child.task.role).toBe('leaf')
    expect(readFileSync(stage.paths.child(id).attempt(1).prompt, 'utf8')).not.toContain('delegate_task')
  })
})

describe('an orchestrator between its turns', () => {
  /** Its first turn dispatches children that wait for latches; every later one says what it was told. */
  const dispatching = (...latches: string[]) => `
    import { execFileSync } from 'node:child_process'
    import { readFileSync, writeFileSync } from 'node:fs'
    const say = (line) => console.log(JSON.stringify(line))
    const prompt = readFileSync(process.env.COXSWAIN_PROMPT_FILE, 'utf8')
    say({ type: 'ready', session_id: process.env.COXSWAIN_SESSION_ID })
    if (!process.env.COXSWAIN_RESUME) {
      const tasks = ${JSON.stringify(latches.map((latch) => ({ goal: script(stage.waits(latch), { say: latch }), agent: 'demo', title: latch })))}
      const file = process.env.COXSWAIN_CONTROL_DIR + '/task.json'
      writeFileSync(file, JSON.stringify({ tasks }))
      const out = execFileSync(process.env.COXSWAIN_CLI, ['run', '--task', file, '--detach', '--json'], { encoding: 'utf8' })
      say({ type: 'text', text: JSON.parse(out).subagent_ids.join(' ') })
    } else say({ type: 'text', text: prompt })
    say({ type: 'result', ok: true, summary: process.env.COXSWAIN_RESUME ? 'heard' : 'handed out' })`

  async function dispatched(...latches: string[]): Promise<{ top: string; below: string[] }> {
    stage.file(JSON.stringify(switched), 'd/settings.json')
    const agents = stage.agents(dispatching(...latches))
    const top = await stage.detached({ goal: 'Hand out.', agent: 'kid', role: 'orchestrator' }, '--agents', agents)
    await stage.until(top, 'waiting for its children', ({ delegating }) => delegating)
    return { top, below: (stage.said(top)[0] ?? '').split(' ') }
  }

  it('has one round, and hears once of all it handed out, as its next turn', async () => {
    stage = Stage.make()
    const { top, below } = await dispatched('one', 'two')
    const [row] = (await stage.json('list')).subagents.filter(
      (entry: { subagent_id: string }) => entry.subagent_id === top,
    )
    expect([row.phase, row.condition, row.accepting_steer]).toEqual(['RUNNING', 'waiting for its children', true])
    expect((await stage.json('result', top)).ready).toBe(false)
    stage.open('one')
    await stage.settled(below[0] ?? '')
    expect((await stage.child(top)).attempts).toHaveLength(1)
    stage.open('two')
    const child = await stage.settled(top)
    expect([child.phase, child.round, child.attempts.map(({ reason }) => reason)]).toEqual([
      'SUCCESS',
      1,
      ['first', 'wake'],
    ])
    const [, heard = ''] = stage.said(top)
    for (const id of below) expect(heard.split(`| ${id} |`)).toHaveLength(2)
    expect(heard).toMatch(/SUCCESS \\(claimed\\) \\| not checked/)
    const acknowledged = await Promise.all(
      below.map(async (id) => (await stage.child(id)).completions[0]?.acknowledged),
    )
    expect(acknowledged).toEqual([true, true])
    await stage.untilNothingRuns()
  })

  it('reads a steer as its next turn, and goes on waiting after it', async () => {
    stage = Stage.make()
    const { top } = await dispatched('one')
    await stage.json('steer', top, 'Mind the tide.')
    const steered = await stage.until(
      top,
      'waiting again',
      ({ delegating, attempts }) => delegating && attempts.length === 2,
    )
    expect(steered.steers.map(({ state }) => state)).toEqual(['confirmed'])
    expect(stage.said(top)[1]).toContain('Mind the tide.')
    stage.open('one')
    expect((await stage.settled(top)).attempts).toHaveLength(3)
  })

  it('is called off while it waits; its children go on and stay its own', async () => {
    stage = Stage.make()
    const { top, below } = await dispatched('one')
    await stage.json('stop', top)
    expect((await stage.settled(top)).phase).toBe('CANCELLED')
    stage.open('one')
    expect(await stage.settled(below[0] ?? '')).toMatchObject({ phase: 'SUCCESS', parentChild: top })
    expect((await stage.child(top)).attempts).toHaveLength(1)
  })

  it('is woken by whoever owns the store when the owner that saw it wait is dead', async () => {
    stage = Stage.make()
    const { top, below } = await dispatched('one')
    kill((await stage.owner())?.process.pid ?? 0, 'SIGKILL')
    stage.open('one')
    // Any command that acts brings a new owner.
    await stage.cli('stop', 'aaaaaaaaaa')
    const child = await stage.settled(top)
    expect([child.phase, child.attempts.length]).toEqual(['SUCCESS', 2])
    expect(stage.said(top)[1]).toContain(below[0])
  })

  it('is not woken beyond its spend ceiling: its round ends, its children go on, and a resume has it hear of them', async () => {
    stage = Stage.make()
    stage.file(JSON.stringify(switched), 'd/settings.json')
    const usage = `console.log(JSON.stringify({ type: 'usage', input_tokens: process.env.COXSWAIN_RESUME ? 1 : 100 }))`
    const agents = stage.agents(dispatching('one').replace("say({ type: 'result'", `${usage}; say({ type: 'result'`))
    const task = { goal: 'Hand out.', agent: 'kid', role: 'orchestrator', limits: { max_tokens: 100 } }
    const top = await stage.detached(task, '--agents', agents)
    const spent = await stage.settled(top)
    expect([spent.phase, spent.attempts.length]).toEqual(['SUCCESS', 1])
    const told = stage.transcript(top).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []))
    expect(told.filter((text) => text.startsWith('It is not woken'))).toEqual([
      expect.stringContaining('it used 100 tokens of max_tokens = 100'),
    ])
    const [below = ''] = (stage.said(top)[0] ?? '').split(' ')
    stage.open('one')
    expect((await stage.settled(below)).phase).toBe('SUCCESS')
    expect((await stage.child(top)).attempts).toHaveLength(1)
    await stage.json('resume', top, 'Go on.')
    await stage.until(top, 'round 2', ({ completions }) => completions.length === 2)
    expect((await stage.child(top)).attempts.map(({ reason }) => reason)).toEqual(['first', 'resume', 'wake'])
    expect(stage.said(top).at(-1)).toContain(`| ${below} |`)
  })
})
