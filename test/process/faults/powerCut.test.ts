// R2: the power goes at a random moment of work on a record. Long form: COXSWAIN_SEEDS=500.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folder } from '../../unit/record/place'
import { afterPowerCut, workOn } from './recordWork'

const seeds = Number(process.env['COXSWAIN_SEEDS'] ?? 40)
const cutsPerSeed = 4

it(
  'what was acknowledged is a prefix of what was written, and what was synced is all there',
  { timeout: 600_000 },
  async () => {
    const wrong: string[] = []
    let changes = 0
    for (let seed = 1; seed <= seeds; seed++) {
      const place = folder(true)
      const root = join(place, 'store')
      mkdirSync(root, { mode: 0o700 })
      const work = await workOn(root, seed)
      changes += work.changes.length
      for (let cut = 0; cut < cutsPerSeed; cut++)
        wrong.push(...(await afterPowerCut(work, seed * 10 + cut, join(place, `left-${cut}`))))
      rmSync(place, { recursive: true, force: true })
    }
    console.log(
      `R2 record: ${seeds} seeds, ${seeds * cutsPerSeed} power cuts in ${changes} changes, ${wrong.length} promises broken`,
    )
    expect(wrong).toEqual([])
  },
)
