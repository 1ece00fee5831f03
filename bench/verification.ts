// The verification room in figures: what a thousand file checks cost beside the bare calls a safe reader needs, and how
// long the host's loop is held meanwhile. Run it with `npm run bench`, on a machine that does nothing else.
import { build } from 'esbuild'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCheck, type Check } from '../src/core/contract'
import { runCheck, type Bench } from '../src/verification/checks'
import { ContentReader } from '../src/verification/contentReader'
import { openRoot } from '../src/verification/safePath'
import { defaultLimits } from '../src/verification/world'
import { bareRead } from '../test/process/verification/bareRead'

const count = 1_000
const rounds = 7

function check(n: number): Check {
  const read = readCheck({ file_contains: { path: `f${n}`, text: `file ${n}` } }, 'check')
  if (!read.ok) throw new Error(read.problems.join())
  return read.check
}

async function fileChecks(folder: string, bench: Bench): Promise<void> {
  const checks = Array.from({ length: count }, (_, n) => check(n))
  const best = { checks: Infinity, bare: Infinity }
  let held = 0
  for (let round = 0; round < rounds; round++) {
    const bareFrom = performance.now()
    for (let n = 0; n < count; n++) await bareRead(join(folder, `f${n}`))
    best.bare = Math.min(best.bare, performance.now() - bareFrom)
    let last = performance.now()
    const pulse = setInterval(() => {
      held = Math.max(held, performance.now() - last)
      last = performance.now()
    }, 1)
    const from = performance.now()
    for (const each of checks) {
      const { result, reason } = await runCheck(each, bench)
      if (result !== 'PASS') throw new Error(reason)
    }
    best.checks = Math.min(best.checks, performance.now() - from)
    clearInterval(pulse)
  }
  const ratio = best.checks / best.bare
  console.log(
    `${count} file checks, best of ${rounds}`.padEnd(28),
    `ms ${Math.round(best.checks)}  bare ms ${Math.round(best.bare)}  ratio ${ratio.toFixed(2)}  loop held ms ${held.toFixed(1)}`,
  )
}

async function main(): Promise<void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cxb-')))
  const never = () => Promise.reject(new Error('not asked here'))
  try {
    const entryPoints = { contentWorker: 'src/verification/contentWorker.ts' }
    await build({ entryPoints, outdir: folder, bundle: true, platform: 'node', format: 'cjs', target: 'node20' })
    for (let n = 0; n < count; n++) writeFileSync(join(folder, `f${n}`), `file ${n}\n`)
    const reader = new ContentReader(join(folder, 'contentWorker.js'), defaultLimits)
    await fileChecks(folder, {
      root: await openRoot(folder),
      world: { run: never, files: never, changedFiles: never, committed: never, blobAtBase: never },
      limits: defaultLimits,
      reader,
      output: undefined,
      resolve: (path) => ({ kind: 'file', path }),
      signal: undefined,
      startedAt: Date.now(),
    })
    await reader.dispose()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

main().catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
