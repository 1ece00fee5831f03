// What the peers' suites hold a delegation tool to, with a real MCP client, a real server process and real children.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { isRunning } from '../../../src/process/identity'
import { deafScript, dist, eventually, kill, plain, script, Stage } from '../supervisor/stage'
import { Parent } from './client'

let stage: Stage
const parents: Parent[] = []
afterEach(async () => {
  await Promise.all(parents.splice(0).map((parent) => parent.close()))
  await stage.clear()
})

async function connect(...given: Parameters<typeof Parent.connect> extends [Stage, ...infer R] ? R : never) {
  const parent = await Parent.connect(stage, ...given)
  parents.push(parent)
  return parent
}

const gone = {
  error: {
    code: 'unknown_child',
    message: "There is no such subagent in this conversation's spawn tree. Use list for the ids that are yours.",
  },
}

describe('dispatch', () => {
  it('answers the handle before any process exists, and every id in it can be used at once', async () => {
    stage = Stage.make()
    const parent = await connect()
    const { answer, refused } = await parent.call({
      tasks: [{ goal: script(stage.waits('go'), { say: 'on' }) }, { goal: script({ say: 'two' }, stage.waits('go')) }],
    })
    const [one, two] = answer.subagent_ids as [string, string]
    expect(refused).toBe(false)
    expect(plain(answer, stage, { [one]: 'ONE', [two]: 'TWO', [answer.delegation_id]: 'DELEGATION' })).toEqual({
      status: 'dispatched',
      mode: 'background',
      count: 2,
      delegation_id: 'DELEGATION',
      goals: [expect.any(String), expect.any(String)],
      subagent_ids: ['ONE', 'TWO'],
      control_hint: expect.stringContaining('end your turn'),
      live_transcripts: ['ROOT/d/STORE/children/ONE/task-0.log', 'ROOT/d/STORE/children/TWO/task-1.log'],
    })
    for (const path of answer.live_transcripts) expect(existsSync(path)).toBe(true)
    expect((await parent.ids()).sort()).toEqual([one, two].sort())
    expect((await parent.call({ action: ' Steer ', subagent_id: one, message: 'Open b.js.' })).answer).toMatchObject({
      action: 'steer',
      status: 'queued',
      subagent_id: one,
    })
    stage.open('go')
    await Promise.all([stage.settled(one), stage.settled(two)])
    expect((await stage.child(one)).steers[0]?.state).toMatch(/delivered|confirmed/)
    expect((await stage.child(one)).parentSession).toMatch(/^mcp:[0-9a-f]{32}$/)
  })

  it('lists own children with the keys of the contract, and an empty list says why that is no reason to respawn', async () => {
    stage = Stage.make()
    const parent = await connect()
    expect((await parent.call({ action: 'LIST' })).answer).toEqual({
      action: 'list',
      count: 0,
      subagents: [],
      note: expect.stringContaining('Do not respawn because this list is empty'),
    })
    const id = await parent.spawn(script(stage.waits('go')))
    const { answer } = await parent.call({ action: 'list' })
    expect(Object.keys(answer.subagents[0]).sort()).toEqual(
      [
        ...['subagent_id', 'parent_id', 'title', 'goal', 'agent', 'model', 'status', 'phase', 'condition'],
        ...['running_seconds', 'accepting_steer', 'steer_mode', 'needs', 'last_activity', 'live_transcript'],
      ].sort(),
    )
    expect(answer.subagents[0]).toMatchObject({ subagent_id: id, parent_id: null, accepting_steer: true })
    stage.open('go')
    await stage.settled(id)
  })

  it('of two racing dispatches at the cap accepts exactly what fits, and control works at the cap', async () => {
    stage = Stage.make()
    const parent = await connect()
    const goals = ['a', 'b', 'c', 'd', 'e', 'f']
    await parent.ids()
    const all = await Promise.all(goals.map((name) => parent.call({ goal: script({ say: name }, stage.waits('go')) })))
    const accepted = all.filter(({ refused }) => !refused)
    expect(accepted).toHaveLength(3)
    for (const { answer } of all.filter(({ refused }) => refused)) {
      expect(answer.error.code).toBe('over_cap')
      expect(answer.error.message).toContain('coxswain.maxChildrenPerParent = 3')
    }
    const ids = await parent.ids()
    expect(ids).toHaveLength(3)
    const [id = ''] = ids
    expect((await parent.call({ action: 'steer', subagent_id: id, message: 'x' })).refused).toBe(false)
    expect((await parent.call({ action: 'stop', subagent_id: id })).answer.status).toBe('interrupt_requested')
    const over = await parent.call({ tasks: [{ goal: 'One thing' }, { goal: 'Another thing' }] })
    expect([over.refused, stage.left().children.length]).toEqual([true, 3])
    stage.open('go')
    await Promise.all(ids.map((each) => stage.settled(each)))
  })

  it('no answer waits for a child, its worktree or its end: all come while every child is held up', async () => {
    stage = Stage.make()
    const parent = await connect()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push(await parent.spawn(deafScript(stage.waits('go'), { hang: true })))
    for (const id of ids) await stage.until(id, 'at work', ({ phase }) => phase === 'RUNNING')
    // Of each child its keeper and its agent stand still: whoever waited for them would wait for good.
    const pids = ids.map(async (id) => (await stage.child(id)).attempts[0])
    const held = (await Promise.all(pids)).flatMap((attempt) => [attempt?.keeper?.pid ?? 0, attempt?.agent?.pid ?? 0])
    for (const pid of held) kill(pid, 'SIGSTOP')
    try {
      for (const subagent_id of ids) {
        for (const action of ['steer', 'result', 'list', 'interrupt', 'stop']) {
          const { answer } = await parent.call({
            action,
            ...(action === 'list' ? {} : { subagent_id }),
            ...(action === 'steer' ? { message: 'Open b.js.' } : {}),
          })
          expect([action, answer.error]).toEqual([action, undefined])
        }
        // Nor had anybody waited until its keeper was given up.
        const keeper = (await stage.child(subagent_id)).attempts[0]?.keeper
        expect(keeper !== undefined && keeper !== null && isRunning(keeper)).toBe(true)
      }
    } finally {
      for (const pid of held) kill(pid, 'SIGCONT')
    }
    for (const id of ids) expect((await stage.settled(id)).phase).toBe('CANCELLED')
  })

  const refusedInputs: [what: string, input: Record<string, unknown>, words: RegExp][] = [
    ['no goal', {}, /goal/],
    ['an unknown action', { action: 'pause' }, /no action "pause".*spawn, list, steer/],
    ['an action that is no word', { action: 7 }, /action must be a word/],
    ['a key nobody knows', { goal: 'Do it', subagents: 1 }, /unknown key subagents/],
    ['a key nobody knows inside a task', { tasks: [{ goal: 'Do it', timeout: 1 }] }, /tasks\.0: unknown key timeout/],
    ['a task that is no object', { tasks: [{ goal: 'Do it' }, 'Do that'] }, /Task 2/],
    ['malformed JSON', { tasks: '[{"goal": ' }, /JSON/],
    ['an empty batch', { tasks: [] }, /empty/],
    ['a placeholder in a batch', { tasks: [{ goal: 'TODO' }, { goal: 'Write it' }] }, /Task 1 has a placeholder/],
    ['an empty goal in a batch', { tasks: [{ goal: '' }, { goal: 'Write it' }] }, /empty/],
    ['a template mark in a batch', { tasks: [{ goal: 'Fix it' }, { goal: 'Fix {file}' }] }, /Task 2/],
    ['keys beside tasks', { tasks: [{ goal: 'Fix it' }], agent: 'demo' }, /agent must stand inside/],
    ['a role nobody knows', { goal: 'Do it', role: 'boss' }, /role/],
    ['a tool nobody knows', { goal: 'Do it', allowed_tools: ['fly'] }, /./],
    ['more autonomy than the person set', { goal: 'Do it', autonomy: 'autonomous' }, /coxswain\.autonomy = edit/],
    ['an agent nobody knows', { goal: 'Do it', agent: 'nobody' }, /There is no agent "nobody"/],
    ['a steer without an id', { action: 'steer', message: 'x' }, /steer needs subagent_id/],
    ['a steer without a message', { action: 'steer', subagent_id: 'aaaaaaaaaa' }, /steer needs message/],
  ]

  it('refuses in one sentence what it cannot do, and nothing exists afterwards', async () => {
    stage = Stage.make()
    const parent = await connect()
    for (const [what, input, words] of refusedInputs) {
      const { answer, refused } = await parent.call(input)
      expect([what, refused, answer.error?.message]).toEqual([what, true, expect.stringMatching(words)])
    }
    expect(stage.left()).toEqual({ children: [], branches: [], worktrees: [], folders: [] })
  })

  it('ignores max_iterations and says so, takes tasks as JSON text, and empty keys as absent', async () => {
    stage = Stage.make()
    const parent = await connect()
    const tasks = JSON.stringify([{ goal: script({ say: 'x' }), max_iterations: 3 }])
    const { answer } = await parent.call({ action: '', goal: '', tasks, context: null, model: '' })
    expect(answer).toMatchObject({ status: 'dispatched', count: 1, notes: [expect.stringContaining('max_iterations')] })
    await stage.settled(answer.subagent_ids[0])
    expect((await stage.child(answer.subagent_ids[0])).task.limits.maxTurns).toBeNull()
  })
})

