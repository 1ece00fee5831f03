// What the transcript panel is told: header and buttons in words, receipts with their evidence, pages bounded in bytes.
import { expect, test } from 'vitest'
import type { Child, Request, SteerState } from '../../../src/core/child'
import type { TranscriptEntry } from '../../../src/core/transcript'
import { ENTRY_TEXT_MAX, PAGE_BYTES, panelChildSchema, panelEntrySchema } from '../../../src/protocol/panel'
import { actions } from '../../../src/ui/present/actions'
import {
  findingText,
  inputText,
  pageOf,
  panelChild,
  panelEntry,
  panelSteer,
  toolBrief,
  wholeText,
} from '../../../src/ui/present/panel'
import { approval, at, attempt, child, ended, question, recipe, steer, verdict, view } from './children'

const buttons = (over: Partial<Child>): string =>
  Object.entries(actions(child(over)))
    .slice(0, 4)
    .map(([name, able]) => `${name}: ${able.able ? 'yes' : able.why}`)
    .join('\n')

test.each<[string, Partial<Child>, string[]]>([
  ['runs', {}, ['steer: yes', 'pause: yes', 'resume: it is running', 'stop: yes']],
  [
    'is preparing',
    { phase: 'PENDING', attempts: [], worktree: null },
    ['steer: yes', 'pause: it has not started yet', 'resume: it is running', 'stop: yes'],
  ],
  [
    'is paused',
    { phase: 'INTERRUPTED', paused: true },
    ['steer: it is paused; resume it with your message', 'pause: it is paused already', 'resume: yes', 'stop: yes'],
  ],
  [
    'was interrupted',
    { phase: 'INTERRUPTED' },
    [
      'steer: it was interrupted; resume it with your message',
      'pause: it is not running',
      'resume: yes',
      'stop: it is not running',
    ],
  ],
  [
    'is being stopped',
    { phase: 'CANCEL_REQUESTED' },
    [
      'steer: it is being stopped',
      'pause: it is being stopped already',
      'resume: it is being stopped',
      'stop: it is being stopped already',
    ],
  ],
  [
    'is being verified',
    { verifying: true },
    ['steer: its work is being verified', 'pause: its work is being verified', 'resume: it is running', 'stop: yes'],
  ],
  [
    'is done',
    ended('SUCCESS'),
    ['steer: it has ended; resume it with your message', 'pause: it has ended', 'resume: yes', 'stop: it has ended'],
  ],
  [
    'never got a worktree',
    ended('FAILURE', { worktree: null }),
    [
      'steer: it never started; start a new one',
      'pause: it has ended',
      'resume: it never had a worktree',
      'stop: it has ended',
    ],
  ],
  [
    'was discarded',
    ended('SUCCESS', { discarded: true }),
    [
      'steer: its worktree was discarded',
      'pause: it has ended',
      'resume: its worktree was discarded',
      'stop: it has ended',
    ],
  ],
  [
    'runs an agent that cannot resume',
    {
      task: {
        ...child().task,
        recipe: recipe({ label: 'Plain', abilities: { ...recipe().abilities, resume: false } }),
      },
    },
    [
      'steer: yes',
      'pause: Plain cannot go on after a pause; it can only be stopped',
      'resume: it is running',
      'stop: yes',
    ],
  ],
])('buttons of a child that %s', (_what, over, shown) => {
  expect(buttons(over)).toBe(shown.join('\n'))
})

test.each<[SteerState, 'observed' | 'agent said' | null, string]>([
  ['queued', null, 'on disk, not handed over yet'],
  ['sent', null, 'handed to the agent; no proof yet that it was read'],
  ['delivered', 'agent said', 'in the model’s input (the agent said so)'],
  ['delivered', 'observed', 'in the model’s input (seen in the agent’s own log)'],
  ['confirmed', 'observed', 'the model answered after it (seen in the agent’s own log)'],
  ['missed', null, 'the attempt ended before it was read'],
  ['withdrawn', null, 'taken back before it was read'],
  ['unknown', null, 'nobody can say what became of it'],
])('a steer that is %s (%s) says what that proves', (state, kind, words) => {
  expect(panelSteer(steer({ state, evidence: kind === null ? null : { kind } })).words).toBe(words)
})

