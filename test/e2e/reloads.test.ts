// What a reloaded window may not change: the fate of a steer, and one byte of what children say. The children are agents
// that keep their own account; record and panel are held against it. COXSWAIN_RELOADS makes the second test longer.
import { readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FrameLocator } from 'playwright-core'
import { expect } from 'vitest'
import type { Child } from '../../src/core/child.js'
import type { TranscriptEntry } from '../../src/core/transcript.js'
import { attemptFiles, segmentName, segmentStarts } from '../../src/process/attemptFiles.js'
import { defaultStore, storePaths, type StorePaths } from '../../src/record/paths.js'
import { followStore } from '../../src/supervisor/followStore.js'
import type { Repository } from './harness/repository.js'
import type { TestHome } from './harness/testHome.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import type { Workbench } from './harness/workbench.js'
import { newChild, showChild } from './panelParts.js'

const reloads = Number(process.env['COXSWAIN_RELOADS'] ?? 10)
const childCount = 9

const agent = (name: string) => ({
  kind: 'commandLine',
  command: ['node', fileURLToPath(new URL(`../fixtures/agents/${name}.mjs`, import.meta.url))],
  protocol: 'lines',
  environment: ['LATCHES'],
})

const test = vscodeTest({
  env: (home) => ({ LATCHES: home.folder }),
  settings: {
    'coxswain.agents': { latched: agent('latched'), reciting: agent('reciting') },
    // One more: a child that another test left behind takes no room of these.
    'coxswain.maxChildrenTotal': childCount + 1,
    'coxswain.maxChildrenPerParent': childCount,
  },
})

test('through reloads, a pause and a resume the panel tells of every steer what the record and the child tell', async ({
  workbench,
  repository,
  home,
}) => {
  const store = storeOf(home, repository)
  await workbench.showContainer('Coxswain')
  await newChildOf(workbench, 'latched', 'Sound the channel')
  const { id } = await until('the child is in the record', async () => (await children(store))[0])
  const open = (latch: string) => writeFileSync(path.join(home.folder, id, latch), '')
  const own = (file: string) => readFileSync(path.join(home.folder, id, file), 'utf8')
  const record = async () => waysOf((await children(store))[0])
  let panel = await showChild(workbench, 'Sound the channel')
  const agree = async (expected: readonly string[]): Promise<void> => {
    await expect.poll(record).toEqual(expected)
    await expect.poll(() => shownWays(panel)).toEqual(expected)
  }
  await until('the child runs', () => own('prompt-1.md'))

  for (const text of ['Alpha.', 'Bravo.', 'Charlie.', 'Delta.', 'Echo.']) await send(panel, text)
  await agree(['Alpha.: queued', 'Bravo.: queued', 'Charlie.: queued', 'Delta.: queued', 'Echo.: queued'])

  await panel.getByRole('button', { name: '3 earlier steers' }).click()
  await waitingSteer(panel, 'Bravo.').getByRole('button', { name: 'Edit' }).click()
  await panel.locator('.waiting textarea').fill('Bravo, mended.')
  await panel.locator('.waiting textarea').press('Enter')
  await waitingSteer(panel, 'Bravo, mended.').waitFor()
  await waitingSteer(panel, 'Charlie.').getByRole('button', { name: 'Withdraw' }).click()
  const queued = [
    'Alpha.: queued',
    'Bravo, mended.: queued',
    'Charlie.: queued → withdrawn',
    'Delta.: queued',
    'Echo.: queued',
  ]
  await agree(queued)
  await workbench.reload()
  await workbench.showContainer('Coxswain')
  panel = await showChild(workbench, 'Sound the channel')
  await agree(queued)

  open('ready-1')
  const sent = queued.map((way) => (way.endsWith('queued') ? `${way} → sent` : way))
  await agree(sent)
  open('take-1')
  await agree(sent.map((way, n) => (n < 2 ? `${way} → delivered` : way)))
  open('speak-1')
  const confirmed = sent.map((way, n) => (n < 2 ? `${way} → delivered → confirmed` : way))
  await agree(confirmed)
  expect(own('read.txt')).toBe('Alpha.\nBravo, mended.\n')

  await panel.getByRole('button', { name: 'Pause' }).click()
  await panel.locator('.phase').filter({ hasText: 'paused' }).waitFor()
  const missed = confirmed.map((way) => (way.endsWith('sent') ? `${way} → missed` : way))
  await agree(missed)

  await send(panel, 'Foxtrot: the western channel.')
  const carried = missed.map((way) => (way.endsWith('missed') ? `${way} → sent` : way))
  await agree(carried)
  await until('the second attempt runs', () => own('prompt-2.md'))
  expect(
    own('prompt-2.md')
      .match(/Alpha|Bravo|Charlie|Delta|Echo|Foxtrot/g)
      ?.sort(),
  ).toEqual(['Delta', 'Echo', 'Foxtrot'])
  await workbench.reload()
  await workbench.showContainer('Coxswain')
  panel = await showChild(workbench, 'Sound the channel')
  await agree(carried)
  open('ready-2')
  open('speak-2')
  const read = carried.map((way) => (way.endsWith('missed → sent') ? `${way} → delivered → confirmed` : way))
  await agree(read)

  await send(panel, 'Golf, unread.')
  await agree([...read, 'Golf, unread.: queued → sent'])
  open('end-2')
  await panel.locator('.missed').getByText('1 steer was missed').waitFor()
  await agree([...read, 'Golf, unread.: queued → sent → missed'])
  expect(own('read.txt')).toBe('Alpha.\nBravo, mended.\n')
})

