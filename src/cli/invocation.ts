// What every command of the command line is given: its flags, its words, where to print, and how to open the store.
import type { parseArgs } from 'node:util'
import type { Coxswain, CoxswainOptions } from '../supervisor/coxswain'
import type { Output } from './output'

export const flagOptions = {
  repo: { type: 'string' },
  store: { type: 'string' },
  agents: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  task: { type: 'string' },
  contract: { type: 'string' },
  template: { type: 'string' },
  detach: { type: 'boolean' },
  /** Of list: the ended children too. */
  all: { type: 'boolean' },
  follow: { type: 'boolean' },
  round: { type: 'string' },
  reason: { type: 'string' },
  force: { type: 'boolean' },
  allow: { type: 'boolean' },
  deny: { type: 'string' },
  /** Of answer: what was allowed for the whole child is taken back. */
  revoke: { type: 'boolean' },
  /** Of supervise: the epoch of a frozen owner to take the store from. */
  take: { type: 'string' },
  check: { type: 'boolean' },
  apply: { type: 'boolean' },
  dismiss: { type: 'boolean' },
  off: { type: 'boolean' },
  squash: { type: 'boolean' },
  patch: { type: 'boolean' },
  override: { type: 'string', multiple: true },
  join: { type: 'boolean' },
  /** Of mcp: the name under which a parent finds its children again. */
  session: { type: 'string' },
  copy: { type: 'string', multiple: true },
  seconds: { type: 'string' },
} as const

export type Flags = ReturnType<typeof parseArgs<{ options: typeof flagOptions; allowPositionals: true }>>['values']

export interface Invocation {
  readonly flags: Flags
  readonly words: readonly string[]
  readonly out: Output
  readonly version: string
  /** Opens the store. A repository that cannot be used is a refusal. */
  readonly open: (role: CoxswainOptions['role'], more?: Partial<CoxswainOptions>) => Promise<Coxswain>
}
