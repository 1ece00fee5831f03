// A parent agent, an orchestrator below it that speaks to its own `coxswain mcp`, and what that one dispatched: three floors
// of real processes, each with its own tree and no other.
import { resolve } from 'node:path'
import { readFileSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { eventually, script, Stage } from '../supervisor/stage'
import { Parent } from './client'

let stage: Stage
let parent: Parent | undefined
afterEach(async () => {
  await parent?.close()
  parent = undefined
  await stage.clear()
})

const sdk = resolve('node_modules/@modelcontextprotocol/sdk/dist/esm/client')

/** First turn: dispatches over MCP and says what it saw; with "hold" in its goal it then stays at work. Later: what it was told. */
const orchestrator = () => `
  import { readFileSync } from 'node:fs'
  import { Client } from '${sdk}/index.js'
  import { StdioClientTransport } from '${sdk}/stdio.js'
  const say = (line) => console.log(JSON.stringify(line))
  const prompt = readFileSync(process.env.COXSWAIN_PROMPT_FILE, 'utf8')
  say({ type: 'ready', session_id: process.env.COXSWAIN_SESSION_ID })
  if (process.env.COXSWAIN_RESUME) {
    say({ type: 'text', text: prompt })
    say({ type: 'result', ok: true, summary: 'heard' })
  } else {
    const client = new Client({ name: 'orchestrator', version: '1' })
    await client.connect(new StdioClientTransport({ command: process.env.COXSWAIN_CLI, args: ['mcp'], env: process.env }))
    const call = async (input) =>
      JSON.parse((await client.callTool({ name: 'delegate_task', arguments: input })).content[0].text)
    const goals = ${JSON.stringify(['one', 'two'].map((name) => script(stage.waits(name), { say: name })))}
    const handle = await call({ tasks: goals.map((goal) => ({ goal, agent: 'demo' })) })
    const { subagents } = await call({ action: 'list' })
    const itself = await call({ action: 'stop', subagent_id: process.env.COXSWAIN_CHILD_ID })
    say({
      type: 'text',
      text: JSON.stringify({
        ids: handle.subagent_ids,
        mode: handle.mode,
        seen: subagents.map((each) => [each.subagent_id, each.parent_id]),
        itself: itself.error?.code,
      }),
    })
    if (prompt.includes('hold')) setInterval(() => 0, 1000)
    else {
      await client.close()
      say({ type: 'result', ok: true, summary: 'handed out' })
    }
  }`

async function begun(goal: string): Promise<{ parent: Parent; top: string; below: [string, string] }> {
  const agents = JSON.parse(readFileSync(stage.agents(orchestrator()), 'utf8'))
  const settings = { orchestratorEnabled: true, maxSpawnDepth: 2, maxChildrenTotal: 9, agents }
  stage.file(JSON.stringify(settings), 'd/settings.json')
  const connected = await Parent.connect(stage)
  parent = connected
  const top = await connected.spawn(goal, { agent: 'kid', role: 'orchestrator' })
  const said = JSON.parse(await eventually(() => stage.said(top)[0], 'it has dispatched', 30_000))
  const [one, two] = said.ids as [string, string]
  expect(said).toEqual({
    ids: [one, two],
    mode: 'background',
    seen: expect.arrayContaining([
      [one, top],
      [two, top],
    ]),
    itself: 'unknown_child',
  })
  expect(said.seen).toHaveLength(2)
  return { parent: connected, top, below: [one, two] }
}

it('each sees its own tree; steered and told of its children, the orchestrator goes on between its turns', async () => {
  stage = Stage.make()
  const { parent, top, below } = await begun('Hand out.')
  await stage.until(top, 'waiting for its children', ({ delegating }) => delegating)
  const { answer } = await parent.call({ action: 'list' })
  expect(
    answer.subagents
      .map((row: { subagent_id: string; parent_id: string | null }) => [row.subagent_id, row.parent_id])
      .sort(),
  ).toEqual([[top, null], ...below.map((id) => [id, top])].sort())
  for (const id of below) expect((await stage.child(id)).parentSession).toBe(`child:${top}`)

  const steered = await parent.call({ action: 'steer', subagent_id: top, message: 'Mind the tide.' })
  expect(steered.answer.status).toBe('queued')
  await stage.until(top, 'waiting again', (child) => child.delegating && child.attempts.length === 2)
  expect(stage.said(top)[1]).toContain('Mind the tide.')

  stage.open('one')
  await stage.settled(below[0])
  expect((await stage.child(top)).attempts).toHaveLength(2)
  stage.open('two')
  const child = await stage.settled(top)
  expect([child.phase, child.round, child.attempts.map(({ reason }) => reason)]).toEqual([
    'SUCCESS',
    1,
    ['first', 'wake', 'wake'],
  ])
  const told = stage.said(top)[2] ?? ''
  expect(told.match(/^\| id \| title \| phase/gm)).toHaveLength(1)
  for (const id of below) expect(told.split(`| ${id} |`)).toHaveLength(2)
  // What was told below is not told above.
  const { due } = await parent.call({ action: 'list' })
  expect(due).toHaveLength(1)
  expect([due[0]?.includes(`| ${top} |`), below.some((id) => due[0]?.includes(`| ${id} |`))]).toEqual([true, false])
  await stage.untilNothingRuns()
})

it('paused in the midst of its turn it says what goes on without it, hears of that once resumed, and is stopped with all of it', async () => {
  stage = Stage.make()
  const { parent, top, below } = await begun('Hand out, then hold.')
  const paused = await parent.call({ action: 'interrupt', subagent_id: top, reason: 'wait' })
  expect(paused.answer.note).toMatch(/The call it was making is lost, and the children it dispatched go on: /)
  for (const id of below) expect(paused.answer.note).toContain(`(${id})`)
  await stage.until(top, 'paused', (child) => child.paused)
  expect((await parent.call({ action: 'interrupt', subagent_id: below[1] })).answer.note).not.toContain('is lost')
  stage.open('one')
  expect((await stage.settled(below[0])).phase).toBe('SUCCESS')
  expect((await stage.child(top)).attempts).toHaveLength(1)
  await parent.call({ action: 'resume', subagent_id: top, message: 'Go on.' })
  const heard = await eventually(
    () => stage.said(top).find((text) => text.includes(`| ${below[0]} |`)),
    'it hears',
    30_000,
  )
  expect(heard).toContain(`left paused: ${below[1]}`)
  // Its whole tree, as a list names it.
  const ids = await parent.ids()
  for (const subagent_id of ids) await parent.call({ action: 'stop', subagent_id })
  await stage.until(below[1], 'called off', ({ phase }) => phase === 'CANCELLED')
  await stage.settled(top)
  await stage.untilNothingRuns()
})
