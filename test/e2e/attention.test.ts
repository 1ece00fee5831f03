// What reaches a person who looks elsewhere: one notification over all windows of a store, their own program, one count.
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { until } from './harness/until.js'
import { viewport, vscodeTest } from './harness/vscodeTest.js'
import { Workbench } from './harness/workbench.js'
import { coxswain, scriptedChild, showChild, stopAll } from './panelParts.js'

const test = vscodeTest({ env: () => ({ COXSWAIN_DEMO_PACE_MS: '20' }) })

/** A program that writes down what it was told; answers its path. */
function teller(folder: string): string {
  const program = path.join(folder, 'tell-me')
  writeFileSync(
    program,
    `#!/bin/sh\necho "$COXSWAIN_CHILD_ID $COXSWAIN_CHILD_TITLE: $COXSWAIN_CHILD_NEEDS" >> ${folder}/told\n`,
  )
  chmodSync(program, 0o755)
  return program
}

test('a question is told once over two windows, by a notification that looks again before it answers', async ({
  workbench,
  browser,
  server,
  repository,
  home,
}) => {
  const own = mkdtempSync(path.join(home.folder, 'attention-'))
  workbench.changeSettings({ 'coxswain.needsYouCommand': [teller(own)] })
  await workbench.reload()
  await workbench.showContainer('Coxswain')
  const context = await browser.newContext({ viewport })
  const second = new Workbench(await context.newPage(), server)
  await second.open(repository.folder)
  await second.showContainer('Coxswain')
  const gate = `${repository.folder}-asked`

  const id = await scriptedChild(home, repository, 'Ask around', [
    { ask: { tool: 'Bash', input: { command: 'make one' } } },
    { wait: { file: gate } },
    { ask: { tool: 'Write', input: { path: 'two' } } },
    { hang: 'here' },
  ])
  const toasts = (words: RegExp): Promise<number> =>
    Promise.all([workbench, second].map((each) => each.toast(words).count())).then(([a = 0, b = 0]) => a + b)
  await until('a window tells of it', async () => (await toasts(/Ask around.+wants to use Bash/)) > 0)
  for (const each of [workbench, second]) {
    await each.statusBarItem('1 needs you').waitFor()
    await expect.poll(() => each.treeText()).toMatch(/^Needs you, 1 child/)
    await each.viewContainer('Coxswain - 1 child needs you').waitFor()
  }
  await workbench.screenshot('attention')

  const speaker = (await workbench.toast(/wants to use Bash/).count()) > 0 ? workbench : second
  const request = async (): Promise<string> => {
    const [shown] = (await coxswain(home, repository, 'show', id)) as { requests: { request_id: string }[] }[]
    return shown?.requests[0]?.request_id ?? ''
  }
  await coxswain(home, repository, 'answer', await request(), '--allow')
  writeFileSync(gate, '')
  await until('the second question is told', async () => (await toasts(/Ask around.+wants to use Write/)) > 0)
  await speaker
    .toast(/wants to use Bash/)
    .getByRole('button', { name: 'Answer…' })
    .click()
  await speaker.toast(/is not waiting for that answer any more/).waitFor()
  expect(await toasts(/Ask around.+wants to use Bash/)).toBeLessThanOrEqual(1)

  const log = path.join(own, 'told')
  await until(
    'the program was run for both',
    () => existsSync(log) && readFileSync(log, 'utf8').split('\n').length === 3,
  )
  expect(readFileSync(log, 'utf8')).toBe(`${id} Ask around: wants to use Bash\n${id} Ask around: wants to use Write\n`)
  await context.close()
  await stopAll(home, repository)
})

test('a child before the person’s eyes is not told of', async ({ workbench, repository, home }) => {
  await workbench.showContainer('Coxswain')
  const gate = `${repository.folder}-watched`
  await scriptedChild(home, repository, 'Watched', [
    { say: 'Here.' },
    { wait: { file: gate } },
    { ask: { tool: 'Bash', input: { command: 'make it' } } },
    { hang: 'here' },
  ])
  await scriptedChild(home, repository, 'Unwatched', [
    { wait: { file: gate } },
    { ask: { tool: 'Bash', input: { command: 'make that' } } },
    { hang: 'here' },
  ])
  await expect.poll(() => workbench.treeText()).toMatch(/^Working, 2 children/)
  const panel = await showChild(workbench, 'Watched')
  await panel.locator('.row-text').getByText('Here.').waitFor()
  writeFileSync(gate, '')
  await workbench.toast(/“Unwatched” wants to use Bash/).waitFor()
  await panel.locator('.request').getByText('make it').waitFor()
  expect(await workbench.toast(/“Watched”/).count()).toBe(0)
  await workbench.statusBarItem('2 need you').waitFor()
  await workbench.statusBarItem('2 need you').hover()
  await workbench.page.locator('.monaco-hover').getByRole('link', { name: 'Answer…' }).first().waitFor()
  await workbench.screenshot('attention-hover')
  await stopAll(home, repository)
})
