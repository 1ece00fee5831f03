// `npm run agents:install`: the real agents that tests run against, each at its pinned version, into an ignored folder
// (`COXSWAIN_AGENTS_DIR`, else .agents). What is there already at that version is left alone.
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { repository } from './system.mjs'

/** Exact versions: an unpinned install on Node 20 silently takes an older Claude Code. */
const agents = [{ folder: 'claude', name: '@anthropic-ai/claude-code', version: '2.1.332', megabytes: 402 }]

/** Without its install script the program is a small notice that it is not there. */
const nativeBytes = 1024 * 1024

export const agentsFolder = path.resolve(process.env.COXSWAIN_AGENTS_DIR ?? path.join(repository, '.agents'))

/** Installs what is missing; rejects with the failing command. */
export async function installAgents() {
  for (const { folder, name, version, megabytes } of agents) {
    const prefix = path.join(agentsFolder, folder)
    const manifest = path.join(prefix, 'node_modules', name, 'package.json')
    if (isInstalled(manifest, version)) continue
    console.log(`Installing ${name}@${version} (${megabytes} MB) into ${prefix}`)
    mkdirSync(prefix, { recursive: true })
    await run('npm', [
      ...['install', '--prefix', prefix, '--no-save', '--no-audit', '--no-fund', '--loglevel', 'error'],
      `${name}@${version}`,
    ])
    // npm runs no package's scripts here; this one of them puts the native program in its place.
    await run(process.execPath, [path.join(path.dirname(manifest), 'install.cjs')])
    if (!isInstalled(manifest, version))
      throw new Error(`${name}@${version} was installed, but its program is not there`)
  }
}

/**
 * @param {string} manifest
 * @param {string} version
 */
function isInstalled(manifest, version) {
  if (!existsSync(manifest) || JSON.parse(readFileSync(manifest, 'utf8')).version !== version) return false
  const program = path.join(path.dirname(manifest), 'bin', 'claude.exe')
  return existsSync(program) && statSync(program).size > nativeBytes
}

/**
 * @param {string} file
 * @param {string[]} args
 */
function run(file, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit' })
    child.once('error', reject)
    child.once('exit', (code) =>
      code === 0 ? resolve(undefined) : reject(new Error(`${file} ${args.join(' ')} failed with ${code}`)),
    )
  })
}

if (process.argv[1] === import.meta.filename) await installAgents()
