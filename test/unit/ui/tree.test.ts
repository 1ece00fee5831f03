// The tree as a person sees it, asserted as text: groups, order, nesting, and each row's words.
import { expect, test } from 'vitest'
import type { Child } from '../../../src/core/child'
import { ageStep, row } from '../../../src/ui/present/row'
import {
  buildTree,
  needsYouCount,
  noOverlaps,
  noStats,
  type ChildNode,
  type TreeFilter,
} from '../../../src/ui/present/standing'
import type { ChildView } from '../../../src/supervisor/view'
import { approval, at, attempt, child, ended, now, question, recipe, steer, verdict, view } from './children'

function tree(views: readonly ChildView[], filter?: TreeFilter, unfolded: 'finished'[] = []): string {
  const lines: string[] = []
  const add = (nodes: readonly ChildNode[], depth: number): void => {
    for (const node of nodes) {
      const { icon, label, description } = row(node.view, now(90))
      lines.push(`${'  '.repeat(depth)}(${icon.id}) ${label} | ${description}`)
      add(node.children, depth + 1)
    }
  }
  for (const group of buildTree(views, filter, new Set(unfolded))) {
    lines.push(`${group.standing} ${group.count}`)
    add(group.roots, 1)
    if (group.hidden > 0) lines.push(`  Show ${group.hidden} more`)
  }
  return lines.join('\n')
}

const one = (over: Partial<Child>, seen: Partial<Omit<ChildView, 'child'>> = {}): string => {
  const { icon, label, description } = row(view(over, seen), now(90))
  return `(${icon.id}) ${label} | ${description}`
}

test('groups follow who must act next, and a row says at a glance what goes on', () => {
  const views = [
    view({ id: 'a', title: 'Works' }, { activity: 'Bash: npm test', activityAt: at(49) }),
    view({ id: 'b', title: 'Asks', requests: [question()] }, { activityAt: at(20) }),
    view({ id: 'c', title: 'Sleeps', phase: 'INTERRUPTED', paused: true, attempts: [attempt({ endedAt: at(30) })] }),
    view({ id: 'd', title: 'Claims', ...ended('SUCCESS') }),
    view({
      id: 'e',
      title: 'Failed',
      acceptedAt: at(1),
      ...ended('FAILURE'),
      attempts: [attempt({ vanished: 'its keeper is gone' })],
    }),
    view({ id: 'f', title: 'Stopped', ...ended('CANCELLED') }),
  ]
  expect(tree(views)).toBe(
    [
      'needsYou 1',
      '  (question) Asks | asks: Which file first? · accepting steer · 1m · Demo agent',
      'working 1',
      '  (sync~spin) Works | accepting steer · Bash: npm test · 40s · Demo agent',
      'paused 1',
      '  (debug-pause) Sleeps | paused · 1m · resume it to steer · Demo agent',
      'review 1',
      '  (pass) Claims | says it is done · 30s · Demo agent',
      'finished 2',
      '  (error) Failed | failed: its keeper is gone · 30s · Demo agent',
      '  (circle-slash) Stopped | stopped · 30s · Demo agent',
    ].join('\n'),
  )
})

