// What verification needs of the world and may not reach for itself: programs, git's facts, and the limits of one run.
// The supervisor hands these in; tests hand in real ones.

/** How a command check ended. Only an exit says anything about the work. */
export type RunOutcome =
  | {
      readonly kind: 'exited'
      readonly code: number | null
      readonly signal: string | null
      /** The end of what it wrote on stdout and stderr together. */
      readonly output: string
      /** What it wrote in all, bytes. */
      readonly outputBytes: number
      /** Processes it left behind in its group, ended by us. */
      readonly leftBehind?: number
    }
  | { readonly kind: 'timed out'; readonly output: string }
  | { readonly kind: 'too much output'; readonly output: string; readonly limitBytes: number }
  /** It was never started, e.g. there is no such program. */
  | { readonly kind: 'not started'; readonly reason: string }

export interface RunRequest {
  readonly argv: readonly string[]
  /** Absolute, below the worktree. */
  readonly cwd: string
  readonly timeoutMs: number
  /** Beyond this the program is ended. */
  readonly outputCapBytes: number
  readonly signal?: AbortSignal
}

/**
 * Bound to one child's worktree and its base commit. Each may reject; the checks that needed it are then UNKNOWN. None
 * may run anything the worktree configures (hooks, filters, fsmonitor) except `run`, which is asked to.
 */
export interface World {
  /** In its own process group, without a shell, with a trimmed environment; ends with everything it started. */
  run(request: RunRequest): Promise<RunOutcome>
  /** Every file of the worktree but ignored ones: tracked and untracked, relative. */
  files(): Promise<readonly string[]>
  /**
   * Paths that differ from the base commit, in the last commit or in the worktree, and untracked ones unless the
   * worktree's own .gitignore files say otherwise. Renames are both paths. All of them: a list that was cut rejects. Index flags (assume-unchanged, skip-worktree) hide nothing.
   */
  changedFiles(): Promise<readonly string[]>
  /** Commits beyond the base, and the paths that no commit holds. */
  committed(): Promise<{ readonly commits: number; readonly uncommitted: readonly string[] }>
  /** The file's bytes in the base commit; null when the base has no such file. */
  blobAtBase(path: string): Promise<Uint8Array | null>
}

export interface Limits {
  /** A file larger than this is not read for its content. */
  readonly contentBytes: number
  /** A file larger than this fails whatever is asked of it. */
  readonly fileBytes: number
  /** Parsing, matching and validating one file; then the worker is ended. */
  readonly contentMs: number
  /** Opening and reading one file, e.g. on a disk that hangs. */
  readonly readMs: number
  /** Memory of the worker that parses and matches. */
  readonly workerMemoryMb: number
  readonly commandOutputBytes: number
  readonly urlMs: number
  /** Each question put to git. */
  readonly gitMs: number
  /** Of a larger file, size and times stand for its content when we look whether files changed meanwhile. */
  readonly stampBytes: number
  /** Hosts besides this machine that url_ok may ask, as `name` or `name:port`. */
  readonly allowedHosts: readonly string[]
}

const MIB = 1024 * 1024

export const defaultLimits: Limits = {
  contentBytes: 32 * MIB,
  fileBytes: 1024 * MIB,
  contentMs: 5_000,
  readMs: 30_000,
  workerMemoryMb: 512,
  commandOutputBytes: 64 * MIB,
  urlMs: 10_000,
  gitMs: 120_000,
  stampBytes: 8 * MIB,
  allowedHosts: [],
}

/** The promise's value, or a rejection with these words when `ms` have passed. What comes later goes to `late`. */
export async function within<T>(work: Promise<T>, ms: number, words: string, late?: (value: T) => void): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let expired = false
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      expired = true
      reject(new TimeLimitError(words))
    }, ms)
  })
  work.then(
    (value) => {
      if (expired) late?.(value)
    },
    () => undefined,
  )
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

class TimeLimitError extends Error {}
