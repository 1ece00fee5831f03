// Leads the process group of one VS Code server: starts it, and ends the whole group when the server ends or when our
// own standard input closes. The starter holds the other end of that pipe, so nothing outlives it, however it dies.
import { spawn } from 'node:child_process'

const graceMs = 3_000
const [file = '', ...args] = process.argv.slice(2)
const server = spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit'] })

const killGroup = () => process.kill(-process.pid, 'SIGKILL')
server.once('error', (error) => {
  console.error(`VS Code could not be started: ${error.message}`)
  killGroup()
})
server.once('exit', (code, signal) => {
  console.error(`VS Code ended (${signal ?? `exit code ${code}`})`)
  killGroup()
})

let ending = false
const end = () => {
  if (ending) return // Our own signal to the group reaches us as well.
  ending = true
  process.kill(-process.pid, 'SIGTERM')
  setTimeout(killGroup, graceMs)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, end)
process.stdin.resume().once('close', end)
