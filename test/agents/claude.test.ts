import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConversationStart } from '../../src/agents/agent'
import { claudeAgent } from '../../src/agents/claude'
import type { ClaudeSettings } from '../../src/agents/claude/commandLine'
import type { AgentSignal } from '../../src/core/signals'
import { agentsFolder } from '../../scripts/installAgents.mjs'
import { AnthropicServer, lastMessage } from './models/anthropic'
import { Room } from './room'
import { start } from '../unit/agents/start'

const executable = path.join(agentsFolder, 'claude/node_modules/.bin/claude')
const key = 'key-a'
const sessionIds = [1, 2].map((n) => `0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b0${n}`)
const steerId = (n: number) => `k3v9x0abc${n}`

let models: AnthropicServer
let room: Room

beforeEach(async () => {
  models = await AnthropicServer.start()
  room = claudeRoom()
})

afterEach(async () => {
  await room.dispose()
  await models.finish()
})

function claudeRoom(settings: ClaudeSettings = {}): Room {
  return new Room(claudeAgent('claude', { executable, ...settings }), {
    ANTHROPIC_BASE_URL: models.url,
    ANTHROPIC_API_KEY: key,
    // Whatever wants to go elsewhere comes to the loopback server, which reports it.
    HTTPS_PROXY: models.url,
    HTTP_PROXY: models.url,
    NO_PROXY: '127.0.0.1',
    DISABLE_TELEMETRY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  })
}

const bash = (command: string, description = 'a command') => ({ name: 'Bash', input: { command, description } })
const latch = () => path.join(room.folder, 'latch')
const open = () => fs.writeFileSync(latch(), '')
/** A tool that runs until the latch is there, and says that it was not cut. */
const untilLatch = () => bash(`until [ -e '${latch()}' ]; do sleep 0.02; done; echo not cut`)
const toolRuns = () => room.until('the tool', (signal) => signal.kind === 'toolStarted')
const sent = (n: number) =>
  room.until(`steer ${n}`, (signal) => signal.kind === 'steerSent' && signal.steerId === steerId(n))
const result = () => room.until('the result', (signal) => signal.kind === 'result')
const last = (n: number) => lastMessage(models.requests(key)[n]!)

/** Ends the talk as a supervisor does after the last result. */
async function close(): Promise<void> {
  room.closeInput()
  expect(await room.end()).toEqual({ code: 0, signal: null })
}

function receipts(): string[] {
  return room.signals.flatMap((signal) => {
    switch (signal.kind) {
      case 'steerSent':
      case 'steerTaken':
      case 'steerAnswered':
      case 'steerGivenBack':
        return [`${signal.kind} ${signal.steerId.at(-1)}`]
      case 'toolEnded':
        return [`tool ended: ${signal.output}`]
      case 'text':
        return [`text: ${signal.text}`]
      case 'result':
        return [`result ${signal.ok}`]
      default:
        return []
    }
  })
}

/** One steer, sent while a tool runs, and the talk to its end. */
async function steeredMidTool(over: Partial<ConversationStart> = {}): Promise<void> {
  models.script(key, { text: 'I run it.', tools: [untilLatch()] }, { text: 'Blue it is.' })
  room.start('Paint it red.', { autonomy: 'autonomous', ...over })
  await toolRuns()
  room.steer(steerId(1), 'MARKER use blue, not red')
  await sent(1)
  open()
  await result()
  await close()
}

