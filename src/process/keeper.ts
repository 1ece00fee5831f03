// The keeper's entry point, bundled alone: a small detached process per attempt that outlives the editor's window. It
// imports nothing later than its start, because the folder it came from may vanish while it runs.
import { appendFileSync, closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { closeLeakedFiles, keep, type Keeping } from './keeper/keep'
import { environmentPrefix } from './environment'
import type { ReadyMessage } from './wire'

const readyFd = 3
const attemptDir = process.argv[2]
let logLines = 0

function log(note: string): void {
  if (attemptDir === undefined || ++logLines > 200) return
  try {
    appendFileSync(join(attemptDir, 'keeper.log'), `${new Date().toISOString()} ${note}\n`, { mode: 0o600 })
  } catch {
    return
  }
}

function sayReady(message: ReadyMessage): void {
  try {
    writeSync(readyFd, `${JSON.stringify(message)}\n`)
    closeSync(readyFd)
    // Node's own last words would go to a pipe that nobody holds any more.
    closeSync(2)
    openSync('/dev/null', 'w')
  } catch (error) {
    // The host that started us is gone; the next one reads our files.
    log(`nobody heard that we are ready: ${String(error)}`)
  }
}

async function main(folder: string): Promise<void> {
  // Electron reads *.asar files as folders; a keeper only knows files.
  Object.assign(process, { noAsar: true })
  closeLeakedFiles(readyFd)
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(process.env))
    if (name.startsWith(environmentPrefix) && value !== undefined) values[name.slice(environmentPrefix.length)] = value
  const keeping: Keeping = keep(folder, values, sayReady)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => keeping.requestShutdown())
  await keeping.done
}

process.on('SIGHUP', () => undefined)
// Whatever goes wrong in here, the agent and its output are worth more than a tidy crash.
process.on('uncaughtException', (error) => log(`unforeseen: ${error.stack ?? String(error)}`))
process.on('unhandledRejection', (reason) =>
  log(`unforeseen: ${reason instanceof Error ? reason.stack : String(reason)}`),
)

if (attemptDir === undefined) process.exit(2)
main(attemptDir).then(
  () => process.exit(0),
  (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error)
    log(`the keeper failed: ${message}`)
    sayReady({ ok: false, kind: 'keeperFailed', message })
    process.exit(1)
  },
)
