import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { deafScript, eventually, plain, script, Stage, type Printed } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

const nothing = { children: [], branches: [], worktrees: [], folders: [] }

/** Code and sentence of a refusal; the same sentence stands on stderr, and nothing else does. */
async function refusal(args: readonly string[], more: { env?: Record<string, string>; input?: string } = {}) {
  const { code, out, err } = await stage.start([...args, '--json'], more).done
  const { error } = JSON.parse(out)
  expect(err).toBe(`coxswain: ${error.message}\n`)
  return [code, error.code, plain(error.message, stage)]
}

describe('a dispatch that cannot be is refused in one sentence, exit 2, and leaves nothing behind', () => {
  const goal = script({ say: 'one' })
  const rows: [what: string, file: unknown, code: string, words: string | RegExp][] = [
    [
      'an empty goal',
      { tasks: [{ goal: '' }] },
      'invalid',
      'The goal is empty. Say in one or two sentences what should be done.',
    ],
    ['a goal of blanks', { tasks: [{ goal: ' \n\t ' }] }, 'invalid', /^The goal is empty\./],
    [
      'a goal of 20,000 characters',
      { tasks: [{ goal: 'x'.repeat(20_000) }] },
      'invalid',
      'The goal has 20000 characters; at most 16000 are taken. Shorten it, or put the rest in a file.',
    ],
    [
      'a context that is too long',
      { tasks: [{ goal, context: 'x'.repeat(32_001) }] },
      'invalid',
      /tasks\.0\.context: /,
    ],
    [
      'an agent nobody knows',
      { tasks: [{ goal, agent: 'hal' }] },
      'unknown_agent',
      /^There is no agent "hal"\. Known agents: "demo", "claude".*pick one of these\.$/,
    ],
    [
      'a base that is no commit',
      { tasks: [{ goal }, { goal, base: 'nope' }] },
      'repository',
      '"nope" is not a branch, tag or commit of ROOT/repo.',
    ],
    [
      'a base that reads like an option',
      { tasks: [{ goal, base: '--upload-pack=x' }] },
      'repository',
      '"--upload-pack=x" is not a branch, tag or commit of ROOT/repo.',
    ],
    [
      'an unknown key',
      { tasks: [{ goal }], extra: 1 },
      'invalid',
      /^FILE: The task file cannot be used: unknown key extra\.$/,
    ],
    [
      'an unknown key of a task',
      { tasks: [{ goal, gaol: 1, glao: 2 }] },
      'invalid',
      /tasks\.0: unknown keys gaol, glao\.$/,
    ],
    [
      'an unknown limit',
      { tasks: [{ goal, limits: { hours: 1 } }] },
      'invalid',
      /tasks\.0\.limits: unknown key hours\.$/,
    ],
    [
      'a limit that is none',
      { tasks: [{ goal, limits: { max_turns: 0 } }] },
      'invalid',
      /tasks\.0\.limits\.max_turns: /,
    ],
    [
      'an unknown key of a contract',
      { tasks: [{ goal, contract: { cheks: [] } }] },
      'invalid',
      /^The contract cannot be used: .*cheks/,
    ],
    [
      'a deliverable outside the worktree',
      { tasks: [{ goal, contract: { deliverables: [{ path: '../x' }] } }] },
      'invalid',
      /^The contract cannot be used: .*\.\.\/x/,
    ],
    ['no goal', { tasks: [{ title: 'x' }] }, 'invalid', /tasks\.0\.goal: /],
    ['a task that is no object', { tasks: ['do it'] }, 'invalid', /tasks\.0: /],
    ['no tasks', { tasks: [] }, 'invalid', /tasks: must hold at least one task/],
    ['a list instead of an object', [{ goal }], 'invalid', /^FILE: The task file cannot be used: /],
    [
      'a list of tools for an agent that cannot be held to one',
      { tasks: [{ goal, allowed_tools: ['read'] }] },
      'unknown_agent',
      /^Demo agent cannot be held to a list of tools\. Leave allowed_tools out,.* or choose another agent\.$/,
    ],
    [
      'a goal of a batch that was never filled in',
      { tasks: [{ goal }, { goal: 'TODO' }] },
      'invalid',
      'Task 2 has a placeholder for a goal ("TODO"). Write out what that child should do.',
    ],
    [
      'more children than the cap, none of them started',
      { tasks: Array.from({ length: 5 }, () => ({ goal })) },
      'over_cap',
      '5 more children would go over coxswain.maxChildrenTotal = 4; live now: none. Nothing was started. Stop or wait for one of them, ask for fewer, or raise coxswain.maxChildrenTotal.',
    ],
  ]
  it.each(rows)('%s', async (_what, file, code, words) => {
    stage = Stage.make()
    const before = [stage.git('status', '--porcelain'), stage.git('rev-parse', 'HEAD')]
    const path = stage.file(JSON.stringify(file), 'FILE')
    const [exit, found, message] = await refusal(['run', '--task', path])
    expect([exit, found]).toEqual([2, code])
    const said = (message as string).replace('ROOT/FILE', 'FILE')
    if (typeof words === 'string') expect(said).toBe(words)
    else expect(said).toMatch(words)
    expect(said).not.toContain('\n')
    expect(stage.left()).toEqual(nothing)
    expect([stage.git('status', '--porcelain'), stage.git('rev-parse', 'HEAD')]).toEqual(before)
  })

  it('text that is neither JSON nor YAML, a file that is not there, no file at all', async () => {
    stage = Stage.make()
    expect(await refusal(['run', '--task', stage.file('{"tasks": [', 'broken.json')])).toEqual([
      2,
      'invalid',
      expect.stringMatching(/^The task file ROOT\/broken\.json is neither JSON nor YAML: .*\.$/),
    ])
    expect(await refusal(['run', '--task', stage.file('tasks:\n\t- x: [', 'broken.yaml')])).toEqual([
      2,
      'invalid',
      expect.stringMatching(/^The task file ROOT\/broken\.yaml is neither JSON nor YAML: .*\.$/),
    ])
    expect(await refusal(['run', '--task', join(stage.root, 'gone.json')])).toEqual([
      2,
      'invalid',
      expect.stringMatching(/^The task file ROOT\/gone\.json cannot be read: ENOENT/),
    ])
    expect(await refusal(['run'])).toEqual([2, 'invalid', 'run needs --task FILE, or --task - for standard input.'])
    expect(stage.left()).toEqual(nothing)
  })

  it('an agents file that cannot be used, with the mistake named', async () => {
    stage = Stage.make()
    const task = stage.tasks({ goal, agent: 'kid' })
    const said = async (content: string) =>
      (await refusal(['run', '--task', task, '--agents', stage.file(content, 'A')]))[2]
    const kid = (more: object) => JSON.stringify({ kid: { kind: 'commandLine', protocol: 'lines', ...more } })
    expect([
      await said('{'),
      await said('{"kid":{"kind":"robot"}}'),
      await said(kid({ command: ['sh'], colour: 'red' })),
      await said(kid({})),
      await said(kid({ command: ['./sh'] })),
    ]).toEqual([
      expect.stringMatching(/^The agents file ROOT\/A cannot be used: /),
      expect.stringMatching(/"robot", which this version of Coxswain does not know\. Known kinds: /),
      expect.stringContaining('"colour" is not a known key'),
      expect.stringContaining('"command"'),
      expect.stringContaining('must start with an absolute path or a bare program name'),
    ])
    expect(stage.left()).toEqual(nothing)
  })

  it('a settings file that cannot be used, with the mistake named', async () => {
    stage = Stage.make()
    const rows: [content: string, words: RegExp][] = [
      ['{', /^The settings file ROOT\/d\/settings\.json cannot be used: /],
      ['[]', /must hold one JSON object\.$/],
      ['{"maxChildrn": 2}', /there is no setting maxChildrn\. Known: maxChildrenPerParent, /],
      ['{"coxswain.maxChildrenTotal": 0}', /maxChildrenTotal is 0, which cannot be used; 4 is used instead\.$/],
    ]
    for (const [content, words] of rows) {
      stage.file(content, 'd/settings.json')
      const [code, kind, message] = await refusal(['list'])
      expect([code, kind]).toEqual([2, 'invalid'])
      expect(message).toMatch(words)
    }
    stage.file('{"coxswain.maxChildrenTotal": 1}', 'd/settings.json')
    const [, kind, message] = await refusal(['run', '--task', stage.tasks(goal, goal)])
    expect([kind, message]).toEqual(['over_cap', expect.stringContaining('coxswain.maxChildrenTotal = 1')])
    expect(stage.left()).toEqual(nothing)
  })

  it('an agent that is not installed, naming where it was looked for and how to get it', async () => {
    stage = Stage.make()
    const agents = (command: string) =>
      stage.file(JSON.stringify({ kid: { kind: 'commandLine', command: [command], protocol: 'lines' } }))
    const task = stage.tasks({ goal, agent: 'kid' })
    expect(
      (
        await refusal(['run', '--task', task, '--agents', agents('no-such-kid')], { env: { PATH: path('/usr/bin') } })
      )[2],
    ).toBe(
      'kid is not installed here. Install "no-such-kid", or correct "command" in the settings of agent "kid". Looked for no-such-kid at ROOT/bin/no-such-kid, /usr/bin/no-such-kid.',
    )
    const absolute = join(stage.root, 'nowhere', 'kid')
    expect((await refusal(['run', '--task', task, '--agents', agents(absolute)]))[2]).toContain(
      'Looked for ROOT/nowhere/kid at ROOT/nowhere/kid.',
    )
    expect(stage.left()).toEqual(nothing)
  })

  /** A PATH with Node in it, and these folders. */
  function path(...folders: string[]): string {
    const bin = join(stage.root, 'bin')
    if (!existsSync(bin)) {
      mkdirSync(bin)
      symlinkSync(process.execPath, join(bin, 'node'))
    }
    return [bin, ...folders].join(':')
  }

  it('a folder without a repository, a repository without a commit, no git at all', async () => {
    stage = Stage.make('none')
    const task = stage.tasks(goal)
    expect(await refusal(['run', '--task', task])).toEqual([2, 'repository', expect.stringMatching(/git/)])
    expect(await refusal(['run', '--task', task, '--repo', join(stage.root, 'nowhere')])).toEqual([
      2,
      'repository',
      expect.stringContaining('ROOT/nowhere'),
    ])
    stage.git('init', '-q', '-b', 'main')
    expect(await refusal(['run', '--task', task])).toEqual([2, 'repository', expect.stringMatching(/first commit/)])
    expect(await refusal(['run', '--task', task, '--detach'])).toEqual([
      2,
      'repository',
      expect.stringMatching(/first commit/),
    ])
    const [exit, code, message] = await refusal(['run', '--task', task], { env: { PATH: path() } })
    expect([exit, code, message]).toEqual([2, 'repository', expect.stringMatching(/git .*(install|PATH)/i)])
    expect(stage.left()).toEqual(nothing)
  })

  it('a place that only allows so many, naming the children that are live', async () => {
    stage = Stage.make()
    const titles = ['North', 'East', 'South', 'West']
    const tasks = titles.map((title) => ({ goal: script(stage.waits('go')), title }))
    const handle = await stage.json('run', '--task', stage.tasks(...tasks), '--detach')
    const [north, east, south, west] = handle.subagent_ids
    const before = stage.left()
    expect(await refusal(['run', '--task', stage.tasks(goal)])).toEqual([
      2,
      'over_cap',
      `One more child would go over coxswain.maxChildrenTotal = 4; live now: North (${north}), East (${east}), South (${south}), West (${west}). Nothing was started. Stop or wait for one of them, ask for fewer, or raise coxswain.maxChildrenTotal.`,
    ])
    expect(stage.left().children.sort()).toEqual(before.children.sort())
    // Who decides is the process that runs the children, by its own settings.
    stage.file('{"maxChildrenTotal": 9}', 'd/settings.json')
    expect((await refusal(['run', '--task', stage.tasks(goal)]))[2]).toMatch(
      /or raise coxswain\.maxChildrenTotal\. That limit is the setting of the background supervisor, which runs this repository's children; your own, 9, does not count there\.$/,
    )
    stage.file('{}', 'd/settings.json')
    const other = join(stage.root, 'other')
    execFileSync('git', ['clone', '-q', stage.repo, other], { env: stage.environment })
    expect((await refusal(['run', '--task', stage.tasks(goal), '--repo', other]))[2]).toContain(
      `= 4; live now: North (${north}) in the repository repo, East (${east}) in the repository repo, `,
    )
    // Control works at the cap, and a slot that was freed can be had.
    await stage.json('stop', north)
    await stage.settled(north)
    stage.open('go')
    expect((await stage.cli('run', '--task', stage.tasks(goal))).code).toBe(0)
  })
})