test(
  `${childCount} children at work through ${reloads} reloads: no byte is lost, nothing told twice`,
  { timeout: 120_000 + reloads * 30_000 },
  async ({ workbench, repository, home }) => {
    const store = storeOf(home, repository)
    await workbench.showContainer('Coxswain')
    for (let n = 1; n <= childCount; n += 1) await newChildOf(workbench, 'reciting', `Recite number ${n}`)
    rmSync(path.join(home.folder, 'end'), { force: true })
    writeFileSync(path.join(home.folder, 'begin'), '')
    await until('every child speaks', async () => {
      const all = await children(store)
      return all.length === childCount && all.every((child) => written(home, child).includes('Line 3'))
    })

    for (let n = 0; n < reloads; n += 1) {
      const before = await entryCount(store)
      await workbench.reload()
      await workbench.showContainer('Coxswain')
      // The new window holds the children once what they say goes on to reach the record.
      await until('the record goes on', async () =>
        (await entryCount(store)).every((count, i) => count > (before[i] ?? 0)),
      )
      await expect.poll(() => workbench.treeText()).toMatch(new RegExp(`^Working, ${childCount} children`))
    }

    writeFileSync(path.join(home.folder, 'end'), '')
    await until('every child has ended', async () =>
      (await children(store)).every((child) => child.phase === 'SUCCESS'),
    )
    let bytes = 0
    const ended = await children(store)
    for (const child of ended) {
      const own = written(home, child)
      bytes += own.length
      expect(child.attempts.length).toBe(1)
      expect(rawOutput(store, child).equals(own), `${child.title}: raw output`).toBe(true)
      const entries = await transcript(store, child)
      expect(entries.map((entry) => entry.n)).toEqual(entries.map((_, n) => n))
      expect(entries.flatMap(spoken)).toEqual(linesOf(own))
    }

    await showChild(workbench, 'Recite number 5')
    const shown = ended.find((child) => child.title === 'Recite number 5')
    const entries = shown === undefined ? [] : await transcript(store, shown)
    expect(await shownEntries(workbench, entries.length)).toEqual(
      entries.map((entry) => (entry.kind === 'text' ? entry.text : entry.kind)),
    )
    console.log(`${childCount} children, ${reloads} reloads: ${bytes} bytes, ${entries.length} entries in the panel`)
  },
)

/** Dispatches a child of an agent of this file; the row's click shows its panel. */
async function newChildOf(workbench: Workbench, agentId: string, goal: string): Promise<void> {
  await newChild(workbench, goal, { agent: agentId })
  await workbench.row(new RegExp(goal)).waitFor()
}

/** Types a message and sends it; over when the input is empty, which says that it is on disk. */
async function send(panel: FrameLocator, text: string): Promise<void> {
  const input = panel.getByLabel('Steer this child')
  await input.fill(text)
  await input.press('Enter')
  await expect.poll(() => input.inputValue()).toBe('')
}

const waitingSteer = (panel: FrameLocator, text: string) =>
  panel.locator('.waiting .steer-line').filter({ hasText: text })

const storeOf = (home: TestHome, { folder }: Repository): StorePaths =>
  storePaths(defaultStore(home.store, realpathSync(path.join(folder, '.git'))))

