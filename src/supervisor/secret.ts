// The store's secret: what this store signs and names things with, in a 0600 file. Stated limit: whoever runs as the same
// user can read it.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { existsSync } from 'node:fs'
import { canonicalJson } from '../core/canonicalJson'
import { createWhole } from '../record/atomicWrite'
import { StoreError, type StorePaths } from '../record/paths'
import { readText } from '../record/readFile'

export interface StoreSecret {
  /** 64 hex characters over the value's canonical JSON. */
  sign(value: unknown): string
  /** In constant time; false for anything that is no signature of `value`. */
  isSigned(value: unknown, signature: unknown): boolean
}

/** Reads the secret of a store, making it when there is none. */
export async function storeSecret(paths: StorePaths): Promise<StoreSecret> {
  // Of many that make it at once one wins, and all read that one.
  if (!existsSync(paths.secret)) await createWhole(paths.secret, randomBytes(32).toString('hex'))
  const key = Buffer.from((await readText(paths.secret)).trim(), 'hex')
  if (key.length !== 32)
    throw new StoreError(`${paths.secret} is damaged. Move it away; handles given out so far then end.`)
  const digest = (value: unknown): Buffer => createHmac('sha256', key).update(canonicalJson(value)).digest()
  return {
    sign: (value) => digest(value).toString('hex'),
    isSigned: (value, signature) => {
      if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature)) return false
      return timingSafeEqual(digest(value), Buffer.from(signature, 'hex'))
    },
  }
}
