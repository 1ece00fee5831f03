// What the peers' own suites hold their control planes to, against the real supervisor with real children.
import { existsSync, readdirSync, readFileSync, appendFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { currentAttempt, isLive } from '../../../src/core/child'
import { isRefusal, type CommandAnswer, type SpawnRequest } from '../../../src/supervisor/commands'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import type { Caller } from '../../../src/core/ownership'
import { deafScript, eventually, script, Stage, type Printed } from './stage'

let stage: Stage
afterEach(() => stage.clear())

const parent = (session: string): Caller => ({ kind: 'parent', session })
const gone = {
  error: {
    code: 'unknown_child',
    message: "There is no such subagent in this conversation's spawn tree. Use list for the ids that are yours.",
  },
}

async function spawn({ commands }: Coxswain, ...goals: string[]): Promise<string[]> {
  return idsOf(await commands.spawn({ tasks: goals.map((goal) => ({ goal })) }))
}

function idsOf(answer: CommandAnswer): string[] {
  if (isRefusal(answer) || !('subagent_ids' in answer)) throw new Error(JSON.stringify(answer))
  return [...answer.subagent_ids]
}

async function one(coxswain: Coxswain, goal: string): Promise<string> {
  return (await spawn(coxswain, goal))[0] ?? ''
}

const code = (answer: CommandAnswer): string => (isRefusal(answer) ? answer.error.code : 'done')

describe('whose a child is', () => {
  it('a parent controls its own child; a foreign parent gets for every wish what an unknown id gets, and nothing happens', async () => {
    stage = Stage.make()
    await stage.coxswain({ role: 'run' }).then((owner) => owner.tryOwn())
    const mine = await stage.coxswain({ role: 'window', as: parent('mine') })
    const other = await stage.coxswain({ role: 'window', as: parent('other') })
    const id = await one(mine, script({ say: 'one' }, { ask: 'Red?' }, stage.waits('go'), { say: 'two' }))
    await stage.until(id, 'asked', ({ requests }) => requests.length === 1)
    const own = await mine.commands.steer({ subagent_id: id, message: 'Mine.' })
    expect(own).toMatchObject({ status: 'queued' })
    const steerId = 'steer_id' in own ? own.steer_id : ''
    const requestId = (await stage.child(id)).requests[0]?.id ?? ''
    const before = readFileSync(stage.paths.child(id).events, 'utf8')
    const wishes = async (subagent_id: string, { commands }: Coxswain) => [
      await commands.steer({ subagent_id, message: 'Not yours.' }),
      await commands.editSteer({ subagent_id, steer_id: steerId, message: 'x' }),
      await commands.withdrawSteer({ subagent_id, steer_id: steerId }),
      await commands.withdrawSteer({ steer_id: steerId }),
      await commands.reorderSteers({ subagent_id, order: [] }),
      await commands.stop({ subagent_id }),
      await commands.interrupt({ subagent_id }),
      await commands.resume({ subagent_id }),
      await commands.answer({ subagent_id, request_id: requestId, answer: { kind: 'text', text: 'x' } }),
      await commands.answer({ request_id: requestId, answer: { kind: 'allow', scope: 'child' } }),
      await commands.revoke({ subagent_id, request_id: requestId }),
      await commands.flag({ subagent_id, title: 'x' }),
      await commands.discard({ subagent_id, force: true }),
      await commands.verify({ subagent_id }),
      await commands.apply({ subagent_id }),
      await commands.retry({ subagent_id }),
      await commands.acceptPartial({ subagent_id }),
    ]
    expect(await wishes(id, other)).toEqual(Array.from({ length: 17 }, () => gone))
    expect(await wishes('aaaaaaaaaa', other)).toEqual(await wishes(id, other))
    expect(readFileSync(stage.paths.child(id).events, 'utf8')).toBe(before)
    expect(
      await mine.commands.answer({ subagent_id: id, request_id: requestId, answer: { kind: 'text', text: 'r' } }),
    ).toMatchObject({ status: 'done' })
    stage.open('go')
    await stage.settled(id)
    expect(stage.said(id).some((text) => text.includes('Not yours'))).toBe(false)
  })

  it('a parent that was rebuilt with the same session id still controls it; a person controls every tree', async () => {
    stage = Stage.make()
    const owner = await stage.coxswain({ role: 'run' })
    await owner.tryOwn()
    const first = await stage.coxswain({ role: 'window', as: parent('durable') })
    const id = await one(first, script({ say: 'one' }, { hang: true }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    first.dispose()
    const rebuilt = await stage.coxswain({ role: 'window', as: parent('durable') })
    expect(code(await rebuilt.commands.steer({ subagent_id: id, message: 'x' }))).toBe('done')
    expect(code(await owner.commands.interrupt({ subagent_id: id }))).toBe('done')
    await stage.until(id, 'paused', ({ paused }) => paused)
  })

  it('a child that calls coxswain sees and controls its own tree only, and dispatches nothing', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const asChild = { env: { COXSWAIN_CHILD_ID: id } }
    const run = async (...args: string[]) => {
      const { code, out } = await stage.start([...args, '--json'], asChild).done
      const said = JSON.parse(out)
      return [code, said.error?.code ?? said.count]
    }
    expect(await run('list')).toEqual([0, 0])
    for (const command of ['show', 'transcript', 'result', 'stop', 'interrupt', 'resume', 'discard'])
      expect([command, ...(await run(command, id))]).toEqual([command, 2, 'unknown_child'])
    expect(await run('steer', id, 'Do as I say.')).toEqual([2, 'unknown_child'])
    expect(await run('run', '--task', stage.tasks(script({ say: 'x' })), '--detach')).toEqual([2, 'unsupported'])
    expect(stage.left().children).toEqual([id])
    stage.open('go')
    const { steers } = await stage.settled(id)
    expect(steers).toEqual([])
  })

  it('the owner-s socket serves only who shows its token, and answers nonsense with a refusal', async () => {
    stage = Stage.make()
    const owner = await stage.coxswain({ role: 'run' })
    const id = await one(owner, script(stage.waits('go')))
    const record = await stage.owner()
    if (record === undefined) throw new Error('nobody owns the store')
    expect(statSync(stage.paths.sockets).mode & 0o777).toBe(0o700)
    const say = async (text: string): Promise<Printed> =>
      await new Promise((resolve, reject) => {
        let answer = ''
        const socket = connect(record.socketPath, () => socket.write(text))
        socket.on('data', (data) => (answer += data.toString()))
        socket.on('error', (error) => ('code' in error && error.code === 'ECONNRESET' ? undefined : reject(error)))
        socket.on('close', () => resolve(answer === '' ? 'cut' : JSON.parse(answer)))
      })
    const message = (more: object) =>
      `${JSON.stringify({ v: 1, token: record.token, caller: { kind: 'person' }, command: 'stop', request: { subagent_id: id }, ...more })}\n`
    const answers = [
      await say(message({ token: 'x'.repeat(record.token.length) })),
      await say(message({ token: '' })),
      await say('hello\n'),
      await say('{}\n'),
      await say(message({ v: 2 })),
      await say(message({ command: 'constructor' })),
      await say(message({ caller: { kind: 'god' } })),
      await say(message({ request: { subagent_id: id, extra: 1 } })),
      await say(message({ request: 'stop' })),
      await say('x'.repeat(5 * 1024 * 1024)),
    ]
    expect(answers.map((answer) => answer.error?.code ?? answer)).toEqual([
      ...Array.from({ length: 7 }, () => 'unavailable'),
      'invalid',
      'invalid',
      'cut',
    ])
    expect((await stage.child(id)).stopRequest).toBeNull()
    expect((await say(message({}))).status).toBe('interrupt_requested')
    await stage.settled(id)
  })
})

describe('dispatch', () => {
  it('answers before any worktree or process exists; its ids are known and its log has a header from that instant', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const answer = await coxswain.commands.spawn({ tasks: [{ goal: script({ say: 'one' }), title: 'Early\nbird' }] })
    const left = stage.left()
    const [id = ''] = idsOf(answer)
    expect([left.children, left.worktrees, left.folders, stage.childProcesses()]).toEqual([[id], [], [], []])
    const [log = ''] = 'live_transcripts' in answer ? answer.live_transcripts : []
    expect(readFileSync(log, 'utf8')).toMatch(
      new RegExp(`^\\S+Z child ${id} "Early bird" accepted for Demo agent\\n\\S+Z goal: Follow this\\.`),
    )
    expect(code(await coxswain.commands.steer({ subagent_id: id, message: 'Early.' }))).toBe('done')
    await stage.settled(id)
  })

  it('of two that race for the last place exactly one is accepted, and an over-full batch starts nothing', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run', set: { maxChildrenTotal: 1 } })
    const goal = script(stage.waits('go'))
    const two = { tasks: [{ goal }, { goal }] }
    expect(code(await coxswain.commands.spawn(two))).toBe('over_cap')
    expect(stage.left().children).toEqual([])
    const answers = await Promise.all(Array.from({ length: 5 }, () => coxswain.commands.spawn({ tasks: [{ goal }] })))
    expect(answers.map(code).sort()).toEqual(['done', 'over_cap', 'over_cap', 'over_cap', 'over_cap'])
    expect(stage.left().children).toHaveLength(1)
    stage.open('go')
    await stage.settled(stage.left().children[0] ?? '')
    expect(code(await coxswain.commands.spawn({ tasks: [{ goal }] }))).toBe('done')
    await stage.settled(
      stage.left().children.find((id) => !answers.some((answer) => JSON.stringify(answer).includes(id))) ?? '',
    )
  })

  it('counts a parent-s children for the parent and everybody-s for the total; control is free at the cap', async () => {
    stage = Stage.make()
    const owner = await stage.coxswain({ role: 'run', set: { maxChildrenPerParent: 1, maxChildrenTotal: 3 } })
    await owner.tryOwn()
    const [a, b] = await Promise.all(['a', 'b'].map((session) => stage.coxswain({ as: parent(session) })))
    if (a === undefined || b === undefined) throw new Error('not opened')
    const goal = deafScript({ say: 'one' }, { hang: true })
    const id = await one(a, goal)
    const request: SpawnRequest = { tasks: [{ goal }] }
    const refused = await a.commands.spawn(request)
    expect(isRefusal(refused) && refused.error.message).toMatch(
      /coxswain\.maxChildrenPerParent = 1; live now: .*\(\w{10}\)/,
    )
    const others = [await one(b, goal), await one(owner, goal)]
    expect(code(await owner.commands.spawn(request))).toBe('over_cap')
    await eventually(() => [id, ...others].every((each) => stage.said(each).includes('one')), 'all work')
    expect(code(await a.commands.steer({ subagent_id: id, message: 'x' }))).toBe('done')
    expect(code(await a.commands.interrupt({ subagent_id: id }))).toBe('done')
    await stage.until(id, 'paused', ({ paused }) => paused)
    // The slot that the pause freed is taken by another: the resume is refused loudly, and nothing is lost.
    await eventually(async () => !isRefusal(await owner.commands.spawn(request)), 'the place is free')
    const answer = await a.commands.resume({ subagent_id: id })
    expect([code(answer), (await stage.child(id)).paused]).toEqual(['over_cap', true])
    for (const other of others) expect(code(await owner.commands.stop({ subagent_id: other }))).toBe('done')
    await Promise.all(others.map((other) => stage.settled(other)))
    expect(code(await a.commands.resume({ subagent_id: id, message: 'Go on.' }))).toBe('done')
  })

  it('shows a failed child among the results of its batch', async () => {
    stage = Stage.make()
    const running = stage.start([
      'run',
      '--task',
      stage.tasks(script({ say: 'a' }), script({ fail: 'no luck' })),
      '--json',
    ])
    expect((await running.done).code).toBe(1)
    const { subagents } = running.objects().at(-1).completion
    expect(subagents.map((child: Printed) => [child.phase, child.failure])).toEqual([
      ['SUCCESS', null],
      ['FAILURE', 'Process exited with code 1: no luck'],
    ])
  })

  it('children know nothing of each other', async () => {
    stage = Stage.make()
    const agents = stage.agents(
      `import { readFileSync } from 'node:fs'
       const all = JSON.stringify([process.argv, process.env, process.cwd(), readFileSync(process.env.COXSWAIN_PROMPT_FILE, 'utf8')])
       console.log(JSON.stringify({ type: 'result', ok: true, summary: all }))`,
    )
    const tasks = ['North', 'South'].map((title) => ({ goal: `Go ${title}.`, title, agent: 'kid' }))
    const running = stage.start(['run', '--task', stage.tasks(...tasks), '--agents', agents, '--json'])
    expect((await running.done).code).toBe(0)
    const [north, south] = running.objects().at(-1).completion.subagents
    for (const [own, other] of [
      [north, south],
      [south, north],
    ])
      for (const word of [other.subagent_id, other.title, other.worktree.branch])
        expect(own.report.summary).not.toContain(word)
  })
})

