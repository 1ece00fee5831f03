// The command lines Claude Code is started with, and what a person may say about them. Nothing here writes into the worktree,
// and a repository's own hooks and settings stay switched off unless a person allows them.
import { z } from 'zod'
import type { Autonomy } from '../../core/events'
import type { AgentLaunch, ConversationStart, OneShot } from '../agent'
import { objectIn } from '../jsonLine'
import { variableNames } from '../settings'

/** Flags the conversation depends on; a person's extra arguments must not touch them. */
const ownFlags = [
  ...['-p', '--print', '--input-format', '--output-format', '--verbose', '--replay-user-messages', '--session-id'],
  ...['--resume', '-r', '--continue', '-c', '--fork-session', '--permission-prompt-tool', '--permission-mode'],
  ...['--setting-sources', '--tools', '--allowedTools', '--allowed-tools', '--json-schema', '--worktree', '-w'],
  ...['--dangerously-skip-permissions', '--model', '--effort', '--max-turns', '--max-budget-usd', '--bg'],
]

export const claudeSettings = z.strictObject({
  /** Absolute path or a bare name; default: `claude` on PATH. */
  executable: z
    .string()
    .min(1)
    .refine((file) => file.startsWith('/') || !/[/~]/.test(file), 'must be an absolute path or a bare program name')
    .optional(),
  /** Further arguments, e.g. `--mcp-config`; not those the conversation depends on. */
  arguments: z
    .array(z.string())
    .refine((args) => args.every((arg) => !ownFlags.includes(arg.split('=')[0] ?? '')), {
      error: (issue) =>
        `${(issue.input as string[]).find((arg) => ownFlags.includes(arg.split('=')[0] ?? '')) ?? ''} is set by Coxswain`,
    })
    .optional(),
  environment: variableNames.optional(),
  secrets: variableNames.optional(),
  model: z.string().min(1).optional(),
  effort: z.string().min(1).optional(),
  /** Per user message. 0 would mean no limit at all to the CLI, so it is refused. */
  maxTurns: z.number().int().positive().optional(),
  /** Over the session, also across resumes; checked after the spend. */
  maxBudgetUsd: z.number().positive().optional(),
  /** How often the CLI itself retries a failed request; its own default of 10 hides a bad key for half a minute. */
  maxApiRetries: z.number().int().nonnegative().max(20).optional(),
  /** `true` lets a repository's `.claude/settings.json` run its hooks; a person's decision. */
  repositorySettings: z.boolean().optional(),
})

export type ClaudeSettings = z.infer<typeof claudeSettings>

const defaultApiRetries = 4

/** Where its login and its road to the network come from, and what a person has told it not to send. */
const handedOn = [
  ...['ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_TMPDIR', 'CLAUDE_CODE_USE_BEDROCK'],
  ...['CLAUDE_CODE_USE_VERTEX', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'],
  ...['DISABLE_TELEMETRY', 'DISABLE_ERROR_REPORTING', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC'],
]
const handedOnSecrets = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN']

/** An orchestrator's way to its own children. */
const delegateServer = (launcher: string): string =>
  JSON.stringify({ mcpServers: { coxswain: { type: 'stdio', command: launcher, args: ['mcp'] } } })

export function launchOf(settings: ClaudeSettings, start: ConversationStart): AgentLaunch {
  const model = start.model ?? settings.model
  const effort = start.effort ?? settings.effort
  const rules = settings.repositorySettings === true ? [] : (start.projectRules ?? [])
  const rulesFile = `${start.controlDir}/project-rules.md`
  const option = (name: string, value: string | number | undefined) =>
    value === undefined ? [] : [name, String(value)]
  return {
    file: start.executable ?? settings.executable ?? 'claude',
    args: [
      ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
      '--replay-user-messages',
      ...(start.resume ? ['--resume', start.sessionId] : ['--session-id', start.sessionId]),
      ...['--permission-prompt-tool', 'stdio', '--permission-mode', permissionModes[start.autonomy]],
      // The repository's own settings bring hooks that would run unasked; its rules are handed over as text instead.
      ...['--setting-sources', settings.repositorySettings === true ? 'user,project' : 'user'],
      ...(rules.length === 0 ? [] : ['--append-system-prompt-file', rulesFile]),
      '--strict-mcp-config',
      ...option('--mcp-config', start.launcher === undefined ? undefined : delegateServer(start.launcher)),
      ...option('--model', model),
      ...option('--effort', effort),
      ...option('--max-turns', lower(start.maxTurns, settings.maxTurns)),
      ...option('--max-budget-usd', lower(start.maxCostUsd, settings.maxBudgetUsd)),
      ...option('--tools', start.allowedTools?.flatMap((word) => toolsFor(word) ?? []).join(',')),
      ...option('--json-schema', start.outputSchema === undefined ? undefined : JSON.stringify(start.outputSchema)),
      ...(settings.arguments ?? []),
    ],
    env: {
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
      ...environmentOf(settings),
    },
    inherit: namesOf(settings),
    secrets: secretsOf(settings),
    input: 'open',
    files:
      rules.length === 0
        ? {}
        : { [rulesFile]: rules.map((rule) => `Rules of this repository (${rule.path}):\n\n${rule.text}`).join('\n\n') },
  }
}

const oneShotResult = z.object({
  type: z.literal('result'),
  subtype: z.literal('success'),
  is_error: z.literal(false),
  result: z.string(),
})

export function oneShotOf(settings: ClaudeSettings, model = settings.model): OneShot {
  return {
    args: [
      ...['-p', '--output-format', 'json', '--tools', '', '--setting-sources', 'user', '--strict-mcp-config'],
      ...(model === undefined ? [] : ['--model', model]),
    ],
    env: environmentOf(settings),
    inherit: namesOf(settings),
    read: (stdout) => {
      const parsed = oneShotResult.safeParse(objectIn(stdout.trim()))
      return parsed.success ? parsed.data.result : null
    },
  }
}

export const secretsOf = ({ secrets = [] }: ClaudeSettings): string[] => [...new Set([...handedOnSecrets, ...secrets])]

const namesOf = (settings: ClaudeSettings): string[] => [
  ...new Set([...handedOn, ...(settings.environment ?? []), ...secretsOf(settings)]),
]

const environmentOf = ({ maxApiRetries }: ClaudeSettings) => ({
  CLAUDE_CODE_MAX_RETRIES: String(maxApiRetries ?? defaultApiRetries),
  DISABLE_AUTOUPDATER: '1',
})

export const neutralTools: Readonly<Record<string, readonly string[]>> = {
  read: ['Read', 'Glob', 'Grep'],
  edit: ['Edit', 'Write', 'NotebookEdit'],
  run: ['Bash'],
  web: ['WebFetch', 'WebSearch'],
  delegate: ['Task'],
}

export function toolsFor(word: string): readonly string[] | undefined {
  if (Object.hasOwn(neutralTools, word)) return neutralTools[word]
  return /^[A-Z][A-Za-z]+$|^mcp__[\w-]+$/.test(word) ? [word] : undefined
}

// A level never goes beyond what its name says; nothing bypasses permissions. In `autonomous` the questions that are left
// are answered by us, unless they reach outside the worktree.
const permissionModes: Readonly<Record<Autonomy, string>> = {
  ask: 'default',
  edit: 'acceptEdits',
  autonomous: 'acceptEdits',
}

function lower(...limits: (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}
