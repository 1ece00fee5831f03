// Which agents are on this machine and what each can do in the version at hand; and the recipe of one, fixed at dispatch.
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { Abilities, Agent } from '../agents/agent'
import type { Bundled } from '../agents/demo'
import { agentIds, resolveAgent, type AgentsSettings } from '../agents/registry'
import type { Autonomy, Recipe } from '../core/events'
import { baseEnvironmentNames, pickEnvironment } from '../process/environment'
import { loginShellPath, withFolders } from '../process/loginShellPath'
import { askProgram, findProgram } from '../process/runProgram'
import type { TaskRequest } from './commands'
import { problem, type Problem } from './problem'

const probeMs = 10_000

export interface AgentInfo {
  readonly id: string
  readonly label: string
  readonly found: boolean
  readonly version: string | null
  readonly path: string | null
  readonly abilities: Abilities
  readonly notes: readonly string[]
  readonly install: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Every agent that can be named, found or not. Runs `--version` of those it finds, all at once. */
export async function findAgents(
  settings: AgentsSettings,
  bundled: Bundled,
  environment: Environment,
): Promise<AgentInfo[]> {
  return await Promise.all(
    agentIds(settings).map(async (id): Promise<AgentInfo> => {
      const resolution = resolveAgent(id, settings, bundled)
      if (!resolution.ok) {
        const abilities: Abilities = {
          steerMode: 'none',
          receipt: 'none',
          resume: false,
          approvals: false,
          cost: false,
        }
        return {
          id,
          label: id,
          found: false,
          version: null,
          path: null,
          abilities,
          notes: [resolution.refusal],
          install: '',
        }
      }
      const { agent } = resolution
      const found = await probe(agent, environment)
      const { label, probe: ask } = agent
      if ('message' in found)
        return {
          id,
          label,
          found: false,
          version: null,
          path: null,
          abilities: agent.abilities,
          notes: [found.message],
          install: ask.install,
        }
      return {
        id,
        label,
        found: true,
        version: found.version ?? null,
        path: found.executable ?? null,
        abilities: found.abilities,
        notes: found.notes,
        install: ask.install,
      }
    }),
  )
}

/** What a child of this agent is made with, so that its record needs no settings later. */
export async function recipeOf(
  request: TaskRequest,
  agentId: string,
  from: {
    readonly agents: AgentsSettings
    readonly bundled: Bundled
    readonly environment: Environment
    readonly autonomy: Autonomy
  },
): Promise<Recipe | Problem> {
  const resolution = resolveAgent(agentId, from.agents, from.bundled)
  if (!resolution.ok) return problem(resolution.refusal)
  const { agent, recipe } = resolution
  if (request.allowed_tools !== undefined) {
    const why =
      agent.toolsProblem === undefined
        ? `${agent.label} cannot be held to a list of tools`
        : agent.toolsProblem(request.allowed_tools)
    if (why !== null) return problem(`${why}. Leave allowed_tools out, change it, or choose another agent.`)
  }
  const found = await probe(agent, from.environment)
  if ('message' in found) return found
  return {
    ...recipe,
    label: agent.label,
    autonomy: request.autonomy ?? from.autonomy,
    abilities: found.abilities,
    ...(found.version === undefined ? {} : { version: found.version }),
    ...(found.executable === undefined ? {} : { executable: found.executable }),
    ...(request.allowed_tools === undefined ? {} : { allowedTools: request.allowed_tools }),
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.effort === undefined ? {} : { effort: request.effort }),
  }
}

interface Probed {
  readonly executable?: string
  readonly version?: string
  readonly abilities: Abilities
  readonly notes: readonly string[]
}

/**
 * The environment in which this program finds what it calls: one that lies in no folder of PATH is somebody's whose login
 * shell knows more of them.
 */
export async function environmentFor(file: string, environment: Environment): Promise<Environment> {
  const path = environment['PATH']
  if ((path ?? '').split(delimiter).includes(dirname(file))) return environment
  const folders = await loginShellPath(environment)
  return folders.includes(dirname(file)) ? { ...environment, PATH: withFolders(path, folders) } : environment
}

const cache = new Map<string, { output: string } | { problem: string }>()

async function probe(agent: Agent, environment: Environment): Promise<Probed | Problem> {
  const { programs, args, install } = agent.probe
  const read = (output: string) => agent.probe.read(output)
  const abilitiesOf = (own: Partial<Abilities> = {}): Abilities => ({ ...agent.abilities, ...own })
  if (programs.length === 0) {
    const reading = read('')
    return { abilities: abilitiesOf(reading.abilities), notes: reading.notes ?? [] }
  }
  // Last the folder that a project's tests install agents into, when they name it.
  const own = environment['COXSWAIN_AGENTS_DIR']
  const path = [environment['PATH'], own === undefined ? undefined : join(own, agent.id, 'node_modules', '.bin')]
  const near = await findProgram(programs, path.filter((folder) => folder !== undefined).join(delimiter))
  // An editor that was not started from a terminal may not know where programs are.
  const far = async () => await findProgram(programs, (await loginShellPath(environment)).join(delimiter))
  const bare = programs.some((program) => !isAbsolute(program))
  const elsewhere = near.path === undefined && bare ? await far() : near
  const found = elsewhere.path === undefined ? near : elsewhere
  const shellNotes = elsewhere === near ? [] : ['found by your login shell only']
  if (found.path === undefined) {
    const places = found.looked.slice(0, 4).join(', ')
    const more = found.looked.length > 4 ? ` and ${found.looked.length - 4} more places` : ''
    return problem(
      `${agent.label} is not installed here. ${install} Looked for ${programs.join(', ')} at ${places}${more}.`,
    )
  }
  if (args === undefined)
    return { executable: found.path, abilities: abilitiesOf(read('').abilities), notes: shellNotes }
  // The same file asked again says the same; an upgrade replaces it by another name or time, seen at the next start.
  const key = [found.path, ...args].join('\0')
  const asked =
    cache.get(key) ??
    (await askProgram(found.path, args, {
      environment: pickEnvironment(await environmentFor(found.path, environment), baseEnvironmentNames),
      timeoutMs: probeMs,
    }))
  if ('problem' in asked) return problem(`${agent.label} at ${found.path} cannot be used: ${asked.problem}. ${install}`)
  cache.set(key, asked)
  const reading = read(asked.output)
  return {
    executable: found.path,
    abilities: abilitiesOf(reading.abilities),
    notes: [...shellNotes, ...(reading.notes ?? [])],
    ...(reading.version === undefined ? {} : { version: reading.version }),
  }
}
