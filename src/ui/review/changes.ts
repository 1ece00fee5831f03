// What the review, the rows and the hand-back need to know of a child's worktree: which files differ from the base, both
// sides of one, and what applying would do. Reads only, through git/'s own view, and asks for one child at a time.
import type { Child } from '../../core/child'
import { previewApply, type ApplyPreview } from '../../git/apply'
import { describeLosses, inspectDiscard } from '../../git/discard'
import { folderSize } from '../../git/folderSize'
import { worktreeFacts } from '../../git/facts'
import type { Git } from '../../git/git'
import type { Problem } from '../../git/repository'
import { changedFiles, fileAtBase, fileNow, overlaps, status, type ChangedFile } from '../../git/review'
import type { KnownWorktree } from '../../git/view'
import { plainLine } from '../../core/plainText'
import { t } from '../present/l10n'
import type { WorktreeState } from '../../supervisor/tools'
import { treeOf } from '../../supervisor/verdictTree'
import { stateOf } from '../../supervisor/worktreeFacts'

export type Side = 'base' | 'now'
export type How = 'merge' | 'squash' | 'patch'

export class Changes {
  constructor(
    private readonly git: Git,
    /** The repository's shared git folder, and the checkout that receives work. */
    private readonly commonDir: string,
    private readonly topLevel: string,
    private readonly childOf: (id: string) => Child | undefined,
  ) {}

  async files(childId: string): Promise<readonly ChangedFile[] | Problem> {
    const known = this.worktreeOf(childId)
    if (known === null) return noWorktree
    const changed = await changedFiles(this.git, known)
    return changed.kind === 'problem' ? changed : changed.files
  }

  /** The files of its worktree, those git ignores left out. Rejects when it cannot be looked at. */
  async names(childId: string): Promise<readonly string[]> {
    const known = this.worktreeOf(childId)
    return known === null ? [] : await worktreeFacts(this.git, known).files()
  }

  /** The bytes of one side, the first five megabytes of them; null when the file is not there on that side. */
  async content(childId: string, side: Side, path: string): Promise<Uint8Array | null | Problem> {
    const known = this.worktreeOf(childId)
    if (known === null) return noWorktree
    const read = side === 'base' ? fileAtBase : fileNow
    const file = await read(this.git, known, path)
    return file.kind === 'problem' ? file : file.content
  }

  async stat(childId: string): Promise<WorktreeState | Problem> {
    const known = this.worktreeOf(childId)
    if (known === null) return noWorktree
    const now = await status(this.git, known)
    return now.kind === 'problem' ? now : stateOf(now)
  }

  /** Paths that several of these changed → who. One child after the other; null when `goOn` said no meanwhile. */
  async shared(
    childIds: readonly string[],
    goOn: () => boolean,
  ): Promise<ReadonlyMap<string, readonly string[]> | null> {
    const changed = new Map<string, readonly ChangedFile[]>()
    for (const id of childIds) {
      if (!goOn()) return null
      const files = await this.files(id)
      if (!isProblem(files)) changed.set(id, files)
    }
    return overlaps(changed)
  }

  async preview(childId: string, how: How): Promise<ApplyPreview | Problem> {
    const child = this.childOf(childId)
    const known = this.worktreeOf(childId)
    if (child === undefined || known === null) return noWorktree
    const verdict = child.verdict?.status ?? 'verified'
    return previewApply(this.git, {
      worktree: known,
      into: this.topLevel,
      how,
      message: child.title,
      verdict,
      override: verdict,
    })
  }

  /** What discarding its worktree would lose, in words; null when it has none. */
  async loss(childId: string): Promise<string | null> {
    const known = this.worktreeOf(childId)
    if (known === null) return null
    const found = await inspectDiscard(this.git, known)
    if (found.kind === 'problem') return plainLine(found.message)
    if (!found.present) return t('the folder is gone')
    if (found.unproven.length > 0) return t('it cannot be shown that nothing would be lost')
    if (found.losses.length === 0) return t('nothing would be lost')
    return t('would lose {what}', { what: describeLosses(found.losses) })
  }

  /** How much room its worktree takes on disk. */
  async room(childId: string): Promise<{ readonly bytes: number; readonly complete: boolean } | null> {
    const known = this.worktreeOf(childId)
    return known === null ? null : await folderSize(known.path)
  }

  /** Whether its worktree is another than the one its verdict is about; null when nobody can say. */
  async changedSinceVerdict(childId: string): Promise<boolean | null> {
    const known = this.worktreeOf(childId)
    const verdict = this.childOf(childId)?.verdict
    if (known === null || verdict?.tree === undefined) return null
    const now = await treeOf(this.git, known, verdict)
    return now === null ? null : now !== verdict.tree
  }

  private worktreeOf(childId: string): KnownWorktree | null {
    const child = this.childOf(childId)
    if (child === undefined || child.worktree === null || child.discarded) return null
    const { path, branch, base } = child.worktree
    return { path, branch, base, childId, commonDir: this.commonDir }
  }
}

const noWorktree: Problem = { kind: 'problem', code: 'gone', message: 'This child has no worktree any more.' }

export function isProblem(value: object | null): value is Problem {
  return value !== null && 'kind' in value && value.kind === 'problem'
}
