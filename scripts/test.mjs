// `npm test`: every check from nothing, in order: system programs, npm packages, lint, types, build, and the five test
// suites; `agents` installs the real agents it runs. Every step runs even when an earlier one failed. The last line is
// `N passed, N failed`, over all suites, with each failed check that is not a suite counted as one failure. Under CI a
// skipped test is a failure too.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { Refusal, main, needNodeModules, needPlatform, needPrograms, repository, seconds } from './system.mjs'
import { checkOutcome, closing, suiteOutcome } from './testReport.mjs'

const checks = ['lint', 'typecheck', 'build']
const suites = ['unit', 'process', 'agents', 'host', 'e2e']

await main(async () => {
  const started = Date.now()
  const asked = process.argv.slice(2)
  const unknown = asked.find((name) => ![...checks, ...suites].includes(name))
  if (unknown) throw new Refusal(`${unknown}: name any of ${[...checks, ...suites].join(', ')}, or nothing for all`)
  needPlatform()
  needPrograms(['git', 'ps', 'chromium'], 'run the tests')
  needNodeModules()

  const outcomes = []
  for (const name of checks) if (asked.length === 0 || asked.includes(name)) outcomes.push(await check(name))
  for (const name of suites) if (asked.length === 0 || asked.includes(name)) outcomes.push(await suite(name))

  const { lines, exitCode } = closing(outcomes, Boolean(process.env.CI) && process.env.CI !== 'false')
  console.log(`\nAll of it took ${seconds(started)}.\n${lines.join('\n')}`)
  process.exitCode = exitCode
})

/** @param {string} title a script of package.json that has no tests to count */
async function check(title) {
  const started = Date.now()
  const exitCode = await runStep(title, 'npm', ['run', '--silent', title])
  return checkOutcome(title, exitCode, Date.now() - started)
}

/** @param {string} title a vitest project; what it counted is read from its own report */
async function suite(title) {
  const started = Date.now()
  const report = path.join(repository, 'out/test', `${title}.json`)
  mkdirSync(path.dirname(report), { recursive: true })
  rmSync(report, { force: true })
  const exitCode = await runStep(title, process.execPath, [
    path.join(repository, 'node_modules/vitest/vitest.mjs'),
    ...['run', '--project', title, '--reporter', 'default', '--reporter', 'json', `--outputFile.json=${report}`],
  ])
  const counted = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined
  return suiteOutcome(title, counted, exitCode, Date.now() - started)
}

/**
 * @param {string} title
 * @param {string} file
 * @param {string[]} args
 * @returns {Promise<number>} its exit code; 1 when a signal ended it
 */
function runStep(title, file, args) {
  console.log(`\n── ${title} ──`)
  return new Promise((resolve, reject) => {
    const step = spawn(file, args, { cwd: repository, stdio: 'inherit' })
    step.once('error', reject)
    step.once('exit', (code) => resolve(code ?? 1))
  })
}