test('only a steer that was not handed over yet can still be changed', () => {
  const states: SteerState[] = ['queued', 'sent', 'delivered', 'confirmed', 'missed', 'withdrawn', 'refused', 'unknown']
  expect(states.filter((state) => panelSteer(steer({ state })).waiting)).toEqual(['queued'])
})

test('what was allowed for the whole child is listed while its process lives, and can be taken back where we keep it', () => {
  const allowed = (n: number, covers: object | undefined, over: Partial<Request> = {}): Request => ({
    ...question('', { ask: { kind: 'approval', tool: 'Write', input: {}, ...(covers && { covers }) } }),
    id: `p${n}`,
    answer: { kind: 'allow', scope: 'child' },
    ...over,
  })
  const requests = [
    allowed(1, { command: 'make test' }),
    allowed(2, { path: '/etc/hosts' }),
    allowed(3, {}),
    allowed(4, undefined),
    allowed(5, {}, { revokedAfter: 9 }),
    allowed(6, {}, { answer: { kind: 'allow', scope: 'once' } }),
    allowed(7, {}, { attempt: 0 }),
  ]
  const shownOf = (over: Partial<Child>) => panelChild(view(child({ requests, ...over }))).permissions
  expect(shownOf({}).map(({ id, words }) => `${id} ${words}`)).toEqual([
    'p1 Write, exactly: make test',
    'p2 Write, exactly: /etc/hosts',
    'p3 every use of Write that stays in its worktree',
    'p4 Write, as far as Demo agent takes it',
  ])
  const keeps = { ...child().task, recipe: recipe({ abilities: { ...recipe().abilities, revoke: true } }) }
  expect([{}, { task: keeps }].map((over) => shownOf(over)[0]?.revoke.able)).toEqual([false, true])
  expect(panelChild(view(ended('SUCCESS', { requests }))).permissions).toEqual([])
})

test('what the host makes of a child is what the protocol says, in every phase', () => {
  const rich: Partial<Child> = {
    requests: [question(), approval('Bash', { command: 'rm -rf /' })],
    steers: Array.from({ length: 200 }, (_, i) => steer({ id: `s${i}`, state: i === 0 ? 'missed' : 'confirmed' })),
    verdict: verdict({
      checks: [
        {
          check: { command: { argv: ['npm', 'test'] } },
          result: 'FAIL',
          reason: 'exit 1',
          evidence: 'x',
          recoverable: true,
          ms: 12,
        },
      ],
    }),
  }
  const phases: Child['phase'][] = [
    'PENDING',
    'STARTING',
    'RUNNING',
    'CANCEL_REQUESTED',
    'SUCCESS',
    'FAILURE',
    'INTERRUPTED',
    'CANCELLED',
    'UNKNOWN',
  ]
  for (const phase of phases) {
    const made = panelChild(view({ ...rich, phase }))
    expect(panelChildSchema.parse(made)).toEqual(made)
    // A missed steer from long ago is still there; the confirmed ones are bounded.
    expect(made.steers.map(({ id }) => id)).toContain('s0')
    expect(made.steers.length).toBeLessThan(70)
  }
})

const handBack = (over: Partial<Child>): string[] => {
  const { verify, apply, discard } = actions(child(over))
  return [verify, apply, discard].map((able) => (able.able ? 'yes' : able.why))
}
const withContract = { ...child().task, contract: { ...child().task.contract, level: 'light' as const } }

test('work is verified, applied and discarded once it has ended, and as long as there is a worktree', () => {
  expect(handBack(ended('SUCCESS', { task: withContract }))).toEqual(['yes', 'yes', 'yes'])
  expect(handBack(ended('SUCCESS'))).toEqual(['it has no contract, so there is nothing to check', 'yes', 'yes'])
  expect(handBack(ended('SUCCESS', { applied: true }))[1]).toBe('its work has been applied already')
  expect(handBack({ task: withContract })).toEqual([
    'it is running; its work is verified when it has ended',
    'it is running; stop it or let it end first',
    'it is running; stop it first',
  ])
  const gone = 'its worktree was discarded'
  expect(handBack(ended('SUCCESS', { task: withContract, discarded: true }))).toEqual([gone, gone, gone])
})

