import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { currentAttempt, type Child } from '../../../src/core/child'
import type { Fact } from '../../../src/core/events'
import type { TranscriptEntry } from '../../../src/core/transcript'
import { ChildLog } from '../../../src/record/childLog'
import { eventually, kill, script, Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

/** Kills the owner of the store as a crash would; true once it is gone. */
async function killOwner(): Promise<void> {
  const owner = await stage.owner()
  if (owner === undefined) throw new Error('nobody owns the store')
  kill(owner.process.pid, 'SIGKILL')
  await eventually(() => !stage.ps().some(({ pid }) => pid === owner.process.pid), 'the owner is dead')
}

/** Counts to `last`, one line every 10 ms, and notes each start of itself in a file. */
const counting = (last: number) => `
  import { appendFileSync } from 'node:fs'
  appendFileSync(${JSON.stringify(join(stage.root, 'starts'))}, process.pid + '\\n')
  let n = 0
  const say = (line) => console.log(JSON.stringify(line))
  const timer = setInterval(() => {
    say({ type: 'text', text: 'line ' + ++n })
    say({ type: 'usage', input_tokens: 1 })
    if (n < ${last}) return
    clearInterval(timer)
    say({ type: 'result', ok: true, summary: 'counted' })
  }, 10)`

const starts = (): string[] => readFileSync(join(stage.root, 'starts'), 'utf8').trim().split('\n')
const counted = (last: number): string[] => Array.from({ length: last }, (_, n) => `line ${n + 1}`)

describe('when the owner is killed while a child runs', () => {
  it('a new owner goes on with the transcript without gap or double, and nothing is started twice', async () => {
    stage = Stage.make()
    const id = await stage.detached({ goal: 'Count.', agent: 'kid' }, '--agents', stage.agents(counting(300)))
    for (const lines of [20, 90, 160]) {
      await eventually(() => stage.said(id).length >= lines, `${lines} lines are told`)
      await killOwner()
      // Any command that acts brings a new owner; this one is refused, and the child is found again all the same.
      await stage.cli('stop', 'aaaaaaaaaa')
    }
    const child = await stage.settled(id)
    expect([child.phase, child.attempts.length, child.misfits]).toEqual(['SUCCESS', 1, 0])
    expect(stage.said(id)).toEqual(counted(300))
    expect((await stage.json('result', id)).tokens).toBe(300)
    expect(stage.transcript(id).map((entry) => entry.n)).toEqual(stage.transcript(id).map((_, n) => n))
    expect(starts()).toHaveLength(1)
    const seqs = stage.events(id).map((event) => event.seq)
    expect(seqs).toEqual(seqs.map((_, i) => i + 1))
    await stage.untilNothingRuns()
  })

  it('a steer queued before and one queued after are both delivered once', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }, stage.waits('end')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await stage.json('steer', id, 'First note.')
    await stage.until(id, 'sent', ({ steers }) => steers[0]?.state === 'sent')
    await killOwner()
    await stage.json('steer', id, 'Second note.')
    stage.open('go')
    await stage.until(id, 'confirmed', ({ steers }) => steers.every((steer) => steer.state === 'confirmed'))
    stage.open('end')
    const { steers, attempts } = await stage.settled(id)
    expect(steers.map(({ text, history }) => [text, history.map(({ state }) => state).join(' ')])).toEqual([
      ['First note.', 'queued sent delivered confirmed'],
      ['Second note.', 'queued sent delivered confirmed'],
    ])
    const queue = readFileSync(join(stage.paths.child(id).attempt(1).control, 'prompt-queue.jsonl'), 'utf8')
    expect([queue.trim().split('\n').length, attempts.length]).toEqual([2, 1])
  })

  it('a question that waited goes on waiting, and its answer reaches the agent once', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ ask: { tool: 'run', input: { command: 'npm publish' } } }, { say: 'on' }))
    const asked = await stage.until(id, 'asked', ({ requests }) => requests.length === 1)
    for (let kills = 0; kills < 2; kills++) {
      await killOwner()
      await stage.cli('stop', 'aaaaaaaaaa')
      const [row] = (await stage.json('list')).subagents
      expect([row.phase, row.needs]).toEqual(['RUNNING', 'an approval'])
    }
    await stage.json('answer', asked.requests[0]?.id ?? '', '--allow')
    await killOwner()
    await stage.cli('stop', 'aaaaaaaaaa')
    const child = await stage.settled(id)
    expect([child.phase, child.attempts.length, child.misfits]).toEqual(['SUCCESS', 1, 0])
    expect(child.requests.map(({ answer }) => answer?.kind)).toEqual(['allow'])
    expect(stage.said(id).filter((text) => text === 'Thank you, I have leave.' || text === 'on')).toHaveLength(2)
  })

  it('a child that ended meanwhile is found ended, with its report and its result', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }, { commit: 'x' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await killOwner()
    stage.open('go')
    await eventually(() => existsSync(join(stage.paths.child(id).attempt(1).folder, 'exit.json')), 'it has ended')
    expect((await stage.json('list')).subagents[0].phase).toBe('RUNNING')
    await stage.cli('stop', 'aaaaaaaaaa')
    const child = await stage.settled(id)
    expect([child.phase, stage.said(id)]).toEqual(['SUCCESS', ['one', 'two']])
    expect((await stage.json('result', id)).report.ok).toBe(true)
    await stage.untilNothingRuns()
  })

  it('a stop asked for before the crash is carried out after it', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, { hang: true }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await killOwner()
    // What the owner wrote before it could act.
    const log = await ChildLog.open(
      stage.paths.child(id).events,
      ((await stage.owner())?.epoch ?? 0) + 1,
      () => new Date(),
    )
    await log.append([{ type: 'stopRequested', reason: 'wrong task', by: { kind: 'person' } }], true)
    await log.close()
    await stage.cli('stop', 'aaaaaaaaaa')
    expect((await stage.settled(id)).phase).toBe('CANCELLED')
    await stage.untilNothingRuns()
  })

  it('a joined run that is killed leaves a child that the next command finds', async () => {
    stage = Stage.make()
    const running = stage.start(['run', '--task', stage.tasks(script({ say: 'one' }, stage.waits('go'))), '--json'])
    const id = await running.firstId()
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    running.kill('SIGKILL')
    await running.done
    await stage.json('steer', id, 'Go on.')
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, child.steers[0]?.state]).toEqual(['SUCCESS', 'confirmed'])
  })
})

