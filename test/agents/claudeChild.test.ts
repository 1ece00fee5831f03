// Claude Code as a child: the whole way from a wish to the body of the request the model gets, with real keepers.
import { rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { currentAttempt, type Child } from '../../src/core/child'
import { eventually, kill } from '../process/supervisor/stage'
import { bash, ClaudeStage, key } from './claudeStage'

let claude: ClaudeStage
beforeEach(async () => {
  claude = await ClaudeStage.make()
})
afterEach(() => claude.clear())

const states = ({ steers }: Child): string[] =>
  steers.map(({ text, history }) => `${text}: ${history.map(({ state }) => state).join(' ')}`)

/** A reply whose text comes in two pieces, the second one only when released. */
function heldText(): { reply: object; begun: Promise<void>; release: () => void } {
  let begin = () => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const betweenPieces = () => {
    begin()
    return held
  }
  return { reply: { pieces: ['Al', 'most.'], betweenPieces }, begun, release: () => release() }
}

describe('a steer', () => {
  it('during a subagent is not read by it, and follows its report to the one that was steered', async () => {
    const { stage } = claude
    const task = { description: 'look', prompt: 'LOOK-AROUND', subagent_type: 'general-purpose' }
    claude.script(
      { tools: [{ name: 'Agent', input: { ...task, run_in_background: false } }] },
      { text: 'I look.', tools: [claude.until('go')] },
      { text: 'Seen it all.' },
      { text: 'Blue it is.' },
    )
    const window = await claude.window()
    const id = await claude.spawn(window, 'Paint it red.')
    await claude.toolRuns(id, 2)
    await window.commands.steer({ subagent_id: id, message: 'MARKER blue' })
    await claude.sent(id, 1)
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, states(child)]).toEqual(['SUCCESS', ['MARKER blue: queued sent delivered confirmed']])
    expect([0, 1, 2, 3].map((n) => claude.times(n, 'MARKER'))).toEqual([0, 0, 0, 1])
    expect([claude.times(2, 'LOOK-AROUND'), claude.times(2, '"not cut"')]).toEqual([1, 1])
    const [report, steer] = claude.last(3)
    expect([report?.startsWith('tool_result'), report?.includes('Seen it all.'), steer?.includes('MARKER')]).toEqual([
      true,
      true,
      true,
    ])
  })

  it('while words stream before a tool follows that tool’s result', async () => {
    const { stage } = claude
    const { reply, begun, release } = heldText()
    claude.script({ ...reply, tools: [bash('echo ran')] }, { text: 'Blue it is.' })
    const window = await claude.window()
    const id = await claude.spawn(window, 'Paint it red.')
    await begun
    await window.commands.steer({ subagent_id: id, message: 'MARKER blue' })
    await claude.sent(id, 1)
    release()
    const child = await stage.settled(id)
    expect([child.phase, states(child)]).toEqual(['SUCCESS', ['MARKER blue: queued sent delivered confirmed']])
    expect([claude.last(1)[0], claude.last(1)[1]?.includes('MARKER'), claude.times(1, 'MARKER')]).toEqual([
      'tool_result ran',
      true,
      1,
    ])
  })

  it('at the very end keeps the child going for a turn of its own, and is refused once it is finishing', async () => {
    const { stage } = claude
    const { reply, begun, release } = heldText()
    claude.script(reply, { text: 'One more thing done.' })
    const window = await claude.window()
    const id = await claude.spawn(window, 'Say a word.')
    await begun
    await window.commands.steer({ subagent_id: id, message: 'MARKER one more thing' })
    await claude.sent(id, 1)
    release()
    const child = await stage.settled(id)
    expect([child.phase, states(child), stage.said(id)]).toEqual([
      'SUCCESS',
      ['MARKER one more thing: queued sent delivered confirmed'],
      ['Almost.', 'One more thing done.'],
    ])
    expect(claude.last(1).at(-1)).toContain('MARKER')
    const refused = await window.commands.steer({ subagent_id: id, message: 'Too late.' })
    expect(refused).toMatchObject({ error: { code: 'finished' } })
  })

  it('is read once although the supervisor was killed after it was sent, and so is one queued while nobody was there', async () => {
    const { stage } = claude
    claude.script({ tools: [claude.until('go')] }, { text: 'Heard.' })
    const id = await stage.detached({ goal: 'Wait.', agent: 'claude', autonomy: 'autonomous' })
    await claude.toolRuns(id)
    await stage.json('steer', id, 'MARKER-1')
    await claude.sent(id, 1)
    const owner = await stage.owner()
    kill(owner!.process.pid, 'SIGKILL')
    await eventually(() => !stage.ps().some(({ pid }) => pid === owner!.process.pid), 'the owner is dead')
    await stage.json('steer', id, 'MARKER-2')
    await claude.sent(id, 2)
    stage.open('go')
    const child = await stage.settled(id)
    expect([child.phase, child.attempts.length, states(child)]).toEqual([
      'SUCCESS',
      1,
      ['MARKER-1: queued sent delivered confirmed', 'MARKER-2: queued sent delivered confirmed'],
    ])
    expect([claude.times(1, 'MARKER-1'), claude.times(1, 'MARKER-2')]).toEqual([1, 1])
    expect(claude.last(1).join('\n')).toMatch(/MARKER-1[^]*MARKER-2/)
    await stage.untilNothingRuns()
  })

  it('that waited when the keeper was killed rides in the resumed turn, once', async () => {
    const { stage } = claude
    claude.script({ text: 'Long work.', tools: [claude.until('go')] }, { text: 'Went on.' })
    const window = await claude.window()
    const id = await claude.spawn(window, 'REMEMBER-ME')
    await claude.toolRuns(id)
    await claude.sessionHolds(id, 'tool_use')
    await window.commands.steer({ subagent_id: id, message: 'MARKER' })
    await claude.sent(id, 1)
    kill(currentAttempt(await stage.child(id))!.keeper!.pid, 'SIGKILL')
    const dead = await stage.settled(id)
    expect([dead.phase, states(dead)]).toEqual(['INTERRUPTED', ['MARKER: queued sent missed']])
    await stage.untilNothingRuns()
    await window.commands.resume({ subagent_id: id })
    const child = await stage.until(id, 'the second round', ({ round, settledAt }) => round === 2 && settledAt !== null)
    expect([child.phase, child.steers[0]?.state, claude.times(1, 'MARKER'), claude.times(1, 'REMEMBER-ME')]).toEqual([
      'SUCCESS',
      'confirmed',
      1,
      1,
    ])
  })
})