test.each<[string, Partial<Child>, string]>([
  [
    'waits for a slot',
    { phase: 'PENDING', waitingForSlot: true, attempts: [] },
    '(clock) Fix the null check | waiting for a free slot · accepting steer · 1m · Demo agent',
  ],
  [
    'starts',
    { phase: 'STARTING', attempts: [attempt({ launchedAt: null })] },
    '(loading~spin) Fix the null check | starting · accepting steer · 1m · Demo agent',
  ],
  [
    'is being paused',
    { attempts: [attempt({ endRequest: { cause: 'interrupt', reason: '', by: { kind: 'person' }, at: at(5) } })] },
    '(sync~spin) Fix the null check | pausing · no steer now · 1m · Demo agent',
  ],
  [
    'is being stopped',
    { phase: 'CANCEL_REQUESTED' },
    '(stop-circle) Fix the null check | stopping · no steer now · 1m · Demo agent',
  ],
  ['is verified now', { verifying: true }, '(beaker) Fix the null check | verifying · no steer now · 1m · Demo agent'],
  [
    'is rate limited',
    { conditions: { rate_limited: { words: 'rate limited', until: at(600) } } },
    `(sync~spin) Fix the null check | rate limited until ${new Date(at(600)).toTimeString().slice(0, 5)} · accepting steer · 1m · Demo agent`,
  ],
  [
    'tries again in a moment',
    { conditions: { retrying: { words: 'retrying the model, 1 of 4', until: at(61) } } },
    '(sync~spin) Fix the null check | retrying the model, 1 of 4 · accepting steer · 1m · Demo agent',
  ],
  [
    'cannot be steered',
    { task: { ...child().task, recipe: recipe({ abilities: { ...recipe().abilities, steerMode: 'none' } }) } },
    '(sync~spin) Fix the null check | no steer: pause it first · working · 1m · Demo agent',
  ],
  [
    'has steers waiting',
    { steers: [steer(), steer({ id: 'st-2', state: 'sent' })] },
    '(sync~spin) Fix the null check | accepting steer · 2 steers waiting · working · 1m · Demo agent',
  ],
  [
    'wants to use a tool',
    { requests: [approval('Bash')] },
    '(shield) Fix the null check | wants Bash · accepting steer · 1m · Demo agent',
  ],
  [
    'is out of sight',
    { phase: 'UNKNOWN' },
    '(question) Fix the null check | its processes cannot be seen · Demo agent',
  ],
  [
    'hit its time limit',
    {
      phase: 'INTERRUPTED',
      attempts: [
        attempt({
          endedAt: at(60),
          endRequest: { cause: 'timeout', reason: '', by: { kind: 'coxswain' }, at: at(50) },
        }),
      ],
    },
    '(debug-pause) Fix the null check | time limit reached · 30s · resume it to steer · Demo agent',
  ],
  [
    'was verified',
    ended('SUCCESS', { verdict: verdict() }),
    '(verified-filled) Fix the null check | verified · 30s · Demo agent',
  ],
  [
    'is verified again',
    ended('SUCCESS', { verdict: verdict(), verifyingAgain: true }),
    '(beaker) Fix the null check | verifying · 30s · Demo agent',
  ],
  [
    'failed a check',
    ended('SUCCESS', {
      verdict: verdict({
        status: 'failed',
        disposition: 'partial',
        checks: [{ check: { file_exists: { path: 'a' } }, result: 'FAIL', reason: 'absent', recoverable: true, ms: 1 }],
      }),
    }),
    '(warning) Fix the null check | 1 check failed · 30s · partial · Demo agent',
  ],
  [
    'was not verified',
    ended('SUCCESS', { verdict: verdict({ status: 'unverified' }) }),
    '(pass) Fix the null check | says it is done · 30s · not verified · Demo agent',
  ],
  [
    'missed a steer',
    ended('SUCCESS', { steers: [steer({ state: 'missed' })] }),
    '(warning) Fix the null check | 1 steer was missed · 30s · Demo agent',
  ],
  [
    'was paused with a steer waiting',
    {
      phase: 'INTERRUPTED',
      paused: true,
      steers: [steer({ state: 'missed' })],
      attempts: [attempt({ endedAt: at(60) })],
    },
    '(debug-pause) Fix the null check | paused · 30s · resume it to steer · 1 missed · Demo agent',
  ],
  ['was discarded', ended('SUCCESS', { discarded: true }), '(pass) Fix the null check | discarded · 30s · Demo agent'],
  [
    'works under a long title',
    { title: 'Count the empty berths in src/harbour.js and print them' },
    '(sync~spin) Count the empty berth… | accepting steer · working · 1m · Demo agent',
  ],
  [
    'exited with a code',
    ended('FAILURE', {
      attempts: [
        attempt({ exit: { code: 3, signal: null, firstCause: null, drained: true, survivors: 0, durationMs: 1 } }),
      ],
    }),
    '(error) Fix the null check | failed: process exited with code 3 · 30s · Demo agent',
  ],
])('a child that %s', (_what, over, shown) => {
  expect(one(over)).toBe(shown)
})

