import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { userLauncherPath, writeUserLauncher } from '../../../src/supervisor/launcher'
import { dist, Stage } from '../supervisor/stage'

let stage: Stage
afterEach(() => stage.clear())

it('the launcher stands in the user-s data folder, starts this version, and is put right again where it was spoilt', async () => {
  stage = Stage.make()
  const launcher = await writeUserLauncher(stage.environment, dist, '')
  expect(launcher).toBe(join(stage.data, 'bin', 'coxswain'))
  expect(launcher).toBe(userLauncherPath(stage.environment))
  if (typeof launcher !== 'string') return
  const listed = execFileSync(launcher, ['list', '--json'], {
    cwd: stage.repo,
    env: stage.environment,
    encoding: 'utf8',
  })
  expect(JSON.parse(listed)).toMatchObject({ action: 'list', count: 0 })
  expect(statSync(launcher).mode & 0o777).toBe(0o700)
  await writeUserLauncher(stage.environment, '/somewhere/else', '')
  expect(() => execFileSync(launcher, ['--version'], { env: stage.environment, stdio: 'ignore' })).toThrow()
  await writeUserLauncher(stage.environment, dist, '')
  expect(execFileSync(launcher, ['--version'], { env: stage.environment, encoding: 'utf8' })).toMatch(/^\d+\.\d+/)
  expect(await writeUserLauncher(stage.environment, dist, '/no/such/node')).toMatchObject({
    message: expect.stringContaining('No Node'),
  })
})
