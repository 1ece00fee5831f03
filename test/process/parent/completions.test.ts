// How a parent agent hears of its children: with its next answer and by announcement, the same until it has acknowledged.
import { afterEach, describe, expect, it } from 'vitest'
import { deafScript, eventually, script, Stage } from '../supervisor/stage'
import { Parents, type Parent } from './client'

let stage: Stage
const parents = new Parents()
afterEach(async () => {
  await parents.close()
  await stage.clear()
})

const connect = (...args: string[]): Promise<Parent> => parents.connect(stage, args)

const list = { action: 'list' }

describe('a completion', () => {
  it('comes with the next answer of any kind, is announced as it settles, and is through with the call after', async () => {
    stage = Stage.make()
    const parent = await connect()
    const id = await parent.spawn(script({ say: 'one' }, stage.waits('go')))
    expect((await parent.call(list)).due).toEqual([])
    stage.open('go')
    const announced = await eventually(() => parent.announced[0], 'it is announced')
    const { due } = await parent.call({ action: 'steer', subagent_id: id, message: 'Open b.js.' })
    expect(due).toEqual([announced])
    expect(announced).toContain(id)
    expect(announced).toContain('SUCCESS (claimed)')
    expect((await stage.child(id)).completions).toMatchObject([{ round: 1, acknowledged: false }])
    expect((await parent.call(list)).due).toEqual([])
    expect((await stage.child(id)).completions).toMatchObject([{ round: 1, acknowledged: true }])
    expect(parent.announced).toHaveLength(1)
  })

  it('is told again under the same id to a restarted client, until it is acknowledged by its id', async () => {
    stage = Stage.make()
    const first = await connect('--session', 'desk')
    const id = await first.spawn(script({ say: 'one' }))
    await stage.settled(id)
    const [told = ''] = (await first.call(list)).due
    await first.close()
    const second = await connect('--session', 'desk')
    const again = await second.call(list)
    expect(again.due).toEqual([told])
    expect(again.answer.count).toBe(0)
    const completionId = /^Completion (\S+):/.exec(told)?.[1] ?? ''
    const other = await connect('--session', 'couch')
    await other.call({ ...list, acknowledge: [completionId] })
    expect((await stage.child(id)).completions[0]?.acknowledged).toBe(false)
    await second.call({ ...list, acknowledge: [completionId] })
    await second.close()
    const third = await connect('--session', 'desk')
    expect((await third.call(list)).due).toEqual([])
    expect(third.announced).toEqual([])
  })

  it('names each steer that was left over, and says nothing of steers when none was', async () => {
    stage = Stage.make()
    const parent = await connect()
    const { answer } = await parent.call({
      tasks: [script, deafScript].map((goal) => ({ goal: goal({ say: 'up' }, stage.waits('go'), { say: 'end' }) })),
    })
    const [hearing = '', deaf = ''] = answer.subagent_ids as string[]
    for (const id of [hearing, deaf]) {
      await eventually(() => stage.said(id).includes('up'), 'it works')
      await parent.call({ action: 'steer', subagent_id: id, message: 'Open b.js.' })
      await stage.until(id, 'handed over', ({ steers }) => steers[0]?.state === 'sent')
    }
    stage.open('go')
    const [told = ''] = await eventually(
      () => (parent.announced.length > 0 ? parent.announced : undefined),
      'it is told',
    )
    const parts = told.split('\n\n')
    const of = (id: string): string[] =>
      (parts.find((part) => part.startsWith(`${id} `)) ?? '').split('\n').filter((line) => /steer/i.test(line))
    expect([of(hearing), of(deaf)]).toEqual([[], ['missed_steer: Open b.js.']])
    const results = await Promise.all([hearing, deaf].map((id) => stage.json('result', id)))
    expect(results.map(({ phase, missed_steers }) => [phase, missed_steers.length])).toEqual([
      ['SUCCESS', 0],
      ['SUCCESS', 1],
    ])
  })

  it('of a batch is one for all, and a pause is a notice that nothing has to be recovered', async () => {
    stage = Stage.make()
    const parent = await connect()
    const { answer } = await parent.call({
      tasks: [{ goal: script({ say: 'one' }) }, { goal: script({ say: 'two' }, stage.waits('go')) }],
    })
    const [one, two] = answer.subagent_ids as [string, string]
    await stage.settled(one)
    expect((await parent.call(list)).due).toEqual([])
    const { due: atOnce } = await parent.call({ action: 'interrupt', subagent_id: two, reason: 'look at this first' })
    await stage.until(two, 'paused', ({ paused }) => paused)
    // A child that pauses at once is told of with the very answer to the wish.
    const { due: next } = await parent.call(list)
    const due = [...atOnce, ...next].sort().reverse()
    expect(due).toHaveLength(2)
    expect(due[0]).toMatch(/^Notice .*STEERED -- somebody stopped this child on purpose, saying: look at this first/)
    expect(due[1]).toContain(one)
    expect(due[1]).toContain(`left paused: ${two}`)
    stage.open('go')
    expect((await parent.call({ action: 'resume', subagent_id: two })).answer.status).toBe('resuming')
    await stage.settled(two)
    const [late = ''] = (await parent.call(list)).due
    expect([late.includes(two), late.includes(`| ${one} `)]).toEqual([true, false])
  })

  it('is taken exactly once over a hundred restarts, whenever they come', async () => {
    stage = Stage.make()
    const window = await stage.coxswain({ role: 'run' })
    await window.tryOwn()
    const parent = await connect('--session', 'desk')
    // At once, so that no later call takes what an earlier answer carried.
    const ids = await Promise.all([1, 2, 3].map((n) => parent.spawn(script(stage.waits('go'), { say: String(n) }))))
    stage.open('go')
    for (const id of ids) await stage.settled(id)
    await parent.close()
    const { DelegateTask, asTexts } = await import('../../../src/parent/delegateTask')
    const { parentStore } = await import('../../../src/parent/parentStore')
    const session = (await stage.child(ids[0] ?? '')).parentSession
    const heard: string[] = []
    let taken: string[] = []
    for (let restart = 0; restart < 100; restart++) {
      // A parent that begins anew: nothing is left of the former one but its session.
      const tool = new DelegateTask(async () => parentStore(window, { kind: 'parent', session }))
      const told = await tool.call(list)
      const [, ...due] = asTexts(told)
      heard.push(due.map((text) => /^Completion (\S+):/.exec(text)?.[1]).join(' '))
      // It dies before the answer has left, after it, or after one more call.
      if (restart % 3 === 0) continue
      told.written()
      if (restart < 90) continue
      taken = told.due.map(({ id }) => id)
      await tool.call(list)
      expect((await tool.call(list)).due).toEqual([])
    }
    expect(taken).toEqual([])
    const before = heard.slice(0, 92)
    expect(new Set(before).size).toBe(1)
    expect(before[0]?.split(' ')).toHaveLength(3)
    expect(new Set(heard.slice(92))).toEqual(new Set(['']))
    for (const id of ids) expect((await stage.child(id)).completions).toMatchObject([{ acknowledged: true }])
  })
})

