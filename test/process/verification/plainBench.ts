// A bench for checks that look at files alone, straight in a folder: git and programs are asked nothing.
import type { Bench } from '../../../src/verification/checks'
import { ContentReader } from '../../../src/verification/contentReader'
import { openRoot } from '../../../src/verification/safePath'
import type { Limits } from '../../../src/verification/world'
import { workerFile } from './worktree'

const never = () => Promise.reject(new Error('not asked here'))

/** Its reader is the caller's to dispose of. */
export const plainBench = async (folder: string, limits: Limits): Promise<Bench> => ({
  root: await openRoot(folder),
  world: { run: never, files: never, changedFiles: never, committed: never, blobAtBase: never },
  limits,
  reader: new ContentReader(workerFile, limits),
  output: undefined,
  resolve: (path) => ({ kind: 'file', path }),
  signal: undefined,
  startedAt: Date.now(),
})
