// What 'Connect a parent agent…' writes into the configuration of others.
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { connections } from '../../src/parent/connect'

const launcher = "/home/me/it's here/bin/coxswain"
const all = connections(launcher, (agent) => `${agent}-1f`, {}, '/home/me')
const named = (id: string) => {
  const found = all.find((each) => each.id === id)
  if (found === undefined) throw new Error(id)
  return found
}
const outcome = (id: string, existing: string) => named(id).file?.merge(existing).kind
const merge = (id: string, existing: string): string => {
  const merged = named(id).file?.merge(existing)
  return merged?.kind === 'added' ? merged.text : ''
}

describe('connecting', () => {
  it('names the launcher and a session of its own for each agent, and never the editor or this installation', () => {
    expect(all.map(({ id, file }) => [id, file?.path])).toEqual([
      ['claude', undefined],
      ['codex', '/home/me/.codex/config.toml'],
      ['gptme', '/home/me/.config/gptme/config.toml'],
      ['hermes', '/home/me/.hermes/config.yaml'],
      ['opencode', '/home/me/.config/opencode/opencode.json'],
    ])
    for (const { id, text } of all) {
      expect(text).toContain(`${id}-1f`)
      expect(text).not.toContain(process.execPath)
      expect(text).not.toContain('cli.js')
    }
    const moved = connections(launcher, () => 'x', { CODEX_HOME: '/c', HERMES_HOME: '/h', XDG_CONFIG_HOME: '/x' }, '/')
    expect(moved.map(({ file }) => file?.path)).toEqual([
      undefined,
      ...['/c/config.toml', '/x/gptme/config.toml', '/h/config.yaml', '/x/opencode/opencode.json'],
    ])
  })

  it('gives Claude Code its own command, quoted for a shell', () => {
    expect(named('claude').text).toBe(
      `claude mcp add --scope user coxswain -- '/home/me/it'\\''s here/bin/coxswain' mcp --session claude-1f`,
    )
  })

  it.each([
    [
      'codex',
      '# mine\nmodel = "x" # keep\n\n[mcp_servers.other]\ncommand = "y"\n',
      `\n[mcp_servers.coxswain]\ncommand = "${launcher}"\nargs = ["mcp", "--session", "codex-1f"]\n`,
    ],
    [
      'gptme',
      '# mine\n[mcp]\nenabled = true # on\n\n[[mcp.servers]]\nname = "other"\n\n[prompt]\nabout_user = "me"\n',
      `\n[[mcp.servers]]\nname = "coxswain"\nenabled = true\ncommand = "${launcher}"\nargs = ["mcp", "--session", "gptme-1f"]\n`,
    ],
    [
      'hermes',
      '# mine\nmodel:   x # keep\n',
      `mcp_servers:\n  coxswain:\n    command: ${launcher}\n    args:\n      - mcp\n      - --session\n      - hermes-1f\n`,
    ],
  ])('adds its part at the end of the file of %s and leaves the rest as it is, to the letter', (id, existing, part) => {
    expect(merge(id, existing)).toBe(`${existing}${part}`)
  })

  it('adds its part among the servers of a YAML file, with their indent', () => {
    const before = '# mine\nmcp_servers:\n    # first\n    other:\n        command: y # why\n'
    const after = '\nmodel:   x\n'
    expect(merge('hermes', `${before}${after}`)).toBe(
      `${before}    coxswain:\n      command: ${launcher}\n      args:\n        - mcp\n        - --session\n        - hermes-1f\n${after}`,
    )
    expect(merge('hermes', before.trimEnd())).toContain('# why\n    coxswain:')
  })

  it.each([
    [
      '{\n\t// mine\n\t"theme":"x", /* keep */\n\t"mcp": {\n\t\t"other": { "type": "remote" }, // why\n\t},\n}\n',
      '{\n\t// mine\n\t"theme":"x", /* keep */\n\t"mcp": {\n\t\t"other": { "type": "remote" }, // why\n\t\t"coxswain": ENTRY,\n\t},\n}\n',
    ],
    ['{\n  "theme": "x" // keep\n}\n', '{\n  "theme": "x", // keep\n  "mcp": {\n    "coxswain": ENTRY\n  }\n}\n'],
    ['{ "mcp": { "other": {} } }', '{ "mcp": { "other": {}, "coxswain": ENTRY } }'],
    ['{\n  "mcp": {\n    // none yet\n  }\n}\n', '{\n  "mcp": {\n    "coxswain": ENTRY\n    // none yet\n  }\n}\n'],
  ])('adds its part to a JSON file as the others stand there, and keeps all comments: %j', (existing, wanted) => {
    const entry = /\{\s*"type": ?"local",[^}]*\}/
    expect(merge('opencode', existing).replace(entry, 'ENTRY')).toBe(wanted)
  })

  it.each(['codex', 'gptme', 'hermes', 'opencode'])('adds nothing to the file of %s a second time', (id) => {
    expect(merge(id, '')).toContain(`${id}-1f`)
    expect(outcome(id, merge(id, ''))).toBe('there')
  })

  it('writes what the readers of those files read', () => {
    expect(parseYaml(merge('hermes', 'mcp_servers:\n  other: {command: y}\n'))).toEqual({
      mcp_servers: {
        other: { command: 'y' },
        coxswain: { command: launcher, args: ['mcp', '--session', 'hermes-1f'] },
      },
    })
    expect(JSON.parse(merge('opencode', '{"a": 1}'))).toEqual({
      a: 1,
      mcp: {
        coxswain: { type: 'local', command: [launcher, 'mcp', '--session', 'opencode-1f'], enabled: true },
      },
    })
    expect(merge('codex', '')).toBe(
      `[mcp_servers.coxswain]\ncommand = "/home/me/it's here/bin/coxswain"\nargs = ["mcp", "--session", "codex-1f"]\n`,
    )
    expect(merge('gptme', '[mcp]\nenabled = true\n')).toBe(
      `[mcp]\nenabled = true\n\n[[mcp.servers]]\nname = "coxswain"\nenabled = true\ncommand = "/home/me/it's here/bin/coxswain"\nargs = ["mcp", "--session", "gptme-1f"]\n`,
    )
  })

  it.each([
    ['codex', 'model = \n'],
    ['codex', '[mcp_servers.other\ncommand = "y"\n'],
    ['gptme', '[mcp]\n[mcp]\n'],
    ['hermes', 'a: [1'],
    ['opencode', '{"mcp": '],
  ])('does not touch what is no file of %s: %j', (id, existing) => {
    expect(outcome(id, existing)).toBe('unreadable')
  })

  it.each([
    ['codex', 'mcp_servers = { other = { command = "y" } }\n'],
    ['codex', 'mcp_servers = 3\n'],
    ['gptme', '[mcp]\nenabled = false\n'],
    ['gptme', '[mcp]\nauto_start = true\n'],
    ['gptme', 'mcp = { enabled = true }\n'],
    ['gptme', '[mcp]\nenabled = true\nservers = [{ name = "other" }]\n'],
    ['hermes', 'mcp_servers: 3\n'],
    ['hermes', 'mcp_servers: {other: {command: y}}\n'],
    ['hermes', '- a\n'],
    ['hermes', 'a: &a [*a]\n'],
    ['hermes', 'a: *nowhere\n'],
    ['opencode', '[]'],
    ['opencode', '{"mcp": 1}'],
  ])('changes no file of %s whose shape it would have to guess: %j', (id, existing) => {
    expect(outcome(id, existing)).toBe('unsuited')
  })
})
