// The one place that starts git. Every call is argv without a shell, in its own process group, with a time limit and a
// bounded output, in an environment from which every GIT_* was dropped, and with the switches that keep a repository's
// configuration from choosing a program. It never shows git's own words as the message of an error. Plain `spawn`, because
// a list of two hundred worktrees is two hundred calls, and a library around each costs more time here than git itself.
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** The oldest git this product works with: settings by environment and a nameable global configuration are needed. */
export const minimumGitVersion = '2.34.0'

export interface GitSettings {
  /** Absolute path, or a bare name looked up on PATH. Machine-scoped: never taken from a repository. */
  readonly executable?: string
  /** The environment git is derived from; every GIT_* in it is dropped. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** A private folder of ours, outside every repository: views, and worktrees when there is no place beside the repository. */
  readonly store: string
}

export type GitFailureKind =
  | 'no-git'
  | 'no-folder'
  | 'timed-out'
  | 'cancelled'
  | 'too-much-output'
  /** git ended with an exit code the caller did not expect. */
  | 'failed'
  /** git was ended by a signal that was not ours. */
  | 'killed'

/** A git call that did not work. `kind` and `exitCode` are for deciding, `stderr` (bounded) is a diagnostic, never a sentence for a person. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure'
  constructor(
    readonly kind: GitFailureKind,
    readonly verb: string,
    message: string,
    readonly exitCode: number | null = null,
    readonly stderr: string = '',
  ) {
    super(message)
  }
}

export interface GitCall {
  /** The folder git starts in; it must exist. */
  readonly cwd: string
  readonly args: readonly string[]
  /** Settings that outrank every file, as [key, value]. */
  readonly config?: readonly (readonly [key: string, value: string])[]
  /** GIT_* variables of ours; nothing else with that prefix reaches git. */
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
  /** Milliseconds; 30,000 when absent. */
  readonly timeoutMs?: number
  /** Bytes of standard output kept; 16 MiB when absent. More is a failure, or with `cut` a cut result. */
  readonly maxBytes?: number
  readonly cut?: boolean
  /** Exit codes that are answers; only 0 when absent. */
  readonly exits?: readonly number[]
  /** Partial clones fetch while they check out; everything else has no business on the network. */
  readonly network?: boolean
  readonly signal?: AbortSignal
}

export interface GitOutput {
  readonly stdout: Buffer
  readonly stderr: string
  readonly exitCode: number
  /** True when standard output was longer than `maxBytes` and the rest was dropped. */
  readonly cut: boolean
}

const stderrBytes = 16 * 1024
const defaultBytes = 16 * 1024 * 1024
const defaultMs = 30_000
const killGraceMs = 2_000
/** How long the output of a git that has exited may stay open, held by something it started and left behind. */
const drainMs = 1_000
const readsAtOnce = 2

type End =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly stdout: Buffer; readonly stderr: string }
  | { readonly kind: 'too-much-output'; readonly stdout: Buffer; readonly stderr: string }
  | { readonly kind: 'timed-out' | 'cancelled'; readonly stderr: string }
  | { readonly kind: 'killed'; readonly signal: string; readonly stderr: string }
  | { readonly kind: 'not-started'; readonly reason: string; readonly stderr: string }

/** Nothing here may be overridden by a repository: command-line settings outrank every file. */
const hardening = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  'core.askPass=',
  'core.quotePath=false',
  'core.longpaths=true',
  'protocol.ext.allow=never',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
  // Relative links make git mark the shared configuration as a newer format, which an older git then refuses.
  'worktree.useRelativePaths=false',
  'log.showSignature=false',
  'advice.detachedHead=false',
  'advice.graftFileDeprecated=false',
]

/** The environment of every call. Relative entries of PATH are dropped: they would let the current folder choose a program. */
export function gitEnvironment(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (
      value === undefined ||
      /^GIT_/i.test(name) ||
      /^(LC_.*|LANG|LANGUAGE|SSH_ASKPASS.*|PAGER|EDITOR|VISUAL)$/.test(name)
    )
      continue
    result[name] = value
  }
  const path = (environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter).filter(isAbsolute)
  return {
    ...result,
    PATH: path.join(delimiter),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    // Empty is "ask nobody"; unset would fall back to what the configuration names.
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null',
    GIT_PAGER: 'cat',
    GIT_EDITOR: 'false',
  }
}

export interface GitVersion {
  readonly text: string
  readonly parts: readonly number[]
}

export function atLeast(version: GitVersion, minimum: string): boolean {
  const wanted = minimum.split('.').map(Number)
  for (const [index, part] of wanted.entries()) {
    const have = version.parts[index] ?? 0
    if (have !== part) return have > part
  }
  return true
}