describe('steers', () => {
  it('never cut a running tool call: they wait for its result', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const wait = `until [ -e '${stage.latch('go')}' ]; do sleep 0.02; done; echo finished`
    const id = await one(coxswain, script({ run: ['sh', '-c', wait] }, { say: 'after' }))
    await eventually(() => stage.transcript(id).some((entry) => entry.kind === 'toolStarted'), 'the tool runs')
    await coxswain.commands.steer({ subagent_id: id, message: 'Look at auth.js.' })
    await stage.until(id, 'sent', ({ steers }) => steers[0]?.state === 'sent')
    expect(stage.transcript(id).some((entry) => entry.kind === 'toolEnded')).toBe(false)
    stage.open('go')
    const { steers } = await stage.settled(id)
    const order = stage
      .transcript(id)
      .flatMap((entry) =>
        entry.kind === 'toolEnded'
          ? [entry.output.trim(), entry.isError]
          : entry.kind === 'receipt'
            ? [entry.state]
            : [],
      )
    expect([order.slice(0, 4), steers[0]?.state]).toEqual([['sent', 'finished', false, 'delivered'], 'confirmed'])
  })

  it('are not blocked or lost by a malformed line in the queue', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const id = await one(coxswain, script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const queue = join(stage.paths.child(id).attempt(1).control, 'prompt-queue.jsonl')
    await coxswain.commands.steer({ subagent_id: id, message: 'First.' })
    await stage.until(id, 'sent', ({ steers }) => steers[0]?.state === 'sent')
    appendFileSync(queue, '{"id":"x","content":\n\0\0\0\n[]\n{"id":"y","con')
    await coxswain.commands.steer({ subagent_id: id, message: 'Second.' })
    // One that is still queued when the agent ends would be missed, and rightly so.
    await stage.until(id, 'sent', ({ steers }) => steers[1]?.state === 'sent')
    stage.open('go')
    const { steers } = await stage.settled(id)
    expect(steers.map(({ text, state }) => [text, state])).toEqual([
      ['First.', 'confirmed'],
      ['Second.', 'confirmed'],
    ])
  })

  it('reach an agent that was given lists of what may run in it, and leave the lists as they were given', async () => {
    stage = Stage.make()
    const list = 'elicitation, token_awareness,,"*"'
    stage.variables['HOOK_ALLOWLIST'] = list
    const program = stage.file(
      `import fs from 'node:fs'
       const say = (line) => fs.writeSync(1, JSON.stringify(line) + '\\n')
       const lists = { args: process.argv.slice(2), hooks: process.env.HOOK_ALLOWLIST ?? null }
       say({ type: 'text', text: JSON.stringify(lists) })
       const timer = setInterval(() => {
         let lines = []
         try {
           lines = fs.readFileSync(process.env.COXSWAIN_CONTROL_DIR + '/prompt-queue.jsonl', 'utf8').split('\\n').slice(0, -1)
         } catch {}
         for (const line of lines) {
           say({ type: 'steer_taken', id: JSON.parse(line).id })
           say({ type: 'text', text: JSON.parse(line).content })
         }
         if (lines.length === 0) return
         clearInterval(timer)
         say({ type: 'result', ok: true })
       }, 10)`,
      'kid.mjs',
    )
    const kid = { kind: 'commandLine', command: [process.execPath, program, '--hooks', list, '--'], protocol: 'lines' }
    const agents = { listed: { ...kid, environment: ['HOOK_ALLOWLIST'] }, unlisted: kid }
    const coxswain = await stage.coxswain({ role: 'run', set: { agents } })
    const ids = idsOf(
      await coxswain.commands.spawn({
        tasks: [
          { goal: 'Wait.', agent: 'listed' },
          { goal: 'Wait too.', agent: 'unlisted' },
        ],
      }),
    )
    for (const [n, id] of ids.entries()) {
      await eventually(() => stage.said(id).length === 1, 'it has said what it was given')
      await coxswain.commands.steer({ subagent_id: id, message: `Note ${n}.` })
      const { steers } = await stage.settled(id)
      const [given = '', ...heard] = stage.said(id)
      expect(JSON.parse(given)).toEqual({ args: ['--hooks', list, '--'], hooks: n === 0 ? list : null })
      expect([steers.map(({ state }) => state), heard]).toEqual([['confirmed'], [`Note ${n}.`]])
    }
  })

  it('accepted while the child is returning are delivered or missed, there is no third way', async () => {
    stage = Stage.make()
    // Takes what is queued every few milliseconds until its time is over.
    const program = stage.file(
      `const fs = require('node:fs')
       const { COXSWAIN_PROMPT_FILE: prompt, COXSWAIN_CONTROL_DIR: control } = process.env
       const say = (line) => fs.writeSync(1, JSON.stringify(line) + '\\n')
       const over = Date.now() + parseInt(fs.readFileSync(prompt, 'utf8'))
       let taken = 0
       say({ type: 'ready' })
       const timer = setInterval(() => {
         let lines = []
         try { lines = fs.readFileSync(control + '/prompt-queue.jsonl', 'utf8').split('\\n').slice(0, -1) } catch {}
         for (; taken < lines.length; taken++) {
           say({ type: 'steer_taken', id: JSON.parse(lines[taken]).id })
           say({ type: 'text', text: 'I have it' })
         }
         if (Date.now() < over) return
         clearInterval(timer)
         say({ type: 'result', ok: true })
       }, 7)`,
      'kid.cjs',
    )
    const agents = { kid: { kind: 'commandLine', command: [process.execPath, program], protocol: 'lines' } }
    const coxswain = await stage.coxswain({ role: 'run', set: { maxChildrenTotal: 8, agents } })
    const ids = idsOf(
      await coxswain.commands.spawn({ tasks: [0, 1, 2, 3].map((n) => ({ goal: `${60 + n * 25}`, agent: 'kid' })) }),
    )
    const accepted = new Map(ids.map((id) => [id, [] as string[]]))
    await Promise.all(
      ids.map(async (id) => {
        for (let n = 0; ; n++) {
          const answer = await coxswain.commands.steer({ subagent_id: id, message: `Note ${n}.` })
          if (isRefusal(answer)) return expect(answer.error.code).toMatch(/not_accepting|finished/)
          if ('steer_id' in answer) accepted.get(id)?.push(answer.steer_id)
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      }),
    )
    for (const id of ids) {
      const { steers, phase } = await stage.settled(id)
      expect([phase, steers.map((steer) => steer.id)]).toEqual(['SUCCESS', accepted.get(id)])
      expect(steers.filter(({ state }) => !['delivered', 'confirmed', 'missed'].includes(state))).toEqual([])
      const result = await stage.json('result', id)
      const missed = steers.filter(({ state }) => state === 'missed').map((steer) => steer.id)
      expect(result.missed_steers.map((steer: Printed) => steer.steer_id)).toEqual(missed)
    }
  })

  it('after the child returned are refused, even while its completion is being told', async () => {
    stage = Stage.make()
    const told: Promise<CommandAnswer>[] = []
    const coxswain: Coxswain = await stage.coxswain({
      role: 'run',
      onSettled: (id) => told.push(coxswain.commands.steer({ subagent_id: id, message: 'One more thing.' })),
    })
    const id = await one(coxswain, script({ say: 'one' }))
    await stage.settled(id)
    await eventually(() => told.length === 1, 'the completion was told once')
    expect((await Promise.all(told)).map(code)).toEqual(['finished'])
    expect((await stage.child(id)).steers).toEqual([])
  })

  it('under one id are one steer, however often and by whomever it is sent', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const id = await one(coxswain, script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    const send = () => coxswain.commands.steer({ subagent_id: id, message: 'Once.', steer_id: 'same' })
    await Promise.all([send(), send(), send()])
    stage.open('go')
    const { steers } = await stage.settled(id)
    expect([steers.length, code(await send())]).toEqual([1, 'done'])
  })

  it('that wait can be edited, reordered and withdrawn before the agent is there', async () => {
    stage = Stage.make()
    const agents = { kid: { kind: 'commandLine', command: ['/bin/sh', '-c', slow()], protocol: 'lines' } }
    const coxswain = await stage.coxswain({ role: 'run', set: { agents } })
    const [id = ''] = idsOf(await coxswain.commands.spawn({ tasks: [{ goal: 'x', agent: 'kid' }] }))
    await stage.until(id, 'launched', (child) => typeof currentAttempt(child)?.launchedAt === 'string')
    const { commands } = coxswain
    for (const steer_id of ['a', 'b', 'c']) await commands.steer({ subagent_id: id, message: `${steer_id}.`, steer_id })
    expect(code(await commands.editSteer({ subagent_id: id, steer_id: 'a', message: 'A!' }))).toBe('done')
    expect(code(await commands.reorderSteers({ subagent_id: id, order: ['c', 'a', 'b'] }))).toBe('done')
    expect(code(await commands.withdrawSteer({ steer_id: 'b' }))).toBe('done')
    expect((await stage.child(id)).steers.map(({ state }) => state)).toEqual(['queued', 'queued', 'withdrawn'])
    stage.open('go')
    const { steers } = await stage.settled(id)
    expect(steers.map((steer) => [steer.id, steer.state])).toEqual([
      ['c', 'confirmed'],
      ['a', 'confirmed'],
      ['b', 'withdrawn'],
    ])
    expect(stage.said(id)).toEqual(['c.', 'A!'])
  })

  /** Says `ready` once the latch is open, then takes what is queued and repeats it. */
  function slow(): string {
    return `
      until [ -e '${stage.latch('go')}' ]; do sleep 0.02; done
      echo '{"type":"ready"}'
      until [ "$(wc -l < "$COXSWAIN_CONTROL_DIR/prompt-queue.jsonl" 2>/dev/null || echo 0)" -ge 2 ]; do sleep 0.02; done
      while read -r line; do
        id=$(printf %s "$line" | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
        text=$(printf %s "$line" | sed 's/.*"content":"\\([^"]*\\)".*/\\1/')
        echo "{\\"type\\":\\"steer_taken\\",\\"id\\":\\"$id\\"}"
        echo "{\\"type\\":\\"text\\",\\"text\\":\\"$text\\"}"
      done < "$COXSWAIN_CONTROL_DIR/prompt-queue.jsonl"
      echo '{"type":"result","ok":true}'`
  }
})

