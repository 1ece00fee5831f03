import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { currentAttempt } from '../../../src/core/child'
import { deafScript, eventually, plain, script, Stage, type Printed } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

const note = 'Open src/auth.js. Report only null-derefs with file:line.'
const states = (steer: { history: readonly { state: string }[] } | undefined) =>
  steer?.history.map(({ state }) => state)

describe('steering from a second process', () => {
  it('shows queued, sent, delivered and confirmed, each when it is true and not before', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }, stage.waits('end')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const answer = await stage.json('steer', id, note)
    const steerId: string = answer.steer_id
    const names = { [id]: 'CHILD', [steerId]: 'STEER' }
    expect(plain(answer, stage, names)).toEqual({
      action: 'steer',
      subagent_id: 'CHILD',
      steer_id: 'STEER',
      status: 'queued',
      note: expect.stringContaining('the current tool call is never cut'),
    })
    // The tool call is still running: the agent's endpoint has it, the model has not.
    await stage.until(id, 'sent', (child) => child.steers[0]?.state === 'sent')
    const queue = join(stage.paths.child(id).attempt(1).control, 'prompt-queue.jsonl')
    expect(plain(JSON.parse(readFileSync(queue, 'utf8')), stage, names)).toEqual({
      id: 'STEER',
      content: note,
      queued_at: 'TIME',
      steer: true,
    })
    stage.open('go')
    const child = await stage.until(id, 'confirmed', ({ steers }) => steers[0]?.state === 'confirmed')
    expect(states(child.steers[0])).toEqual(['queued', 'sent', 'delivered', 'confirmed'])
    const shown = await stage.json('show', id)
    expect(plain(shown.steers, stage, names)).toEqual([
      { steer_id: 'STEER', text: note, state: 'confirmed', at: 'TIME', evidence: 'agent said' },
    ])
    // Taken **and** in the child's conversation: it says the words back.
    await eventually(
      () => stage.said(id).some((text) => text.includes('Open src/auth.js')),
      'the child repeats the note',
    )
    stage.open('end')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
    const log = readFileSync(child.liveTranscript, 'utf8')
    expect((plain(log, stage, names) as string).split('\n').filter((line) => line.includes('steer STEER'))).toEqual([
      `TIME steer STEER queued: ${note}`,
      'TIME steer STEER sent',
      'TIME steer STEER delivered (agent said)',
      'TIME steer STEER confirmed (agent said)',
    ])
  })

  it('several at once lose nothing and keep the order of their receipts', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const spawned = await coxswain.commands.spawn({ tasks: [{ goal: script(stage.waits('go'), { say: 'on' }) }] })
    const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
    await stage.until(id, 'ready', (child) => currentAttempt(child)?.ready === true)
    const texts = Array.from({ length: 12 }, (_, i) => `Note number ${i + 1}.`)
    const answers = await Promise.all(texts.map((message) => coxswain.commands.steer({ subagent_id: id, message })))
    stage.open('go')
    const child = await stage.settled(id)
    expect(child.steers.map(({ text, state }) => `${text} ${state}`)).toEqual(texts.map((text) => `${text} confirmed`))
    expect(child.steers.map((steer) => steer.id)).toEqual(
      answers.map((answer) => 'steer_id' in answer && answer.steer_id),
    )
    const log = readFileSync(child.liveTranscript, 'utf8')
    const delivered = [...log.matchAll(/steer (\w+) delivered/g)].map(([, steerId]) => steerId)
    expect(delivered).toEqual(child.steers.map((steer) => steer.id))
    const said = stage.said(id).join('\n')
    expect(texts.filter((text) => !said.includes(text))).toEqual([])
  })

  it('before the start rides in the first turn, and counts as read once the agent answers that turn', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const spawned = await coxswain.commands.spawn({ tasks: [{ goal: script({ say: 'one' }) }] })
    const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
    const answer = await coxswain.commands.steer({ subagent_id: id, message: note })
    expect(answer).toMatchObject({
      status: 'queued',
      note: 'It has not started yet: the text is part of its first turn.',
    })
    const child = await stage.settled(id)
    const prompt = readFileSync(stage.paths.child(id).attempt(1).prompt, 'utf8')
    expect(prompt).toContain(note)
    expect([states(child.steers[0]), child.steers[0]?.carried]).toEqual([
      ['queued', 'sent', 'delivered', 'confirmed'],
      true,
    ])
  })

  it('one that the agent never reads is missed, stands on the result, and rides with the next resume', async () => {
    stage = Stage.make()
    const id = await stage.detached(deafScript({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const { steer_id } = await stage.json('steer', id, note)
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, states(child.steers[0])]).toEqual(['SUCCESS', ['queued', 'sent', 'missed']])
    const result = await stage.json('result', id)
    expect([result.phase, result.missed_steers]).toEqual(['SUCCESS', [{ steer_id, text: note }]])
    expect(await stage.json('resume', id, 'And now finish.')).toMatchObject({ attempt: 2, carried_steers: [steer_id] })
    const after = await stage.until(id, 'round 2', ({ round, settledAt }) => round === 2 && settledAt !== null)
    const prompt = readFileSync(stage.paths.child(id).attempt(2).prompt, 'utf8')
    expect([prompt.indexOf(note) > 0, prompt.indexOf(note) < prompt.indexOf('And now finish.')]).toEqual([true, true])
    expect(states(after.steers[0])).toEqual(['queued', 'sent', 'missed', 'sent', 'delivered', 'confirmed'])
    expect((await stage.json('result', id, '--round', '1')).missed_steers).toEqual([{ steer_id, text: note }])
    expect((await stage.json('result', id)).missed_steers).toEqual([])
  })

  it('one that waits for the next attempt can be withdrawn, and then does not ride', async () => {
    stage = Stage.make()
    const id = await stage.detached(deafScript({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const { steer_id } = await stage.json('steer', id, note)
    const early = await stage.cli('withdraw', steer_id, '--json')
    stage.open('go')
    await stage.settled(id)
    const answer = await stage.json('withdraw', steer_id)
    expect(plain(answer, stage, { [id]: 'CHILD' })).toEqual({
      action: 'withdraw',
      subagent_id: 'CHILD',
      status: 'done',
      note: 'The steer was withdrawn; the agent will not read it.',
    })
    expect(await stage.json('resume', id)).toMatchObject({ carried_steers: [] })
    await stage.until(id, 'round 2', ({ round, settledAt }) => round === 2 && settledAt !== null)
    expect(readFileSync(stage.paths.child(id).attempt(2).prompt, 'utf8')).toBe('Continue from where you left off.\n')
    expect([early.code, JSON.parse(early.out).error]).toEqual([
      2,
      { code: 'invalid', message: 'This steer is already with the agent and can no longer be withdrawn.' },
    ])
  })

  it('reads the text from standard input with -', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const { code } = await stage.start(['steer', id, '-'], { input: `/compact\n${note}\n` }).done
    stage.open('go')
    const child = await stage.settled(id)
    expect([code, child.steers[0]?.text]).toEqual([0, `/compact\n${note}`])
  })
})

describe('stop', () => {
  it('is CANCELLED only after death, leaves nothing in the process table, keeps worktree and branch', async () => {
    stage = Stage.make()
    // Deaf to the polite ways, with a helper of its own in another session.
    const steps = [
      { write: { path: 'half.md', text: 'half\n' } },
      { spawn: { argv: ['sleep', '1000'], detached: true } },
      { say: 'deep' },
      { hang: 'deaf' },
    ]
    const id = await stage.detached(script(...steps))
    await eventually(() => stage.said(id).includes('deep'), 'the child hangs')
    const before = stage.childProcesses().map(({ command }) => command)
    expect(before.some((command) => command.includes('sleep 1000'))).toBe(true)
    const answer = await stage.json('stop', id, '--reason', 'wrong task')
    expect(plain(answer, stage, { [id]: 'CHILD' })).toEqual({
      action: 'stop',
      subagent_id: 'CHILD',
      status: 'interrupt_requested',
      note: expect.stringContaining('CANCELLED once its death was observed'),
    })
    expect((await stage.child(id)).phase).toBe('CANCEL_REQUESTED')
    expect(JSON.parse((await stage.cli('steer', id, note, '--json')).out).error.code).toBe('not_accepting')
    const child = await stage.until(id, 'cancelled', ({ phase }) => phase === 'CANCELLED')
    // The keeper may wait for its acknowledgement; the agent and all it started are gone at this very moment.
    expect(stage.childProcesses().filter(({ command }) => !command.includes('keeper'))).toEqual([])
    await stage.settled(id)
    await stage.untilNothingRuns()
    const result = await stage.json('result', id)
    expect([result.phase, result.partial, result.exit.first_cause]).toEqual(['CANCELLED', true, 'stop'])
    expect([result.worktree.commits, result.worktree.dirty]).toEqual([0, true])
    expect(readFileSync(join(child.worktree?.path ?? '', 'half.md'), 'utf8')).toBe('half\n')
    expect(stage.left().branches).toEqual([child.worktree?.branch])
    const again = await stage.cli('stop', id, '--json')
    expect([again.code, JSON.parse(again.out).error.code]).toEqual([2, 'finished'])
  })

  it('asked before the agent was launched never starts it', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const spawned = await coxswain.commands.spawn({ tasks: [{ goal: script({ say: 'one' }) }] })
    const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
    const answer = await coxswain.commands.stop({ subagent_id: id })
    const child = await stage.settled(id)
    expect(answer).toMatchObject({ status: 'interrupt_requested' })
    expect([child.phase, child.attempts, stage.said(id)]).toEqual(['CANCELLED', [], []])
    await stage.untilNothingRuns()
  })

  it('asked after the start was announced, but before it was made, starts nothing', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const contract = { deliverables: [{ path: 'x.md' }] }
    const spawned = await coxswain.commands.spawn({ tasks: [{ goal: script({ say: 'one' }), contract }] })
    const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
    // The contract is read for the first turn: as a pipe it holds the start up until somebody writes into it.
    const path = stage.paths.child(id).contract
    const text = readFileSync(path, 'utf8')
    rmSync(path)
    execFileSync('mkfifo', ['-m', '600', path])
    await stage.until(id, 'announced', ({ attempts }) => attempts.length === 1)
    await coxswain.commands.stop({ subagent_id: id })
    expect((await stage.child(id)).phase).toBe('CANCEL_REQUESTED')
    writeFileSync(path, text)
    const child = await stage.settled(id)
    expect([child.phase, child.attempts[0]?.launchedAt, stage.said(id)]).toEqual(['CANCELLED', null, []])
    expect(existsSync(join(stage.paths.child(id).attempt(1).folder, 'keeper.json'))).toBe(false)
  })

  it('while its work is verified ends the waiting: the result is there, with what the attempt came to', async () => {
    stage = Stage.make()
    const check = { command: { argv: ['sh', '-c', `until [ -e '${stage.latch('go')}' ]; do sleep 0.05; done`] } }
    const contract = { deliverables: [{ path: 'x.md' }], checks: [check] }
    const goal = script({ write: { path: 'x.md', text: 'x' } }, { commit: 'X' })
    const id = await stage.detached({ goal, contract })
    const verifying = await stage.until(id, 'verifying', (child) => child.verifying)
    expect([verifying.phase, (await stage.json('list')).subagents[0].condition]).toEqual(['RUNNING', 'verifying'])
    expect(JSON.parse((await stage.cli('steer', id, note, '--json')).out).error.code).toBe('not_accepting')
    await stage.json('stop', id)
    const child = await stage.settled(id)
    expect([child.phase, child.verifying, (await stage.json('result', id)).phase]).toEqual([
      'SUCCESS',
      false,
      'SUCCESS',
    ])
    stage.open('go')
  })

  it('withdraws the steers that waited', async () => {
    stage = Stage.make()
    const id = await stage.detached(deafScript({ say: 'one' }, { hang: true }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await stage.json('steer', id, note)
    await stage.json('stop', id)
    expect(states((await stage.settled(id)).steers[0])).toEqual(['queued', 'sent', 'withdrawn'])
  })

  it('of a paused child calls it off', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, { hang: true }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await stage.json('interrupt', id)
    await stage.until(id, 'paused', ({ paused }) => paused)
    await stage.json('stop', id)
    expect((await stage.settled(id)).phase).toBe('CANCELLED')
    expect((await stage.json('result', id)).phase).toBe('CANCELLED')
  })
})

