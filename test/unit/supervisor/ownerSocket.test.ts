import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { askOwner } from '../../../src/supervisor/ownerSocket'

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
