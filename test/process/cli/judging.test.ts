import { existsSync, readFileSync, rmSync, writeFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { deafScript, eventually, kill, plain, script, Stage, type Printed } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

const contract = { deliverables: [{ path: 'out.md' }], maxRetries: 0 }
const keeps = {
  goal: script({ write: { path: 'out.md', text: 'out\n' } }, { commit: 'Write it' }),
  title: 'Keeps',
  contract: { ...contract, maxRetries: 1 },
}
const lies = { goal: script({ lie: 'out.md' }), title: 'Lies', contract }

async function refused(...args: string[]): Promise<string[]> {
  const { code, out } = await stage.cli(...args, '--json')
  const { error } = JSON.parse(out)
  return [`${code} ${error.code}`, error.message]
}

describe('verify', () => {
  /** Nobody owns the store, and a child works there. */
  async function unattended(): Promise<string> {
    const live = await stage.detached(script({ say: 'up' }, stage.waits('go')))
    await eventually(() => stage.said(live).includes('up'), 'it works')
    const owner = await stage.owner()
    kill(owner?.process.pid ?? 0, 'SIGKILL')
    return live
  }

  it('leaves an owner to the children it found at work, also when it is refused', async () => {
    stage = Stage.make()
    const ended = await stage.detached({ goal: script({ say: 'one' }), title: 'Ended' })
    await stage.settled(ended)
    const live = await unattended()
    expect((await stage.cli('verify', ended)).code).toBe(2)
    stage.open('go')
    expect((await stage.settled(live)).phase).toBe('SUCCESS')
  })

  it(
    'says why it is refused and nothing else, also while a child is still being taken up',
    { timeout: 90_000 },
    async () => {
      stage = Stage.make()
      const ended = await stage.detached({ goal: script({ say: 'one' }), title: 'Ended' })
      await stage.settled(ended)
      const live = await unattended()
      // It keeps whoever takes its child up waiting.
      const { keeper } = (await stage.child(live)).attempts[0] ?? {}
      kill(keeper?.pid ?? 0, 'SIGSTOP')
      const { code, err } = await stage.cli('verify', ended)
      expect([code, err]).toEqual([2, 'coxswain: "Ended" has no contract, so there is nothing to check.\n'])
      kill(keeper?.pid ?? 0, 'SIGCONT')
      stage.open('go')
      expect((await stage.settled(live, 60_000)).phase).toBe('SUCCESS')
    },
  )

  it('runs the checks again on the files as they are now, and the exit code says what came of it', async () => {
    stage = Stage.make()
    const id = await stage.detached(keeps)
    const { worktree } = await stage.settled(id)
    const good = await stage.cli('verify', id, '--json')
    const { subagent_id, verdict } = JSON.parse(good.out)
    expect([good.code, subagent_id, verdict.status, verdict.checks.map((c: Printed) => c.result)]).toEqual([
      0,
      id,
      'verified',
      verdict.checks.map(() => 'PASS'),
    ])
    expect(verdict.checks.length).toBeGreaterThan(0)
    stage.git('-C', worktree?.path ?? '', 'rm', '-q', 'out.md')
    const bad = await stage.cli('verify', id, '--json')
    const looked = JSON.parse(bad.out).verdict
    // The contract would allow a retry; on a settled child nothing starts by itself, and the verdict says so.
    expect([bad.code, looked.status, looked.disposition, (await stage.child(id)).attempts.length]).toEqual([
      3,
      'incomplete',
      'partial',
      1,
    ])
    expect((await stage.json('show', id)).verdict.status).toBe('incomplete')
    // What the round was settled with stays.
    expect((await stage.json('result', id)).verdict.status).toBe('verified')
  })
})

describe('a verification that was asked for', () => {
  const waits = (): string[] => [process.execPath, '-e', waiting, stage.latch('checked')]
  const waiting = `const t = setInterval(() => require('fs').existsSync(process.argv[1]) && clearInterval(t), 20)`
  /** A child whose one check passes at once for the first verdict, and waits for the latch from then on. */
  const child = async (): Promise<string> => {
    stage.open('checked')
    const checks = [{ command: { argv: waits(), timeoutSeconds: 600 } }]
    const id = await stage.detached({ goal: script({ say: 'done' }), contract: { checks, maxRetries: 0 } })
    await stage.settled(id)
    rmSync(stage.latch('checked'))
    return id
  }

  it('keeps its owner until the verdict is there', async () => {
    stage = Stage.make()
    const id = await child()
    const owner = await stage.owner()
    if (owner !== undefined) kill(owner.process.pid, 'SIGKILL')
    const window = await stage.coxswain()
    await eventually(() => window.tryOwn(), 'the window owns the store')
    expect(window.inUse()).toBe(false)
    expect(await window.commands.verify({ subagent_id: id })).toMatchObject({ action: 'verify' })
    expect(window.inUse()).toBe(true)
    expect(await window.commands.verify({ subagent_id: id })).toMatchObject({ error: { code: 'busy' } })
    stage.open('checked')
    await stage.until(id, 'a second verdict', ({ verdicts }) => verdicts.length === 2)
    expect(window.inUse()).toBe(false)
  })

  it('is given up when the child goes on meanwhile, and whoever waits for it is told', async () => {
    stage = Stage.make()
    const id = await child()
    const asking = stage.start(['verify', id, '--json'])
    await stage.until(id, 'the checks run again', ({ verifyingAgain }) => verifyingAgain)
    await stage.json('resume', id, 'Go on.')
    const { code, out } = await asking.done
    expect([code, JSON.parse(out).error.code]).toEqual([2, 'finished'])
    stage.open('checked')
    expect((await stage.settled(id)).verdicts).toHaveLength(2)
  })

  it('is carried out by the next owner when the one that took it was killed', async () => {
    stage = Stage.make()
    const id = await child()
    const asking = stage.start(['verify', id])
    await stage.until(id, 'the checks run again', ({ verifyingAgain }) => verifyingAgain)
    kill((await stage.owner())?.process.pid ?? 0, 'SIGKILL')
    const window = await stage.coxswain()
    await eventually(() => window.tryOwn(), 'the window owns the store')
    stage.open('checked')
    const { verdicts } = await stage.until(id, 'a second verdict', (found) => found.verdicts.length === 2)
    expect(verdicts.map(({ status }) => status)).toEqual(['verified', 'verified'])
    await asking.done
  })
})

describe('apply', () => {
  it('brings verified work into the checked-out branch', async () => {
    stage = Stage.make()
    const id = await stage.detached(keeps)
    await stage.settled(id)
    const answer = await stage.json('apply', id)
    expect(plain(answer, stage, { [id]: 'CHILD' })).toEqual({
      action: 'apply',
      subagent_id: 'CHILD',
      status: 'applied',
      how: 'merge',
      commit: 'COMMIT',
      branch: 'main',
      note: expect.stringMatching(/^Applied to main as [0-9a-f]{10}\.$/),
    })
    expect([readFileSync(join(stage.repo, 'out.md'), 'utf8'), stage.git('status', '--porcelain')]).toEqual([
      'out\n',
      '',
    ])
    expect(stage.git('log', '--format=%s')).toContain('Write it')
    const { applied, appliedTo } = await stage.child(id)
    expect([applied, appliedTo]).toEqual([true, 'main'])
    expect(stage.transcript(id).at(-1)).toMatchObject({ kind: 'notice', text: answer['note'] })
  })

  it('refuses what did not pass unless the checks are named, and then says so in the record', async () => {
    stage = Stage.make()
    const id = await stage.detached({
      ...lies,
      goal: script({ lie: 'out.md' }, { write: { path: 'other.md', text: 'x\n' } }, { commit: 'Other' }),
    })
    const { verdict } = await stage.settled(id)
    expect(verdict?.disposition).toBe('partial')
    const before = stage.git('rev-parse', 'HEAD')
    const [code, message = ''] = await refused('apply', id)
    expect(code).toBe('2 invalid')
    const names = /did not pass: (.*)\.$/.exec(message)?.[1]?.split('; ') ?? []
    expect(names.length).toBeGreaterThan(0)
    expect((await refused('apply', id, '--override', 'something else'))[0]).toBe('2 invalid')
    expect([stage.git('rev-parse', 'HEAD'), existsSync(join(stage.repo, 'other.md'))]).toEqual([before, false])
    await stage.json('apply', id, ...names.flatMap((name) => ['--override', name]))
    expect(existsSync(join(stage.repo, 'other.md'))).toBe(true)
    const applied = stage.events(id).find((event) => event.type === 'applied')
    expect(applied?.type === 'applied' && applied.overridden).toEqual(names)
  })

  it('is refused while the child runs, and changes nothing when it cannot be done whole', async () => {
    stage = Stage.make()
    const busy = await stage.detached(script(stage.waits('go')))
    const done = await stage.detached({
      goal: script({ write: { path: 'README.md', text: 'theirs\n' } }, { commit: 'T' }),
    })
    await stage.settled(done)
    expect((await refused('apply', busy))[0]).toBe('2 busy')
    writeFileSync(join(stage.repo, 'README.md'), 'mine\n')
    stage.git('commit', '-qam', 'Mine')
    const before = [stage.git('rev-parse', 'HEAD'), stage.git('status', '--porcelain')]
    const [code, message] = await refused('apply', done)
    expect([code, message]).toEqual(['2 repository', expect.stringContaining('README.md')])
    expect([stage.git('rev-parse', 'HEAD'), stage.git('status', '--porcelain')]).toEqual(before)
    stage.open('go')
    await stage.settled(busy)
  })
})

describe('decide', () => {
  it('looks once at what each live child wrote since its last steer, and proposes', async () => {
    stage = Stage.make()
    const say = (...texts: string[]) => deafScript(...texts.map((text) => ({ say: text })), stage.waits('go'))
    const loop = await stage.detached(say('It failed.', 'I am retrying the same command.'))
    // A marker that stands in the goal is no drift, so this one's goal does not hold its words.
    const agents = stage.agents(`import { existsSync } from 'node:fs'
      console.log(JSON.stringify({ type: 'text', text: 'Let me start by listing all files.' }))
      setInterval(() => existsSync(${JSON.stringify(stage.latch('go'))}) && process.exit(0), 20)`)
    const drift = await stage.detached({ goal: 'Find the bug.', agent: 'kid' }, '--agents', agents)
    const fine = await stage.detached(say('I open src/auth.js.'))
    await eventually(() => [loop, drift, fine].every((id) => stage.said(id).length > 0), 'all have spoken')
    await eventually(() => stage.said(loop).length === 2, 'it loops')
    const { out } = await stage.cli('decide', '--json')
    const decisions = new Map(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map((d) => [d.subagent_id, d]),
    )
    expect(decisions.get(loop)).toEqual({
      action: 'stop',
      subagent_id: loop,
      reason: 'loop: it says "retrying the same command"',
    })
    expect(decisions.get(drift)).toEqual({
      action: 'steer',
      subagent_id: drift,
      reason: 'drift: it is at "Let me start by listing all files"',
      message: 'Stop listing the repo. Open the file named in your goal. Return findings as file:line only.',
    })
    expect(decisions.get(fine)).toEqual({ action: 'wait', subagent_id: fine, reason: 'on track' })
    // It proposes and does nothing.
    expect((await stage.child(loop)).stopRequest).toBeNull()
    await stage.json('steer', drift, 'Open src/auth.js.')
    expect(await stage.json('decide', drift)).toMatchObject({ action: 'wait', reason: 'on track' })
    stage.open('go')
    await Promise.all([loop, drift, fine].map((id) => stage.settled(id)))
    expect((await refused('decide', loop))[0]).toBe('2 finished')
  })

  it('reads a list payload, and waits for a child that takes no steer', async () => {
    stage = Stage.make()
    const payload = { action: 'list', count: 1, subagents: [{ subagent_id: 'x', accepting_steer: false }] }
    const { out } = await stage.start(['decide', '-', '--json'], { input: JSON.stringify(payload) }).done
    expect(JSON.parse(out)).toEqual({ action: 'wait', subagent_id: 'x', reason: 'finishing' })
    for (const input of ['no', '{}', '{"subagents":[{}]}']) {
      const { code, err } = await stage.start(['decide', '-', '--json'], { input }).done
      expect([code, err]).toEqual([2, expect.stringContaining('Give it what "coxswain list --json" prints.')])
    }
  })
})

describe('audit', () => {
  it('has one line for every deed, chained; a changed line is named', async () => {
    stage = Stage.make()
    expect(await stage.json('audit', '--check')).toEqual({ lines: 0, broken: null })
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    await stage.json('steer', id, 'A secret plan.')
    await stage.cli('stop', 'aaaaaaaaaa')
    stage.open('go')
    await stage.settled(id)
    await stage.json('discard', id, '--force')
    const { out } = await stage.cli('audit', '--json')
    const told = (await stage.cli('audit')).out.trim().split('\n')
    expect(told[0]).toMatch(new RegExp(`^\\d{4}-\\S+Z person spawn ${id}, “.+”$`))
    expect(told.at(-1)).toContain(`person discard ${id}`)
    expect(told.join('\n')).not.toMatch(/hash|secret/i)
    const deeds = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(deeds.map(({ who, what, child }) => [who, what, child])).toEqual(
      expect.arrayContaining([
        ['person', 'spawn', id],
        ['person', 'steer', id],
        ['person', 'discard', id],
      ]),
    )
    expect(deeds.some(({ child }) => child === 'aaaaaaaaaa')).toBe(false)
    expect(out).not.toContain('A secret plan')
    expect(await stage.json('audit', '--check')).toEqual({ lines: deeds.length, broken: null })
    writeFileSync(stage.paths.audit, out.replace('"what":"steer"', '"what":"stare"'))
    const { code, out: found } = await stage.cli('audit', '--check', '--json')
    expect([code, JSON.parse(found).broken.line]).toEqual([1, deeds.findIndex(({ what }) => what === 'steer') + 1])
  })
})

describe('doctor', () => {
  it('says that all is well, finds what an owner that died left, and takes nothing from an owner that lives', async () => {
    stage = Stage.make()
    expect(await stage.json('doctor')).toMatchObject({ children: 0, live: 0, findings: [] })
    const id = await stage.detached({ goal: script({ say: 'one' }, { hang: 'deaf' }), title: 'Left' })
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    expect(await stage.json('doctor')).toEqual({
      owner: 'another process owns this store and looks after its children',
      children: 1,
      live: 1,
      expired: 0,
      findings: [],
    })
    const owner = await stage.owner()
    kill(owner?.process.pid ?? 0, 'SIGKILL')
    kill((await stage.child(id)).attempts[0]?.keeper?.pid ?? 0, 'SIGKILL')
    const found = await stage.json('doctor')
    expect(found).toMatchObject({ owner: 'nobody had this store; it was looked after now', children: 1, live: 0 })
    expect(found.findings.map((finding: Printed) => [finding.subagent_id, finding.found])).toEqual([
      [id, 'was RUNNING, is INTERRUPTED'],
      [id, expect.stringContaining('Its keeper is gone without a record of the end.')],
    ])
    expect(stage.childProcesses()).toEqual([])
    expect((await stage.json('result', id)).phase).toBe('INTERRUPTED')
  })

  it('names a child whose record was damaged, and what ends the agent that no list shows any more', async () => {
    stage = Stage.make()
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go')))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const keeper = (await stage.child(id)).attempts[0]?.keeper?.pid ?? 0
    kill((await stage.owner())?.process.pid ?? 0, 'SIGKILL')
    const { events } = stage.paths.child(id)
    truncateSync(events, 40)
    const findings = async (): Promise<Printed> => (await stage.json('doctor')).findings
    const finding = (rest: string): Printed => [
      { subagent_id: id, title: 'a damaged record', found: `${events} tells of no child; ${rest}` },
    ]
    expect(await findings()).toEqual(finding(`its agent still runs and nothing else here can end it: kill ${keeper}`))
    kill(keeper, 'SIGTERM')
    await eventually(() => !stage.ps().some(({ command }) => command.includes('demoAgent')), 'the agent has ended')
    expect(await findings()).toEqual(finding('no agent of it runs'))
  })

  it('leaves an owner for a child that still runs, and names a worktree that somebody deleted', async () => {
    stage = Stage.make()
    const gone = await stage.detached({ goal: script({ say: 'one' }), title: 'Gone' })
    const { worktree } = await stage.settled(gone)
    const id = await stage.detached(script({ say: 'one' }, stage.waits('go'), { say: 'two' }))
    await eventually(() => stage.said(id).includes('one'), 'the child works')
    const owner = await stage.owner()
    kill(owner?.process.pid ?? 0, 'SIGKILL')
    stage.git('worktree', 'remove', '--force', worktree?.path ?? '')
    const { findings, live } = await stage.json('doctor')
    expect([live, findings.map((finding: Printed) => finding.subagent_id)]).toEqual([1, [gone]])
    stage.open('go')
    expect([(await stage.settled(id)).phase, stage.said(id)]).toEqual(['SUCCESS', ['one', 'two']])
  })
})
