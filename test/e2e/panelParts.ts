// What the panel's tests share: children dispatched from a terminal into the same store as the window's, with a script
// for the demo agent, and the transcript as it stands on the page.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { FrameLocator, Locator } from 'playwright-core'
import { coxswain, stopAll } from './harness/commandLine.js'
import type { Repository } from './harness/repository.js'
import type { TestHome } from './harness/testHome.js'
import { until } from './harness/until.js'
import type { Workbench } from './harness/workbench.js'

export { coxswain, stopAll }

/** Begins a dispatch by keyboard alone: the goal, the agent, and what is picked where the contract is asked for. */
export async function newChild(
  workbench: Workbench,
  goal: string,
  { agent = 'Demo agent', contract = 'No contract' } = {},
): Promise<void> {
  await workbench.run('Coxswain: New child…')
  await workbench.answer(goal)
  await workbench.pick(agent)
  await workbench.pick(contract)
}

/** Dispatches a child that follows a script; returns its id. */
export async function scriptedChild(
  home: TestHome,
  repository: Repository,
  title: string,
  steps: readonly object[],
  more: object = {},
): Promise<string> {
  const goal = `${title}\n\n\`\`\`demo\n${JSON.stringify(steps)}\n\`\`\``
  const task = path.join(home.folder, `task-${Date.now()}.json`)
  writeFileSync(task, JSON.stringify({ tasks: [{ goal, title, agent: 'demo', ...more }] }))
  const [handle] = await coxswain(home, repository, 'run', '--task', task, '--detach')
  const id = (handle as { subagent_ids?: string[] }).subagent_ids?.[0]
  if (id === undefined) throw new Error(`no child: ${JSON.stringify(handle)}`)
  return id
}

/** What the child has said so far, in order, time and prompt left out. */
export const said = (panel: FrameLocator, text: string): Locator =>
  panel.locator('.row-text').getByText(text, { exact: true })

/** The transcript's rows now on the page, one string each, times left out. */
export async function rowsOf(panel: FrameLocator): Promise<string[]> {
  const texts = await panel.locator('.row:not(.nothing)').allInnerTexts()
  return texts.map((text) =>
    text
      .replace(/\d\d:\d\d:\d\d/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  )
}

/** Shows a child's transcript by a click on its row. */
export async function showChild(workbench: Workbench, title: string): Promise<FrameLocator> {
  const row = workbench.row(new RegExp(title))
  await row.waitFor()
  const panel = workbench.webview()
  await until(`the panel shows "${title}"`, async () => {
    // A row that moves between the press of the button and its release takes no click.
    await row.click({ timeout: 3_000 })
    await panel.getByRole('heading', { level: 1, name: title }).waitFor({ timeout: 5_000 })
    return true
  })
  return panel
}

/**
 * Waits until the window's layout is stored with this text in it. VS Code's web client writes the state of its editors to
 * the browser's database every few seconds, and a reloaded panel comes back from what was written.
 */
export async function layoutSaved(workbench: Workbench, text: string): Promise<void> {
  await until(`the stored layout holds "${text}"`, () => workbench.page.evaluate<boolean>(lookIntoState(text)))
}

/** As text: it runs in the page, whose types this project does not have. */
const lookIntoState = (text: string): string => `(async () => {
  for (const { name } of await indexedDB.databases()) {
    const db = await new Promise((resolve, reject) => {
      const opening = indexedDB.open(name)
      opening.onsuccess = () => resolve(opening.result)
      opening.onerror = reject
    })
    try {
      for (const store of db.objectStoreNames) {
        const values = await new Promise((resolve) => {
          const all = db.transaction(store).objectStore(store).getAll()
          all.onsuccess = () => resolve(all.result)
        })
        if (JSON.stringify(values).includes(${JSON.stringify(text)})) return true
      }
    } finally {
      db.close()
    }
  }
  return false
})()`
