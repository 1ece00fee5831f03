// Turns what the suites reported into the closing lines of `npm test` and its exit code. Pure: reads no file, runs
// nothing. Must never let a suite that ran nothing, or failed outside its tests, pass for a green one.

/**
 * What became of one step. A check (lint, types, build) has no tests of its own: it fails as one or counts nothing.
 * A failure is one line, and below it, indented, what its tries said.
 * @typedef {{title: string, passed: number, failed: Failure[], skipped: string[], ms: number}} Outcome
 * @typedef {{name: string, why: string[]}} Failure
 */

/**
 * The part of vitest's JSON report that is read here.
 * @typedef {{testResults: {name: string, status: string, message: string, assertionResults: {fullName: string, status: string, failureMessages?: string[]}[]}[]}} VitestReport
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
      else if (test.status === 'failed')
        outcome.failed.push({
          name: `${file.name} > ${test.fullName}`,
          why: (test.failureMessages ?? []).flatMap(gist),
        })
      else outcome.skipped.push(`${file.name} > ${test.fullName}`)
    }
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) {
      outcome.failed.push({ name: `${file.name}: ${file.message.split('\n')[0]}`, why: [] })
    }
  }
  if (outcome.failed.length === 0 && exitCode !== 0)
    outcome.failed.push({ name: `vitest ended with exit code ${exitCode}`, why: [] })
  if (outcome.failed.length === 0 && outcome.passed === 0) outcome.failed.push({ name: 'no test ran', why: [] })
  return outcome
}

/** The escape codes of colours. */
const colours = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')

/**
 * What one try said, short enough to stand at the end of a long output: its words, and the first place in a test.
 * @param {string} message with the stack
 * @returns {string[]}
 */
function gist(message) {
  const lines = message
    .replace(colours, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const words = lines.filter((line) => !/^\s+at /.test(line)).slice(0, 8)
  const place = lines.find((line) => /^\s+at .*[.]test[.]ts:\d+/.test(line))
  return [...words, ...(place === undefined ? [] : [place])].map((line) => `  ${line.slice(0, 200)}`)
}

/**
 * @param {string} title of the check
 * @param {number} exitCode
 * @param {number} ms how long it took
 * @returns {Outcome}
 */
export function checkOutcome(title, exitCode, ms) {
  return {
    title,
    passed: 0,
    failed: exitCode === 0 ? [] : [{ name: `exit code ${exitCode}`, why: [] }],
    skipped: [],
    ms,
  }
}

/**
 * The end of the output: a line per step, one per failed test with what it said and per skipped one, and last `N passed, N failed`, to which
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
    ...one.failed.flatMap(({ name, why }) => [`FAILED  ${one.title}: ${name}`, ...why]),
    ...one.skipped.map((name) => `SKIPPED ${one.title}: ${name}${strict ? ' (a failure under CI)' : ''}`),
  ])
  return {
    lines: [...table, ...named, `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`],
    exitCode: failed > 0 || (strict && skipped > 0) ? 1 : 0,
  }
}
