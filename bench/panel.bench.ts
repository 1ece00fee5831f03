// The panel in figures, in a real VS Code: how soon a transcript of 50,000 entries with a 5 MB tool result stands there, what
// scrolling through it costs, what it holds in memory, how long activation takes, and what a hidden panel costs beside one
// that is shown and beside none. `npm run bench:panel`.
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Frame } from 'playwright-core'
import { expect } from 'vitest'
import { until } from '../test/e2e/harness/until.js'
import { vscodeTest } from '../test/e2e/harness/vscodeTest.js'
import type { Workbench } from '../test/e2e/harness/workbench.js'
import { coxswain, scriptedChild, showChild, stopAll } from '../test/e2e/panelParts.js'
import { quantile } from './figures'

const reciting = {
  kind: 'commandLine',
  command: ['node', fileURLToPath(new URL('../test/fixtures/agents/reciting.mjs', import.meta.url))],
  protocol: 'lines',
  environment: ['LATCHES'],
}
const test = vscodeTest({
  settings: { 'coxswain.agents': { reciting } },
  env: (home) => ({ COXSWAIN_DEMO_PACE_MS: '5', LATCHES: home.folder }),
})
const entries = 50_000

const say = (name: string, figure: string): void => console.log(`${name.padEnd(52)} ${figure}`)
const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`

/** Lengthens a child's transcript on disk: texts of all lengths, tools with their output, and one output of 5 MB. */
function lengthen(home: string, childId: string, from: number): void {
  const stores = path.join(home, '.local/share/coxswain/stores')
  const [store = ''] = readdirSync(stores)
  const file = path.join(stores, store, 'children', childId, 'transcript.jsonl')
  const lines: string[] = []
  for (let n = from; n < entries; n++) {
    const common = { n, at: new Date(Date.parse('2026-03-01T12:00:00Z') + n * 1000).toISOString(), attempt: 1 }
    const toolId = `t-${n - (n % 4)}`
    const body =
      n % 4 === 0
        ? { kind: 'toolStarted', toolId, name: 'Bash', input: { command: `npm test -- --shard ${n}` } }
        : n % 4 === 1
          ? {
              kind: 'toolEnded',
              toolId: `t-${n - 1}`,
              output: n === 40_001 ? 'x'.repeat(99).concat('\n').repeat(50_000) : `ok ${n}\n`.repeat(n % 60),
              isError: false,
            }
          : { kind: 'text', text: `Entry ${n}. ${'It goes on and on. '.repeat((n * 7) % 40)}` }
    lines.push(JSON.stringify({ ...common, ...body }))
  }
  appendFileSync(file, `${lines.join('\n')}\n`)
}

/** Milliseconds from the host's "show this child" to its first rows on the page, in the webview's own clock. */
const waitForRows = (title: string): string => `new Promise((resolve) => {
  let since = null
  window.addEventListener('message', (event) => { if (event.data.type === 'show') since ??= performance.now() })
  const look = () => {
    const there = document.querySelector('h1')?.textContent === ${JSON.stringify(title)} &&
      document.querySelector('.row:not(.row-missing)') !== null
    if (since !== null && there) resolve(performance.now() - since)
    else requestAnimationFrame(look)
  }
  look()
})`

/** Goes through the list for so long, half of it in steps of a wheel and half in leaps; tells of frames and long tasks. */
const scrollThrough = (forMs: number): string => `new Promise((resolve) => {
  const scroller = document.querySelector('.scroller')
  const tasks = []
  const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ name, duration }) => ({ own: name === 'self', duration }))))
  observer.observe({ type: 'longtask' })
  const frames = []
  const began = performance.now()
  let last = began
  let n = 0
  const step = (now) => {
    frames.push(now - last)
    last = now
    n += 1
    const part = (now - began) / ${forMs}
    if (part >= 1) {
      observer.disconnect()
      resolve({ frames: frames.slice(1), tasks })
      return
    }
    if (part < 0.5) scroller.scrollTop += 120
    else if (n % 15 === 0) scroller.scrollTop = scroller.scrollHeight * ((n * 0.618) % 1)
    requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
})`
interface Scrolled {
  readonly frames: number[]
  /** Tasks of more than 50 ms in this process; `own` are the panel's, others the window's around it. */
  readonly tasks: { own: boolean; duration: number }[]
}

/** Frames of a page that does nothing, for the machine's own share. */
const idleFrames = `new Promise((resolve) => {
  const frames = []
  let last = performance.now()
  const step = (now) => {
    frames.push(now - last)
    last = now
    if (frames.length > 120) resolve(frames.slice(1))
    else requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
})`

async function memory({ page }: Workbench): Promise<{ heapMb: number; nodes: number }> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  await session.detach()
  const of = (name: string): number => metrics.find((each) => each.name === name)?.value ?? NaN
  return { heapMb: of('JSHeapUsedSize') / 1e6, nodes: of('Nodes') }
}

test('a transcript of 50,000 entries and a 5 MB result', async ({ workbench, repository, home, server }) => {
  const short = await scriptedChild(home, repository, 'Short', [{ say: 'One line.' }])
  const long = await scriptedChild(home, repository, 'Long', [{ say: 'One line.' }])
  for (const id of [short, long])
    await until('it has ended', async () => {
      const [shown] = (await coxswain(home, repository, 'show', id)) as { phase: string }[]
      return shown?.phase === 'SUCCESS'
    })
  const so = await coxswain(home, repository, 'transcript', long)
  lengthen(home.home, long, so.length)

  await workbench.showContainer('Coxswain')
  await expect.poll(() => workbench.treeText()).toMatch(/2 children/)
  const panel = await showChild(workbench, 'Short')
  await panel.locator('.row-text').first().waitFor()
  const frame: Frame = await workbench.webviewFrame()
  const before = await memory(workbench)
  const idle = await frame.evaluate<number[]>(idleFrames)

  const painted: number[] = []
  for (let times = 0; times < 5; times++) {
    for (const title of ['Long', 'Short']) {
      const rows = frame.evaluate<number>(waitForRows(title))
      await workbench.row(new RegExp(`^${title},`)).click()
      const took = await rows
      if (title === 'Long') painted.push(took)
    }
  }
  say('first rows of 50,000 entries, median (max)', `${ms(quantile(painted, 0.5))} (${ms(Math.max(...painted))})`)

  await workbench.row(/^Long,/).click()
  await panel.getByRole('heading', { level: 1, name: 'Long' }).waitFor()
  const { frames, tasks } = await frame.evaluate<Scrolled>(scrollThrough(12_000))
  say(
    'frames while scrolling, median, p95 (idle page)',
    `${ms(quantile(frames, 0.5))}, ${ms(quantile(frames, 0.95))} (${ms(quantile(idle, 0.5))}, ${ms(quantile(idle, 0.95))})`,
  )
  const own = tasks.filter((task) => task.own).map(({ duration }) => duration)
  say('the panel’s tasks over 50 ms in 12 s of scrolling', `${own.length}, longest ${ms(Math.max(0, ...own))}`)
  say('the same of the window around it', String(tasks.length - own.length))

  const after = await memory(workbench)
  say('heap above a panel of one line, after all that', `${(after.heapMb - before.heapMb).toFixed(1)} MB`)
  say('nodes above a panel of one line', `${after.nodes - before.nodes}`)

  const [log] = server.logs('exthost').filter((file) => file.endsWith('Coxswain.log'))
  const activated = /activated \{"ms":(\d+)\}/.exec(log === undefined ? '' : readFileSync(log, 'utf8'))?.[1]
  say('activation, our own part', `${activated ?? '?'} ms`)

  // Bounds that hold on any machine; the others are read beside the machine's own share.
  expect(after.heapMb - before.heapMb).toBeLessThan(60)
  expect(await frame.locator('.row').count()).toBeLessThan(200)
  await stopAll(home, repository)
})

/** Processor time of a process so far, in seconds. */
function cpuSeconds(pid: number): number {
  const [, rest = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
  const fields = rest.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

test('a panel that is hidden while its child speaks', async ({ workbench, home, repository }) => {
  const linesAtATime = 200
  let messages = 0
  let bytes = 0
  workbench.page.on('websocket', (socket) =>
    socket.on('framereceived', ({ payload }) => {
      messages += 1
      bytes += payload.length
    }),
  )
  await workbench.reload()
  await workbench.showContainer('Coxswain')
  await workbench.run('Coxswain: New child…')
  await workbench.answer('Recite')
  await workbench.pick('reciting')
  await workbench.pick('No contract')
  const panel = await showChild(workbench, 'Recite')
  writeFileSync(path.join(home.folder, 'begin'), '')
  await panel.locator('.row-text').first().waitFor()
  const account = readdirSync(home.folder).map((name) => path.join(home.folder, name, 'written'))
  const said = (): number => readFileSync(account.find(existsSync) ?? '', 'utf8').split('"type":"text"').length
  const pid = await workbench.extensionHostPid()

  /** What the window gets from the server, and what the extension host works, while so many lines are said. */
  const measured = async (): Promise<{ messages: number; bytes: number; cpu: number }> => {
    const before = { messages, bytes, cpu: cpuSeconds(pid), said: said() }
    await until('it has spoken on', () => said() >= before.said + linesAtATime)
    return { messages: messages - before.messages, bytes: bytes - before.bytes, cpu: cpuSeconds(pid) - before.cpu }
  }
  const shown = await measured()
  await workbench.run('File: New Untitled Text File')
  await panel.locator('.scroller').waitFor({ state: 'hidden' })
  const hidden = await measured()
  await workbench.run('View: Close All Editors')
  const none = await measured()
  for (const [what, of] of Object.entries({ shown, hidden, none }))
    say(
      `${linesAtATime} lines, panel ${what}`,
      `${of.messages} messages, ${(of.bytes / 1e3).toFixed(0)} kB, host ${of.cpu.toFixed(2)} s`,
    )
  const ratio = (a: number, b: number): string => (a / b).toFixed(2)
  say(
    'hidden beside none: messages, bytes, processor',
    [ratio(hidden.messages, none.messages), ratio(hidden.bytes, none.bytes), ratio(hidden.cpu, none.cpu)].join(', '),
  )
  // Holds on any machine: a hidden panel is told nothing of what its child says.
  expect(hidden.bytes - none.bytes).toBeLessThan((shown.bytes - none.bytes) / 2)
  writeFileSync(path.join(home.folder, 'end'), '')
  await stopAll(home, repository)
})