describe('ends', () => {
  it('a completion is written once, whoever owns the store afterwards, and an interrupt has none', async () => {
    stage = Stage.make()
    const settled: string[] = []
    const coxswain = await stage.coxswain({ role: 'run', onSettled: (id) => settled.push(id) })
    const id = await one(coxswain, script({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await coxswain.commands.interrupt({ subagent_id: id, reason: 'lunch' })
    await stage.until(id, 'paused', ({ paused }) => paused)
    expect((await stage.child(id)).completions).toEqual([])
    stage.open('go')
    await coxswain.commands.resume({ subagent_id: id })
    await stage.settled(id)
    const path = stage.paths.child(id).result(1)
    const result = readFileSync(path, 'utf8')
    coxswain.dispose()
    await coxswain.closed()
    const next = await stage.coxswain({ role: 'run', onSettled: (child) => settled.push(child) })
    await next.tryOwn()
    await next.commands.stop({ subagent_id: id })
    expect((await stage.child(id)).completions.map((completion) => completion.id)).toEqual([`${id}.1`])
    expect([readFileSync(path, 'utf8'), readdirSync(join(path, '..'))]).toEqual([result, ['round-1.json']])
  })

  it('of two resumes in one instant exactly one starts an attempt', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run' })
    const id = await one(coxswain, script({ say: 'one' }))
    await stage.settled(id)
    const resume = (message: string) => coxswain.commands.resume({ subagent_id: id, message })
    const answers = await Promise.all([resume(script({ say: 'a' })), resume(script({ say: 'b' })), resume('c')])
    expect(answers.map(code).sort()).toEqual(['busy', 'busy', 'done'])
    await stage.until(id, 'round 2', ({ completions }) => completions.length === 2)
    expect([(await stage.child(id)).attempts.length, stage.said(id).includes('b')]).toEqual([2, false])
  })

  it('a time limit interrupts, names its setting, and leaves the child resumable', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run', set: { childTimeoutSeconds: 0.6 } })
    const id = await one(coxswain, script({ say: 'one' }, { hang: true }))
    const child = await stage.settled(id)
    expect([child.phase, child.attempts[0]?.endRequest?.cause]).toEqual(['INTERRUPTED', 'timeout'])
    expect((await stage.json('result', id)).failure).toBe('it ran longer than childTimeoutSeconds = 0.6')
    expect(stage.childProcesses().filter(({ command }) => command.includes('demoAgent'))).toEqual([])
    expect(code(await coxswain.commands.resume({ subagent_id: id, message: script({ say: 'two' }) }))).toBe('done')
    await stage.until(id, 'round 2', ({ completions }) => completions.length === 2)
  })

  it('a budget interrupts at the first report over it, in words with its number', async () => {
    stage = Stage.make()
    const agents = stage.agents(`
      console.log(JSON.stringify({ type: 'usage', input_tokens: 60, output_tokens: 30 }))
      console.log(JSON.stringify({ type: 'usage', input_tokens: 5, output_tokens: 6, cost_usd: 0.5 }))
      setInterval(() => 0, 1000)`)
    const task = { goal: 'x', agent: 'kid', limits: { max_tokens: 100 } }
    const id = await stage.detached(task, '--agents', agents)
    const child = await stage.settled(id)
    expect([child.phase, child.attempts[0]?.endRequest?.cause]).toEqual(['INTERRUPTED', 'budget'])
    const result = await stage.json('result', id)
    expect([result.failure, result.tokens, result.cost_usd]).toEqual([
      'it used 101 tokens of max_tokens = 100',
      101,
      0.5,
    ])
  })

  it('a limit of turns interrupts with what there is, in words that name it, also when the owner changed in between', async () => {
    stage = Stage.make()
    const agents = JSON.parse(
      readFileSync(
        stage.agents(`
          import { existsSync } from 'node:fs'
          const say = (line) => console.log(JSON.stringify(line))
          const turn = (n) => {
            say({ type: 'text', text: 'turn ' + n })
            say({ type: 'tool_started', id: String(n), name: 'run', input: {} })
            say({ type: 'tool_ended', id: String(n), output: '' })
          }
          turn(1), turn(2)
          let went = false
          setInterval(() => {
            if (went || !existsSync(${JSON.stringify(stage.latch('go'))})) return
            went = true
            turn(3)
          }, 20)`),
        'utf8',
      ),
    )
    const set = { agents, maxIterations: 2 }
    const first = await stage.coxswain({ role: 'run', set })
    const [id = ''] = idsOf(await first.commands.spawn({ tasks: [{ goal: 'x', agent: 'kid' }] }))
    await eventually(() => stage.said(id).includes('turn 2'), 'the second turn')
    first.dispose()
    await first.closed()
    const next = await stage.coxswain({ role: 'run', set })
    await next.tryOwn()
    await next.recovered()
    expect(isLive(await stage.child(id))).toBe(true)
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, child.attempts[0]?.endRequest?.cause, child.attempts[0]?.turns]).toEqual([
      'INTERRUPTED',
      'budget',
      3,
    ])
    const result = await stage.json('result', id)
    expect([result.partial, result.failure]).toEqual([
      true,
      'it took the 2 turns of max_turns (coxswain.maxIterations) = 2',
    ])
  })

  it('a retry of its contract counts against the same tokens, and none is made once they are used up', async () => {
    stage = Stage.make()
    const agents = stage.agents(`
      const say = (line) => console.log(JSON.stringify(line))
      say({ type: 'usage', input_tokens: 50 })
      say({ type: 'result', ok: true, summary: 'done', output: { artifacts: { 'out.md': 'out.md' } } })`)
    const contract = { deliverables: [{ path: 'out.md' }], maxRetries: 3 }
    const task = { goal: 'x', agent: 'kid', contract, limits: { max_tokens: 100 } }
    const id = await stage.detached(task, '--agents', agents)
    const child = await stage.settled(id)
    expect(child.attempts.map(({ reason, usage }) => [reason, usage.inputTokens])).toEqual([
      ['first', 50],
      ['retry', 50],
    ])
    expect(child.verdict?.notes).toContain(
      'cannot be asked again: it used 100 tokens of max_tokens = 100, and nothing is done by itself beyond that',
    )
  })

  it('an agent that reports with work in the background is left to it, until it has been idle for the grace', async () => {
    stage = Stage.make()
    const agents = JSON.parse(
      readFileSync(
        stage.agents(`
          import { existsSync } from 'node:fs'
          const say = (line) => console.log(JSON.stringify(line))
          say({ type: 'text', text: 'one' })
          say({ type: 'result', ok: true, summary: 'first', background_tasks: 1 })
          let said = false
          setInterval(() => {
            if (said || !existsSync(${JSON.stringify(stage.latch('go'))})) return
            said = true
            say({ type: 'text', text: 'of the background' })
            say({ type: 'result', ok: true, summary: 'second', background_tasks: 1 })
          }, 20)`),
        'utf8',
      ),
    )
    const coxswain = await stage.coxswain({ role: 'run', set: { agents, idleGraceSeconds: 1 } })
    const [id = ''] = idsOf(await coxswain.commands.spawn({ tasks: [{ goal: 'x', agent: 'kid' }] }))
    await stage.until(id, 'reported', (child) => currentAttempt(child)?.report?.summary === 'first')
    stage.open('go')
    await eventually(() => stage.said(id).includes('of the background'), 'the background speaks')
    expect(currentAttempt(await stage.child(id))?.closing).toBe(false)
    await stage.until(id, 'finishing', (child) => currentAttempt(child)?.closing === true)
    const child = await stage.until(id, 'settled', ({ completions }) => completions.length === 1, 30_000)
    expect([child.phase, child.attempts[0]?.report?.summary]).toEqual(['SUCCESS', 'second'])
    await stage.untilNothingRuns()
  })

  it('a question nobody answers is denied after approvalTimeoutSeconds, and that is recorded', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain({ role: 'run', set: { approvalTimeoutSeconds: 0.3 } })
    const id = await one(coxswain, script({ ask: { tool: 'run', input: 'rm' } }, { say: 'with leave' }, { say: 'end' }))
    const { requests } = await stage.settled(id)
    expect([requests[0]?.answer, requests[0]?.note]).toEqual([
      { kind: 'deny', message: 'Nobody answered in time.' },
      'timed out',
    ])
    expect([stage.said(id).includes('with leave'), stage.said(id).at(-1)]).toEqual([false, 'end'])
  })

  it('an agent that reports and does not go is ended, and its success stands', async () => {
    stage = Stage.make()
    const agents = stage.agents(`
      console.log(JSON.stringify({ type: 'result', ok: true, summary: 'done' }))
      setInterval(() => 0, 1000)`)
    const id = await stage.detached({ goal: 'x', agent: 'kid' }, '--agents', agents)
    const finishing = await stage.until(id, 'finishing', (child) => currentAttempt(child)?.closing === true)
    expect(isLive(finishing)).toBe(true)
    const child = await stage.until(id, 'settled', ({ completions }) => completions.length === 1, 30_000)
    expect([child.phase, child.attempts[0]?.exit?.firstCause]).toEqual(['SUCCESS', 'finished'])
    await stage.untilNothingRuns()
  })

  it('a diagnostic holds the last 20 lines of stderr', async () => {
    stage = Stage.make()
    const agents = stage.agents(`
      for (let n = 1; n <= 3000; n++) console.error('line ' + n)
      process.exitCode = 4`)
    const { out } = await stage.cli(
      'run',
      '--task',
      stage.tasks({ goal: 'x', agent: 'kid' }),
      '--agents',
      agents,
      '--json',
    )
    const [child] = JSON.parse(out.trim().split('\n').at(-1) ?? '').completion.subagents
    const tail = Array.from({ length: 20 }, (_, n) => `line ${2981 + n}`).join('\n')
    expect(child.failure).toBe(`Process exited with code 4\nChild stderr tail:\n${tail}`)
  })

  it('an over-long summary is cut in the result and whole in the raw output', async () => {
    stage = Stage.make()
    const agents = stage.agents(
      `console.log(JSON.stringify({ type: 'result', ok: true, summary: 's'.repeat(50000) + 'END' }))`,
    )
    const id = await stage.detached({ goal: 'x', agent: 'kid' }, '--agents', agents)
    await stage.settled(id)
    const { report } = await stage.json('result', id)
    const raw = join(stage.paths.child(id).attempt(1).folder, 'raw')
    const [segment = ''] = readdirSync(raw).filter((name) => name.startsWith('stdout'))
    expect([report.summary.length <= 32_000, readFileSync(join(raw, segment), 'utf8').includes('sEND')]).toEqual([
      true,
      true,
    ])
  })
})

