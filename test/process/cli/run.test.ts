import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { dist, eventually, kill, plain, script, Stage, type Printed } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

describe('coxswain run, joined', () => {
  it('that is refused leaves an owner to the children it found at work', async () => {
    stage = Stage.make()
    const live = await stage.detached(script({ say: 'up' }, stage.waits('go')))
    await eventually(() => stage.said(live).includes('up'), 'it works')
    kill((await stage.owner())?.process.pid ?? 0, 'SIGKILL')
    expect((await stage.cli('run', '--task', stage.tasks({ goal: 'Do it.', base: 'nope' }))).code).toBe(2)
    stage.open('go')
    expect((await stage.settled(live)).phase).toBe('SUCCESS')
  })

  it('prints the handle, what happens, and the completion, and exits 0 when every child succeeded', async () => {
    stage = Stage.make()
    const goal = script({ write: { path: 'x.md', text: 'x\n' } }, { commit: 'Add x' })
    const running = stage.start(['run', '--task', stage.tasks({ goal, title: 'Add x' }), '--json'])
    const { code, err } = await running.done
    const [handle, ...rest] = running.objects()
    const completion = rest.at(-1)
    const id = handle?.subagent_ids[0]
    const names = { [id]: 'CHILD', [handle?.delegation_id]: 'DELEGATION' }
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(plain(handle, stage, names)).toEqual({
      status: 'dispatched',
      mode: 'background',
      count: 1,
      delegation_id: 'DELEGATION',
      goals: [goal],
      subagent_ids: ['CHILD'],
      control_hint: expect.stringContaining('Legal now: list, steer'),
      live_transcripts: ['ROOT/d/STORE/children/CHILD/task-0.log'],
    })
    expect(plain(rest.slice(0, -1), stage, names)).toEqual([
      { event: 'started', subagent_id: 'CHILD', at: 'TIME' },
      { event: 'attempt ended SUCCESS', subagent_id: 'CHILD', at: 'TIME' },
      { event: 'settled SUCCESS', subagent_id: 'CHILD', at: 'TIME' },
    ])
    expect(plain(completion, stage, names)).toEqual({
      completion: {
        completion_id: 'DELEGATION.1',
        delegation_id: 'DELEGATION',
        round: 1,
        paused_left: [],
        subagents: [
          {
            subagent_id: 'CHILD',
            title: 'Add x',
            round: 1,
            attempt: 1,
            phase: 'SUCCESS',
            report: {
              ok: true,
              summary: 'I wrote x.md. 1 commit on this branch.',
              output: { artifacts: { 'x.md': 'x.md' }, summary: 'I wrote x.md. 1 commit on this branch.' },
              reason: null,
            },
            verdict: null,
            missed_steers: [],
            partial: false,
            duration_s: 'N',
            tokens: 0,
            cost_usd: 0,
            worktree: {
              path: 'ROOT/repo.coxswain/add-x-CHILD',
              branch: 'coxswain/add-x-CHILD',
              base: 'COMMIT',
              commits: 1,
              dirty: false,
            },
            exit: { code: 0, signal: null, first_cause: null },
            stderr_tail: null,
            failure: null,
            result_hash: 'HASH',
            summary_file: null,
            transcript: 'ROOT/d/STORE/children/CHILD/task-0.log',
          },
        ],
      },
    })
    expect(stage.git('log', '--format=%s', `coxswain/add-x-${id}`)).toBe('Add x\nFirst')
    expect(await stage.json('result', id)).toEqual(completion?.completion.subagents[0])
    await stage.untilNothingRuns()
    expect(stage.ps()).toEqual([])
  })

  it('speaks to people without --json: a line a child, the events, the summary', async () => {
    stage = Stage.make()
    const { code, out } = await stage.cli(
      'run',
      '--task',
      stage.tasks({ goal: script({ say: 'hello' }), title: 'Greet' }),
    )
    const [id = ''] = out.split(' ')
    expect(code).toBe(0)
    expect((plain(out, stage, { [id]: 'CHILD' }) as string).trim().split('\n')).toEqual([
      'CHILD  Follow this.',
      'TIME CHILD started',
      'TIME CHILD attempt ended SUCCESS',
      'TIME CHILD settled SUCCESS',
      'Greet  (CHILD) round 1: SUCCESS',
      expect.any(String),
      'branch coxswain/greet-CHILD: 0 commits',
    ])
  })

  it('reads YAML, and the task from standard input', async () => {
    stage = Stage.make()
    const yaml =
      'tasks:\n  - title: From YAML\n    goal: |\n      Follow this.\n      ```demo\n      [{"say":"hi"}]\n      ```\n'
    const { code, out } = await stage.start(['run', '--task', '-', '--json'], { input: yaml }).done
    expect([code, JSON.parse(out.split('\n').at(-2) ?? '').completion.subagents[0].title]).toEqual([0, 'From YAML'])
  })

  it('exits 1 when a child failed, with the diagnostic and the end of its stderr', async () => {
    stage = Stage.make()
    const goal = script({ warn: 'Traceback: no such thing' }, { exit: 7 })
    const running = stage.start(['run', '--task', stage.tasks(goal, script({ say: 'fine' })), '--json'])
    const { code } = await running.done
    const [failed, fine] = running.objects().at(-1)?.completion.subagents
    expect([code, failed.phase, fine.phase]).toEqual([1, 'FAILURE', 'SUCCESS'])
    expect([failed.failure, failed.stderr_tail, failed.exit]).toEqual([
      'Process exited with code 7\nChild stderr tail:\nTraceback: no such thing',
      'Traceback: no such thing',
      { code: 7, signal: null, first_cause: null },
    ])
  })

  it('exits 0 for a verified contract, and 3 when the rest is partial', async () => {
    stage = Stage.make()
    const contract = { deliverables: [{ path: 'out.md' }], maxRetries: 0 }
    const write = { write: { path: 'out.md', text: 'out\n' } }
    const keeps = { goal: script(write, { commit: 'Out' }), contract }
    const lies = { goal: script({ lie: 'out.md' }), contract }
    const both = stage.start(['run', '--task', stage.tasks(keeps, lies), '--json'])
    const kept = await stage.cli('run', '--task', stage.tasks(keeps), '--json')
    const { code } = await both.done
    const verdicts = both
      .objects()
      .at(-1)
      ?.completion.subagents.map((child: Printed) => [
        child.phase,
        child.verdict.status,
        child.verdict.disposition,
        child.partial,
      ])
    expect(verdicts).toEqual([
      ['SUCCESS', 'verified', 'accept', false],
      ['SUCCESS', expect.stringMatching(/failed|incomplete/), 'partial', true],
    ])
    expect([kept.code, code]).toEqual([0, 3])
  })

  it('tells a person why a child was asked again, what did not pass in the end, and what can be done', async () => {
    stage = Stage.make()
    const contract = {
      deliverables: [{ path: 'out.md' }],
      checks: [{ file_contains: { path: 'out.md', regex: "^it's \\d+$" } }],
      maxRetries: 1,
    }
    const goal = script({ write: { path: 'out.md', text: 'out\n' } }, { commit: 'Out' })
    const { code, out } = await stage.cli('run', '--task', stage.tasks({ goal, title: 'Out', contract }))
    const [id = ''] = out.split(' ')
    const open = "out.md matches /^it's \\d+$/: "
    const lines = (plain(out, stage, { [id]: 'CHILD' }) as string).trim().split('\n')
    expect(code).toBe(3)
    expect(lines.filter((line) => !/steer/.test(line))).toEqual([
      'CHILD  Follow this.',
      'TIME CHILD started',
      'TIME CHILD attempt ended SUCCESS',
      expect.stringContaining(`TIME CHILD asked again: ${open}`),
      'TIME CHILD attempt 2 started',
      'TIME CHILD attempt ended SUCCESS',
      'TIME CHILD settled SUCCESS',
      'Out  (CHILD) round 1: SUCCESS, failed',
      expect.any(String),
      'failed: 1 of 2 checks, partial',
      expect.stringContaining(`FAIL    ${open}`),
      expect.stringContaining('not asked again'),
      'To check it again: coxswain verify CHILD',
      `To apply it all the same: coxswain apply CHILD --override 'out.md matches /^it'\\''s \\d+$/'`,
      'branch coxswain/out-CHILD: 2 commits',
    ])
  })

  it('SIGINT pauses the children: exit 130, the resume command printed, nothing left running, and resume goes on', async () => {
    stage = Stage.make()
    const goal = script({ say: 'one' }, stage.waits('go'), { say: 'two' })
    const running = stage.start(['run', '--task', stage.tasks(goal), '--json'])
    const id = await running.firstId()
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    running.kill('SIGINT')
    const { code } = await running.done
    const entry = running.objects().at(-1)?.paused
    expect(code).toBe(130)
    expect(entry).toEqual({
      subagent_id: id,
      phase: 'INTERRUPTED',
      condition: 'paused',
      resume: `coxswain resume ${id}`,
    })
    await stage.untilNothingRuns()
    const before = await stage.child(id)
    const answer = await stage.json('resume', id)
    expect(plain(answer, stage, { [id]: 'CHILD' })).toEqual({
      action: 'resume',
      subagent_id: 'CHILD',
      status: 'resuming',
      attempt: 2,
      carried_steers: [],
      note: expect.stringContaining('Same session, worktree and branch'),
    })
    const after = await stage.settled(id)
    expect([after.phase, after.round, after.sessionId, after.worktree]).toEqual([
      'SUCCESS',
      1,
      before.sessionId,
      before.worktree,
    ])
  })

  it('exits 1 when somebody else pauses a child, and prints how to go on', async () => {
    stage = Stage.make()
    const running = stage.start([
      'run',
      '--task',
      stage.tasks({ goal: script({ say: 'on' }, { hang: true }), title: 'Long' }),
    ])
    const id = await eventually(() => stage.left().children[0], 'the child exists')
    await eventually(() => stage.said(id).includes('on'), 'the child works')
    await stage.json('interrupt', id, '--reason', 'lunch')
    const { code, out } = await running.done
    expect([code, out.trim().split('\n').at(-1)]).toEqual([1, `Long is paused. Go on with: coxswain resume ${id}`])
  })

  it('leaves an owner behind for a child that somebody else started meanwhile', async () => {
    stage = Stage.make()
    const running = stage.start(['run', '--task', stage.tasks(script(stage.waits('first'))), '--json'])
    const first = await running.firstId()
    await stage.until(first, 'running', (child) => child.phase === 'RUNNING')
    const second = await stage.detached(script(stage.waits('second'), { say: 'after' }))
    expect((await stage.owner())?.role).toBe('run')
    stage.open('first')
    expect((await running.done).code).toBe(0)
    await eventually(async () => (await stage.owner())?.role === 'background', 'a background supervisor owns the store')
    stage.open('second')
    expect((await stage.settled(second)).phase).toBe('SUCCESS')
    expect(stage.said(second)).toEqual(['after'])
  })
})

