// Claude Code as an agent: what it can do in which version, where it notes its open sessions, and how it is talked to. The
// conversation itself, its wire and its command lines are in the folder of its name.
import { z } from 'zod'
import type { Agent, ProbeReading } from './agent'
import { neutralTools, oneShotOf, secretsOf, toolsFor, type ClaudeSettings } from './claude/commandLine'
import { ClaudeConversation } from './claude/conversation'
import { objectIn } from './jsonLine'

export function claudeAgent(id: string, settings: ClaudeSettings): Agent {
  return {
    id,
    label: id === 'claude' ? 'Claude Code' : id,
    abilities: {
      ...{ steerMode: 'at_tool_boundary', receipt: 'observed', resume: true, approvals: true, cost: true },
      terminal: true,
      revoke: true,
    },
    probe: {
      programs: [settings.executable ?? 'claude'],
      args: ['--version'],
      read: readVersion,
      install: 'Install it with `npm install -g @anthropic-ai/claude-code`, then run `claude` once to log in.',
    },
    secrets: secretsOf(settings),
    projectRules: ['CLAUDE.md', '.claude/CLAUDE.md'],
    toolsProblem: (allowed) => {
      const unknown = allowed.filter((word) => toolsFor(word) === undefined)
      if (unknown.length === 0) return null
      return `Claude Code has no tools for ${unknown.map((word) => `"${word}"`).join(', ')}; say ${Object.keys(neutralTools).join(', ')} or a tool’s exact name.`
    },
    terminal: {
      args: (sessionId) => ['--resume', sessionId],
      openSessions: {
        folder: ({ CLAUDE_CONFIG_DIR: own, HOME: home }) => inFolder(own ?? inFolder(home, '.claude'), 'sessions'),
        read: readOpenSession,
      },
    },
    oneShot: (model) => oneShotOf(settings, model),
    converse: (start) => new ClaudeConversation(settings, start),
  }
}

function readVersion(output: string): ProbeReading {
  const version = /(\d+\.\d+\.\d+)[^\n]*Claude Code/.exec(output)?.[1]
  if (version === undefined) return { notes: ['did not say its version'] }
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major < 2 || (major === 2 && minor < 1))
    return {
      version,
      abilities: { receipt: 'none' },
      notes: ['older than any version the steer receipts were measured on'],
    }
  if (major === 2 && minor === 1 && patch < 332)
    return {
      version,
      notes: ['gives no lifecycle receipts: a steer shows as delivered when it is folded, not earlier'],
    }
  return { version }
}

const inFolder = (folder: string | undefined, name: string): string | undefined =>
  folder === undefined ? undefined : `${folder}/${name}`

const openSessionSchema = z.object({ pid: z.number().int().positive(), procStart: z.string(), sessionId: z.string() })

function readOpenSession(name: string, noted: string) {
  const parsed = name.endsWith('.json') ? openSessionSchema.safeParse(objectIn(noted)) : undefined
  if (parsed?.success !== true) return undefined
  const { pid, procStart: startTime, sessionId } = parsed.data
  return { pid, startTime, sessionId }
}