describe('whose children', () => {
  it('two parents at once neither see nor steer each other-s; foreign and unknown get one answer', async () => {
    stage = Stage.make()
    const [mine, other] = await Promise.all([connect(['--session', 'a']), connect(['--session', 'b'])])
    const id = await mine.spawn(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    const theirs = await other.spawn(script(stage.waits('go')))
    expect([await mine.ids(), await other.ids()]).toEqual([[id], [theirs]])
    const wishes = async (subagent_id: string) => [
      (await other.call({ action: 'steer', subagent_id, message: 'Not yours.' })).answer,
      (await other.call({ action: 'stop', subagent_id })).answer,
      (await other.call({ action: 'interrupt', subagent_id })).answer,
      (await other.call({ action: 'resume', subagent_id })).answer,
      (await other.call({ action: 'result', subagent_id })).answer,
    ]
    expect(await wishes(id)).toEqual([gone, gone, gone, gone, gone])
    expect(await wishes('aaaaaaaaaa')).toEqual(await wishes(id))
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.steers, child.phase]).toEqual([[], 'SUCCESS'])
    await stage.settled(theirs)
  })

  it('a restarted client finds its own tree again under its session; another session and none find nothing', async () => {
    stage = Stage.make()
    const first = await connect(['--session', 'desk'])
    const id = await first.spawn(script({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await first.close()
    const again = await connect([], { env: { COXSWAIN_PARENT_SESSION: 'desk' } })
    expect(await again.ids()).toEqual([id])
    const steered = await again.call({ action: 'steer', subagent_id: id, message: 'Open b.js.' })
    expect(steered.answer.status).toBe('queued')
    const others = await Promise.all([
      connect(['--session', 'couch']),
      connect(),
      connect(['--session', 'desk'], { name: 'another program' }),
    ])
    for (const other of others) expect(await other.ids()).toEqual([])
    stage.open('go')
    await stage.settled(id)
  })

  it('a second client under the same name beside the first is somebody new', async () => {
    stage = Stage.make()
    const first = await connect(['--session', 'desk'])
    const id = await first.spawn(script(stage.waits('go')))
    const second = await connect(['--session', 'desk'])
    expect(await second.ids()).toEqual([])
    expect((await second.call({ action: 'stop', subagent_id: id })).answer).toEqual(gone)
    stage.open('go')
    await stage.settled(id)
  })
})

describe('the server', () => {
  it('offers one tool whose description teaches the rules', async () => {
    stage = Stage.make()
    const parent = await connect()
    const { tools } = await parent.client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['delegate_task'])
    const [tool] = tools
    for (const rule of ['end your turn', 'Never poll', 'a directive, not a vibe', 'Do not delegate mechanical work'])
      expect(tool?.description).toContain(rule)
    expect(JSON.stringify(tool?.inputSchema.properties?.['message'])).toContain('only null-derefs with file:line')
    expect(tool?.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
  })

  it('outside a repository is there all the same, and says at each call what is missing', async () => {
    stage = Stage.make('none')
    const parent = await connect()
    const { answer, refused } = await parent.call({ goal: 'Do it' })
    expect([refused, answer.error.code]).toEqual([true, 'repository'])
  })

  it('joins the owner that is there; a person sees its children, and the other way round it sees none of theirs', async () => {
    stage = Stage.make()
    const window = await stage.coxswain({ role: 'window' })
    await window.tryOwn()
    const answer = await window.commands.spawn({ tasks: [{ goal: script(stage.waits('go')) }] })
    const persons = 'subagent_ids' in answer ? (answer.subagent_ids[0] ?? '') : ''
    const parent = await connect()
    const id = await parent.spawn(script({ say: 'mine' }, stage.waits('go')))
    expect(window.isOwner()).toBe(true)
    await eventually(() => window.view.get(id) !== undefined, 'the window sees it')
    expect(await parent.ids()).toEqual([id])
    expect((await parent.call({ action: 'stop', subagent_id: persons })).answer).toEqual(gone)
    stage.open('go')
    await Promise.all([stage.settled(id), stage.settled(persons)])
  })

  it('leaves its children an owner when its client goes', async () => {
    stage = Stage.make()
    const parent = await connect()
    const id = await parent.spawn(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    expect((await stage.owner())?.role).toBe('mcp')
    await parent.close()
    await eventually(async () => (await stage.owner())?.role === 'background', 'the background supervisor has it')
    stage.open('go')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
  })

  it('that hands its children over does not take them back before the background has them', async () => {
    stage = Stage.make()
    const server = await stage.coxswain({ role: 'mcp' })
    const answer = await server.commands.spawn({ tasks: [{ goal: script(stage.waits('go')) }] })
    const id = 'subagent_ids' in answer ? (answer.subagent_ids[0] ?? '') : ''
    await stage.until(id, 'running', ({ phase }) => phase === 'RUNNING')
    let over = false
    const handing = server.handOver().finally(() => (over = true))
    // What its heart does at every beat.
    while (!over) await Promise.all([server.takeUpLive(), setImmediate()])
    await handing
    expect((await stage.owner())?.role).toBe('background')
    stage.open('go')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
  })

  it('leaves its children an owner when its client hears no more, though it still could speak', async () => {
    stage = Stage.make()
    const server = spawn(process.execPath, [join(dist, 'cli.js'), 'mcp'], { cwd: stage.repo, env: stage.environment })
    const say = (message: object): unknown => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const call = (id: number, input: object): unknown =>
      say({ id, method: 'tools/call', params: { name: 'delegate_task', arguments: input } })
    const ended = once(server, 'close')
    const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'deaf', version: '1' } }
    say({ id: 1, method: 'initialize', params: client })
    say({ method: 'notifications/initialized' })
    call(2, { goal: script({ say: 'one' }, stage.waits('go')) })
    const id = await eventually(() => stage.left().children[0], 'the child is accepted')
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    server.stdout.destroy()
    call(3, { action: 'list' })
    expect(await ended).toEqual([0, null])
    expect((await stage.owner())?.role).toBe('background')
    stage.open('go')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
  })

  it('that was killed leaves its children to the next one of its session', async () => {
    stage = Stage.make()
    const parent = await connect(['--session', 'desk'])
    const id = await parent.spawn(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    process.kill(parent.pid, 'SIGKILL')
    const again = await connect(['--session', 'desk'])
    expect((await again.call({ action: 'steer', subagent_id: id, message: 'Open b.js.' })).answer.status).toBe('queued')
    stage.open('go')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
    expect(readFileSync(stage.paths.child(id).events, 'utf8').match(/"launching"/g)).toHaveLength(1)
  })
})
