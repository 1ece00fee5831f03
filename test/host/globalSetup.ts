// Once per run: a VS Code, the extension built as for development, and the in-host suites bundled beside their entry.
import * as esbuild from 'esbuild'
import { rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { needPrograms, repository, run } from '../../scripts/system.mjs'
import { installVSCode } from '../../scripts/vscode/install.mjs'
import { hostBundle } from './runInHost.js'

export default async function setup(project: TestProject): Promise<void> {
  needPrograms(['git', 'chromium'], 'run the tests inside VS Code')
  project.provide('vscode', installVSCode())
  run(process.execPath, [path.join(repository, 'scripts/build.mjs')], { cwd: repository })

  const here = import.meta.dirname
  const suites = (await readdir(here)).filter((name) => name.endsWith('.suite.ts'))
  rmSync(hostBundle, { recursive: true, force: true })
  await esbuild.build({
    entryPoints: ['index.ts', ...suites].map((name) => path.join(here, name)),
    outdir: hostBundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    sourcemap: 'inline',
    external: ['vscode', 'mocha'],
    logLevel: 'warning',
  })
}
