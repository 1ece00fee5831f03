// Starts and stops one VS Code server with a profile of its own. The server, its extension hosts and watchers are one
// process group that ends with the process that started it. Must never touch the user's own VS Code or its settings.
import { spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Refusal, run } from '../system.mjs'

/** @typedef {import('./install.mjs').VSCode} VSCode */

/** Settings that keep a fresh profile quiet: no welcome page, no updates, no telemetry, no chat side bar. */
export const quietSettings = Object.freeze({
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.reduceMotion': 'on',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.colorTheme': 'Dark 2026',
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': 'off',
  'extensions.ignoreRecommendations': true,
  'git.openRepositoryInParentFolders': 'never',
  'chat.disableAIFeatures': true,
})

/** @param {string} profile */
const profileArguments = (profile) => [
  ...['--config', path.join(profile, 'config.yaml')],
  ...['--user-data-dir', path.join(profile, 'user')],
  ...['--extensions-dir', path.join(profile, 'ext')],
]

/** The settings file of a profile, read when a window opens. @param {string} profile */
export const settingsFile = (profile) => path.join(profile, 'user/User/settings.json')

/**
 * Makes a profile in a folder, or renews its settings. The folder's path must stay below 85 bytes: a socket lives in it.
 * @param {string} profile
 * @param {Record<string, unknown>} [settings]
 */
export function makeProfile(profile, settings = quietSettings) {
  if (Buffer.byteLength(profile) > 85)
    throw new Refusal(`${profile} is too long a path for a VS Code profile (85 bytes)`)
  mkdirSync(path.dirname(settingsFile(profile)), { recursive: true })
  writeFileSync(settingsFile(profile), JSON.stringify(settings, null, 2))
  writeFileSync(path.join(profile, 'config.yaml'), 'auth: none\n')
}

/**
 * Installs a vsix into a profile (about a second, no network).
 * @param {VSCode} vscode
 * @param {string} profile
 * @param {string} vsix
 * @param {NodeJS.ProcessEnv} [env]
 */
export function installVsix(vscode, profile, vsix, env = process.env) {
  run(vscode.node, [vscode.entry, ...profileArguments(profile), '--install-extension', vsix, '--force'], { env })
}

/**
 * @typedef {object} ServerOptions
 * @property {string} profile a folder made by makeProfile
 * @property {number} [port] on 127.0.0.1; 0 (the default) takes a free one
 * @property {boolean} [trust] false keeps Workspace Trust on, so a folder opens in Restricted Mode
 * @property {boolean} [testDriver] lets a page name an extension under development and its test suite; hides toasts
 * @property {number} [graceSeconds] how long an extension host outlives its page
 * @property {NodeJS.ProcessEnv} [env] the whole environment of the server and its extension hosts
 */

/**
 * @typedef {object} Server
 * @property {string} base http://127.0.0.1:PORT
 * @property {number} pid of the group leader; also the id of the process group
 * @property {string} profile
 * @property {string} log file with what the server printed
 * @property {(folder: string, payload?: [string, string][]) => string} url of a workbench on a folder
 * @property {() => number[]} extensionHosts pids of the living extension hosts, oldest first
 * @property {(part?: string) => string[]} logs VS Code's own log files whose path contains the part, newest first
 * @property {Promise<void>} ended when the group leader has ended, asked or not
 * @property {() => Promise<void>} stop ends the whole group; harmless twice
 */

/**
 * @param {VSCode} vscode
 * @param {ServerOptions} options
 * @returns {Promise<Server>} once its port answers
 * @throws {Refusal} when it ends before that
 */
export async function startServer(vscode, options) {
  const { profile, port = 0, trust = true, testDriver = false, graceSeconds = 5, env = process.env } = options
  const log = path.join(profile, 'server.log')
  const leader = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('groupLeader.mjs', import.meta.url)),
      ...[vscode.node, vscode.entry, ...profileArguments(profile)],
      ...['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`],
      ...['--disable-telemetry', '--disable-update-check', '--disable-getting-started-override'],
      // Without it an extension host lives on for three hours after its page has gone.
      ...['--reconnection-grace-time', String(graceSeconds)],
      ...(trust ? ['--disable-workspace-trust'] : []),
      ...(testDriver ? ['--vscode-option', 'enable-smoke-test-driver'] : []),
    ],
    // An empty gallery: extensions are looked up nowhere.
    { detached: true, stdio: ['pipe', 'pipe', 'pipe'], env: { ...env, EXTENSIONS_GALLERY: '{"serviceUrl":""}' } },
  )
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => leader.once('close', () => resolve()))
  const written = createWriteStream(log, { flags: 'a' })
  leader.stderr.pipe(written, { end: false })
  const base = await new Promise((resolve, reject) => {
    let text = ''
    leader.stdout.on('data', (/** @type {Buffer} */ bytes) => {
      written.write(bytes)
      text += bytes.toString()
      const found = /HTTP server listening on (http:\/\/[^\s/]+)/.exec(text)
      if (found) resolve(found[1])
    })
    leader.once('error', reject)
    leader.once('close', () =>
      reject(new Refusal(`VS Code ended before it listened; its log: ${log}\n${text}`.trimEnd())),
    )
  })
  const pid = /** @type {number} */ (leader.pid)

  return {
    base,
    pid,
    profile,
    log,
    ended,
    url: (folder, payload = []) => {
      const query = payload.length > 0 ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : ''
      return `${base}/?folder=${encodeURIComponent(folder)}${query}`
    },
    extensionHosts: () =>
      processes()
        .filter((one) => one.group === pid && one.command.includes('--type=extensionHost'))
        .map((one) => one.pid)
        .sort((a, b) => a - b),
    logs: (part = '') => {
      const root = path.join(profile, 'user/logs')
      if (!existsSync(root)) return []
      return readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
        .filter((file) => file.includes(part))
        .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
    },
    stop: async () => {
      leader.stdin.destroy()
      await ended
      written.end()
    },
  }
}

/**
 * Every process of this machine that is not a zombie.
 * @returns {{pid: number, group: number, command: string}[]}
 */
export function processes() {
  if (process.platform !== 'linux') {
    // Not run on macOS so far.
    return run('ps', ['-A', '-o', 'pid=,pgid=,stat=,command='])
      .split('\n')
      .flatMap((line) => {
        const found = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line)
        if (!found || found[3]?.startsWith('Z')) return []
        return [{ pid: Number(found[1]), group: Number(found[2]), command: found[4] ?? '' }]
      })
  }
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (state === 'Z') return []
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return [{ pid: Number(name), group: Number(group), command }]
    } catch {
      return [] // It ended while we looked.
    }
  })
}
