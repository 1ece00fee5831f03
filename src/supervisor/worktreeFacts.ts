// What show and a result say of a child's worktree.
import type { Child } from '../core/child'
import type { WorktreeStatus } from '../git/review'
import type { WorktreeState } from './tools'

export interface WorktreeFacts {
  readonly path: string
  readonly branch: string
  readonly base: string
  readonly commits: number | null
  readonly dirty: boolean | null
}

export function stateOf({ commits, dirty, files, insertions, deletions }: WorktreeStatus): WorktreeState {
  return { commits, dirty, files: files.length, insertions, deletions }
}

/** `state`: null when the worktree could not be read. Null when there is none. */
export function worktreeFacts({ worktree }: Child, state: WorktreeState | null): WorktreeFacts | null {
  if (worktree === null) return null
  const { path, branch, base } = worktree
  return { path, branch, base, commits: state?.commits ?? null, dirty: state?.dirty ?? null }
}
