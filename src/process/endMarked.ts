// Ends what a command left behind whose supervisor died: every process that carries its marker. Without the marker in its
// environment a process is nobody's to end.
import { AgentTree, endTree } from './stopLadder'

/** How many were ended, and which could not be. Finds nothing where environments cannot be read (not Linux). */
export async function endMarked(
  marker: string,
  graceMs: number,
): Promise<{ readonly ended: number; readonly survivors: readonly number[] }> {
  const tree = new AgentTree({ leader: undefined, marker, pipes: [] }, () => false)
  const { ended, survivors } = await endTree(tree, {
    leaderPid: undefined,
    graceMs,
    sweepMs: 2_000,
    leftovers: true,
    onStep: () => undefined,
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  })
  return { ended: ended.length, survivors: survivors.map(({ pid }) => pid) }
}
