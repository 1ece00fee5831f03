// How each parent agent is told of our MCP server: which file, what is written into it, or which command of its own does
// it. Pure text; asking a person and writing is done by whoever shows this. Never names the editor's program or ours, both
// of which move with an update: only the launcher.
import { intoJson, intoTomlList, intoTomlTable, intoYaml, type Merged } from './configText'

export interface Connection {
  readonly id: string
  readonly label: string
  /** What a person may put in place by hand: a part of a file, or a command for a terminal. */
  readonly text: string
  /** Undefined: the agent keeps its configuration itself, and `text` is its own command for it. */
  readonly file?: {
    /** Absolute. */
    readonly path: string
    readonly format: 'TOML' | 'YAML' | 'JSON'
    /** The file with our part in it, or why it is not changed. */
    merge(existing: string): Merged
  }
}

/** `session`: a name only this configuration knows, so that a restarted agent finds its children and no other does. */
export function connections(
  launcher: string,
  session: (agent: string) => string,
  environment: Readonly<Record<string, string | undefined>>,
  home: string,
): Connection[] {
  const args = (agent: string): string[] => ['mcp', '--session', session(agent)]
  const config = set(environment['XDG_CONFIG_HOME']) ?? `${home}/.config`
  const codex = { command: launcher, args: args('codex') }
  const gptme = { name: 'coxswain', enabled: true, command: launcher, args: args('gptme') }
  const hermes = { command: launcher, args: args('hermes') }
  const opencode = { type: 'local', command: [launcher, ...args('opencode')], enabled: true }
  return [
    {
      id: 'claude',
      label: 'Claude Code',
      text: `claude mcp add --scope user coxswain -- ${[launcher, ...args('claude')].map(shellWord).join(' ')}`,
    },
    inFile('codex', 'Codex', `${set(environment['CODEX_HOME']) ?? `${home}/.codex`}/config.toml`, 'TOML', (existing) =>
      intoTomlTable(existing, 'mcp_servers', 'coxswain', codex),
    ),
    inFile('gptme', 'gptme', `${config}/gptme/config.toml`, 'TOML', (existing) =>
      intoTomlList(existing, 'mcp', 'servers', gptme),
    ),
    inFile(
      'hermes',
      'Hermes',
      `${set(environment['HERMES_HOME']) ?? `${home}/.hermes`}/config.yaml`,
      'YAML',
      (existing) => intoYaml(existing, 'mcp_servers', 'coxswain', hermes),
    ),
    inFile('opencode', 'opencode', `${config}/opencode/opencode.json`, 'JSON', (existing) =>
      intoJson(existing, 'mcp', 'coxswain', opencode),
    ),
  ]
}

function inFile(
  id: string,
  label: string,
  path: string,
  format: NonNullable<Connection['file']>['format'],
  merge: (existing: string) => Merged,
): Connection {
  const whole = merge('')
  return { id, label, text: whole.kind === 'added' ? whole.part : '', file: { path, format, merge } }
}

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

const set = (value: string | undefined): string | undefined => (value === undefined || value === '' ? undefined : value)
