// New worktrees are made ready as a person agreed to: what is copied and run, what it leaves behind, and what becomes of it
// when it fails, hangs, is called off, or its supervisor dies.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually, kill, script, Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

const commit = (files: Record<string, string>): void => {
  write(files)
  stage.git('add', '.')
  stage.git('commit', '-qm', 'More')
}
const write = (files: Record<string, string>): void => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(stage.repo, path, '..'), { recursive: true })
    writeFileSync(join(stage.repo, path), content)
  }
}
const sh = (line: string): string[] => ['--', 'sh', '-c', line]
/** Before the command: what follows -- is the command's. */
const set = async (...args: string[]) => {
  const { code, out, err } = await stage.cli('--json', 'setup', 'set', ...args)
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}
const types = (id: string): string[] => stage.events(id).map(({ type }) => type)
const notices = (id: string): string[] =>
  stage.transcript(id).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []))
const settingUp = (id: string) => stage.until(id, 'its setup runs', (child) => child.setup?.outcome === null)

describe('a setup that a person set', () => {
  it('copies ignored files and runs its command before the agent starts; steers meanwhile are its first delivery', async () => {
    stage = Stage.make()
    commit({ '.gitignore': '.env\nnode_modules/\nbuilt\n' })
    write({ '.env': 'TOKEN=1\n', 'node_modules/a/index.js': 'a', 'node_modules/.bin/.keep': '', 'other.txt': 'x' })
    symlinkSync('../a/index.js', join(stage.repo, 'node_modules/.bin/a'))
    const line = `echo out; echo err >&2; cat .env node_modules/.bin/a > built; while ! test -e ${stage.latch('go')}; do sleep 0.05; done`
    const answer = await set('--copy', '.env', '--copy', 'node_modules', ...sh(line))
    expect(answer).toMatchObject({ action: 'setup', status: 'set' })
    const id = await stage.detached(script({ say: 'one' }))
    const waiting = await settingUp(id)
    expect([waiting.phase, waiting.attempts.length]).toEqual(['STARTING', 0])
    const [listed] = (await stage.json('list')).subagents
    expect([listed.condition, listed.accepting_steer]).toEqual([
      expect.stringMatching(/^setting up: sh -c 'echo out/),
      true,
    ])
    const steer = await stage.json('steer', id, 'Write the tests first.')
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, child.steers[0]?.state, child.steers[0]?.id]).toEqual(['SUCCESS', 'confirmed', steer.steer_id])
    expect(readFileSync(stage.paths.child(id).attempt(1).prompt, 'utf8')).toContain('Write the tests first.')
    const order = ['worktreeAdded', 'setupStarted', 'setupEnded', 'launching', 'launched']
    expect(types(id).filter((type) => order.includes(type))).toEqual(order)
    const tree = child.worktree?.path ?? ''
    expect(readFileSync(join(tree, 'built'), 'utf8')).toBe('TOKEN=1\na')
    expect(existsSync(join(tree, 'other.txt'))).toBe(false)
    expect(readFileSync(stage.paths.child(id).setupLog, 'utf8')).toMatch(/^\$ sh -c .*\nout\nerr\n$/s)
    const printed = stage
      .transcript(id)
      .flatMap((entry) => (entry.kind === 'noise' ? [[entry.source, entry.text]] : []))
    expect(printed).toEqual([
      ['stdout', 'out'],
      ['stderr', 'err'],
    ])
    expect(child.setup?.words).toMatch(/^Copied 4 ignored files \(9 bytes\)\. Ran sh -c .* in [\d.]+ s\.$/)
    expect(stage.git('status', '--porcelain')).toBe('?? other.txt')
  })

  it('is on the audit trail by its hash, and the chain holds', async () => {
    stage = Stage.make()
    const { hash } = await set('--copy', '.env')
    await stage.json('setup', 'clear')
    const deeds = (await stage.cli('audit', '--json')).out.trimEnd().split('\n')
    expect(deeds.map((line) => JSON.parse(line))).toMatchObject([
      { who: 'person', what: 'setup set', setup_hash: hash },
      { who: 'person', what: 'setup clear', setup_hash: null },
    ])
    expect(await stage.json('audit', '--check')).toEqual({ lines: 2, broken: null })
  })

  it('what was copied is never committed by apply, even when the child stops ignoring it', async () => {
    stage = Stage.make()
    commit({ '.gitignore': '.env\n' })
    write({ '.env': 'TOKEN=secret\n' })
    await set('--copy', '.env')
    const id = await stage.detached(
      script(
        { write: { path: '.gitignore', text: '# nothing is ignored\n' } },
        { write: { path: 'work.txt', text: 'work\n' } },
      ),
    )
    const child = await stage.settled(id)
    expect(readFileSync(join(child.worktree?.path ?? '', '.env'), 'utf8')).toBe('TOKEN=secret\n')
    await stage.json('apply', id)
    expect(readFileSync(join(stage.repo, 'work.txt'), 'utf8')).toBe('work\n')
    expect(stage.git('log', '--all', '--format=', '--name-only').split('\n')).not.toContain('.env')
    expect(readFileSync(join(stage.repo, '.env'), 'utf8')).toBe('TOKEN=secret\n')
  })

  it('that fails is a failed start with its exit code and the end of its stderr; a resume sets the same worktree up again', async () => {
    stage = Stage.make()
    const line = `for i in $(seq 1 30); do echo "line $i" >&2; done; test -e ${stage.latch('fixed')} || exit 3`
    await set(...sh(line))
    const id = await stage.detached(script({ say: 'one' }))
    const failed = await stage.settled(id)
    expect([failed.phase, failed.attempts.length]).toEqual(['FAILURE', 0])
    const tail = Array.from({ length: 20 }, (_, i) => `line ${i + 11}`).join('\n')
    const result = await stage.json('result', id)
    expect(result).toMatchObject({ phase: 'FAILURE', attempt: 0, stderr_tail: tail, exit: null })
    expect(result.failure).toMatch(
      /^The setup sh -c .* failed: Process exited with code 3\.\nChild stderr tail:\nline 11\n/s,
    )
    expect(existsSync(failed.worktree?.path ?? '')).toBe(true)
    stage.open('fixed')
    expect(await stage.json('resume', id, 'Mind the gap.')).toMatchObject({ status: 'resuming', attempt: 1 })
    const done = await stage.until(
      id,
      'success',
      (child) => child.phase === 'SUCCESS' && child.completions.length === 2,
    )
    expect([done.round, done.worktree?.path]).toEqual([2, failed.worktree?.path])
    expect(readFileSync(stage.paths.child(id).attempt(1).prompt, 'utf8')).toContain('Mind the gap.')
  })

  it('that never ends is ended at its time limit, and so is what it forked away', async () => {
    stage = Stage.make()
    const line = `setsid sh -c 'trap "" TERM; exec sleep 987654' & (env -i setsid sleep 987655 &) ; sleep 987656`
    await set('--seconds', '1', ...sh(line))
    const id = await stage.detached({ goal: script({ say: 'one' }) })
    const child = await stage.settled(id)
    expect(child.setup?.words).toMatch(/failed: It took longer than 1 s and was ended\.$/)
    expect([child.phase, child.attempts.length]).toEqual(['FAILURE', 0])
    await stage.untilNothingRuns()
    expect(running(/sleep 98765/)).toEqual([])
  })

  it('that leaves a daemon behind has succeeded, and says that the daemon was ended', async () => {
    stage = Stage.make()
    await set(...sh('setsid sleep 987657 & exit 0'))
    const id = await stage.detached(script({ say: 'one' }))
    expect((await stage.settled(id)).phase).toBe('SUCCESS')
    expect(notices(id)).toContain('The setup left 1 processes behind; they were ended.')
    expect(running(/sleep 987657/)).toEqual([])
  })

  it('a program that is not there is a failed start that names it', async () => {
    stage = Stage.make()
    await set('--', 'no-such-program', 'x')
    const child = await stage.settled(await stage.detached(script({ say: 'one' })))
    expect(child.phase).toBe('FAILURE')
    expect(child.setup?.words).toMatch(/^The setup no-such-program x failed: It could not be started: .*ENOENT/)
  })

  it('a flood is ended, and a bounded part of it is kept', async () => {
    stage = Stage.make()
    await set(...sh('yes'))
    const id = await stage.detached(script({ say: 'one' }))
    const child = await stage.settled(id)
    expect(child.setup?.words).toBe('The setup sh -c yes failed: It printed more than 64 MiB and was ended.')
    const log = readFileSync(stage.paths.child(id).setupLog, 'utf8')
    expect(log.length).toBeLessThan(4.1 * 1024 * 1024)
    expect(log).toMatch(/\n… \d+ more bytes were not kept\n$/)
    expect(stage.transcript(id).filter((entry) => entry.kind === 'noise').length).toBeLessThanOrEqual(301)
  })

  it('that changes the shared git configuration says so', async () => {
    stage = Stage.make()
    await set('--', 'git', 'config', 'core.hooksPath', '.husky')
    const id = await stage.detached(script({ say: 'one' }))
    await stage.settled(id)
    expect(notices(id).join('\n')).toMatch(/changed the repository's own git configuration.*core\.hookspath/)
  })
})

