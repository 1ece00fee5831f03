// Ends an agent whose keeper has died. Only the tree that the record and the running processes both name is touched: a
// matching pid, start time and boot id are not enough without the marker or the attempt's own pipes.
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning } from './identity'
import type { ProcessIdentity, TreeMember } from './launch'
import { AgentTree, endTree } from './stopLadder'
import { carriesMarker, holdsPipe } from './sweep'

export interface OrphanOptions {
  readonly attemptDir: string
  readonly marker: string
  /** From agent.json; undefined when that is missing or odd. Then marker and pipes alone find the tree. */
  readonly agent: ProcessIdentity | undefined
  readonly graceMs: number
  readonly sweepMs?: number
}

export interface OrphanEnd {
  readonly ended: readonly TreeMember[]
  readonly survivors: readonly TreeMember[]
  /** The recorded agent runs, but nothing about it proves that it is ours: it got no signal. */
  readonly unproven: ProcessIdentity | undefined
}

/** Resolves when nothing of the tree lives any more or the deadlines have passed. Never throws. */
export async function endOrphan(options: OrphanOptions): Promise<OrphanEnd> {
  const pipes = [pipesOf(options.attemptDir)]
  const { agent, marker } = options
  const running = agent !== undefined && isRunning(agent)
  const proven =
    running && (process.platform !== 'linux' || carriesMarker(agent.pid, marker) || holdsPipe(agent.pid, pipes))
  const leader = proven ? agent : undefined
  const tree = new AgentTree({ leader, marker, pipes }, () => leader !== undefined && isRunning(leader))
  const { ended, survivors } = await endTree(tree, {
    leaderPid: undefined,
    graceMs: options.graceMs,
    sweepMs: options.sweepMs ?? 2_000,
    leftovers: true,
    onStep: () => undefined,
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  })
  return { ended, survivors, unproven: running && !proven ? agent : undefined }
}

function pipesOf(attemptDir: string): string {
  try {
    return `${join(realpathSync(attemptDir), 'pipes')}/`
  } catch {
    return `${join(attemptDir, 'pipes')}/`
  }
}
