// A loopback Anthropic Messages server for tests, strict and complete: each client (told apart by its key) has a script of
// replies in order; a request nobody scripted is answered with an error and remembered, a reply nobody asked for is
// reported by `finish`. Nothing here ever leaves 127.0.0.1.
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Reply {
  readonly text?: string
  /** The text in pieces; between two of them `betweenPieces` is awaited. */
  readonly pieces?: readonly string[]
  readonly betweenPieces?: (index: number) => Promise<void>
  readonly tools?: readonly { readonly name: string; readonly input: unknown }[]
  /** What it is said to have read; 100 unless given. */
  readonly inputTokens?: number
  /** An API error instead of an answer. */
  readonly status?: number
  readonly error?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Awaited before anything is answered. */
  readonly gate?: Promise<unknown>
  /** Never answers. */
  readonly hang?: boolean
}

export interface ModelRequest {
  readonly key: string
  readonly body: {
    readonly model: string
    readonly stream?: boolean
    readonly system?: unknown
    readonly messages: readonly { readonly role: string; readonly content: unknown }[]
    readonly tools?: readonly { readonly name: string }[]
  }
  aborted: boolean
}

interface Script {
  always?: Reply
  readonly replies: Reply[]
  readonly requests: ModelRequest[]
  readonly waiting: { readonly count: number; resolve(): void }[]
}

export class AnthropicServer {
  private readonly scripts = new Map<string, Script>()
  private readonly problems: string[] = []
  /** Paths of requests that are no conversation: probes and token counts. */
  readonly others: string[] = []
  /** Tells clients apart that share one key, by what they ask. */
  clientOf: (body: ModelRequest['body']) => string | undefined = () => undefined

  private constructor(private readonly server: http.Server) {}

  static async start(): Promise<AnthropicServer> {
    const server = http.createServer()
    const models = new AnthropicServer(server)
    server.on('connect', (request: http.IncomingMessage, socket: Duplex) => {
      models.problems.push(`wanted to reach ${request.url}`)
      socket.destroy()
    })
    server.on('request', (request, response) => void models.serve(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return models
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Adds replies to the script of one client. */
  script(key: string, ...replies: readonly Reply[]): void {
    this.of(key).replies.push(...replies)
  }

  /** Answers every request of this client the same way, however many come. */
  tolerate(key: string, reply: Reply): void {
    this.of(key).always = reply
  }

  /** Drops what is left of a client's script, where the client may or may not ask once more. */
  forget(key: string): void {
    this.of(key).replies.length = 0
  }

  /** The conversation requests of one client so far. */
  requests(key: string): readonly ModelRequest[] {
    return this.of(key).requests
  }

  /** Resolves once the client has made `count` conversation requests. */
  async requested(key: string, count: number): Promise<void> {
    const script = this.of(key)
    if (script.requests.length >= count) return
    await new Promise<void>((resolve) => script.waiting.push({ count, resolve }))
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  /** Closes and throws if a request was unscripted or a reply unused. */
  async finish(): Promise<void> {
    await this.close()
    for (const [key, { replies }] of this.scripts)
      if (replies.length > 0) this.problems.push(`${replies.length} replies for ${key} were never asked for`)
    if (this.problems.length > 0) throw new Error(this.problems.join('\n'))
  }

  private of(key: string): Script {
    const known = this.scripts.get(key)
    if (known) return known
    const script: Script = { replies: [], requests: [], waiting: [] }
    this.scripts.set(key, script)
    return script
  }

  private async serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let raw = ''
    request.setEncoding('utf8')
    for await (const chunk of request) raw += chunk as string
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (request.method !== 'POST' || pathname !== '/v1/messages') {
      this.others.push(`${request.method} ${pathname}`)
      if (pathname === '/v1/messages/count_tokens') return json(response, 200, { input_tokens: 100 })
      return json(response, request.method === 'HEAD' ? 200 : 404, {})
    }
    const bearer = request.headers.authorization?.replace(/^Bearer /, '')
    const body = JSON.parse(raw) as ModelRequest['body']
    const key = this.clientOf(body) ?? String(request.headers['x-api-key'] ?? bearer ?? 'no key')
    const script = this.of(key)
    const made: ModelRequest = { key, body, aborted: false }
    response.on('close', () => {
      if (!response.writableEnded) made.aborted = true
    })
    script.requests.push(made)
    for (const one of script.waiting.filter(({ count }) => script.requests.length >= count)) one.resolve()
    const reply = script.replies.shift() ?? script.always
    if (reply === undefined) {
      this.problems.push(`an unscripted request of ${key}: ${lastWords(made)}`)
      return json(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: 'unscripted' } })
    }
    await reply.gate
    if (reply.hang) return
    if (reply.status !== undefined) {
      for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
      const error = { type: reply.error ?? 'api_error', message: 'a scripted error' }
      return json(response, reply.status, { type: 'error', error })
    }
    await answer(response, made, reply, script.requests.length)
  }
}

async function answer(response: http.ServerResponse, made: ModelRequest, reply: Reply, n: number): Promise<void> {
  const pieces = reply.pieces ?? (reply.text === undefined ? [] : [reply.text])
  const tools = (reply.tools ?? []).map((tool, index) => ({
    type: 'tool_use' as const,
    id: `toolu_${made.key}_${n}_${index}`,
    ...tool,
  }))
  const stop_reason = tools.length > 0 ? 'tool_use' : 'end_turn'
  const usage = {
    input_tokens: reply.inputTokens ?? 100,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 20,
  }
  const message = {
    id: `msg_${made.key}_${n}`,
    type: 'message',
    role: 'assistant',
    model: made.body.model,
    stop_sequence: null,
  }
  if (made.body.stream !== true) {
    const content = [...(pieces.length > 0 ? [{ type: 'text', text: pieces.join('') }] : []), ...tools]
    return json(response, 200, { ...message, content, stop_reason, usage })
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': `req_${n}` })
  const send = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  send('message_start', {
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  })
  let index = 0
  if (pieces.length > 0) {
    send('content_block_start', { index, content_block: { type: 'text', text: '' } })
    for (const [at, text] of pieces.entries()) {
      send('content_block_delta', { index, delta: { type: 'text_delta', text } })
      if (at < pieces.length - 1) await reply.betweenPieces?.(at)
    }
    send('content_block_stop', { index: index++ })
  }
  for (const { input, ...tool } of tools) {
    send('content_block_start', { index, content_block: { ...tool, input: {} } })
    send('content_block_delta', {
      index,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    })
    send('content_block_stop', { index: index++ })
  }
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } })
  send('message_stop', {})
  response.end()
}

function json(response: http.ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_local' })
  response.end(JSON.stringify(body))
}

/** The last message of a request in short, one part a line: what a test compares. */
export function lastMessage(request: ModelRequest): string[] {
  const last = request.body.messages.at(-1)
  if (last === undefined) return []
  const parts = typeof last.content === 'string' ? [{ type: 'text', text: last.content }] : (last.content as unknown[])
  return parts.map((part) => {
    const { type, text, content, name } = part as { type: string; text?: string; content?: unknown; name?: string }
    if (type === 'text') return `text ${text ?? ''}`
    if (type === 'tool_result') return `tool_result ${typeof content === 'string' ? content : JSON.stringify(content)}`
    return `${type} ${name ?? ''}`
  })
}

function lastWords(request: ModelRequest): string {
  return lastMessage(request).join(' | ').slice(-400)
}