describe('interrupt and resume', () => {
  it('keep session id, worktree and branch; the round goes on; time starts anew', async () => {
    stage = Stage.make()
    const id = await stage.detached(
      script({ write: { path: 'a.md', text: 'a\n' } }, { commit: 'A' }, { say: 'one' }, stage.waits('go'), {
        say: 'two',
      }),
    )
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const answer = await stage.json('interrupt', id, '--reason', 'lunch')
    expect(plain(answer, stage, { [id]: 'CHILD' })).toEqual({
      action: 'interrupt',
      subagent_id: 'CHILD',
      status: 'interrupt_requested',
      note: expect.stringContaining('resume goes on'),
    })
    const paused = await stage.until(id, 'paused', (child) => child.paused)
    await stage.untilNothingRuns()
    expect([paused.phase, paused.settledAt, paused.completions]).toEqual(['INTERRUPTED', null, []])
    const list = await stage.json('list')
    expect(list.subagents.map((row: Printed) => [row.subagent_id, row.condition, row.accepting_steer])).toEqual([
      [id, 'paused', false],
    ])
    expect(plain(await stage.json('result', id), stage)).toEqual({ ready: false, phase: 'INTERRUPTED' })
    await stage.json('resume', id, 'Go', 'on.')
    const child = await stage.settled(id)
    expect([child.phase, child.round, child.attempts.map(({ round }) => round)]).toEqual(['SUCCESS', 1, [1, 1]])
    expect([child.sessionId, child.worktree, new Set(child.attempts.map((a) => a.sessionId)).size]).toEqual([
      paused.sessionId,
      paused.worktree,
      1,
    ])
    expect(child.attempts[1]?.message).toBe('Go on.')
    expect(
      stage
        .git('log', '--format=%s', child.worktree?.branch ?? '')
        .split('\n')
        .slice(-2),
    ).toEqual(['A', 'First'])
    expect(stage.left().worktrees).toHaveLength(1)
  })

  it('after a settled round opens the next one, with results kept per round', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }))
    await stage.settled(id)
    const first = await stage.json('result', id)
    await stage.json('resume', id, script({ say: 'more' }))
    await stage.until(id, 'round 2', ({ round, completions }) => round === 2 && completions.length === 2)
    const second = await stage.json('result', id)
    expect([first.round, second.round, second.attempt]).toEqual([1, 2, 2])
    expect(await stage.json('result', id, '--round', '1')).toEqual(first)
    expect((await stage.cli('result', id, '--round', '3')).err).toMatch(/ has no round 3; its latest is round 2\.\n$/)
  })

  it('of what is deleted under a running child nothing is called done, and nothing lands in the main checkout', async () => {
    stage = Stage.make()
    const contract = { deliverables: [{ path: 'x.md' }], checks: [{ git_committed: {} }], maxRetries: 0 }
    const write = { write: { path: 'x.md', text: 'x\n' } }
    const goal = script(write, { commit: 'Add x' }, { say: 'up' }, stage.waits('go'), write, { commit: 'Again' })
    const id = await stage.detached({ goal, contract })
    await eventually(() => stage.said(id).includes('up'), 'it works')
    const { path = '' } = (await stage.child(id)).worktree ?? {}
    rmSync(path, { recursive: true })
    stage.open('go')
    const child = await stage.settled(id)
    expect(child.verdict?.status).not.toBe('verified')
    expect((await stage.cli('apply', id)).code).toBe(2)
    expect([stage.git('status', '--porcelain'), stage.git('log', '--format=%s', 'main')]).toEqual(['', 'First'])
    expect((await stage.cli('discard', id, '--force')).code).toBe(0)
    expect([stage.left().worktrees, stage.left().branches, existsSync(path)]).toEqual([[], [], false])
    expect((await stage.settled(await stage.detached(script({ say: 'one' })))).phase).toBe('SUCCESS')
  })

  it('does not resume in the main checkout when the worktree is gone', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }))
    const { worktree } = await stage.settled(id)
    await eventually(() => stage.childProcesses().length === 0, 'nothing runs')
    stage.git('worktree', 'remove', '--force', worktree?.path ?? '')
    await stage.cli('resume', id, script({ write: { path: 'wrong-place.md', text: 'x' } }))
    const child = await stage.until(id, 'round 2', ({ round, completions }) => round === 2 && completions.length === 2)
    expect(child.phase).toBe('FAILURE')
    expect((await stage.json('result', id)).failure).toContain(worktree?.path)
    expect([existsSync(join(stage.repo, 'wrong-place.md')), stage.git('status', '--porcelain')]).toEqual([false, ''])
  })

  it('withdraws an open question as cancelled', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ ask: { tool: 'run', input: { command: 'rm -rf build' } } }, { say: 'on' }))
    await stage.until(id, 'asked', ({ requests }) => requests.length === 1)
    await stage.json('interrupt', id)
    const child = await stage.until(id, 'paused', ({ paused }) => paused)
    expect([child.requests[0]?.answer, stage.said(id).includes('on')]).toEqual([{ kind: 'cancelled' }, false])
  })

  it('of a child whose agent never ran begins with the whole brief', async () => {
    stage = Stage.make()
    const program = join(stage.root, 'kid')
    const content = `#!/usr/bin/env node
      const { readFileSync } = require('node:fs')
      const { COXSWAIN_PROMPT_FILE: file, COXSWAIN_RESUME: resume } = process.env
      console.log(JSON.stringify({ type: 'text', text: readFileSync(file, 'utf8') }))
      console.log(JSON.stringify({ type: 'result', ok: true, summary: 'resume: ' + resume }))\n`
    writeFileSync(program, content, { mode: 0o755 })
    const agents = { kid: { kind: 'commandLine', command: [program], protocol: 'lines' } }
    const coxswain = await stage.coxswain({ role: 'run', set: { agents } })
    const spawned = await coxswain.commands.spawn({ tasks: [{ goal: 'Count the harbours.', agent: 'kid' }] })
    rmSync(program)
    const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
    const failed = await stage.settled(id)
    const { failure } = await stage.json('result', id)
    expect([failed.phase, failure]).toEqual(['FAILURE', expect.stringContaining(program)])
    writeFileSync(program, content, { mode: 0o755 })
    await stage.json('resume', id, 'Now it is there.')
    const child = await stage.until(id, 'round 2', ({ round, completions }) => round === 2 && completions.length === 2)
    const [prompt = ''] = stage.said(id)
    expect([child.phase, child.attempts[1]?.report?.summary]).toEqual(['SUCCESS', 'resume: undefined'])
    expect([prompt.startsWith('Count the harbours.'), prompt.trim().endsWith('Now it is there.')]).toEqual([true, true])
  })
})