describe('a steer', () => {
  it('goes right after the running tool’s result, cuts nothing, arrives once, and is confirmed by the next words', async () => {
    await steeredMidTool()
    expect(receipts()).toEqual([
      'text: I run it.',
      'steerSent 1',
      'tool ended: not cut',
      'steerTaken 1',
      'steerAnswered 1',
      'text: Blue it is.',
      'result true',
    ])
    const [toolResult, ...after] = last(1)
    expect(toolResult).toBe('tool_result not cut')
    expect(after).toHaveLength(1)
    expect(after[0]).toContain('MARKER use blue, not red')
    expect(JSON.stringify(models.requests(key)[1]!.body).split('MARKER')).toHaveLength(2)
  })

  it('is read as well by one that is held to few tools', async () => {
    await steeredMidTool({ allowedTools: ['run'] })
    expect(receipts().filter((line) => line.startsWith('steer'))).toEqual([
      'steerSent 1',
      'steerTaken 1',
      'steerAnswered 1',
    ])
    expect(models.requests(key)[1]!.body.tools?.map(({ name }) => name)).not.toContain('Edit')
    expect(last(1)[1]).toContain('MARKER use blue, not red')
  })

  it('is one of five and all five are read, in order', async () => {
    models.script(key, { tools: [untilLatch()] }, { text: 'Heard.' })
    room.start('Wait.', { autonomy: 'autonomous' })
    await toolRuns()
    for (const n of [1, 2, 3, 4, 5]) room.steer(steerId(n), `MARKER-${n}`)
    await sent(5)
    open()
    await result()
    await close()
    expect(
      last(1)
        .join('\n')
        .match(/MARKER-\d/g),
    ).toEqual(['MARKER-1', 'MARKER-2', 'MARKER-3', 'MARKER-4', 'MARKER-5'])
    expect(
      receipts()
        .filter((line) => /^steer(Taken|Answered)/.test(line))
        .sort(),
    ).toEqual([1, 2, 3, 4, 5].flatMap((n) => [`steerAnswered ${n}`, `steerTaken ${n}`]).sort())
  })

  it('that looks like a command reaches the model as plain text', async () => {
    models.script(key, { tools: [untilLatch()] }, { text: 'Nothing was cleared.' })
    room.start('/clear is only a word here.', { autonomy: 'autonomous' })
    await toolRuns()
    room.steer(steerId(1), '/clear')
    await sent(1)
    open()
    await result()
    await close()
    const whole = JSON.stringify(models.requests(key)[1]!.body.messages)
    expect([whole.includes('/clear is only a word here.'), whole.split('/clear').length - 1]).toEqual([true, 2])
    expect(receipts()).toContain('steerAnswered 1')
  })

  it('that comes while the last words stream is a turn of its own, delivered all the same', async () => {
    let streaming = () => {}
    const streams = new Promise<void>((resolve) => (streaming = resolve))
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const pieces = {
      pieces: ['Al', 'most.'],
      betweenPieces: () => {
        streaming()
        return held
      },
    }
    models.script(key, pieces, { text: 'One more thing done.' })
    room.start('Say a word.')
    await streams
    room.steer(steerId(1), 'MARKER one more thing')
    await sent(1)
    release()
    await room.until('the second result', () => receipts().filter((line) => line === 'result true').length === 2)
    await close()
    expect(receipts()).toEqual([
      'steerSent 1',
      'text: Almost.',
      'result true',
      'steerTaken 1',
      'steerAnswered 1',
      'text: One more thing done.',
      'result true',
    ])
    expect(last(1).at(-1)).toContain('MARKER one more thing')
  })

  it('waits while an approval waits, and follows the tool that was approved', async () => {
    models.script(key, { tools: [bash('touch made.txt && echo made')] }, { text: 'Heard.' })
    room.start('Make a file.', { autonomy: 'ask' })
    const asked = await room.until('the approval', (signal) => signal.kind === 'asked')
    room.steer(steerId(1), 'MARKER')
    await sent(1)
    room.answer((asked as { requestId: string }).requestId, { kind: 'allow', scope: 'once' })
    await result()
    await close()
    expect([last(1)[0], last(1)[1]?.includes('MARKER')]).toEqual(['tool_result made', true])
  })

  it('can be taken back before it is read, and then never is', async () => {
    models.script(key, { tools: [untilLatch()] }, { text: 'Nothing heard.' })
    room.start('Wait.', { autonomy: 'autonomous' })
    await toolRuns()
    room.steer(steerId(1), 'MARKER')
    await sent(1)
    room.withdraw(steerId(1))
    await room.untilLine('the withdrawal', (line) => line.includes('"cancelled":true'))
    open()
    await result()
    await close()
    expect(JSON.stringify(models.requests(key)[1]!.body)).not.toContain('MARKER')
    // Said twice: in the answer to the wish, and of the message itself.
    expect([...new Set(receipts())]).toEqual([
      'steerSent 1',
      'steerGivenBack 1',
      'tool ended: not cut',
      'text: Nothing heard.',
      'result true',
    ])
  })
})

