// Removes what a finished child left behind once it has expired: raw output, transcripts, results. Its event log and its
// contract stay, and nothing outside its own folder of the store is touched.
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChildPaths } from './paths'

/** What is not there counts as removed; a link is removed, not followed. */
export async function removeExpired(paths: ChildPaths): Promise<void> {
  const logs = (await readdir(paths.folder)).filter((name) => /^task-\d+\.log$/.test(name))
  const files = [paths.attempts, paths.results, paths.evidence, paths.transcript]
  for (const path of [...files, ...logs.map((name) => join(paths.folder, name))])
    await rm(path, { recursive: true, force: true })
}
