// The one place that starts git. Every call is argv without a shell, in its own process group, with a time limit and a
// bounded output, in an environment from which every GIT_* was dropped, and with the switches that keep a repository's
// configuration from choosing a program. It never shows git's own words as the message of an error.
import { execa } from 'execa'
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
const killGraceMs = 2_000
const readsAtOnce = 2

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
    const subprocess = execa(this.executable, [...hardening.flatMap((setting) => ['-c', setting]), ...call.args], {
      cwd: call.cwd,
      env: {
        ...this.base,
        ...call.environment,
        ...settingsEnvironment(call.config ?? []),
        // A named list outranks protocol.*.allow of any file; "none" is no protocol at all.
        GIT_ALLOW_PROTOCOL: call.network ? 'https:http:ssh:git:file' : 'none',
        ...(call.network ? {} : { GIT_NO_LAZY_FETCH: '1' }),
      },
      extendEnv: false,
      ...(call.input === undefined ? { stdin: 'ignore' as const } : { input: call.input }),
      encoding: 'buffer',
      buffer: { stdout: true, stderr: false },
      maxBuffer: { stdout: call.maxBytes ?? 16 * 1024 * 1024 },
      stripFinalNewline: false,
      reject: false,
      // Its own group, so that a filter or a transport that git started ends with it.
      detached: true,
      cleanup: false,
    })

    const said: Buffer[] = []
    let saidBytes = 0
    subprocess.stderr?.on('data', (chunk: Buffer) => {
      if (saidBytes < stderrBytes) said.push(chunk.subarray(0, stderrBytes - saidBytes))
      saidBytes += chunk.length
    })

    let ended: 'timed-out' | 'cancelled' | null = null
    const timers: NodeJS.Timeout[] = []
    const signalGroup = (signal: NodeJS.Signals) => {
      if (subprocess.pid === undefined) return
      try {
        process.kill(-subprocess.pid, signal)
      } catch {
        // Gone already: that is what we want.
      }
    }
    const end = (cause: 'timed-out' | 'cancelled') => {
      if (ended) return
      ended = cause
      signalGroup('SIGTERM')
      timers.push(
        setTimeout(() => {
          signalGroup('SIGKILL')
          // A process that left the group may still hold the pipes; it is not ours to wait for.
          timers.push(
            setTimeout(() => [subprocess.stdout, subprocess.stderr].forEach((pipe) => pipe?.destroy()), killGraceMs),
          )
        }, killGraceMs),
      )
    }
    timers.push(setTimeout(() => end('timed-out'), call.timeoutMs ?? 30_000))
    const onAbort = () => end('cancelled')
    call.signal?.addEventListener('abort', onAbort, { once: true })

    let result
    try {
      result = await subprocess
    } finally {
      for (const timer of timers) clearTimeout(timer)
      call.signal?.removeEventListener('abort', onAbort)
    }

    if (ended === 'timed-out') {
      throw new GitFailure(
        'timed-out',
        verb,
        `git ${verb} took longer than ${(call.timeoutMs ?? 30_000) / 1000} s and was ended.`,
      )
    }
    if (ended === 'cancelled') throw new GitFailure('cancelled', verb, `git ${verb} was cancelled.`)
    const stdout = Buffer.from(result.stdout)
    const stderr = Buffer.concat(said).toString('utf8')
    if (result.isMaxBuffer) {
      signalGroup('SIGKILL')
      if (call.cut) return { stdout, stderr, exitCode: 0, cut: true }
      throw new GitFailure(
        'too-much-output',
        verb,
        `git ${verb} said more than ${call.maxBytes ?? 16 * 1024 * 1024} bytes.`,
      )
    }
    if (result.exitCode === undefined) {
      if (result.signal !== undefined) {
        throw new GitFailure('killed', verb, `git ${verb} was ended by ${result.signal}.`, null, stderr)
      }
      if (!(await isFolder(call.cwd))) throw new GitFailure('no-folder', verb, `The folder ${call.cwd} does not exist.`)
      throw new GitFailure('no-git', verb, `git could not be started (${result.code ?? 'no reason given'}).`)
    }
    if (result.exitCode !== 0 && !(call.exits ?? []).includes(result.exitCode)) {
      throw new GitFailure('failed', verb, `git ${verb} ended with code ${result.exitCode}.`, result.exitCode, stderr)
    }
    return { stdout, stderr, exitCode: result.exitCode, cut: false }
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
