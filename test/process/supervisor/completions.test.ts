// What a parent hears of its children, from real supervisors with real children: each completion once, the same after any
// restart, and nothing of anybody else's. The long form is `npm run test:figures`.
import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { isRefusal, type CommandAnswer } from '../../../src/supervisor/commands'
import type { Completion } from '../../../src/supervisor/completions'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import type { Caller } from '../../../src/core/ownership'
import { eventually, kill, script, Stage } from './stage'

const restarts = Number(process.env['COXSWAIN_RESTARTS'] ?? '5')
const deaths = Number(process.env['COXSWAIN_OWNER_DEATHS'] ?? '2')

let stage: Stage
afterEach(() => stage.clear())

const parent: Caller = { kind: 'parent', session: 'mine' }
const person: Caller = { kind: 'person' }

async function close(coxswain: Coxswain): Promise<void> {
  coxswain.dispose()
  await coxswain.closed()
}

function idsOf(answer: CommandAnswer): { delegation: string; ids: string[] } {
  if (isRefusal(answer) || !('subagent_ids' in answer)) throw new Error(JSON.stringify(answer))
  return { delegation: answer.delegation_id, ids: [...answer.subagent_ids] }
}

/** A batch of two: the first has settled, the second waits for the latch `go`. */
async function firstOfTwoSettled({ commands }: Coxswain) {
  const { delegation, ids } = idsOf(
    await commands.spawn({
      tasks: [{ goal: script({ say: 'one' }) }, { goal: script({ say: 'two' }, stage.waits('go')), title: 'Second' }],
    }),
  )
  const [one = '', two = ''] = ids
  await stage.settled(one)
  return { delegation, ids, one, two }
}

const names = (completions: readonly Completion[]): string[] =>
  completions.map(({ completion_id, paused_left, subagents }) =>
    [completion_id, ...subagents.map(({ subagent_id, phase }) => `${subagent_id} ${phase}`), ...paused_left].join(', '),
  )