describe('questions', () => {
  it('are asked and answered by id: text, leave given, leave denied', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run', attended: () => true })
    const goal = script(
      { ask: { question: 'Red or blue?', options: ['red', 'blue'] } },
      { ask: { tool: 'run', input: { command: 'npm test' } } },
      { say: 'leave was given' },
      { ask: { tool: 'run', input: { command: 'rm -rf /' } } },
      { say: 'leave was not given' },
      { say: 'done' },
    )
    const spawned = await coxswain.commands.spawn({ tasks: [{ goal }] })
    const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
    const asked = async (n: number) =>
      (await stage.until(id, `question ${n}`, ({ requests }) => requests.length === n)).requests[n - 1]?.id ?? ''
    const first = await asked(1)
    const shown = await stage.json('show', id)
    expect([shown.needs, shown.requests]).toEqual([
      'an answer',
      [{ request_id: first, kind: 'question', words: 'Red or blue?' }],
    ])
    const empty = await stage.cli('answer', first)
    expect([empty.code, empty.err]).toEqual([
      2,
      'coxswain: The answer is empty. Give a text, --allow, or --deny WHY.\n',
    ])
    const answer = await stage.json('answer', first, 'blue', 'please')
    expect(plain(answer, stage, { [id]: 'CHILD' })).toEqual({
      action: 'answer',
      subagent_id: 'CHILD',
      status: 'done',
      note: 'The answer was handed to the agent.',
    })
    const second = await asked(2)
    expect((await stage.json('show', id)).needs).toBe('an approval')
    await stage.json('answer', second, '--allow')
    await stage.json('answer', await asked(3), '--deny', 'never that')
    const child = await stage.settled(id)
    expect(child.requests.map((request) => request.answer)).toEqual([
      { kind: 'text', text: 'blue please' },
      { kind: 'allow', scope: 'once' },
      { kind: 'deny', message: 'never that' },
    ])
    const said = stage.said(id)
    expect([said.includes('leave was given'), said.includes('leave was not given'), said.at(-1)]).toEqual([
      true,
      false,
      'done',
    ])
    const late = await stage.cli('answer', first, 'red', '--json')
    expect([late.code, JSON.parse(late.out).error.code]).toEqual([2, 'finished'])
  })

  it('with nobody there are answered "decide yourself" and say so in the record', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ ask: 'Red or blue?' }, { say: 'on' }))
    const child = await stage.settled(id)
    expect([child.requests[0]?.answer, child.requests[0]?.note, stage.said(id).at(-1)]).toEqual([
      { kind: 'text', text: 'Nobody is there to answer: decide yourself, and say what you assumed.' },
      'nobody was attending',
      'on',
    ])
  })

  it('for leave wait for a person although nobody is there, and are shown to whoever looks', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ ask: { tool: 'run', input: { command: 'npm publish' } } }, { say: 'on' }))
    const { requests } = await stage.until(id, 'asked', (child) => child.requests.length === 1)
    const list = await stage.json('list')
    expect([list.subagents[0].needs, stage.said(id)]).toEqual(['an approval', []])
    await stage.json('answer', requests[0]?.id ?? '', '--allow')
    await stage.settled(id)
    expect(stage.said(id)).toContain('on')
  })
})

