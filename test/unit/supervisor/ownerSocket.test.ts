import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Commands } from '../../../src/supervisor/commands'
import { askOwner, serveCommands } from '../../../src/supervisor/ownerSocket'

test.each(['{"action":', '', 'HTTP/1.1 400 Bad Request'])(
  'whoever answers %j where an owner should be is no owner',
  async (said) => {
    const folder = mkdtempSync(join(tmpdir(), 'cx-socket-'))
    const socketPath = join(folder, 's')
    const server = createServer((socket) => socket.end(`${said}\n`))
    await new Promise<void>((resolve) => server.listen(socketPath, resolve))
    try {
      const owner = { socketPath, token: 't' }
      const asked = askOwner(owner, { kind: 'person' }, 'verify', {}, { agents: {}, patienceMs: 5_000 })
      expect(await asked).toEqual({ kind: 'unreachable' })
    } finally {
      server.close()
      rmSync(folder, { recursive: true })
    }
  },
)

test('an owner is busy with a command, and not with a client that says nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cx-socket-'))
  const socketPath = join(folder, 's')
  let came: () => void = () => undefined
  const asked = new Promise<void>((resolve) => (came = resolve))
  let answer: (value: never) => void = () => undefined
  const answered = new Promise<never>((resolve) => (answer = resolve))
  const verify = () => {
    came()
    return answered
  }
  const server = await serveCommands(socketPath, 't', () => ({ verify }) as unknown as Commands)
  const silent = connect(socketPath)
  try {
    // Served in the order in which they came.
    await new Promise<void>((resolve) => silent.once('connect', resolve))
    const refused = askOwner(
      { socketPath, token: 'x' },
      { kind: 'person' },
      'verify',
      {},
      { agents: {}, patienceMs: 5_000 },
    )
    expect((await refused).kind).toBe('answer')
    expect(server.isBusy()).toBe(false)
    const wish = { subagent_id: 'c1' }
    const told = askOwner({ socketPath, token: 't' }, { kind: 'person' }, 'verify', wish, {
      agents: {},
      patienceMs: 5_000,
    })
    await asked
    expect(server.isBusy()).toBe(true)
    answer({ action: 'verify' } as never)
    expect((await told).kind).toBe('answer')
    expect(server.isBusy()).toBe(false)
  } finally {
    silent.destroy()
    server.dispose()
    rmSync(folder, { recursive: true })
  }
})

test('says of a request that is too long just that, without asking', async () => {
  const request = { tasks: [{ goal: 'g'.repeat(5 * 1024 * 1024) }] }
  const nobody = { socketPath: join(tmpdir(), 'nobody-listens-here'), token: 't' }
  expect(await askOwner(nobody, { kind: 'person' }, 'spawn', request, { agents: {}, patienceMs: 5_000 })).toEqual({
    kind: 'answer',
    answer: {
      error: {
        code: 'invalid',
        message: 'The request is longer than 4 MiB in all. Nothing was done. Say less, or ask in several requests.',
      },
    },
  })
})
