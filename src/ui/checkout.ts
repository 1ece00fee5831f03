// The checkout a window has open, as dispatch and attachments ask about it. Reads only, through git/.
import { realpath } from 'node:fs/promises'
import * as path from 'node:path'
import { branches, unlikeHead } from '../git/checkout'
import type { Git } from '../git/git'
import { listWorktrees } from '../git/worktree'
import { placeBelow } from './present/shownPaths'

export class Checkout {
  constructor(
    private readonly git: Git,
    /** Absolute and real. */
    readonly topLevel: string,
    /** Of the repository: where git keeps what its worktrees share. */
    private readonly commonDir: string,
  ) {}

  /** Where a file lies, relative to the top with `/`, by whatever links it is reached; null when that is elsewhere. */
  async place(file: string): Promise<string | null> {
    // Of the folder alone: a link that the repository holds is a file of it, wherever it leads.
    const folder = await realpath(path.dirname(file)).catch(() => path.dirname(file))
    return placeBelow(this.topLevel, path.join(folder, path.basename(file)))
  }

  /** Newest first; none when git could not tell. */
  async branches(): Promise<readonly string[]> {
    const listed = await branches(this.git, this.topLevel)
    return 'kind' in listed ? [] : listed
  }

  /** The other checkouts of the repository, children's too, each with the branch or commit it stands on. */
  async worktrees(): Promise<readonly { readonly path: string; readonly at: string }[]> {
    const listed = await listWorktrees(this.git, this.commonDir).catch(() => [])
    return listed.flatMap(({ path: folder, branch, head, bare, prunable }) => {
      const at = branch?.replace(/^refs\/heads\//, '') ?? head
      return at === null || bare || prunable || folder === this.topLevel ? [] : [{ path: folder, at }]
    })
  }

  /** Those of these files, relative to the top, that the last commit does not hold as they are; null when git cannot tell. */
  async unlikeHead(paths: readonly string[]): Promise<ReadonlySet<string> | null> {
    const unlike = await unlikeHead(this.git, this.topLevel, paths)
    return 'kind' in unlike ? null : unlike
  }
}