describe('looking', () => {
  it('list shows live children, and says when there are none', async () => {
    stage = Stage.make()
    expect(await stage.json('list')).toEqual({
      action: 'list',
      count: 0,
      subagents: [],
      note: 'No child is at work.',
    })
    const goal = script({ say: 'one' }, stage.waits('go'))
    const id = await stage.detached({ goal, title: 'Wait a bit', model: 'demo-9' })
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    expect(plain(await stage.json('list'), stage, { [id]: 'CHILD' })).toEqual({
      action: 'list',
      count: 1,
      subagents: [
        {
          subagent_id: 'CHILD',
          parent_id: null,
          title: 'Wait a bit',
          goal: plain(goal, stage),
          agent: 'demo',
          model: 'demo-script',
          status: 'running',
          phase: 'RUNNING',
          condition: null,
          running_seconds: 'N',
          accepting_steer: true,
          steer_mode: 'at_tool_boundary',
          needs: null,
          last_activity: 'one',
          live_transcript: 'ROOT/d/STORE/children/CHILD/task-0.log',
        },
      ],
    })
    const { out } = await stage.cli('list')
    expect(out).toMatch(new RegExp(`^${id}  working +\\d+ s  accepting steer  Wait a bit {2}— {2}one\n$`))
    await stage.json('interrupt', id)
    await stage.until(id, 'paused', ({ paused }) => paused)
    expect((await stage.cli('list')).out).toMatch(new RegExp(`^${id}  paused +\\d+ s +Wait a bit\n$`))
  })

  it('list --all shows the ended ones too, newest first, each with what came of it', async () => {
    stage = Stage.make()
    expect((await stage.cli('list', '--all')).out).toBe('There are no children in this repository.\n')
    const contract = { deliverables: [{ path: 'x.md' }] }
    const write = { write: { path: 'x.md', text: 'x\n' } }
    const kept = await stage.detached({ goal: script(write, { commit: 'X' }), title: 'Kept', contract })
    await stage.settled(kept)
    const failed = await stage.detached({ goal: script({ fail: 'no' }), title: 'Failed' })
    await stage.settled(failed)
    const live = await stage.detached({ goal: script({ say: 'one' }, stage.waits('go')), title: 'Live' })
    await eventually(() => stage.said(live).includes('one'), 'the child works')
    const { out } = await stage.cli('list', '--all')
    const words = out
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +\d+s ago +/, ' | '))
    expect(words).toEqual([
      `${live}  working | Live`,
      `${failed}  failed | Failed`,
      `${kept}  succeeded | Kept  (verified: its one check passes)`,
    ])
    for (const command of ['show', 'result'])
      expect((await stage.cli(command, kept)).out).toMatch(new RegExp(`coxswain/kept-${kept}: 1 commit$`, 'm'))
    expect((await stage.cli('show', kept)).out).toMatch(/^SUCCESS.+\nverified: its one check passes$/m)
    const [help, asked] = [await stage.cli('help'), await stage.cli('--help')]
    expect([help.code, help.out]).toEqual([0, asked.out])
    const [listed] = (await stage.json('list')).subagents
    const all = await stage.json('list', '--all')
    expect(all.subagents.map((one: Printed) => [one.title, one.phase, one.ended])).toEqual([
      ['Live', 'RUNNING', false],
      ['Failed', 'FAILURE', true],
      ['Kept', 'SUCCESS', true],
    ])
    for (const one of all.subagents)
      expect(Object.keys(one).filter((key) => key !== 'ended')).toEqual(Object.keys(listed))
    stage.open('go')
  })

  it('show tells worktree, steers, attempts and money', async () => {
    stage = Stage.make()
    const id = await stage.detached({
      goal: script({ write: { path: 'x', text: 'x' } }, stage.waits('go')),
      title: 'X',
    })
    await eventually(() => stage.transcript(id).some((entry) => entry.kind === 'toolEnded'), 'the file is written')
    const shape = {
      subagent_id: 'CHILD',
      condition: null,
      attempt: 1,
      agent: 'demo',
      model: 'demo-script',
      goal: expect.stringContaining('Follow this.'),
      title: 'X',
      steer_mode: 'at_tool_boundary',
      needs: null,
      requests: [],
      permissions: [],
      steers: [],
      verdict: null,
      overlaps: [],
      tokens: 0,
      live_transcript: 'ROOT/d/STORE/children/CHILD/task-0.log',
    }
    const worktree = { path: 'ROOT/repo.coxswain/x-CHILD', branch: 'coxswain/x-CHILD', base: 'COMMIT', commits: 0 }
    const attempt = { attempt: 1, round: 1, reason: 'first', started_at: 'TIME' }
    expect(plain(await stage.json('show', id), stage, { [id]: 'CHILD' })).toEqual({
      ...shape,
      phase: 'RUNNING',
      worktree: { ...worktree, dirty: true },
      accepting_steer: true,
      attempts: [{ ...attempt, phase: 'RUNNING', ended_at: null }],
      cost_usd: null,
    })
    stage.open('go')
    await stage.settled(id)
    expect(plain(await stage.json('show', id), stage, { [id]: 'CHILD' })).toEqual({
      ...shape,
      phase: 'SUCCESS',
      worktree: { ...worktree, commits: 1, dirty: false },
      accepting_steer: false,
      attempts: [{ ...attempt, phase: 'SUCCESS', ended_at: 'TIME' }],
      cost_usd: 0,
    })
  })

  it('transcript --follow prints what is there, then what comes, and ends with the child', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const following = stage.start(['transcript', id, '--follow', '--json'])
    await following.until('one', (entry) => entry.text === 'one')
    expect(following.objects().some((entry) => entry.text === 'two')).toBe(false)
    stage.open('go')
    const { code } = await following.done
    await stage.settled(id)
    const entries = following.objects()
    expect([code, entries.map((entry) => entry.n)]).toEqual([0, entries.map((_, n) => n)])
    expect(entries).toEqual(stage.transcript(id))
    expect(plain(entries, stage, { [id]: 'CHILD' })).toEqual([
      expect.objectContaining({ kind: 'notice', level: 'info', text: expect.stringContaining('on branch coxswain/') }),
      expect.objectContaining({ kind: 'turn', reason: 'first', attempt: 1 }),
      {
        n: 2,
        at: 'TIME',
        attempt: 1,
        cursor: { source: 'stdout', end: expect.any(Number) },
        kind: 'text',
        text: 'one',
      },
      expect.objectContaining({ kind: 'text', text: 'two' }),
      expect.objectContaining({ kind: 'report', ok: true }),
      expect.objectContaining({ kind: 'notice', text: 'Process ended with code 0.' }),
    ])
    const { out } = await stage.cli('transcript', id)
    expect(out).toBe(
      readFileSync((await stage.child(id)).liveTranscript, 'utf8')
        .split('\n')
        .slice(2)
        .join('\n'),
    )
  })

  it('agents says what is here, where it was looked for, and what each can do', async () => {
    stage = Stage.make()
    const file = stage.file(
      JSON.stringify({
        mine: { kind: 'commandLine', command: ['/bin/sh', '-c', 'true'], protocol: 'text' },
        gone: { kind: 'commandLine', command: ['no-such-program-here'], protocol: 'lines' },
      }),
    )
    const { agents } = await stage.json('agents', '--agents', file)
    const byId = new Map<string, Printed>(agents.map((agent: Printed) => [agent.id, agent]))
    expect(byId.get('demo')).toEqual({
      id: 'demo',
      found: true,
      version: null,
      path: null,
      steer_mode: 'at_tool_boundary',
      receipt: 'agent said',
      resume: true,
      approvals: true,
      cost: true,
      notes: ['comes with Coxswain; needs no key and no network'],
      install: null,
    })
    expect(byId.get('mine')).toEqual({
      id: 'mine',
      found: true,
      version: null,
      path: '/bin/sh',
      steer_mode: 'none',
      receipt: 'none',
      resume: false,
      approvals: false,
      cost: false,
      notes: [],
      install: null,
    })
    expect(byId.get('gone')).toMatchObject({ found: false, path: null })
    expect(byId.get('gone').notes.join(' ')).toMatch(/Install "no-such-program.*Looked for no-such-program-here at \//)
  })

  it('works while nobody owns the store, from a subfolder, and for a store named by hand', async () => {
    stage = Stage.make()
    const store = join(stage.root, 'mine')
    const id = await stage.detached(script({ say: 'one' }), '--store', store)
    await eventually(async () => (await stage.json('result', id, '--store', store)).phase === 'SUCCESS', 'the result')
    await eventually(() => stage.ps().length === 0, 'the supervisor has left', 20_000)
    expect((await stage.json('show', id, '--store', store)).phase).toBe('SUCCESS')
    expect(stage.left().children).toEqual([])
  })

  it('touches nothing of a store that is another repository’s', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ write: { path: 'x.md', text: 'x\n' } }, { commit: 'Add x' }))
    const { worktree } = await stage.settled(id)
    await eventually(() => stage.ps().length === 0, 'the supervisor has left', 20_000)
    const other = join(stage.root, 'other')
    execFileSync('git', ['clone', '-q', stage.repo, other], { env: stage.environment })
    const store = ['--repo', other, '--store', stage.paths.root]
    for (const args of [['list'], ['doctor'], ['discard', id, '--force'], ['run', '--task', stage.tasks('More')]]) {
      const { code, err } = await stage.cli(...args, ...store)
      const words = `coxswain: ${stage.paths.root} is the store of ${stage.repo}/.git, not of ${other}/.git. `
      expect([args[0], code, err.slice(0, words.length)]).toEqual([args[0], 2, words])
    }
    expect(existsSync(join(worktree?.path ?? '', 'x.md'))).toBe(true)
    expect(stage.left().children).toEqual([id])
  })
})

