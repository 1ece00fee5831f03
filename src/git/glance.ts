// A repository as git last saw it, for as long as the files that this depended on stay as they were. It starts git only
// when one of them has changed; a problem is never remembered.
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from './git'
import { inspectRepository, type Problem, type Repository } from './repository'

export class Glance {
  private stamp: string | undefined

  /** `repository`: what `inspectRepository` said of the folder at some time. */
  constructor(
    private readonly git: Git,
    private repository: Repository,
  ) {}

  /** What `inspectRepository` says of the folder now. */
  async look(): Promise<Repository | Problem> {
    const { repository } = this
    const stamp = await stampOf(repository)
    if (stamp === this.stamp) return repository
    this.stamp = undefined
    const looked = await inspectRepository(this.git, repository.folder)
    if (looked.kind === 'problem') return looked
    this.repository = looked
    // Taken before git looked, so that what changes meanwhile is seen the next time.
    if (filesOf(looked).join() === filesOf(repository).join()) this.stamp = stamp
    return looked
  }
}

/** Whatever the answer of `inspectRepository` is made of; more commits on other branches are not. */
function filesOf({ folder, topLevel, gitDir, commonDir, head }: Repository): string[] {
  return [
    folder,
    join(topLevel, '.git'),
    join(topLevel, '.gitmodules'),
    join(gitDir, 'HEAD'),
    join(gitDir, 'config.worktree'),
    commonDir,
    ...['config', 'packed-refs', 'shallow', 'reftable/tables.list'].map((name) => join(commonDir, name)),
    ...(head.branch === null ? [] : [join(commonDir, 'refs', 'heads', head.branch)]),
  ]
}

async function stampOf(repository: Repository): Promise<string> {
  const files = filesOf(repository).map(async (path) => {
    const found = await stat(path).catch(() => undefined)
    if (found === undefined) return '-'
    const { dev, ino, uid, mode } = found
    // A folder's time changes with everything that is made in it.
    return found.isDirectory() ? [dev, ino, uid, mode] : [dev, ino, uid, mode, found.size, found.mtimeMs]
  })
  const writable = access(repository.commonDir, constants.W_OK).then(
    () => 'writable',
    () => 'read-only',
  )
  return JSON.stringify(await Promise.all([...files, writable]))
}
