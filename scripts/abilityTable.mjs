// Writes the README's table of what each agent can do from the adapters themselves, so that it never says more than they do.
// `node scripts/abilityTable.mjs` brings it up to date; a test says when it is not.
import * as esbuild from 'esbuild'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { repository } from './system.mjs'

const readme = path.join(repository, 'README.md')
const begin = '<!-- abilities: written by scripts/abilityTable.mjs -->'
const end = '<!-- end of abilities -->'

const steer = {
  at_tool_boundary: 'between two tool calls',
  next_turn: 'as its next turn',
  restart: 'by interrupting and resuming',
  none: 'no',
}
const receipt = { observed: 'seen in its own log', 'agent said': 'by its own word', none: 'none' }

/** The table as Markdown, from the adapters that are built in. */
export async function abilityTable() {
  const { outputFiles } = await esbuild.build({
    entryPoints: [path.join(repository, 'src/agents/registry.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'error',
  })
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  const { agentIds, resolveAgent } = await import(`data:text/javascript;base64,${code}`)
  const bundled = { node: { file: 'node', env: {} }, demoScript: 'demoAgent.js', demoSessions: '/' }
  const rows = [
    ['Agent', 'Takes steers', 'Proof that it read one', 'Pause and resume', 'Asks before it acts', 'Tells its cost'],
  ]
  const example = { tally: { kind: 'commandLine', command: ['/bin/true'], protocol: 'lines' } }
  for (const id of agentIds(example)) {
    const resolution = resolveAgent(id, example, bundled)
    if (!resolution.ok) throw new Error(resolution.refusal)
    const { abilities, label } = resolution.agent
    const yes = (/** @type {boolean} */ can) => (can ? 'yes' : 'no')
    rows.push([
      id in example ? 'Your own' : label,
      steer[/** @type {keyof typeof steer} */ (abilities.steerMode)],
      receipt[/** @type {keyof typeof receipt} */ (abilities.receipt)],
      yes(abilities.resume),
      yes(abilities.approvals),
      yes(abilities.cost),
    ])
  }
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? []
  const line = (/** @type {string[]} */ row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')
}

/** The README with the table in its place. @param {string} text */
export async function withTable(text) {
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`README.md lacks "${begin}" and "${end}"`)
  return `${text.slice(0, from + begin.length)}\n\n${await abilityTable()}\n\n${text.slice(to)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(readme, await withTable(readFileSync(readme, 'utf8')))
