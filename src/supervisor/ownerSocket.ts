// The owner's ear and the others' mouth: commands travel to the one process that owns the store as lines of JSON over a
// Unix socket in a private folder, each with the owner's token. Nothing is read or followed over it; readers read files.
import { timingSafeEqual } from 'node:crypto'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { z } from 'zod'
import { readAgentsSettings, type AgentsSettings } from '../agents/registry'
import {
  commandNames,
  invalidRequest,
  requestSchemas,
  type CommandAnswer,
  type CommandName,
  type Commands,
  type Refusal,
} from './commands'
import type { Caller } from '../core/ownership'
import { troubleInWords } from './troubleInWords'

const longestMessage = 4 * 1024 * 1024
const tooLong: Refusal = {
  error: {
    code: 'invalid',
    message: 'The request is longer than 4 MiB in all. Nothing was done. Say less, or ask in several requests.',
  },
}
const protocolVersion = 1

const callerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('person') }),
  z.strictObject({ kind: z.literal('parent'), session: z.string().min(1).max(200), child: z.string().optional() }),
])
const messageSchema = z.strictObject({
  v: z.literal(protocolVersion),
  token: z.string(),
  caller: callerSchema,
  command: z.enum(commandNames as [CommandName, ...CommandName[]]),
  request: z.unknown(),
  /** Agents the caller's own settings name, beside the owner's. */
  agents: z.unknown().optional(),
})

/** The commands a caller may give; `agents`: those of its own settings. */
export type CommandsFor = (caller: Caller, agents: AgentsSettings) => Commands

export interface OwnerServer {
  /** A command is being carried out. */
  isBusy(): boolean
  /** Synchronous; open calls are cut. */
  dispose(): void
}

/** Listens on `socketPath`, which does not exist yet and lies in a private folder. */
export async function serveCommands(socketPath: string, token: string, commandsFor: CommandsFor): Promise<OwnerServer> {
  const sockets = new Set<Socket>()
  let busy = 0
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    void serveOne(socket, async (line) => {
      busy++
      try {
        return await act(line, token, commandsFor)
      } finally {
        busy--
      }
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  server.unref()
  return {
    isBusy: () => busy > 0,
    dispose: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Whoever connects and says nothing is nothing to be done, and keeps no owner from going. */
async function serveOne(socket: Socket, act: (line: string) => Promise<CommandAnswer>): Promise<void> {
  const line = await readLine(socket)
  if (line === undefined) return void socket.destroy()
  let answer: CommandAnswer
  try {
    answer = await act(line)
  } catch (error) {
    answer = { error: { code: 'unavailable', message: troubleInWords(error) } }
  }
  socket.end(`${JSON.stringify(answer)}\n`)
}

async function act(line: string, token: string, commandsFor: CommandsFor): Promise<CommandAnswer> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return refusal('The message is not JSON.')
  }
  const message = messageSchema.safeParse(value)
  if (!message.success)
    return refusal('The message is of another version or shape. Use the same version of Coxswain everywhere.')
  if (!sameToken(message.data.token, token)) return refusal("The token is not this owner's.")
  const { command, request, caller, agents = {} } = message.data
  const reading = readAgentsSettings(agents)
  if (!reading.ok) return { error: { code: 'invalid', message: reading.refusal } }
  return await runCommandNamed(commandsFor(caller, reading.settings), command, request)
}

/** Parses a request where it enters and runs its command. */
async function runCommandNamed(commands: Commands, name: CommandName, request: unknown): Promise<CommandAnswer> {
  const parsed = requestSchemas[name].safeParse(request)
  if (!parsed.success) return invalidRequest(parsed.error)
  return await (commands as unknown as Record<CommandName, (request: unknown) => Promise<CommandAnswer>>)[name](
    parsed.data,
  )
}

const refusal = (message: string): Refusal => ({ error: { code: 'unavailable', message } })

function sameToken(given: string, own: string): boolean {
  const a = Buffer.from(given)
  const b = Buffer.from(own)
  return a.length === b.length && timingSafeEqual(a, b)
}

export type Asked =
  | { readonly kind: 'answer'; readonly answer: CommandAnswer }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'silent' }

/** Sends one command to the owner of a store, with the agents of the caller's own settings. Never rejects. */
export async function askOwner(
  owner: { readonly socketPath: string; readonly token: string },
  caller: Caller,
  command: CommandName,
  request: unknown,
  { agents, patienceMs }: { readonly agents: AgentsSettings; readonly patienceMs: number },
): Promise<Asked> {
  const message = JSON.stringify({ v: protocolVersion, token: owner.token, caller, command, request, agents })
  if (Buffer.byteLength(message) > longestMessage) return { kind: 'answer', answer: tooLong }
  const socket = connect(owner.socketPath)
  const timer = setTimeout(() => socket.destroy(new Error('silent')), patienceMs)
  try {
    return await new Promise<Asked>((resolve) => {
      let connected = false
      socket.once('connect', () => {
        connected = true
        socket.write(`${message}\n`)
      })
      socket.once('error', (error) =>
        resolve({ kind: connected && error.message === 'silent' ? 'silent' : 'unreachable' }),
      )
      void readLine(socket).then((line) => {
        const answer = line === undefined ? undefined : answerIn(line)
        resolve(answer === undefined ? { kind: 'unreachable' } : { kind: 'answer', answer })
      })
    })
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** Undefined when the line is none of an owner's. */
function answerIn(line: string): CommandAnswer | undefined {
  try {
    return JSON.parse(line) as CommandAnswer
  } catch {
    return undefined
  }
}

/** The first line; undefined when the other side went or sent too much. */
function readLine(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    socket.on('data', (chunk: Buffer) => {
      size += chunk.length
      parts.push(chunk)
      if (size > longestMessage) return resolve(undefined)
      if (chunk.includes(0x0a)) resolve(Buffer.concat(parts).toString('utf8').split('\n')[0])
    })
    socket.on('error', () => resolve(undefined))
    socket.on('close', () => resolve(undefined))
  })
}
