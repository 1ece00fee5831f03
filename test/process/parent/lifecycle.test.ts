// What another extension may do with children, over a real supervisor with real children.
import { statSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import type { ChildHandle, CoxswainSession, LaunchRequest } from '../../../api/coxswain'
import { lifecycleSession } from '../../../src/parent/lifecycle'
import { parentsDoor } from '../../../src/parent/door'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import { eventually, script, Stage } from '../supervisor/stage'

let stage: Stage
let other: Stage | undefined
afterEach(async () => {
  await other?.clear()
  other = undefined
  await stage.clear()
})

function sessionOn(coxswain: Coxswain, extension = 'some.extension', key = 'main'): CoxswainSession {
  const door = parentsDoor(coxswain)
  return lifecycleSession(() => door, extension, key)
}

let launches = 0
async function launch(session: CoxswainSession, goal: string, more: Partial<LaunchRequest> = {}): Promise<ChildHandle> {
  const launched = await session.launch({ goal, correlation_id: `launch-${++launches}`, ...more })
  if ('error' in launched) throw new Error(launched.error.message)
  return launched.handle
}

it('a listener that came before there was a store hears of its children once there is one', async () => {
  stage = Stage.make()
  const coxswain = await stage.coxswain()
  let trusted = false
  const mayOpen = new Set<() => void>()
  const session = lifecycleSession(
    () => (trusted ? parentsDoor(coxswain) : Promise.resolve({ error: { code: 'untrusted', message: 'Not yet.' } })),
    'some.extension',
    'main',
    (listener) => {
      mayOpen.add(listener)
      return { dispose: () => mayOpen.delete(listener) }
    },
  )
  const heard: string[] = []
  const listening = session.onDidChange(({ childId }) => heard.push(childId))
  expect(await session.launch({ goal: 'x', correlation_id: 'early' })).toMatchObject({ error: { code: 'untrusted' } })
  trusted = true
  for (const listener of mayOpen) listener()
  const handle = await launch(session, script({ say: 'one' }))
  await eventually(() => heard.includes(handle.childId), 'it is heard of')
  listening.dispose()
  expect(mayOpen.size).toBe(0)
})

it('what was launched in a repository stays there when another is shown, and the next launch goes to that one', async () => {
  stage = Stage.make()
  other = Stage.make()
  const held: string[] = []
  const port = await parentsDoor(await stage.coxswain(), () => held.push('port'))
  const wharf = await parentsDoor(await other.coxswain(), () => held.push('wharf'))
  let shown: typeof port | 'none' = port
  let shownAnother = (): void => undefined
  const session = lifecycleSession(
    () => Promise.resolve(shown === 'none' ? { error: { code: 'repository', message: 'No repository here.' } } : shown),
    'some.extension',
    'main',
    (listener) => {
      shownAnother = listener
      return { dispose: () => undefined }
    },
  )
  const heard = new Set<string>()
  const listening = session.onDidChange(({ childId }) => heard.add(childId))
  const inPort = await launch(session, script({ say: 'one' }, stage.waits('go')))
  await eventually(() => stage.said(inPort.childId).includes('one'), 'it works in the port')
  expect(new Set(held)).toEqual(new Set(['port']))
  shown = wharf
  shownAnother()
  const inWharf = await launch(session, script({ say: 'two' }))
  expect([stage.left().children.length, other.left().children.length]).toEqual([1, 1])
  expect((await session.wait(inWharf, 60_000)).state.phase).toBe('SUCCESS')
  expect((await session.status(inPort)).phase).toBe('RUNNING')
  expect((await session.reconnect(inPort)).outcome).toBe('ATTACHED')
  // Not even a repository is needed to hear what becomes of it.
  shown = 'none'
  expect(await session.steer(inPort, 'Open b.js.')).toMatchObject({ status: 'queued' })
  stage.open('go')
  expect((await session.wait(inPort, 60_000)).state.phase).toBe('SUCCESS')
  expect(await session.result(inPort)).toMatchObject({ ready: true, phase: 'SUCCESS' })
  await eventually(() => heard.size === 2, 'both are heard of')
  // A session that knows only the other repository knows nothing of it.
  const stranger = lifecycleSession(() => Promise.resolve(wharf), 'some.extension', 'main')
  expect(await stranger.status(inPort)).toEqual(unknown)
  listening.dispose()
})

const unknown = {
  phase: 'UNKNOWN',
  condition: null,
  round: null,
  attempt: null,
  accepting_steer: false,
  needs: null,
  verdict: null,
  metadata: null,
}

/** All a handle that opens nothing is answered. */
async function answers(session: CoxswainSession, handle: unknown) {
  return [
    await session.status(handle),
    await session.wait(handle, 1),
    await session.cancel(handle, 'x'),
    await session.result(handle),
    await session.steer(handle, 'x'),
    await session.resume(handle, 'x'),
  ]
}

describe('a launch', () => {
  it('goes to its result; the handle is plain data and the result the same object each time', async () => {
    stage = Stage.make()
    const session = sessionOn(await stage.coxswain())
    const metadata = { ticket: 7 }
    const given = await launch(session, script({ say: 'one' }, stage.waits('go')), { metadata })
    const handle = JSON.parse(JSON.stringify(given)) as ChildHandle
    expect(Object.keys(handle)).toEqual(['contractVersion', 'childId', 'parentSessionId', 'createdAt', 'capability'])
    expect(await session.wait(handle, 50)).toMatchObject({ completed: false, timed_out: true, state: { metadata } })
    expect(await session.result(handle)).toMatchObject({ ready: false })
    expect(await session.steer(handle, 'Open b.js.')).toMatchObject({ status: 'queued' })
    stage.open('go')
    const waited = await session.wait(handle, 60_000)
    expect(waited).toMatchObject({ completed: true, timed_out: false, state: { phase: 'SUCCESS', metadata } })
    const result = await session.result(handle)
    expect(result).toMatchObject({
      ready: true,
      phase: 'SUCCESS',
      result_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(JSON.stringify(result)).not.toMatch(/transcript/)
    expect(await session.result(handle)).toBe(result)
    expect(Object.isFrozen(result)).toBe(true)
    expect(statSync(stage.paths.secret).mode & 0o777).toBe(0o600)
  })

  it('said again under its correlation id is the same child: at once, later, and after a restart', async () => {
    stage = Stage.make()
    const first = await stage.coxswain()
    const session = sessionOn(first)
    const request = { goal: script(stage.waits('go')), correlation_id: 'job 7' }
    const both = await Promise.all([session.launch(request), session.launch(request)])
    const [one] = both
    expect(both[1]).toEqual(one)
    expect(await session.launch({ ...request, goal: 'Something else' })).toEqual(one)
    first.dispose()
    await first.closed()
    const again = sessionOn(await stage.coxswain())
    expect(await again.launch(request)).toEqual(one)
    expect(stage.left().children).toHaveLength(1)
    const other = sessionOn(await stage.coxswain(), 'another.extension')
    const theirs = await other.launch(request)
    expect(theirs).not.toEqual(one)
    stage.open('go')
    if ('handle' in theirs) await stage.settled(theirs.handle.childId)
    if (one !== undefined && 'handle' in one) await stage.settled(one.handle.childId)
  })

  it('refuses by name what it cannot promise, and nothing exists afterwards', async () => {
    stage = Stage.make()
    const session = sessionOn(await stage.coxswain())
    const ask = async (more: object) => {
      const answer = await session.launch({ goal: 'Do it', correlation_id: 'x', ...more })
      return 'error' in answer ? answer.error.message : 'launched'
    }
    for (const key of ['blocked_tools', 'working_directory', 'timeout_seconds', 'anything'])
      expect(await ask({ [key]: 1 })).toContain(`unknown key ${key}`)
    expect(await ask({ correlation_id: '' })).toContain('correlation_id')
    expect(await ask({ metadata: { text: 'x'.repeat(8_200) } })).toContain('8 KiB')
    expect(await ask({ allowed_tools: ['fly'] })).not.toBe('launched')
    expect(await ask({ goal: ' ' })).toContain('empty')
    const nobody = await lifecycleSession(() => Promise.reject(new Error('opened')), '', 'main').launch({
      goal: 'x',
      correlation_id: 'x',
    })
    expect('error' in nobody && nobody.error.message).toContain('A session needs')
    expect(stage.left().children).toEqual([])
  })

  it('many give as many handles, and each opens its own child', async () => {
    stage = Stage.make()
    const session = sessionOn(await stage.coxswain({ set: { maxChildrenPerParent: 10, maxChildrenTotal: 10 } }))
    const handles = await Promise.all(Array.from({ length: 10 }, () => launch(session, script(stage.waits('go')))))
    expect(new Set(handles.map((handle) => handle.capability)).size).toBe(10)
    expect(await session.cancel(handles[3], 'enough')).toBe('accepted')
    expect((await session.status(handles[3])).phase).toMatch(/^CANCEL/)
    expect((await session.status(handles[4])).phase).not.toMatch(/^CANCEL/)
    stage.open('go')
    for (const { childId } of handles) await stage.settled(childId)
  })
})

describe('a cancel', () => {
  it('is CANCELLED once that was observed, and has nothing left to do after the end', async () => {
    stage = Stage.make()
    const session = sessionOn(await stage.coxswain())
    const handle = await launch(session, script({ say: 'one' }, { hang: true }))
    await eventually(() => stage.said(handle.childId).includes('one'), 'the child works')
    const seen: string[] = []
    const listening = session.onDidChange((changed) => {
      if (changed.childId === handle.childId) void session.status(handle).then(({ phase }) => seen.push(phase))
    })
    expect(await session.cancel(handle, 'enough')).toBe('accepted')
    expect((await session.wait(handle, 60_000)).state.phase).toBe('CANCELLED')
    await stage.untilNothingRuns()
    expect(await session.cancel(handle, 'again')).toBe('already_terminal')
    await eventually(() => seen.includes('CANCELLED'), 'the change was told')
    listening.dispose()
  })
})

describe('a handle that is not whole or not one-s own', () => {
  it('opens nothing, says no more than one that never was, and throws nothing: a thousand ways', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain()
    const session = sessionOn(coxswain)
    const handle = await launch(session, script(stage.waits('go')))
    const nothing = await answers(session, { ...handle, childId: 'aaaaaaaaaa' })
    expect(nothing[0]).toEqual(unknown)
    expect(nothing[3]).toEqual({ ready: false, phase: 'UNKNOWN' })
    for (const other of [sessionOn(coxswain, 'some.extension', 'side'), sessionOn(coxswain, 'another.extension')])
      expect(await answers(other, handle)).toEqual(nothing)
    let seed = 1
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    const fields = Object.keys(handle) as (keyof ChildHandle)[]
    const odd: unknown[] = [undefined, null, 0, '', 'x', [], {}, [handle], JSON.stringify(handle), Symbol('x'), () => 1]
    odd.push({ ...handle, extra: 1 }, { ...handle, contractVersion: 2 }, { ...handle, contractVersion: '1' })
    odd.push(
      Object.defineProperty({ ...handle }, 'childId', {
        get: () => {
          throw new Error('no')
        },
        enumerable: true,
      }),
    )
    while (odd.length < 1_000) {
      const field = fields[random(fields.length)] ?? 'capability'
      const value = String(handle[field])
      const at = random(value.length)
      const other = String.fromCharCode(value.charCodeAt(at) ^ (1 + random(15)))
      const changes: unknown[] = [
        value.slice(0, at),
        `${value.slice(0, at)}${other}${value.slice(at + 1)}`,
        `${value}${other}`,
        undefined,
        random(1_000),
        [value],
        { value },
      ]
      odd.push({ ...handle, [field]: changes[random(changes.length)] })
    }
    for (const each of odd) expect(await session.status(each)).toEqual(unknown)
    for (const each of odd.slice(0, 30)) expect(await answers(session, each)).toEqual(nothing)
    expect((await session.status(handle)).phase).not.toBe('UNKNOWN')
    stage.open('go')
    expect((await stage.settled(handle.childId)).steers).toEqual([])
  })

  it('says that a person adopted the child, and nothing of what became of it', async () => {
    stage = Stage.make()
    const first = await stage.coxswain()
    const handle = await launch(sessionOn(first), script({ say: 'one' }, stage.waits('go')), {
      metadata: { ticket: 7 },
    })
    await eventually(() => stage.said(handle.childId).includes('one'), 'it works')
    first.dispose()
    await first.closed()
    const coxswain = await stage.coxswain()
    await coxswain.tryOwn()
    expect(await coxswain.commands.adopt({ subagent_id: handle.childId })).toMatchObject({ status: 'done' })
    await coxswain.refresh()
    const session = sessionOn(coxswain)
    const state = { ...unknown, condition: 'adopted' }
    const adopted = { error: { code: 'adopted', message: expect.stringContaining('do not respawn it') } }
    expect(await answers(session, handle)).toEqual([
      state,
      { completed: false, timed_out: false, state },
      'unsupported',
      { ready: false, phase: 'UNKNOWN' },
      adopted,
      adopted,
    ])
    expect(await session.reconnect(handle)).toEqual({ outcome: 'RECONNECT_UNAVAILABLE', state })
    // Only to the one it was given to, and only whole.
    expect(await sessionOn(coxswain, 'another.extension').status(handle)).toEqual(unknown)
    expect(await session.status({ ...handle, capability: 'x' })).toEqual(unknown)
    stage.open('go')
    expect((await stage.settled(handle.childId)).steers).toEqual([])
  })

  it('is one from a store whose secret was replaced', async () => {
    stage = Stage.make()
    const session = sessionOn(await stage.coxswain())
    const handle = await launch(session, script({ say: 'x' }))
    await stage.settled(handle.childId)
    writeFileSync(stage.paths.secret, 'ab'.repeat(32))
    expect(await sessionOn(await stage.coxswain()).status(handle)).toEqual(unknown)
  })
})

describe('a reconnect', () => {
  it('attaches to a child that lives, and launches nothing for one that does not', async () => {
    stage = Stage.make()
    const first = await stage.coxswain()
    const session = sessionOn(first)
    const lives = await launch(session, script({ say: 'one' }, stage.waits('go')))
    const dies = await launch(session, script({ say: 'one' }, { hang: true }))
    for (const { childId } of [lives, dies]) await eventually(() => stage.said(childId).includes('one'), 'it works')
    first.dispose()
    await first.closed()
    const child = await stage.child(dies.childId)
    for (const who of [child.attempts[0]?.keeper, child.attempts[0]?.agent]) process.kill(who?.pid ?? 0, 'SIGKILL')
    const again = sessionOn(await stage.coxswain())
    expect(await again.reconnect(lives)).toMatchObject({ outcome: 'ATTACHED', state: { phase: 'RUNNING' } })
    expect(await again.reconnect(dies)).toMatchObject({ outcome: 'RECONNECT_UNAVAILABLE', state: { attempt: 1 } })
    expect(await again.reconnect({})).toEqual({ outcome: 'RECONNECT_UNAVAILABLE', state: unknown })
    stage.open('go')
    expect((await again.wait(lives, 60_000)).state).toMatchObject({ phase: 'SUCCESS', attempt: 1 })
    expect((await stage.child(dies.childId)).attempts).toHaveLength(1)
  })
})