describe('what is written', () => {
  it('for people to read holds no secret that somebody told the child, and the child hears it all the same', async () => {
    stage = Stage.make()
    const secret = 'sk-canary-"4f1c"-9a7723'
    const agents = stage.agents(
      `import { readFileSync } from 'node:fs'
       const { KID_KEY, COXSWAIN_PROMPT_FILE: prompt } = process.env
       const heard = readFileSync(prompt, 'utf8').includes(KID_KEY)
       console.log(JSON.stringify({ type: 'result', ok: heard, summary: 'heard: ' + heard }))`,
      { secrets: ['KID_KEY'] },
    )
    const task = { goal: `Log in with ${secret} at the harbour. ${'x'.repeat(1_970)} ${secret}`, agent: 'kid' }
    const running = stage.start(['run', '--task', stage.tasks(task), '--agents', agents, '--json'], {
      env: { KID_KEY: secret },
    })
    const { code } = await running.done
    const id = running.objects()[0].subagent_ids[0]
    expect(code).toBe(0)
    const { liveTranscript, worktree } = await stage.child(id)
    expect(worktree?.branch).not.toMatch(/canary|4f1c/)
    for (const path of [liveTranscript, stage.paths.child(id).transcript]) {
      const text = readFileSync(path, 'utf8')
      expect(text.match(/.{60}sk-canary.{40}/g)).toBeNull()
      expect(text).toContain('Log in with [redacted KID_KEY] at the harbour.')
    }
  })

  it('holds no secret that was named as one, wherever the child puts it, and is private', async () => {
    stage = Stage.make()
    const secret = 'sk-canary-4f1c9a7723'
    const agents = stage.agents(
      `const { KID_KEY } = process.env
       const say = (line) => console.log(JSON.stringify(line))
       say({ type: 'text', text: 'my key is ' + KID_KEY + ' and my word is harbour' })
       say({ type: 'tool_started', id: '1', name: 'run', input: { command: 'curl -H ' + KID_KEY } })
       say({ type: 'tool_ended', id: '1', output: KID_KEY, is_error: true })
       console.error('failed with ' + KID_KEY)
       process.stdout.write('{"type":"text","text":"' + KID_KEY.slice(0, 9))
       setTimeout(() => {
         process.stdout.write(KID_KEY.slice(9) + '"}\\n')
         say({ type: 'result', ok: false, summary: KID_KEY, output: { key: KID_KEY } })
       }, 80)`,
      { secrets: ['KID_KEY'] },
    )
    const running = stage.start(
      ['run', '--task', stage.tasks({ goal: 'x', agent: 'kid' }), '--agents', agents, '--json'],
      {
        env: { KID_KEY: secret },
      },
    )
    const { out, err } = await running.done
    const id = running.objects()[0].subagent_ids[0]
    expect([out.includes(secret), err.includes(secret)]).toEqual([false, false])
    expect(stage.said(id)[0]).toMatch(/^my key is .+ and my word is harbour$/)
    const found: string[] = []
    const open: string[] = []
    for (const entry of readdirSync(stage.data, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      const { mode } = statSync(path)
      // git gives its own files the modes it likes; the folders around them are private.
      if ((mode & 0o077) !== 0 && !(entry.isFile() && path.startsWith(stage.paths.git))) open.push(path)
      if (entry.isFile() && readFileSync(path).includes(secret)) found.push(path)
    }
    expect([found, open]).toEqual([[], []])
    const log = readFileSync((await stage.child(id)).liveTranscript, 'utf8')
    expect(log).toMatch(/ tool ERROR: /)
    expect(existsSync(stage.paths.child(id).events)).toBe(true)
  })
})