/** Every child as its log on disk folds now, by title. */
async function children(store: StorePaths): Promise<readonly Child[]> {
  const view = await followStore(store)
  try {
    return view
      .list()
      .map(({ child }) => child)
      .sort((a, b) => a.title.localeCompare(b.title))
  } finally {
    view.dispose()
  }
}

async function transcript(store: StorePaths, { id }: Child): Promise<readonly TranscriptEntry[]> {
  const view = await followStore(store)
  try {
    return await view.entries(id, 0, Number.MAX_SAFE_INTEGER)
  } finally {
    view.dispose()
  }
}

/** Entries per child. */
async function entryCount(store: StorePaths): Promise<readonly number[]> {
  const view = await followStore(store)
  try {
    return [...view.list()].sort((a, b) => a.child.title.localeCompare(b.child.title)).map((one) => one.entryCount)
  } finally {
    view.dispose()
  }
}

/** Each steer's text and the states it went through. */
const waysOf = (child: Child | undefined): readonly string[] =>
  (child?.steers ?? []).map(({ text, history }) => `${text}: ${history.map(({ state }) => state).join(' → ')}`)

/** The same as the panel tells it, times and kinds of proof left out. */
async function shownWays(panel: FrameLocator): Promise<readonly string[]> {
  const cards = await panel.locator('.card.steer').all()
  return Promise.all(
    cards.map(async (card) => {
      const way = await card.locator('.receipt-times').innerText()
      const states = way.split(' → ').map((word) => word.split(' ')[0])
      expect(await card.locator('.state').innerText()).toBe(states.at(-1))
      return `${await card.locator('.prose').innerText()}: ${states.join(' → ')}`
    }),
  )
}

/** What the child says it wrote. */
const written = (home: TestHome, { id }: Child): Buffer => readFileSync(path.join(home.folder, id, 'written'))

function rawOutput(store: StorePaths, { id }: Child): Buffer {
  const { raw } = attemptFiles(store.child(id).attempt(1).folder)
  const starts = segmentStarts(readdirSync(raw), 'stdout')
  return Buffer.concat(starts.map((start) => readFileSync(path.join(raw, segmentName('stdout', start)))))
}

/** What an entry holds of the child's own words. */
function spoken(entry: TranscriptEntry): readonly string[] {
  if (entry.kind === 'text') return [entry.text]
  if (entry.kind === 'toolStarted') return [`${entry.toolId} ${JSON.stringify(entry.input)}`]
  if (entry.kind === 'toolEnded') return [`${entry.toolId} ${entry.output}`]
  return []
}

/** The same from the lines that the child wrote. */
const linesOf = (bytes: Buffer): readonly string[] =>
  bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>)
    .flatMap((line) => {
      if (line['type'] === 'text') return [line['text'] ?? '']
      if (line['type'] === 'tool_started') return [`${line['id']} ${JSON.stringify(line['input'])}`]
      if (line['type'] === 'tool_ended') return [`${line['id']} ${line['output']}`]
      return []
    })

/** Every row of the panel from the first to the last, a text as it reads and anything else by its kind, by entry number. */
async function shownEntries(workbench: Workbench, count: number): Promise<readonly string[]> {
  const frame = await workbench.webviewFrame()
  const shown: string[] = []
  await frame.evaluate("document.querySelector('.scroller').scrollTop = 0")
  while (shown.length < count) {
    const rows = await until(`rows up to and past ${shown.length}`, async () => {
      const now = await frame.evaluate<{ n: number | null; kind: string; text: string }[]>(rowsInView)
      return now.every(({ n }) => n !== null) && now.some(({ n }) => n === shown.length) ? now : undefined
    })
    const first = rows[0]?.n ?? 0
    expect(rows.map(({ n }) => n)).toEqual(rows.map((_, i) => first + i))
    for (const { kind, text } of rows.slice(shown.length - first)) shown.push(kind === 'text' ? text : kind)
    await frame.evaluate(oneViewOn)
  }
  return shown
}

/** As text: they run in the page. */
const oneViewOn =
  "(() => { const scroller = document.querySelector('.scroller'); scroller.scrollTop += scroller.clientHeight })()"
const rowsInView = `[...document.querySelectorAll('.scroller .row')].map((row) => ({
  n: row.dataset.vscodeContext === undefined ? null : JSON.parse(row.dataset.vscodeContext).n,
  kind: /row-(\\w+)/.exec(row.className)[1],
  text: row.innerText.trim(),
}))`
