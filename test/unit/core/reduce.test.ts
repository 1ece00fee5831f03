import { describe, expect, test } from 'vitest'
import { acceptance, isLive, isSettingUp, waitingSteers, type Child } from '../../../src/core/child'
import { endedPhase, fold, reduce, type EndFacts } from '../../../src/core/reduce'
import { accepted, alphabet, eventAt, events, sampleTask } from './sample'

const settledPhases = new Set(['SUCCESS', 'FAILURE', 'INTERRUPTED', 'CANCELLED'])

/**
 * What can still matter: two children alike in this behave alike from here on. Of an attempt that has ended only its
 * judgement does; of times only whether they are set.
 */
function shape(child: Child): string {
  const attempts = child.attempts.map((a) =>
    a.ended !== null
      ? a.ended
      : [
          a.launchedAt !== null,
          a.ready,
          a.turnStarted,
          a.closing,
          a.awaitsChildren,
          a.report?.ok,
          a.conflicts.length > 0,
          a.endRequest?.cause,
          a.calledOff,
        ].join(),
  )
  const steers = child.steers.map((steer) => [steer.state, steer.carried, steer.attempt].join())
  const requests = child.requests.map((request) => `${request.attempt}${request.answer?.kind}`)
  const flags = [
    child.paused,
    child.verifying,
    child.verifyingAgain,
    child.retrying,
    child.delegating,
    child.worktree !== null,
    child.stopRequest !== null,
  ]
  const { phase, round, verdict, settledAt, setup } = child
  const setting = setup === null ? 'none' : [setup.outcome, setup.endRequest !== null].join()
  return [
    phase,
    round,
    verdict?.disposition,
    settledAt !== null,
    setting,
    ...flags,
    attempts.join(';'),
    steers,
    requests,
  ].join('|')
}

/** Everything but the count of misfits and the number of the last fact is the very same. */
function unchanged(before: Child, after: Child): boolean {
  const keys = Object.keys(before) as (keyof Child)[]
  return keys.every((key) => key === 'misfits' || key === 'lastSeq' || before[key] === after[key])
}

/** What must hold of every child that any order of facts can lead to. */
function problems(before: Child | undefined, child: Child): string[] {
  const found: string[] = []
  const say = (wrong: boolean, words: string) => {
    if (wrong) found.push(words)
  }
  const attempt = child.attempts[child.attempts.length - 1]
  const liveAttempt = attempt !== undefined && attempt.ended === null
  say(
    child.attempts.slice(0, -1).some((a) => a.ended === null),
    'two attempts live at once',
  )
  say(liveAttempt && !isLive(child), `a process may exist but the phase is ${child.phase}`)
  say(isSettingUp(child) && !isLive(child), `a setup may run but the phase is ${child.phase}`)
  say(isSettingUp(child) && attempt !== undefined, 'an attempt beside a running setup')
  say(
    child.phase === 'CANCEL_REQUESTED' && !liveAttempt && !isSettingUp(child),
    'CANCEL_REQUESTED with no process to wait for',
  )
  say(!isLive(child) && waitingSteers(child).length > 0, 'ended with a steer still waiting')
  say(
    !liveAttempt && child.requests.some((r) => r.answer === null),
    'a question is open and nobody can hear the answer',
  )
  say(acceptance(child).accepting && !isLive(child), 'accepts steers though it is not live')
  say(child.delegating && (child.phase !== 'RUNNING' || liveAttempt), 'delegating beside a process or an end')
  say(child.verifying && child.phase !== 'RUNNING', 'verifying but not RUNNING')
  say(child.verifyingAgain && (isLive(child) || child.discarded), 'verifying again while it works or has no worktree')
  say(child.paused !== (child.phase === 'INTERRUPTED' && child.settledAt === null), 'paused and settled disagree')
  say(settledPhases.has(child.phase) && !child.paused && child.settledAt === null, 'ended but not settled')
  say(isLive(child) && child.settledAt !== null, 'live but settled')
  if (before !== undefined && !isLive(before) && isLive(child))
    say(
      child.attempts.length !== before.attempts.length + 1 && !isSettingUp(child),
      'came to life without a new attempt or setup',
    )
  for (const former of before?.attempts ?? []) {
    const now = child.attempts[former.n - 1]
    say(former.ended !== null && now?.ended !== former.ended, 'the judgement of an ended attempt changed')
    say(former.report?.ok === true && former.endRequest !== null && former.report.late, 'a late report counts')
  }
  for (const steer of child.steers) {
    const order = steer.history.map((h) => h.state)
    say(order[0] !== 'queued', 'a steer that was never queued')
    say(order.includes('confirmed') && !order.includes('delivered'), 'confirmed without being delivered')
    say(order[order.length - 1] !== steer.state, 'state and history of a steer disagree')
  }
  return found
}