describe('pause, death and resume', () => {
  it('ends softly with its tools, keeps the waiting steer out, and goes on with its whole history', async () => {
    const pids = path.join(room.repo, 'pids')
    models.script(
      key,
      { text: 'Long work.', tools: [bash(`until [ -e never ]; do sleep 0.1; done & echo $! $$ > '${pids}'; wait`)] },
      { text: 'Went on.' },
    )
    room.start('REMEMBER-ME', { autonomy: 'autonomous', sessionId: sessionIds[0]! })
    await room.untilFile(pids)
    room.steer(steerId(1), 'MARKER')
    await sent(1)
    room.cancel()
    await room.end()
    expect(receipts().filter((line) => line.startsWith('steerTaken'))).toEqual([])
    expect(room.lines.filter(({ line }) => line.includes('"still_queued":[]'))).toHaveLength(1)
    expect(alive(pids)).toEqual([])
    room.start('Go on, and MARKER', { autonomy: 'autonomous', sessionId: sessionIds[0]!, resume: true })
    await result()
    await close()
    const messages = JSON.stringify(models.requests(key)[1]!.body.messages)
    expect([
      messages.includes('REMEMBER-ME'),
      messages.includes('Long work.'),
      messages.split('MARKER').length,
    ]).toEqual([true, true, 2])
  })

  it('resumes after SIGKILL by the same session id', async () => {
    models.script(key, { text: 'Long work.', tools: [untilLatch()] }, { text: 'Went on.' })
    room.start('REMEMBER-ME', { autonomy: 'autonomous', sessionId: sessionIds[0]! })
    await room.untilFile(transcriptOf(sessionIds[0]!), (text) => text.includes('tool_use'))
    room.kill('SIGKILL')
    expect(await room.end()).toEqual({ code: null, signal: 'SIGKILL' })
    open()
    room.start('Go on.', { sessionId: sessionIds[0]!, resume: true })
    const ready = await room.until('init', (signal) => signal.kind === 'ready' && signal.sessionId !== undefined)
    await result()
    await close()
    expect(ready).toMatchObject({ sessionId: sessionIds[0], agentVersion: '2.1.332' })
    expect(JSON.stringify(models.requests(key)[1]!.body.messages)).toContain('REMEMBER-ME')
  })

  it('counts only what the resumed attempt cost and took, and its input while it still works', async () => {
    models.script(key, { text: 'One.' }, { tools: [untilLatch()] }, { text: 'Two.' })
    const spent = (which: 'costUsd' | 'inputTokens' | 'outputTokens') =>
      room.signals.reduce((sum, signal) => sum + (signal.kind === 'usage' ? (signal[which] ?? 0) : 0), 0)
    room.start('Say one.', { sessionId: sessionIds[0]! })
    await result()
    await close()
    const first = spent('costUsd')
    expect([first > 0, spent('inputTokens'), spent('outputTokens')]).toEqual([true, 100, 20])
    const before = { sessionCostUsd: first, sessionTokens: { input: 100, output: 20 } }
    room.start('Say two.', { autonomy: 'autonomous', sessionId: sessionIds[0]!, resume: true, ...before })
    await toolRuns()
    expect(spent('inputTokens')).toBe(100)
    open()
    await result()
    await close()
    expect(spent('costUsd')).toBeCloseTo(2 * first, 6)
    expect([spent('inputTokens'), spent('outputTokens')]).toEqual([200, 40])
  })

  it('names the session that is not there, goes on with no other, and says what to do', async () => {
    models.script(key, { text: 'Another session.' })
    room.start('Say one.', { sessionId: sessionIds[0]! })
    await result()
    await close()
    room.start('Go on.', { sessionId: sessionIds[1]!, resume: true })
    expect((await room.end()).code).toBe(1)
    const [ended] = room.signals.filter((signal) => signal.kind === 'result')
    expect([ended?.ok, ended?.reason?.includes(sessionIds[1]!), ended?.reason]).toEqual([
      false,
      true,
      expect.stringContaining('start a new child with the same brief'),
    ])
    expect(models.requests(key)).toHaveLength(1)
  })
})

