// Any program as a child: the `lines` protocol (NDJSON on stdout, a queue file for steers) and the `text` protocol (every
// line is text, exit 0 is a claim). Owns the words of that protocol; a line can only ever become the signal its own
// outer `type` names, so text that imitates a receipt or a verdict stays text.
import { z } from 'zod'
import type { Answer, SteerMode } from '../core/events'
import type { AgentSignal } from '../core/signals'
import type { Abilities, Agent, AgentLaunch, Conversation, ConversationStart, OneShot } from './agent'
import { noise, objectIn, trimmedLine } from './jsonLine'
import { variableNames } from './settings'

/** Files of the control folder: each has one writer, Coxswain, and is append-only. */
const promptQueueFile = 'prompt-queue.jsonl'
const answersFile = 'answers.jsonl'
export const controlFile = 'control.jsonl'

/** The end of a plain program's output that stands as its report (UTF-16 units). */
const maxSummaryLength = 32_000
/** Between {"op":"cancel"} and SIGINT: time for a child that looks between its steps. */
const politeMs = 1_000

export const commandLineSettings = z.strictObject({
  /** Program and arguments, no shell. The program is absolute or a bare name looked up on PATH. */
  command: z
    .array(
      z.string().refine((part) => !part.includes('\0'), 'must not contain a NUL character'),
      {
        error: 'must be a list of words: the program, then its arguments',
      },
    )
    .min(1, 'must name a program')
    .max(1_000)
    .refine((command) => command[0] !== '', 'must name a program')
    .refine(
      (command) => !/^[^/]+\/|^~/.test(command[0] ?? ''),
      'must start with an absolute path or a bare program name, since a relative one would be looked up in the worktree',
    ),
  /** Arguments with which the same program answers one prompt: it reads it on stdin, prints the answer and goes. */
  oneShot: z.array(z.string()).max(1_000).optional(),
  protocol: z.enum(['lines', 'text'], { error: 'must be "lines" or "text"' }),
  /** `"prompt"` writes the prompt to stdin and ends it; without it stdin is closed. */
  stdin: z.literal('prompt', { error: 'can only be "prompt"; leave it out for a closed stdin' }).optional(),
  /** The program can go on with its session id; default true for `lines`, false for `text`. */
  resume: z.boolean().optional(),
  /** The program reads the queue file between its steps; default true for `lines`, false for `text`. */
  steer: z.boolean().optional(),
  /** As people say it; default: the agent's id. */
  label: z.string().trim().min(1).max(60).optional(),
  /** Names of environment variables handed on to it. */
  environment: variableNames.optional(),
  /** Handed on as well; their values are redacted wherever Coxswain writes. */
  secrets: variableNames.optional(),
})

export type CommandLineSettings = z.infer<typeof commandLineSettings>

/** An agent that is any program. The settings have passed `commandLineSettings`. */
export function commandLineAgent(id: string, settings: CommandLineSettings): Agent {
  const { oneShot } = settings
  const [program = ''] = settings.command
  return {
    id,
    label: settings.label ?? id,
    abilities: abilitiesOf(settings),
    probe: {
      programs: [program],
      read: () => ({}),
      install: `Install "${program}", or correct "command" in the settings of agent "${id}".`,
    },
    secrets: settings.secrets ?? [],
    ...(oneShot === undefined ? {} : { oneShot: () => oneShotOf(settings, oneShot) }),
    converse: (start) => new CommandLineConversation(settings, start),
  }
}

function oneShotOf(settings: CommandLineSettings, args: readonly string[]): OneShot {
  return {
    args,
    env: {},
    inherit: [...(settings.environment ?? []), ...(settings.secrets ?? [])],
    read: (stdout) => (stdout.trim() === '' ? null : stdout),
  }
}

function abilitiesOf(settings: CommandLineSettings): Abilities {
  const lines = settings.protocol === 'lines'
  const resume = settings.resume ?? lines
  const steer = settings.steer ?? lines
  return {
    steerMode: steer ? 'at_tool_boundary' : resume ? 'restart' : 'none',
    receipt: steer && lines ? 'agent said' : 'none',
    resume,
    approvals: lines,
    cost: lines,
  }
}

const id = z.union([z.string().min(1).max(1_000), z.number()]).transform(String)
const count = z.number().nonnegative().optional().catch(undefined)
const words = z.string().optional().catch(undefined)

