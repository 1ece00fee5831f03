// Who owns a store: the holder of the highest epoch. An epoch is taken by exclusive create and never given twice, so a
// frozen former owner can always be told from the present one. Whether a process lives is asked through a function
// handed in; this file sends no signals and opens no sockets.
import { existsSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { identitySchema, type ProcessIdentity } from '../core/events'
import { createWhole } from './atomicWrite'
import { readText } from './readFile'

const ownerSchema = z.object({
  v: z.literal(1),
  epoch: z.number().int().positive(),
  process: identitySchema,
  /** Shown to the owner's socket with every call. */
  token: z.string(),
  socketPath: z.string(),
  role: z.enum(['window', 'run', 'background', 'mcp']),
  version: z.string(),
})
export type OwnerRecord = z.infer<typeof ownerSchema>

export interface Claimant {
  readonly process: ProcessIdentity
  readonly token: string
  readonly socketPath: string
  readonly role: OwnerRecord['role']
  readonly version: string
}

const keptEpochs = 4

/** The present owner's record; undefined when nobody has claimed the store or the last owner let go of it. */
export async function readOwner(folder: string): Promise<OwnerRecord | undefined> {
  const epoch = await highestEpoch(folder)
  if (epoch === 0 || existsSync(join(folder, `released.${epoch}`))) return undefined
  return await readRecord(folder, epoch)
}

/**
 * Takes the store, or answers who holds it. `takeFrom`: the epoch of an owner known to be frozen, whose store is taken
 * although its process lives.
 */
export async function claim(
  folder: string,
  claimant: Claimant,
  isRunning: (identity: ProcessIdentity) => boolean,
  takeFrom?: number,
): Promise<Lease | OwnerRecord> {
  for (;;) {
    const highest = await highestEpoch(folder)
    const owner = await readOwner(folder)
    if (owner !== undefined && owner.epoch !== takeFrom && isRunning(owner.process)) return owner
    const record: OwnerRecord = { v: 1, epoch: highest + 1, ...claimant }
    if (await take(folder, record)) {
      await prune(folder, record.epoch)
      return new Lease(folder, record)
    }
  }
}

async function take(folder: string, record: OwnerRecord): Promise<boolean> {
  try {
    return await createWhole(join(folder, `epoch.${record.epoch}`), `${JSON.stringify(record)}\n`)
  } catch (error) {
    // It may stand there all the same, and would name an owner that is none.
    if ((await readRecord(folder, record.epoch))?.token === record.token) new Lease(folder, record).release()
    throw error
  }
}

export class Lease {
  constructor(
    private readonly folder: string,
    readonly record: OwnerRecord,
  ) {}

  get epoch(): number {
    return this.record.epoch
  }

  /** False from the moment somebody else has taken the store. */
  isHeld(): boolean {
    // A disk that fails for the moment takes nothing from anybody: what cannot be seen is as it was.
    const isThere = (epoch: number, before: boolean): boolean => {
      try {
        return statSync(join(this.folder, `epoch.${epoch}`), { throwIfNoEntry: false }) !== undefined
      } catch {
        return before
      }
    }
    // Former epochs are cleared away, ours before the one that followed it.
    return isThere(this.record.epoch, true) && !isThere(this.record.epoch + 1, false)
  }

  /** Says that this owner's loop turns. Call it every couple of seconds. */
  beat(): void {
    const now = new Date()
    try {
      utimesSync(join(this.folder, `epoch.${this.record.epoch}`), now, now)
    } catch {
      // A full or vanished disk shows at the next append; a beat is not the place to say so.
    }
  }

  /** Synchronous: a closing window has no time to wait. */
  release(): void {
    try {
      writeFileSync(join(this.folder, `released.${this.record.epoch}`), '', { mode: 0o600 })
    } catch {
      // The next owner then finds our process gone, which says the same.
    }
  }
}

/** Changes with every beat of the owner; the same answer over many seconds means that its loop does not turn. */
export async function lastBeat(folder: string, epoch: number): Promise<number | undefined> {
  return await stat(join(folder, `epoch.${epoch}`)).then(
    (found) => found.mtimeMs,
    () => undefined,
  )
}

async function highestEpoch(folder: string): Promise<number> {
  const names = await readdir(folder)
  return Math.max(0, ...names.map((name) => Number(/^epoch\.(\d+)$/.exec(name)?.[1] ?? 0)))
}

async function readRecord(folder: string, epoch: number): Promise<OwnerRecord | undefined> {
  const text = await readText(join(folder, `epoch.${epoch}`)).catch(() => '')
  try {
    return ownerSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

async function prune(folder: string, epoch: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const found = Number(/^(?:epoch|released)\.(\d+)$/.exec(name)?.[1] ?? epoch)
    if (found < epoch - keptEpochs) await unlink(join(folder, name)).catch(() => undefined)
  }
}
