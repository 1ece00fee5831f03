import { describe, expect, it } from 'vitest'
import { contractPrompt, readContract } from '../../../src/core/contract'
import { firstPrompt } from '../../../src/core/prompt'
import {
  deliverablesIn,
  filesNamed,
  firstTurn,
  nextTurn,
  reportOf,
  scriptIn,
  takeAnswer,
  takeNotes,
  withPassage,
  type Repository,
  type Session,
  type Step,
} from '../../../src/demo/script'
import { sampleTask } from '../core/sample'

const repository: Repository = {
  name: 'sample',
  files: ['src/lib/deep.ts', 'package.json', 'README.md', 'src/index.js', 'logo.png'],
}

const first = (prompt: string) => firstTurn(prompt, repository)
const short = (steps: readonly Step[]) =>
  steps.map((step) => {
    switch (step.kind) {
      case 'say':
      case 'think':
        return step.kind
      case 'section':
        return `section ${step.path}: ${step.heading}`
      case 'run':
        return `run ${step.argv.join(' ')}`
      case 'commit':
        return `commit ${step.message}`
      case 'read':
      case 'lie':
        return `${step.kind} ${step.path}`
      case 'ask':
        return `ask ${step.question}`
      default:
        return step.kind
    }
  })

describe('the first turn', () => {
  it('is a tour in three commits that leaves a newcomer time to steer', () => {
    const { steps } = first('Write a short tour of this repository.')
    expect(short(steps)).toEqual([
      'say',
      'think',
      'run git ls-files',
      'read README.md',
      'read package.json',
      'say',
      'section docs/tour.md: A tour of sample',
      'run git status --short',
      'commit Start docs/tour.md',
      'read src/index.js',
      'section docs/tour.md: What is here',
      'run git diff --stat',
      'commit Say what stands where',
      'think',
      'section docs/tour.md: Where to start',
      'run node --check src/index.js',
      'run git diff --stat',
      'commit Point to a place to start reading',
      'say',
    ])
    const tools = steps.filter((step) => step.kind !== 'say' && step.kind !== 'think').length
    const seconds = (steps.length * 1_500 + tools * 500) / 1_000
    expect(seconds).toBeGreaterThan(30)
    expect(seconds).toBeLessThan(45)
  })

  it('works in a repository with nothing in it', () => {
    expect(short(firstTurn('Write a tour.', { name: 'bare', files: [] }).steps)).toContain(
      'section docs/tour.md: A tour of bare',
    )
  })

  it('writes where the goal says', () => {
    const table = [
      'Write a tour.',
      'Write a tour to GUIDE.md.',
      'Create `src/hello.py` please',
      'Summarise README.md into docs/summary.md',
      'Read src/index.js, then describe it in notes/index.txt.',
      'Do not touch README.md; write PLAN.md',
      'Learn Node.js, e.g. by reading https://nodejs.org/en/index.html',
      'Look at /etc/hosts.txt',
    ]
    expect(table.map((goal) => `${goal} -> ${first(goal).target}`)).toEqual([
      'Write a tour. -> docs/tour.md',
      'Write a tour to GUIDE.md. -> GUIDE.md',
      'Create `src/hello.py` please -> src/hello.py',
      'Summarise README.md into docs/summary.md -> docs/summary.md',
      'Read src/index.js, then describe it in notes/index.txt. -> notes/index.txt',
      'Do not touch README.md; write PLAN.md -> PLAN.md',
      'Learn Node.js, e.g. by reading https://nodejs.org/en/index.html -> docs/tour.md',
      'Look at /etc/hosts.txt -> docs/tour.md',
    ])
  })

  it('asks and lies when told to, and not by accident', () => {
    const asks = (goal: string) => first(goal).steps.some((step) => step.kind === 'ask')
    const lies = (goal: string) => short(first(goal).steps).filter((step) => step.startsWith('lie'))
    expect([asks('Write a tour but ask me first'), asks('Write about the task menu')]).toEqual([true, false])
    expect([lies('Lie about report.md'), lies('Explain what this relies on, without belief')]).toEqual([
      ['lie report.md'],
      [],
    ])
  })

  it('follows a script as it stands', () => {
    const session = first('Do this:\n```demo\n[{"say":"hi"},{"wait":5},{"run":["ls","-l"]}]\n```\n')
    expect(session.steps).toEqual([
      { kind: 'say', text: 'hi' },
      { kind: 'wait', ms: 5 },
      { kind: 'run', argv: ['ls', '-l'] },
    ])
  })
})