export function parseVersion(text: string): GitVersion | null {
  const match = /^git version (\d+(?:\.\d+){1,3})/.exec(text)
  if (!match?.[1]) return null
  return { text: match[1], parts: match[1].split('.').map(Number) }
}

export class Git {
  readonly store: string
  /** What was read from the store once: it changes only through us. */
  readonly remembered = new Map<string, unknown>()
  private readonly executable: string
  private readonly base: Record<string, string>
  private found: GitVersion | null = null
  private readonly waiting: (() => void)[] = []
  private reading = 0
  private readonly queues = new Map<string, Promise<unknown>>()

  constructor(settings: GitSettings) {
    this.store = settings.store
    this.executable = settings.executable ?? 'git'
    this.base = gitEnvironment(settings.environment)
  }

  /** The installed version, asked once. Throws GitFailure `no-git`. */
  async version(): Promise<GitVersion> {
    if (this.found) return this.found
    const output = await this.run({ cwd: '/', args: ['--version'], timeoutMs: 10_000 })
    const version = parseVersion(output.stdout.toString('utf8'))
    if (!version) throw new GitFailure('no-git', 'version', `${this.executable} does not answer like git.`)
    this.found = version
    return version
  }

  /** Whether a program of this name is in one of the folders git would look in. */
  async programFound(program: string): Promise<boolean> {
    const folders = (this.base['PATH'] ?? '').split(delimiter)
    if (/^git-/.test(program)) folders.push(await this.text({ cwd: '/', args: ['--exec-path'] }))
    for (const candidate of program.includes('/') ? [program] : folders.map((folder) => join(folder, program))) {
      const usable = await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (usable) return true
    }
    return false
  }

  /** Standard output as text without its final newline. */
  async text(call: GitCall): Promise<string> {
    const { stdout } = await this.run(call)
    return stdout.toString('utf8').replace(/\n$/, '')
  }

  /** Runs git to its end. Throws GitFailure for everything but an expected exit. */
  async run(call: GitCall): Promise<GitOutput> {
    const verb = call.args[0] ?? 'git'
    if (call.signal?.aborted) throw new GitFailure('cancelled', verb, `git ${verb} was cancelled.`)
    const ended = await this.toItsEnd(call)
    const failed = (kind: GitFailureKind, message: string, exitCode: number | null = null) =>
      new GitFailure(kind, verb, message, exitCode, ended.stderr)
    switch (ended.kind) {
      case 'exited':
        if (ended.exitCode !== 0 && !(call.exits ?? []).includes(ended.exitCode)) {
          throw failed('failed', `git ${verb} ended with code ${ended.exitCode}.`, ended.exitCode)
        }
        return { stdout: ended.stdout, stderr: ended.stderr, exitCode: ended.exitCode, cut: false }
      case 'too-much-output':
        if (call.cut) return { stdout: ended.stdout, stderr: ended.stderr, exitCode: 0, cut: true }
        throw failed('too-much-output', `git ${verb} said more than ${call.maxBytes ?? defaultBytes} bytes.`)
      case 'timed-out':
        throw failed(
          'timed-out',
          `git ${verb} took longer than ${(call.timeoutMs ?? defaultMs) / 1000} s and was ended.`,
        )
      case 'cancelled':
        throw failed('cancelled', `git ${verb} was cancelled.`)
      case 'killed':
        throw failed('killed', `git ${verb} was ended by ${ended.signal}.`)
      case 'not-started':
        if (!(await isFolder(call.cwd))) throw failed('no-folder', `The folder ${call.cwd} does not exist.`)
        throw failed('no-git', `git could not be started (${ended.reason}).`)
      default:
        return ended satisfies never
    }
  }

