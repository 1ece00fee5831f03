import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { bundleOwners, Owner, ownerOptions, type Bundles } from './owners'
import { eventually, Stage } from './stage'

/** COXSWAIN_CYCLES makes it longer. */
const cycles = Number(process.env['COXSWAIN_CYCLES'] ?? 50)
const atOnce = 5

let bundles: Bundles
let stage: Stage
let owner: Owner
beforeAll(async () => {
  bundles = await bundleOwners()
})
afterAll(() => bundles.clear())
afterEach(
  async () => {
    await owner.kill()
    await stage.clear()
  },
  60_000 + cycles * 500,
)

it(
  `${cycles} children that came and went leave an owner with no more handles and memory than before`,
  { timeout: 60_000 + cycles * 4_000 },
  async () => {
    stage = Stage.make()
    const sh = (script: string) => ({ kind: 'commandLine', command: ['/bin/sh', '-c', script], protocol: 'lines' })
    const ready = `echo '{"type":"ready","session_id":"s"}'`
    const agents = {
      brief: sh(`${ready}; echo '{"type":"result","ok":true,"summary":"done"}'`),
      endless: sh(`${ready}; exec sleep 100000`),
    }
    owner = new Owner(bundles, stage, ownerOptions(stage, { agents, maxChildrenTotal: 20, stopGraceSeconds: 1 }))
    const one = async (n: number): Promise<void> => {
      const agent = n % 2 === 0 ? 'brief' : 'endless'
      const { subagent_ids } = await owner.ask('spawn', { tasks: [{ goal: 'Come and go.', agent }] })
      const [id] = subagent_ids as [string]
      if (agent === 'endless') {
        await stage.until(id, 'it works', ({ attempts }) => attempts[0]?.ready === true, 60_000)
        await owner.ask('stop', { subagent_id: id })
      }
      await stage.until(id, 'settled', ({ completions }) => completions.length === 1, 60_000)
    }
    const some = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += atOnce)
        await Promise.all(Array.from({ length: Math.min(atOnce, count - n) }, (_, i) => one(n + i)))
      await eventually(() => stage.ps().length === 1, 'only the owner runs')
    }
    const look = async () => {
      const { resources, listeners, heap } = await owner.ask('handles', {})
      const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${owner.pid}/status`, 'utf8'))?.[1])
      const heapMegabytes = Math.round(heap / 1024 ** 2)
      return { fds: readdirSync(`/proc/${owner.pid}/fd`).length, resources, listeners, rss, heapMegabytes }
    }
    await some(10)
    const before = await look()
    await some(cycles)
    const after = await look()
    console.log(`${cycles} children: before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`)
    expect(after.fds - before.fds).toBeLessThanOrEqual(5)
    expect(after.resources - before.resources).toBeLessThanOrEqual(5)
    expect(after.listeners - before.listeners).toBeLessThanOrEqual(5)
    // What a child leaves in memory is its fold; the rest of the bound is for what a heap keeps back.
    expect(after.rss).toBeLessThan(before.rss * 1.1 + 20_000 + cycles * 40)
    expect(owner.errors).toEqual([])
  },
)
