// What a child's run needs from the rooms that do not know each other: the composition root puts them together once.
import type { Agent } from '../agents/agent'
import type { Child, Worktree } from '../core/child'
import type { ProcessIdentity, Recipe, Verdict } from '../core/events'
import type { ChosenSetup } from '../core/setup'
import type { endMarked } from '../process/endMarked'
import type { KeeperLink } from '../process/keeperLink'
import type { Launch } from '../process/launch'
import type { AuditLog } from '../record/audit'
import type { StorePaths } from '../record/paths'
import type { Slots } from '../record/slots'
import type { Problem } from './problem'
import type { SetupCall, SetupOutcome } from './setup'

/** `confirmed`: what would be lost, by the name a refusal gave it; `force`: whatever it is. */
export interface DiscardConsent {
  readonly force?: boolean | undefined
  readonly confirmed?: string | undefined
}

export interface WorktreeState {
  readonly commits: number
  readonly dirty: boolean
  readonly files: number
  readonly insertions: number
  readonly deletions: number
}

export interface Tools {
  readonly paths: StorePaths
  readonly epoch: number
  /** Our command line, for children that may dispatch. */
  readonly launcher: string
  readonly now: () => Date
  readonly newId: () => string
  /** False once another owner has taken the store: then nothing is written or started any more. */
  readonly isOwner: () => boolean
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The machine's slots, and this process as their first holder. */
  readonly slots: Slots
  /** The folder name of the repository, for people who have several. */
  readonly repositoryName: string
  readonly me: ProcessIdentity
  /** A person is at hand who can answer a child's question. */
  readonly attended: () => boolean
  /** A running process speaks for that parent session. */
  readonly isPresent: (session: string) => boolean
  agentOf(recipe: Recipe): Agent | Problem
  addWorktree(child: Child): Promise<(Worktree & { kind: 'worktree' }) | Problem>
  /** What a new worktree is set up with; null for nothing. A problem when that is no longer what a person agreed to. */
  setupToRun(): Promise<ChosenSetup | null | Problem>
  runSetup(child: Child, call: SetupCall): Promise<SetupOutcome>
  /** Ends what carries this marker, of a setup whose supervisor died. */
  endSetup(marker: string, graceMs: number): ReturnType<typeof endMarked>
  worktreeState(child: Child): Promise<WorktreeState | Problem>
  treeHash(child: Child): Promise<string | null>
  discard(
    child: Child,
    consent: DiscardConsent,
  ): Promise<
    | { readonly kind: 'discarded'; readonly removed: boolean; readonly what: string }
    // `token`: what would be lost, for a person to confirm.
    | (Problem & { readonly token?: string })
  >
  apply(
    child: Child,
    how: 'merge' | 'squash' | 'patch',
    message: string,
  ): Promise<{ readonly kind: 'applied'; readonly commit: string | null; readonly branch: string | null } | Problem>
  /** Where deeds are kept. */
  readonly audit: AuditLog
  /** A child as recorded, whether or not it is open here. */
  childOf(id: string): Child | undefined
  /** Every child of the store, with all that is on disk of it now. */
  recorded(): Promise<readonly Child[]>
  /** The children of a delegation, in order. */
  delegated(delegationId: string): readonly Child[]
  /** The store has a folder for it. */
  childExists(id: string): boolean
  /** `env`: variables the conversation sets, beside those of `environment` that the launch names. */
  startKeeper(attemptDir: string, launch: Launch, env: Readonly<Record<string, string>>): Promise<KeeperLink>
  /** The files of these names as they are at the child's base; those that are not there are left out. */
  projectRules(
    child: Child,
    names: readonly string[],
  ): Promise<readonly { readonly path: string; readonly text: string }[]>
  /** The contract's part of the first prompt; empty without a contract. Rejects when the stored contract was changed. */
  contractPrompt(child: Child): Promise<{ text: string; outputSchema: unknown }>
  /** What a child is told when a person has it asked again; null when its verdict found nothing wrong. */
  complaint(child: Child): Promise<string | null>
  verify(child: Child): Promise<{ verdict: Verdict; retryMessage: string | null }>
  log(level: 'info' | 'warning' | 'error', fact: string, fields: Readonly<Record<string, unknown>>): void
}
