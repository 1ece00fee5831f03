// The extension with an in-memory store behind it, showing one child in each state.
import type { ExtensionContext } from 'vscode'
import type { AgentInfo } from '../../../src/supervisor/agentsFound'
import type { Changes } from '../../../src/ui/review/changes'
import { activateUi } from '../../../src/ui/activation'
import { approval, at, attempt, child, ended, question, recipe, steer, verdict } from '../../unit/ui/children'
import { FakeStore } from './store'

const since = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString()

const agent = (over: Partial<AgentInfo>): AgentInfo => ({
  id: '',
  label: '',
  found: false,
  version: null,
  path: null,
  abilities: recipe().abilities,
  notes: [],
  install: '',
  ...over,
})

export function activate(context: ExtensionContext): void {
  const store = new FakeStore()
  const long = [
    {
      kind: 'turn',
      reason: 'first',
      prompt: 'Fix the null check in lib/auth.py and add a test for it.\nReport file:line.',
    },
    {
      kind: 'reasoning',
      text: 'The user wants the null check fixed. I should look at lib/auth.py first, then at its tests.',
    },
    { kind: 'text', text: 'I will look at `lib/auth.py` first, then at its tests.' },
    { kind: 'toolStarted', toolId: 't1', name: 'Read', input: { file_path: 'lib/auth.py' } },
    {
      kind: 'toolEnded',
      toolId: 't1',
      output: 'def check(user):\n    if user.name == None:\n        return False\n',
      isError: false,
    },
    {
      kind: 'steer',
      steerId: 's-1',
      text: 'Stop reading README.md. Open lib/auth.py. Report only null-derefs with file:line.',
      by: { kind: 'person' },
    },
    { kind: 'receipt', steerId: 's-1', state: 'delivered', evidence: 'agent said' },
    { kind: 'receipt', steerId: 's-1', state: 'confirmed', evidence: 'agent said' },
    {
      kind: 'text',
      text: '**Understood.** The bug is in `lib/auth.py:2`:\n\n```python\nif user is None or user.name is None:\n    return False\n```\n\nI will add a test.',
    },
    {
      kind: 'toolStarted',
      toolId: 't2',
      name: 'Edit',
      input: {
        file_path: 'lib/auth.py',
        old_string: 'if user.name == None',
        new_string: 'if user is None or user.name is None',
      },
    },
    { kind: 'toolEnded', toolId: 't2', output: 'ok', isError: false },
    { kind: 'toolStarted', toolId: 't3', name: 'Bash', input: { command: 'python -m pytest tests/test_auth.py -q' } },
    { kind: 'toolEnded', toolId: 't3', output: 'F.\n1 failed, 1 passed in 0.12s', isError: true },
    { kind: 'notice', level: 'warning', text: 'The agent waited 12 s for a rate limit.' },
    { kind: 'noise', source: 'stderr', text: 'DeprecationWarning: the imp module is deprecated' },
    {
      kind: 'toolStarted',
      toolId: 't4',
      name: 'Bash',
      input: { command: 'python -m pytest tests/test_auth.py -q -k null' },
    },
  ]
  const usage = { inputTokens: 41_200, outputTokens: 2_310, costUsd: 0.184 }
  store.put(
    child({
      id: 'works',
      title: 'Fix the null check in auth',
      acceptedAt: since(200),
      steers: [
        steer({
          id: 's-1',
          text: 'Stop reading README.md. Open lib/auth.py. Report only null-derefs with file:line.',
          state: 'confirmed',
          evidence: { kind: 'agent said' },
          history: [
            { state: 'queued', at: at(1), evidence: null },
            { state: 'sent', at: at(2), evidence: null },
            { state: 'delivered', at: at(4), evidence: { kind: 'agent said' } },
            { state: 'confirmed', at: at(5), evidence: { kind: 'agent said' } },
          ],
        }),
        steer({ id: 's-2', text: 'Also check lib/session.py, the same pattern is there.' }),
      ],
      attempts: [attempt({ launchedAt: since(190), usage })],
    }),
    long,
    'Bash: python -m pytest tests/test_auth.py -q -k null',
  )
  store.put(
    child({
      id: 'asks',
      title: 'Add tide tables for 2027',
      acceptedAt: since(400),
      requests: [
        question('Should the tables be in metres or in feet?', {
          askedAt: since(30),
          ask: {
            kind: 'question',
            question: 'Should the tables be in metres or in feet?',
            options: ['Metres', 'Feet'],
          },
        }),
      ],
      attempts: [attempt({ launchedAt: since(390) })],
    }),
    long.slice(0, 5),
    'waiting',
  )
  store.put(
    child({
      id: 'approves',
      title: 'Upgrade the build',
      acceptedAt: since(300),
      requests: [approval('Bash', { command: 'npm install --save-dev vite@8' })],
      attempts: [attempt({ launchedAt: since(290) })],
      task: { ...child().task, recipe: recipe({ label: 'Claude Code', agent: 'claude' }) },
    }),
    long.slice(0, 3),
    'Bash',
  )
  store.put(
    child({
      id: 'paused',
      title: 'Translate the harbour guide',
      acceptedAt: since(900),
      phase: 'INTERRUPTED',
      paused: true,
      steers: [steer({ id: 'm', state: 'missed', text: 'Keep the names of the ships in English.' })],
      attempts: [attempt({ ended: 'INTERRUPTED', endedAt: since(100) })],
    }),
    long.slice(0, 4),
  )
  store.put(
    child({
      id: 'kid',
      title: 'Check the French part',
      acceptedAt: since(800),
      parentChild: 'paused',
      ...ended('SUCCESS', { settledAt: since(500), seen: false }),
    }),
    long.slice(0, 4),
  )
  store.put(
    child({
      id: 'done',
      title: 'Document the API',
      acceptedAt: since(2000),
      ...ended('SUCCESS', {
        settledAt: since(1000),
        seen: false,
        verdict: verdict({
          checks: [
            {
              check: { file_exists: { path: 'docs/api.md' } },
              result: 'PASS',
              reason: 'exists, 4.1 kB, newer than the start',
              recoverable: true,
              ms: 3,
            },
          ],
        }),
      }),
    }),
    long.slice(0, 9),
  )
  store.put(
    child({
      id: 'bad',
      title: 'List fourteen providers',
      acceptedAt: since(3000),
      ...ended('SUCCESS', {
        settledAt: since(900),
        verdict: verdict({
          status: 'failed',
          disposition: 'partial',
          checks: [
            {
              check: { file_exists: { path: 'table.json' } },
              result: 'PASS',
              reason: 'exists',
              recoverable: true,
              ms: 3,
            },
            {
              check: { count_at_least: { path: 'table.json', pointer: '/rows', n: 14 } },
              result: 'FAIL',
              reason: 'claims 14 records; found 12',
              evidence: '12 rows, 12 distinct',
              recoverable: true,
              ms: 8,
            },
          ],
        }),
      }),
    }),
    [...long.slice(0, 9), { kind: 'report', ok: true, summary: 'I listed **14** providers in `table.json`.' }],
  )
  store.put(
    child({
      id: 'failed',
      title: 'Fetch the weather',
      acceptedAt: since(4000),
      ...ended('FAILURE', {
        settledAt: since(3900),
        attempts: [
          attempt({
            ended: 'FAILURE',
            endedAt: since(3900),
            exit: { code: 3, signal: null, firstCause: null, drained: true, survivors: 0, durationMs: 100 },
          }),
        ],
      }),
    }),
    long.slice(0, 2),
  )
  for (let i = 0; i < 9; i++)
    store.put(
      child({
        id: `old${i}`,
        title: `Earlier task ${i + 1}`,
        acceptedAt: since(10_000 + i),
        ...ended('CANCELLED', { settledAt: since(9_000) }),
      }),
      long.slice(0, 2),
    )
  store.put(
    child({
      id: 'huge',
      title: 'Fifty thousand entries',
      acceptedAt: since(50),
      attempts: [attempt({ launchedAt: since(50) })],
    }),
    Array.from({ length: 50_000 }, (_, i) =>
      i === 49_990
        ? { kind: 'toolEnded', toolId: 'big', output: 'x'.repeat(70).concat('\n').repeat(75_000), isError: false }
        : i % 7 === 0
          ? { kind: 'toolStarted', toolId: `t${i}`, name: 'Bash', input: { command: `echo ${i}` } }
          : i % 7 === 1
            ? { kind: 'toolEnded', toolId: `t${i - 1}`, output: `${i - 1}\n`, isError: false }
            : { kind: 'text', text: `Entry ${i}. ${'Some words about the work at hand. '.repeat(i % 9)}` },
    ),
    'echo',
  )
  activateUi(context, () => ({
    hasChildren: async () => true,
    open: async () => ({
      kind: 'open',
      coxswain: {
        view: store,
        commands: store.commands,
        agents: async () => [
          agent({ id: 'demo', label: 'Demo agent', found: true, version: '1.0.0' }),
          agent({ id: 'claude', label: 'Claude Code', found: true, version: '2.1.0', path: '/usr/bin/claude' }),
          agent({ id: 'gptme', label: 'gptme', install: 'pipx install gptme' }),
        ],
        changes: {} as Changes,
        dispose: () => undefined,
      },
    }),
  }))
  context.subscriptions.push({ dispose: () => store.dispose() })
}