describe('scripts', () => {
  it('know every step', () => {
    const steps = [
      { say: 'a' },
      { think: 'b' },
      { read: 'c' },
      { write: { path: 'd', text: '' } },
      { append: { path: 'd', text: 'e' } },
      { replace: { path: 'd', find: 'e', with: 'f' } },
      { run: ['true'] },
      { commit: 'g' },
      { ask: 'h?' },
      { ask: { question: 'h?', options: ['y', 'n'] } },
      { ask: { tool: 'run', input: { argv: ['make'] } } },
      { wait: 10 },
      { wait: { file: '/tmp/latch' } },
      { lie: 'i' },
      { lie: { path: 'i', stubborn: true } },
      { report: { artifacts: { i: 'i' }, summary: 's' } },
      { fail: 'j' },
      { exit: 7 },
      { hang: true },
      { hang: 'deaf' },
      { flood: 10 },
      { flood: { lines: 10, length: 3 } },
      { spawn: ['sleep', '9'] },
      { spawn: { argv: ['sleep', '9'], detached: true } },
      { print: 'k' },
      { warn: 'l' },
    ]
    const script = scriptIn(`\`\`\`demo\n${JSON.stringify({ steps, ignoresSteers: true })}\n\`\`\``)
    expect(script?.ok && script.ignoresSteers && script.steps).toEqual([
      { kind: 'say', text: 'a' },
      { kind: 'think', text: 'b' },
      { kind: 'read', path: 'c' },
      { kind: 'write', path: 'd', text: '' },
      { kind: 'append', path: 'd', text: 'e' },
      { kind: 'replace', path: 'd', find: 'e', with: 'f' },
      { kind: 'run', argv: ['true'] },
      { kind: 'commit', message: 'g' },
      { kind: 'ask', question: 'h?' },
      { kind: 'ask', question: 'h?', options: ['y', 'n'] },
      { kind: 'askLeave', tool: 'run', input: { argv: ['make'] } },
      { kind: 'wait', ms: 10 },
      { kind: 'waitForFile', file: '/tmp/latch' },
      { kind: 'lie', path: 'i', stubborn: false },
      { kind: 'lie', path: 'i', stubborn: true },
      { kind: 'report', artifacts: { i: 'i' }, summary: 's' },
      { kind: 'fail', reason: 'j' },
      { kind: 'exit', code: 7 },
      { kind: 'hang', deaf: false },
      { kind: 'hang', deaf: true },
      { kind: 'flood', lines: 10, length: 80 },
      { kind: 'flood', lines: 10, length: 3 },
      { kind: 'spawn', argv: ['sleep', '9'], detached: false },
      { kind: 'spawn', argv: ['sleep', '9'], detached: true },
      { kind: 'print', text: 'k' },
      { kind: 'warn', text: 'l' },
    ])
  })

  it('say which step cannot be understood', () => {
    const table = [
      'no json',
      '{"a":1}',
      '[{"say":"a"},{"jump":1}]',
      '[{"say":"a","think":"b"}]',
      '[7]',
      '[{"exit":-1}]',
    ]
    expect(table.map((body) => scriptIn(`\`\`\`demo\n${body}\n\`\`\``))).toEqual(
      [
        'My script is not JSON, so I cannot follow it.',
        'My script is no list of steps, so I cannot follow it.',
        'I do not understand step 2 of my script: {"jump":1}',
        'I do not understand step 1 of my script: {"say":"a","think":"b"}',
        'I do not understand step 1 of my script: 7',
        'I do not understand step 1 of my script: {"exit":-1}',
      ].map((problem) => ({ ok: false, problem })),
    )
    expect(scriptIn('no block here')).toBeUndefined()
  })
})