describe('completions', () => {
  it('come once per batch, to the parent that dispatched it and nobody else, until acknowledged', async () => {
    stage = Stage.make()
    const mine = await stage.coxswain({ role: 'run', as: parent })
    const { delegation, ids, one, two } = await firstOfTwoSettled(mine)
    expect(await mine.completions(parent)).toEqual([])
    stage.open('go')
    await stage.settled(two)
    const told = await mine.completions(parent)
    expect(names(told)).toEqual([`${delegation}.1, ${one} SUCCESS, ${two} SUCCESS`])
    expect(told[0]?.subagents).toEqual([await stage.json('result', one), await stage.json('result', two)])
    expect(told[0]?.relay).toContain(`| ${two} | Second | SUCCESS (claimed) | not checked |`)

    const reader = await stage.coxswain({ role: 'command', as: { kind: 'parent', session: 'other' } })
    expect(await reader.completions(parent)).toEqual(told)
    expect(await reader.completions({ kind: 'parent', session: 'other' })).toEqual([])
    const logs = () => ids.map((id) => readFileSync(stage.paths.child(id).events, 'utf8'))
    const before = logs()
    const answers = [
      await reader.commands.acknowledge({ completion_ids: [`${delegation}.1`] }),
      await reader.commands.acknowledge({ completion_ids: ['never.1'] }),
    ]
    expect(answers).toEqual(Array(2).fill({ action: 'acknowledge', status: 'done', acknowledged: [] }))
    expect([logs(), await mine.completions(parent)]).toEqual([before, told])

    for (const acknowledged of [1, 2]) {
      expect([acknowledged, await mine.commands.acknowledge({ completion_ids: [`${delegation}.1`] })]).toEqual([
        acknowledged,
        { action: 'acknowledge', status: 'done', acknowledged: [`${delegation}.1`] },
      ])
    }
    expect(await mine.completions(parent)).toEqual([])
    expect(await mine.completions(parent, delegation)).toEqual(told)
    expect((await stage.child(one)).misfits).toBe(0)
  })

  it('of a batch whose last child is paused tell the rest at once; the pause is noticed, and told by itself later', async () => {
    stage = Stage.make()
    const mine = await stage.coxswain({ role: 'run', as: parent })
    const { delegation, one, two } = await firstOfTwoSettled(mine)
    await eventually(() => stage.said(two).includes('two'), 'the second works')
    await mine.commands.interrupt({ subagent_id: two, reason: 'wrong file' })
    await stage.until(two, 'paused', ({ paused }) => paused)
    const [told] = await mine.completions(parent)
    expect(names(told === undefined ? [] : [told])).toEqual([`${delegation}.1.0, ${one} SUCCESS, ${two}`])
    expect(told?.relay).toContain(`left paused: ${two} Second`)
    const notice = {
      notice_id: `${two}.paused.1`,
      subagent_id: two,
      title: 'Second',
      ok: true,
      duration_s: expect.any(Number),
      outcome: 'STEERED -- somebody stopped this child on purpose, saying: wrong file',
    }
    expect(await mine.notices(parent)).toEqual([notice])
    await mine.commands.acknowledge({ completion_ids: [notice.notice_id] })
    expect(await mine.notices(parent)).toEqual([])

    stage.open('go')
    await mine.commands.resume({ subagent_id: two })
    expect(await mine.completions(parent)).toEqual([told])
    await stage.settled(two)
    expect(names(await mine.completions(parent))).toEqual([
      `${delegation}.1.0, ${one} SUCCESS, ${two}`,
      `${delegation}.1.1, ${two} SUCCESS`,
    ])
  })

  it('come per child where that was asked for, by the request or by the setting', async () => {
    stage = Stage.make()
    const mine = await stage.coxswain({ role: 'run', as: parent, set: { independentCompletions: true } })
    const tasks = [{ goal: script({ say: 'one' }) }, { goal: script(stage.waits('go')) }]
    const bySetting = idsOf(await mine.commands.spawn({ tasks })).ids
    const [one = ''] = bySetting
    await stage.settled(one)
    expect(names(await mine.completions(parent))).toEqual([`${one}.1, ${one} SUCCESS`])
    stage.open('go')
    await Promise.all(bySetting.map((id) => stage.settled(id)))
    const together = idsOf(await mine.commands.spawn({ tasks, independent_completions: false }))
    await Promise.all(together.ids.map((id) => stage.settled(id)))
    expect((await mine.completions(parent)).map(({ completion_id }) => completion_id)).toEqual([
      `${one}.1`,
      `${bySetting[1]}.1`,
      `${together.delegation}.1`,
    ])
  })

  it('hold a long report trimmed in the middle, and all of it in a file', async () => {
    stage = Stage.make()
    const agents = JSON.parse(
      readFileSync(
        stage.agents(
          `console.log(JSON.stringify({ type: 'result', ok: true, summary: 'START' + 'm'.repeat(50000) + 'END' }))`,
        ),
        'utf8',
      ),
    )
    const mine = await stage.coxswain({ role: 'run', as: parent, set: { agents } })
    const { ids } = idsOf(await mine.commands.spawn({ tasks: [{ goal: 'x', agent: 'kid' }] }))
    await stage.settled(ids[0] ?? '')
    const [told] = await mine.completions(parent)
    const file = told?.subagents[0]?.summary_file ?? ''
    expect(readFileSync(file, 'utf8')).toBe(`START${'m'.repeat(50_000)}END`)
    expect(told?.relay).toMatch(/> STARTm+\n> \[… 46008 characters are left out here; all of it: .+\]\n> m+END\n/)
    expect(told?.relay).toContain(`all of it: ${file}]`)
  })

  it('printed by a joined run are acknowledged by it, each child-s own where its task file asks for that', async () => {
    stage = Stage.make()
    const goals = [script({ say: 'one' }), script({ say: 'two' }, stage.waits('go'))]
    const file = stage.file(
      JSON.stringify({ tasks: goals.map((goal) => ({ goal })), independent_completions: true }),
      'independent.json',
    )
    const running = stage.start(['run', '--task', file, '--json'])
    const first = await running.until('the first completion', (object) => object.completion !== undefined)
    const ids = running.objects()[0].subagent_ids as string[]
    expect([first.completion.completion_id, first.completion.subagents.length]).toEqual([`${ids[0]}.1`, 1])
    await stage.until(ids[0] ?? '', 'acknowledged', ({ completions }) => completions[0]?.acknowledged === true)
    expect((await stage.child(ids[1] ?? '')).phase).toBe('RUNNING')
    stage.open('go')
    expect((await running.done).code).toBe(0)
    expect((await stage.child(ids[1] ?? '')).completions.map(({ acknowledged }) => acknowledged)).toEqual([true])
    const reader = await stage.coxswain({ role: 'command' })
    expect(await reader.completions(person)).toEqual([])
  })
})

