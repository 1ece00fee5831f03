// Whether a verdict is about the worktree as it stands: one hash over all that its checks could see. Reads only.
import type { Verdict } from '../core/events'
import type { Git } from '../git/git'
import { treeHash } from '../git/treeHash'
import type { KnownWorktree } from '../git/view'

/**
 * Hash of the worktree's files and of the verdict's deliverables, ignored ones too. Null when they cannot be read; then
 * nobody can say whether the verdict is out of date.
 */
export async function treeOf(git: Git, known: KnownWorktree, verdict: Verdict): Promise<string | null> {
  const extra = verdict.checks.flatMap(({ check, location }) =>
    check['deliverable'] === undefined || location === undefined ? [] : [location.path],
  )
  const hashed = await treeHash(git, known, { extra })
  return hashed.kind === 'problem' ? null : hashed.hash
}
