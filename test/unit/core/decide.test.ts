import { describe, expect, it } from 'vitest'
import { samePermissions, standingPermissions, type Child } from '../../../src/core/child'
import {
  decideAnswer,
  decideBatchGoals,
  decideCapacity,
  decideEditSteer,
  decideInterrupt,
  decideReorder,
  decideResume,
  decideRevoke,
  decideSteer,
  decideStop,
  decideTakeOver,
  decideText,
  decideVerify,
  decideWithdrawSteer,
  unknownChild,
} from '../../../src/core/decide'
import type { Fact, Task } from '../../../src/core/events'
import { fold } from '../../../src/core/reduce'
import { hasExpired } from '../../../src/core/retention'
import { accepted, alphabet, events, sampleRecipe, sampleTask } from './sample'

const a = alphabet(1)
const b = alphabet(2)
const contracted = sampleTask({ contract: { level: 'full', hash: 'h', maxRetries: 1 } })

function child(facts: readonly (Fact | undefined)[], task: Task = sampleTask()): Child {
  const given = facts.flatMap((fact) => (fact === undefined ? [] : [fact]))
  const folded = fold(events(accepted(task), ...given))
  if (folded === undefined || folded.misfits > 0) throw new Error(`facts that do not fit: ${folded?.misfits}`)
  return folded
}

const terminal = sampleTask({ recipe: { ...sampleRecipe, abilities: { ...sampleRecipe.abilities, terminal: true } } })
const running = [a.worktree, a.first, a.launched, a.ready]
const states: Record<string, Child> = {
  pending: child([]),
  'starting, no attempt': child([a.worktree]),
  'starting, announced': child([a.worktree, a.first]),
  'running, not ready': child([a.worktree, a.first, a.launched]),
  running: child(running),
  closing: child([...running, a.reportOk, a.closing]),
  'being paused': child([...running, a.interrupt]),
  'being stopped': child([...running, a.stop]),
  verifying: child([...running, a.reportOk, a.exit0], contracted),
  retrying: child([...running, a.reportOk, a.exit0, a.verifiedRetry], contracted),
  paused: child([...running, a.interrupt, a.exitOurs]),
  'timed out': child([...running, a.timeout, a.exitOurs]),
  succeeded: child([...running, a.reportOk, a.exit0]),
  failed: child([...running, a.exit1]),
  vanished: child([...running, a.vanished]),
  cancelled: child([...running, a.stop, a.exitOurs]),
  'stopped before the start': child([a.stop]),
  'stopped in its worktree': child([a.worktree, a.stop]),
  'no worktree': child([a.noWorktree]),
  'never launched': child([a.worktree, a.first, a.startFailed]),
  discarded: child([...running, a.exit0, { type: 'discarded', what: 'gone', by: { kind: 'person' } }]),
  'resumed, running': child([...running, a.exit0, b.resume, b.launched, b.ready]),
  'not steerable in this process': child([
    a.worktree,
    a.first,
    a.launched,
    { type: 'ready', attempt: 1, steerable: false },
  ]),
}