test('a report that follows a request to end is told apart from one that comes by itself', () => {
  const endRequest = { cause: 'interrupt' as const, reason: '', by: { kind: 'person' as const }, at: at(20) }
  const report = (n: number): TranscriptEntry => entry(n, { kind: 'report', ok: false, summary: 's' })
  const asked = (n: number, over: Partial<Child>): unknown => {
    const shown = panelEntry(report(n), child(over))
    return shown.kind === 'report' && shown.asked
  }
  expect(asked(30, {})).toBeNull()
  expect(asked(30, { attempts: [attempt({ endRequest })] })).toBe('pause')
  const before = { ok: false, summary: 's', output: null, reason: null, at: at(10), late: false, wholeText: null }
  expect(asked(10, { attempts: [attempt({ endRequest, report: before })] })).toBeNull()
})

test('a receipt says how it is known, once and in words', () => {
  const evidence = { kind: 'agent said' as const }
  const [shown] = panelChild(
    view({
      steers: [
        steer({
          state: 'confirmed',
          evidence,
          history: [
            { state: 'queued', at: at(1), evidence: null },
            { state: 'delivered', at: at(2), evidence },
            { state: 'confirmed', at: at(3), evidence },
          ],
        }),
      ],
    }),
  ).steers
  expect(shown?.history.map(({ how }) => how)).toEqual([null, 'the agent said so', null])
  expect(
    panelEntry(entry(1, { kind: 'receipt', steerId: 's', state: 'delivered', evidence: 'agent said' })),
  ).toMatchObject({
    words: 'delivered (the agent said so)',
  })
})

test('a discarded child takes nothing any more and its branch says so', () => {
  const shown = panelChild(view(ended('SUCCESS', { discarded: true })))
  expect([shown.phase, shown.branch, shown.discarded]).toEqual([
    'discarded',
    'coxswain/fix-the-null-check (discarded)',
    true,
  ])
})

const entry = (n: number, body: object): TranscriptEntry => ({ n, at: at(n), attempt: 1, ...body }) as TranscriptEntry
const bodies: readonly object[] = [
  { kind: 'turn', reason: 'first', prompt: 'p' },
  { kind: 'text', text: 't' },
  { kind: 'reasoning', text: 'r' },
  { kind: 'toolStarted', toolId: 'x', name: 'Bash', input: { command: 'ls' } },
  { kind: 'toolEnded', toolId: 'x', output: 'o', isError: false },
  { kind: 'steer', steerId: 's', text: 's', by: { kind: 'parent', session: 'p' } },
  { kind: 'receipt', steerId: 's', state: 'delivered', evidence: 'agent said' },
  { kind: 'asked', requestId: 'q', words: 'w' },
  { kind: 'answered', requestId: 'q', words: 'w' },
  { kind: 'report', ok: true, summary: 's' },
  { kind: 'verdict', words: 'v' },
  { kind: 'notice', level: 'info', text: 'n' },
  { kind: 'noise', source: 'stderr', text: 'n' },
]

test('every kind of entry is shown as the protocol says', () => {
  for (const body of bodies) {
    const made = panelEntry(entry(1, body))
    expect(panelEntrySchema.parse(made)).toEqual(made)
  }
})

const steering = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/
/** Every text in a message but ids, which are never shown. */
function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (/^(toolId|steerId)$/.test(key) ? [] : strings(inner)))
}

test('no byte of an agent that steers a terminal or turns the reading direction reaches the webview', () => {
  const bad = 'a\x1b]52;c;eA==\x07\x1b[31m\u202eb\x00'
  const poison = (value: unknown): unknown => {
    if (typeof value === 'string') return bad
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [
          key,
          key === 'kind' || key === 'reason' || key === 'level' || key === 'source' || key === 'state'
            ? inner
            : poison(inner),
        ]),
      )
    return value
  }
  // A tool's input is shown as JSON, where an escape is written out in letters: seen, and harmless.
  for (const body of bodies) expect(strings(panelEntry(entry(1, poison(body) as object))).join()).not.toMatch(steering)
  const made = panelChild(
    view(
      { title: bad, requests: [question(bad), approval(bad, { [bad]: bad })], steers: [steer({ text: bad })] },
      { activity: bad },
    ),
  )
  expect(strings(made).join()).not.toMatch(steering)
})