test('at the default width of the side bar a row with a long title says how it stands, and what it needs', () => {
  const failed = verdict({
    status: 'failed',
    disposition: 'partial',
    checks: [{ check: { file_exists: { path: 'a' } }, result: 'FAIL', reason: 'absent', recoverable: true, ms: 1 }],
  })
  const visible = (over: Partial<Child>, seen: Partial<Omit<ChildView, 'child'>> = {}): string => {
    const { label, description } = row(
      view({ title: 'Count the empty berths in src/harbour.js', ...over }, seen),
      now(90),
    )
    return `${label} ${description}`.slice(0, 38)
  }
  expect([
    visible({}),
    visible({ requests: [question()] }),
    visible({ requests: [approval('Bash')] }),
    visible({ suggestion: { action: 'steer', reason: 'drift: it edits lib/a.js' } }),
    visible({ conditions: { rate_limited: { words: 'rate limited', until: null } } }),
    visible({ phase: 'CANCEL_REQUESTED' }),
    visible({}, { parentAway: true }),
    visible(ended('SUCCESS', { verdict: verdict() })),
    visible(ended('SUCCESS', { verdict: failed })),
    visible(ended('SUCCESS', { applied: true, appliedTo: 'main' })),
  ]).toEqual([
    'Count the empty berth… accepting steer',
    'Count the empty berth… asks: Which fil',
    'Count the empty berth… wants Bash · ac',
    'Count the empty berth… steer it? drift',
    'Count the empty berth… rate limited · ',
    'Count the empty berth… stopping · no s',
    'Count the empty berth… parent away · a',
    'Count the empty berths in… verified · ',
    'Count the empty berths in… 1 check fai',
    'Count the empty berths in… applied to ',
  ])
  expect(one(ended('SUCCESS', { applied: true, appliedTo: 'main', verdict: verdict() }))).toBe(
    '(verified-filled) Fix the null check | applied to main · 30s · verified · Demo agent',
  )
})

test('a stopped child that changed files is there for review, with how much it changed', () => {
  const views = [
    view({ id: 'a', title: 'Stopped', ...ended('CANCELLED') }),
    view({ id: 'b', title: 'Empty', ...ended('CANCELLED') }),
  ]
  const stat = { files: 3, insertions: 40, deletions: 2 }
  const statOf = (id: string) => (id === 'a' ? stat : { files: 0, insertions: 0, deletions: 0 })
  const groups = buildTree(views, {}, new Set(), statOf)
  expect(groups.map(({ standing, roots }) => [standing, ...roots.map(({ id }) => id)])).toEqual([
    ['review', 'a'],
    ['finished', 'b'],
  ])
  expect(views.map((each) => row(each, now(90), statOf).description)).toEqual([
    'stopped · 30s · 3 files +40 −2 · Demo agent',
    'stopped · 30s · Demo agent',
  ])
})

test('a tree of children stands whole in the group of its most urgent member', () => {
  const views = [
    view({ id: 'boss', title: 'Boss', acceptedAt: at(0) }),
    view({ id: 'kid', title: 'Kid', parentChild: 'boss', acceptedAt: at(1), ...ended('SUCCESS') }),
    view({ id: 'grandkid', title: 'Grandkid', parentChild: 'kid', acceptedAt: at(2), requests: [question()] }),
    view({ id: 'other', title: 'Other', acceptedAt: at(3) }),
  ]
  expect(
    tree(views)
      .split('\n')
      .map((line) => line.replace(/ \|.*/, '')),
  ).toEqual([
    'needsYou 1',
    '  (sync~spin) Boss',
    '    (pass) Kid',
    '      (question) Grandkid',
    'working 1',
    '  (sync~spin) Other',
  ])
  expect(needsYouCount(views)).toBe(1)
})

