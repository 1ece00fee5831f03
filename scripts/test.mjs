// `npm test`: every check from nothing, in order: system programs, npm packages, lint, types, build, and the four test
// suites. Every step runs even when an earlier one failed. The last line is `N passed, N failed`, over all suites, with
// each failed check that is not a suite counted as one failure. Under CI a skipped test is a failure too.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { Refusal, main, needNodeModules, needPlatform, needPrograms, repository, seconds } from './system.mjs'

const suites = ['unit', 'process', 'host', 'e2e']
const checks = ['lint', 'typecheck', 'build']

/** @typedef {{title: string, passed: number, failed: string[], skipped: string[], ms: number}} Outcome */

await main(async () => {
  const started = Date.now()
  const only = process.argv.slice(2)
  const unknown = only.find((name) => ![...checks, ...suites].includes(name))
  if (unknown)
    throw new Refusal(`npm test -- ${unknown}: say any of ${[...checks, ...suites].join(', ')}, or nothing for all`)
  needPlatform()
  needPrograms(['git', 'ps', 'chromium'], 'run the tests')
  needNodeModules()

  /** @type {Outcome[]} */
  const outcomes = []
  for (const name of checks) if (only.length === 0 || only.includes(name)) outcomes.push(await check(name))
  for (const name of suites) if (only.length === 0 || only.includes(name)) outcomes.push(await suite(name))

  const strict = Boolean(process.env.CI) && process.env.CI !== 'false'
  console.log('')
  for (const one of outcomes) {
    const counts = `${one.passed} passed, ${one.failed.length} failed, ${one.skipped.length} skipped`
    const verdict = one.failed.length > 0 ? 'FAILED' : 'ok'
    console.log(
      `${one.title.padEnd(10)} ${verdict.padEnd(7)} ${suites.includes(one.title) ? `${counts}, ` : ''}${duration(one.ms)}`,
    )
  }
  for (const one of outcomes) {
    for (const name of one.failed) console.log(`FAILED   ${one.title}: ${name}`)
    for (const name of one.skipped)
      console.log(`SKIPPED  ${one.title}: ${name}${strict ? ' (a failure under CI)' : ''}`)
  }
  /** @param {(one: Outcome) => number} count */
  const sum = (count) => outcomes.reduce((total, one) => total + count(one), 0)
  const failed = sum((one) => one.failed.length)
  const skipped = sum((one) => one.skipped.length)
  console.log(`\nAll of it took ${seconds(started)}`)
  console.log(`${sum((one) => one.passed)} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 || (strict && skipped > 0) ? 1 : 0
})

/**
 * A script of package.json that has no tests to count.
 * @param {string} title
 * @returns {Promise<Outcome>}
 */
async function check(title) {
  const started = Date.now()
  const code = await runStep(title, 'npm', ['run', '--silent', title])
  return { title, passed: 0, failed: code === 0 ? [] : [`exit code ${code}`], skipped: [], ms: Date.now() - started }
}

/**
 * A vitest project; what it counted is read from its own report.
 * @param {string} title
 * @returns {Promise<Outcome>}
 */
async function suite(title) {
  const started = Date.now()
  const report = path.join(repository, 'out/test', `${title}.json`)
  mkdirSync(path.dirname(report), { recursive: true })
  rmSync(report, { force: true })
  const code = await runStep(title, process.execPath, [
    path.join(repository, 'node_modules/vitest/vitest.mjs'),
    ...['run', '--project', title, '--reporter', 'default', '--reporter', 'json', `--outputFile.json=${report}`],
  ])
  const counted = existsSync(report) ? readReport(report) : { passed: 0, failed: [], skipped: [] }
  // A suite that found nothing to run, or failed outside its tests, must not pass for a green one.
  if (counted.failed.length === 0 && code !== 0) counted.failed.push(`vitest ended with exit code ${code}`)
  if (counted.failed.length === 0 && counted.passed === 0) counted.failed.push('no test ran')
  return { title, ...counted, ms: Date.now() - started }
}

/** @param {string} report */
function readReport(report) {
  /** @type {{testResults: {name: string, status: string, message: string, assertionResults: {fullName: string, status: string}[]}[]}} */
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  /** @type {{passed: number, failed: string[], skipped: string[]}} */
  const counted = { passed: 0, failed: [], skipped: [] }
  for (const file of testResults) {
    const name = path.relative(repository, file.name)
    for (const test of file.assertionResults) {
      if (test.status === 'passed') counted.passed += 1
      else if (test.status === 'failed') counted.failed.push(`${name} > ${test.fullName}`)
      else counted.skipped.push(`${name} > ${test.fullName}`)
    }
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) {
      counted.failed.push(`${name}: ${file.message.split('\n')[0]}`)
    }
  }
  return counted
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

/** @param {number} ms */
const duration = (ms) => `${(ms / 1000).toFixed(1)} s`
