// `npm start`: from a fresh clone to a real VS Code in the browser, with the extension installed and a sample git
// repository open. Installs what is missing, keeps it, and ends all it started with Ctrl+C. Until `npm ci` has run,
// nothing but node:* may be imported here.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { packageExtension } from './package.mjs'
import { makeSampleRepository } from './sampleRepository.mjs'
import { Refusal, findProgram, main, needNodeModules, needPlatform, needPrograms, seconds } from './system.mjs'
import { installVSCode } from './vscode/install.mjs'
import { installVsix, makeProfile, processes, startServer } from './vscode/server.mjs'

const usage = `npm start [-- OPTIONS]
  --port N     port on 127.0.0.1 (default 8090, or a free one when that is taken)
  --fresh      forget the demo's profile and sample repository, with all that children did in it
  --no-open    do not open a browser`

await main(async () => {
  const options = readOptions()
  if (options.help) return console.log(usage)
  const started = Date.now()
  needPlatform()
  refuseSecond()
  needPrograms(['git'], 'make the sample repository and a worktree per child')
  needNodeModules()
  const vscode = installVSCode()
  const vsix = packageExtension()

  const demo = demoFolder()
  const profile = path.join(demo, 'profile')
  const sample = path.join(demo, 'harbour')
  if (options.fresh) for (const folder of [profile, sample]) rmSync(folder, { recursive: true, force: true })
  if (!existsSync(path.join(sample, '.git'))) makeSampleRepository(sample)
  makeProfile(profile)
  installVsix(vscode, profile, vsix)

  const server = await startServer(vscode, { profile, port: await choosePort(options.port) })
  let stopping = false
  /** @param {string} why */
  const end = (why) => {
    stopping = true
    console.log(`\n${why}, stopping VS Code …`)
    void server.stop().then(() => {
      stopChildren(sample)
      process.exit(0)
    })
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => end(signal))
  void server.ended.then(() => {
    if (stopping) return
    console.error(`VS Code ended by itself; its log: ${server.log}`)
    process.exit(1)
  })

  const url = server.url(sample)
  writeFileSync(path.join(demo, 'running.json'), JSON.stringify({ pid: server.pid, url }))
  const opened = !options['no-open'] && openBrowser(url)
  console.log(`
VS Code ${vscode.version} with Coxswain is ready after ${seconds(started)}${opened ? ' and opens in your browser' : ''}:

  ${url}

Then: click the Coxswain icon in the activity bar, choose "New child…", give it a goal, and pick the demo agent
(it needs no key and no network). The sample repository is ${sample}

In your own VS Code instead:  code --install-extension ${path.relative(process.cwd(), vsix) || vsix}

Ctrl+C stops it. While it runs, anyone with an account on this machine can open that address.`)
})

/**
 * Children outlive their window, which is what they are for; but those of the sample repository end with the demo.
 * @param {string} sample
 */
function stopChildren(sample) {
  /** @param {string[]} args */
  const coxswain = (...args) =>
    spawnSync(process.execPath, [path.resolve('dist/cli.js'), ...args, '--repo', sample, '--json'], {
      encoding: 'utf8',
      timeout: 20_000,
    })
  /** @returns {{ subagent_id: string, title: string, phase: string }[]} */
  const live = () => {
    const { status, stdout } = coxswain('list')
    return status === 0
      ? JSON.parse(stdout).subagents.filter((/** @type {any} */ one) => one.phase !== 'INTERRUPTED')
      : []
  }
  for (const { subagent_id: id, title } of live()) {
    console.log(`stopping the child "${title}" …`)
    coxswain('stop', id, '--reason', 'the demo was ended')
    // Ends with the child.
    coxswain('transcript', id, '--follow')
  }
  for (const { title } of live())
    console.log(`The child "${title}" still runs; see: node dist/cli.js list --repo ${sample}`)
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        port: { type: 'string' },
        fresh: { type: 'boolean', default: false },
        'no-open': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new Refusal(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
  }
}

/** Two servers on one profile would write over each other. */
function refuseSecond() {
  const file = path.join(demoFolder(), 'running.json')
  if (!existsSync(file)) return
  const { pid, url } = JSON.parse(readFileSync(file, 'utf8'))
  if (!processes().some((one) => one.pid === pid && one.command.includes('groupLeader.mjs'))) return
  throw new Refusal(`it runs already: ${url}\nEnd it with Ctrl+C where it was started, or: kill ${pid}`)
}

/** Kept between runs, so that children and their branches are still there. Short enough for VS Code's socket. */
function demoFolder() {
  const home = os.homedir()
  const cache =
    process.env.XDG_CACHE_HOME ?? path.join(home, process.platform === 'darwin' ? 'Library/Caches' : '.cache')
  const folder = path.join(cache, 'coxswain-demo')
  return Buffer.byteLength(folder) <= 75 ? folder : path.join('/tmp', `coxswain-demo-${process.getuid?.() ?? 0}`)
}

/**
 * The same port each time, because the browser keeps the window's layout per address.
 * @param {string | undefined} asked
 */
async function choosePort(asked) {
  const port = Number(asked ?? 8090)
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new Refusal(`--port ${asked}: a number from 0 to 65535`)
  const free = await new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
  if (free) return port
  if (asked) throw new Refusal(`port ${port} is in use: name another with --port, or leave it out`)
  return 0
}

/** @param {string} url @returns {boolean} whether there is a desktop to open it on */
function openBrowser(url) {
  const desktop = process.platform === 'darwin' || process.env.DISPLAY || process.env.WAYLAND_DISPLAY
  const opener = desktop ? findProgram(process.platform === 'darwin' ? 'open' : 'xdg-open') : undefined
  if (!opener) return false
  spawn(opener, [url], { detached: true, stdio: 'ignore' })
    .once('error', () => {})
    .unref()
  return true
}