/** Every line the protocol knows. Fields that may be absent may also be of an odd shape, and then count as absent. */
const lineSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), session_id: words, model: words }),
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string() }),
  z.object({
    type: z.literal('tool_started'),
    id: id.optional().catch(undefined),
    name: words,
    input: z.unknown().optional(),
  }),
  z.object({
    type: z.literal('tool_ended'),
    id: id.optional().catch(undefined),
    output: z.unknown().optional(),
    is_error: z.boolean().optional().catch(undefined),
  }),
  z.object({ type: z.literal('steer_taken'), id }),
  z.object({
    type: z.literal('asked'),
    id,
    question: words,
    options: z.array(z.string()).optional().catch(undefined),
    tool: words,
    input: z.unknown().optional(),
  }),
  z.object({ type: z.literal('usage'), input_tokens: count, output_tokens: count, cost_usd: count }),
  z.object({
    type: z.literal('result'),
    ok: z.boolean().optional().catch(undefined),
    summary: words,
    output: z.unknown().optional(),
    /** How many pieces of its work go on after this report. */
    background_tasks: count,
  }),
])

type Line = z.infer<typeof lineSchema>

class CommandLineConversation implements Conversation {
  readonly launch: AgentLaunch
  readonly opening = []
  readonly afterResult = 'exits by itself' as const
  readonly steer?: NonNullable<Conversation['steer']>
  readonly answer?: NonNullable<Conversation['answer']>
  readonly softEnd: NonNullable<Conversation['softEnd']>

  private readonly lines: boolean
  private saidReady = false
  private unnamedTools = 0
  /** Tools that were started without an id and have not ended, newest last. */
  private readonly openUnnamed: string[] = []
  /** The end of a plain program's output. */
  private tail = ''
  private tailWasCut = false

  constructor(settings: CommandLineSettings, start: ConversationStart) {
    this.lines = settings.protocol === 'lines'
    const [program = '', ...args] = settings.command
    const secrets = settings.secrets ?? []
    this.launch = {
      file: start.executable ?? program,
      args,
      env: environmentOf(start),
      inherit: [...new Set([...(settings.environment ?? []), ...secrets])],
      secrets,
      input: settings.stdin === 'prompt' ? 'prompt' : 'closed',
      files: { [start.promptFile]: start.prompt },
    }
    const mode: SteerMode = abilitiesOf(settings).steerMode
    if (mode === 'at_tool_boundary')
      this.steer = {
        mode,
        write: (steer) => [
          {
            to: 'controlFile',
            name: promptQueueFile,
            line: JSON.stringify({ id: steer.id, content: steer.text, queued_at: steer.queuedAt, steer: true }),
          },
        ],
      }
    if (this.lines)
      this.answer = (requestId, answer) => [
        { to: 'controlFile', name: answersFile, line: JSON.stringify({ id: requestId, ...answerFields(answer) }) },
      ]
    this.softEnd = this.lines
      ? {
          write: () => [{ to: 'controlFile', name: controlFile, line: JSON.stringify({ op: 'cancel' }) }],
          waitMs: politeMs,
          signal: 'SIGINT',
        }
      : { write: () => [], waitMs: 0, signal: 'SIGINT' }
  }

  read(source: 'stdout' | 'stderr', line: string): AgentSignal[] {
    // Nothing is parsed on stderr: it is for people, e.g. a traceback, shown dimmed where it happened.
    if (source === 'stderr') return line.trim() === '' ? [] : [noise(line)]
    if (!this.lines) return this.readText(line)
    const text = trimmedLine(line)
    if (text === '') return []
    const parsed = parseLine(text)
    if (parsed === undefined) return [noise(text)]
    const signals = this.translate(parsed, text)
    // Whoever speaks the protocol is up, also a program that never says `ready`.
    if (this.saidReady || signals.every((signal) => signal.kind === 'noise')) return signals
    this.saidReady = true
    return parsed.type === 'ready' ? signals : [{ kind: 'ready' }, ...signals]
  }

  ended(exit: { readonly code: number | null; readonly signal: string | null }): AgentSignal[] {
    if (this.lines || exit.code !== 0) return []
    if (this.tail.length > maxSummaryLength) this.cutTail()
    const summary = (this.tailWasCut ? '…' : '') + this.tail.trim()
    return [{ kind: 'result', ok: true, ...(summary === '' ? {} : { summary }) }]
  }

  private readText(line: string): AgentSignal[] {
    const text = line.replace(/\r$/, '')
    this.tail += `${text}\n`
    if (this.tail.length > 2 * maxSummaryLength) this.cutTail()
    const said: AgentSignal[] = [{ kind: 'text', text }]
    if (this.saidReady) return said
    this.saidReady = true
    return [{ kind: 'ready' }, ...said]
  }

