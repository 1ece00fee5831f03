import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ConversationStart } from '../../../src/agents/agent'
import { claudeAgent } from '../../../src/agents/claude'
import { claudeSettings, type ClaudeSettings } from '../../../src/agents/claude/commandLine'
import { readAgentsSettings } from '../../../src/agents/registry'
import type { AgentSignal } from '../../../src/core/signals'
import { seededRandom } from './random'
import { start } from './start'

const steer1 = '5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01'
const talk = (over: Partial<ConversationStart> = {}, settings: ClaudeSettings = {}) =>
  claudeAgent('claude', settings).converse(start(over))
const recorded = (name: string) =>
  readFileSync(new URL(`../../fixtures/agents/claude/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')

/** Signals in short, one a line. */
function told(signals: readonly AgentSignal[]): string[] {
  return signals.map(({ kind, ...rest }) => `${kind} ${JSON.stringify(rest)}`)
}

describe('streams recorded from 2.1.332', () => {
  it('a steer while a tool runs', () => {
    const conversation = talk({ autonomy: 'autonomous' })
    conversation.steer!.write({ id: steer1, text: 'MARKER', queuedAt: '' })
    expect(told(recorded('steered').flatMap((line) => conversation.read('stdout', line)))).toMatchInlineSnapshot(`
      [
        "ready {"steerable":true}",
        "ready {"steerable":true,"sessionId":"0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b9c","model":"claude-opus-5-5","agentVersion":"2.1.332"}",
        "usage {"mode":"delta","inputTokens":100}",
        "text {"text":"I run it."}",
        "toolStarted {"id":"toolu_key-a_1_0","name":"Bash","input":{"command":"until [ -e '/trees/latch' ]; do sleep 0.02; done; echo not cut","description":"a command"}}",
        "steerSent {"steerId":"5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01"}",
        "toolEnded {"id":"toolu_key-a_1_0","output":"not cut","isError":false}",
        "steerTaken {"steerId":"5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01","evidence":"observed","detail":"replayed at the fold"}",
        "usage {"mode":"delta","inputTokens":100}",
        "steerAnswered {"steerId":"5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01","evidence":"observed"}",
        "text {"text":"Blue it is."}",
        "usage {"mode":"delta","inputTokens":0,"outputTokens":40,"costUsd":0.0016}",
        "result {"ok":true,"summary":"Blue it is."}",
      ]
    `)
  })

  it('the same stream tells of no steer nobody queued', () => {
    const signals = recorded('steered').flatMap((line) => talk().read('stdout', line))
    expect(signals.filter((signal) => signal.kind.startsWith('steer'))).toEqual([])
  })

  it('a pause in the middle of a tool, with a steer waiting', () => {
    const conversation = talk({ autonomy: 'autonomous' })
    conversation.steer!.write({ id: steer1, text: 'MARKER', queuedAt: '' })
    expect(told(recorded('paused').flatMap((line) => conversation.read('stdout', line)))).toMatchInlineSnapshot(`
      [
        "ready {"steerable":true}",
        "ready {"steerable":true,"sessionId":"0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01","model":"claude-opus-5-5","agentVersion":"2.1.332"}",
        "usage {"mode":"delta","inputTokens":100}",
        "text {"text":"Long work."}",
        "toolStarted {"id":"toolu_key-a_1_0","name":"Bash","input":{"command":"until [ -e never ]; do sleep 0.1; done & echo $! $$ > '/trees/c-1/pids'; wait","description":"a command"}}",
        "reply {"frames":[{"to":"stdin","text":"{\\"type\\":\\"control_response\\",\\"response\\":{\\"subtype\\":\\"success\\",\\"request_id\\":\\"cd793778-9b3b-46f4-bdb6-682b4e34547a\\",\\"response\\":{\\"behavior\\":\\"allow\\",\\"updatedInput\\":{\\"command\\":\\"until [ -e never ]; do sleep 0.1; done & echo $! $$ > '/trees/c-1/pids'; wait\\",\\"description\\":\\"a command\\"}}}}\\n"}]}",
        "steerSent {"steerId":"5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01"}",
        "steerGivenBack {"steerId":"5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01"}",
        "toolEnded {"id":"toolu_key-a_1_0","output":"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed. Correction to the text above: this call was stopped while running, not refused before it ran. It may have run in part or in full, and its changes may have been written. No permission prompt was involved. Work it started elsewhere (a remote command, a background process) may still be running, so check before starting the same work again. The instruction to stop and wait still stands.","isError":true}",
        "usage {"mode":"delta","inputTokens":0,"outputTokens":20,"costUsd":0.0008}",
        "result {"ok":false,"reason":"It was interrupted."}",
      ]
    `)
  })

  it('a resume whose earlier cost is known, and one whose is not', () => {
    const usage = (over: Partial<ConversationStart>) => {
      const conversation = talk({ resume: true, ...over })
      return recorded('resumed')
        .flatMap((line) => conversation.read('stdout', line))
        .filter((signal) => signal.kind === 'usage')
    }
    expect([usage({ sessionCostUsd: 0.0008 }), usage({})]).toMatchInlineSnapshot(`
      [
        [
          {
            "inputTokens": 100,
            "kind": "usage",
            "mode": "delta",
          },
          {
            "costUsd": 0.0008,
            "inputTokens": 0,
            "kind": "usage",
            "mode": "delta",
            "outputTokens": 20,
          },
        ],
        [
          {
            "inputTokens": 100,
            "kind": "usage",
            "mode": "delta",
          },
          {
            "inputTokens": 0,
            "kind": "usage",
            "mode": "delta",
            "outputTokens": 20,
          },
        ],
      ]
    `)
  })

  it('approvals', () => {
    const conversation = talk({ autonomy: 'ask' })
    const signals = recorded('approvals').flatMap((line) => conversation.read('stdout', line))
    expect(told(signals.filter(({ kind }) => kind === 'asked' || kind === 'condition'))).toMatchInlineSnapshot(`
      [
        "asked {"requestId":"8204440a-aec4-44da-8a7d-23b8ac924e79","ask":{"kind":"approval","tool":"Bash","input":{"command":"touch one.txt && echo one","description":"a command"},"detail":"a command","covers":{"command":"touch one.txt && echo one"}}}",
        "asked {"requestId":"0ed25967-543e-436f-9ae1-860d48f6cc72","ask":{"kind":"approval","tool":"Bash","input":{"command":"touch two.txt && echo two","description":"a command"},"detail":"a command","covers":{"command":"touch two.txt && echo two"}}}",
        "asked {"requestId":"c1f34376-59e7-47cd-9253-ab767917621d","ask":{"kind":"approval","tool":"Bash","input":{"command":"touch three.txt && echo three","description":"a command"},"detail":"a command","covers":{"command":"touch three.txt && echo three"}}}",
        "condition {"condition":{"name":"denied","words":"was denied: Bash"}}",
      ]
    `)
  })

  it('a question of its own', () => {
    const conversation = talk()
    const signals = recorded('question').flatMap((line) => conversation.read('stdout', line))
    const [asked] = signals.filter((signal) => signal.kind === 'asked')
    expect([asked, conversation.answer!(asked!.requestId, { kind: 'text', text: 'blue' })]).toMatchInlineSnapshot(`
      [
        {
          "ask": {
            "kind": "question",
            "options": [
              "red",
              "blue",
            ],
            "question": "Which colour?",
          },
          "kind": "asked",
          "requestId": "3f43d13e-6020-4c47-aa11-bf2b8180c3a8",
        },
        [
          {
            "text": "{"type":"control_response","response":{"subtype":"success","request_id":"3f43d13e-6020-4c47-aa11-bf2b8180c3a8","response":{"behavior":"allow","updatedInput":{"questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"red","description":"warm"},{"label":"blue","description":"cold"}],"multiSelect":false}],"answers":{"Which colour?":"blue"}}}}}
      ",
            "to": "stdin",
          },
        ],
      ]
    `)
  })

  it('a rate limit that outlasts the retries', () => {
    const conversation = talk()
    const signals = recorded('rateLimited').flatMap((line) => conversation.read('stdout', line))
    expect(told(signals)).toMatchInlineSnapshot(`
      [
        "ready {"steerable":true}",
        "ready {"steerable":true,"sessionId":"0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b9c","model":"claude-opus-5-5","agentVersion":"2.1.332"}",
        "condition {"condition":{"name":"rate limited","words":"retrying the model, 1 of 1: rate_limit 429","forMs":582}}",
        "condition {"condition":{"name":"API error","words":"API Error: Request rejected (429) · a scripted error"}}",
        "condition {"condition":null}",
        "usage {"mode":"delta","inputTokens":0,"outputTokens":0,"costUsd":0}",
        "result {"ok":false,"summary":"API Error: Request rejected (429) · a scripted error","reason":"The model’s API answered with an error 429: API Error: Request rejected (429) · a scripted error"}",
      ]
    `)
  })
})

describe('lines of other kinds', () => {
  it('are told as what they are', () => {
    const conversation = talk()
    const lines = [
      '{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"Hm."},{"type":"redacted_thinking"}]}}',
      '{"type":"assistant","parent_tool_use_id":"t1","message":{"content":[{"type":"tool_use","id":"t2","name":"Read"}]}}',
      '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image"}]}]}}',
      '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}',
      '{"type":"system","subtype":"api_retry","attempt":2,"max_retries":4,"error_status":null,"error":"server_error"}',
      '{"type":"assistant","message":{"content":[]}}',
      '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1924992000,"rateLimitType":"five_hour"}}',
      '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}',
      '{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1"}]}',
      '{"type":"control_request","request_id":"r9","request":{"subtype":"hook_callback","callback_id":"x"}}',
      '{"type":"system","subtype":"never_heard_of"}',
      '{"type":"stream_event","event":{}}',
      '{"type":"result","subtype":"success","is_error":false,"result":"All done.","permission_denials":[{"tool_name":"Bash"}]}',
      'plain words',
    ]
    expect(told(lines.flatMap((line) => conversation.read('stdout', line)))).toMatchInlineSnapshot(`
      [
        "reasoning {"text":"Hm."}",
        "toolStarted {"id":"t2","name":"Read","input":null,"subagent":"t1"}",
        "toolEnded {"id":"t2","output":"no\\n(image)","isError":true}",
        "condition {"condition":{"name":"retrying","words":"retrying the model, 2 of 4: server_error"}}",
        "condition {"condition":null}",
        "condition {"condition":{"name":"rate limited","words":"usage limit reached (five hour)","until":"2031-01-01T00:00:00.000Z"}}",
        "condition {"condition":null}",
        "noise {"text":"{\\"type\\":\\"control_request\\",\\"request_id\\":\\"r9\\",\\"request\\":{\\"subtype\\":\\"hook_callback\\",\\"callback_id\\":\\"x\\"}}"}",
        "reply {"frames":[{"to":"stdin","text":"{\\"type\\":\\"control_response\\",\\"response\\":{\\"subtype\\":\\"error\\",\\"request_id\\":\\"r9\\",\\"error\\":\\"hook_callback is not supported here\\"}}\\n"}]}",
        "noise {"text":"{\\"type\\":\\"system\\",\\"subtype\\":\\"never_heard_of\\"}"}",
        "condition {"condition":{"name":"denied","words":"was denied: Bash"}}",
        "result {"ok":true,"summary":"All done.","backgroundTasks":1}",
        "noise {"text":"plain words"}",
      ]
    `)
    expect(conversation.read('stderr', 'Error: Session ID x is already in use.')).toEqual([
      { kind: 'noise', text: 'Error: Session ID x is already in use.' },
    ])
  })

  it('a usage limit that is over is no reason any more', () => {
    const limit = (info: object) => JSON.stringify({ type: 'rate_limit_event', rate_limit_info: info })
    const failed = '{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error"}'
    const reasonAfter = (...lines: string[]) => {
      const conversation = talk()
      const last = [...lines, failed].flatMap((line) => conversation.read('stdout', line)).at(-1)
      return last?.kind === 'result' ? last.reason : last
    }
    const rejected = limit({ status: 'rejected', resetsAt: 1924992000 })
    const words = 'The model’s API answered with an error.'
    expect(reasonAfter(rejected)).toBe(`${words} Its usage limit ends at 2031-01-01T00:00:00.000Z; resume it then.`)
    expect(reasonAfter(rejected, limit({ status: 'allowed' }))).toBe(words)
  })

  it('a result is judged by all it says, never by its subtype alone', () => {
    const table = [
      { subtype: 'success', is_error: false, terminal_reason: 'completed' },
      { subtype: 'success', is_error: false },
      { subtype: 'success', is_error: true, terminal_reason: 'api_error', api_error_status: 401, result: 'bad key' },
      { subtype: 'success', is_error: true, terminal_reason: 'prompt_too_long' },
      { subtype: 'success', is_error: false, terminal_reason: 'aborted_tools' },
      { subtype: 'error_during_execution', is_error: true, terminal_reason: 'aborted_streaming' },
      { subtype: 'error_max_turns', is_error: true, terminal_reason: 'max_turns' },
      { subtype: 'error_max_budget_usd', is_error: true, terminal_reason: 'budget_exhausted' },
      { subtype: 'error_during_execution', is_error: true, errors: ['No conversation found'] },
      {},
    ]
    const results = table.flatMap((line) => talk().read('stdout', JSON.stringify({ type: 'result', ...line })))
    expect(results.map((one) => (one.kind === 'result' ? `${one.ok} ${one.reason ?? ''}`.trim() : one.kind))).toEqual([
      'true',
      'true',
      'false The model’s API answered with an error 401: bad key',
      'false The conversation has become too long for the model.',
      'false It was interrupted.',
      'false It was interrupted.',
      'false It reached its limit of turns.',
      'false It reached its budget.',
      'false No conversation found',
      'false It ended with no reason.',
    ])
  })

  it('of 2.1.197, which has no lifecycle, still prove a steer by its replay', () => {
    const conversation = talk()
    conversation.steer!.write({ id: steer1, text: 'MARKER', queuedAt: '' })
    const lines = [
      `{"type":"user","isReplay":true,"uuid":"${steer1}","message":{"role":"user","content":"MARKER"}}`,
      '{"type":"assistant","error":"overloaded","message":{"content":[{"type":"text","text":"API Error: 529"}]}}',
      '{"type":"assistant","message":{"content":[{"type":"text","text":"Heard."}]}}',
    ]
    expect(told(lines.flatMap((line) => conversation.read('stdout', line)))).toEqual([
      `steerTaken {"steerId":"${steer1}","evidence":"observed","detail":"replayed at the fold"}`,
      'condition {"condition":{"name":"API error","words":"API Error: 529"}}',
      'condition {"condition":null}',
      `steerAnswered {"steerId":"${steer1}","evidence":"observed"}`,
      'text {"text":"Heard."}',
    ])
  })

  it('never throw, over 10,000 mutations', () => {
    const random = seededRandom(7)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const seeds = ['steered', 'approvals', 'paused', 'rateLimited'].flatMap(recorded).filter((l) => l.length < 1_500)
    const scraps = ['', '{', '}', '[]', '"', '\\', '\uD800', 'null', '-1', 'true', ',', ':', '{}', '"x"']
    const conversation = talk({ autonomy: 'ask' })
    conversation.steer!.write({ id: steer1, text: 'MARKER', queuedAt: '' })
    const kinds = new Set<string>()
    for (let n = 0; n < 10_000; n++) {
      let line = pick(seeds)
      for (let cuts = Math.floor(random() * 3); cuts >= 0; cuts--) {
        const at = Math.floor(random() * line.length)
        line = line.slice(0, at) + pick(scraps) + line.slice(at + Math.floor(random() * 8))
      }
      for (const signal of conversation.read('stdout', line)) kinds.add(JSON.parse(JSON.stringify(signal)).kind)
    }
    expect([...kinds]).toEqual(expect.arrayContaining(['asked', 'noise', 'ready', 'result', 'text', 'toolEnded']))
  })
})

describe('what is written to it', () => {
  it('starts a session of ours, with the repository’s settings off and its rules handed over', () => {
    const { launch, opening } = talk(
      {
        executable: '/opt/claude',
        prompt: '/review the code',
        model: 'opus',
        allowedTools: ['read', 'run', 'mcp__panel__ask'],
        outputSchema: { type: 'object' },
        projectRules: [{ path: 'CLAUDE.md', text: 'Tabs.' }],
      },
      { maxTurns: 30, maxBudgetUsd: 2.5, effort: 'high', arguments: ['--add-dir', '/data'], secrets: ['MY_KEY'] },
    )
    expect(launch).toMatchInlineSnapshot(`
      {
        "args": [
          "-p",
          "--input-format",
          "stream-json",
          "--output-format",
          "stream-json",
          "--verbose",
          "--replay-user-messages",
          "--session-id",
          "0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b9c",
          "--permission-prompt-tool",
          "stdio",
          "--permission-mode",
          "acceptEdits",
          "--setting-sources",
          "user",
          "--append-system-prompt-file",
          "/store/c-1/attempt-1/control/project-rules.md",
          "--strict-mcp-config",
          "--model",
          "opus",
          "--effort",
          "high",
          "--max-turns",
          "30",
          "--max-budget-usd",
          "2.5",
          "--tools",
          "Read,Glob,Grep,Bash,mcp__panel__ask",
          "--json-schema",
          "{"type":"object"}",
          "--add-dir",
          "/data",
        ],
        "env": {
          "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
          "CLAUDE_CODE_MAX_RETRIES": "4",
          "DISABLE_AUTOUPDATER": "1",
        },
        "file": "/opt/claude",
        "files": {
          "/store/c-1/attempt-1/control/project-rules.md": "Rules of this repository (CLAUDE.md):

      Tabs.",
        },
        "inherit": [
          "ANTHROPIC_BASE_URL",
          "CLAUDE_CONFIG_DIR",
          "CLAUDE_CODE_TMPDIR",
          "CLAUDE_CODE_USE_BEDROCK",
          "CLAUDE_CODE_USE_VERTEX",
          "HTTP_PROXY",
          "HTTPS_PROXY",
          "NO_PROXY",
          "NODE_EXTRA_CA_CERTS",
          "DISABLE_TELEMETRY",
          "DISABLE_ERROR_REPORTING",
          "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
          "ANTHROPIC_API_KEY",
          "ANTHROPIC_AUTH_TOKEN",
          "CLAUDE_CODE_OAUTH_TOKEN",
          "MY_KEY",
        ],
        "input": "open",
        "secrets": [
          "ANTHROPIC_API_KEY",
          "ANTHROPIC_AUTH_TOKEN",
          "CLAUDE_CODE_OAUTH_TOKEN",
          "MY_KEY",
        ],
      }
    `)
    expect(opening).toMatchInlineSnapshot(`
      [
        {
          "text": "{"type":"control_request","request_id":"initialize","request":{"subtype":"initialize"}}
      ",
          "to": "stdin",
        },
        {
          "text": "{"type":"user","uuid":"ed5b5352-0969-41a3-8269-44b32c62d0a4","message":{"role":"user","content":"/review the code"},"parent_tool_use_id":null,"client_composed":true}
      ",
          "to": "stdin",
        },
      ]
    `)
  })

  it('continues exactly the session it is told', () => {
    const { launch } = talk({ resume: true, autonomy: 'ask' }, { repositorySettings: true })
    const args = launch.args.join(' ')
    expect([
      args.includes('--resume 0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b9c'),
      args.includes('--session-id'),
      args.includes('--permission-mode default'),
      args.includes('--setting-sources user,project'),
      args.includes('bypass'),
    ]).toEqual([true, false, true, true, false])
  })

  it('a steer’s id is read back from its receipt by a host that never wrote it, and no foreign uuid is taken for one', () => {
    const told = ['k3v9x0abcd', 'st-2', 'a'].map((id) => {
      const [frame] = talk().steer!.write({ id, text: 'x', queuedAt: '' })
      const uuid = frame?.to === 'stdin' ? (JSON.parse(frame.text) as { uuid: string }).uuid : ''
      const line = JSON.stringify({ type: 'command_lifecycle', command_uuid: uuid, state: 'started' })
      return [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid), ...talk().read('stdout', line)]
    })
    expect(told).toEqual(
      ['k3v9x0abcd', 'st-2', 'a'].map((steerId) => [
        true,
        { kind: 'steerTaken', steerId, evidence: 'observed', detail: 'command_lifecycle started' },
      ]),
    )
    const random = seededRandom(3)
    const hex = () => Math.floor(random() * 16).toString(16)
    const foreign = Array.from({ length: 2_000 }, () => `c5${'xxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replace(/x/g, hex)}`)
    const conversation = talk()
    expect(
      foreign.flatMap((uuid) =>
        conversation.read(
          'stdout',
          JSON.stringify({ type: 'command_lifecycle', command_uuid: uuid, state: 'started' }),
        ),
      ),
    ).toEqual([])
  })

  it('is given back unread when the CLI says so in its answer or its lifecycle, and not once it was read', () => {
    const lines = (...objects: object[]) => objects.map((object) => JSON.stringify(object))
    const answer = (cancelled: boolean) => ({
      type: 'control_response',
      response: { subtype: 'success', request_id: 'withdraw-st-2', response: { cancelled } },
    })
    const lifecycle = (state: string) => {
      const [frame] = talk().steer!.write({ id: 'st-2', text: 'x', queuedAt: '' })
      const { uuid } = JSON.parse(frame?.to === 'stdin' ? frame.text : '') as { uuid: string }
      return { type: 'command_lifecycle', command_uuid: uuid, state }
    }
    const said = (...objects: object[]) => {
      const conversation = talk()
      return lines(...objects).flatMap((line) => conversation.read('stdout', line).map(({ kind }) => kind))
    }
    expect([
      said(answer(true)),
      said(answer(false)),
      said(lifecycle('queued'), lifecycle('cancelled')),
      said(lifecycle('queued'), lifecycle('started'), lifecycle('cancelled')),
    ]).toEqual([['steerGivenBack'], [], ['steerSent', 'steerGivenBack'], ['steerSent', 'steerTaken']])
  })

  it('is never the same prompt uuid twice over attempts, and always the same for one', () => {
    const uuid = (attempt: number) => JSON.stringify(talk({ attempt }).opening[1]).match(/[0-9a-f-]{36}/)?.[0]
    const uuids = [uuid(1), uuid(2), uuid(3)]
    expect([
      new Set(uuids).size,
      uuid(1) === uuids[0],
      uuids.every((one) => /^[0-9a-f]{8}-[0-9a-f]{4}-4/.test(one!)),
    ]).toEqual([3, true, true])
  })

  it('steers, takes back, interrupts and answers in the CLI’s own frames', () => {
    const conversation = talk({ autonomy: 'ask' })
    for (const line of recorded('approvals')) conversation.read('stdout', line)
    const frames = [
      conversation.steer!.write({ id: steer1, text: 'use blue', queuedAt: '' }),
      conversation.steer!.write({ id: 'st-2', text: ' /clear', queuedAt: '' }),
      conversation.withdrawSteer!('st-2'),
      conversation.softEnd!.write(),
      conversation.answer!('no such request', { kind: 'allow', scope: 'once' }),
    ].flat()
    expect(frames.map((one) => (one.to === 'stdin' ? one.text.trimEnd() : one.to))).toMatchInlineSnapshot(`
      [
        "{"type":"user","uuid":"5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01","message":{"role":"user","content":"use blue"},"parent_tool_use_id":null,"steer_id":"5d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b01"}",
        "{"type":"user","uuid":"c5047374-2d32-4000-8000-000000000000","message":{"role":"user","content":" /clear"},"parent_tool_use_id":null,"client_composed":true,"steer_id":"st-2"}",
        "{"type":"control_request","request_id":"withdraw-st-2","request":{"subtype":"cancel_async_message","message_uuid":"c5047374-2d32-4000-8000-000000000000"}}",
        "{"type":"control_request","request_id":"interrupt","request":{"subtype":"interrupt","cancel_queued":true}}",
        "{"type":"control_request","request_id":"end","request":{"subtype":"end_session"}}",
      ]
    `)
  })

  it('answers by itself only what its level of autonomy covers', () => {
    const request = (id: string, more: object) =>
      JSON.stringify({
        type: 'control_request',
        request_id: id,
        request: { subtype: 'can_use_tool', tool_name: 'Write', input: { file_path: 'x' }, ...more },
      })
    const lines = [
      request('inside', { blocked_path: '/trees/c-1/a.txt' }),
      request('unsaid', {}),
      request('beside', { blocked_path: '/trees/c-10/a.txt' }),
      request('climbing', { blocked_path: '/trees/c-1/../a.txt' }),
      request('for a person', { requires_user_interaction: true }),
    ]
    const kinds = (autonomy: 'ask' | 'edit' | 'autonomous') => {
      const conversation = talk({ autonomy })
      return lines.flatMap((line) => conversation.read('stdout', line)).map(({ kind }) => kind)
    }
    expect([kinds('autonomous'), kinds('edit'), kinds('ask')]).toEqual([
      ['reply', 'reply', 'asked', 'asked', 'asked'],
      ['asked', 'asked', 'asked', 'asked', 'asked'],
      ['asked', 'asked', 'asked', 'asked', 'asked'],
    ])
  })

  it('remembers what was allowed for the child, also when the past is refolded, and no more than that', () => {
    const request = (id: string, command: string) =>
      JSON.stringify({
        type: 'control_request',
        request_id: id,
        request: { subtype: 'can_use_tool', tool_name: 'Bash', input: { command } },
      })
    const first = talk({ autonomy: 'ask' })
    first.read('stdout', request('r1', 'make && make test'))
    const written = first.answer!('r1', { kind: 'allow', scope: 'child' })
    const again = talk({ autonomy: 'ask' })
    for (const one of written) if (one.to === 'stdin') again.wrote!(one.text)
    const kinds = [first, again].map((conversation) =>
      ['make && make test', 'make && make install'].flatMap((command) =>
        conversation.read('stdout', request('r2', command)).map(({ kind }) => kind),
      ),
    )
    expect(kinds).toEqual([
      ['reply', 'asked'],
      ['reply', 'asked'],
    ])
    // Taken back, before the past is refolded or after it, it is asked for again.
    const third = talk({ autonomy: 'ask' })
    third.revoke!('r1')
    for (const one of written) if (one.to === 'stdin') third.wrote!(one.text)
    first.revoke!('r1')
    expect(
      [first, third].map((each) => each.read('stdout', request('r3', 'make && make test')).map(({ kind }) => kind)),
    ).toEqual([['asked'], ['asked']])
  })
})