test('a steer that was thought of is a hint at its place; a stop needs a person', () => {
  const drifts = view({ title: 'Drifts', suggestion: { action: 'steer', reason: 'drift: it is at "README.md"' } })
  const loops = view({ title: 'Loops', suggestion: { action: 'stop', reason: 'loop: Bash' } })
  expect([needsYouCount([drifts]), needsYouCount([loops])]).toEqual([0, 1])
  expect(row(drifts, now(60)).description).toContain('steer it? drift: it is at "README.md"')
  expect(row(loops, now(60)).description).toMatch(/^stop it\? loop: Bash/)
  expect(row(drifts, now(60)).sentence).toContain(
    ', accepting steer, steer it? drift: it is at "README.md", agent Demo agent',
  )
  expect(row(loops, now(60)).sentence).toContain(', needs you: stop it? loop: Bash, ')
})

test('parent links that run in a circle or into nothing lose no child', () => {
  const views = [
    view({ id: 'a', title: 'A', parentChild: 'b' }),
    view({ id: 'b', title: 'B', parentChild: 'a' }),
    view({ id: 'c', title: 'C', parentChild: 'gone' }),
  ]
  const titles = tree(views).match(/\) (A|B|C) /g)
  expect(titles?.sort()).toEqual([') A ', ') B ', ') C '])
})

test('finished children fold after five; failures and pinned ones never do', () => {
  const views = Array.from({ length: 12 }, (_, i) =>
    view({
      id: `f${i}`,
      title: `F${i}`,
      acceptedAt: at(i),
      pinned: i === 0,
      ...(i === 1 ? ended('FAILURE') : ended('CANCELLED')),
    }),
  )
  const shown = (unfolded: 'finished'[] = []): string[] =>
    tree(views, undefined, unfolded)
      .split('\n')
      .map((line) => line.replace(/\(\S+\) | \|.*/g, '').trim())
  expect(shown()).toEqual(['finished 12', 'F0', 'F11', 'F10', 'F9', 'F8', 'F7', 'F1', 'Show 5 more'])
  expect(shown(['finished'])).toHaveLength(13)
})

test('whoever has waited longest is asked first; elsewhere the newest stands first, pinned before all', () => {
  const asks = (id: string, s: number): ChildView => view({ id, title: id, acceptedAt: at(s), requests: [question()] })
  const works = (id: string, s: number, pinned = false): ChildView => view({ id, title: id, acceptedAt: at(s), pinned })
  const titles = tree([asks('a1', 5), asks('a2', 1), works('w1', 1), works('w2', 9), works('w3', 0, true)])
    .split('\n')
    .map((line) => line.replace(/\(\S+\) | \|.*/g, '').trim())
  expect(titles).toEqual(['needsYou 2', 'a2', 'a1', 'working 3', 'w3', 'w2', 'w1'])
})

test('a child that waits for an answer stands before one that only missed a steer, however long ago that was', () => {
  const missed = view({
    id: 'm',
    title: 'Missed',
    acceptedAt: at(0),
    ...ended('SUCCESS', { steers: [steer({ state: 'missed' })] }),
  })
  const asking = view({ id: 'q', title: 'Asking', acceptedAt: at(9), requests: [question()] })
  expect(tree([missed, asking]).match(/Missed|Asking/g)).toEqual(['Asking', 'Missed'])
})

test('a discarded child is finished, whatever it was before', () => {
  const views = (['SUCCESS', 'INTERRUPTED', 'CANCELLED'] as const).map((phase) =>
    view({ id: phase, title: phase, ...ended(phase, { discarded: true }) }),
  )
  expect(tree(views)).toMatch(/^finished 3\n/)
})