describe('reduce', () => {
  const lifecycle = [
    'worktree',
    'startFailed',
    'noWorktree',
    'first',
    'resume',
    'retry',
    'launched',
    'interrupt',
    'stop',
  ]
  const ends = ['exit0', 'exit1', 'killed', 'exitOurs', 'vanished']
  const themes: Record<string, readonly string[]> = {
    'reports and ends': [
      ...lifecycle,
      ...ends,
      'timeout',
      'ready',
      'reportOk',
      'reportBad',
      'closing',
      'verifyAsked',
      'verifiedOk',
      'verifiedRetry',
    ],
    steers: [
      ...lifecycle,
      'exit0',
      'exitOurs',
      'turn',
      'queue',
      'sent',
      'delivered',
      'confirmed',
      'askedBack',
      'withdrawn',
      'verifiedOk',
      'verifiedRetry',
    ],
    setups: [
      ...lifecycle,
      'setup',
      'setupDone',
      'setupFailed',
      'setupCalledOff',
      'setupPause',
      'queue',
      'sent',
      'turn',
      'withdrawn',
      'exit0',
      'verifiedOk',
      'verifiedRetry',
    ],
    orchestrators: [
      ...lifecycle,
      'wake',
      'awaited',
      'reportOk',
      'turn',
      'queue',
      'sent',
      'withdrawn',
      'exit0',
      'exit1',
      'vanished',
      'verifiedOk',
      'verifiedRetry',
    ],
    questions: [
      ...lifecycle,
      'exit0',
      'vanished',
      'ready',
      'closing',
      'asked',
      'answered',
      'verifiedOk',
      'verifiedRetry',
    ],
  }
  /** Of a second attempt only what can still change the child's course. */
  const second = new Set([
    'setup',
    'wake',
    'awaited',
    'reportOk',
    'resume',
    'retry',
    'launched',
    'turn',
    'stop',
    'exit0',
    'verifiedOk',
  ])
  const rows = Object.keys(themes).flatMap((theme) => (['none', 'full'] as const).map((level) => ({ theme, level })))
  test.each(rows)(
    'holds its invariants over every order of facts about $theme (contract $level)',
    ({ theme, level }) => {
      const start = fold(events(accepted(sampleTask({ contract: { level, maxRetries: 1 } }))))
      expect(start).toBeDefined()
      const seen = new Map<string, readonly string[]>()
      let frontier: { child: Child; path: readonly string[] }[] = [{ child: start as Child, path: [] }]
      const phases = new Set<string>([(start as Child).phase])
      let transitions = 0
      for (let depth = 0; depth < 40 && frontier.length > 0; depth++) {
        const next: typeof frontier = []
        for (const { child, path } of frontier) {
          for (const n of [1, 2]) {
            for (const [name, fact] of Object.entries(alphabet(n)).filter(
              ([name]) => themes[theme]!.includes(name) && (n === 1 || second.has(name)),
            )) {
              const after = reduce(child, eventAt(fact, child.lastSeq + 1)) as Child
              transitions++
              const wrong = problems(child, after)
              if (wrong.length > 0) throw new Error(`${wrong.join('; ')} after ${[...path, `${name}${n}`].join(' ')}`)
              if (after.misfits > child.misfits) {
                // A fact that does not fit changes nothing but the count.
                if (!unchanged(child, after))
                  throw new Error(`a misfit changed something after ${[...path, `${name}${n}`].join(' ')}`)
                continue
              }
              const key = shape(after)
              if (seen.has(key)) continue
              seen.set(key, [...path, `${name}${n}`])
              phases.add(after.phase)
              next.push({ child: after, path: [...path, `${name}${n}`] })
            }
          }
        }
        frontier = next
      }
      expect(frontier).toEqual([])
      expect([...phases].sort()).toEqual(
        ['CANCELLED', 'CANCEL_REQUESTED', 'FAILURE', 'INTERRUPTED', 'PENDING', 'RUNNING', 'STARTING', 'SUCCESS']
          .filter((phase) => phase !== 'SUCCESS' || ['reports and ends', 'orchestrators'].includes(theme))
          .sort(),
      )
      expect(transitions).toBeGreaterThan(1_000)
    },
  )

  test('a number that was already folded changes nothing', () => {
    const log = events(accepted(), alphabet(1)['worktree'])
    const child = fold(log) as Child
    const again = reduce(child, log[1]!) as Child
    expect({ ...again, misfits: 0 }).toEqual({ ...child, misfits: 0 })
    expect(again.misfits).toBe(1)
  })

  test('a stop asked before launch never leads to a process', () => {
    const a = alphabet(1)
    const child = fold(events(accepted(), a['stop'], a['worktree'], a['first'])) as Child
    expect([child.phase, child.attempts.length, child.worktree?.path, child.misfits]).toEqual(['CANCELLED', 0, '/w', 1])
  })

  test('a stop during a setup is called off only once nothing of it runs, and no agent follows', () => {
    const a = alphabet(1)
    const log = [accepted(), a['worktree'], a['setup'], a['queue'], a['stop']]
    const asked = fold(events(...log)) as Child
    expect([asked.phase, asked.steers[0]?.state]).toEqual(['CANCEL_REQUESTED', 'queued'])
    const over = fold(events(...log, a['setupDone'], a['first'])) as Child
    expect([over.phase, over.attempts.length, over.steers[0]?.state, over.misfits]).toEqual([
      'CANCELLED',
      0,
      'withdrawn',
      1,
    ])
  })

  test('a pause during a setup keeps the round; the next setup goes on in it, and its steers ride in the first turn', () => {
    const a = alphabet(1)
    const log = [accepted(), a['worktree'], a['setup'], a['queue'], a['setupPause'], a['setupCalledOff']]
    const paused = fold(events(...log)) as Child
    expect([paused.phase, paused.paused, paused.settledAt, paused.steers[0]?.state]).toEqual([
      'INTERRUPTED',
      true,
      null,
      'missed',
    ])
    const first = { ...a['first'], carried: ['t'] }
    const on = fold(events(...log, a['setup'], a['setupDone'], first, a['launched'], a['turn'])) as Child
    expect([on.phase, on.round, on.steers[0]?.state, on.misfits]).toEqual(['RUNNING', 1, 'confirmed', 0])
  })

  test('a failed setup settles the round as a failure; a new one opens the next round', () => {
    const a = alphabet(1)
    const log = [accepted(), a['worktree'], a['setup'], a['setupFailed']]
    const failed = fold(events(...log)) as Child
    expect([failed.phase, failed.round, failed.setup?.diagnostic]).toEqual(['FAILURE', 1, 'no disk'])
    const b = alphabet(2)
    const again = fold(events(...log, b['setup'], b['setupDone'], { ...a['first'], round: 2 }, a['launched'])) as Child
    expect([again.phase, again.round, again.settledAt, again.misfits]).toEqual(['RUNNING', 2, null, 0])
    // What is gone of the first round says nothing of the second, from its first moment on.
    const expired = fold(events(...log, { type: 'expired', days: 14 }, b['setup'])) as Child
    expect([expired.phase, expired.expiredAt, expired.misfits]).toEqual(['STARTING', null, 0])
  })

  test('a steer queued in the instant the attempt ends is missed and rides with the resume', () => {
    const a = alphabet(1)
    const b = alphabet(2)
    const log = [
      accepted(),
      a['worktree'],
      a['first'],
      a['launched'],
      a['ready'],
      a['reportOk'],
      a['exit0'],
      a['queue'],
    ]
    const missed = fold(events(...log)) as Child
    expect([missed.phase, missed.steers[0]?.state]).toEqual(['SUCCESS', 'missed'])
    const resumed = fold(events(...log, b['resume'], b['launched'], b['turn'])) as Child
    expect([resumed.phase, resumed.steers[0]?.state]).toEqual(['RUNNING', 'confirmed'])
    expect(resumed.steers[0]?.history.map((h) => h.state)).toEqual([
      'queued',
      'missed',
      'sent',
      'delivered',
      'confirmed',
    ])
  })

  test('a pause keeps the round open, a stop of a paused child settles it', () => {
    const a = alphabet(1)
    const log = [accepted(), a['worktree'], a['first'], a['launched'], a['queue'], a['interrupt'], a['exitOurs']]
    const paused = fold(events(...log)) as Child
    expect([paused.phase, paused.paused, paused.settledAt, paused.steers[0]?.state]).toEqual([
      'INTERRUPTED',
      true,
      null,
      'missed',
    ])
    const stopped = fold(events(...log, a['stop'])) as Child
    expect([stopped.phase, stopped.paused]).toEqual(['CANCELLED', false])
  })

  test('success reported after somebody asked for an end is a conflict, not a claim', () => {
    const a = alphabet(1)
    const child = fold(
      events(accepted(), a['worktree'], a['first'], a['launched'], a['stop'], a['reportOk'], a['exit0']),
    ) as Child
    expect([child.phase, child.attempts[0]?.report, child.attempts[0]?.conflicts.length]).toEqual([
      'CANCELLED',
      null,
      1,
    ])
  })
})