it('killed at any moment of a start, an owner leaves a child that is begun once or not at all, and says which', async () => {
  stage = Stage.make()
  const agents = stage.agents(`
    import { appendFileSync } from 'node:fs'
    appendFileSync(${JSON.stringify(join(stage.root, 'starts'))}, process.env.COXSWAIN_CHILD_ID + '\\n')
    console.log(JSON.stringify({ type: 'result', ok: true, summary: 'done' }))`)
  writeFileSync(join(stage.root, 'starts'), '')
  for (const delayMs of [0, 60, 120, 180, 300, 500]) {
    const id = await stage.detached({ goal: 'Once.', agent: 'kid' }, '--agents', agents)
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    await killOwner()
    await stage.cli('stop', 'aaaaaaaaaa')
    const { phase, attempts } = await stage.settled(id)
    const times = starts().filter((started) => started === id).length
    const failure = attempts[0]?.startFailure?.reason ?? ''
    if (times === 0)
      expect([delayMs, phase, failure]).toEqual([delayMs, 'FAILURE', expect.stringContaining('Nothing ran')])
    else expect([delayMs, phase, times]).toEqual([delayMs, 'SUCCESS', 1])
  }
  await stage.untilNothingRuns()
})

describe('when the keeper is killed', () => {
  it('the attempt is recorded as interrupted, what it started is ended, and a resume goes on', async () => {
    stage = Stage.make()
    const goal = script(
      { say: 'one' },
      { spawn: { argv: ['sleep', '1000'], detached: true } },
      { say: 'two' },
      { hang: 'deaf' },
    )
    const id = await stage.detached(goal)
    await eventually(() => stage.said(id).includes('two'), 'the child works')
    const { attempts } = await stage.child(id)
    kill(attempts[0]?.keeper?.pid ?? 0, 'SIGKILL')
    const child = await stage.settled(id)
    const attempt = currentAttempt(child)
    expect([child.phase, attempt?.ended, attempt?.exit]).toEqual(['INTERRUPTED', 'INTERRUPTED', null])
    expect(attempt?.vanished).toMatch(/^Its keeper is gone without a record of the end\. \d of its processes still ran/)
    expect(stage.childProcesses()).toEqual([])
    expect((await stage.json('result', id)).failure).toBe(attempt?.vanished)
    await stage.json('resume', id, script({ say: 'three' }))
    const after = await stage.until(id, 'round 2', ({ round, completions }) => round === 2 && completions.length === 2)
    expect([after.phase, after.attempts.length, stage.said(id).includes('three')]).toEqual(['SUCCESS', 2, true])
  })

  it('together with the owner, the next owner finds out and ends what is left', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, { hang: 'deaf' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const { attempts } = await stage.child(id)
    await killOwner()
    kill(attempts[0]?.keeper?.pid ?? 0, 'SIGKILL')
    await stage.cli('stop', 'aaaaaaaaaa')
    expect((await stage.settled(id)).phase).toBe('INTERRUPTED')
    expect(stage.childProcesses()).toEqual([])
    expect(stage.said(id)).toEqual(['one'])
  })
})

