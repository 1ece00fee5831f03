// What people were told of a child, over all windows: one small file per event, made by exclusive create, so that of many
// windows on one store exactly one speaks.
import { createHash } from 'node:crypto'
import { createWhole } from './atomicWrite'
import { makeFolder, type ChildPaths } from './paths'

/**
 * True for the first who claims this event of the child, ever; everybody after hears false. `event` is any text that names
 * it. Rejects when the child's folder is gone.
 */
export async function tellOnce(child: ChildPaths, event: string): Promise<boolean> {
  makeFolder(child.told)
  const name = createHash('sha256').update(event).digest('hex').slice(0, 32)
  return await createWhole(`${child.told}/${name}`, `${JSON.stringify({ v: 1, at: new Date().toISOString() })}\n`)
}