describe('approvals and questions', () => {
  it('are put to a person, and the answer is what happens', async () => {
    models.script(
      key,
      { tools: [bash('touch one.txt && echo one')] },
      { tools: [bash('touch two.txt && echo two')] },
      { tools: [bash('touch three.txt && echo three')] },
      { text: 'Done.' },
    )
    room.start('Make files.', { autonomy: 'ask' })
    const answers = [
      { kind: 'allow', scope: 'once' },
      { kind: 'deny', message: 'use git instead' },
      { kind: 'cancelled' },
    ] as const
    for (const [index, answer] of answers.entries()) {
      await room.until('an approval', () => asks()[index] !== undefined)
      room.answer(asks()[index]!.requestId, answer)
    }
    await result()
    await close()
    expect(asks().map(({ ask }) => ask)).toEqual(
      ['one', 'two', 'three'].map((name) => ({
        kind: 'approval',
        tool: 'Bash',
        input: { command: `touch ${name}.txt && echo ${name}`, description: 'a command' },
        detail: 'a command',
        covers: { command: `touch ${name}.txt && echo ${name}` },
      })),
    )
    expect([1, 2, 3].map((n) => last(n)[0])).toEqual([
      'tool_result one',
      'tool_result use git instead',
      'tool_result Nobody answered; the request was withdrawn.',
    ])
    expect(fs.readdirSync(room.repo).filter((name) => name.endsWith('.txt'))).toEqual(['one.txt'])
    expect(room.signals.filter((signal) => signal.kind === 'condition' && signal.condition?.name === 'denied')).toEqual(
      [{ kind: 'condition', condition: { name: 'denied', words: 'was denied: Bash' } }],
    )
  })

  it('allowed for this child are not asked again for the same command, and leave no file in the worktree', async () => {
    const same = bash('touch same.txt && echo same')
    models.script(key, { tools: [same] }, { tools: [same] }, { tools: [bash('touch other.txt')] }, { text: 'Done.' })
    room.start('Make a file twice.', { autonomy: 'ask' })
    const first = await room.until('the approval', (signal) => signal.kind === 'asked')
    room.answer((first as { requestId: string }).requestId, { kind: 'allow', scope: 'child' })
    await room.until('the other approval', () => asks().length === 2)
    room.answer(asks()[1]!.requestId, { kind: 'deny', message: 'no' })
    await result()
    await close()
    expect(asks().map(({ ask }) => (ask.kind === 'approval' ? ask.input : ask))).toEqual([
      { command: 'touch same.txt && echo same', description: 'a command' },
      { command: 'touch other.txt', description: 'a command' },
    ])
    expect(room.git('status', '--porcelain', '--ignored')).toBe('?? same.txt\n')
  })

  it('of its own are questions with options, answered in words', async () => {
    const input = {
      questions: [
        {
          question: 'Which colour?',
          header: 'Colour',
          multiSelect: false,
          options: [
            { label: 'red', description: 'warm' },
            { label: 'blue', description: 'cold' },
          ],
        },
      ],
    }
    models.script(key, { tools: [{ name: 'AskUserQuestion', input }] }, { text: 'Blue.' })
    room.start('Paint.')
    await room.until('the question', () => asks().length === 1)
    expect(asks()[0]!.ask).toEqual({ kind: 'question', question: 'Which colour?', options: ['red', 'blue'] })
    room.answer(asks()[0]!.requestId, { kind: 'text', text: 'blue' })
    await result()
    await close()
    expect(last(1)[0]).toContain('blue')
  })
})

