// When what a finished child left in the store has served its time. Worktrees, branches, the event log and the audit trail
// have no age.
import { isUnfinished, type Child } from './child'

const dayMs = 86_400_000

/** Its raw output, transcripts and results may go: it settled more than `days` ago and nothing of it is under way. */
export function hasExpired(child: Child, days: number, now: Date): boolean {
  if (isUnfinished(child) || child.settledAt === null || child.expiredAt !== null) return false
  return now.getTime() - Date.parse(child.settledAt) > days * dayMs
}
