// How many children may live on this machine at once, over all windows and repositories: one small file per slot in the
// user's data folder, taken by exclusive create and naming the process that holds it. A slot whose holder is dead is free.
import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { identitySchema, type ProcessIdentity } from '../core/events'
import { linkNew, writeWhole } from './atomicWrite'
import { makeFolder } from './paths'
import { readText } from './readFile'

const slotSchema = z.object({
  v: z.literal(1),
  childId: z.string(),
  title: z.string(),
  /** The folder name of its repository; not there in slots of before it was written. */
  repository: z.string().optional(),
  holder: identitySchema.nullable(),
})
type Slot = z.infer<typeof slotSchema>

export interface HeldSlot {
  readonly id: string
  readonly title: string
  /** The folder name of its repository; undefined in a slot of before it was written. */
  readonly repository?: string | undefined
}

export class Slots {
  /** Where this process put a child last: looked at first. */
  private readonly placed = new Map<string, number>()
  /** Slots this process gave back: asked for before those that others may hold. */
  private readonly given = new Set<number>()

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
    try {
      for (const number of this.likelyFreeFirst(cap, newest(await readdir(this.folder)))) {
        const child = children[taken.length]
        if (child === undefined) break
        const other = await this.claim(number, { v: 1, childId: child.id, ...shown(child), holder })
        if (other === undefined) {
          taken.push(child.id)
          this.placed.set(child.id, number)
          this.given.delete(number)
        } else {
          held.push({ id: other.childId, ...shown(other) })
        }
      }
    } catch (error) {
      for (const id of taken) await this.release(id).catch(() => undefined)
      throw error
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
    this.placed.delete(childId)
    if (found === undefined) return
    await writeWhole(found.path, JSON.stringify({ ...found.slot, holder: null }))
    this.given.add(found.number)
  }

  /** With fifty children about, asking each slot in turn would take longer than all the rest of a dispatch. */
  private likelyFreeFirst(cap: number, used: ReadonlyMap<number, number>): number[] {
    const rank = (number: number): number => (!used.has(number) ? 0 : this.given.has(number) ? 1 : 2)
    const numbers = Array.from({ length: cap }, (_, i) => i + 1)
    return numbers.sort((a, b) => rank(a) - rank(b) || a - b)
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
        if (!(await linkNew(own, this.path(number, generation + 1)))) continue
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

  private async slotOf(childId: string): Promise<{ number: number; path: string; slot: Slot } | undefined> {
    const used = newest(await readdir(this.folder))
    const likely = this.placed.get(childId)
    const numbers = likely === undefined ? [...used.keys()] : [likely, ...used.keys()]
    for (const number of numbers) {
      const path = this.path(number, used.get(number) ?? 0)
      const slot = await readSlot(path)
      if (slot?.childId === childId && slot.holder !== null) return { number, path, slot }
    }
    return undefined
  }

  private path(number: number, generation: number): string {
    return join(this.folder, `slot.${number}.${generation}`)
  }
}

const shown = ({ title, repository }: Omit<HeldSlot, 'id'>): Omit<HeldSlot, 'id'> => ({
  title,
  ...(repository === undefined ? {} : { repository }),
})

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

async function readSlot(path: string): Promise<Slot | undefined> {
  try {
    const parsed = slotSchema.safeParse(JSON.parse(await readText(path)))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
