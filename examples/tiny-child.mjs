// A child in twenty lines: reads its task, works in steps, takes steers between them, commits, and reports.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const { COXSWAIN_PROMPT_FILE: promptFile, COXSWAIN_CONTROL_DIR: control } = process.env
const say = (type, more) => console.log(JSON.stringify({ type, ...more }))
const queue = `${control}/prompt-queue.jsonl`
const steers = () => (existsSync(queue) ? readFileSync(queue, 'utf8').trim().split('\n').map(JSON.parse) : [])
let seen = 0
let notes = readFileSync(promptFile, 'utf8')

say('ready')
for (const step of ['look around', 'think', 'write']) {
  for (const steer of steers().slice(seen)) {
    say('steer_taken', { id: steer.id })
    notes += `\nNote: ${steer.content}`
    seen++
  }
  say('text', { text: `I ${step}: ${notes.split('\n').at(-1)}` })
}
writeFileSync('NOTES.txt', `${notes}\n`)
execFileSync('git', ['add', 'NOTES.txt'])
execFileSync('git', ['commit', '-qm', 'Write down what was asked'])
say('result', { ok: true, summary: 'NOTES.txt is written', output: { artifacts: { 'NOTES.txt': 'NOTES.txt' } } })
