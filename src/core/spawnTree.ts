// Who may dispatch below whom: depth, role and what a child may hand on; and whose parent has gone. Pure; the switches
// come from settings.
import { isLive, lacksResult, type Child } from './child'
import type { Refused } from './decide'
import type { Autonomy, Task } from './events'
import { personSession } from './ownership'

/** The settings coxswain.maxSpawnDepth and coxswain.orchestratorEnabled. A child of a person or an outside parent has depth 1. */
export interface SpawnLimits {
  readonly maxSpawnDepth: number
  readonly orchestratorEnabled: boolean
}

type LookUp = (id: string) => Child | undefined

/** How deep a child stands: 1 below a person or an outside parent. */
export function depthOf(child: Child, lookUp: LookUp): number {
  const seen = new Set([child.id])
  let depth = 1
  for (let at = child; at.parentChild !== null && !seen.has(at.parentChild); depth++) {
    seen.add(at.parentChild)
    const above = lookUp(at.parentChild)
    if (above === undefined) return depth + 1
    at = above
  }
  return depth
}

/**
 * Whether nobody is there to whom `child` matters and who could act on it: its parent has gone while it is at work, is
 * paused, or has ended unheard. `isPresent`: a running process speaks for that parent session.
 */
export function isParentAway(child: Child, lookUp: LookUp, isPresent: (session: string) => boolean): boolean {
  if (child.parentSession === personSession || child.archived || child.discarded) return false
  const heard = !lacksResult(child) && child.completions.every(({ acknowledged }) => acknowledged)
  if (!isLive(child) && !child.paused && heard) return false
  if (child.parentChild === null) return !isPresent(child.parentSession)
  const above = lookUp(child.parentChild)
  return above === undefined || !(isLive(above) || above.paused)
}

/** The role a child really gets at its depth, and why it is not the one that was asked for. */
export function roleAt(
  wanted: Task['role'],
  depth: number,
  { maxSpawnDepth, orchestratorEnabled }: SpawnLimits,
): { readonly role: Task['role']; readonly note: string | null } {
  if (wanted === 'leaf') return { role: 'leaf', note: null }
  if (!orchestratorEnabled)
    return {
      role: 'leaf',
      note: 'Orchestrators are switched off (coxswain.orchestratorEnabled): dispatched as a leaf, which does the work itself.',
    }
  if (depth >= maxSpawnDepth)
    return {
      role: 'leaf',
      note: `Nothing may be dispatched below depth ${maxSpawnDepth} (coxswain.maxSpawnDepth): dispatched as a leaf, which does the work itself.`,
    }
  return { role: 'orchestrator', note: null }
}

const no = (message: string): Refused => ({ code: 'unsupported', message })

/** Whether the child `parent` may dispatch children of its own now. */
export function decideOwnDispatch(parent: Child, lookUp: LookUp, limits: SpawnLimits): Refused | null {
  if (parent.task.role !== 'orchestrator')
    return no('A leaf child may not dispatch children of its own. Do the work yourself.')
  if (!limits.orchestratorEnabled)
    return no('Orchestrators are switched off (coxswain.orchestratorEnabled). Do the rest of the work yourself.')
  if (depthOf(parent, lookUp) >= limits.maxSpawnDepth)
    return no(
      `Nothing may be dispatched below depth ${limits.maxSpawnDepth} (coxswain.maxSpawnDepth). Do the work yourself.`,
    )
  return null
}

const freedom: readonly Autonomy[] = ['ask', 'edit', 'autonomous']

/** A parent that is no child of ours has been given no autonomy: the person's setting is its ceiling. */
export function decideFreedom(autonomy: Autonomy, ceiling: Autonomy): Refused | null {
  return freedom.indexOf(autonomy) <= freedom.indexOf(ceiling)
    ? null
    : no(
        `The autonomy "${autonomy}" goes beyond what is set for this machine (coxswain.autonomy = ${ceiling}). Leave autonomy out, or ask for no more than that.`,
      )
}

/** Whether what a child asks for its own child goes beyond what it was given itself. */
export function decideHandedOn(
  parent: Child,
  autonomy: Autonomy,
  allowedTools: readonly string[] | undefined,
): Refused | null {
  const own = parent.task.recipe
  if (freedom.indexOf(autonomy) > freedom.indexOf(own.autonomy))
    return no(`A child's autonomy cannot go beyond its parent's, which is "${own.autonomy}".`)
  if (own.allowedTools === undefined) return null
  const broader = (allowedTools ?? ['every tool']).filter((tool) => !own.allowedTools?.includes(tool))
  return broader.length === 0
    ? null
    : no(
        `A child cannot be given tools its parent does not have: ${broader.join(', ')}. Name some of these in allowed_tools: ${own.allowedTools.join(', ')}.`,
      )
}
