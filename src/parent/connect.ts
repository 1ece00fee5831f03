// How each parent agent is told of our MCP server: which file, what is written into it, or which command of its own does
// it. Pure text; asking a person and writing is done by whoever shows this. Never names the editor's program or ours, both
// of which move with an update: only the launcher.
import { parseDocument } from 'yaml'

export interface Connection {
  readonly id: string
  readonly label: string
  /** What a person may put in place by hand: a part of a file, or a command for a terminal. */
  readonly text: string
  /** Undefined: the agent keeps its configuration itself, and `text` is its own command for it. */
  readonly file?: {
    /** Absolute. */
    readonly path: string
    /** The file with our part in it; null when it has one already, or cannot be changed without guessing. */
    merge(existing: string): string | null
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
  const codex = args('codex')
  const gptme = args('gptme')
  const hermes = { command: launcher, args: args('hermes') }
  const opencode = { type: 'local', command: [launcher, ...args('opencode')], enabled: true }
  const codexText = `[mcp_servers.coxswain]\ncommand = ${toml(launcher)}\nargs = ${toml(codex)}\n`
  const gptmeText = `[[mcp.servers]]\nname = "coxswain"\nenabled = true\ncommand = ${toml(launcher)}\nargs = ${toml(gptme)}\n`
  return [
    {
      id: 'claude',
      label: 'Claude Code',
      text: `claude mcp add --scope user coxswain -- ${[launcher, ...args('claude')].map(shellWord).join(' ')}`,
    },
    {
      id: 'codex',
      label: 'Codex',
      text: codexText,
      file: {
        path: `${set(environment['CODEX_HOME']) ?? `${home}/.codex`}/config.toml`,
        merge: (existing) => (/mcp_servers[.\]"' ]*coxswain/.test(existing) ? null : appended(existing, codexText)),
      },
    },
    {
      id: 'gptme',
      label: 'gptme',
      text: `[mcp]\nenabled = true\n\n${gptmeText}`,
      file: {
        path: `${config}/gptme/config.toml`,
        merge: (existing) => {
          // A table may stand in a file once only.
          if (/coxswain/.test(existing) || /^\s*(?:mcp\s*[.=]|servers\s*=)/m.test(existing)) return null
          const table = /^\s*\[mcp\]/m.test(existing)
          if (table && !/^\s*enabled\s*=\s*true/m.test(existing)) return null
          return appended(existing, table ? gptmeText : `[mcp]\nenabled = true\n\n${gptmeText}`)
        },
      },
    },
    {
      id: 'hermes',
      label: 'Hermes',
      text: yamlWith('', hermes) ?? '',
      file: {
        path: `${set(environment['HERMES_HOME']) ?? `${home}/.hermes`}/config.yaml`,
        merge: (existing) => yamlWith(existing, hermes),
      },
    },
    {
      id: 'opencode',
      label: 'opencode',
      text: `${JSON.stringify({ mcp: { coxswain: opencode } }, null, 2)}\n`,
      file: {
        path: `${config}/opencode/opencode.json`,
        merge: (existing) => jsonWith(existing, opencode),
      },
    },
  ]
}

function appended(existing: string, text: string): string {
  if (existing.trim() === '') return text
  return `${existing.replace(/\n*$/, '\n\n')}${text}`
}

function yamlWith(existing: string, server: object): string | null {
  const document = parseDocument(existing)
  if (document.errors.length > 0 || document.hasIn(['mcp_servers', 'coxswain'])) return null
  try {
    document.setIn(['mcp_servers', 'coxswain'], document.createNode(server))
    return document.toString({ lineWidth: 0 })
  } catch {
    // Something else stands where the servers belong.
    return null
  }
}

function jsonWith(existing: string, server: object): string | null {
  let value: unknown
  try {
    value = existing.trim() === '' ? {} : JSON.parse(existing)
  } catch {
    return null
  }
  if (!isObject(value)) return null
  const servers = value['mcp'] ?? {}
  if (!isObject(servers) || Object.hasOwn(servers, 'coxswain')) return null
  return `${JSON.stringify({ ...value, mcp: { ...servers, coxswain: server } }, null, 2)}\n`
}

/** JSON's strings are TOML's basic strings. */
const toml = (value: string | readonly string[]): string =>
  typeof value === 'string' ? JSON.stringify(value) : `[${value.map((word) => JSON.stringify(word)).join(', ')}]`

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

const set = (value: string | undefined): string | undefined => (value === undefined || value === '' ? undefined : value)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
