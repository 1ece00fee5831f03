import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Git } from '../../../src/git/git'
import { Glance } from '../../../src/git/glance'
import { inspectRepository, type Repository } from '../../../src/git/repository'
import { Stage } from '../supervisor/stage'

let stage: Stage
let git: Git
let glance: Glance
let runs: () => number

beforeEach(async () => {
  stage = Stage.make()
  git = new Git({ environment: stage.environment, store: stage.data })
  const repository = await inspectRepository(git, stage.repo)
  if (repository.kind === 'problem') throw new Error(repository.message)
  glance = new Glance(git, repository)
  await glance.look()
  const run = vi.spyOn(git, 'run')
  runs = () => run.mock.calls.length
})
afterEach(async () => {
  vi.restoreAllMocks()
  await stage.clear()
})

it('a repository that has not changed is looked at without git, also when another branch has grown', async () => {
  const again = (await glance.look()) as Repository
  stage.git('worktree', 'add', '-q', '-b', 'other', join(stage.root, 'other'))
  writeFileSync(join(stage.root, 'other', 'more.txt'), 'more')
  stage.git('-C', join(stage.root, 'other'), 'add', '.')
  stage.git('-C', join(stage.root, 'other'), 'commit', '-qm', 'More')
  expect([await glance.look(), runs()]).toEqual([again, 0])
})

describe('whatever its answer is made of makes git look again', () => {
  const changes: Record<string, () => void> = {
    'a commit': () => stage.git('commit', '-q', '--allow-empty', '-m', 'Second'),
    'another branch checked out': () => stage.git('checkout', '-q', '-b', 'else'),
    'a detached head': () => stage.git('checkout', '-q', '--detach'),
    'a branch without a commit': () => stage.git('checkout', '-q', '--orphan', 'empty'),
    'its branch deleted': () => stage.git('update-ref', '-d', 'refs/heads/main'),
    'refs packed': () => stage.git('pack-refs', '--all'),
    'a setting': () => stage.git('config', 'core.sparseCheckout', 'true'),
    submodules: () => writeFileSync(join(stage.repo, '.gitmodules'), ''),
    'no repository any more': () => rmSync(join(stage.repo, '.git'), { recursive: true }),
    'rights taken away': () => chmodSync(join(stage.repo, '.git'), 0o500),
  }
  it.each(Object.keys(changes))('%s', async (change) => {
    changes[change]?.()
    expect(await glance.look()).toEqual(await inspectRepository(git, stage.repo))
    const asked = runs()
    await inspectRepository(git, stage.repo)
    // As often as a look from nothing, not never.
    expect(asked).toBeGreaterThan(runs() - asked)
    chmodSync(stage.root, 0o700)
  })
})