describe('calling a setup off', () => {
  const hangs = async (): Promise<string> => {
    stage = Stage.make()
    await set(...sh('trap "" TERM; setsid sleep 987658 & echo up; sleep 987659'))
    const id = await stage.detached({ goal: script({ say: 'one' }), title: 'Hangs' })
    await eventually(() => stage.transcript(id).some((entry) => entry.kind === 'noise'), 'its setup has printed')
    return id
  }

  it('by stop: CANCELLED only once nothing of it lives, and no agent starts', async () => {
    const id = await hangs()
    await stage.json('steer', id, 'Never read.')
    await stage.json('stop', id)
    const asked = await stage.child(id)
    expect(asked.phase === 'CANCEL_REQUESTED' || asked.setup?.outcome !== null).toBe(true)
    const child = await stage.settled(id)
    expect([child.phase, child.attempts.length, child.setup?.outcome, child.steers[0]?.state]).toEqual([
      'CANCELLED',
      0,
      'called off',
      'withdrawn',
    ])
    expect(running(/sleep 98765[89]/)).toEqual([])
    expect(existsSync(child.worktree?.path ?? '')).toBe(true)
  })

  it('by pause: paused, and a resume sets the worktree up anew in the same round', async () => {
    const id = await hangs()
    await stage.json('steer', id, 'Keep this in mind.')
    await stage.json('interrupt', id, '--reason', 'lunch')
    const paused = await stage.until(id, 'paused', (child) => child.paused)
    expect([paused.phase, paused.round, paused.attempts.length]).toEqual(['INTERRUPTED', 1, 0])
    expect(running(/sleep 98765[89]/)).toEqual([])
    await set('--', 'true')
    expect(await stage.json('resume', id)).toMatchObject({ attempt: 1, carried_steers: [paused.steers[0]?.id] })
    const child = await stage.settled(id)
    expect([child.phase, child.round, child.steers[0]?.state]).toEqual(['SUCCESS', 1, 'confirmed'])
  })

  it('by the death of its supervisor: the next one ends what is left and says what happened; nothing starts by itself', async () => {
    const id = await hangs()
    const owner = await stage.owner()
    kill(owner?.process.pid ?? 0, 'SIGKILL')
    await eventually(async () => running(/cli\.js supervise/).length === 0, 'the supervisor is dead')
    expect(running(/sleep 98765[89]/)).not.toEqual([])
    await stage.json('doctor')
    const child = await stage.settled(id)
    expect([child.phase, child.attempts.length]).toEqual(['FAILURE', 0])
    expect(child.setup?.words).toMatch(
      /^Coxswain ended while the worktree was being set up\. \d of its processes still ran and were ended\. No agent ran; resume it/,
    )
    expect(running(/sleep 98765[89]/)).toEqual([])
  })
})