describe('control of a child that cannot take it', () => {
  it('an unknown id gets one and the same answer everywhere', async () => {
    stage = Stage.make()
    const reading = ['show', 'transcript', 'result', 'verify', 'decide']
    const commands = [...reading, 'steer', 'stop', 'interrupt', 'resume', 'discard', 'apply', 'automate']
    const rows = [...commands.map((command) => [command, 'aaaaaaaaaa', ...(command === 'steer' ? ['text'] : [])])]
    rows.push(['stop', '../../etc'], ['stop', 'x'], ['show', '%'])
    const answers = await Promise.all(rows.map((args) => refusal(args)))
    expect(answers).toEqual(
      rows.map(([, id]) => [
        2,
        'unknown_child',
        `There is no child ${id} in this repository. "coxswain list --all" names them.`,
      ]),
    )
    expect((await refusal(['withdraw', 'nope']))[2]).toBe('There is no steer nope.')
    expect((await refusal(['answer', 'nope', 'yes']))[2]).toBe('Nobody has asked anything under the id nope.')
  })

  it('a child that has ended, a blank text and one that is too long are refused, and the child is untouched', async () => {
    stage = Stage.make()
    const ended = await stage.detached({ goal: script({ say: 'one' }), title: 'Short' })
    const live = await stage.detached({ goal: deafScript({ say: 'one' }, stage.waits('go')), title: 'Long' })
    await stage.settled(ended)
    await eventually(() => stage.said(live).includes('one'), 'the other one works')
    const before = stage.events(live).length
    expect(await refusal(['steer', ended, 'Stop.'])).toEqual([
      2,
      'finished',
      '"Short" takes no steer now: it has ended; resume it with your message.',
    ])
    expect(await refusal(['interrupt', ended])).toEqual([
      2,
      'finished',
      '"Short" is not running any more: it ended as SUCCESS.',
    ])
    expect(await refusal(['steer', live, '  '])).toEqual([
      2,
      'invalid',
      'The message is empty. Say in one or two sentences what should be done.',
    ])
    expect(await refusal(['steer', live, '-'], { input: 'x'.repeat(16_001) })).toEqual([
      2,
      'invalid',
      'The message has 16001 characters; at most 16000 are taken. Shorten it, or put the rest in a file.',
    ])
    expect(await refusal(['resume', live, 'go'])).toEqual([
      2,
      'busy',
      '"Long" is running; steer it instead of resuming it.',
    ])
    expect(stage.events(live)).toHaveLength(before)
    const events = readFileSync(stage.paths.child(ended).events, 'utf8')
    expect(events).not.toContain('steerQueued')
    stage.open('go')
    await stage.settled(live)
  })

  it('an agent that cannot be steered says so and names what can be done instead', async () => {
    stage = Stage.make()
    const agents = stage.agents(
      `import { existsSync } from 'node:fs'
      console.log('working')
      setInterval(() => existsSync(${JSON.stringify(stage.latch('go'))}) && process.exit(0), 20)`,
      { protocol: 'text' },
    )
    const id = await stage.detached({ goal: 'x', title: 'Plain', agent: 'kid' }, '--agents', agents)
    await eventually(() => stage.said(id).includes('working'), 'it works')
    expect((await stage.json('list')).subagents[0]).toMatchObject({ accepting_steer: false, steer_mode: 'none' })
    expect((await refusal(['steer', id, 'Faster.']))[2]).toBe(
      '"Plain" takes no steer now: kid cannot be steered while it runs; interrupt and resume it instead.',
    )
    stage.open('go')
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
    expect((await refusal(['resume', id]))[2]).toBe(
      'kid cannot go on with an earlier session. Start a new child with the same brief.',
    )
  })
})

