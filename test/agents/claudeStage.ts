// A stage whose children are real Claude Code processes under real keepers, with the loopback model server as their only
// way out: the supervisor in this process, or the command line beside it.
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Child } from '../../src/core/child'
import { isRefusal } from '../../src/supervisor/commands'
import type { Coxswain } from '../../src/supervisor/coxswain'
import { eventually, Stage, type Task } from '../process/supervisor/stage'
import { AnthropicServer, lastMessage, type ModelRequest, type Reply } from './models/anthropic'

export const key = 'key-a'
/** Where `npm run agents:install` puts them. */
const agentsFolder = resolve(process.env['COXSWAIN_AGENTS_DIR'] ?? '.agents')
export const claudeProgram = join(agentsFolder, 'claude/node_modules/.bin/claude')

export const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'a command' } })

export class ClaudeStage {
  private constructor(
    readonly stage: Stage,
    readonly models: AnthropicServer,
  ) {}

  static async make(): Promise<ClaudeStage> {
    const models = await AnthropicServer.start()
    const stage = Stage.make()
    Object.assign(stage.variables, {
      COXSWAIN_AGENTS_DIR: agentsFolder,
      ANTHROPIC_BASE_URL: models.url,
      ANTHROPIC_API_KEY: key,
      // Whatever wants to go elsewhere comes to the loopback server, which reports it.
      HTTPS_PROXY: models.url,
      HTTP_PROXY: models.url,
      NO_PROXY: '127.0.0.1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
    })
    return new ClaudeStage(stage, models)
  }

  script(...replies: readonly Reply[]): void {
    this.models.script(key, ...replies)
  }

  /** The store as a window has it, with these settings of the agent. */
  async window(agent: Record<string, unknown> = {}, set: Record<string, unknown> = {}): Promise<Coxswain> {
    return await this.stage.coxswain({
      set: { agents: { claude: { kind: 'claude', ...agent } }, autonomy: 'autonomous', ...set },
    })
  }

  /** Dispatches one child; its id. */
  async spawn({ commands }: Coxswain, task: string | Task): Promise<string> {
    const asked = typeof task === 'string' ? { goal: task } : task
    const answer = await commands.spawn({ tasks: [{ agent: 'claude', ...asked }] })
    if (isRefusal(answer)) throw new Error(answer.error.message)
    return answer.subagent_ids[0]!
  }

  /** A tool that runs until `stage.open(name)`, and says that it was not cut. */
  until(name: string) {
    return bash(`until [ -e '${this.stage.latch(name)}' ]; do sleep 0.02; done; echo not cut`)
  }

  /** A tool with a helper in a session of its own that nothing in its group reaches; both note their pids. */
  stubborn() {
    const pids = join(this.stage.root, 'pids')
    const helper = join(this.stage.root, 'helper.sh')
    writeFileSync(helper, `trap '' TERM HUP INT; while true; do sleep 0.1; done`)
    return bash(`setsid sh '${helper}' & echo $! $$ >> '${pids}'; until [ -e never ]; do sleep 0.1; done`)
  }

  async stubbornRuns(times = 1): Promise<void> {
    const pids = join(this.stage.root, 'pids')
    await eventually(
      () => existsSync(pids) && readFileSync(pids, 'utf8').split('\n').length > times,
      'the tool and its helper run',
    )
  }

  async toolRuns(id: string, times = 1): Promise<void> {
    await eventually(
      () => this.stage.transcript(id).filter((entry) => entry.kind === 'toolStarted').length >= times,
      'the tool runs',
      30_000,
    )
  }

  /** Until the CLI has written down the session with this in it. */
  async sessionHolds(id: string, words: string): Promise<string> {
    return await eventually(async () => {
      const file = this.sessionFile((await this.stage.child(id)).sessionId ?? '')
      return file !== undefined && readFileSync(file, 'utf8').includes(words) ? file : undefined
    }, 'the session is written down')
  }

  sessionFile(session: string): string | undefined {
    const projects = join(this.stage.root, 'home', '.claude', 'projects')
    if (!existsSync(projects)) return undefined
    return readdirSync(projects)
      .map((folder) => join(projects, folder, `${session}.jsonl`))
      .find((file) => existsSync(file))
  }

  sent(id: string, texts: number): Promise<Child> {
    return this.stage.until(id, 'sent', ({ steers }) => steers.filter(({ state }) => state === 'sent').length === texts)
  }

  requests(): readonly ModelRequest[] {
    return this.models.requests(key)
  }

  /** The last message of the nth request, one part a line. */
  last(n: number): string[] {
    return lastMessage(this.requests()[n]!)
  }

  /** How often this stands in the whole conversation that the nth request carried. */
  times(n: number, words: string): number {
    return JSON.stringify(this.requests()[n]!.body.messages).split(words).length - 1
  }

  /** A file of the repository, committed. */
  commit(files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.stage.repo, name)), { recursive: true })
      writeFileSync(join(this.stage.repo, name), text)
    }
    this.stage.git('add', '.')
    this.stage.git('commit', '-qm', 'Files')
  }

  /** Pids of the place whose program is the agent's. */
  agentPids(): number[] {
    return this.stage.ps().flatMap(({ pid }) => {
      try {
        return readlinkSync(`/proc/${pid}/exe`).includes('claude') ? [pid] : []
      } catch {
        return []
      }
    })
  }

  async clear(): Promise<void> {
    await this.stage.clear()
    await this.models.finish()
  }
}
