// The policy in use: what is quiet, loops or drifts shows; it is acted on only where that was switched on, and never beyond
// the spend ceiling.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { isRefusal, type TaskRequest } from '../../../src/supervisor/commands'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import { needsOf } from '../../../src/supervisor/payloads'
import { eventually, Stage } from './stage'

let stage: Stage
afterEach(() => stage.clear())

const prelude = `
  import { existsSync, readFileSync, writeFileSync } from 'node:fs'
  const say = (line) => console.log(JSON.stringify(line))
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const control = process.env.COXSWAIN_CONTROL_DIR
  const steers = () => existsSync(control + '/prompt-queue.jsonl')
    ? readFileSync(control + '/prompt-queue.jsonl', 'utf8').split('\\n').slice(0, -1).map((line) => JSON.parse(line)) : []
  say({ type: 'ready' })
`

async function withKid(program: string, set: object = {}): Promise<Coxswain> {
  const agents = JSON.parse(readFileSync(stage.agents(`${prelude}\n${program}`), 'utf8'))
  return await stage.coxswain({ role: 'run', set: { agents, ...set } })
}

async function spawn({ commands }: Coxswain, more: Partial<TaskRequest> = {}): Promise<string> {
  const answer = await commands.spawn({ tasks: [{ goal: 'Find it.', agent: 'kid', ...more }] })
  if (isRefusal(answer)) throw new Error(answer.error.message)
  return answer.subagent_ids[0] ?? ''
}

const deeds = (): string[] =>
  readFileSync(stage.paths.audit, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ who }) => who === 'policy')
    .map(({ what, reason }) => `${what}: ${reason}`)

const loops = `
  for (let n = 0; n < 4; n++) {
    say({ type: 'tool_started', id: String(n), name: 'run', input: { command: 'npm test' } })
    say({ type: 'tool_ended', id: String(n), output: 'no' })
  }
  for (;;) await pause(1000)`
const loopReason = 'loop: run was called 3 times with the same arguments'

it('a stalled child is interrupted and finalised once where that is on; a streaming one and one in a tool never are', async () => {
  stage = Stage.make()
  const coxswain = await withKid(
    `const mode = readFileSync(process.env.COXSWAIN_PROMPT_FILE, 'utf8')
     if (mode.startsWith('tool')) say({ type: 'tool_started', id: '1', name: 'run', input: {} })
     else say({ type: 'text', text: 'on it' })
     let n = 0
     for (;;) { await pause(200); if (mode.startsWith('streams')) say({ type: 'text', text: 'step ' + ++n }) }`,
    { stuckAfterSeconds: 1.5, stuckInToolAfterSeconds: 3_600 },
  )
  const stalls = await spawn(coxswain, { goal: 'stalls' })
  const streams = await spawn(coxswain, { goal: 'streams' })
  const inTool = await spawn(coxswain, { goal: 'tool runs' })
  for (const id of [stalls, streams, inTool])
    expect(await coxswain.commands.automate({ subagent_id: id, on: true })).toMatchObject({ status: 'done' })
  const ended = await stage.settled(stalls)
  expect([ended.phase, ended.attempts[0]?.endRequest?.cause, ended.attempts[0]?.endRequest?.by.kind]).toEqual([
    'INTERRUPTED',
    'timeout',
    'policy',
  ])
  expect(stage.events(stalls).filter(({ type }) => type === 'completionSent')).toHaveLength(1)
  expect((await stage.json('result', stalls)).failure).toMatch(/^automatic steering: stuck\? quiet for/)
  // The others have been at it for longer than the stalled one was let be.
  await eventually(() => stage.said(streams).length > 15, 'the streaming one goes on')
  for (const id of [streams, inTool]) {
    const child = await stage.child(id)
    expect([child.phase, child.attempts[0]?.endRequest, child.conditions]).toEqual(['RUNNING', null, {}])
  }
  expect(deeds().map((deed) => deed.split(':')[0])).toEqual(['interrupt'])
})

it('a quiet child where it is off is shown as stuck and left alone, and is not stuck any more once it speaks', async () => {
  stage = Stage.make()
  const coxswain = await withKid(
    `say({ type: 'text', text: 'one' })
     while (!existsSync(${JSON.stringify(join(stage.root, 'latch-go'))})) await pause(20)
     for (let n = 0; ; n++) { say({ type: 'text', text: 'more ' + n }); await pause(200) }`,
    { stuckAfterSeconds: 1 },
  )
  const id = await spawn(coxswain)
  const child = await stage.until(id, 'stuck', ({ conditions }) => conditions['stuck'] !== undefined)
  expect([child.phase, needsOf(child)]).toEqual(['RUNNING', expect.stringMatching(/^a look: stuck\? quiet/)])
  stage.open('go')
  const after = await stage.until(id, 'not stuck', ({ conditions }) => conditions['stuck'] === undefined)
  expect([after.phase, after.attempts[0]?.endRequest, needsOf(after)]).toEqual(['RUNNING', null, null])
  expect(deeds()).toEqual([])
})

