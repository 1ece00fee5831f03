// Which repository a store is of. A store may be named on the command line, and one that is opened for another repository
// than its own would judge, apply and discard its children's work by the wrong git.
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { createWhole } from './atomicWrite'
import { StoreError, type StorePaths } from './paths'
import { readText } from './readFile'

const belongingSchema = z.object({ v: z.literal(1), commonDir: z.string() })

/**
 * The git common directory, absolute and real, that the store is for: `commonDir`, if it was nobody's so far. Rejects when
 * what is on record cannot be read.
 */
export async function belongTo(paths: StorePaths, commonDir: string): Promise<string> {
  if (!existsSync(paths.repository)) await createWhole(paths.repository, `${JSON.stringify({ v: 1, commonDir })}\n`)
  const text = await readText(paths.repository)
  try {
    return belongingSchema.parse(JSON.parse(text)).commonDir
  } catch {
    throw new StoreError(
      `${paths.repository} is damaged. Remove it if this is the store of ${commonDir}, then try again.`,
    )
  }
}
