// How many children may live on this machine at once, over all windows and repositories: one small file per slot in the
// user's data folder, taken by exclusive create and naming the process that holds it. A slot whose holder is dead is free.
import { randomBytes } from 'node:crypto'
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { identitySchema, type ProcessIdentity } from '../core/events'
import { writeWhole } from './atomicWrite'
import { makeFolder } from './paths'

const slotSchema = z.object({
  v: z.literal(1),
  childId: z.string(),
  title: z.string(),
  holder: identitySchema.nullable(),
})
type Slot = z.infer<typeof slotSchema>

export interface HeldSlot {
  readonly id: string
  readonly title: string
}

export class Slots {
  constructor(
    private readonly folder: string,
    private readonly isRunning: (identity: ProcessIdentity) => boolean,
  ) {
    makeFolder(folder)
  }

  /**
   * Takes one of `cap` slots for each child, all or none. Answers undefined when they are taken, else who holds the
   * slots now.
   */
  async take(
    children: readonly HeldSlot[],
    holder: ProcessIdentity,
    cap: number,
  ): Promise<readonly HeldSlot[] | undefined> {
    const taken: string[] = []
    const held: HeldSlot[] = []
    for (let number = 1; number <= cap && taken.length < children.length; number++) {
      const child = children[taken.length]
      if (child === undefined) break
      const other = await this.claim(number, { v: 1, childId: child.id, title: child.title, holder })
      if (other === undefined) taken.push(child.id)
      else held.push({ id: other.childId, title: other.title })
    }
    if (taken.length === children.length) return undefined
    for (const id of taken) await this.release(id)
    return held
  }

  /** From now on the slot is held by this process, e.g. the child's keeper, which outlives the owner. */
  async hold(childId: string, holder: ProcessIdentity): Promise<void> {
    const found = await this.slotOf(childId)
    if (found !== undefined) await writeWhole(found.path, JSON.stringify({ ...found.slot, holder }))
  }

  async release(childId: string): Promise<void> {
    const found = await this.slotOf(childId)
    if (found !== undefined) await writeWhole(found.path, JSON.stringify({ ...found.slot, holder: null }))
  }

  /**
   * Undefined: it is ours now. Each taking of a slot is a file of the next generation, made by exclusive create: of many
   * that see the same dead holder only one makes it, and nothing that somebody else may just have taken is removed.
   */
  private async claim(number: number, slot: Slot): Promise<Slot | undefined> {
    const own = join(this.folder, `new.${randomBytes(6).toString('hex')}`)
    await writeFile(own, JSON.stringify(slot), { mode: 0o600, flag: 'wx' })
    try {
      for (;;) {
        const generation = newest(await readdir(this.folder)).get(number) ?? 0
        const other = generation === 0 ? undefined : await readSlot(this.path(number, generation))
        if (other?.holder && this.isRunning(other.holder)) return other
        if (!(await linked(own, this.path(number, generation + 1)))) continue
        // Whoever looked long ago may have made a generation that had come and gone: the newest one counts.
        if (newest(await readdir(this.folder)).get(number) !== generation + 1) {
          await rm(this.path(number, generation + 1), { force: true })
          continue
        }
        if (generation > 0) await rm(this.path(number, generation), { force: true })
        return undefined
      }
    } finally {
      await rm(own, { force: true })
    }
  }

  private async slotOf(childId: string): Promise<{ path: string; slot: Slot } | undefined> {
    for (const [number, generation] of newest(await readdir(this.folder))) {
      const path = this.path(number, generation)
      const slot = await readSlot(path)
      if (slot?.childId === childId && slot.holder !== null) return { path, slot }
    }
    return undefined
  }

  private path(number: number, generation: number): string {
    return join(this.folder, `slot.${number}.${generation}`)
  }
}

/** Slot number → its newest generation. */
function newest(names: readonly string[]): Map<number, number> {
  const found = new Map<number, number>()
  for (const name of names) {
    const [, number, generation] = /^slot\.(\d+)\.(\d+)$/.exec(name) ?? []
    if (number === undefined || generation === undefined) continue
    found.set(Number(number), Math.max(found.get(Number(number)) ?? 0, Number(generation)))
  }
  return found
}

/** False: something of that name is there. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function readSlot(path: string): Promise<Slot | undefined> {
  try {
    const parsed = slotSchema.safeParse(JSON.parse(await readFile(path, 'utf8')))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
