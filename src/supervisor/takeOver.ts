// A person goes on with a child's session in a terminal: the exact command for it, and who has a session open now. Two
// processes in one session lose one's work, so a session that is open elsewhere is never resumed.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent } from '../agents/agent'
import type { Child } from '../core/child'
import type { ProcessIdentity } from '../core/events'
import { currentBootId, isRunning } from '../process/identity'

export interface TerminalCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  /** As typed into a shell, from any folder. */
  readonly line: string
}

/** Undefined when there is no session, no folder, or no way for this agent. */
export function terminalCommand({ sessionId, worktree, task }: Child, agent: Agent): TerminalCommand | undefined {
  if (sessionId === null || worktree === null || agent.terminal === undefined) return undefined
  const file = task.recipe.executable ?? agent.probe.programs[0]
  if (file === undefined) return undefined
  const args = agent.terminal.args(sessionId)
  const { cwd } = worktree
  return { file, args, cwd, line: `cd ${quoted(cwd)} && ${[file, ...args].map(quoted).join(' ')}` }
}

const mostNotes = 2_000

/** The process that has this session open, as far as its vendor notes it; undefined when none is known. */
export async function openIn(
  sessionId: string,
  { terminal }: Agent,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ProcessIdentity | undefined> {
  const notes = terminal?.openSessions
  const folder = notes?.folder(environment)
  if (notes === undefined || folder === undefined) return undefined
  const names = await readdir(folder).catch(() => [])
  for (const name of names.slice(0, mostNotes)) {
    const read = notes.read(name, await readFile(join(folder, name), 'utf8').catch(() => ''))
    if (read?.sessionId !== sessionId) continue
    const process = { pid: read.pid, startTime: read.startTime, bootId: currentBootId() }
    // The note of a process that was killed stays behind.
    if (isRunning(process)) return process
  }
  return undefined
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
