// What everything for parents in a window needs of its opened store, put together once.
import type { Coxswain } from '../supervisor/coxswain'
import { storeSecret, type StoreSecret } from '../supervisor/secret'
import { parentStore, type ParentStore } from './parentStore'

/** An opened store, for whoever speaks for a parent. */
export interface ParentsDoor {
  readonly secret: StoreSecret
  /** The store as the parent of that session sees it. */
  parent(session: string): ParentStore
  /** Becomes the owner of live children that have none, and finds out what became of them. */
  takeUpLive(): Promise<void>
  /** The store is to stay open although another repository is shown later: somebody keeps handles to its children. */
  hold(): void
}

export async function parentsDoor(coxswain: Coxswain, hold: () => void = () => undefined): Promise<ParentsDoor> {
  return {
    secret: await storeSecret(coxswain.paths),
    parent: (session) => parentStore(coxswain, { kind: 'parent', session }),
    takeUpLive: async () => {
      await coxswain.takeUpLive()
      await coxswain.recovered()
    },
    hold,
  }
}
