// What this machine must have before anything of ours runs: a Unix, Node, npm packages, and a few system programs.
// Uses only node:*, because it runs before `npm ci`. It installs with apt-get only as root, else it says what to type.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, lstatSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

/** An end a person can act on: printed as one sentence, without a stack. */
export class Refusal extends Error {}

/** Where Chromium is found, by name on PATH or at its usual place; `CHROMIUM` names another one. */
const browsers = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** The Debian package that brings each program we may need. */
const packages = /** @type {const} */ ({
  git: 'git',
  'g++': 'g++',
  make: 'make',
  python3: 'python3',
  ps: 'procps',
  chromium: 'chromium',
})

/** @typedef {keyof typeof packages} Program */

/**
 * The absolute path of a program, or undefined.
 * @param {string} name a bare name, looked up on PATH, or an absolute path
 * @returns {string | undefined}
 */
export function findProgram(name) {
  const folders = path.isAbsolute(name) ? [''] : (process.env.PATH ?? '').split(path.delimiter)
  for (const folder of folders) {
    const file = path.join(folder, name)
    try {
      accessSync(file, constants.X_OK)
      if (lstatSync(file).isDirectory()) continue
      return file
    } catch {
      continue
    }
  }
  return undefined
}

/** The Chromium (or Chrome) to drive. @returns {string | undefined} */
export function findChromium() {
  const named = process.env.CHROMIUM
  if (named) return findProgram(named)
  for (const name of browsers) {
    const found = findProgram(name)
    if (found) return found
  }
  return undefined
}

/** @param {Program} program */
const present = (program) => (program === 'chromium' ? findChromium() : findProgram(program)) !== undefined

/**
 * Makes sure the programs are here: as root on a system with apt-get they are installed, otherwise refuses.
 * @param {Program[]} programs
 * @param {string} purpose what they are for, in words that follow "needed to"
 * @throws {Refusal} naming what is missing and what to type
 */
export function needPrograms(programs, purpose) {
  const missing = programs.filter((program) => !present(program))
  if (missing.length === 0) return
  const wanted = missing.map((program) => packages[program])
  const root = process.getuid?.() === 0
  const apt = findProgram('apt-get')
  if (!root || !apt) {
    const remedy = apt
      ? `run: sudo apt-get update && sudo apt-get install -y ${wanted.join(' ')}`
      : `install ${missing.join(', ')} with your system's package manager`
    throw new Refusal(`${missing.join(', ')} not found, needed to ${purpose}; ${remedy}`)
  }
  console.log(`Installing ${wanted.join(', ')} with apt-get, needed to ${purpose} …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const started = Date.now()
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...wanted],
  ]) {
    const ran = spawnSync(apt, args, { env, encoding: 'utf8' })
    if (ran.status !== 0) throw new Refusal(`apt-get ${args.join(' ')} failed:\n${ran.stdout}${ran.stderr}`.trimEnd())
  }
  const still = programs.filter((program) => !present(program))
  if (still.length > 0)
    throw new Refusal(`apt-get installed ${wanted.join(', ')}, yet ${still.join(', ')} is not found`)
  console.log(`  done in ${seconds(started)}`)
}

/** Refuses native Windows and a Node too old to run us. @throws {Refusal} */
export function needPlatform() {
  if (process.platform === 'win32') {
    throw new Refusal('Coxswain does not run agents on native Windows: open the repository in WSL and try again')
  }
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 5)) {
    throw new Refusal(`Node ${process.versions.node} is too old: Coxswain needs Node 20.5 or newer`)
  }
}

/**
 * Whether node_modules holds what package-lock.json asks for, by npm's own account of what it installed.
 * @param {string} folder a folder with package-lock.json
 */
export function nodeModulesAreFresh(folder) {
  const installed = path.join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(installed)) return false
  /** @param {string} file @returns {Record<string, {version?: string, optional?: boolean, integrity?: string}>} */
  const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages
  const have = packagesOf(installed)
  const want = packagesOf(path.join(folder, 'package-lock.json'))
  return Object.entries(want).every(([name, entry]) => {
    if (name === '') return true
    const got = have[name]
    return got ? got.version === entry.version && got.integrity === entry.integrity : entry.optional === true
  })
}

/** Runs `npm ci` where node_modules is missing or not what the lockfile says. @throws {Refusal} */
export function needNodeModules() {
  if (nodeModulesAreFresh(repository)) return
  const folder = path.join(repository, 'node_modules')
  if (existsSync(folder) && lstatSync(folder).isSymbolicLink()) {
    throw new Refusal('node_modules is a link and does not match package-lock.json: run npm ci where it points')
  }
  const started = Date.now()
  console.log('Installing npm packages (about 290 MB) …')
  run('npm', ['ci', '--loglevel=error'], { cwd: repository })
  console.log(`  done in ${seconds(started)}`)
}

/**
 * Runs a program to its end, quietly; what it printed is shown only if it fails.
 * @param {string} file
 * @param {string[]} args
 * @param {{cwd?: string, env?: NodeJS.ProcessEnv}} [options]
 * @returns {string} its standard output
 * @throws {Refusal} with what it printed
 */
export function run(file, args, options = {}) {
  const ran = spawnSync(file, args, {
    ...options,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (ran.error) throw new Refusal(`${file} could not be started: ${ran.error.message}`)
  if (ran.status !== 0) {
    const how = ran.signal ? `was ended by ${ran.signal}` : `failed with exit code ${ran.status}`
    throw new Refusal(`${[file, ...args].join(' ')} ${how}\n${ran.stdout}${ran.stderr}`.trimEnd())
  }
  return ran.stdout
}

/**
 * Time since a moment, for people. @param {number} since milliseconds since the epoch
 * @returns {string} like `4 s` or `2 min 10 s`
 */
export function seconds(since) {
  const whole = Math.round((Date.now() - since) / 1000)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

/**
 * Runs a script's body: a refusal ends it with one sentence, anything else is a bug and keeps its stack.
 * @param {() => Promise<void> | void} body
 */
export async function main(body) {
  try {
    await body()
  } catch (error) {
    console.error(error instanceof Refusal ? `\n${error.message}` : error)
    process.exitCode = error instanceof Refusal ? 2 : 1
  }
}
