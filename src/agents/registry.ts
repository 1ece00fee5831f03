// Which agents there are: those built in by id, and those a person's settings name. The only place that maps a kind to its
// file; everybody else asks an Agent what it can do and never which one it is.
import { z } from 'zod'
import type { Agent } from './agent'
import { claudeAgent } from './claude'
import { claudeSettings } from './claude/commandLine'
import { commandLineAgent, commandLineSettings } from './commandLine'
import { demoAgent, demoSettings, type Bundled } from './demo'
import { issuesInWords, readSettings, type SettingsReading } from './settings'

/** The `--agents` file and the VS Code setting: agent id → its kind and that kind's settings. */
export type AgentsSettings = Readonly<Record<string, { readonly kind: string; readonly [key: string]: unknown }>>

export type Resolution =
  | {
      readonly ok: true
      readonly agent: Agent
      /** What the record keeps, so that the same agent can be made again without any settings. */
      readonly recipe: { readonly agent: string; readonly kind: string; readonly settings: Record<string, unknown> }
    }
  | { readonly ok: false; readonly refusal: string }

interface Kind {
  read(id: string, settings: Record<string, unknown>): SettingsReading<Record<string, unknown>>
  /** Settings are parsed once here; `make` gets what its own schema let through. */
  resolve(id: string, settings: Record<string, unknown>, bundled: Bundled): Resolution
}

function kindOf<T extends Record<string, unknown>>(
  kind: string,
  schema: z.ZodType<T>,
  make: (id: string, settings: T, bundled: Bundled) => Agent,
): Kind {
  const read = (id: string, settings: Record<string, unknown>) => readSettings(schema, id, settings)
  return {
    read,
    resolve(id, settings, bundled) {
      const reading = read(id, settings)
      if (!reading.ok) return reading
      const recipe = { agent: id, kind, settings: reading.settings }
      return { ok: true, agent: make(id, reading.settings, bundled), recipe }
    },
  }
}

const kinds: Readonly<Record<string, Kind>> = {
  commandLine: kindOf('commandLine', commandLineSettings, commandLineAgent),
  claude: kindOf('claude', claudeSettings, claudeAgent),
  demo: kindOf('demo', demoSettings, (id, _settings, bundled) => demoAgent(id, bundled)),
}

/** Ids that need no entry in anybody's settings. An entry under such an id takes its place. */
const builtIn: AgentsSettings = {
  demo: { kind: 'demo' },
  claude: { kind: 'claude' },
}

const agentIdSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'as an agent id must be letters, digits, ".", "_" or "-", at most 64 of them',
  )

const agentsSchema = z.record(
  agentIdSchema,
  z.looseObject(
    { kind: z.string({ error: `must be one of ${inQuotes(Object.keys(kinds))}` }) },
    { error: 'must be an object with a "kind"' },
  ),
  {
    error: (issue) =>
      issue.code === 'invalid_type' ? 'must be an object: { "<agent id>": { "kind": …, …settings } }' : undefined,
  },
)

/** Parses the whole object where it enters; every entry is checked, so a mistake shows before it is used. */
export function readAgentsSettings(value: unknown): SettingsReading<AgentsSettings> {
  const parsed = agentsSchema.safeParse(value)
  if (!parsed.success)
    return { ok: false, refusal: `The agents settings cannot be used: ${issuesInWords(parsed.error.issues)}.` }
  for (const [id, { kind, ...settings }] of Object.entries(parsed.data)) {
    const known = kindNamed(kind)
    if (known === undefined) return { ok: false, refusal: unknownKind(id, kind) }
    const reading = known.read(id, settings)
    if (!reading.ok) return reading
  }
  return { ok: true, settings: parsed.data }
}

/** All ids that can be dispatched to, built-in ones first. */
export function agentIds(settings: AgentsSettings): string[] {
  return [...new Set([...Object.keys(builtIn), ...Object.keys(settings)])]
}

/** The agent of an id, or a sentence that names the ids there are. `settings` has passed `readAgentsSettings`. */
export function resolveAgent(id: string, settings: AgentsSettings, bundled: Bundled): Resolution {
  const entry = own(settings, id) ?? own(builtIn, id)
  if (entry === undefined) {
    const known = inQuotes(agentIds(settings))
    return {
      ok: false,
      refusal: `There is no agent "${id}". Known agents: ${known}. Add one to the agents settings, or pick one of these.`,
    }
  }
  const { kind, ...rest } = entry
  return resolveRecipe({ agent: id, kind, settings: rest }, bundled)
}

/** The agent of a recipe in the record: what a resume or a recovery needs, whatever the settings say by now. */
export function resolveRecipe(
  recipe: { readonly agent: string; readonly kind: string; readonly settings: Readonly<Record<string, unknown>> },
  bundled: Bundled,
): Resolution {
  const kind = kindNamed(recipe.kind)
  if (kind === undefined) return { ok: false, refusal: unknownKind(recipe.agent, recipe.kind) }
  return kind.resolve(recipe.agent, recipe.settings, bundled)
}

function kindNamed(kind: string): Kind | undefined {
  return own(kinds, kind)
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

function unknownKind(id: string, kind: string): string {
  return `Agent "${id}" is of kind "${kind}", which this version of Coxswain does not know. Known kinds: ${inQuotes(Object.keys(kinds))}.`
}

function inQuotes(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
