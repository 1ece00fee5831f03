// The person's own checkout, as far as a new child needs to know it: which branches there are, and which files a worktree
// made from the last commit would not have as they stand here. Reads only.
import type { Git } from './git'
import { asProblem, type Problem } from './repository'

/** Newest first; enough for a list, a name can be typed as well. */
const branchesAtMost = 200

/** Local branches, the one worked on last first. `topLevel` is the folder of a checkout. */
export async function branches(git: Git, topLevel: string): Promise<readonly string[] | Problem> {
  try {
    const listed = await git.read({
      cwd: topLevel,
      args: [
        'for-each-ref',
        '--sort=-committerdate',
        `--count=${branchesAtMost}`,
        '--format=%(refname:lstrip=2)',
        'refs/heads/',
      ],
    })
    return listed.stdout
      .toString('utf8')
      .split('\n')
      .filter((name) => name !== '')
  } catch (failure) {
    return asProblem(failure, 'list the branches')
  }
}

/**
 * Those of these files that the last commit does not hold as they are on disk: changed, untracked or ignored.
 * @param paths relative to `topLevel`, with `/`
 */
export async function unlikeHead(
  git: Git,
  topLevel: string,
  paths: readonly string[],
): Promise<ReadonlySet<string> | Problem> {
  if (paths.length === 0) return new Set()
  try {
    const status = await git.read({
      cwd: topLevel,
      args: [
        'status',
        '--porcelain',
        '-z',
        '--untracked-files=all',
        '--ignored=matching',
        '--no-renames',
        '--ignore-submodules=all',
        '--',
        ...paths,
      ],
      environment: { GIT_LITERAL_PATHSPECS: '1' },
    })
    const named = status.stdout
      .toString('utf8')
      .split('\0')
      .filter((entry) => entry.length > 3)
      .map((entry) => entry.slice(3))
    // An ignored folder is named instead of what is in it.
    return new Set(
      paths.filter((path) => named.some((name) => name === path || (name.endsWith('/') && path.startsWith(name)))),
    )
  } catch (failure) {
    return asProblem(failure, 'compare files with the last commit')
  }
}
