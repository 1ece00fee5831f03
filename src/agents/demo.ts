// The bundled demo agent as an agent: the `lines` protocol spoken by a script that ships with us, run by whatever Node is
// at hand. What it does is in src/demo; this file only says how it is started.
import { z } from 'zod'
import type { Agent } from './agent'
import { commandLineAgent } from './commandLine'

/** What comes with us, resolved by the composition root. Paths are absolute. */
export interface Bundled {
  /** A Node ≥ 20 and what it needs to run as one, e.g. ELECTRON_RUN_AS_NODE for the editor's own. */
  readonly node: { readonly file: string; readonly env: Readonly<Record<string, string>> }
  readonly demoScript: string
  /** Where the demo agent keeps its sessions between attempts; a private folder outside every worktree. */
  readonly demoSessions: string
}

export const demoSettings = z.strictObject({})

export function demoAgent(id: string, bundled: Bundled): Agent {
  const agent = commandLineAgent(id, {
    command: [bundled.node.file, bundled.demoScript],
    protocol: 'lines',
    label: 'Demo agent',
    environment: ['COXSWAIN_DEMO_PACE_MS'],
  })
  return {
    ...agent,
    probe: {
      programs: [],
      read: () => ({ notes: ['comes with Coxswain; needs no key and no network'] }),
      install: 'Nothing to install: it comes with Coxswain.',
    },
    converse: (start) => {
      const conversation = agent.converse(start)
      const { launch } = conversation
      const env = { ...launch.env, ...bundled.node.env, COXSWAIN_DEMO_SESSIONS: bundled.demoSessions }
      return Object.assign(conversation, { launch: { ...launch, file: bundled.node.file, env } })
    },
  }
}
