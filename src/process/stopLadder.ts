// Ends a whole tree: asks the group, waits, kills the group, then whatever escaped. A tree is over when a scan of the
// process table finds nothing of it alive; `kill(-group, 0)` says "alive" for zombies and is never asked.
import { isRunning, currentBootId, signalGroup, signalProcess } from './identity'
import type { TreeMember } from './launch'
import { findMembers, type FoundMember, type Tree } from './sweep'

/** A tree that is watched over time, so that a reused number is never taken for one of its processes. */
export class AgentTree {
  #known = new Map<number, string>()
  #lost = false
  #emptyAt = -Infinity

  /** `leaderHeld`: the leader's number cannot have been given away (it runs, or its parent has not reaped it). */
  constructor(
    private readonly tree: Tree,
    private readonly leaderHeld: () => boolean,
  ) {}

  /**
   * The living members now. The group's number is trusted as long as some member of it was always seen alive. Once empty,
   * a tree stays so; it is not looked for again within moments, unless `again` says so.
   */
  scan(again = false): FoundMember[] {
    if (!again && performance.now() - this.#emptyAt < momentMs) return []
    const trusted = this.#groupTrusted()
    const members = findMembers(this.tree, trusted)
    if (trusted) {
      const own = members.filter((member) => member.bond === 'group' || member.bond === 'session')
      this.#known = new Map(own.map((member) => [member.pid, member.startTime]))
    }
    if (members.length === 0) this.#emptyAt = performance.now()
    return members
  }

  /** Sends to the leader's group while the leader itself still runs; false when it does not. Needs no look around. */
  signalGroup(signal: NodeJS.Signals): boolean {
    const leader = this.tree.leader
    return leader !== undefined && this.leaderHeld() && signalGroup(leader.pid, leader, signal)
  }

  /** Sends to the group as one, and to each member outside it. */
  signal(members: readonly FoundMember[], signal: NodeJS.Signals): void {
    const group = this.tree.leader?.pid
    const bootId = currentBootId()
    const inGroup = members.filter((member) => member.bond === 'group')
    const sent =
      group !== undefined &&
      inGroup.some(({ pid, startTime }) => signalGroup(group, { pid, startTime, bootId }, signal))
    for (const { pid, startTime, bond } of members)
      if (bond !== 'group' || !sent) signalProcess({ pid, startTime, bootId }, signal)
  }

  #groupTrusted(): boolean {
    if (this.tree.leader === undefined || this.#lost) return false
    if (this.leaderHeld()) return true
    const bootId = currentBootId()
    for (const [pid, startTime] of this.#known) if (isRunning({ pid, startTime, bootId })) return true
    this.#lost = true
    return false
  }
}

/** How long a look that found nothing is taken for the present. */
const momentMs = 500

export interface TreeEnd {
  /** Members other than the leader that were killed, or asked after they had escaped or were left over. */
  readonly ended: readonly TreeMember[]
  readonly survivors: readonly TreeMember[]
}

export interface LadderOptions {
  readonly leaderPid: number | undefined
  readonly graceMs: number
  /** From the first SIGKILL until we give up and name the survivors. */
  readonly sweepMs: number
  /** Members that are only left over: name them even if asking was enough. */
  readonly leftovers: boolean
  readonly onStep: (step: 'term' | 'kill' | 'leftovers') => void
  /** Resolves after `ms`, or earlier when something may have changed. */
  readonly pause: (ms: number) => Promise<void>
}

const namedMax = 100

/** Runs SIGTERM → grace → SIGKILL → sweep until nothing lives or the deadlines have passed. Never throws. */
export async function endTree(tree: AgentTree, options: LadderOptions): Promise<TreeEnd> {
  const ended = new Map<string, TreeMember>()
  const note = (members: readonly FoundMember[], killed: boolean): void => {
    for (const { pid, startTime, name, bond } of members) {
      if (pid === options.leaderPid || ended.size >= namedMax) continue
      if (killed || options.leftovers || bond !== 'group')
        ended.set(`${pid} ${startTime}`, { pid, startTime, name, bond })
    }
  }
  // The group hears it before anything is looked for, so that asking costs no scan. Leftovers are to be named first.
  const groupAsked = !options.leftovers && tree.signalGroup('SIGTERM')
  let members = tree.scan()
  if (groupAsked || members.length > 0) {
    options.onStep(options.leftovers ? 'leftovers' : 'term')
    note(members, false)
    const unasked = groupAsked ? members.filter(({ bond }) => bond !== 'group') : members
    tree.signal(unasked, 'SIGTERM')
    // A stopped process hears SIGTERM only once it goes on.
    tree.signal(members, 'SIGCONT')
    members = await waitUntilEmpty(tree, options.graceMs, options.pause)
  }
  if (members.length === 0) return { ended: [...ended.values()], survivors: [] }

  options.onStep('kill')
  const deadline = performance.now() + options.sweepMs
  let emptyScans = 0
  for (let delay = 2; ; delay = Math.min(delay * 2, 50)) {
    note(members, true)
    tree.signal(members, 'SIGKILL')
    await options.pause(delay)
    members = tree.scan(true)
    // A process may fork while it is being looked for: one more look after the first that finds nothing.
    emptyScans = members.length === 0 ? emptyScans + 1 : 0
    if (emptyScans === 2 || performance.now() >= deadline) break
  }
  const survivors = members.map(({ pid, startTime, name, bond }) => ({ pid, startTime, name, bond }))
  return { ended: [...ended.values()], survivors }
}

async function waitUntilEmpty(
  tree: AgentTree,
  ms: number,
  pause: (ms: number) => Promise<void>,
): Promise<FoundMember[]> {
  const deadline = performance.now() + ms
  let members = tree.scan()
  let delay = 2
  while (members.length > 0) {
    const left = deadline - performance.now()
    if (left <= 0) break
    await pause(Math.min(delay, left))
    const from = performance.now()
    members = tree.scan()
    // On a machine with thousands of processes looking is dear: at most a fifth of the time goes into it.
    delay = Math.max(Math.min(delay * 2, 50), 4 * (performance.now() - from))
  }
  return members
}