describe('the contract in a prompt', () => {
  const files = [{ path: 'out/table.json', id: 'table', description: 'prices: all of them' }, { path: 'notes.md' }]
  const others = [
    { kind: 'inline', id: 'note' },
    { kind: 'url', id: 'site', url: 'http://127.0.0.1/' },
  ]
  const full = (over: object = {}) => readContract({ deliverables: [...files, ...others], ...over })
  const light = readContract({ level: 'light', deliverables: files })
  const prompt = (read: ReturnType<typeof readContract>) => {
    if (!read.ok) throw new Error(JSON.stringify(read))
    return `Collect prices.\n\n${contractPrompt(read.contract, '/trees/c 1')}`
  }

  it('names what is to be delivered, with and without a demand for a report', () => {
    const asked = [
      { kind: 'file', name: 'table', path: 'out/table.json' },
      { kind: 'file', name: 'notes.md', path: 'notes.md' },
    ]
    expect(deliverablesIn(prompt(full()))).toEqual([
      ...asked,
      { kind: 'inline', name: 'note' },
      { kind: 'url', name: 'site' },
    ])
    expect(deliverablesIn(prompt(light))).toEqual(asked)
    expect(deliverablesIn('Write the deliverables: `x.md`.')).toEqual([])
  })

  it('is obliged where its checks say what a file must hold', () => {
    const checks = [
      { file_contains: { path: 'notes.md', text: 'Sources: "none"' } },
      { count_at_least: { path: 'out/table.json', pointer: '/rows', n: 2 } },
      { json_schema_ok: { path: 'out/table.json', pointer: '/rows', each: true, required: ['price', 'unit'] } },
    ]
    const { steps } = first(prompt(full({ checks })))
    expect(steps.filter((step) => step.kind === 'write')).toEqual([
      {
        kind: 'write',
        path: 'out/table.json',
        text: `${JSON.stringify(
          {
            rows: [
              { name: 'example 1', price: 'example 1', unit: 'example 1' },
              { name: 'example 2', price: 'example 2', unit: 'example 2' },
            ],
          },
          null,
          2,
        )}\n`,
      },
    ])
    expect(steps).toContainEqual({
      kind: 'section',
      path: 'notes.md',
      heading: 'What the contract asks for',
      lines: ['Sources: "none"'],
    })
  })
})

describe('files that words name', () => {
  it('are told apart by what is wished of them', () => {
    const told = (text: string) => filesNamed(text).map((file) => `${file.wish} ${file.path}`)
    expect(
      [
        'Stop reading README.md. Open lib/auth.py. Report only null-derefs with file:line.',
        'Write a.md and b.md, but leave c.md alone.',
        'Use src/a.ts, src/b.ts and write docs/x.md.',
        'Rename it to "new-name.test.ts"!',
        'Version 1.2.3 of the thing, i.e. the newest.',
      ].map(told),
    ).toEqual([
      ['leave README.md', 'read lib/auth.py'],
      ['write a.md', 'write b.md', 'leave c.md'],
      ['read src/a.ts', 'read src/b.ts', 'write docs/x.md'],
      ['write new-name.test.ts'],
      [],
    ])
  })
})

describe('notes on the way', () => {
  const running: Session = { ...first('Write a tour.'), steps: first('Write a tour.').steps.slice(-6) }

  it('are acted on before anything else, in their order', () => {
    expect(short(takeNotes(running, ['Mention boats.', 'Write B.md.']).steps)).toEqual([
      'say',
      'section docs/tour.md: A note that came on the way',
      'say',
      'section B.md: A note that came on the way',
      'think',
      'section B.md: Where to start',
      'run node --check src/index.js',
      'run git diff --stat',
      'commit Point to a place to start reading',
      'say',
    ])
  })

  it('may end the work, or bring a script of their own', () => {
    expect(short(takeNotes(running, ['That is enough, thank you']).steps)).toEqual(['say'])
    expect(short(takeNotes(running, ['```demo\n[{"run":["ls"]}]\n```']).steps).slice(0, 2)).toEqual(['run ls', 'think'])
  })

  it('do not move what a contract is owed', () => {
    const owed = { ...running, deliverables: [{ kind: 'file' as const, name: 'tour', path: 'docs/tour.md' }] }
    const after = takeNotes(owed, ['Write B.md.'])
    expect([after.target, short(after.steps).includes('section docs/tour.md: Where to start')]).toEqual([
      'docs/tour.md',
      true,
    ])
  })
})

