// Who a parent is over its restarts. The name a person configured becomes an id that only this store's secret can make, and
// one process at a time is that parent; a second one beside it, or one without a name, is somebody new.
import { randomBytes } from 'node:crypto'
import { identityOf, isRunning } from '../process/identity'
import { claim } from '../record/lease'
import { makeFolder, type StorePaths } from '../record/paths'
import { storeSecret, type StoreSecret } from './secret'

/** A client that restarts its server may overlap with the former one for so long. */
const overlapMs = 2_000

export interface ParentSession {
  readonly id: string
  /** It is the same after a restart. */
  readonly durable: boolean
  /** Why it is not durable although a name was given. */
  readonly note?: string
  release(): void
}

/** `words`: what makes this parent itself, e.g. its configured name and its program. */
export async function namedSession(
  paths: StorePaths,
  prefix: string,
  words: readonly string[],
): Promise<ParentSession> {
  const id = sessionOfWords(await storeSecret(paths), prefix, words)
  const me = identityOf(process.pid)
  if (me === undefined) throw new Error('This process cannot see itself in the process table.')
  const folder = paths.parent(id)
  makeFolder(folder)
  for (let since = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const claimed = await claim(
      folder,
      { process: me, token: '', socketPath: '', role: 'mcp', version: '' },
      (other) => other.pid !== me.pid && isRunning(other),
    )
    if ('isHeld' in claimed) return { id, durable: true, release: () => claimed.release() }
    if (performance.now() - since >= overlapMs)
      return {
        ...freshSession(prefix),
        note: 'Another client is connected under this name, so this one has children of its own and does not see the other one’s.',
      }
  }
}

/** The same words are the same parent, in this store and no other. */
export function sessionOfWords(secret: StoreSecret, prefix: string, words: readonly string[]): string {
  return sessionId(prefix, secret.sign(['parent session', prefix, ...words]))
}

/** Nobody that was here before. */
export function freshSession(prefix: string): ParentSession {
  return { id: sessionId(prefix, randomBytes(32).toString('hex')), durable: false, release: () => undefined }
}

const sessionId = (prefix: string, hex: string): string => `${prefix}:${hex.slice(0, 32)}`