  private cutTail() {
    this.tail = this.tail.slice(-maxSummaryLength)
    this.tailWasCut = true
  }

  private translate(line: Line, text: string): AgentSignal[] {
    switch (line.type) {
      case 'ready':
        return [
          {
            kind: 'ready',
            ...(line.session_id ? { sessionId: line.session_id } : {}),
            ...(line.model ? { model: line.model } : {}),
          },
        ]
      case 'text':
      case 'reasoning':
        return [{ kind: line.type, text: line.text }]
      case 'tool_started':
        return [
          { kind: 'toolStarted', id: line.id ?? this.nameTool(), name: line.name ?? 'tool', input: line.input ?? null },
        ]
      case 'tool_ended': {
        const tool = line.id ?? this.openUnnamed.pop()
        if (tool === undefined) return [noise(text)]
        return [{ kind: 'toolEnded', id: tool, output: asText(line.output), isError: line.is_error ?? false }]
      }
      case 'steer_taken':
        return [{ kind: 'steerTaken', steerId: line.id, evidence: 'agent said' }]
      case 'asked':
        if (line.question !== undefined)
          return [
            {
              kind: 'asked',
              requestId: line.id,
              ask: {
                kind: 'question',
                question: line.question,
                ...(line.options === undefined ? {} : { options: line.options }),
              },
            },
          ]
        if (line.tool !== undefined)
          return [
            {
              kind: 'asked',
              requestId: line.id,
              ask: { kind: 'approval', tool: line.tool, input: line.input ?? null },
            },
          ]
        return [noise(text)]
      case 'usage': {
        const { input_tokens: inputTokens, output_tokens: outputTokens, cost_usd: costUsd } = line
        if (inputTokens === undefined && outputTokens === undefined && costUsd === undefined) return [noise(text)]
        return [
          {
            kind: 'usage',
            mode: 'delta',
            ...(inputTokens === undefined ? {} : { inputTokens }),
            ...(outputTokens === undefined ? {} : { outputTokens }),
            ...(costUsd === undefined ? {} : { costUsd }),
          },
        ]
      }
      case 'result': {
        const said = {
          kind: 'result' as const,
          ...(line.summary === undefined ? {} : { summary: line.summary }),
          ...(line.output === undefined ? {} : { output: line.output }),
          ...(line.background_tasks === undefined ? {} : { backgroundTasks: line.background_tasks }),
        }
        if (line.ok === true) return [{ ...said, ok: true }]
        if (line.ok === false) return [{ ...said, ok: false, ...(line.summary ? { reason: line.summary } : {}) }]
        return [{ ...said, ok: false, reason: 'Its result line does not say "ok": true or false.' }]
      }
    }
  }

  private nameTool(): string {
    const name = `unnamed-${++this.unnamedTools}`
    this.openUnnamed.push(name)
    if (this.openUnnamed.length > 100) this.openUnnamed.shift()
    return name
  }
}

function environmentOf(start: ConversationStart): Record<string, string> {
  return {
    COXSWAIN_CHILD_ID: start.childId,
    COXSWAIN_ATTEMPT: String(start.attempt),
    COXSWAIN_SESSION_ID: start.sessionId,
    // Absent rather than "0": a shell or Python child asks only whether it is there.
    ...(start.resume ? { COXSWAIN_RESUME: '1' } : {}),
    COXSWAIN_PROMPT_FILE: start.promptFile,
    COXSWAIN_CONTROL_DIR: start.controlDir,
    ...(start.launcher === undefined ? {} : { COXSWAIN_CLI: start.launcher }),
    ...(start.model === undefined ? {} : { COXSWAIN_MODEL: start.model }),
    ...(start.effort === undefined ? {} : { COXSWAIN_EFFORT: start.effort }),
  }
}

function answerFields(answer: Answer): Record<string, unknown> {
  switch (answer.kind) {
    case 'text':
      return { content: answer.text }
    case 'allow':
      return { allow: true, scope: answer.scope }
    case 'deny':
      return { allow: false, content: answer.message }
    case 'cancelled':
      return { cancelled: true }
  }
}

function parseLine(text: string): Line | undefined {
  const parsed = lineSchema.safeParse(objectIn(text))
  return parsed.success ? parsed.data : undefined
}

function asText(output: unknown): string {
  if (output === undefined || output === null) return ''
  return typeof output === 'string' ? output : JSON.stringify(output)
}
