// The recipes of the README's command line, run as they stand there.
import { existsSync, readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Stage, type Printed } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

const blocks = [...readFileSync('README.md', 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)

/** The one shell block that holds these words. */
function recipe(words: string): string {
  const [found, ...more] = blocks.filter((block) => block.includes(words))
  if (found === undefined || more.length > 0) throw new Error(`the README has ${more.length} blocks with ${words}`)
  return found
}

const sh = (line: string): void => void execFileSync('sh', ['-c', line], { cwd: stage.repo, env: stage.environment })

it('its contract ends verified with the demo agent', async () => {
  stage = Stage.make()
  sh(recipe('coxswain list').split('\n')[0] ?? '')
  sh(recipe('--contract job.coxswain.json').split('\n')[0] ?? '')
  const { code, out } = await stage.cli('run', '--task', 'task.json', '--contract', 'job.coxswain.json')
  expect([code, out]).toEqual([0, expect.stringContaining('round 1: SUCCESS, verified')])
})

describe('its agent in twenty lines', () => {
  const ends = async (): Promise<Printed> => {
    const script = recipe('#!/bin/sh')
    expect(script.trimEnd().split('\n')).toHaveLength(19)
    stage.file(script.replace('sleep 1', 'sleep 0'), 'repo/tally.sh')
    for (const line of recipe('> agents.json').split('\n').slice(0, 3)) sh(line)
    const running = stage.start(['run', '--task', 'tally.json', '--agents', 'agents.json', '--json'])
    await running.done
    return running.objects().at(-1)?.completion.subagents[0]
  }

  it('counts and commits', async () => {
    stage = Stage.make()
    const { phase, report, worktree } = await ends()
    expect([phase, report.summary, worktree.commits]).toEqual(['SUCCESS', 'counted to ten', 1])
    expect(existsSync(join(worktree.path, 'tally.txt'))).toBe(true)
  })

  it('claims no success when its commit failed', async () => {
    stage = Stage.make()
    stage.git('config', 'user.useConfigOnly', 'true')
    stage.git('config', '--unset', 'user.name')
    stage.git('config', '--unset', 'user.email')
    const { phase, worktree } = await ends()
    expect([phase, worktree.commits]).toEqual(['FAILURE', 0])
  })
})