describe('death', () => {
  type Victim = 'agent' | 'keeper'
  it.each<[NodeJS.Signals, Victim, Child['phase'], object]>([
    ['SIGKILL', 'agent', 'INTERRUPTED', { code: null, signal: 'SIGKILL', firstCause: null, survivors: 0 }],
    ['SIGTERM', 'agent', 'FAILURE', { code: 143, signal: null, firstCause: null, survivors: 0 }],
    ['SIGKILL', 'keeper', 'INTERRUPTED', {}],
  ])(
    'by %s of the %s leaves no process of its tools, and the same session goes on',
    async (signal, victim, phase, exit) => {
      const { stage } = claude
      claude.script({ text: 'Long work.', tools: [claude.stubborn()] }, { text: 'Went on.' })
      const window = await claude.window()
      const id = await claude.spawn(window, 'REMEMBER-ME')
      await claude.stubbornRuns()
      await claude.sessionHolds(id, 'tool_use')
      const first = currentAttempt(await stage.child(id))!
      kill(first[victim]!.pid, signal)
      const dead = await stage.settled(id)
      expect(dead.phase).toBe(phase)
      expect(currentAttempt(dead)?.exit ?? {}).toMatchObject(exit)
      await stage.untilNothingRuns()
      await window.commands.resume({ subagent_id: id, message: 'Now do the rest.' })
      const child = await stage.until(
        id,
        'the second round',
        ({ round, settledAt }) => round === 2 && settledAt !== null,
      )
      expect([child.phase, child.attempts.map(({ sessionId }) => sessionId)]).toEqual([
        'SUCCESS',
        [first.sessionId, first.sessionId],
      ])
      expect([claude.times(1, 'REMEMBER-ME'), claude.times(1, 'Long work.'), claude.last(1).at(-1)]).toEqual([
        1,
        1,
        expect.stringContaining('Now do the rest.'),
      ])
    },
  )

  it('by a stop while a tool runs in a session of its own is complete', async () => {
    const { stage } = claude
    claude.script({ tools: [claude.stubborn()] })
    const window = await claude.window()
    const id = await claude.spawn(window, 'Work.')
    await claude.stubbornRuns()
    await window.commands.stop({ subagent_id: id })
    const child = await stage.settled(id)
    expect([child.phase, currentAttempt(child)?.exit?.survivors]).toEqual(['CANCELLED', 0])
    await stage.untilNothingRuns()
  })

  it('before its first word loses nothing: a resume begins the whole brief in a new session', async () => {
    const { stage } = claude
    claude.script({ hang: true }, { text: 'Done.' })
    const window = await claude.window()
    const id = await claude.spawn(window, 'REMEMBER-ME')
    await claude.models.requested('key-a', 1)
    const first = currentAttempt(await stage.until(id, 'launched', (c) => (currentAttempt(c)?.agent ?? null) !== null))!
    kill(first.agent!.pid, 'SIGKILL')
    await stage.settled(id)
    await window.commands.resume({ subagent_id: id, message: 'Quickly.' })
    const child = await stage.until(id, 'the second round', ({ round, settledAt }) => round === 2 && settledAt !== null)
    expect([child.phase, child.attempts[1]!.sessionId === first.sessionId]).toEqual(['SUCCESS', false])
    expect([claude.times(1, 'REMEMBER-ME'), claude.times(1, 'Quickly.')]).toEqual([1, 1])
  })

  it('that lost its session is named on resume, and no other session is taken for it', async () => {
    const { stage } = claude
    claude.script({ text: 'Another child.' }, { text: 'Long work.', tools: [claude.until('go')] })
    const window = await claude.window()
    await stage.settled(await claude.spawn(window, 'Something else.'))
    const id = await claude.spawn(window, 'REMEMBER-ME')
    await claude.toolRuns(id)
    const file = await claude.sessionHolds(id, 'tool_use')
    kill(currentAttempt(await stage.child(id))!.agent!.pid, 'SIGKILL')
    await stage.settled(id)
    rmSync(file)
    await window.commands.resume({ subagent_id: id })
    const child = await stage.until(id, 'the second round', ({ round, settledAt }) => round === 2 && settledAt !== null)
    const reason = currentAttempt(child)?.report?.reason
    expect([child.phase, reason?.includes(child.sessionId!), reason]).toEqual([
      'FAILURE',
      true,
      expect.stringContaining('start a new child with the same brief'),
    ])
    expect(claude.requests()).toHaveLength(2)
    await stage.untilNothingRuns()
  })
})

