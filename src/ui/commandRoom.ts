// What every file of commands is given: how a command is registered, how the children it is meant for are found, and how
// its outcome is told. Acts on nothing.
import type { Child } from '../core/child'
import type { ChildView, StoreView } from '../supervisor/view'
import type { Outcome } from './acts'
import type { CommandParts } from './commands'

export type Wanted = (child: Child) => boolean

export interface CommandRoom extends CommandParts {
  /** Registers `coxswain.NAME`; what it throws is logged and told. */
  readonly command: (name: string, run: (...args: unknown[]) => Promise<void> | void) => void
  /** The children a command's arguments name; asks when there are none, and tells when there is nobody to ask about. */
  readonly meant: (
    args: readonly unknown[],
    wanted: Wanted,
    question: string,
    needed?: string,
  ) => Promise<readonly ChildView[]>
  /** The view, or null after telling why there is none. */
  readonly opened: () => Promise<StoreView | null>
  /** Tells a refusal. */
  readonly tell: (child: ChildView, outcome: Outcome) => void
  /** Like tell, and also says in passing what was done. */
  readonly say: (child: ChildView, outcome: Outcome) => void
  /** Shows a new child: its transcript and its row. */
  readonly present: (childId: string) => Promise<void>
}