describe('coxswain run --detach', () => {
  it('returns with the handle while the child goes on under a supervisor that leaves when it has ended', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    const owner = await stage.owner()
    expect(owner?.role).toBe('background')
    const child = await stage.until(id, 'running', ({ phase }) => phase === 'RUNNING')
    expect(child.phase).toBe('RUNNING')
    stage.open('go')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
    expect(stage.said(id)).toEqual(['one', 'two'])
    await eventually(() => stage.ps().length === 0, 'the supervisor has left', 20_000)
    expect(await stage.owner()).toBeUndefined()
  })

  it('takes repository and store relative to where it was called', async () => {
    stage = Stage.make()
    const place = ['--repo', 'repo', '--store', 'elsewhere']
    const task = stage.tasks(script({ say: 'one' }))
    const args = ['run', '--task', task, '--detach', '--json', ...place]
    const { out } = await stage.start(args, { cwd: stage.root }).done
    const id: string = JSON.parse(out).subagent_ids[0]
    await eventually(async () => {
      const { out: result } = await stage.start(['result', id, '--json', ...place], { cwd: stage.root }).done
      return JSON.parse(result).phase === 'SUCCESS'
    }, 'the result is there')
    expect(existsSync(join(stage.root, 'elsewhere', 'children', id))).toBe(true)
  })

  it('hands the agents file to the supervisor it leaves behind', async () => {
    stage = Stage.make()
    const agents = stage.agents(`console.log(JSON.stringify({ type: 'result', ok: true, summary: 'mine' }))`)
    const id = await stage.detached({ goal: 'Do it', agent: 'kid' }, '--agents', agents)
    expect((await stage.settled(id)).attempts[0]?.report?.summary).toBe('mine')
  })

  it('dispatches to an agent of the agents file although somebody else owns the store already', async () => {
    stage = Stage.make()
    await stage.detached(script(stage.waits('go')))
    const agents = stage.agents(`console.log(JSON.stringify({ type: 'result', ok: true, summary: 'mine' }))`)
    const { code, out } = await stage.cli(
      'run',
      '--task',
      stage.tasks({ goal: 'Do it', agent: 'kid' }),
      '--agents',
      agents,
      '--json',
    )
    expect([code, JSON.parse(out.split('\n').at(-2) ?? '{}').completion?.subagents[0].report.summary]).toEqual([
      0,
      'mine',
    ])
    stage.open('go')
  })
})