describe('which wish is granted in which state', () => {
  it('says for every state what is refused, and how', () => {
    const table = Object.entries(states).map(([name, state]) => {
      const wishes = [
        decideSteer(state, 'x'),
        decideStop(state),
        decideInterrupt(state),
        decideResume(state, undefined),
      ]
      return `${name.padEnd(30)}${wishes.map((refused) => (refused?.code ?? 'yes').padEnd(15)).join('')}`.trimEnd()
    })
    expect(['state                         steer          stop           interrupt      resume', ...table]).toEqual([
      'state                         steer          stop           interrupt      resume',
      'pending                       yes            yes            busy           busy',
      'starting, no attempt          yes            yes            busy           busy',
      'starting, announced           yes            yes            yes            busy',
      'running, not ready            yes            yes            yes            busy',
      'running                       yes            yes            yes            busy',
      'closing                       not_accepting  yes            yes            busy',
      'being paused                  not_accepting  yes            yes            busy',
      'being stopped                 not_accepting  yes            busy           busy',
      'verifying                     not_accepting  yes            busy           busy',
      'retrying                      not_accepting  yes            busy           busy',
      'paused                        finished       yes            finished       yes',
      'timed out                     finished       finished       finished       yes',
      'succeeded                     finished       finished       finished       yes',
      'failed                        finished       finished       finished       yes',
      'vanished                      finished       finished       finished       yes',
      'cancelled                     finished       finished       finished       yes',
      'stopped before the start      finished       finished       finished       not_resumable',
      'stopped in its worktree       finished       finished       finished       not_resumable',
      'no worktree                   finished       finished       finished       not_resumable',
      'never launched                finished       finished       finished       yes',
      'discarded                     finished       finished       finished       not_resumable',
      'resumed, running              yes            yes            yes            busy',
      'not steerable in this process not_accepting  yes            yes            busy',
    ])
  })

  it('gives each refusal one sentence or two that name the child and say what can be done', () => {
    const said = Object.values(states).flatMap((state) =>
      [decideSteer(state, 'x'), decideStop(state), decideInterrupt(state), decideResume(state, undefined)].flatMap(
        (refused) => (refused === null ? [] : [refused.message]),
      ),
    )
    for (const message of said) expect(message).toMatch(/^[^\n]*("Price table"|Demo agent)[^\n]*\.$/)
  })

  it('tells nothing about a child that is not there', () => {
    const answers = [
      decideSteer(undefined, ''),
      decideEditSteer(undefined, 't', ''),
      decideWithdrawSteer(undefined, 't', true),
      decideReorder(undefined, []),
      decideStop(undefined),
      decideInterrupt(undefined),
      decideResume(undefined, 'x'.repeat(20_000)),
      decideAnswer(undefined, 'q'),
    ]
    expect(new Set(answers)).toEqual(new Set([unknownChild]))
  })

  it('refuses to steer an agent that only restarts or cannot be steered, before it is even ready', () => {
    const modes = (['restart', 'none', 'next_turn', 'at_tool_boundary'] as const).map((steerMode) => {
      const { recipe } = sampleTask()
      const task = sampleTask({ recipe: { ...recipe, abilities: { ...recipe.abilities, steerMode } } })
      return [steerMode, decideSteer(child([a.worktree, a.first, a.launched], task), 'x')?.message ?? 'yes']
    })
    const no =
      '"Price table" takes no steer now: Demo agent cannot be steered while it runs; interrupt and resume it instead.'
    expect(modes).toEqual([
      ['restart', no],
      ['none', no],
      ['next_turn', 'yes'],
      ['at_tool_boundary', 'yes'],
    ])
  })

  it('refuses to resume an agent that cannot go on with a session', () => {
    const { recipe } = sampleTask()
    const task = sampleTask({ recipe: { ...recipe, abilities: { ...recipe.abilities, resume: false } } })
    expect(decideResume(child([...running, a.exit0], task), undefined)).toEqual({
      code: 'not_resumable',
      message: 'Demo agent cannot go on with an earlier session. Start a new child with the same brief.',
    })
  })

  it('takes a resume without words, and measures one with words', () => {
    const done = child([...running, a.exit0])
    expect([decideResume(done, undefined), decideResume(done, '  '), decideResume(done, 'x'.repeat(16_000))]).toEqual([
      null,
      null,
      null,
    ])
    expect(decideResume(done, 'x'.repeat(16_001))?.message).toContain('has 16001 characters; at most 16000')
  })
})

describe('steers that wait', () => {
  const steerStates: Record<string, Child> = {
    queued: child([...running, a.queue]),
    sent: child([...running, a.queue, a.sent]),
    delivered: child([...running, a.queue, a.sent, a.delivered]),
    confirmed: child([...running, a.queue, a.sent, a.delivered, a.confirmed]),
    withdrawn: child([...running, a.queue, a.withdrawn]),
    missed: child([...running, a.queue, a.exit0]),
    refused: child([...running, a.queue, { type: 'steerRefused', steerId: 't', attempt: 1, reason: 'no' }]),
    unknown: child([...running, a.queue, a.sent, { type: 'steerLost', steerId: 't', attempt: 1, reason: 'lost' }]),
  }
  it('can be edited and withdrawn while nobody has them, withdrawn from an agent that gives them back', () => {
    const table = Object.entries(steerStates).map(([name, state]) => [
      name,
      ...[
        decideEditSteer(state, 't', 'new words'),
        decideWithdrawSteer(state, 't', false),
        decideWithdrawSteer(state, 't', true),
      ].map((refused) => refused?.message.replace('This steer is already ', '… ') ?? 'yes'),
    ])
    const never = (state: string) => [
      state,
      `… ${state} and can no longer be edited.`,
      `… ${state} and can no longer be withdrawn.`,
      `… ${state} and can no longer be withdrawn.`,
    ]
    expect(table).toEqual([
      ['queued', 'yes', 'yes', 'yes'],
      [
        'sent',
        '… with the agent and can no longer be edited.',
        '… with the agent and can no longer be withdrawn.',
        'yes',
      ],
      never('delivered'),
      never('confirmed'),
      never('withdrawn'),
      ['missed', 'yes', 'yes', 'yes'],
      never('refused'),
      never('unknown'),
    ])
  })

  it('that rode in a first turn cannot be asked back: the agent knows no message of that name', () => {
    const rode = child([a.worktree, a.queue, { ...a.first, carried: ['t'] }, a.launched])
    expect(decideWithdrawSteer(rode, 't', true)?.message).toMatch(/already with the agent/)
  })

  it('are edited within the same bounds as they were queued', () => {
    const queued = child([...running, a.queue])
    expect([decideEditSteer(queued, 't', ' ')?.code, decideEditSteer(queued, 't', 'x'.repeat(16_001))?.code]).toEqual([
      'invalid',
      'invalid',
    ])
    expect(decideEditSteer(queued, 'u', 'x')?.message).toBe('"Price table" has no steer u.')
  })

  it('are reordered only as a whole', () => {
    const more: Fact = { type: 'steerQueued', steerId: 'u', text: 'and bill.py', by: { kind: 'person' } }
    const two = child([...running, a.queue, more])
    const granted = [['t', 'u'], ['u', 't'], ['t'], ['t', 't'], ['t', 'u', 'v'], ['t', 'v']].map(
      (order) => decideReorder(two, order) === null,
    )
    expect(granted).toEqual([true, true, false, false, false, false])
    expect(decideReorder(two, [])?.message).toBe('The order must name each queued steer once: t, u.')
    expect(decideReorder(child(running), ['t'])?.message).toBe(
      'The order must name each queued steer once: there is none.',
    )
  })
})