it('says of a pause and of a stop what was asked for', async () => {
  stage = Stage.make()
  const id = await stage.detached(script({ say: 'up' }, stage.waits('go')))
  await eventually(() => stage.said(id).includes('up'), 'it is at work')
  expect((await stage.cli('interrupt', id)).out).toMatch(/^Pause requested\. /)
  await eventually(async () => (await stage.child(id)).paused, 'it is paused')
  expect((await stage.cli('stop', id)).out).toMatch(/^Stop requested\. /)
})

describe('discard', () => {
  it('removes a clean worktree and its branch, keeps work unless told, and refuses a running child', async () => {
    stage = Stage.make()
    const clean = await stage.detached(script({ say: 'nothing' }))
    const worked = await stage.detached(script({ write: { path: 'x.md', text: 'x\n' } }, { commit: 'X' }))
    const busy = await stage.detached(script(stage.waits('go')))
    await stage.settled(clean)
    await stage.settled(worked)
    const running = await stage.cli('discard', busy, '--json')
    expect([running.code, JSON.parse(running.out).error.code]).toEqual([2, 'busy'])
    expect(plain(await stage.json('discard', clean), stage, { [clean]: 'CHILD' })).toEqual({
      action: 'discard',
      subagent_id: 'CHILD',
      status: 'discarded',
      note: expect.stringContaining('The worktree was removed.'),
    })
    const refused = await stage.cli('discard', worked, '--json')
    expect([refused.code, JSON.parse(refused.out).error]).toEqual([
      2,
      { code: 'would_lose', message: expect.stringContaining(`coxswain discard ${worked} --force`) },
    ])
    const { worktree } = await stage.child(worked)
    expect(existsSync(worktree?.path ?? '')).toBe(true)
    const forced = await stage.json('discard', worked, '--force')
    expect(forced.note).toMatch(/was removed, and with it 1 commit that is on no other branch \(\w+ X\)\./)
    const gone = await stage.cli('resume', worked, '--json')
    expect([gone.code, JSON.parse(gone.out).error.code]).toEqual([2, 'not_resumable'])
    writeFileSync(stage.latch('go'), '')
    await stage.settled(busy)
    const { branches, worktrees } = stage.left()
    const left = (await stage.child(busy)).worktree
    expect([worktrees, branches]).toEqual([[`worktree ${left?.path}`], expect.arrayContaining([left?.branch])])
  })
})

