import { describe, expect, it } from 'vitest'
import type { Bundled } from '../../../src/agents/demo'
import { agentIds, readAgentsSettings, resolveAgent, resolveRecipe } from '../../../src/agents/registry'
import { start } from './start'

const bundled: Bundled = {
  node: { file: '/opt/editor/code', env: { ELECTRON_RUN_AS_NODE: '1' } },
  demoScript: '/ext/dist/demoAgent.js',
  demoSessions: '/store/demo-sessions',
}
const mine = { mine: { kind: 'commandLine', command: ['mychild'], protocol: 'lines' } }

describe('the agents settings', () => {
  it('refuse every mistake with one sentence that names it', () => {
    const table: unknown[] = [
      'demo',
      [],
      { 'a b': { kind: 'commandLine' } },
      { x: 3 },
      { x: {} },
      { x: { kind: 'gpt9', command: ['x'] } },
      { x: { kind: 'constructor' } },
      { x: { kind: 'commandLine', protocol: 'lines' } },
      { x: { kind: 'commandLine', command: 'ls -l', protocol: 'lines' } },
      { x: { kind: 'commandLine', command: [], protocol: 'lines' } },
      { x: { kind: 'commandLine', command: [''], protocol: 'lines' } },
      { x: { kind: 'commandLine', command: ['./child.sh'], protocol: 'lines' } },
      { x: { kind: 'commandLine', command: ['~/child.sh'], protocol: 'lines' } },
      { x: { kind: 'commandLine', command: ['x'] } },
      { x: { kind: 'commandLine', command: ['x'], protocol: 'json' } },
      { x: { kind: 'commandLine', command: ['x'], protocol: 'lines', colour: 'red', size: 3 } },
      { x: { kind: 'commandLine', command: ['x'], protocol: 'lines', stdin: 'pipe' } },
      { x: { kind: 'commandLine', command: ['x'], protocol: 'lines', environment: ['KEY=value'] } },
      { demo: { kind: 'demo', pace: 3 } },
    ]
    const refusals = table.map((value) => {
      const reading = readAgentsSettings(value)
      return reading.ok ? 'accepted' : reading.refusal
    })
    expect(refusals).toMatchInlineSnapshot(`
      [
        "The agents settings cannot be used: must be an object: { "<agent id>": { "kind": …, …settings } }.",
        "The agents settings cannot be used: must be an object: { "<agent id>": { "kind": …, …settings } }.",
        "The agents settings cannot be used: "a b" as an agent id must be letters, digits, ".", "_" or "-", at most 64 of them.",
        "The agents settings cannot be used: "x": must be an object with a "kind".",
        "The agents settings cannot be used: "x.kind": must be one of "commandLine", "claude", "demo".",
        "Agent "x" is of kind "gpt9", which this version of Coxswain does not know. Known kinds: "commandLine", "claude", "demo".",
        "Agent "x" is of kind "constructor", which this version of Coxswain does not know. Known kinds: "commandLine", "claude", "demo".",
        "The settings of agent "x" cannot be used: "command": must be a list of words: the program, then its arguments.",
        "The settings of agent "x" cannot be used: "command": must be a list of words: the program, then its arguments.",
        "The settings of agent "x" cannot be used: "command": must name a program.",
        "The settings of agent "x" cannot be used: "command": must name a program.",
        "The settings of agent "x" cannot be used: "command": must start with an absolute path or a bare program name, since a relative one would be looked up in the worktree.",
        "The settings of agent "x" cannot be used: "command": must start with an absolute path or a bare program name, since a relative one would be looked up in the worktree.",
        "The settings of agent "x" cannot be used: "protocol": must be "lines" or "text".",
        "The settings of agent "x" cannot be used: "protocol": must be "lines" or "text".",
        "The settings of agent "x" cannot be used: "colour", "size" are not known keys.",
        "The settings of agent "x" cannot be used: "stdin": can only be "prompt"; leave it out for a closed stdin.",
        "The settings of agent "x" cannot be used: "environment.0": must be names of environment variables, without values.",
        "The settings of agent "demo" cannot be used: "pace" is not a known key.",
      ]
    `)
  })

  it('are accepted whole and leave the built-in agents known', () => {
    const reading = readAgentsSettings(mine)
    expect(reading).toEqual({ ok: true, settings: mine })
    expect(agentIds(mine)).toEqual(['demo', 'claude', 'mine'])
  })
})

describe('resolving an agent', () => {
  it('gives the agent and the recipe that makes it again without settings', () => {
    const first = resolveAgent('mine', mine, bundled)
    if (!first.ok) throw new Error(first.refusal)
    expect(first.recipe).toEqual({
      agent: 'mine',
      kind: 'commandLine',
      settings: { command: ['mychild'], protocol: 'lines' },
    })
    const again = resolveRecipe(JSON.parse(JSON.stringify(first.recipe)), bundled)
    if (!again.ok) throw new Error(again.refusal)
    expect(again.agent.converse(start()).launch).toEqual(first.agent.converse(start()).launch)
  })

  it('names the known agents when there is none of that id', () => {
    expect(['claud', '__proto__', ''].map((id) => resolveAgent(id, mine, bundled))).toEqual(
      ['claud', '__proto__', ''].map((id) => ({
        ok: false,
        refusal: `There is no agent "${id}". Known agents: "demo", "claude", "mine". Add one to the agents settings, or pick one of these.`,
      })),
    )
  })

  it('refuses a recipe of a kind this version does not know', () => {
    expect(resolveRecipe({ agent: 'old', kind: 'telepathy', settings: {} }, bundled)).toEqual({
      ok: false,
      refusal:
        'Agent "old" is of kind "telepathy", which this version of Coxswain does not know. Known kinds: "commandLine", "claude", "demo".',
    })
  })

  it('starts the demo agent with the Node at hand and its sessions outside the worktree', () => {
    const demo = resolveAgent('demo', {}, bundled)
    if (!demo.ok) throw new Error(demo.refusal)
    const { file, args, env, inherit, input } = demo.agent.converse(start({ executable: '/usr/bin/other' })).launch
    expect({ file, args, env, inherit, input, probe: demo.agent.probe.programs }).toEqual({
      file: '/opt/editor/code',
      args: ['/ext/dist/demoAgent.js'],
      env: {
        COXSWAIN_CHILD_ID: 'c-1',
        COXSWAIN_ATTEMPT: '1',
        COXSWAIN_SESSION_ID: '0d8f5b4e-6a3c-4c57-9a8e-2f5e6f7a8b9c',
        COXSWAIN_PROMPT_FILE: '/store/c-1/attempt-1/prompt.txt',
        COXSWAIN_CONTROL_DIR: '/store/c-1/attempt-1/control',
        ELECTRON_RUN_AS_NODE: '1',
        COXSWAIN_DEMO_SESSIONS: '/store/demo-sessions',
      },
      inherit: ['COXSWAIN_DEMO_PACE_MS'],
      input: 'closed',
      probe: [],
    })
  })

  it('lets an entry of settings take the place of a built-in id', () => {
    const demo = resolveAgent('demo', { demo: mine.mine }, bundled)
    expect(demo.ok && demo.recipe.kind).toBe('commandLine')
  })
})
