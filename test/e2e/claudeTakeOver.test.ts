// A Claude Code child is taken over in a terminal of the window, and handed back.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { agentsFolder, installAgents } from '../../scripts/installAgents.mjs'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import { newChild, said } from './panelParts.js'

await installAgents()
const key = 'key-of-a-person'

const test = vscodeTest({
  settings: { 'coxswain.autonomy': 'edit' },
  env: (_home, models) => ({
    COXSWAIN_AGENTS_DIR: agentsFolder,
    ANTHROPIC_BASE_URL: models.url,
    ANTHROPIC_API_KEY: key,
    // What a person's own program looks for elsewhere does not get there.
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
  }),
})

test(
  'a child taken over in a terminal is paused, open there only, and goes on once handed back',
  { timeout: 240_000 },
  async ({ workbench, repository, home, models }) => {
    const input = {
      command: `touch '${repository.folder}-runs'; until [ -e never ]; do sleep 0.05; done`,
      description: 'wait',
    }
    models.script(key, { text: 'I look.', tools: [{ name: 'Bash', input }] }, { text: 'Went on.' })
    await workbench.showContainer('Coxswain')
    await newChild(workbench, 'Paint the hull', { agent: 'Claude Code' })
    const panel = workbench.webview()
    const request = panel.locator('.request').filter({ hasText: 'never' })
    await request.getByRole('button', { name: 'Allow once' }).click()
    await until('the tool runs', () => existsSync(`${repository.folder}-runs`))

    // What a person has answered the first time they ran it.
    const worktree = /^worktree (.*coxswain.*)$/m.exec(repository.git('worktree', 'list', '--porcelain'))?.[1] ?? ''
    const file = path.join(home.home, '.claude.json')
    const known = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    const projects = { [worktree]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } }
    const answered = { hasCompletedOnboarding: true, theme: 'dark', projects }
    const customApiKeyResponses = { approved: [key.slice(-20)], rejected: [] }
    writeFileSync(file, JSON.stringify({ ...known, ...answered, customApiKeyResponses }))

    const agents = () =>
      home.processes().filter(({ command }) => /[.]bin.claude/.test(command) && !/^(.*\/)?(sh|bash) /.test(command))
    await panel.getByRole('button', { name: 'Take over in terminal' }).click()
    await panel.locator('.phase').filter({ hasText: 'taken over in a terminal' }).waitFor()
    await until('it is open in the terminal, and nowhere else', () => {
      const commands = agents().map(({ command }) => command)
      return commands.length === 1 && / --resume [0-9a-f-]{36}$/.test(commands[0] ?? '')
    })
    await workbench.page.locator('.terminal-wrapper').first().waitFor()
    await workbench.screenshot('claude-taken-over')

    await panel.getByRole('button', { name: 'Hand back…' }).click()
    await workbench.answer('Now you again', 'A message is optional')
    await said(panel, 'Went on.').waitFor()
    await panel.locator('.phase').filter({ hasText: 'says it is done' }).waitFor()
    expect(JSON.stringify(models.requests(key)[1]?.body.messages)).toContain('Now you again')
    await until('nothing of it runs', () => agents().length === 0)
  },
)
