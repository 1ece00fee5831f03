// Which variables reach a child: those that are named, and nothing else. What an editor or another agent put into our
// own environment (NODE_OPTIONS, ELECTRON_*, VSCODE_*, GIT_*, CLAUDECODE) stays here unless someone names it.

/** The keeper receives the agent's variables under this prefix, so that none of them acts on the keeper itself. */
export const environmentPrefix = 'COXSWAIN_AGENT_'

/** What almost every program needs to find its home, its tools, its language and its temporary files. */
export const baseEnvironmentNames: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'LC_MESSAGES',
  'TZ',
  'TMPDIR',
  'TERM',
  'COXSWAIN_DATA_DIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
  'XDG_STATE_HOME',
  'XDG_RUNTIME_DIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
]

/** The named variables of `from` that have a value. */
export function pickEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const name of names) {
    const value = from[name]
    if (value !== undefined) picked[name] = value
  }
  return picked
}

/** The keeper's own environment: little of the host's, and the agent's variables under the prefix. */
export function keeperEnvironment(
  host: Readonly<Record<string, string | undefined>>,
  agent: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {
    ...pickEnvironment(host, ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH']),
    // The editor's own program is a Node only when told so; a real Node does not care.
    ELECTRON_RUN_AS_NODE: '1',
  }
  for (const [name, value] of Object.entries(agent)) environment[environmentPrefix + name] = value
  return environment
}
