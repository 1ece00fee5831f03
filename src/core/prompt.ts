// The user turns Coxswain writes for an agent. What a person or parent wrote stands in it word for word.
import type { Steer } from './child'
import type { Task } from './events'

const early = 'Added before you started, by the person or agent who gave you this task:'
const missed = 'Said to you while you were working, but you had stopped before you read it. Take it into account:'

const delegating =
  'You may hand out parts of this to children of your own: with the tool delegate_task, or with the command "$COXSWAIN_CLI". Each works in a worktree and on a branch of its own, which begins at your last commit; merge what you accept. Save their ids, do what does not depend on them, then end your turn: what they report comes to you as your next turn. Never poll. A report is a claim; its verdict stands beside it.'

/**
 * The first turn: the goal, its context, where to work, the contract's demands, steers that came before the start, and
 * what was said on resuming a child whose agent had never run.
 */
export function firstPrompt(
  task: Task,
  place: { cwd: string; branch: string },
  contract: string,
  steers: readonly Steer[],
  attended: boolean,
  message: string | null = null,
): string {
  const parts = [
    task.goal.trim(),
    ...(task.context === undefined || task.context.trim() === '' ? [] : [`Context:\n${task.context.trim()}`]),
    `You work in ${place.cwd}, a git worktree of your own on the branch ${place.branch}. Keep all changes inside it and commit what you finish there. Do not push, and do not switch branches.`,
    ...(attended ? [] : ['Nobody is there to answer questions: decide yourself, and say what you assumed.']),
    ...(task.role === 'orchestrator' ? [delegating] : []),
    ...(contract === '' ? [] : [contract]),
    ...steerParts(early, steers),
    ...(message === null || message.trim() === '' ? [] : [message.trim()]),
  ]
  return `${parts.join('\n\n')}\n`
}

/** A later turn of the same session: steers it never read, in order, then the new instruction. */
export function resumePrompt(message: string | null, steers: readonly Steer[]): string {
  const instruction = message?.trim() ?? ''
  const parts = [...steerParts(missed, steers)]
  if (instruction !== '') parts.push(instruction)
  else if (steers.length === 0) parts.push('Continue from where you left off.')
  return `${parts.join('\n\n')}\n`
}

function steerParts(heading: string, steers: readonly Steer[]): string[] {
  return steers.length === 0 ? [] : [`${heading}\n\n${steers.map((steer) => steer.text).join('\n\n')}`]
}