describe('discard by a name', () => {
  it('loses exactly what was told, and asks anew about what has come to be since', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ write: { path: 'x.md', text: 'x\n' } }))
    await stage.settled(id)
    const { commands } = await stage.coxswain()
    const ask = async (confirmed?: string) => {
      const answer = await commands.discard({ subagent_id: id, ...(confirmed === undefined ? {} : { confirmed }) })
      return 'error' in answer ? answer.error : answer
    }
    const first = await ask()
    expect(first).toMatchObject({
      code: 'would_lose',
      message: expect.stringContaining('1 commit that is on no other'),
    })
    const path = (await stage.child(id)).worktree?.path ?? ''
    writeFileSync(join(path, 'y.md'), 'y\n')
    const confirm = 'confirm' in first ? first.confirm : undefined
    const second = await ask(confirm)
    expect(second).toMatchObject({ code: 'would_lose', message: expect.stringContaining('1 untracked file (y.md)') })
    expect(existsSync(join(path, 'y.md'))).toBe(true)
    const third = await ask('confirm' in second ? second.confirm : undefined)
    expect(third).toMatchObject({ status: 'discarded', note: expect.stringContaining('1 untracked file (y.md)') })
    expect(existsSync(path)).toBe(false)
  })
})

describe('two children that change the same file', () => {
  it('are told apart by show while both are at work, and no longer once one has ended', async () => {
    stage = Stage.make()
    const task = (title: string, file: string, latch: string) => ({
      title,
      goal: script(
        { write: { path: 'README.md', text: title } },
        { write: { path: file, text: title } },
        { say: 'wrote' },
        stage.waits(latch),
      ),
    })
    const first = await stage.detached(task('First', 'a.md', 'one'))
    const second = await stage.detached(task('Second', 'b.md', 'two'))
    for (const id of [first, second]) await eventually(() => stage.said(id).includes('wrote'), 'it has written')
    expect((await stage.json('show', first)).overlaps).toEqual([
      { subagent_id: second, title: 'Second', paths: ['README.md'] },
    ])
    expect((await stage.cli('show', second)).out).toContain('also changed by "First": README.md\n')
    stage.open('two')
    await stage.settled(second)
    expect((await stage.json('show', first)).overlaps).toEqual([])
    stage.open('one')
    await stage.settled(first)
  })
})