describe('answers', () => {
  const asking = (steps: readonly Step[]): Session => ({ ...first('Write a tour.'), steps })

  it('decide what comes next', () => {
    const leave = asking([
      { kind: 'askLeave', tool: 'run', input: null },
      { kind: 'run', argv: ['make'] },
      { kind: 'commit', message: 'c' },
    ])
    const question = asking([
      { kind: 'ask', question: '?' },
      { kind: 'section', path: 'docs/tour.md', heading: 'H', lines: [] },
    ])
    expect([
      short(takeAnswer(leave, { kind: 'allowed' }).steps),
      short(takeAnswer(leave, { kind: 'denied', text: 'use git' }).steps),
      short(takeAnswer(leave, { kind: 'cancelled' }).steps),
      short(takeAnswer(question, { kind: 'text', text: 'TOUR.md' }).steps),
      short(takeAnswer(question, { kind: 'text', text: 'Decide yourself, and say what you assumed.' }).steps),
    ]).toEqual([
      ['say', 'run make', 'commit c'],
      ['say', 'commit c'],
      ['say', 'run make', 'commit c'],
      ['say', 'section TOUR.md: H'],
      ['say', 'section docs/tour.md: H'],
    ])
  })
})

describe('the next turn', () => {
  const reported: Session = { ...first('Lie about a.md'), steps: [], done: 5 }

  it('remembers the goal as somebody wrote it, without what the first turn added', () => {
    const place = { cwd: '/elsewhere/one', branch: 'coxswain/one' }
    const prompt = firstPrompt(sampleTask({ goal: 'Chart the harbour.' }), place, '', [], false)
    const [memory] = nextTurn(first(prompt), 'Go on.').steps
    expect(memory?.kind === 'say' && memory.text).toMatch(/^I remember: my goal was “Chart the harbour[.]”/)
  })

  it('mends a lie once it is found out, unless it is a stubborn one', () => {
    const caught = nextTurn({ ...reported, lies: ['a.md'] }, 'a.md does not exist')
    expect([short(caught.steps), caught.lies]).toEqual([
      ['say', 'say', 'section a.md: Written after all', 'commit Write what the first report only claimed'],
      [],
    ])
    expect(short(nextTurn({ ...reported, stubbornLies: ['a.md'] }, 'a.md does not exist').steps)).toEqual([
      'say',
      'lie a.md',
    ])
  })

  it('leaves out what it was merely waiting for', () => {
    const waiting: Session = {
      ...reported,
      steps: [
        { kind: 'hang', deaf: false },
        { kind: 'say', text: 'x' },
      ],
    }
    expect(nextTurn(waiting, '').steps.slice(1)).toEqual([{ kind: 'say', text: 'x' }])
  })
})

describe('the report', () => {
  it('claims what was written, what was claimed, and inline deliverables', () => {
    const session: Session = {
      ...first('x'),
      deliverables: [
        { kind: 'inline', name: 'note' },
        { kind: 'url', name: 'site' },
        { kind: 'file', name: 'first', path: 'a.md' },
      ],
      wrote: ['a.md'],
      claims: { 'b.md': 'b.md' },
      commits: 1,
      notes: ['n'],
    }
    expect(reportOf(session)).toEqual({
      artifacts: {
        first: 'a.md',
        'b.md': 'b.md',
        note: 'I wrote a.md. In place as well: b.md. 1 commit on this branch. I took 1 note on the way.',
      },
      summary: 'I wrote a.md. In place as well: b.md. 1 commit on this branch. I took 1 note on the way.',
    })
  })
})

describe('a passage in a file', () => {
  it('keeps to the format of the file and never stands twice', () => {
    const add = (path: string, old?: string) => withPassage(path, old, 'H', ['one', '', '*/ two'])
    expect([
      add('a.md'),
      add('a.md', '# T\n'),
      add('a.py', 'x = 1'),
      add('a.css'),
      add('a.json', '{"k":1}'),
      add('b.json', '[1]'),
      add('c.json', 'not json'),
      add('a.md', add('a.md')),
    ]).toEqual([
      '# H\n\none\n\n*/ two\n',
      '# T\n\n## H\n\none\n\n*/ two\n',
      'x = 1\n\n# H\n# one\n#\n# * / two\n',
      '/* H */\n/* one */\n/* */\n/* * / two */\n',
      '{\n  "k": 1,\n  "H": [\n    "one",\n    "*/ two"\n  ]\n}\n',
      undefined,
      undefined,
      '# H\n\none\n\n*/ two\n\n## H\n\none\n\n*/ two\n',
    ])
    expect(add('a.md', add('a.md', '# T\n'))).toBe(add('a.md', '# T\n'))
  })
})