describe('an unreadable report', () => {
  it('is restructured by a Claude Code that gets its words, no tools and no files', async () => {
    const { stage } = claude
    const report = '{"artifacts": {"hull": "red all over"}, "summary": "Painted."}'
    // However often Claude Code itself asks its model for the object.
    claude.models.tolerate(key, { text: 'The hull is red all over. Painted.' })
    claude.models.clientOf = ({ model }) => (model === 'claude-quill-1' ? 'quill' : undefined)
    claude.models.script('quill', { text: report })
    const window = await claude.window({}, { extractor: { agent: 'claude', model: 'claude-quill-1' } })
    const contract = {
      deliverables: [{ id: 'hull', kind: 'inline' }],
      checks: [{ file_contains: { path: 'hull', text: 'red' } }],
      maxRetries: 0,
    }
    const id = await claude.spawn(window, { goal: 'Paint it red.', contract })
    const { verdict } = await stage.settled(id)
    expect([verdict?.status, verdict?.notes]).toEqual([
      'verified',
      [
        'extracted: the report was restructured by another model; nothing in it is evidence',
        'Claude Code (claude-quill-1) restructured the report',
      ],
    ])
    const [asked] = claude.models.requests('quill')
    expect(asked?.body.tools ?? []).toEqual([])
    expect(JSON.stringify(asked?.body.messages)).toContain('The hull is red all over. Painted.')
  })
})