describe('when the owner dies between an intent and its deed', () => {
  /** A child under a dead owner: these facts are in its log, and nothing else has been done. */
  async function dead(...more: Fact[]): Promise<string> {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }))
    await stage.settled(id)
    await killOwner()
    const [accepted, worktree] = stage.events(id)
    const other = 'zzzzzzzzzz'
    const paths = stage.paths.child(other)
    mkdirSync(paths.folder, { mode: 0o700 })
    const log = await ChildLog.open(paths.events, 1, () => new Date())
    if (accepted?.type !== 'accepted' || worktree?.type !== 'worktreeAdded')
      throw new Error('another log than expected')
    await log.append([{ ...accepted, childId: other, liveTranscript: paths.textLog(0) }], true)
    if (more.length > 0) await log.append([{ ...worktree }, ...more], true)
    await log.close()
    return other
  }
  const announced: Fact = {
    type: 'launching',
    attempt: 1,
    round: 1,
    sessionId: 's',
    resume: false,
    carried: [],
    message: null,
    reason: 'first',
  }

  it('an accepted child is begun by the next owner', async () => {
    const id = await dead()
    await stage.cli('stop', 'aaaaaaaaaa')
    const child = await stage.settled(id)
    expect([child.phase, child.attempts.length, stage.said(id)]).toEqual(['SUCCESS', 1, ['one']])
  })

  it('announced, but never started: nothing is started, now or later, and it can be resumed with its brief', async () => {
    const id = await dead(announced)
    await stage.cli('stop', 'aaaaaaaaaa')
    const child = await stage.settled(id)
    expect([child.phase, child.attempts[0]?.startFailure?.reason, stage.said(id)]).toEqual([
      'FAILURE',
      'Coxswain ended before the agent was started. Nothing ran; resume or start it again.',
      [],
    ])
    // A keeper that comes up late finds the attempt forbidden.
    expect(readFileSync(join(stage.paths.child(id).attempt(1).folder, 'keeper.json'), 'utf8')).toContain('forbidden')
    await stage.json('resume', id)
    const after = await stage.until(id, 'round 2', ({ round, completions }) => round === 2 && completions.length === 2)
    expect([after.phase, stage.said(id)]).toEqual(['SUCCESS', ['one']])
  })

  it('a steer written to the agent, but not recorded as sent, is not written twice', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await killOwner()
    const queue = join(stage.paths.child(id).attempt(1).control, 'prompt-queue.jsonl')
    const log = await ChildLog.open(
      stage.paths.child(id).events,
      ((await stage.owner())?.epoch ?? 0) + 1,
      () => new Date(),
    )
    const by = { kind: 'person' } as const
    const [queued] = await log.append([{ type: 'steerQueued', steerId: 's', text: 'Look here.', by }], true)
    await log.close()
    const line = { id: 's', content: 'Look here.', queued_at: queued?.at, steer: true }
    writeFileSync(queue, `${JSON.stringify(line)}\n`)
    await stage.cli('stop', 'aaaaaaaaaa')
    await stage.until(id, 'sent', ({ steers }) => steers[0]?.state === 'sent')
    expect(readFileSync(queue, 'utf8')).toBe(`${JSON.stringify(line)}\n`)
    stage.open('go')
    const { steers } = await stage.settled(id)
    expect(steers.map(({ history }) => history.map(({ state }) => state))).toEqual([
      ['queued', 'sent', 'delivered', 'confirmed'],
    ])
  })

  it('started, but not recorded: the running agent is found by its keeper-s record and followed', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await killOwner()
    // As if the crash had come before `launched` and all that followed were written.
    const { events, transcript } = stage.paths.child(id)
    const kept = (path: string, cut: string) =>
      writeFileSync(
        path,
        readFileSync(path, 'utf8').split('\n').filter(Boolean).slice(0, cutAt(path, cut)).join('\n') + '\n',
      )
    kept(events, '"type":"launched"')
    kept(transcript, '"kind":"text"')
    await stage.cli('stop', 'aaaaaaaaaa')
    stage.open('go')
    const child: Child = await stage.settled(id)
    expect([child.phase, child.attempts.length, child.attempts[0]?.launchedAt === null]).toEqual(['SUCCESS', 1, false])
    expect(stage.said(id)).toEqual(['one', 'two'])
  })

  it('what was recorded and not yet told is told after the crash in the words it would have had', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }, stage.waits('end')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await stage.json('steer', id, 'Look here.')
    stage.open('go')
    await stage.until(id, 'confirmed', ({ steers }) => steers[0]?.state === 'confirmed')
    await eventually(() => stage.said(id).includes('two'), 'it went on')
    await killOwner()
    const told = () => stage.transcript(id).flatMap((entry) => (entry.kind === 'notice' ? [] : [wordsOf(entry)]))
    const before = told()
    // As if the crash had come after the facts, and before a single word of it was told.
    writeFileSync(stage.paths.child(id).transcript, '')
    await stage.cli('stop', 'aaaaaaaaaa')
    await eventually(() => told().length >= before.length - 1, 'it is told again')
    // Only that a steer was handed over is not said by the agent, and is in the steer's own history.
    expect(told().sort()).toEqual(before.filter((words) => words !== 'receipt sent').sort())
    stage.open('end')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
  })

  function wordsOf(entry: TranscriptEntry): string {
    switch (entry.kind) {
      case 'text':
      case 'steer':
      case 'noise':
        return `${entry.kind} ${entry.text}`
      case 'receipt':
        return `receipt ${entry.state}`
      default:
        return entry.kind
    }
  }

  function cutAt(path: string, mark: string): number {
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
    const at = lines.findIndex((line) => line.includes(mark))
    if (at < 0) throw new Error(`${mark} is not in ${path}`)
    return at
  }
})