test('a page keeps within its bytes and goes on where it stopped', () => {
  const entries = Array.from({ length: 400 }, (_, n) => entry(n, { kind: 'text', text: 'ü'.repeat(3_000) }))
  const seen: number[] = []
  let pages = 0
  for (let from = 0; from < entries.length; pages++) {
    const page = pageOf(entries.slice(from))
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(PAGE_BYTES)
    seen.push(...page.map(({ n }) => n))
    from += page.length
  }
  expect(seen).toEqual(entries.map(({ n }) => n))
  expect(pages).toBeGreaterThan(5)
})

test('five megabytes of output are cut in the page and whole in the editor', () => {
  const big = entry(0, { kind: 'toolEnded', toolId: 'x', output: 'line\n'.repeat(1_048_576), isError: false })
  const shown = panelEntry(big)
  expect(shown.kind === 'toolEnded' && shown.output.text.length).toBeLessThanOrEqual(ENTRY_TEXT_MAX)
  expect(shown.kind === 'toolEnded' && shown.output.whole).toBe(5_242_880)
  expect(Buffer.byteLength(JSON.stringify(pageOf([big])))).toBeLessThan(PAGE_BYTES)
  expect(wholeText(big, 'output')).toHaveLength(5_242_880)
  expect(wholeText(big, 'input')).toBeNull()
})

test.each([
  [{ command: 'npm test', description: 'Runs tests' }, 'npm test'],
  [{ cmd: ['git', 'status'] }, '$ git status'],
  [{ argv: ['git', 'commit', '-m', 'two words'] }, "$ git commit -m 'two words'"],
  [{ message: 'Write the tour', paths: ['a'] }, 'Write the tour'],
  [{ file_path: '/w/a.ts', old_string: 'x' }, '/w/a.ts'],
  [{ unusual: 'a string' }, '{"unusual":"a string"}'],
  [{ n: 3 }, '{"n":3}'],
  ['plain', 'plain'],
  [null, ''],
])('of a tool’s input %j the folded line shows "%s"', (input, brief) => {
  expect(toolBrief(input)).toBe(brief)
})

test.each([
  [{ command: 'npm test\nnpm run lint' }, 'npm test\nnpm run lint'],
  [
    { file_path: 'a.ts', old_string: 'x\ny', new_string: 'z' },
    'file_path: a.ts\nold_string:\n    x\n    y\nnew_string: z',
  ],
  [{ command: 'ls', timeout: 5, env: { A: 'b' } }, 'command: ls\ntimeout: 5\nenv:\n    {\n      "A": "b"\n    }'],
  [{ argv: ['git', 'log', '--format=%s a'] }, "$ git log '--format=%s a'"],
  [{ argv: ['git', 'ls-files'], cwd: 'src' }, 'argv: $ git ls-files\ncwd: src'],
  [{ argv: ['echo', 'a; rm', "it's"] }, "$ echo 'a; rm' 'it'\\''s'"],
  [{ files: ['a', 'b'] }, 'files:\n    [\n      "a",\n      "b"\n    ]'],
  ['plain', 'plain'],
  [[1, 2], '[\n  1,\n  2\n]'],
  [undefined, ''],
])('a tool’s input %j is shown as a person reads it', (input, shown) => {
  expect(inputText(input, (text) => text)).toBe(shown)
})

test('a command that hides characters shows them where it is approved', () => {
  const [request] = panelChild(view({ requests: [approval('Bash', { command: 'ls \u202e; rm' })] })).requests
  expect(request?.ask.kind === 'approval' && request.ask.input.text).toBe('ls \\u{202e}; rm')
})

test('the verdict says when the work has gone on since', () => {
  const resumed = { verdict: verdict(), attempts: [attempt({ ended: 'SUCCESS' }), attempt({ n: 2 })] }
  const stale = (over: Partial<Child>, changed = false) => panelChild(view(over), changed).verdict?.stale
  expect([
    stale(resumed),
    stale({ verdict: verdict() }),
    stale({ verdict: verdict() }, true),
    stale({ verdict: verdict({ status: 'stale' }) }),
  ]).toEqual([
    'the work has gone on since',
    null,
    'files of the worktree have changed since',
    'files changed while the checks ran',
  ])
})

