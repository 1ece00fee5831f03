// Whether this process works for a child of ours. A child that calls Coxswain acts as that child, never as the person who
// sits before the machine; it cannot become somebody else by dropping or changing a variable.
import { currentAttempt, isLive, type Child } from '../core/child'
import type { ProcessIdentity } from '../core/events'
import { ancestorsOf, type Ancestor } from '../process/ancestry'
import { markerName } from '../process/sweep'

const childVariable = 'COXSWAIN_CHILD_ID'

/**
 * The child this process descends from, nearest first: the recorded agent of a live child among its ancestors, else what
 * its own or an ancestor's variables say. Undefined: it works for no child. `children`: those of the store at hand.
 */
export function childBehind(
  children: readonly Child[],
  environment: Readonly<Record<string, string | undefined>>,
  ancestors: readonly Ancestor[] = ancestorsOf(process.pid, [childVariable, markerName]),
): string | undefined {
  for (const { identity } of ancestors) {
    const recorded = children.find((child) => isLive(child) && isSame(currentAttempt(child)?.agent, identity))
    if (recorded !== undefined) return recorded.id
  }
  for (const variables of [environment, ...ancestors.map((ancestor) => ancestor.variables)]) {
    const named = variables[childVariable] || variables[markerName]?.split('.')[0]
    if (named !== undefined && named !== '') return named
  }
  return undefined
}

function isSame(agent: ProcessIdentity | null | undefined, other: ProcessIdentity): boolean {
  return agent?.pid === other.pid && agent.startTime === other.startTime && agent.bootId === other.bootId
}
