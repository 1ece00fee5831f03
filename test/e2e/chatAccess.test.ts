// What the editor's chat is offered: the tool, or the MCP server instead of it, as VS Code itself sees them.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import type { TestHome } from './harness/testHome.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import type { Workbench } from './harness/workbench.js'

const answersFile = (home: TestHome) => path.join(home.folder, 'answers.jsonl')
const test = vscodeTest({
  sample: true,
  // VS Code shows its MCP servers only with its own chat.
  settings: { 'chat.disableAIFeatures': false, 'coxswain.chatAccess': 'mcp' },
  env: (home) => ({ COXSWAIN_SAMPLE_ANSWERS: answersFile(home) }),
})

const answers = (home: TestHome): unknown[] => {
  try {
    return readFileSync(answersFile(home), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
  } catch {
    return []
  }
}

/** What VS Code answers to a command of the sample extension. */
async function answered(home: TestHome, wish: () => Promise<void>): Promise<unknown> {
  const before = answers(home).length
  await wish()
  return await until('it has answered', () => answers(home)[before])
}

const callTool = (workbench: Workbench, home: TestHome, confirmed = false) =>
  answered(home, async () => {
    await workbench.run('Sample: Call delegate_task')
    await workbench.answer('{"action":"list"}')
    if (!confirmed) return
    await workbench.dialog.waitFor()
    await workbench.screenshot('mcp-confirms')
    await workbench.answerDialog('Yes')
  })

/** The MCP servers VS Code knows of; leaves their list open. */
async function servers(workbench: Workbench): Promise<string> {
  await workbench.run('MCP: List Servers')
  await workbench.quickPickRows.first().waitFor()
  return (await workbench.quickPickRows.allInnerTexts()).join('\n')
}

test('the MCP server is offered instead of the tool, and never beside it', async ({ workbench, home }) => {
  // VS Code lists every tool of a manifest; one that is not offered has nobody who answers. A slow window reads its
  // settings after it has begun.
  const refusal = await until('the tool is not offered', async () => {
    const said = await callTool(workbench, home)
    return Array.isArray(said) ? undefined : said
  })
  expect(refusal).toEqual({ refused: expect.stringMatching(/delegate_task/) })
  await until('VS Code knows the server', async () => {
    const names = await servers(workbench)
    if (names.includes('Coxswain')) return true
    await workbench.page.keyboard.press('Escape')
    return false
  })
  await workbench.pick('Coxswain')
  await workbench.pick('Start Server')
  await until('its tool is offered', async () => {
    const names = await answered(home, () => workbench.run('Sample: List tools'))
    return (names as string[]).includes('mcp_coxswain_delegate_task')
  })
  const [served = ''] = (await callTool(workbench, home, true)) as string[]
  expect(JSON.parse(served)).toMatchObject({ action: 'list', count: 0 })

  workbench.changeSettings({ 'coxswain.chatAccess': 'tool' })
  await workbench.reload()
  const own = await until('the tool answers in the reloaded window', async () => {
    const said = await callTool(workbench, home)
    return Array.isArray(said) ? String(said[0]) : undefined
  })
  expect(JSON.parse(own)).toMatchObject({ action: 'list', count: 0 })
  expect(await servers(workbench)).not.toContain('Coxswain')
})