describe('a completion is told exactly once', { timeout: 60 * 60_000 }, () => {
  /** A batch of two that has ended, with nobody about. */
  async function ended(): Promise<{ delegation: string; ids: string[] }> {
    stage = Stage.make()
    const mine = await stage.coxswain({ role: 'run', as: parent })
    const batch = idsOf(
      await mine.commands.spawn({ tasks: [{ goal: script({ say: 'one' }) }, { goal: script({ say: 'two' }) }] }),
    )
    await Promise.all(batch.ids.map((id) => stage.settled(id)))
    await close(mine)
    return batch
  }

  /** Takes back the last facts of a log, from the first that holds `mark` on, as a crash before them would. */
  function cut(id: string, mark: string): void {
    const path = stage.paths.child(id).events
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
    const at = lines.findIndex((line) => line.includes(mark))
    if (at < 0) throw new Error(`${mark} is not in ${path}`)
    writeFileSync(path, `${lines.slice(0, at).join('\n')}\n`)
  }

  it(`after the owner died between the result and its record, ${restarts} times`, async () => {
    const { delegation, ids } = await ended()
    const [one = '', two = ''] = ids
    const reader = await stage.coxswain({ role: 'command', as: parent })
    const told = await reader.completions(parent)
    expect(names(told)).toEqual([`${delegation}.1, ${one} SUCCESS, ${two} SUCCESS`])
    for (let n = 0; n < restarts; n++) {
      cut(two, 'completionSent')
      const without = await stage.coxswain({ role: 'command', as: parent })
      expect(await without.completions(parent)).toEqual([])
      await close(without)
      const owner = await stage.coxswain({ role: 'run', as: parent })
      await owner.tryOwn()
      await stage.settled(two)
      expect(await owner.completions(parent)).toEqual(told)
      await close(owner)
    }
  })

  it(`after the owner died between telling and acknowledging, ${restarts} times, and between one member and the next`, async () => {
    const { delegation, ids } = await ended()
    const [one = '', two = ''] = ids
    let told: readonly Completion[] | undefined
    for (let n = 0; n < restarts; n++) {
      const owner = await stage.coxswain({ role: 'run', as: parent })
      await owner.tryOwn()
      const now = await owner.completions(parent)
      told ??= now
      expect([n, now]).toEqual([n, told])
      await owner.commands.acknowledge({ completion_ids: [`${delegation}.1`] })
      expect(await owner.completions(parent)).toEqual([])
      await close(owner)
      // The last round ends after a whole acknowledgement; the others in the midst of it.
      if (n < restarts - 1) cut(n % 2 === 0 ? two : one, 'completionAcknowledged')
    }
    const last = await stage.coxswain({ role: 'run', as: parent })
    await last.tryOwn()
    expect([names(told ?? []), await last.completions(parent)]).toEqual([
      [`${delegation}.1, ${one} SUCCESS, ${two} SUCCESS`],
      [],
    ])
  })

  it(`when the owner is killed while the batch ends, ${deaths} times`, async () => {
    stage = Stage.make()
    const reader = await stage.coxswain({ role: 'command' })
    for (let n = 0; n < deaths; n++) {
      const tasks = stage.tasks(script(stage.waits(`go${n}`), { say: 'one' }), script(stage.waits(`go${n}`)))
      const handle = await stage.json('run', '--task', tasks, '--detach')
      const ids = handle.subagent_ids as string[]
      for (const id of ids) await stage.until(id, 'running', ({ phase }) => phase === 'RUNNING')
      const owner = await stage.owner()
      stage.open(`go${n}`)
      // From well before to well after the end: the moment is what is tried out here.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 400))
      kill(owner?.process.pid ?? -1, 'SIGKILL')
      await eventually(() => !stage.ps().some(({ pid }) => pid === owner?.process.pid), 'the owner is dead')
      await stage.cli('stop', 'aaaaaaaaaa')
      for (const id of ids) await stage.settled(id)
      const own = (await reader.completions(person)).filter((each) => each.delegation_id === handle.delegation_id)
      expect(names(own)).toEqual([`${handle.delegation_id}.1, ${ids.map((id) => `${id} SUCCESS`).join(', ')}`])
      const sent = ids.map((id) => stage.events(id).filter(({ type }) => type === 'completionSent').length)
      expect(sent).toEqual([1, 1])
      await reader.commands.acknowledge({ completion_ids: own.map(({ completion_id }) => completion_id) })
      expect(await reader.completions(person)).toEqual([])
    }
  })
})