test('the running time leaves pauses out', () => {
  const paused = view({
    phase: 'INTERRUPTED',
    paused: true,
    attempts: [attempt({ endedAt: at(60), ended: 'INTERRUPTED' })],
  })
  const resumed = view({
    attempts: [attempt({ endedAt: at(60), ended: 'INTERRUPTED' }), attempt({ n: 2, launchingAt: at(600) })],
  })
  const time = (of: ChildView, seconds: number) =>
    row(of, now(seconds)).tooltip.find(({ name }) => name === 'Running time')?.value
  expect([time(paused, 90), time(paused, 900), time(resumed, 660)]).toEqual(['1m', '1m', '2m'])
})

test('a filter by text, agent or state leaves out what does not match, and archived children stay out until asked for', () => {
  const views = [
    view({ id: 'a', title: 'Harbour' }),
    view({
      id: 'b',
      title: 'Tides',
      task: { ...child().task, goal: 'harbour lights', recipe: recipe({ agent: 'x', label: 'X' }) },
    }),
    view({ id: 'c', title: 'Old harbour', archived: true, ...ended('SUCCESS') }),
  ]
  const titles = (filter: TreeFilter): string[] => tree(views, filter).match(/(?<=\) )[^|]+(?= \|)/g) ?? []
  expect(titles({})).toEqual(['Tides', 'Harbour'])
  expect(titles({ text: 'HARBOUR' })).toEqual(['Tides', 'Harbour'])
  expect(titles({ text: 'harbour', agents: ['demo'] })).toEqual(['Harbour'])
  expect(titles({ standings: ['finished'], archived: true })).toEqual(['Old harbour'])
  expect(titles({ text: 'nothing' })).toEqual([])
})

test('a screen reader hears one sentence that does not change by the second', () => {
  const asking = view(
    { requests: [approval('Bash')], steers: [steer()], seen: true, pinned: true },
    { activity: 'Bash', activityAt: at(0) },
  )
  expect(row(asking, now(90)).sentence).toBe(
    'Fix the null check, needs you: wants to use Bash, waiting for your answer, for 1 minute, accepting steer, 1 steer waiting, agent Demo agent, pinned',
  )
  expect(row(asking, now(91)).sentence).toBe(row(asking, now(119)).sentence)
  expect(row(view(ended('SUCCESS', { seen: false })), now(90)).sentence).toBe(
    'Fix the null check, says it is done, for less than a minute, agent Demo agent, unread',
  )
})

test.each<[string, Partial<Child>, string]>([
  ['runs', {}, 'child canSteer canPause canStop byHand hasWorktree loose kept'],
  ['asks', { requests: [question()] }, 'child canSteer canPause canStop byHand asks hasWorktree loose kept'],
  ['is preparing', { phase: 'PENDING', attempts: [], worktree: null }, 'child canSteer canStop byHand loose kept'],
  [
    'is paused',
    { phase: 'INTERRUPTED', paused: true, attempts: [attempt({ ended: 'INTERRUPTED' })] },
    'child canResume canStop canApply canDiscard hasWorktree loose kept',
  ],
  ['is being stopped', { phase: 'CANCEL_REQUESTED' }, 'child hasWorktree loose kept'],
  [
    'is done',
    ended('SUCCESS', { verdict: verdict(), pinned: true, archived: true }),
    'child canResume canApply canDiscard hasWorktree hasVerdict pinned archived',
  ],
  ['is done and was discarded', ended('SUCCESS', { discarded: true }), 'child loose kept'],
  [
    'runs an agent that cannot resume',
    { task: { ...child().task, recipe: recipe({ abilities: { ...recipe().abilities, resume: false } }) } },
    'child canSteer canStop byHand hasWorktree loose kept',
  ],
])('menus of a child that %s', (_what, over, context) => {
  expect(row(view(over), now(90)).context).toBe(context)
})

