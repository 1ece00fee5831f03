// `delegate_task` over the Model Context Protocol, for any agent that speaks it: one client, one parent. What a child came
// to goes with the next answer, and is announced the moment it is known to clients that listen.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type RequestId } from '@modelcontextprotocol/sdk/types.js'
import { isRefusal, type Refusal } from '../supervisor/commands'
import { asTexts, DelegateTask, toolDescription, toolName, type Told } from './delegateTask'
import type { ParentStore } from './parentStore'
import { inputJsonSchema } from './wish'

/** A client's own limit on one call is put off so often while it waits in join mode. */
const progressMs = 10_000
/** Changes of children come in bursts. */
const announceMs = 100

const instructions = `${toolName} hands work to supervised child agents, each in a git worktree of its own, in the background. What they came to comes with a later answer: never wait or poll for it.`

export interface McpOptions {
  readonly transport: Transport
  /** Opens the store for the client of that name; asked again after a refusal or a failure. */
  readonly open: (client: string) => Promise<ParentStore | Refusal>
  readonly join: boolean
  readonly version: string
  readonly failed: (what: string, error: unknown) => void
}

/** Serves until the client goes or `signal` aborts. */
export async function serveMcp(
  { transport, open, join, version, failed }: McpOptions,
  signal: AbortSignal,
): Promise<void> {
  const server = new Server({ name: 'coxswain', version }, { capabilities: { tools: {}, logging: {} }, instructions })
  const gone = new AbortController()
  const over = new Promise<void>((resolve) => gone.signal.addEventListener('abort', () => resolve()))
  server.onclose = () => gone.abort()
  server.onerror = (error) => failed('the connection to the client', error)
  signal.addEventListener('abort', () => gone.abort())

  let announcing: { dispose(): void } | undefined
  let opened: Promise<ParentStore | Refusal> | undefined
  const store = async (): Promise<ParentStore | Refusal> => {
    opened ??= open(server.getClientVersion()?.name ?? '').catch((error: unknown) => {
      opened = undefined
      throw error
    })
    const found = await opened
    if (isRefusal(found)) opened = undefined
    else announcing ??= announce(found, (text) => void server.sendLoggingMessage(notice(text)).catch(() => undefined))
    return found
  }
  const tool = new DelegateTask(store, join)
  const answered = new Map<RequestId, () => void>()
  const underWay = new Set<Promise<Told>>()

  server.setRequestHandler(ListToolsRequestSchema, () => ({
    // Claude Code would otherwise keep it out of the model's sight until searched for.
    tools: [
      {
        name: toolName,
        description: toolDescription,
        inputSchema: inputJsonSchema(),
        _meta: { 'anthropic/alwaysLoad': true },
      },
    ],
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    if (params.name !== toolName) return refused(`There is no tool ${JSON.stringify(params.name)}, only ${toolName}.`)
    const token = params._meta?.progressToken
    let progress = 0
    const waiting = setInterval(() => {
      if (token === undefined) return
      const params = { progressToken: token, progress: ++progress }
      extra.sendNotification({ method: 'notifications/progress', params }).catch(() => undefined)
    }, progressMs)
    const call = tool.call(params.arguments ?? {}, AbortSignal.any([extra.signal, gone.signal]))
    underWay.add(call)
    try {
      const told = await call
      // The answer to a call that was cancelled is not sent.
      if (extra.signal.aborted) told.lost()
      else answered.set(extra.requestId, () => told.written())
      const content = asTexts(told).map((text) => ({ type: 'text' as const, text }))
      return { content, ...(told.refused ? { isError: true } : {}) }
    } catch (error) {
      failed(toolName, error)
      return refused(`The call failed: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      clearInterval(waiting)
      underWay.delete(call)
    }
  })
  // A client that is there is soon to call: what opening takes is over by then.
  server.oninitialized = () => void store().catch((error: unknown) => failed('opening the store', error))

  const send = transport.send.bind(transport)
  transport.send = async (message, options) => {
    await send(message, options)
    if (!('id' in message) || 'method' in message || message.id === undefined) return
    answered.get(message.id)?.()
    answered.delete(message.id)
  }
  await server.connect(transport)
  await over
  // A wish that was begun is carried out, and who was being joined is paused, before the store is let go.
  await Promise.allSettled(underWay)
  announcing?.dispose()
  await server.close()
}

/** Says everything that is due once per connection, as soon as it is. */
function announce(store: ParentStore, say: (text: string) => void): { dispose(): void } {
  const said = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    timer = undefined
    for (const { id, text } of await store.due()) {
      if (said.has(id)) continue
      said.add(id)
      say(text)
    }
  }
  const soon = (): void => {
    timer ??= setTimeout(() => void look().catch(() => undefined), announceMs)
  }
  let seen = new Map<string, string>()
  const listening = store.onDidChange((child) => {
    // Only an end makes something due; what a child says meanwhile does not.
    const ends = JSON.stringify([child.completions, child.paused, child.attempts.length])
    if (seen.get(child.id) === ends) return
    seen = seen.set(child.id, ends)
    soon()
  })
  soon()
  return {
    dispose: () => {
      listening.dispose()
      clearTimeout(timer)
    },
  }
}

const notice = (text: string) => ({ level: 'notice' as const, logger: 'coxswain', data: text })

function refused(message: string) {
  const error = { error: { code: 'invalid', message } }
  return { content: [{ type: 'text' as const, text: JSON.stringify(error) }], isError: true }
}
