// The bundled demo agent: a program of its own that speaks the agent line protocol, needs no key and no network, and makes
// real edits and commits in its worktree. It carries out the steps of script.ts; it writes nothing outside its working
// folder but its session, and knows nothing of Coxswain beyond the protocol.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  firstTurn,
  nextTurn,
  reportOf,
  takeAnswer,
  takeNotes,
  withPassage,
  type AskAnswer,
  type Session,
  type Step,
} from './script'

const defaultPaceMs = 1_500
const maxToolOutput = 16 * 1024
const runTimeoutMs = 120_000

/** Thrown inside a step when somebody asked the agent to end. */
class AskedToEnd extends Error {}
/** Thrown by a step whose script says so. */
class Leave extends Error {
  constructor(readonly code: number) {
    super('leave')
  }
}

interface Surroundings {
  readonly cwd: string
  readonly prompt: string
  readonly controlDir: string
  readonly sessionId: string
  readonly sessionFile: string
  readonly resume: boolean
  readonly attempt: string
  readonly paceMs: number
}

function surroundings(env: NodeJS.ProcessEnv): Surroundings | undefined {
  const promptFile = env['COXSWAIN_PROMPT_FILE']
  const controlDir = env['COXSWAIN_CONTROL_DIR']
  const sessionId = env['COXSWAIN_SESSION_ID']
  if (!promptFile || !controlDir || !sessionId) return undefined
  const pace = Number(env['COXSWAIN_DEMO_PACE_MS'] ?? defaultPaceMs)
  const sessions = env['COXSWAIN_DEMO_SESSIONS'] || path.dirname(controlDir)
  const key = /^[\w-]{1,100}$/.test(sessionId) ? sessionId : createHash('sha256').update(sessionId).digest('hex')
  return {
    cwd: fs.realpathSync(process.cwd()),
    prompt: fs.readFileSync(promptFile, 'utf8'),
    controlDir,
    sessionId,
    sessionFile: path.join(sessions, `demo-${key}.json`),
    resume: env['COXSWAIN_RESUME'] === '1',
    attempt: env['COXSWAIN_ATTEMPT'] ?? '1',
    paceMs: Number.isFinite(pace) && pace >= 0 ? pace : defaultPaceMs,
  }
}

/** New whole lines of an append-only file of the control folder, each once. */
class Inbox {
  private offset = 0
  private partial = Buffer.alloc(0)

  constructor(private readonly file: string) {}

  unread(): unknown[] {
    let handle: number
    try {
      handle = fs.openSync(this.file, 'r')
    } catch {
      return []
    }
    try {
      const size = fs.fstatSync(handle).size
      const fresh = Buffer.alloc(Math.max(0, size - this.offset))
      const got = fs.readSync(handle, fresh, 0, fresh.length, this.offset)
      this.offset += got
      const bytes = Buffer.concat([this.partial, fresh.subarray(0, got)])
      const end = bytes.lastIndexOf(0x0a) + 1
      this.partial = Buffer.from(bytes.subarray(end))
      return bytes
        .subarray(0, end)
        .toString('utf8')
        .split('\n')
        .flatMap((line) => {
          try {
            return line.trim() === '' ? [] : [JSON.parse(line) as unknown]
          } catch {
            return []
          }
        })
    } finally {
      fs.closeSync(handle)
    }
  }
}

class DemoAgent {
  private session: Session
  private readonly ending = new AbortController()
  private deaf = false
  private tools = 0
  private questions = 0
  private readonly steers: Inbox
  private readonly answers: Inbox
  private readonly control: Inbox
  private readonly answered = new Map<string, AskAnswer>()
  private wakers: (() => void)[] = []

  constructor(private readonly here: Surroundings) {
    this.steers = new Inbox(path.join(here.controlDir, 'prompt-queue.jsonl'))
    this.answers = new Inbox(path.join(here.controlDir, 'answers.jsonl'))
    this.control = new Inbox(path.join(here.controlDir, 'control.jsonl'))
    this.session = firstTurn('', { name: '', files: [] })
  }