describe('two owners at once', () => {
  it('there are never: of many commands that each bring one, exactly one owns the store', async () => {
    stage = Stage.make()
    const tasks = stage.tasks(script({ say: 'one' }))
    const ran = await Promise.all(
      Array.from({ length: 4 }, () => stage.cli('run', '--task', tasks, '--detach', '--json')),
    )
    expect(ran.map(({ code, err }) => [code, err])).toEqual(ran.map(() => [0, '']))
    const ids = ran.map(({ out }) => JSON.parse(out).subagent_ids[0] as string)
    const children = await Promise.all(ids.map((id) => stage.settled(id)))
    expect([new Set(ids).size, children.map(({ phase }) => phase)]).toEqual([4, ids.map(() => 'SUCCESS')])
    expect(stage.ps().filter(({ command }) => command.includes(' supervise ')).length).toBeLessThanOrEqual(1)
    const epochs = new Set(ids.flatMap((id) => stage.events(id).map((event) => event.epoch)))
    expect(epochs.size).toBe(1)
  })

  it('an owner that was replaced writes nothing more, and the child goes on under the new one', async () => {
    stage = Stage.make()
    const first = await stage.coxswain({ role: 'window' })
    const spawned = await first.commands.spawn({
      tasks: [{ goal: script({ say: 'one' }, stage.waits('go'), { say: 'two' }) }],
    })
    const id = 'subagent_ids' in spawned ? (spawned.subagent_ids[0] ?? '') : ''
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    // Taken over as from a frozen owner: the next epoch appears while the former one's loop still turns.
    const owner = await stage.owner()
    if (owner === undefined) throw new Error('nobody owns the store')
    const next = { ...owner, epoch: owner.epoch + 1, process: { ...owner.process, pid: 999_999 } }
    writeFileSync(join(stage.paths.owner, `epoch.${next.epoch}`), JSON.stringify(next))
    const before = stage.events(id).length
    stage.open('go')
    await stage.cli('stop', 'aaaaaaaaaa')
    const child = await stage.settled(id)
    expect([child.phase, stage.said(id)]).toEqual(['SUCCESS', ['one', 'two']])
    const later = stage.events(id).slice(before)
    expect(later.every((event) => (event.epoch ?? 0) > next.epoch)).toBe(true)
    await eventually(async () => {
      const now = await stage.owner()
      // As a window it may have taken the store again, in its turn.
      return !first.isOwner() || (now?.process.pid === process.pid && now.epoch > next.epoch)
    }, 'the former owner has let go')
  })
})