describe('join mode', () => {
  it('answers a spawn once its children are over, with what they came to', async () => {
    stage = Stage.make()
    const parent = await connect('--join')
    const joined = parent.call({
      tasks: [{ goal: script({ say: 'one' }, stage.waits('go')) }, { goal: 'List the files' }],
    })
    await eventually(() => stage.left().children.length === 2, 'both are dispatched')
    const { answer } = await parent.call(list)
    expect(answer.count).toBeGreaterThan(0)
    stage.open('go')
    const { answer: handle, due, refused } = await joined
    expect([refused, handle.mode, handle.count]).toEqual([false, 'join', 2])
    expect(due).toHaveLength(1)
    for (const id of handle.subagent_ids) expect(due[0]).toContain(id)
  })

  it('pauses the children when the one who waits for them is stopped, and leaves others alone', async () => {
    stage = Stage.make()
    const parent = await connect('--join')
    const other = await connect()
    const theirs = await other.spawn(script({ say: 'theirs' }, stage.waits('go')))
    const stop = new AbortController()
    const joined = parent.call({ goal: script({ say: 'mine' }, { hang: true }) }, stop.signal)
    const id = await eventually(() => stage.left().children.find((each) => each !== theirs), 'dispatched')
    await eventually(() => stage.said(id).includes('mine'), 'it works')
    stop.abort()
    await expect(joined).rejects.toThrow()
    await stage.until(id, 'paused', ({ paused }) => paused)
    stage.open('go')
    expect((await stage.settled(theirs)).phase).toBe('SUCCESS')
  })
})