describe('answers', () => {
  it('are taken once, while the question is open', () => {
    const asked = [...running, a.asked]
    expect(decideAnswer(child(asked), 'q')).toBeNull()
    expect(decideAnswer(child([...asked, a.answered]), 'q')).toEqual({
      code: 'finished',
      message: 'This question of "Price table" has been answered already.',
    })
    expect(decideAnswer(child([...asked, a.exit0]), 'q')).toEqual({
      code: 'finished',
      message: 'This question of "Price table" was cancelled when its process ended.',
    })
    expect(decideAnswer(child(asked), 'r')?.code).toBe('invalid')
  })
})

describe('texts', () => {
  it('are measured after trimming', () => {
    expect([
      decideText('goal', '', 5)?.message,
      decideText('goal', ' \n ', 5)?.message,
      decideText('goal', ' 12345 ', 5),
      decideText('goal', '123456', 5)?.message,
    ]).toEqual([
      'The goal is empty. Say in one or two sentences what should be done.',
      'The goal is empty. Say in one or two sentences what should be done.',
      null,
      'The goal has 6 characters; at most 5 are taken. Shorten it, or put the rest in a file.',
    ])
  })
})

describe('goals of a batch', () => {
  const fine = 'Fix the parser.'
  it.each([
    'TODO',
    'todo.',
    'To-Do',
    'Task 3',
    'task #12',
    'goal',
    'Item 1',
    '...',
    'placeholder',
    'TBD',
    'xxx',
    'Fix {like this}',
    'Fix {{ file }} now',
    'Look at {module}.',
    'Review {file_name}, then stop',
    '{goal}',
  ])('refuses %s', (goal) => {
    expect(decideBatchGoals([fine, goal])?.message).toContain('Task 2 has a placeholder for a goal')
  })

  it.each([
    'Return Map<string, number> from lookup()',
    'Report as {"file": "x", "line": 1}',
    'Report as { "findings": [] }',
    'Use <div class="x"> and </div>',
    'Keep ${HOME} as it is',
    'Write f(x) = { x: 1 }',
    'Implement Result<T, E>',
    'Replace import {parse} from yaml',
    'Let <li>{name}</li> be bold',
    'Answer GET /users/{id} and src/{core,agents}/x',
    'Write `{name}` into the greeting',
    'Set style={box} on it',
    'Say \\frac{a}{b} in words',
    'Keep { a: { b: {} } }',
    'Do task 3 of the list',
    'The todo list must sort by date',
  ])('takes %s', (goal) => {
    expect(decideBatchGoals([fine, goal])).toBeNull()
  })

  it('trusts a single goal, and the same goal twice', () => {
    expect([decideBatchGoals(['TODO']), decideBatchGoals([fine, fine]), decideBatchGoals([])]).toEqual([
      null,
      null,
      null,
    ])
  })
})