describe('a program that is no agent ends as a failure that says what it did', () => {
  async function completion(program: string, settings: Record<string, unknown> = {}): Promise<Printed> {
    stage = Stage.make()
    const running = stage.start([
      'run',
      '--task',
      stage.tasks({ goal: 'x', agent: 'kid' }),
      '--agents',
      stage.agents(program, settings),
      '--json',
    ])
    const { code } = await running.done
    const { subagent_id, phase, failure, stderr_tail, exit, report } = running.objects().at(-1).completion.subagents[0]
    await stage.untilNothingRuns()
    return { id: subagent_id, code, phase, failure, stderr_tail, exit, report }
  }

  it('exits at once', async () => {
    expect(await completion(`console.error('Traceback:\\n  no module named jam'); process.exit(3)`)).toMatchObject({
      code: 1,
      phase: 'FAILURE',
      failure: 'Process exited with code 3\nChild stderr tail:\nTraceback:\n  no module named jam',
      stderr_tail: 'Traceback:\n  no module named jam',
      exit: { code: 3, signal: null, first_cause: null },
    })
  })

  it('exits at once with 0 and no report', async () => {
    expect(await completion('')).toMatchObject({ code: 1, phase: 'FAILURE', failure: 'It ended without a report.' })
  })

  it('prints no JSON: kept as noise, never a report', async () => {
    const result = await completion(
      `console.log('hello\\n\\nnull\\n42\\n[]\\n{\\n\\u001b[31mred\\u001b[0m'); console.log('{"type":"resul')`,
    )
    expect(result).toMatchObject({ code: 1, phase: 'FAILURE', failure: 'It ended without a report.', report: null })
    const noise = stage.transcript(result.id).flatMap((entry) => (entry.kind === 'noise' ? [entry.text] : []))
    expect(noise).toEqual(['hello', 'null', '42', '[]', '{', 'red', '{"type":"resul'])
  })

  it('prints JSON between banners, with a byte order mark and carriage returns: only the JSON counts', async () => {
    const result = await completion(
      `process.stdout.write('Loaded cached credentials.\\r\\n\\uFEFF{"type":"text","text":"one"}\\r\\n\\r\\n' +
        '\\u001b[2mhook ran\\u001b[0m\\n{"type":"result","ok":true,"summary":"fine"}\\r\\n')`,
    )
    expect(result).toMatchObject({ code: 0, phase: 'SUCCESS', report: { summary: 'fine' } })
    expect(stage.said(result.id)).toEqual(['one'])
  })

  it('prints 30 MB in one line: skipped with a notice, and what follows is heard', async () => {
    const result = await completion(
      `process.stdout.write('x'.repeat(30 * 1024 * 1024) + '\\n')
       console.log(JSON.stringify({ type: 'text', text: 'after' }))
       console.log(JSON.stringify({ type: 'result', ok: true, summary: 'fine' }))`,
    )
    expect(result).toMatchObject({ code: 0, phase: 'SUCCESS' })
    expect(stage.said(result.id)).toEqual(['after'])
    const notices = stage.transcript(result.id).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []))
    expect(notices.join('\n')).toContain(`A line of ${30 * 1024 * 1024} bytes was skipped: xxx`)
  })

  it('prints 30 MB in one line and nothing else', async () => {
    expect(await completion(`process.stdout.write('x'.repeat(30 * 1024 * 1024))`)).toMatchObject({
      code: 1,
      phase: 'FAILURE',
      failure: 'It ended without a report.',
    })
  })

  it('is killed by somebody else', async () => {
    expect(await completion(`process.kill(process.pid, 'SIGKILL')`)).toMatchObject({
      code: 1,
      phase: 'INTERRUPTED',
      failure: 'Killed by SIGKILL, by somebody else.',
      exit: { code: null, signal: 'SIGKILL', first_cause: null },
    })
  })

  it('claims success and then exits otherwise: the exit speaks louder', async () => {
    expect(
      await completion(
        `console.log(JSON.stringify({ type: 'result', ok: true, summary: 'done' })); process.exitCode = 9`,
      ),
    ).toMatchObject({ code: 1, phase: 'FAILURE', exit: { code: 9 } })
  })

  it('reports and leaves a process behind that holds its output: ended with it, and the result stands', async () => {
    const result = await completion(
      `import { spawn } from 'node:child_process'
       console.log(JSON.stringify({ type: 'result', ok: true, summary: 'done' }))
       spawn('sleep', ['1000'], { stdio: 'inherit', detached: true }).unref()`,
    )
    expect(result).toMatchObject({ code: 0, phase: 'SUCCESS', report: { summary: 'done' } })
    expect(stage.childProcesses()).toEqual([])
  })

  it('gets no stdin, and nothing of the environment that nobody named', async () => {
    stage = Stage.make()
    const agents = stage.agents(
      `import { readFileSync } from 'node:fs'
       const text = JSON.stringify([readFileSync(0, 'utf8'), Object.keys(process.env).sort()])
       console.log(JSON.stringify({ type: 'result', ok: true, summary: text }))`,
      { environment: ['NAMED'] },
    )
    const hostile = { CLAUDECODE: '1', GIT_DIR: '/nowhere', NODE_OPTIONS: '--no-warnings', ELECTRON_RUN_AS_NODE: '1' }
    const { out } = await stage.start(
      ['run', '--task', stage.tasks({ goal: 'x', agent: 'kid' }), '--agents', agents, '--json'],
      { env: { ...hostile, NAMED: 'yes', SECRET: 'no' } },
    ).done
    const [input, names] = JSON.parse(JSON.parse(out.split('\n').at(-2) ?? '').completion.subagents[0].report.summary)
    expect(input).toBe('')
    expect(names).toEqual([
      'COXSWAIN_ATTEMPT',
      'COXSWAIN_CHILD_ID',
      'COXSWAIN_CONTROL_DIR',
      'COXSWAIN_DATA_DIR',
      'COXSWAIN_MARKER',
      'COXSWAIN_PROMPT_FILE',
      'COXSWAIN_SESSION_ID',
      'HOME',
      'LANG',
      'NAMED',
      'PATH',
    ])
  })
})
