import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { script, Stage } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

describe('contract files on the command line', () => {
  it('a template is printed, looked over, and given to each task that has none of its own', async () => {
    stage = Stage.make()
    const { code, out } = await stage.cli('contract', '--template', 'report')
    expect(code).toBe(0)
    const file = stage.file(out.replaceAll('docs/report.md', 'out.md'), 'job.coxswain.json')
    expect(await stage.json('contract', file)).toMatchObject({
      level: 'full',
      deliverables: ['out.md'],
      checks: ['out.md matches /^#+ .*sources/im', 'nothing changed but out.md'],
      max_retries: 1,
      warnings: [],
    })
    const goal = script({ write: { path: 'out.md', text: '# Sources\n' } }, { commit: 'Out' })
    const ran = await stage.cli(
      'run',
      '--task',
      stage.tasks({ goal }, { goal, contract: { level: 'none' } }),
      '--contract',
      file,
      '--json',
    )
    const completion = JSON.parse(ran.out.trim().split('\n').at(-1) ?? '').completion
    expect([
      ran.code,
      ...completion.subagents.map((each: { verdict: { status: string } | null }) => each.verdict?.status),
    ]).toEqual([0, 'verified', undefined])
  })

  it('what is wrong with one is said by name, and nothing starts', async () => {
    stage = Stage.make()
    const file = join(stage.root, 'bad.coxswain.yaml')
    writeFileSync(file, 'checks:\n  - file_exist: {path: a}\n')
    const task = stage.tasks(script({ say: 'x' }))
    for (const args of [
      ['contract', file],
      ['run', '--task', task, '--contract', file],
    ]) {
      const { code, err } = await stage.cli(...args)
      expect([code, err]).toEqual([2, expect.stringContaining('checks[0]: unknown kind "file_exist"; known: ')])
    }
    expect((await stage.cli('contract', '--template', 'poem')).err).toContain('there are report, code, table')
    expect(stage.left().children).toEqual([])
  })
})
