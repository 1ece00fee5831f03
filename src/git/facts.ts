// What git can say of a child's worktree to whoever verifies it, complete or not at all: a list that would have to be cut
// rejects. Read through our own view, so neither index flags, exclude files nor settings an agent may have written count.
import type { Git } from './git'
import { workingState } from './review'
import { findWorktree, type Head, type KnownWorktree, type Made, View } from './view'

export interface WorktreeFacts {
  /** Every file but ignored ones: tracked and untracked, relative to the worktree. */
  files(): Promise<readonly string[]>
  /** Paths that differ from the base in the last commit or in the worktree, and untracked ones not ignored. */
  changedFiles(): Promise<readonly string[]>
  /** Commits beyond the base, and the paths that no commit holds. */
  committed(): Promise<{ readonly commits: number; readonly uncommitted: readonly string[] }>
  /** A file's bytes in the base commit, as stored; null when there is no such file. */
  blobAtBase(path: string): Promise<Uint8Array | null>
}

const listBytes = 256 * 1024 * 1024
const blobBytes = 1024 * 1024 * 1024
const timeoutMs = 120_000

/** Each rejects with a GitFailure, or an Error that says what is missing. */
export function worktreeFacts(git: Git, known: KnownWorktree): WorktreeFacts {
  const through = async <T>(read: (view: View, made: Made, head: Head) => Promise<T>): Promise<T> => {
    const there = await findWorktree(git, known)
    if (there === null) throw new Error(`The worktree ${known.path} is no longer there.`)
    return read(await View.open(git, there.made), there.made, there.head)
  }
  const list = async (view: View, args: readonly string[]): Promise<string[]> => {
    const { stdout } = await view.run({ args, maxBytes: listBytes, timeoutMs })
    return stdout
      .toString('utf8')
      .split('\0')
      .filter((path) => path !== '')
  }
  const working = async (view: View, commit: string) => {
    const state = await view.at(commit, () => workingState(view))
    if (state.cut) throw new Error('More files are changed than can be listed.')
    return state
  }
  return {
    files: () =>
      through((view, made, head) =>
        view.at(head.commit ?? made.base, () =>
          list(view, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']),
        ),
      ),
    changedFiles: () =>
      through(async (view, made, head) => {
        const state = await working(view, made.base)
        const committed =
          head.commit === null || head.commit === made.base
            ? []
            : await list(view, [
                'diff',
                '-z',
                '--name-only',
                '--no-renames',
                '--no-ext-diff',
                '--no-textconv',
                '--end-of-options',
                made.base,
                head.commit,
                '--',
              ])
        return [...new Set([...state.changed, ...state.untracked, ...committed])].sort()
      }),
    committed: () =>
      through(async (view, made, head) => {
        if (head.commit === null) throw new Error('The branch of the worktree has no commit.')
        const { changed, untracked } = await working(view, head.commit)
        const counted = await view.run({
          args: ['rev-list', '--count', '--end-of-options', `${made.base}..${head.commit}`, '--'],
          timeoutMs,
        })
        return { commits: Number(counted.stdout.toString('utf8')), uncommitted: [...changed, ...untracked].sort() }
      }),
    blobAtBase: (path) =>
      through(async (view, made) => {
        const listed = await view.run({
          args: ['ls-tree', '-z', '--full-tree', made.base, '--', path],
          timeoutMs,
        })
        const entry = /^(\d+) (\w+) ([0-9a-f]+)\t([^\0]*)\0$/s.exec(listed.stdout.toString('utf8'))
        if (entry?.[2] !== 'blob' || entry[4] !== path) return null
        const blob = await view.run({ args: ['cat-file', 'blob', entry[3] ?? ''], maxBytes: blobBytes, timeoutMs })
        return blob.stdout
      }),
  }
}
