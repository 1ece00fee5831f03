// The measured figures of verification: what a thousand file checks cost beside the bare calls they need, and how long
// the host's loop is held meanwhile. Printed; the bounds leave room for a machine that other tests share.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCheck, type Check } from '../../../src/core/contract'
import { runCheck, type Bench } from '../../../src/verification/checks'
import { defaultLimits } from '../../../src/verification/world'
import { bareRead } from './bareRead'
import { plainBench } from './plainBench'

const COUNT = 1_000
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'figures-')))
let bench: Bench
let checks: Check[]

beforeAll(async () => {
  for (let n = 0; n < COUNT; n++) writeFileSync(join(folder, `f${n}`), `file ${n}\n`)
  checks = Array.from({ length: COUNT }, (_, n) => {
    const read = readCheck({ file_contains: { path: `f${n}`, text: `file ${n}` } }, 'check')
    if (!read.ok) throw new Error(read.problems.join())
    return read.check
  })
  bench = await plainBench(folder, defaultLimits)
})
afterAll(async () => {
  await bench.reader.dispose()
  rmSync(folder, { recursive: true, force: true })
})

/** What a reader would do that trusts what stands there. */
async function trusting(path: string): Promise<void> {
  const handle = await open(path)
  await handle.stat()
  await handle.read(Buffer.alloc(64), 0, 64, 0)
  await handle.close()
}

test('a thousand file checks cost little more than the calls to the disk they need', async () => {
  for (let n = 0; n < 100; n++) await runCheck(checks[n] as Check, bench)
  for (let n = 0; n < 100; n++) await bareRead(join(folder, `f${n}`))
  const best = { check: Infinity, bare: Infinity, trusting: Infinity }
  let heldMs = 0
  for (let round = 0; round < 5; round++) {
    const bareStarted = performance.now()
    for (let n = 0; n < COUNT; n++) await bareRead(join(folder, `f${n}`))
    const bareMs = performance.now() - bareStarted
    const trustingStarted = performance.now()
    for (let n = 0; n < COUNT; n++) await trusting(join(folder, `f${n}`))
    const trustingMs = performance.now() - trustingStarted
    let last = performance.now()
    const pulse = setInterval(() => {
      heldMs = Math.max(heldMs, performance.now() - last)
      last = performance.now()
    }, 1)
    const started = performance.now()
    for (const check of checks) expect((await runCheck(check, bench)).result).toBe('PASS')
    const checkMs = performance.now() - started
    clearInterval(pulse)
    best.check = Math.min(best.check, checkMs)
    best.bare = Math.min(best.bare, bareMs)
    best.trusting = Math.min(best.trusting, trustingMs)
  }
  // The best of five each: what the work costs, not what else the machine did.
  const ratio = best.check / best.bare
  console.log(
    `file checks: ${COUNT} in ${Math.round(best.check)} ms, the bare calls ${Math.round(best.bare)} ms, ratio ${ratio.toFixed(2)} (best of 5), a trusting reader ${Math.round(best.trusting)} ms, loop held at most ${heldMs.toFixed(1)} ms`,
  )
  // Other suites share the machine: the figure itself is printed, and only a change of kind fails.
  expect(ratio).toBeLessThan(6)
  expect(heldMs).toBeLessThan(1_000)
})
