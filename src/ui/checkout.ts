// The checkout a window has open, as dispatch and attachments ask about it. Reads only, through git/.
import { branches, unlikeHead } from '../git/checkout'
import type { Git } from '../git/git'

export class Checkout {
  constructor(
    private readonly git: Git,
    /** Absolute and real. */
    readonly topLevel: string,
  ) {}

  /** Newest first; none when git could not tell. */
  async branches(): Promise<readonly string[]> {
    const listed = await branches(this.git, this.topLevel)
    return 'kind' in listed ? [] : listed
  }

  /** Those of these files, relative to the top, that the last commit does not hold as they are; null when git cannot tell. */
  async unlikeHead(paths: readonly string[]): Promise<ReadonlySet<string> | null> {
    const unlike = await unlikeHead(this.git, this.topLevel, paths)
    return 'kind' in unlike ? null : unlike
  }
}