  /**
   * One process from start to end, never rejecting. It is over when git has exited and its output is drained, or the drain
   * has had its time; the first cause of an end is the one that counts.
   */
  private toItsEnd(call: GitCall): Promise<End> {
    return new Promise((over) => {
      let child: ChildProcess
      try {
        child = spawn(this.executable, [...hardening.flatMap((setting) => ['-c', setting]), ...call.args], {
          cwd: call.cwd,
          env: {
            ...this.base,
            ...call.environment,
            ...settingsEnvironment(call.config ?? []),
            // A named list outranks protocol.*.allow of any file; "none" is no protocol at all.
            GIT_ALLOW_PROTOCOL: call.network ? 'https:http:ssh:git:file' : 'none',
            ...(call.network ? {} : { GIT_NO_LAZY_FETCH: '1' }),
          },
          stdio: [call.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
          // Its own group, so that a filter or a transport that git started ends with it.
          detached: true,
          shell: false,
          windowsHide: true,
        })
      } catch (failure) {
        // An argument with a NUL in it, for one.
        over({ kind: 'not-started', reason: (failure as NodeJS.ErrnoException).code ?? 'unknown', stderr: '' })
        return
      }

      const maxBytes = call.maxBytes ?? defaultBytes
      const output: Buffer[] = []
      const said: Buffer[] = []
      let outputBytes = 0
      let saidBytes = 0
      let cause: 'timed-out' | 'cancelled' | 'too-much-output' | null = null
      const timers = new Set<NodeJS.Timeout>()
      const after = (ms: number, act: () => void) => timers.add(setTimeout(act, ms))
      const signalGroup = (signal: NodeJS.Signals) => {
        if (child.pid === undefined) return
        try {
          process.kill(-child.pid, signal)
        } catch {
          // Gone already: that is what we want.
        }
      }
      let isOver = false
      const finish = (end: End) => {
        if (isOver) return
        isOver = true
        // git may have gone at the first word while something in its group took no notice.
        if (cause !== null) signalGroup('SIGKILL')
        for (const timer of timers) clearTimeout(timer)
        call.signal?.removeEventListener('abort', onAbort)
        child.stdout?.destroy()
        child.stderr?.destroy()
        over(end)
      }
      const conclude = () => {
        const stdout = Buffer.concat(output)
        const stderr = Buffer.concat(said).toString('utf8')
        if (cause === 'too-much-output') finish({ kind: cause, stdout, stderr })
        else if (cause !== null) finish({ kind: cause, stderr })
        else if (child.signalCode !== null) finish({ kind: 'killed', signal: child.signalCode, stderr })
        else if (child.exitCode !== null) finish({ kind: 'exited', exitCode: child.exitCode, stdout, stderr })
      }
      const end = (why: NonNullable<typeof cause>) => {
        if (cause !== null) return
        cause = why
        signalGroup(why === 'too-much-output' ? 'SIGKILL' : 'SIGTERM')
        after(killGraceMs, () => {
          signalGroup('SIGKILL')
          // What cannot be killed, or left the group and holds the pipes, is not ours to wait for.
          after(killGraceMs, conclude)
        })
      }
      const onAbort = () => end('cancelled')

      child.stdout?.on('data', (chunk: Buffer) => {
        if (outputBytes < maxBytes) output.push(chunk.subarray(0, maxBytes - outputBytes))
        outputBytes += chunk.length
        if (outputBytes > maxBytes) end('too-much-output')
      })
      child.stderr?.on('data', (chunk: Buffer) => {
        if (saidBytes < stderrBytes) said.push(chunk.subarray(0, stderrBytes - saidBytes))
        saidBytes += chunk.length
      })
      // git may end before it has read all of its input; its exit says what became of that.
      child.stdin?.on('error', () => undefined)
      child.on('error', (failure: NodeJS.ErrnoException) => {
        if (child.pid === undefined) finish({ kind: 'not-started', reason: failure.code ?? 'unknown', stderr: '' })
      })
      // Concluded only when a whole turn of the event loop brought nothing: a busy host may not have read for seconds.
      const drain = () => {
        const before = outputBytes + saidBytes
        after(drainMs, () => setImmediate(() => (outputBytes + saidBytes === before ? conclude() : drain())))
      }
      child.on('exit', drain)
      child.on('close', conclude)
      call.signal?.addEventListener('abort', onAbort, { once: true })
      after(call.timeoutMs ?? defaultMs, () => end('timed-out'))
      if (call.input !== undefined) child.stdin?.end(call.input)
    })
  }

  /** A reading call, at most two at a time: a long list of worktrees must not become a crowd of processes. */
  async read(call: GitCall): Promise<GitOutput> {
    if (this.reading < readsAtOnce) this.reading++
    else await new Promise<void>((go) => this.waiting.push(go))
    try {
      return await this.run(call)
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.reading--
    }
  }

  /** One writing call at a time per repository (common directory), in the order asked. A failure does not hold up the next. */
  async write<T>(commonDir: string, act: () => Promise<T>): Promise<T> {
    const before = this.queues.get(commonDir) ?? Promise.resolve()
    const mine = before.then(act, act)
    const settled = mine.catch(() => undefined)
    this.queues.set(commonDir, settled)
    try {
      return await mine
    } finally {
      if (this.queues.get(commonDir) === settled) this.queues.delete(commonDir)
    }
  }
}

/** Settings by environment, because a subsection may hold an equals sign and `-c` would cut there. */
function settingsEnvironment(settings: readonly (readonly [string, string])[]): Record<string, string> {
  const result: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) }
  for (const [index, [key, value]] of settings.entries()) {
    result[`GIT_CONFIG_KEY_${index}`] = key
    result[`GIT_CONFIG_VALUE_${index}`] = value
  }
  return result
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}