describe('endedPhase', () => {
  const base: EndFacts = {
    report: null,
    endRequest: null,
    calledOff: false,
    launchedAt: 'x',
    exit: null,
    vanished: null,
    startFailure: null,
  }
  const at = '2026-01-01T00:00:00.000Z'
  const report = (ok: boolean) => ({ ok, summary: null, output: null, reason: null, at, late: false, wholeText: null })
  const exit = (code: number | null, signal: string | null, firstCause: string | null) => ({
    code,
    signal,
    firstCause,
    drained: true,
    survivors: 0,
    durationMs: 1,
  })
  const request = (cause: 'stop' | 'interrupt' | 'timeout') => ({
    cause,
    reason: '',
    by: { kind: 'person' as const },
    at,
  })
  test('judges in the order of the specification', () => {
    const cases: [string, Partial<EndFacts>][] = [
      ['success, exit 0', { report: report(true), exit: exit(0, null, null) }],
      ['success, then our ladder killed it', { report: report(true), exit: exit(null, 'SIGKILL', 'finished') }],
      [
        'success before a stop',
        { report: report(true), calledOff: true, endRequest: request('stop'), exit: exit(null, 'SIGTERM', 'stop') },
      ],
      ['success, then vanished', { report: report(true), vanished: 'gone' }],
      ['success contradicted by exit 3', { report: report(true), exit: exit(3, null, null) }],
      ['success, then killed by a stranger', { report: report(true), exit: exit(null, 'SIGKILL', null) }],
      ['stop', { calledOff: true, endRequest: request('stop'), exit: exit(0, null, 'stop') }],
      [
        'interrupt, then stop',
        { calledOff: true, endRequest: request('interrupt'), exit: exit(null, 'SIGTERM', 'interrupt') },
      ],
      ['interrupt', { endRequest: request('interrupt'), exit: exit(0, null, 'interrupt') }],
      ['timeout', { endRequest: request('timeout'), exit: exit(null, 'SIGTERM', 'timeout') }],
      ['timeout while nobody was attached', { exit: exit(null, 'SIGTERM', 'timeout') }],
      ['never launched', { launchedAt: null, startFailure: { reason: 'x', diagnostic: null } }],
      ['failure reported', { report: report(false), exit: exit(0, null, null) }],
      ['exit 1', { exit: exit(1, null, null) }],
      ['exit 0 without a report', { exit: exit(0, null, null) }],
      ['killed by a stranger', { exit: exit(null, 'SIGKILL', null) }],
      ['vanished', { vanished: 'gone' }],
    ]
    expect(cases.map(([name, facts]) => `${name} -> ${endedPhase({ ...base, ...facts })}`)).toEqual([
      'success, exit 0 -> SUCCESS',
      'success, then our ladder killed it -> SUCCESS',
      'success before a stop -> SUCCESS',
      'success, then vanished -> SUCCESS',
      'success contradicted by exit 3 -> FAILURE',
      'success, then killed by a stranger -> INTERRUPTED',
      'stop -> CANCELLED',
      'interrupt, then stop -> CANCELLED',
      'interrupt -> INTERRUPTED',
      'timeout -> INTERRUPTED',
      'timeout while nobody was attached -> INTERRUPTED',
      'never launched -> FAILURE',
      'failure reported -> FAILURE',
      'exit 1 -> FAILURE',
      'exit 0 without a report -> FAILURE',
      'killed by a stranger -> INTERRUPTED',
      'vanished -> INTERRUPTED',
    ])
  })
})
