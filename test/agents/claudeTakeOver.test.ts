// A person goes on with a child's session in a terminal of their own and hands it back: one process in it at any time.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Coxswain } from '../../src/supervisor/coxswain'
import { eventually, kill } from '../process/supervisor/stage'
import { ClaudeStage, key } from './claudeStage'

let claude: ClaudeStage
let terminal: ChildProcess | undefined
beforeEach(async () => {
  claude = await ClaudeStage.make()
})
afterEach(async () => {
  if (terminal?.pid !== undefined) kill(-terminal.pid, 'SIGKILL')
  terminal = undefined
  await claude.clear()
})

/** What a person has answered the first time they ran it: theme, key, and trust in this folder. */
function beAtHome(cwd: string): void {
  const file = join(claude.stage.root, 'home', '.claude.json')
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>) : {}
  const projects = { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } }
  const customApiKeyResponses = { approved: [key], rejected: [] }
  const more = { hasCompletedOnboarding: true, theme: 'dark', customApiKeyResponses, projects }
  writeFileSync(file, JSON.stringify({ ...known, ...more }))
}

interface Typed {
  readonly keys: (text: string) => void
  /** Resolves once the screen was told to show this. */
  readonly shows: (words: string) => Promise<unknown>
}

/** A terminal in which this line was typed; its pid leads its group. */
function type(line: string): Typed {
  const started = spawn('script', ['-qfec', `stty rows 40 cols 120; ${line}`, '/dev/null'], {
    cwd: claude.stage.root,
    // What a person's own program looks for elsewhere is no business of ours; it does not get there.
    env: { ...claude.stage.environment, HTTPS_PROXY: 'http://127.0.0.1:9', TERM: 'xterm-256color', SHELL: '/bin/bash' },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  terminal = started
  let screen = ''
  started.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text))
  return {
    keys: (text) => void started.stdin.write(text),
    shows: (words) => eventually(() => screen.includes(words), `the terminal shows ${words}`, 30_000),
  }
}

const message = (answer: object): string => ('error' in answer ? (answer.error as { message: string }).message : '')

describe('taking over', () => {
  it('pauses it, prints the exact command, keeps the session to the terminal, and goes on with all of it when handed back', async () => {
    const { stage } = claude
    claude.script(
      { text: 'Long work.', tools: [claude.until('never')] },
      { text: 'From the terminal.' },
      { text: 'Done.' },
    )
    const window: Coxswain = await claude.window()
    const id = await claude.spawn(window, 'REMEMBER-ME')
    await claude.toolRuns(id)
    const { command, cwd, status } = await stage.json('takeover', id)
    const child = await stage.child(id)
    const program = child.task.recipe.executable
    expect([command, cwd, status]).toEqual([
      `cd ${child.worktree!.cwd} && ${program} --resume ${child.sessionId}`,
      child.worktree!.cwd,
      'ready',
    ])
    expect([child.phase, child.paused, child.takenOver, (await stage.json('list')).subagents[0].condition]).toEqual([
      'INTERRUPTED',
      true,
      true,
      'taken over in a terminal',
    ])
    await stage.untilNothingRuns()

    beAtHome(cwd)
    const { keys, shows } = type(command)
    const notes = join(stage.root, 'home', '.claude', 'sessions')
    const open = await eventually(
      () => claude.agentPids().find((pid) => existsSync(join(notes, `${pid}.json`))),
      'it is open',
      30_000,
    )
    const refused = await window.commands.resume({ subagent_id: id })
    expect(message(refused)).toBe(
      `The session of "REMEMBER-ME" is open in another process (${open}). End it there first; two in one session lose the work of one.`,
    )
    // Keys typed before its input line is there would be taken for a paste.
    await shows('REMEMBER-ME')
    keys('TYPED-BY-HAND')
    await shows('TYPED-BY-HAND')
    keys('\r')
    await claude.models.requested(key, 2)
    await claude.sessionHolds(id, 'From the terminal.')
    // A window that closes its terminal: the kernel tells whoever is in it.
    kill(terminal!.pid!, 'SIGKILL')
    await eventually(() => claude.agentPids().length === 0, 'the terminal is closed')

    await window.commands.resume({ subagent_id: id, message: 'Now you again.' })
    const after = await stage.settled(id)
    expect([
      after.phase,
      after.takenOver,
      after.attempts.map(({ sessionId }) => sessionId === child.sessionId),
    ]).toEqual(['SUCCESS', false, [true, true]])
    expect(
      ['REMEMBER-ME', 'TYPED-BY-HAND', 'From the terminal.', 'Now you again.'].map((words) => claude.times(2, words)),
    ).toEqual([1, 1, 1, 1])
  })

  it('is a person’s, and a parent does not take it back', async () => {
    const { stage } = claude
    claude.script({ text: 'Long work.', tools: [claude.until('never')] })
    const parent = await stage.coxswain({
      set: { agents: { claude: { kind: 'claude' } }, autonomy: 'autonomous' },
      as: { kind: 'parent', session: 'p-1' },
      role: 'run',
    })
    const id = await claude.spawn(parent, 'Work.')
    await claude.toolRuns(id)
    expect(message(await parent.commands.takeOver({ subagent_id: id }))).toMatch(/^Only a person/)
    await stage.json('takeover', id)
    expect(message(await parent.commands.resume({ subagent_id: id }))).toMatch(/^A person has taken over "Work."/)
    expect((await stage.child(id)).attempts).toHaveLength(1)
  })

  it('is refused for an agent without a terminal, and for one that has said nothing', async () => {
    const { stage } = claude
    claude.script({ hang: true })
    const window = await claude.window()
    const silent = await claude.spawn(window, 'Work.')
    await claude.models.requested(key, 1)
    expect(message(await window.commands.takeOver({ subagent_id: silent }))).toContain('has not said anything yet')
    await window.commands.stop({ subagent_id: silent })
    await stage.settled(silent)
    const demo = await stage.detached({ goal: 'Look around.', agent: 'demo' })
    expect(message(await window.commands.takeOver({ subagent_id: demo }))).toContain('cannot be gone on with')
    await stage.settled(demo)
  })
})