it('prints what it does not understand as one sentence with exit 2, and help with exit 0', async () => {
  stage = Stage.make()
  const rows = await Promise.all(
    [['--help'], ['steer'], ['frobnicate'], ['list', '--follow'], ['list', '--nonsense'], []].map(async (args) => {
      const { code, out, err } = await stage.cli(...args)
      return [code, out.split('\n')[0], err.trim()]
    }),
  )
  expect(rows).toEqual([
    [0, 'Usage: coxswain COMMAND [options]', ''],
    [2, '', 'coxswain: The ID of a child is missing. Run coxswain --help for what there is.'],
    [2, '', 'coxswain: There is no command "frobnicate". Run coxswain --help for what there is.'],
    [2, '', 'coxswain: "list" takes no --follow.'],
    [
      2,
      '',
      'coxswain: There is no option --nonsense. Run coxswain --help for what there is. A text that begins with a dash goes last, after --.',
    ],
    [2, 'Usage: coxswain COMMAND [options]', ''],
  ])
})

describe('coxswain run, whose output nobody reads any more', () => {
  const untilSupervised = async (id: string): Promise<void> => {
    expect((await stage.owner())?.role).toBe('background')
    stage.open('go')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
  }

  it('leaves its children to the background when the pipe is closed', async () => {
    stage = Stage.make()
    const tasks = stage.tasks(script(stage.waits('go'), { say: 'Done' }))
    const line = '"$0" "$1" run --json --task "$2" | head -n 1; exit "${PIPESTATUS[0]}"'
    const shell = spawn('bash', ['-c', line, process.execPath, join(dist, 'cli.js'), tasks], {
      cwd: stage.repo,
      env: stage.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, err, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
    expect({ code, err }).toEqual({
      code: 141,
      err: 'coxswain: nobody reads this any more. Its children go on; "coxswain list" shows them.\n',
    })
    await untilSupervised(JSON.parse(out).subagent_ids[0])
  })

  it('leaves its children to the background when the terminal is closed', async () => {
    stage = Stage.make()
    const running = stage.start(['run', '--json', '--task', stage.tasks(script(stage.waits('go')))])
    const id = await running.firstId()
    running.kill('SIGHUP')
    expect(await running.done).toMatchObject({ code: 141, signal: null })
    await untilSupervised(id)
  })
})