  /** One turn, from `ready` to the report. Resolves to the exit code. */
  async run(): Promise<number> {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.askedToEnd(signal))
    this.watchControlFolder()
    const { here } = this
    await this.say({ type: 'ready', session_id: here.sessionId, model: 'demo-script' })
    if (here.resume) {
      const remembered = this.remember()
      if (remembered === undefined) {
        const summary = `I have no memory of session ${here.sessionId}, so I cannot continue it.`
        await this.say({ type: 'result', ok: false, summary })
        return 1
      }
      this.session = nextTurn(remembered, here.prompt)
    } else {
      this.session = firstTurn(here.prompt, {
        name: await this.repositoryName(),
        files: (await this.git(['ls-files', '-z'])).output.split('\0').filter((file) => file !== ''),
      })
    }
    this.save()
    try {
      await this.follow()
    } catch (error) {
      if (error instanceof Leave) return error.code
      if (error instanceof AskedToEnd) return await this.partPolitely()
      throw error
    } finally {
      this.save()
    }
    await this.say({ type: 'usage', input_tokens: 0, output_tokens: 0, cost_usd: 0 })
    const output = reportOf(this.session)
    await this.say({ type: 'result', ok: true, summary: output.summary, output })
    return 0
  }

  private async follow(): Promise<void> {
    for (;;) {
      if (this.session.steps.length > 0) await this.pause(this.here.paceMs)
      this.checkEnding()
      await this.lookForSteers()
      const [step, ...rest] = this.session.steps
      if (step === undefined) {
        if (this.session.uncommitted.length === 0) return
        this.change({ steps: [{ kind: 'commit', message: 'Keep what the notes on the way asked for' }] })
        continue
      }
      const before = this.session
      await this.carryOut(step, rest)
      // A step that led elsewhere (an answer) has put its own successors in place.
      if (this.session.steps === before.steps) this.change({ steps: rest, done: this.session.done + 1 })
      this.save()
    }
  }

  /** Between two steps: takes every note that waits, in order; the next steps act on it. */
  private async lookForSteers(): Promise<void> {
    if (this.session.ignoresSteers) return
    const taken: string[] = []
    for (const line of this.steers.unread()) {
      if (!isObject(line) || typeof line['content'] !== 'string') continue
      if (typeof line['id'] === 'string') await this.say({ type: 'steer_taken', id: line['id'] })
      taken.push(line['content'])
    }
    if (taken.length > 0) this.session = takeNotes(this.session, taken)
    if (taken.length > 0) this.save()
  }

  private async carryOut(step: Step, rest: readonly Step[]): Promise<void> {
    switch (step.kind) {
      case 'say':
        return this.say({ type: 'text', text: step.text })
      case 'think':
        return this.say({ type: 'reasoning', text: step.text })
      case 'print':
        return this.write(`${step.text}\n`)
      case 'warn':
        process.stderr.write(`${step.text}\n`)
        return
      case 'read':
        return this.tool('read', { path: step.path }, async () =>
          cut(fs.readFileSync(this.inside(step.path), 'utf8'), 4_000),
        )
      case 'write':
        return this.edit('write', step.path, { text: cut(step.text, 2_000) }, () => step.text)
      case 'append':
        return this.edit('append', step.path, { text: cut(step.text, 2_000) }, (old) => (old ?? '') + step.text)
      case 'replace':
        return this.edit('replace', step.path, { find: step.find, with: step.with }, (old) => {
          if (old === undefined || !old.includes(step.find)) throw new Error(`${step.path} does not contain that text`)
          return old.replace(step.find, () => step.with)
        })
      case 'section': {
        const { path: file, heading, lines } = step
        const tool = fs.existsSync(path.resolve(this.here.cwd, file)) ? 'append' : 'write'
        return this.edit(tool, file, { heading, text: lines.join('\n') }, (old) => {
          const content = withPassage(file, old, heading, lines)
          if (content === undefined) throw new Error(`${file} is JSON of a shape I do not dare to touch`)
          return content
        })
      }
      case 'run':
        return this.tool('run', { argv: step.argv }, () => this.runProgram(step.argv))
      case 'commit':
        return this.commit(step.message)
      case 'ask':
        return this.ask({
          question: step.question,
          ...(step.options === undefined ? {} : { options: step.options }),
        })
      case 'askLeave':
        return this.ask({ tool: step.tool, input: step.input })
      case 'wait':
        return this.pause(step.ms)
      case 'waitForFile':
        while (!fs.existsSync(path.resolve(this.here.cwd, step.file))) await this.pause(20)
        return
      case 'lie':
        this.change({
          claims: { ...this.session.claims, [step.path]: step.path },
          lies: step.stubborn ? this.session.lies : [...this.session.lies, step.path],
          stubbornLies: step.stubborn ? [...this.session.stubbornLies, step.path] : this.session.stubbornLies,
        })
        return this.say({ type: 'text', text: `I have written ${step.path}.` })
      case 'report':
        this.change({ claims: { ...this.session.claims, ...step.artifacts }, summary: step.summary || null })
        return
      case 'fail':
        this.change({ steps: rest, done: this.session.done + 1 })
        await this.say({ type: 'result', ok: false, summary: step.reason })
        throw new Leave(1)
      case 'exit':
        this.change({ steps: rest, done: this.session.done + 1 })
        throw new Leave(step.code)
      case 'hang':
        this.deaf = step.deaf
        for (;;) await this.pause(60_000)
      case 'flood':
        for (let n = 1; n <= step.lines; n++) {
          await this.say({ type: 'text', text: `${n} `.padEnd(step.length, '.') })
          if (n % 100 === 0) this.checkEnding()
        }
        return
      case 'spawn':
        return this.tool('run', { argv: step.argv, background: true }, async () => {
          const [file = '', ...args] = step.argv
          const child = spawn(programFor(file), args, {
            cwd: this.here.cwd,
            stdio: 'ignore',
            detached: step.detached,
          })
          await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
          child.unref()
          return `started in the background as process ${child.pid}`
        })
    }
  }

  /** Announces a tool call, does it, tells how it went. Only being asked to end escapes. */
  private async tool(name: string, input: unknown, act: () => Promise<string>): Promise<void> {
    const id = `${this.here.attempt}-${++this.tools}`
    await this.say({ type: 'tool_started', id, name, input })
    let ended: { output: string; is_error: boolean }
    try {
      await this.pause(this.here.paceMs / 3)
      ended = { output: await act(), is_error: false }
    } catch (error) {
      if (error instanceof AskedToEnd) {
        await this.say({ type: 'tool_ended', id, output: 'cut short: I was asked to end', is_error: true })
        throw error
      }
      ended = { output: error instanceof Error ? error.message : String(error), is_error: true }
    }
    await this.say({ type: 'tool_ended', id, ...ended })
  }

  private edit(
    tool: string,
    file: string,
    input: Record<string, unknown>,
    change: (old: string | undefined) => string,
  ): Promise<void> {
    return this.tool(tool, { path: file, ...input }, async () => {
      const target = this.inside(file)
      const content = change(fs.existsSync(target) ? fs.readFileSync(target, 'utf8') : undefined)
      fs.mkdirSync(path.dirname(target), { recursive: true })
      fs.writeFileSync(target, content)
      const relative = path.relative(this.here.cwd, target)
      this.change({
        wrote: [...new Set([...this.session.wrote, relative])],
        uncommitted: [...new Set([...this.session.uncommitted, relative])],
      })
      return `${relative}: ${Buffer.byteLength(content)} bytes`
    })
  }

  private commit(message: string): Promise<void> {
    const paths = this.session.uncommitted
    return this.tool('commit', { message, paths }, async () => {
      // Whatever comes of it, the same files are not tried again for ever.
      this.change({ uncommitted: [] })
      if (paths.length === 0) return 'nothing to commit'
      const staged = await this.git(['add', '--', ...paths])
      if (staged.code !== 0) throw new Error(staged.output)
      if ((await this.git(['diff', '--cached', '--quiet', '--', ...paths])).code === 0) return 'nothing to commit'
      const identity =
        (await this.git(['config', 'user.email'])).code === 0
          ? []
          : ['-c', 'user.name=Coxswain demo agent', '-c', 'user.email=demo-agent@coxswain.invalid']
      const committed = await this.git([...identity, 'commit', '--quiet', '-m', message, '--', ...paths])
      if (committed.code !== 0) throw new Error(committed.output)
      this.change({ commits: this.session.commits + 1 })
      return (await this.git(['log', '-1', '--stat', '--format=%h %s'])).output
    })
  }

  private async ask(question: Record<string, unknown>): Promise<void> {
    const id = `q${this.here.attempt}-${++this.questions}`
    await this.say({ type: 'asked', id, ...question })
    for (;;) {
      for (const line of this.answers.unread()) {
        const answer = answerIn(line)
        if (answer !== undefined) this.answered.set(answer.id, answer.answer)
      }
      const answer = this.answered.get(id)
      if (answer !== undefined) {
        this.session = takeAnswer(this.session, answer)
        return
      }
      await this.wakened()
    }
  }

  private async runProgram(argv: readonly string[]): Promise<string> {
    const [file = '', ...args] = argv
    const { code, output } = await this.program(programFor(file), args)
    if (code !== 0) throw new Error(`exit code ${code}\n${output}`.trim())
    return output === '' ? '(no output)' : output
  }

  private git(args: readonly string[]): Promise<{ code: number | string; output: string }> {
    // No hook, monitor or signing program of the repository runs: a demo must not wait for a passphrase.
    const quiet = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'commit.gpgSign=false', 'core.quotePath=false']
    return this.program('git', [...quiet.flatMap((setting) => ['-c', setting]), ...args])
  }

  private program(file: string, args: readonly string[]): Promise<{ code: number | string; output: string }> {
    return new Promise((resolve, reject) => {
      const child: ChildProcess = execFile(
        file,
        args,
        {
          cwd: this.here.cwd,
          maxBuffer: 64 * 1024 * 1024,
          timeout: runTimeoutMs,
          env: { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true', GIT_PAGER: 'cat' },
        },
        (error, stdout, stderr) => {
          this.ending.signal.removeEventListener('abort', kill)
          if (this.ending.signal.aborted) return reject(new AskedToEnd())
          const output = cut((stdout + stderr).replace(/\n$/, ''), maxToolOutput)
          if (error === null) return resolve({ code: 0, output })
          if (child.pid === undefined) return reject(new Error(`${file} cannot be started: ${error.message}`))
          resolve({ code: typeof error.code === 'number' ? error.code : (error.signal ?? 'unknown'), output })
        },
      )
      const kill = () => void child.kill('SIGTERM')
      child.stdin?.end()
      this.ending.signal.addEventListener('abort', kill, { once: true })
    })
  }

  private async repositoryName(): Promise<string> {
    const { code, output } = await this.git(['rev-parse', '--path-format=absolute', '--git-common-dir'])
    const common = code === 0 ? output.trim() : ''
    return path.basename(common.endsWith('/.git') ? path.dirname(common) : this.here.cwd)
  }

  /** The absolute path of a file to touch; an error when it lies outside the working folder, also through a link. */
  private inside(file: string): string {
    const target = path.resolve(this.here.cwd, file)
    let existing = target
    while (!fs.existsSync(existing) && path.dirname(existing) !== existing) existing = path.dirname(existing)
    for (const one of [target, path.join(fs.realpathSync(existing), path.relative(existing, target))]) {
      const relative = path.relative(this.here.cwd, one)
      if (relative === '' || relative === '..' || relative.startsWith('../') || path.isAbsolute(relative))
        throw new Error(`${file} is outside my working folder, I leave it alone`)
      if (relative.split('/').includes('.git')) throw new Error(`${file} belongs to git, I leave it alone`)
    }
    return target
  }

  private watchControlFolder(): void {
    const look = () => {
      const asked = this.control.unread().some((line) => isObject(line) && line['op'] === 'cancel')
      if (asked) this.askedToEnd('cancel')
      for (const wake of this.wakers.splice(0)) wake()
    }
    try {
      fs.watch(this.here.controlDir, look).unref()
    } catch {
      // Where folders cannot be watched, looking twice a second does.
    }
    setInterval(look, 500)
    look()
  }

  private askedToEnd(how: 'cancel' | NodeJS.Signals): void {
    if (this.deaf) return void process.stderr.write(`I was asked to end (${how}) and do not listen.\n`)
    this.ending.abort(how)
    for (const wake of this.wakers.splice(0)) wake()
  }

  private checkEnding(): void {
    if (this.ending.signal.aborted) throw new AskedToEnd()
  }

  /** Until something changes in the control folder. */
  private async wakened(): Promise<void> {
    await new Promise<void>((resolve) => this.wakers.push(resolve))
    this.checkEnding()
  }

  private async pause(ms: number): Promise<void> {
    this.checkEnding()
    if (ms <= 0) return
    try {
      await sleep(ms, undefined, { signal: this.ending.signal })
    } catch {
      throw new AskedToEnd()
    }
  }

  private async partPolitely(): Promise<number> {
    const { done, steps } = this.session
    const summary = `I stop here, as asked: ${done} steps done, ${steps.length} left. I can go on from here.`
    await this.say({ type: 'text', text: summary })
    await this.say({ type: 'result', ok: false, summary })
    switch (this.ending.signal.reason as 'cancel' | NodeJS.Signals) {
      case 'SIGINT':
        return 130
      case 'SIGTERM':
        return 143
      default:
        return 0
    }
  }

  private change(changes: Partial<Session>): void {
    this.session = { ...this.session, ...changes }
  }

  private save(): void {
    const { sessionFile } = this.here
    fs.mkdirSync(path.dirname(sessionFile), { recursive: true, mode: 0o700 })
    fs.writeFileSync(`${sessionFile}.new`, JSON.stringify({ version: 1, session: this.session }), { mode: 0o600 })
    fs.renameSync(`${sessionFile}.new`, sessionFile)
  }

  private remember(): Session | undefined {
    try {
      const saved = JSON.parse(fs.readFileSync(this.here.sessionFile, 'utf8')) as unknown
      // We wrote it, and nobody else's format is accepted.
      return isObject(saved) && saved['version'] === 1 ? (saved['session'] as Session) : undefined
    } catch {
      return undefined
    }
  }

  private say(line: Record<string, unknown>): Promise<void> {
    return this.write(`${JSON.stringify(line)}\n`)
  }

  private write(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
    })
  }
}

