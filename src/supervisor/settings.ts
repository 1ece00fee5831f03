// The settings a supervisor acts on, whoever they came from (the editor, a file, defaults), and what they mean for a child.
import { z } from 'zod'
import { readAgentsSettings, type AgentsSettings } from '../agents/registry'
import { defaultDriftMarkers, defaultLoopMarkers } from '../core/policy'
import { autonomySchema, type Autonomy, type Limits } from '../core/events'
import { extractorSchema, type ExtractorSettings } from './extractor'
import type { WatchSettings } from './watch'

export interface Settings {
  readonly maxChildrenPerParent: number
  readonly maxChildrenTotal: number
  /** 0 = none. */
  readonly childTimeoutSeconds: number
  readonly stopGraceSeconds: number
  /** Silence of an agent that has reported, with background work or a late steer under way, before it is ended. */
  readonly idleGraceSeconds: number
  /** Turns of a model in one attempt; null = the agent's own limit. */
  readonly maxIterations: number | null
  /** 0 = a question waits for ever. */
  readonly approvalTimeoutSeconds: number
  readonly afterWindowCloses: 'keep' | 'pause'
  readonly reloadLeaseSeconds: number
  /** Silence after which a child may be stuck, and the same while a tool of it runs. */
  readonly stuckAfterSeconds: number
  readonly stuckInToolAfterSeconds: number
  /** What a child says when it loops, or when it has left its task; matched without regard to case. */
  readonly loopMarkers: readonly string[]
  readonly driftMarkers: readonly string[]
  /** '' = beside the repository. */
  readonly worktreeRoot: string
  /** Days that raw output, transcripts and results of finished children are kept; null = for ever. */
  readonly keepFinishedDays: number | null
  readonly autonomy: Autonomy
  readonly defaultAgent: string
  readonly maxSpawnDepth: number
  readonly orchestratorEnabled: boolean
  /** A parent hears of each child as it ends, instead of once per dispatch. */
  readonly independentCompletions: boolean
  readonly agents: AgentsSettings
  /** '' = look for one. */
  readonly nodePath: string
  /** Hosts besides this machine that `url_ok` may ask, as `name` or `name:port`. */
  readonly allowedHosts: readonly string[]
  /** Who restructures a report that stays unreadable; null = nobody. */
  readonly extractor: ExtractorSettings | null
}

const defaultSettings: Settings = {
  maxChildrenPerParent: 3,
  maxChildrenTotal: 4,
  childTimeoutSeconds: 600,
  stopGraceSeconds: 5,
  idleGraceSeconds: 120,
  maxIterations: null,
  approvalTimeoutSeconds: 0,
  afterWindowCloses: 'keep',
  reloadLeaseSeconds: 60,
  stuckAfterSeconds: 180,
  stuckInToolAfterSeconds: 1_200,
  loopMarkers: defaultLoopMarkers,
  driftMarkers: defaultDriftMarkers,
  worktreeRoot: '',
  // Only where somebody configures it: a command line without settings must not remove what the editor keeps longer.
  keepFinishedDays: null,
  autonomy: 'edit',
  defaultAgent: 'demo',
  maxSpawnDepth: 1,
  orchestratorEnabled: false,
  independentCompletions: false,
  agents: {},
  nodePath: '',
  allowedHosts: [],
  extractor: null,
}

/** What the watch goes by, as of now. */
export function watchSettingsFrom(settings: Settings): WatchSettings {
  const { stuckAfterSeconds, stuckInToolAfterSeconds, loopMarkers, driftMarkers } = settings
  return {
    quiet: { quietMs: stuckAfterSeconds * 1000, quietInToolMs: stuckInToolAfterSeconds * 1000 },
    // Whoever begins a task looks around first; nobody asked for an opinion of that.
    policy: { loopMarkers, driftMarkers, orientationCalls: 5 },
  }
}

/** Frozen into each child when it is accepted. */
export function limitsFrom(settings: Settings): Limits {
  const ms = (seconds: number): number | null => (seconds > 0 ? seconds * 1000 : null)
  return {
    wallMs: ms(settings.childTimeoutSeconds),
    maxTurns: settings.maxIterations,
    maxTokens: null,
    maxCostUsd: null,
    stopGraceMs: settings.stopGraceSeconds * 1000,
    idleGraceMs: Math.max(1, settings.idleGraceSeconds) * 1000,
    approvalTimeoutMs: ms(settings.approvalTimeoutSeconds),
    afterWindowCloses:
      settings.afterWindowCloses === 'keep'
        ? 'keep'
        : { pauseAfterMs: Math.max(1, settings.reloadLeaseSeconds) * 1000 },
  }
}

const seconds = z.number().nonnegative().max(31_536_000)
const fields = {
  maxChildrenPerParent: z.number().int().min(1).max(1_000),
  maxChildrenTotal: z.number().int().min(1).max(1_000),
  childTimeoutSeconds: seconds,
  stopGraceSeconds: seconds,
  idleGraceSeconds: seconds,
  maxIterations: z.number().int().positive(),
  approvalTimeoutSeconds: seconds,
  afterWindowCloses: z.enum(['keep', 'pause']),
  reloadLeaseSeconds: seconds,
  stuckAfterSeconds: seconds,
  stuckInToolAfterSeconds: seconds,
  loopMarkers: z.array(z.string()).max(100),
  driftMarkers: z.array(z.string()).max(100),
  worktreeRoot: z.string(),
  keepFinishedDays: z.number().positive(),
  autonomy: autonomySchema,
  defaultAgent: z.string().min(1),
  independentCompletions: z.boolean(),
  nodePath: z.string(),
  maxSpawnDepth: z.number().int().min(1).max(5),
  orchestratorEnabled: z.boolean(),
  allowedHosts: z.array(z.string().min(1).max(300)).max(200),
  extractor: extractorSchema,
} as const

/** Every setting that is read here, without a prefix. */
export const settingNames: readonly string[] = [...Object.keys(fields), 'agents']

/**
 * Settings as somebody wrote them, by name without a prefix. What does not fit keeps its default and is named in
 * `problems`; what is not there keeps its default silently.
 */
export function readSettings(raw: Readonly<Record<string, unknown>>): {
  settings: Settings
  problems: readonly string[]
} {
  const problems: string[] = []
  const read: Record<string, unknown> = { ...defaultSettings }
  for (const [name, schema] of Object.entries(fields)) {
    const value = raw[name]
    if (value === undefined || value === null) continue
    const parsed = schema.safeParse(value)
    if (parsed.success) read[name] = parsed.data
    else
      problems.push(
        `${name} is ${JSON.stringify(value)}, which cannot be used; ${JSON.stringify(read[name])} is used instead.`,
      )
  }
  const agents = raw['agents']
  if (agents !== undefined && agents !== null) {
    const reading = readAgentsSettings(agents)
    if (reading.ok) read['agents'] = reading.settings
    else problems.push(reading.refusal)
  }
  return { settings: read as unknown as Settings, problems }
}