describe('the installed version', () => {
  it('is read, and what it cannot do is said', () => {
    const { probe } = claudeAgent('claude', {})
    expect(
      ['2.1.332 (Claude Code)\n', '2.1.197 (Claude Code)', '1.0.44 (Claude Code)', '', 'command not found'].map(
        (output) => JSON.stringify(probe.read(output)),
      ),
    ).toMatchInlineSnapshot(`
      [
        "{"version":"2.1.332"}",
        "{"version":"2.1.197","notes":["gives no lifecycle receipts: a steer shows as delivered when it is folded, not earlier"]}",
        "{"version":"1.0.44","abilities":{"receipt":"none"},"notes":["older than any version the steer receipts were measured on"]}",
        "{"notes":["did not say its version"]}",
        "{"notes":["did not say its version"]}",
      ]
    `)
  })
})

describe('settings', () => {
  it('refuse what would break the conversation', () => {
    const table = [
      { executable: './claude' },
      { arguments: ['--resume=x'] },
      { arguments: ['--mcp-config', 'x.json', '-p'] },
      { maxTurns: 0 },
      { permissionMode: 'bypassPermissions' },
      { environment: ['A B'] },
    ]
    expect(
      table.map((settings) => {
        const reading = readAgentsSettings({ claude: { kind: 'claude', ...settings } })
        return reading.ok ? 'accepted' : reading.refusal
      }),
    ).toMatchInlineSnapshot(`
      [
        "The settings of agent "claude" cannot be used: "executable": must be an absolute path or a bare program name.",
        "The settings of agent "claude" cannot be used: "arguments": --resume=x is set by Coxswain.",
        "The settings of agent "claude" cannot be used: "arguments": -p is set by Coxswain.",
        "The settings of agent "claude" cannot be used: "maxTurns": Too small: expected number to be >0.",
        "The settings of agent "claude" cannot be used: "permissionMode" is not a known key.",
        "The settings of agent "claude" cannot be used: "environment.0": must be names of environment variables, without values.",
      ]
    `)
    expect(claudeSettings.parse({ arguments: ['--mcp-config', 'x.json'], model: 'opus' })).toBeTruthy()
  })

  it('say which tools it cannot be limited to', () => {
    const agent = claudeAgent('claude', {})
    expect([agent.toolsProblem!(['read', 'Bash', 'mcp__a__b']), agent.toolsProblem!(['telepathy'])]).toEqual([
      null,
      'Claude Code has no tools for "telepathy"; say read, edit, run, web, delegate or a tool’s exact name.',
    ])
  })
})
