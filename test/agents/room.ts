// Drives one real agent process as a supervisor would, through its adapter and nothing else: a repository of its own, a
// control folder beside it, every signal collected.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import type { Agent, Conversation, ConversationStart } from '../../src/agents/agent'
import type { Answer } from '../../src/core/events'
import type { AgentSignal, Outgoing } from '../../src/core/signals'
import { start } from '../unit/agents/start'

/** A repository of its own, a control folder beside it, and one agent process at a time whose signals are collected. */
export class Room {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'coxswain-room-'))
  readonly repo = path.join(this.folder, 'repo')
  readonly sessions = path.join(this.folder, 'sessions')
  readonly signals: AgentSignal[] = []
  /** Raw lines of the present attempt, as recorded streams are made of. */
  readonly lines: { readonly source: string; readonly line: string }[] = []
  private attempt = 0
  private process: ChildProcess | undefined
  private conversation: Conversation | undefined
  private controlDir = ''
  private news: (() => void)[] = []
  private ended: { code: number | null; signal: string | null } | undefined

  constructor(
    private readonly agent: Agent,
    private readonly env: Readonly<Record<string, string>> = {},
  ) {
    fs.mkdirSync(path.join(this.repo, 'src'), { recursive: true })
    fs.writeFileSync(path.join(this.repo, 'README.md'), '# Sample\n\nA small repository.\n')
    fs.writeFileSync(path.join(this.repo, 'src', 'index.js'), 'console.log(1)\n')
    this.git('init', '-q', '-b', 'main')
    this.git('add', '.')
    this.git('-c', 'user.name=Test', '-c', 'user.email=test@example.invalid', 'commit', '-qm', 'First')
  }

  start(prompt: string, over: Partial<ConversationStart> = {}): void {
    this.attempt++
    this.signals.length = 0
    this.lines.length = 0
    this.ended = undefined
    this.controlDir = path.join(this.folder, `attempt-${this.attempt}`, 'control')
    fs.mkdirSync(this.controlDir, { recursive: true })
    const conversation = this.agent.converse(
      start({
        prompt,
        attempt: this.attempt,
        cwd: this.repo,
        promptFile: path.join(this.folder, `attempt-${this.attempt}`, 'prompt.txt'),
        controlDir: this.controlDir,
        ...over,
      }),
    )
    this.conversation = conversation
    const { launch } = conversation
    for (const [file, content] of Object.entries(launch.files)) fs.writeFileSync(file, content, { mode: 0o600 })
    const child = spawn(launch.file, launch.args, {
      cwd: this.repo,
      env: {
        PATH: process.env['PATH'],
        HOME: this.folder,
        ...this.env,
        ...launch.env,
      },
      stdio: [launch.input === 'closed' ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    this.process = child
    for (const source of ['stdout', 'stderr'] as const) {
      let rest = ''
      child[source]!.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          this.lines.push({ source, line })
          for (const signal of conversation.read(source, line)) {
            this.signals.push(signal)
            if (signal.kind === 'reply') this.put(signal.frames)
          }
        }
        this.wake()
      })
    }
    child.stdin?.on('error', () => {})
    this.put(conversation.opening)
    child.on('close', (code, signal) => {
      this.ended = { code, signal }
      this.wake()
    })
  }

  /** A steer that stands in the queue before the first attempt begins. */
  queueEarly(lines: string): void {
    const controlDir = path.join(this.folder, 'attempt-1', 'control')
    fs.mkdirSync(controlDir, { recursive: true })
    fs.writeFileSync(path.join(controlDir, 'prompt-queue.jsonl'), lines)
  }

  steer(id: string, text: string): void {
    this.put(this.conversation!.steer!.write({ id, text, queuedAt: new Date().toISOString() }))
  }

  answer(requestId: string, answer: Answer): void {
    this.put(this.conversation!.answer!(requestId, answer))
  }

  withdraw(steerId: string): void {
    this.put(this.conversation!.withdrawSteer!(steerId))
  }

  closeInput(): void {
    this.process!.stdin!.end()
  }

  get pid(): number {
    return this.process!.pid!
  }

  cancel(): void {
    this.put(this.conversation!.softEnd!.write())
  }

  kill(signal: NodeJS.Signals): void {
    this.process!.kill(signal)
  }

  private put(frames: readonly Outgoing[]): void {
    for (const frame of frames)
      if (frame.to === 'stdin') this.process!.stdin!.write(frame.text)
      else fs.appendFileSync(path.join(this.controlDir, frame.name), `${frame.line}\n`)
  }

  /** The first signal that passes the test, also one that came already; rejects when the process ends without it. */
  async until(what: string, test: (signal: AgentSignal) => boolean): Promise<AgentSignal> {
    for (;;) {
      const found = this.signals.find(test)
      if (found) return found
      await this.more(what)
    }
  }

  async untilLine(what: string, test: (line: string) => boolean): Promise<void> {
    while (!this.lines.some(({ line }) => test(line))) await this.more(what)
  }

  /** Until a file that somebody else writes holds what is awaited; by default, whole lines. */
  async untilFile(file: string, test = (text: string) => text.endsWith('\n')): Promise<void> {
    while (!fs.existsSync(file) || !test(fs.readFileSync(file, 'utf8'))) {
      if (this.ended) throw new Error(`ended without ${file}: ${this.told().join('\n')}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  private async more(what: string): Promise<void> {
    if (this.ended) throw new Error(`ended without ${what}: ${this.told().join('\n')}`)
    await new Promise<void>((resolve) => this.news.push(resolve))
  }

  async end(): Promise<{ code: number | null; signal: string | null }> {
    while (!this.ended) await new Promise<void>((resolve) => this.news.push(resolve))
    return this.ended
  }

  private wake(): void {
    for (const one of this.news.splice(0)) one()
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.repo, encoding: 'utf8', env: { ...process.env, HOME: this.folder } })
  }

  file(name: string): string {
    return fs.readFileSync(path.join(this.repo, name), 'utf8')
  }

  /** Signals in short, one a line. */
  told(): string[] {
    return this.signals.map((signal) => {
      switch (signal.kind) {
        case 'toolStarted':
          return `tool ${signal.name} ${JSON.stringify(signal.input)}`
        case 'toolEnded':
          return signal.isError ? `  failed: ${signal.output}` : '  done'
        case 'steerTaken':
          return `steer taken ${signal.steerId}`
        case 'result':
          return `result ${signal.ok} ${JSON.stringify(signal.output ?? null)}`
        case 'text':
        case 'noise':
          return `${signal.kind} ${signal.text}`
        case 'asked':
          return `asked ${signal.requestId}`
        default:
          return signal.kind
      }
    })
  }

  async dispose(): Promise<void> {
    if (this.process && !this.ended) this.process.kill('SIGKILL')
    if (this.process) await this.end()
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}
