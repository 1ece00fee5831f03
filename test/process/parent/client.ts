// A parent agent as the supervisor meets it: the official MCP client at the other end of the real command line.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { join } from 'node:path'
import { dist, type Printed, type Stage } from '../supervisor/stage'

export interface Heard {
  /** The first text of the answer. */
  readonly answer: Printed
  readonly refused: boolean
  /** The texts behind it: what was due. */
  readonly due: readonly string[]
}

export class Parent {
  readonly announced: string[] = []
  private constructor(
    readonly client: Client,
    private readonly transport: StdioClientTransport,
  ) {}

  static async connect(
    stage: Stage,
    args: readonly string[] = [],
    more: { readonly env?: Record<string, string>; readonly name?: string; readonly cwd?: string } = {},
  ): Promise<Parent> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(dist, 'cli.js'), 'mcp', ...args],
      cwd: more.cwd ?? stage.repo,
      env: { ...stage.environment, ...more.env },
      stderr: 'ignore',
    })
    const client = new Client({ name: more.name ?? 'tests', version: '1' })
    const parent = new Parent(client, transport)
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      parent.announced.push(String(params.data))
    })
    await client.connect(transport)
    return parent
  }

  get pid(): number {
    return this.transport.pid ?? 0
  }

  async call(input: Record<string, unknown>, signal?: AbortSignal): Promise<Heard> {
    const result = await this.client.callTool({ name: 'delegate_task', arguments: input }, undefined, {
      timeout: 120_000,
      ...(signal === undefined ? {} : { signal }),
    })
    const texts = (result.content as { text: string }[]).map(({ text }) => text)
    return {
      answer: JSON.parse(texts[0] ?? ''),
      refused: result.isError === true,
      due: texts.slice(1),
    }
  }

  /** The id of the one child dispatched. */
  async spawn(goal: string, more: Record<string, unknown> = {}): Promise<string> {
    const { answer } = await this.call({ goal, ...more })
    if (answer.status !== 'dispatched') throw new Error(JSON.stringify(answer))
    return answer.subagent_ids[0] as string
  }

  async ids(): Promise<string[]> {
    const { answer } = await this.call({ action: 'list' })
    return answer.subagents.map((row: Printed) => row.subagent_id as string)
  }

  close(): Promise<void> {
    return this.client.close()
  }
}

/** The parents of one test, closed together. */
export class Parents {
  private readonly all: Parent[] = []

  async connect(...args: Parameters<typeof Parent.connect>): Promise<Parent> {
    const parent = await Parent.connect(...args)
    this.all.push(parent)
    return parent
  }

  async close(): Promise<void> {
    await Promise.all(this.all.splice(0).map((parent) => parent.close()))
  }
}
