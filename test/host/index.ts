// The entry that VS Code calls inside the extension host: runs the mocha suites that lie beside this file and writes
// what became of each test to the file named in COXSWAIN_HOST_RESULTS. Must not import anything of the extension.
import Mocha from 'mocha'
import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** One test of the in-host run. */
export interface HostResult {
  title: string
  state: 'passed' | 'failed' | 'skipped'
  ms: number
  error?: string
}

export async function run(): Promise<void> {
  const file = process.env.COXSWAIN_HOST_RESULTS
  if (!file) throw new Error('COXSWAIN_HOST_RESULTS names no file')
  const mocha = new Mocha({ ui: 'tdd', timeout: 60_000, forbidOnly: true })
  for (const name of readdirSync(__dirname)) if (name.endsWith('.suite.js')) mocha.addFile(path.join(__dirname, name))
  await mocha.loadFilesAsync()

  const results: HostResult[] = []
  const failures = await new Promise<number>((resolve) => {
    const runner = mocha.run(resolve)
    const title = (test: Mocha.Test | Mocha.Hook) => test.titlePath().join(' > ')
    runner.on('pass', (test) => results.push({ title: title(test), state: 'passed', ms: test.duration ?? 0 }))
    runner.on('pending', (test) => results.push({ title: title(test), state: 'skipped', ms: 0 }))
    runner.on('fail', (test, error: Error) =>
      results.push({
        title: title(test),
        state: 'failed',
        ms: test.duration ?? 0,
        error: error.stack ?? String(error),
      }),
    )
  })
  writeFileSync(file, JSON.stringify(results))
  if (failures > 0) throw new Error(`${failures} failed`)
}