function answerIn(line: unknown): { id: string; answer: AskAnswer } | undefined {
  if (!isObject(line) || typeof line['id'] !== 'string') return undefined
  const { id } = line
  const text = typeof line['content'] === 'string' ? line['content'] : ''
  if (line['cancelled'] === true) return { id, answer: { kind: 'cancelled' } }
  if (line['allow'] === true) return { id, answer: { kind: 'allowed' } }
  if (line['allow'] === false) return { id, answer: { kind: 'denied', text } }
  return { id, answer: { kind: 'text', text } }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** `node` is the one that runs us: an editor's machine need not have another. */
function programFor(file: string): string {
  return file === 'node' ? process.execPath : file
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}\n… (${text.length - length} more characters)`
}

async function main(): Promise<number> {
  const here = surroundings(process.env)
  if (here === undefined) {
    process.stderr.write(
      'This is the demo agent of Coxswain. It is started by Coxswain, which sets COXSWAIN_PROMPT_FILE, ' +
        'COXSWAIN_CONTROL_DIR and COXSWAIN_SESSION_ID.\n',
    )
    return 2
  }
  return await new DemoAgent(here).run()
}

// Nobody reads any more: there is nothing left to do it for.
process.stdout.on('error', () => process.exit(1))
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.exit(1)
  },
)