describe('ends', () => {
  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
  ])('an API error %i is no success and says so', async (status, error) => {
    await room.dispose()
    room = claudeRoom({ maxApiRetries: 1 })
    models.tolerate(key, { status, error })
    room.start('Try.')
    const ended = (await result()) as Extract<AgentSignal, { kind: 'result' }>
    room.closeInput()
    expect((await room.end()).code).toBe(1)
    expect([ended.ok, ended.reason?.includes(String(status))]).toEqual([false, true])
    // A 400 makes the CLI try simpler forms of the same request, six in all.
    expect(models.requests(key).length).toBeLessThanOrEqual(6)
  })

  it('a limit of turns is no success', async () => {
    await room.dispose()
    room = claudeRoom({ maxTurns: 1 })
    models.script(key, { tools: [bash('echo hi')] })
    room.start('Work.', { autonomy: 'autonomous' })
    expect(await result()).toMatchObject({ ok: false, reason: 'It reached its limit of turns.' })
    room.closeInput()
    await room.end()
  })

  it('the contract’s object comes back as it was returned', async () => {
    const output = { artifacts: { 'a.md': 'a.md' }, summary: 'done' }
    models.script(key, { tools: [{ name: 'StructuredOutput', input: output }] }, { text: 'Done.' })
    const schema = { type: 'object', required: ['artifacts', 'summary'], properties: { artifacts: {}, summary: {} } }
    room.start('Work.', { outputSchema: schema })
    expect(await result()).toMatchObject({ ok: true, output })
    models.forget(key)
    await close()
  })
})

describe('a hostile repository', () => {
  it('cannot run its hooks, but its rules are still told', async () => {
    const hooked = path.join(room.folder, 'hooked')
    const hook = [{ hooks: [{ type: 'command', command: `touch '${hooked}'` }] }]
    fs.mkdirSync(path.join(room.repo, '.claude'))
    fs.writeFileSync(
      path.join(room.repo, '.claude', 'settings.json'),
      JSON.stringify({ hooks: { SessionStart: hook, UserPromptSubmit: hook, PreToolUse: hook, Stop: hook } }),
    )
    room.git('add', '.')
    models.script(key, { tools: [bash('echo hi')] }, { text: 'Done.' })
    room.start('Work.', {
      autonomy: 'autonomous',
      projectRules: [{ path: 'CLAUDE.md', text: 'RULE-7: tabs only.' }],
    })
    await result()
    await close()
    expect(fs.existsSync(hooked)).toBe(false)
    expect(JSON.stringify(models.requests(key)[0]!.body)).toContain('RULE-7')
    expect(room.git('status', '--porcelain', '--ignored')).toBe('A  .claude/settings.json\n')
  })
})

describe('refolding the past', () => {
  it('gives the same signals and receipts again from the raw lines alone', async () => {
    models.script(key, { text: 'I run it.', tools: [untilLatch()] }, { text: 'Heard.' })
    room.start('Wait.', { autonomy: 'autonomous' })
    await toolRuns()
    room.steer(steerId(1), 'MARKER')
    await sent(1)
    open()
    await result()
    await close()
    const again = claudeAgent('claude', { executable }).converse(start({ autonomy: 'autonomous', cwd: room.repo }))
    expect(room.lines.flatMap(({ source, line }) => again.read(source as 'stdout', line))).toEqual(room.signals)
  })
})

function asks(): Extract<AgentSignal, { kind: 'asked' }>[] {
  return room.signals.filter((signal) => signal.kind === 'asked')
}

/** Where the CLI keeps a session; written a moment after the stream says the same. */
function transcriptOf(session: string): string {
  return path.join(room.folder, '.claude', 'projects', room.repo.replace(/[^a-zA-Z0-9]/g, '-'), `${session}.jsonl`)
}

/** Of the pids a tool wrote down, those that still run something. */
function alive(file: string): string[] {
  const pids = fs.readFileSync(file, 'utf8').trim().split(/\s+/)
  return pids.filter((pid) => {
    try {
      return !/^Z/.test(execFileSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' }).trim())
    } catch {
      return false
    }
  })
}
