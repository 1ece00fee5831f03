// The real agent in the real window, all the way: two Claude Code children side by side on one repository, their model a
// loopback server.
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { FrameLocator } from 'playwright-core'
import { expect } from 'vitest'
import { agentsFolder, installAgents } from '../../scripts/installAgents.mjs'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import type { Workbench } from './harness/workbench.js'
import { newChild, said, showChild } from './panelParts.js'

await installAgents()

const test = vscodeTest({
  settings: { 'coxswain.autonomy': 'edit' },
  env: (_home, models) => ({
    COXSWAIN_AGENTS_DIR: agentsFolder,
    ANTHROPIC_BASE_URL: models.url,
    ANTHROPIC_API_KEY: 'key',
    HTTPS_PROXY: models.url,
    HTTP_PROXY: models.url,
    NO_PROXY: '127.0.0.1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
  }),
})

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'a command' } })

async function newClaude(workbench: Workbench, goal: string, file: string): Promise<FrameLocator> {
  await newChild(workbench, goal, { agent: 'Claude Code', contract: 'Light contract…' })
  await workbench.answer(file, 'Files it must deliver')
  const panel = workbench.webview()
  await panel.getByRole('heading', { level: 1, name: goal }).waitFor()
  return panel
}

async function allow(panel: FrameLocator, words: string): Promise<void> {
  const request = panel.locator('.request').filter({ hasText: words })
  await request.getByRole('button', { name: 'Allow once' }).click()
  await request.waitFor({ state: 'detached' })
}

async function steer(panel: FrameLocator, words: string): Promise<void> {
  const input = panel.getByLabel('Steer this child')
  await input.fill(words)
  await input.press('Enter')
  await panel.locator('.waiting .steer-line').filter({ hasText: words }).locator('.state').getByText('sent').waitFor()
}

test(
  'two children are steered, asked, paused, corrected and verified, across a reload',
  { timeout: 240_000 },
  async ({ workbench, repository, home, models }) => {
    models.clientOf = ({ messages }) => {
      const text = JSON.stringify(messages)
      return text.includes('Paint the hull') ? 'hull' : text.includes('Paint the mast') ? 'mast' : undefined
    }
    const times = (client: string, n: number, words: string) =>
      JSON.stringify(models.requests(client)[n]?.body.messages ?? []).split(words).length - 1
    const latch = (name: string) => path.join(home.folder, `latch-${name}`)
    const open = (name: string) => writeFileSync(latch(name), '')
    const waits = (name: string) =>
      bash(`touch '${latch(name)}-runs'; until [ -e '${latch(name)}' ]; do sleep 0.05; done`)
    const runs = (name: string) => until(`the tool ${name} runs`, () => existsSync(`${latch(name)}-runs`))
    const commit = (file: string, words: string) =>
      bash(`echo ${words} > ${file} && git add . && git commit -qm ${words}`)
    models.script(
      'hull',
      { text: 'I look at the hull.', tools: [waits('hull')] },
      { text: 'Blue it is.', tools: [commit('hull.md', 'Blue-hull')] },
      { text: 'The hull is done.' },
    )
    models.script(
      'mast',
      { text: 'I look at the mast.', tools: [waits('mast')] },
      { text: 'Green it is.', tools: [waits('paint')] },
      { text: 'Taller, then.', tools: [commit('mast.md', 'Tall-mast')] },
      { text: 'The mast is done.' },
    )

    await workbench.showContainer('Coxswain')
    let panel = await newClaude(workbench, 'Paint the hull', 'hull.md')
    await allow(panel, 'latch-hull')
    await runs('hull')
    panel = await newClaude(workbench, 'Paint the mast', 'mast.md')
    await allow(panel, 'latch-mast')
    await runs('mast')

    // Both tools run; each child is steered, and nothing is cut.
    await steer(panel, 'MARKER green')
    panel = await showChild(workbench, 'Paint the hull')
    await steer(panel, 'MARKER blue')
    await workbench.screenshot('claude-both-steered')
    open('hull')
    open('mast')
    await panel.locator('.card.steer .state').filter({ hasText: 'confirmed' }).waitFor()
    await said(panel, 'Blue it is.').waitFor()
    panel = await showChild(workbench, 'Paint the mast')
    await panel.locator('.card.steer .state').filter({ hasText: 'confirmed' }).waitFor()
    await said(panel, 'Green it is.').waitFor()
    expect([times('hull', 1, 'MARKER blue'), times('hull', 1, 'MARKER green')]).toEqual([1, 0])
    expect([times('mast', 1, 'MARKER green'), times('mast', 1, 'MARKER blue')]).toEqual([1, 0])

    // What is allowed for good stands in its head, and is taken back there.
    await panel
      .locator('.request')
      .filter({ hasText: 'latch-paint' })
      .getByRole('button', { name: 'Allow for this child' })
      .click()
    await runs('paint')
    await panel.locator('.facts').getByText('1 permission').waitFor()
    await panel.getByRole('heading', { level: 1, name: 'Paint the mast' }).click()
    await panel.getByText(/^May do unasked: Bash, exactly: touch .+latch-paint/).waitFor()
    await workbench.screenshot('claude-permission')
    await panel.getByRole('button', { name: 'Take back' }).click()
    await panel.locator('.facts').getByText('1 permission').waitFor({ state: 'detached' })
    await panel.getByText(/A permission was taken back: it asks again/).waitFor()
    await panel.getByRole('heading', { level: 1, name: 'Paint the mast' }).click()

    // One is paused in the middle of its tool and goes on with a correction.
    await panel.getByRole('button', { name: 'Pause' }).click()
    await panel.locator('.phase').filter({ hasText: 'paused' }).waitFor()
    await workbench.screenshot('claude-paused')
    await workbench.run('Coxswain: Resume')
    await workbench.pick('Paint the mast')
    await workbench.answer('CORRECTION taller', 'A message is optional')
    await panel.locator('.request').filter({ hasText: 'Tall-mast' }).waitFor()
    expect([times('mast', 2, 'CORRECTION'), times('mast', 2, 'MARKER green')]).toEqual([1, 1])

    // The window goes while both wait for an answer; the next one has both questions.
    await workbench.reload()
    await workbench.showContainer('Coxswain')
    for (const [title, file, words] of [
      ['Paint the hull', 'hull.md', 'Blue-hull'],
      ['Paint the mast', 'mast.md', 'Tall-mast'],
    ] as const) {
      panel = await showChild(workbench, title)
      await allow(panel, words)
      await panel.locator('.phase').filter({ hasText: 'succeeded, verified' }).waitFor()
      const pattern = `coxswain/${title.toLowerCase().replaceAll(' ', '-')}*`
      const branch = repository.git('branch', '--list', '--format=%(refname:short)', pattern)
      expect(repository.git('log', '--format=%s', `main..${branch}`)).toBe(words)
      expect(repository.git('show', `${branch}:${file}`)).toBe(words)
    }
    await expect.poll(() => workbench.treeText()).toMatch(/Ready for review, 2 children/)
    await workbench.screenshot('claude-both-verified')
    expect(repository.git('status', '--porcelain')).toBe('')
    await until('nothing of them runs', () =>
      home.processes().every(({ command }) => !/[.]bin.claude|keeper-[0-9a-f]+[.]js|latch-/.test(command)),
    )
  },
)
