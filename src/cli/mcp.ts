// `coxswain mcp`: a parent agent at the other end of standard input and output. Children it leaves behind when it goes get
// an owner that stays, so that a restarted client finds its tree again.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { serveMcp } from '../parent/mcp'
import { parentStore } from '../parent/parentStore'
import type { Coxswain } from '../supervisor/coxswain'
import { freshSession, namedSession, type ParentSession } from '../supervisor/parentSession'
import type { Invocation } from './invocation'
import { UsageError } from './output'
import { leaveOthers } from './run'

const sessionVariable = 'COXSWAIN_PARENT_SESSION'

export async function mcp({ open, flags, out, version }: Invocation): Promise<number> {
  const name = flags.session ?? process.env[sessionVariable] ?? ''
  if (name.length > 200) throw new UsageError('invalid', 'The name of a parent session has at most 200 characters.')
  const going = new AbortController()
  const go = (): void => going.abort()
  process.on('SIGTERM', go).on('SIGINT', go).on('SIGHUP', go)
  out.gone.addEventListener('abort', go)
  process.stdin.once('end', go).once('close', go)
  const failed = (what: string, error: unknown): void => {
    process.stderr.write(
      `coxswain: ${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
  }
  let coxswain: Coxswain | undefined
  let session: ParentSession | undefined
  await serveMcp(
    {
      transport: new StdioServerTransport(),
      join: flags.join === true,
      version,
      failed,
      open: async (client) => {
        try {
          coxswain ??= await open('mcp')
        } catch (error) {
          if (error instanceof UsageError) return { error: { code: error.code, message: error.message } }
          throw error
        }
        if (coxswain.caller.kind === 'parent') return parentStore(coxswain, coxswain.caller)
        session ??= name === '' ? freshSession('mcp') : await namedSession(coxswain.paths, 'mcp', [name, client])
        if (session.note !== undefined) process.stderr.write(`coxswain: ${session.note}\n`)
        void coxswain.tryOwn().catch((error: unknown) => failed('taking the store', error))
        return parentStore(coxswain, { kind: 'parent', session: session.id })
      },
    },
    going.signal,
  )
  session?.release()
  if (coxswain !== undefined) {
    await leaveOthers(coxswain)
    coxswain.dispose()
    await coxswain.closed()
  }
  return 0
}
