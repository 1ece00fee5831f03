// Claude Code as a parent: its real program with our server in its configuration, as a person connects it.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { agentsFolder } from '../../scripts/installAgents.mjs'
import { writeUserLauncher } from '../../src/supervisor/launcher'
import { dist, eventually, script } from '../process/supervisor/stage'
import { ClaudeStage, key } from './claudeStage'

const executable = join(agentsFolder, 'claude/node_modules/.bin/claude')
const tool = 'mcp__coxswain__delegate_task'

let claude: ClaudeStage
beforeEach(async () => {
  claude = await ClaudeStage.make()
})
afterEach(async () => {
  await claude.stage.clear()
  await claude.models.finish()
})

/** What the nth request told the model last; it quotes our JSON. */
const heard = (n: number): string => claude.last(n).join('\n').replaceAll('\\"', '"')

/** One print-mode run with the server in its configuration. */
async function ask(prompt: string): Promise<void> {
  const { stage } = claude
  const launcher = await writeUserLauncher(stage.environment, dist, '')
  const servers = { coxswain: { type: 'stdio', command: launcher, args: ['mcp', '--session', 'desk'] } }
  const flags = ['--strict-mcp-config', '--mcp-config', JSON.stringify({ mcpServers: servers }), '--allowedTools', tool]
  const running = promisify(execFile)(executable, ['-p', ...flags, '--', prompt], {
    cwd: stage.repo,
    env: stage.environment,
  })
  running.child.stdin?.end()
  await running
}

it('is offered the one tool, dispatches with it, goes on at once, and reads the completion with a later answer', async () => {
  const { stage, models } = claude
  let settled: () => void = () => undefined
  const childIsOver = new Promise<void>((resolve) => (settled = resolve))
  claude.script(
    { tools: [{ name: tool, input: { goal: script({ say: 'one' }, stage.waits('go')), agent: 'demo' } }] },
    { gate: childIsOver, tools: [{ name: tool, input: { action: 'list' } }] },
    { text: 'Heard.' },
  )
  const asked = ask('Let somebody look at it.')
  const id = await eventually(() => stage.left().children[0], 'the child is dispatched', 30_000)
  // The second request is there while the child still works: the spawn did not wait for it.
  await eventually(() => models.requests(key).length === 2, 'it goes on')
  stage.open('go')
  await stage.settled(id)
  settled()
  await asked
  expect(claude.requests()[0]?.body.tools?.map(({ name }) => name)).toContain(tool)
  expect(heard(1)).toContain('"status":"dispatched"')
  expect(heard(2)).toMatch(new RegExp(`Completion \\S+: 1 child is through[^]*${id}[^]*SUCCESS \\(claimed\\)`))
  expect((await stage.child(id)).parentSession).toMatch(/^mcp:/)
})

it('started again steers the child of its former run', async () => {
  const { stage } = claude
  claude.script(
    {
      tools: [
        { name: tool, input: { goal: script({ say: 'one' }, stage.waits('go'), { say: 'two' }), agent: 'demo' } },
      ],
    },
    { text: 'Started.' },
  )
  await ask('Start it.')
  const [id = ''] = stage.left().children
  claude.script(
    { tools: [{ name: tool, input: { action: 'steer', subagent_id: id, message: 'Open b.js.' } }] },
    { text: 'Steered.' },
  )
  await ask('Steer it.')
  expect(heard(3)).toContain('"status":"queued"')
  stage.open('go')
  const { steers, phase } = await stage.settled(id)
  expect([phase, steers[0]?.state]).toEqual(['SUCCESS', 'confirmed'])
})
