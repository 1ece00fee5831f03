// Turns what the suites reported into the closing lines of `npm test` and its exit code. Pure: reads no file, runs
// nothing. Must never let a suite that ran nothing, or failed outside its tests, pass for a green one.

/**
 * What became of one step. A check (lint, types, build) has no tests of its own: it fails as one or counts nothing.
 * @typedef {{title: string, passed: number, failed: string[], skipped: string[], ms: number}} Outcome
 */

/**
 * The part of vitest's JSON report that is read here.
 * @typedef {{testResults: {name: string, status: string, message: string, assertionResults: {fullName: string, status: string}[]}[]}} VitestReport
 */

/**
 * @param {string} title of the suite
 * @param {VitestReport | undefined} report undefined when vitest wrote none
 * @param {number} exitCode vitest's own
 * @param {number} ms how long it took
 * @returns {Outcome}
 */
export function suiteOutcome(title, report, exitCode, ms) {
  /** @type {Outcome} */
  const outcome = { title, passed: 0, failed: [], skipped: [], ms }
  for (const file of report?.testResults ?? []) {
    for (const test of file.assertionResults) {
      if (test.status === 'passed') outcome.passed += 1
      else if (test.status === 'failed') outcome.failed.push(`${file.name} > ${test.fullName}`)
      else outcome.skipped.push(`${file.name} > ${test.fullName}`)
    }
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) {
      outcome.failed.push(`${file.name}: ${file.message.split('\n')[0]}`)
    }
  }
  if (outcome.failed.length === 0 && exitCode !== 0) outcome.failed.push(`vitest ended with exit code ${exitCode}`)
  if (outcome.failed.length === 0 && outcome.passed === 0) outcome.failed.push('no test ran')
  return outcome
}

/**
 * @param {string} title of the check
 * @param {number} exitCode
 * @param {number} ms how long it took
 * @returns {Outcome}
 */
export function checkOutcome(title, exitCode, ms) {
  return { title, passed: 0, failed: exitCode === 0 ? [] : [`exit code ${exitCode}`], skipped: [], ms }
}

/**
 * The end of the output: a line per step, one per failed and skipped test, and last `N passed, N failed`, to which
 * `, N skipped` is added when there were any.
 * @param {Outcome[]} outcomes
 * @param {boolean} strict a skipped test fails the run, as under CI
 * @returns {{lines: string[], exitCode: 0 | 1}}
 */
export function closing(outcomes, strict) {
  /** @param {(one: Outcome) => number} count */
  const sum = (count) => outcomes.reduce((total, one) => total + count(one), 0)
  const passed = sum((one) => one.passed)
  const failed = sum((one) => one.failed.length)
  const skipped = sum((one) => one.skipped.length)
  const table = outcomes.map((one) => {
    const tests = one.passed + one.failed.length + one.skipped.length
    const counts = tests > 0 ? `  ${tests} tests` : ''
    return `${one.title.padEnd(10)} ${one.failed.length > 0 ? 'FAILED' : 'ok    '} ${(one.ms / 1000).toFixed(1).padStart(7)} s${counts}`
  })
  const named = outcomes.flatMap((one) => [
    ...one.failed.map((name) => `FAILED  ${one.title}: ${name}`),
    ...one.skipped.map((name) => `SKIPPED ${one.title}: ${name}${strict ? ' (a failure under CI)' : ''}`),
  ])
  return {
    lines: [...table, ...named, `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`],
    exitCode: failed > 0 || (strict && skipped > 0) ? 1 : 0,
  }
}