describe('capacity', () => {
  const live = [{ id: 'c1', title: 'North' }]
  const maxChildrenTotal = 'maxChildrenTotal' as const
  it('counts what is asked for, names the setting and the live children, and starts nothing', () => {
    const total = { setting: maxChildrenTotal, cap: 2, live }
    expect([decideCapacity(1, [total]), decideCapacity(0, [{ ...total, cap: 1 }]), decideCapacity(1, [])]).toEqual([
      null,
      null,
      null,
    ])
    expect(decideCapacity(2, [total])).toEqual({
      code: 'over_cap',
      message:
        '2 more children would go over coxswain.maxChildrenTotal = 2; live now: North (c1). Nothing was started. Stop or wait for one of them, ask for fewer, or raise coxswain.maxChildrenTotal.',
      limit: { setting: 'maxChildrenTotal', cap: 2 },
    })
  })

  it('says of a child of another repository which one that is', () => {
    const away = { id: 'c2', title: 'East', elsewhere: 'the repository pier' }
    const total = { setting: maxChildrenTotal, cap: 2, live: [...live, away] }
    expect(decideCapacity(1, [total])?.message).toContain(
      'live now: North (c1), East (c2) in the repository pier. Nothing was started.',
    )
  })

  it('names the first cap that is in the way', () => {
    const per = { setting: 'maxChildrenPerParent' as const, cap: 1, live: [] }
    const total = { setting: maxChildrenTotal, cap: 0, live: [] }
    expect(decideCapacity(1, [per, total])?.message).toMatch(
      /^One more child would go over coxswain\.maxChildrenTotal = 0; live now: none\./,
    )
    expect(decideCapacity(2, [per, total])?.message).toContain('coxswain.maxChildrenPerParent = 1')
  })
})

describe('a verification', () => {
  const setUp = [a.worktree, a.setup, a.setupFailed]
  const told: Fact = { type: 'completionSent', completionId: 'c.1', round: 1 }
  const done = [...running, a.reportOk, a.exit0, a.verifiedOk, told]

  it('is of work that an agent has done', () => {
    expect(decideVerify(child(setUp, contracted))).toMatchObject({ code: 'unsupported' })
    expect(fold(events(accepted(contracted), ...setUp, a.verifyAsked))).toMatchObject({ verifyingAgain: false })
    expect(decideVerify(child(done, contracted))).toBeNull()
  })

  it('that was asked for is not asked for twice, holds off a person and old age, and ends with its verdict', () => {
    const again = child([...done, a.verifyAsked], contracted)
    expect(decideVerify(again)).toMatchObject({ code: 'busy' })
    expect(decideTakeOver({ ...again, task: terminal })).toMatchObject({ code: 'busy' })
    const later = new Date(Date.parse(again.settledAt ?? '') + 10 * 86_400_000)
    expect([again, child(done, contracted)].map((each) => hasExpired(each, 1, later))).toEqual([false, true])
    expect(child([...done, a.verifyAsked, a.verifiedOk], contracted).verifyingAgain).toBe(false)
  })
})

describe('taking back what was allowed for the whole child', () => {
  const ask = (requestId: string, covers: object): Fact[] => [
    { type: 'asked', attempt: 1, requestId, ask: { kind: 'approval', tool: 'Edit', input: {}, covers } },
    { type: 'answered', requestId, answer: { kind: 'allow', scope: 'child' }, by: { kind: 'person' } },
  ]
  const allowed = [...running, ...ask('p', {}), ...ask('q', {}), ...ask('r', { path: '/x' })]
  const revoked = (requestId: string): Fact => ({
    type: 'permissionRevoked',
    requestId,
    after: 9,
    by: { kind: 'person' },
  })
  const keeps = sampleTask({ recipe: { ...sampleRecipe, abilities: { ...sampleRecipe.abilities, revoke: true } } })

  it('is refused where its agent keeps them, and for what does not stand', () => {
    expect(decideRevoke(child(allowed), 'p')).toMatchObject({ code: 'unsupported' })
    expect(decideRevoke(child(allowed, keeps), 'p')).toBeNull()
    expect(decideRevoke(child([...allowed, revoked('p')], keeps), 'p')).toMatchObject({ code: 'finished' })
    expect(decideRevoke(child([...allowed, a.exit0], keeps), 'p')).toMatchObject({ code: 'finished' })
  })

  it('takes all of them that cover the same, and no other', () => {
    expect(samePermissions(child(allowed, keeps), 'q').map(({ id }) => id)).toEqual(['p', 'q'])
    const left = standingPermissions(child([...allowed, revoked('p'), revoked('q')], keeps))
    expect(left.map(({ id }) => id)).toEqual(['r'])
  })
})
