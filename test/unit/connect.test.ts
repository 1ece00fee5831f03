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
const merge = (id: string, existing: string) => named(id).file?.merge(existing)

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
    ['codex', 'model = "x"\n[profiles.a]\nb = 1\n'],
    ['gptme', '[prompt]\nabout_user = "me"\n'],
    ['hermes', '# mine\nmodel: x\nmcp_servers:\n  other:\n    command: y\n'],
    ['opencode', '{\n  "theme": "x",\n  "mcp": { "other": { "type": "remote", "url": "y" } }\n}\n'],
  ])('leaves what stands in the file of %s, adds its part, and does not add it twice', (id, existing) => {
    const merged = merge(id, existing) ?? ''
    expect(merged).not.toBe('')
    for (const line of existing.split('\n').filter((each) => !each.includes('{')))
      expect(merged).toContain(line.trim().replace(/,$/, ''))
    expect(merged).toContain(`${id}-1f`)
    expect(merge(id, merged)).toBeNull()
    expect(merge(id, '')).toContain(`${id}-1f`)
  })

  it('writes what the readers of those files read', () => {
    expect(parseYaml(merge('hermes', 'mcp_servers:\n  other: {command: y}\n') ?? '')).toEqual({
      mcp_servers: {
        other: { command: 'y' },
        coxswain: { command: launcher, args: ['mcp', '--session', 'hermes-1f'] },
      },
    })
    expect(JSON.parse(merge('opencode', '{"a": 1}') ?? '')).toEqual({
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

  it('changes no file whose shape it would have to guess', () => {
    expect(merge('opencode', '{ // a comment\n}')).toBeNull()
    expect(merge('opencode', '[]')).toBeNull()
    expect(merge('opencode', '{"mcp": 1}')).toBeNull()
    expect(merge('hermes', 'a: [1')).toBeNull()
    expect(merge('hermes', 'mcp_servers: 3\n')).toBeNull()
    expect(merge('gptme', '[mcp]\nenabled = false\n')).toBeNull()
    expect(merge('gptme', 'mcp = {enabled = true}\n')).toBeNull()
  })
})