const lied = verdict({
  status: 'incomplete',
  disposition: 'partial',
  attempt: 2,
  notes: ['claims 14 rows; found 12', 'not asked again: 1 of 1 retry used'],
  checks: [
    {
      check: { deliverable: 'out.md' },
      result: 'FAIL',
      reason: 'claimed, but there is no file out.md',
      claim: 'out.md',
      location: { path: 'out.md', line: 3 },
      recoverable: true,
      ms: 1,
    },
    { check: { newer_kind: { x: 1 } }, result: 'UNKNOWN', reason: 'of a newer version', recoverable: false, ms: 1 },
  ],
})

test('a claim stands beside what was found, with its place, and what was asked for before', () => {
  const asked = verdict({ status: 'incomplete', disposition: 'retry' })
  const shown = panelChild(view(ended('SUCCESS', { verdict: lied, verdicts: [asked, lied] }))).verdict
  expect(shown?.checks.map(({ name, claim, reason, place }) => [name, claim, reason, place])).toEqual([
    ['deliverable out.md', 'out.md', 'claimed, but there is no file out.md', 'out.md:3'],
    ['{"newer_kind":{"x":1}}', null, 'of a newer version', null],
  ])
  expect(shown).toMatchObject({
    words: 'partial, incomplete',
    open: true,
    notes: ['not asked again: 1 of 1 retry used'],
    earlier: [{ attempt: 1, words: 'incomplete: a deliverable is missing, asked again' }],
  })
  expect(findingText(child({ verdict: lied }), 0)).toBe(
    'FAIL  deliverable out.md\nclaimed, but there is no file out.md\nIts report says: out.md\nout.md:3\nAttempt 2, 1 ms\n',
  )
  expect(findingText(child({ verdict: lied }), 2)).toBe(null)
})

test('what a verdict says stands once, with its checks; another need has a line of its own', () => {
  const need = (over: Partial<Child>) => panelChild(view(ended('SUCCESS', over))).need
  expect([
    need({ verdict: lied }),
    need({ verdict: verdict(), steers: [steer({ state: 'missed' })] }),
    need({ parked: 'its disk is full' }),
  ]).toEqual([null, '1 steer was missed', 'its disk is full'])
})

test('partial work needs nobody any more once a person has taken it as that, and stays marked', () => {
  const can = (over: Partial<Child>) => {
    const { retry, acceptPartial } = panelChild(view(ended('SUCCESS', over))).can
    return [retry, acceptPartial].map((able) => (able.able ? 'yes' : able.why))
  }
  expect(can({ verdict: lied })).toEqual(['yes', 'yes'])
  expect(can({ verdict: verdict() })).toEqual(['nothing in its verdict is open', 'nothing in its verdict is open'])
  expect(can({ verdict: lied, applied: true })[1]).toBe('its work has been applied already')
  const taken = panelChild(view(ended('SUCCESS', { verdict: lied, partialAccepted: true })))
  expect([taken.need, taken.verdict?.words, taken.can.acceptPartial]).toEqual([
    null,
    'partial, incomplete',
    { able: false, why: 'you have taken it as partial already' },
  ])
})

test('the panel says whose child it is in the words of its row, and whether it can be adopted', () => {
  const boss = child({ id: 'boss', title: 'Boss' })
  const shown = (over: Partial<Child>, parentAway = false): unknown[] => {
    const made = panelChild(view(over, { parentAway }), false, (id) => (id === boss.id ? boss : undefined))
    return [made.parent, made.parentAway]
  }
  const kid = { parentSession: 'child:boss', parentChild: 'boss' }
  expect([shown({}), shown({ parentSession: 'mcp:1f' }), shown(kid), shown(kid, true)]).toEqual([
    ['you', false],
    ['an agent, by MCP', false],
    ['the child “Boss”', false],
    ['the child “Boss”, away: nobody hears of this child; you can adopt it', true],
  ])
})