describe('a setup the repository offers', () => {
  const offer = (setup: unknown): void => write({ '.coxswain/setup.json': JSON.stringify(setup) })

  it('does not run until somebody agreed to exactly its content', async () => {
    stage = Stage.make()
    offer({ command: ['touch', 'offered'] })
    const first = await stage.settled(await stage.detached(script({ say: 'one' })))
    expect([first.phase, first.setup, existsSync(join(first.worktree?.path ?? '', 'offered'))]).toEqual([
      'SUCCESS',
      null,
      false,
    ])
    const shown = await stage.cli('setup')
    expect(shown.out).toContain('  runs touch offered (for at most 600 s)\n')
    const { offered } = await stage.json('setup')
    expect(shown.out).toContain(`coxswain setup consent ${offered.hash}`)
    const wrong = await stage.cli('setup', 'consent', '0'.repeat(64))
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('is not what you agreed to')])
    await stage.json('setup', 'consent', offered.hash)
    const second = await stage.settled(await stage.detached(script({ say: 'two' })))
    expect(existsSync(join(second.worktree?.path ?? '', 'offered'))).toBe(true)
  })

  it('that changed after somebody agreed to it is asked about again, and no child starts meanwhile', async () => {
    stage = Stage.make()
    offer({ command: ['touch', 'harmless'] })
    await stage.json('setup', 'consent', (await stage.json('setup')).offered.hash)
    offer({ command: ['touch', 'evil'] })
    const refused = await stage.cli('run', '--task', stage.tasks(script({ say: 'one' })), '--json')
    expect([refused.code, JSON.parse(refused.out).error.message]).toEqual([
      2,
      expect.stringContaining('has changed since you agreed to it'),
    ])
    expect(stage.left().children).toEqual([])
    await stage.json('setup', 'consent', (await stage.json('setup')).offered.hash)
    const child = await stage.settled(await stage.detached(script({ say: 'two' })))
    expect(existsSync(join(child.worktree?.path ?? '', 'evil'))).toBe(true)
  })

  it('that changed between dispatch and run never runs; the start fails and says so', async () => {
    stage = Stage.make()
    offer({ command: ['touch', 'harmless'] })
    await stage.json('setup', 'consent', (await stage.json('setup')).offered.hash)
    const coxswain = await stage.coxswain({ role: 'run', set: { maxChildrenTotal: 1 } })
    const holder = await coxswain.commands.spawn({ tasks: [{ goal: script(stage.waits('go')) }] })
    expect('subagent_ids' in holder).toBe(true)
    const waiting = await coxswain.commands.spawn({ tasks: [{ goal: script({ say: 'two' }) }], when_full: 'wait' })
    const id = 'subagent_ids' in waiting ? (waiting.subagent_ids[0] ?? '') : ''
    offer({ command: ['touch', 'evil'] })
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, child.setup, child.attempts.length]).toEqual(['FAILURE', null, 0])
    expect(notices(id).join('\n')).toContain('has changed since you agreed to it')
  })

  it.each([
    ['no JSON', '{', 'it is not JSON'],
    ['a way out', '{"copy":["../x"]}', 'copy.0 may not lead out of the repository with ..'],
    ['a way out inside', '{"copy":["a/../../x"]}', 'copy.0 may not lead out of the repository with ..'],
    ['the git folder', '{"copy":["sub/.GIT/config"]}', 'copy.0 may not name .git'],
    [
      'an absolute path',
      '{"copy":["/etc/passwd"]}',
      'copy.0 is relative to the top of the repository, with / between folders',
    ],
    ['an unknown key', '{"command":["x"],"shell":true}', 'unknown key shell'],
    ['nothing', '{}', 'a setup copies something, runs something, or both'],
  ])('that cannot be used (%s) is refused by name', async (_name, text, problem) => {
    stage = Stage.make()
    write({ '.coxswain/setup.json': text })
    const { offered } = await stage.json('setup')
    expect(offered).toMatchObject({ setup: null, problem })
    expect((await stage.cli('setup', 'consent', offered.hash)).code).toBe(2)
  })

  it('is not read through a link, nor from a FIFO', async () => {
    stage = Stage.make()
    const elsewhere = stage.file('{"command":["true"]}', 'elsewhere.json')
    mkdirSync(join(stage.repo, '.coxswain'))
    symlinkSync(elsewhere, join(stage.repo, '.coxswain/setup.json'))
    expect((await stage.json('setup')).offered).toMatchObject({
      setup: null,
      problem: 'it is not an ordinary file of the repository',
    })
  })

  it('cannot be chosen by a child, nor by a command that its setup runs', async () => {
    stage = Stage.make()
    offer({ command: ['touch', 'offered'] })
    const { offered } = await stage.json('setup')
    const asChild = stage.start(['setup', 'consent', offered.hash, '--json'], {
      env: { COXSWAIN_CHILD_ID: 'abcdefgh' },
    })
    const { code, out } = await asChild.done
    expect([code, JSON.parse(out).error]).toEqual([
      2,
      { code: 'unsupported', message: 'How worktrees are set up is for a person to say.' },
    ])
    expect((await stage.json('setup')).chosen).toBe(null)
  })
})

/** Living processes with this in their command line, wherever they belong. */
function running(command: RegExp): string[] {
  return stage.everyProcess().filter((line) => command.test(line))
}