test('what an agent wrote reaches a row as plain words', () => {
  const hostile = view(
    { title: '[a](cmd:x) \x1b]0;t\x07\u202e$(zap)', requests: [question('\x1b[31m<img src=x>\nnow?')] },
    {},
  )
  const { label, description, sentence } = row(hostile, now(90))
  expect(label).toBe('[a](cmd:x) $(zap)')
  expect(sentence).toContain('[a](cmd:x) $(zap)')
  expect(description).toBe('asks: <img src=x> now? · accepting steer · 1m · Demo agent')
  expect(sentence).not.toMatch(/[\u202e\x1b]/)
})

test('the hover tells goal, branch, spending and what waits', () => {
  const spent = view({
    attempts: [attempt({ usage: { inputTokens: 12_000, outputTokens: 345, costUsd: 0.042 } })],
    steers: [steer(), steer({ id: 'm', state: 'missed' })],
  })
  expect(row(spent, now(90)).tooltip.map(({ name, value }) => `${name}: ${value}`)).toEqual([
    'Goal: Fix the null check in lib/auth.py.',
    'State: working',
    'Agent: Demo agent',
    'Parent: you',
    'Model: demo-1',
    'Branch: coxswain/fix-the-null-check',
    'Running time: 1m',
    'Spent: 12.3k tokens, $0.042',
    'Steering: accepting steer',
    'Steers waiting: 1',
    'Steers missed: 1',
  ])
})

test('a child whose parent is away says so in its row, its sentence and its hover, and can be adopted', () => {
  const shown = (parentSession: string, parentAway: boolean) => row(view({ parentSession }, { parentAway }), now(90))
  const { description, sentence, context, tooltip } = shown('mcp:1f', true)
  expect(description).toMatch(/^parent away · accepting steer/)
  expect(sentence).toMatch(/, its parent is away, agent Demo agent$/)
  expect(context.split(' ')).toContain('parentAway')
  const parent = (of: ReturnType<typeof row>) => of.tooltip.find(({ name }) => name === 'Parent')?.value
  expect(tooltip.find(({ name }) => name === 'Parent')?.value).toBe(
    'an agent, by MCP, away: nobody hears of this child; you can adopt it',
  )
  expect(
    ['mcp:1f', 'chat:1f', 'extension:1f', 'child:kid', 'person'].map((each) => parent(shown(each, false))),
  ).toEqual(['an agent, by MCP', 'the editor’s chat', 'another extension', 'another child', 'you'])
  const boss = child({ id: 'boss', title: 'Boss' })
  const kid = view({ parentSession: 'child:boss', parentChild: 'boss' })
  const below = row(kid, now(90), noStats, noOverlaps, undefined, (id) => (id === 'boss' ? boss : undefined))
  expect(parent(below)).toBe('the child “Boss”')
  expect(parent(shown('child:kid', true))).toMatch(/^a child that has ended, away/)
  expect(shown('mcp:1f', false).context).not.toContain('parentAway')
  const formerParent = { session: 'mcp:1f', child: null, until: at(5), told: false }
  expect(parent(row(view({ parentSession: 'person', formerParent }), now(90)))).toBe('you; adopted')
})

test('an ended or paused child’s age goes on counting while nothing happens', () => {
  const done = view({ ...ended('SUCCESS') })
  const paused = view({ phase: 'INTERRUPTED', paused: true, attempts: [attempt({ endedAt: at(30) })] })
  for (const each of [done, paused]) expect(ageStep(each, now(600))).toBe(30_000)
  expect(ageStep(view({}, { activityAt: at(49) }), now(90))).toBe(5_000)
  const minutes = [120, 600].map((seconds) => row(done, now(seconds)).description)
  expect(minutes[0]).not.toBe(minutes[1])
})
