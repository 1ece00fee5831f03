import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import * as esbuild from 'esbuild'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { commandLineAgent } from '../../src/agents/commandLine'
import { demoAgent } from '../../src/agents/demo'
import { contractPrompt, readContract } from '../../src/core/contract'
import { Room } from '../agents/room'

const script = (...steps: unknown[]) => `Follow this.\n\`\`\`demo\n${JSON.stringify(steps)}\n\`\`\`\n`
const bundle = fs.mkdtempSync(path.join(os.tmpdir(), 'coxswain-demo-bundle-'))
const demoScript = path.join(bundle, 'demoAgent.js')
let room: Room
let rooms = 0

beforeAll(async () => {
  await esbuild.build({
    entryPoints: ['src/demo/agent.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    outfile: demoScript,
  })
  return () => fs.rmSync(bundle, { recursive: true, force: true })
})

afterEach(() => room.dispose())

function demoRoom(): Room {
  room = new Room(
    demoAgent('demo', {
      node: { file: process.execPath, env: {} },
      demoScript,
      demoSessions: path.join(bundle, `sessions-${++rooms}`),
    }),
    { COXSWAIN_DEMO_PACE_MS: '0' },
  )
  return room
}

describe('the demo agent by default', () => {
  it('reads, edits, runs a command, commits in small steps and reports, leaving nothing else behind', async () => {
    const { repo } = demoRoom()
    room.start('Write a short tour of this repository.')
    expect(await room.end()).toEqual({ code: 0, signal: null })
    const shape = room.told().filter((line) => /^(tool|result)/.test(line))
    expect(shape.map((line) => line.split(/[ {]/).slice(0, 2).join(' '))).toEqual([
      'tool run',
      'tool read',
      'tool read',
      'tool write',
      'tool run',
      'tool commit',
      'tool append',
      'tool run',
      'tool commit',
      'tool append',
      'tool run',
      'tool run',
      'tool commit',
      'result true',
    ])
    expect(room.told().filter((line) => line.includes('failed'))).toEqual([])
    expect(shape.at(-1)).toBe(
      'result true {"artifacts":{"docs/tour.md":"docs/tour.md"},"summary":"I wrote docs/tour.md. 3 commits on this branch."}',
    )
    expect(room.git('log', '--format=%s').trim().split('\n')).toEqual([
      'Point to a place to start reading',
      'Say what stands where',
      'Start docs/tour.md',
      'First',
    ])
    expect(room.git('status', '--porcelain', '--ignored')).toBe('')
    expect(room.file('docs/tour.md')).toContain('- `src`: 1 file')
    expect(fs.existsSync(repo)).toBe(true)
  })

  it('commits as the person whose identity git knows', async () => {
    demoRoom().git('config', 'user.name', 'Ada')
    room.git('config', 'user.email', 'ada@example.invalid')
    room.start('Write notes.md, please.')
    await room.end()
    expect(room.git('log', '-1', '--format=%an <%ae>').trim()).toBe('Ada <ada@example.invalid>')
  })

  it('does not run hooks of the repository', async () => {
    demoRoom()
    const hook = path.join(room.repo, '.git', 'hooks', 'pre-commit')
    fs.mkdirSync(path.dirname(hook), { recursive: true })
    fs.writeFileSync(hook, `#!/bin/sh\ntouch "${room.folder}/hooked"\nexit 1\n`, { mode: 0o755 })
    room.start('Write notes.md')
    expect(await room.end()).toEqual({ code: 0, signal: null })
    expect([room.git('rev-list', '--count', 'HEAD').trim(), fs.existsSync(`${room.folder}/hooked`)]).toEqual([
      '4',
      false,
    ])
  })

  it('writes the deliverables of a contract', async () => {
    const contract = readContract({ deliverables: [{ path: 'out/table.json' }, { kind: 'inline', id: 'note' }] })
    if (!contract.ok) throw new Error(JSON.stringify(contract))
    demoRoom()
    room.start(`Describe the repository.\n\n${contractPrompt(contract.contract, room.repo)}`)
    await room.end()
    const report = await room.until('result', (signal) => signal.kind === 'result')
    expect(JSON.parse(room.file('out/table.json'))).toHaveProperty('What is here')
    expect(report).toMatchObject({ ok: true, output: { artifacts: { 'out/table.json': 'out/table.json' } } })
    expect(Object.keys((report as { output: { artifacts: object } }).output.artifacts)).toContain('note')
  })
})

describe('steering the demo agent', () => {
  it('takes a steer between two steps, never within one, and acts on it in the very next', async () => {
    demoRoom()
    const latch = path.join(room.folder, 'latch')
    room.start(script({ run: ['sh', '-c', `until [ -e '${latch}' ]; do sleep 0.02; done`] }, { say: 'what came next' }))
    await room.until('the running tool', (signal) => signal.kind === 'toolStarted')
    room.steer('st-1', 'Please write BLUE.md and use blue, not red.')
    room.steer('st-2', 'And mention boats.')
    fs.writeFileSync(latch, '')
    await room.end()
    expect(room.told().slice(2)).toEqual([
      '  done',
      'steer taken st-1',
      'steer taken st-2',
      'text I have your note: “Please write BLUE.md and use blue, not red.”. It goes into BLUE.md next.',
      'tool write {"path":"BLUE.md","heading":"A note that came on the way","text":"> Please write BLUE.md and use blue, not red.\\n\\nTaken up between two steps."}',
      '  done',
      'text I have your note: “And mention boats.”. It goes into BLUE.md next.',
      'tool append {"path":"BLUE.md","heading":"A note that came on the way","text":"> And mention boats.\\n\\nTaken up between two steps."}',
      '  done',
      'text what came next',
      'tool commit {"message":"Keep what the notes on the way asked for","paths":["BLUE.md"]}',
      '  done',
      'usage',
      'result true {"artifacts":{"BLUE.md":"BLUE.md"},"summary":"I wrote BLUE.md. 1 commit on this branch. I took 2 notes on the way."}',
    ])
    expect(room.git('show', 'HEAD:BLUE.md')).toContain('use blue, not red')
  })

  it('finds a steer that was queued before it started', async () => {
    demoRoom().queueEarly('{"id":"early","content":"write EARLY.md","queued_at":"x","steer":true}\n')
    room.start(script({ say: 'first step' }))
    await room.end()
    expect(room.told().slice(1, 3)).toEqual([
      'steer taken early',
      'text I have your note: “write EARLY.md”. It goes into EARLY.md next.',
    ])
  })

  it('moves the rest of its default work to the file a steer names', async () => {
    demoRoom().start('Ask me first, then write a tour.')
    await room.until('the question', (signal) => signal.kind === 'asked')
    room.steer('st-1', 'Write GUIDE.md instead of docs/tour.md.')
    room.answer('q1-1', { kind: 'text', text: 'As you like.' })
    await room.end()
    expect(room.git('ls-files').trim().split('\n')).toEqual(['GUIDE.md', 'README.md', 'src/index.js'])
    expect(room.file('GUIDE.md')).toContain('## Where to start')
  })

  it('can be told to ignore steers, which then are never taken', async () => {
    demoRoom()
    const latch = path.join(room.folder, 'latch')
    room.start(`\`\`\`demo\n${JSON.stringify({ steps: [{ wait: { file: latch } }], ignoresSteers: true })}\n\`\`\``)
    await room.until('ready', (signal) => signal.kind === 'ready')
    room.steer('st-1', 'hello?')
    fs.writeFileSync(latch, '')
    await room.end()
    expect(room.told().filter((line) => line.startsWith('steer'))).toEqual([])
  })
})

describe('questions of the demo agent', () => {
  it('waits for its answer and goes by it', async () => {
    demoRoom().start('Write a tour, but ask me first.')
    const asked = await room.until('the question', (signal) => signal.kind === 'asked')
    expect(asked).toEqual({
      kind: 'asked',
      requestId: 'q1-1',
      ask: {
        kind: 'question',
        question: 'You wanted to be asked: shall I write docs/tour.md, or another file? Name one.',
        options: ['docs/tour.md', 'TOUR.md'],
      },
    })
    room.answer('q1-1', { kind: 'text', text: 'TOUR.md' })
    await room.end()
    expect(room.git('ls-files').trim().split('\n')).toEqual(['README.md', 'TOUR.md', 'src/index.js'])
  })
})

describe('ending the demo agent', () => {
  it.each([
    ['a cancel line', (one: Room) => one.cancel(), 0],
    ['SIGINT', (one: Room) => one.kill('SIGINT'), 130],
    ['SIGTERM', (one: Room) => one.kill('SIGTERM'), 143],
  ])('%s ends it politely, also while a program of its own runs', async (_name, ask, code) => {
    demoRoom().start(script({ write: { path: 'a.txt', text: 'a' } }, { run: ['sleep', '600'] }, { say: 'never said' }))
    await room.until('the program', (signal) => signal.kind === 'toolStarted' && signal.name === 'run')
    ask(room)
    expect(await room.end()).toEqual({ code, signal: null })
    expect(room.told().slice(-4)).toEqual([
      'tool run {"argv":["sleep","600"]}',
      '  failed: cut short: I was asked to end',
      'text I stop here, as asked: 1 steps done, 2 left. I can go on from here.',
      'result false null',
    ])
  })

  it('a question that waits does not keep it from ending', async () => {
    demoRoom().start(script({ ask: 'Which?' }))
    await room.until('the question', (signal) => signal.kind === 'asked')
    room.cancel()
    expect(await room.end()).toEqual({ code: 0, signal: null })
  })

  it('a deaf script goes on through cancel, SIGINT and SIGTERM', async () => {
    demoRoom()
    room.start(script({ say: 'now deaf' }, { hang: 'deaf' }))
    await room.until('its text', (signal) => signal.kind === 'text')
    for (const signal of ['SIGINT', 'SIGTERM'] as const) room.kill(signal)
    room.cancel()
    for (const how of ['SIGINT', 'SIGTERM', 'cancel'])
      await room.until(how, (signal) => signal.kind === 'noise' && signal.text.includes(`(${how}) and do not listen`))
    room.kill('SIGKILL')
    expect(await room.end()).toEqual({ code: null, signal: 'SIGKILL' })
  })
})

describe('resuming the demo agent', () => {
  it('says what it remembers and does the rest, not the whole again', async () => {
    demoRoom()
    const latch = path.join(room.folder, 'latch')
    room.start(
      script(
        { write: { path: 'one.txt', text: '1\n' } },
        { commit: 'One' },
        { wait: { file: latch } },
        { write: { path: 'two.txt', text: '2\n' } },
        { commit: 'Two' },
      ),
    )
    await room.until('the first commit', (signal) => signal.kind === 'toolEnded' && signal.output.includes('One'))
    room.cancel()
    await room.end()
    room.start('Continue, and write THREE.md as well.', { resume: true })
    expect(await room.end()).toEqual({ code: 0, signal: null })
    expect(room.told().filter((line) => /^(text|tool|result)/.test(line))).toEqual([
      'text I remember: my goal was “Follow this.”. 2 steps done, 2 steps left, one.txt written, 1 commit.',
      'text I have your note: “Continue, and write THREE.md as well.”. It goes into THREE.md next.',
      'tool write {"path":"THREE.md","heading":"A note that came on the way","text":"> Continue, and write THREE.md as well.\\n\\nTaken up between two steps."}',
      'tool write {"path":"two.txt","text":"2\\n"}',
      'tool commit {"message":"Two","paths":["THREE.md","two.txt"]}',
      'result true {"artifacts":{"one.txt":"one.txt","THREE.md":"THREE.md","two.txt":"two.txt"},"summary":"I wrote one.txt, THREE.md and two.txt. 2 commits on this branch. I took 1 note on the way."}',
    ])
    expect(room.git('log', '--format=%s').trim().split('\n')).toEqual(['Two', 'One', 'First'])
  })

  it('goes on after SIGKILL in the middle of a step', async () => {
    demoRoom()
    const latch = path.join(room.folder, 'latch')
    room.start(script({ write: { path: 'one.txt', text: '1\n' } }, { wait: { file: latch } }, { say: 'afterwards' }))
    await room.until('its first step', (signal) => signal.kind === 'toolEnded')
    room.kill('SIGKILL')
    await room.end()
    fs.writeFileSync(latch, '')
    room.start('continue from where you left off', { resume: true })
    expect(await room.end()).toEqual({ code: 0, signal: null })
    expect(room.told()).toContain('text afterwards')
    expect(room.git('log', '-1', '--format=%s').trim()).toBe('Keep what the notes on the way asked for')
  })

  it('says so when there is nothing to remember', async () => {
    demoRoom().start('continue from where you left off', { resume: true })
    expect(await room.end()).toEqual({ code: 1, signal: null })
    expect(room.told().at(-1)).toBe('result false null')
  })
})

describe('a demo agent that lies', () => {
  it('claims a file it did not write, and writes it when it is found out', async () => {
    demoRoom().start('Lie: say that docs/report.md is written.')
    expect(await room.end()).toEqual({ code: 0, signal: null })
    expect(room.told().at(-1)).toBe(
      'result true {"artifacts":{"docs/report.md":"docs/report.md"},"summary":"I wrote no file. In place as well: docs/report.md."}',
    )
    expect([fs.existsSync(path.join(room.repo, 'docs/report.md')), room.git('status', '--porcelain')]).toEqual([
      false,
      '',
    ])
    room.start('docs/report.md does not exist.', { resume: true })
    await room.end()
    expect(room.git('show', 'HEAD:docs/report.md')).toContain('Written after all')
  })
})

describe('a script of the demo agent', () => {
  it('can be wrong in every way a supervisor must bear', async () => {
    demoRoom()
    room.start(
      script(
        { print: 'Loaded cached credentials.' },
        { warn: 'a word on stderr' },
        { read: '../outside' },
        { write: { path: '.git/hooks/post-commit', text: 'x' } },
        { write: { path: '../escape.txt', text: 'x' } },
        { run: ['no-such-program-anywhere'] },
        { run: ['sh', '-c', 'echo bad; exit 3'] },
        { flood: { lines: 1_000, length: 1_000 } },
        { fail: 'I give up.' },
        { say: 'never said' },
      ),
    )
    expect(await room.end()).toEqual({ code: 1, signal: null })
    const told = room.told()
    expect(told.filter((line) => line.startsWith('noise')).sort()).toEqual([
      'noise Loaded cached credentials.',
      'noise a word on stderr',
    ])
    expect(told.filter((line) => line.startsWith('  failed'))).toEqual([
      '  failed: ../outside is outside my working folder, I leave it alone',
      '  failed: .git/hooks/post-commit belongs to git, I leave it alone',
      '  failed: ../escape.txt is outside my working folder, I leave it alone',
      expect.stringContaining('no-such-program-anywhere cannot be started'),
      '  failed: exit code 3\nbad',
    ])
    expect(told.filter((line) => line.length > 1_000)).toHaveLength(1_000)
    expect(room.signals.at(-1)).toEqual({ kind: 'result', ok: false, summary: 'I give up.', reason: 'I give up.' })
  })

  it('ends the turn with a sentence when it cannot be read', async () => {
    demoRoom().start(script({ dance: true }))
    expect(await room.end()).toEqual({ code: 1, signal: null })
    expect(room.signals.at(-1)).toMatchObject({
      reason: 'I do not understand step 1 of my script: {"dance":true}',
    })
  })

  it('does not write through a link that leaves the working folder', async () => {
    demoRoom()
    fs.mkdirSync(path.join(room.folder, 'elsewhere'))
    fs.symlinkSync(path.join(room.folder, 'elsewhere'), path.join(room.repo, 'link'))
    room.start(script({ write: { path: 'link/file.txt', text: 'x' } }))
    await room.end()
    expect(fs.readdirSync(path.join(room.folder, 'elsewhere'))).toEqual([])
  })
})

describe('a child of your own in twenty lines', () => {
  it('is told its task, takes a steer, commits and reports', async () => {
    room = new Room(
      commandLineAgent('tiny', {
        command: [process.execPath, path.resolve('examples/tiny-child.mjs')],
        protocol: 'lines',
      }),
    )
    room.git('config', 'user.name', 'Ada')
    room.git('config', 'user.email', 'ada@example.invalid')
    room.queueEarly('{"id":"st-1","content":"mention boats","queued_at":"x","steer":true}\n')
    room.start('Write down the goal.')
    expect(await room.end()).toEqual({ code: 0, signal: null })
    expect(room.told()).toEqual([
      'ready',
      'steer taken st-1',
      'text I look around: Note: mention boats',
      'text I think: Note: mention boats',
      'text I write: Note: mention boats',
      'result true {"artifacts":{"NOTES.txt":"NOTES.txt"}}',
    ])
    expect(room.git('show', 'HEAD:NOTES.txt')).toBe('Write down the goal.\nNote: mention boats\n')
  })
})