it('a loop is a suggestion, done by whoever takes it up', async () => {
  stage = Stage.make()
  const coxswain = await withKid(loops)
  const id = await spawn(coxswain)
  const child = await stage.until(id, 'suggested', ({ suggestion }) => suggestion !== null)
  expect([child.suggestion, needsOf(child), child.phase]).toEqual([
    { action: 'stop', reason: loopReason },
    `a decision: stop? ${loopReason}`,
    'RUNNING',
  ])
  expect(await stage.json('decide', id, '--apply')).toMatchObject({ action: 'suggestion', status: 'done' })
  const ended = await stage.settled(id)
  expect([ended.phase, ended.stopRequest?.reason, ended.stopRequest?.by.kind, ended.suggestion]).toEqual([
    'CANCELLED',
    loopReason,
    'person',
    null,
  ])
  expect(deeds()).toEqual([])
  expect(await coxswain.commands.applySuggestion({ subagent_id: id })).toMatchObject({ error: { code: 'finished' } })
})

it('an edit outside of the contract-s scope is a suggestion; dismissed, it is not made again', async () => {
  stage = Stage.make()
  const coxswain = await withKid(`
    say({ type: 'tool_started', id: '1', name: 'write', input: { path: 'docs/a.md' } })
    say({ type: 'tool_ended', id: '1', output: 'ok' })
    say({ type: 'tool_started', id: '2', name: 'write', input: { path: 'lib/a.js' } })
    say({ type: 'tool_ended', id: '2', output: 'ok' })
    while (!existsSync(${JSON.stringify(join(stage.root, 'latch-go'))})) await pause(20)
    for (let n = 0; n < 3; n++) {
      say({ type: 'tool_started', id: 'l' + n, name: 'run', input: { command: 'npm test' } })
      say({ type: 'tool_ended', id: 'l' + n, output: 'no' })
    }
    for (;;) await pause(1000)`)
  const id = await spawn(coxswain, { contract: { scope: ['docs/**'] } })
  const child = await stage.until(id, 'suggested', ({ suggestion }) => suggestion !== null)
  expect(child.suggestion).toEqual({
    action: 'steer',
    reason: "drift: write edits lib/a.js, outside the contract's scope",
    message: "Put lib/a.js back as it was, and change nothing outside of the contract's scope.",
  })
  const both = await stage.cli('decide', id, '--apply', '--dismiss')
  expect([both.code, both.err]).toEqual([2, 'coxswain: decide takes --apply or --dismiss, not both.\n'])
  expect(await stage.json('decide', id, '--dismiss')).toMatchObject({ action: 'suggestion', status: 'done' })
  expect((await stage.child(id)).suggestion).toBe(null)
  expect((await stage.cli('decide', id, '--dismiss')).err).toMatch(
    /^coxswain: There is no suggestion for ".+" now\.\n$/,
  )
  // The next look that finds anything finds something else.
  stage.open('go')
  await stage.until(id, 'another', ({ suggestion }) => suggestion !== null)
  const made = stage.events(id).flatMap((event) => (event.type === 'suggested' ? [event.suggestion?.reason] : []))
  expect(made).toEqual(["drift: write edits lib/a.js, outside the contract's scope", loopReason])
  await coxswain.commands.stop({ subagent_id: id })
  await stage.settled(id)
})

it('drift is steered by itself where that is on, and is on record as the policy-s act', async () => {
  stage = Stage.make()
  const coxswain = await withKid(`
    say({ type: 'text', text: 'Let me start by listing all files' })
    while (steers().length === 0) await pause(20)
    say({ type: 'steer_taken', id: steers()[0].id })
    say({ type: 'text', text: 'opening the file' })
    say({ type: 'result', ok: true, summary: 'found' })`)
  const id = await spawn(coxswain)
  expect(await stage.json('automate', id)).toMatchObject({ action: 'automate', status: 'done' })
  const child = await stage.settled(id)
  expect(child.steers.map(({ text, by, state }) => [text, by.kind, state])).toEqual([
    [
      'Stop listing the repo. Open the file named in your goal. Return findings as file:line only.',
      'policy',
      'confirmed',
    ],
  ])
  expect(deeds()).toEqual(['steer: drift: it is at "Let me start by listing all files"'])
})

it('nothing is done by itself at the spend ceiling, and that is said once', async () => {
  stage = Stage.make()
  const coxswain = await withKid(`say({ type: 'usage', input_tokens: 100 })\n${loops}`)
  const id = await spawn(coxswain, { limits: { max_tokens: 100 } })
  await coxswain.commands.automate({ subagent_id: id, on: true })
  const child = await stage.until(id, 'told', ({ notes }) => notes.length > 0)
  expect([child.phase, child.stopRequest, child.suggestion?.reason]).toEqual(['RUNNING', null, loopReason])
  expect(child.notes.map(({ text }) => text)).toEqual([
    `Not done by itself (stop because of a ${loopReason}): it used 100 tokens of max_tokens = 100.`,
  ])
  expect([deeds(), existsSync(stage.paths.child(id).result(1))]).toEqual([[], false])
})
