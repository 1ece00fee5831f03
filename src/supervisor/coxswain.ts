// A repository's store, opened: what it is opened with, and what it offers to a window, the command line and a parent.
import type { Caller } from '../core/ownership'
import type { Setups } from '../core/setup'
import type { Git } from '../git/git'
import type { Repository } from '../git/repository'
import type { OwnerRecord } from '../record/lease'
import type { StorePaths } from '../record/paths'
import type { AgentInfo } from './agentsFound'
import type { Commands } from './commands'
import type { Completion, ParentNotice } from './completions'
import type { Settings } from './settings'
import type { Tools } from './tools'
import type { StoreView } from './view'

export interface CoxswainOptions {
  /** The opened folder, anywhere in a repository. */
  readonly folder: string
  /** Instead of the repository's own place under the user's data folder. */
  readonly store?: string
  /**
   * window, run, background, mcp: becomes the owner when a command needs one and there is none. command: a one-shot caller
   * that leaves the background supervisor behind instead.
   */
  readonly role: OwnerRecord['role'] | 'command'
  /** Who this process works for; a process that a child started works for that child, whatever is said here. */
  readonly caller: Caller
  readonly settings: () => Settings
  /** The folder with the built keeper, demo agent and command line. */
  readonly dist: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** A person is at hand who can answer a child's question. */
  readonly attended: () => boolean
  /** Folders a worktree must not lie in, besides the repository. */
  readonly openFolders?: readonly string[]
  readonly version: string
  readonly log: Tools['log']
  /** A round has settled, or a child paused, while this process owns the store. */
  readonly onSettled?: (childId: string) => void
}

export interface Coxswain {
  readonly repository: Repository
  readonly paths: StorePaths
  readonly view: StoreView
  /** Those of `caller`. */
  readonly commands: Commands
  readonly caller: Caller
  /** For a process that speaks for several: its person and a chat, say. */
  commandsFor(caller: Caller): Commands
  readonly git: Git
  agents(): Promise<readonly AgentInfo[]>
  /**
   * What has not been acknowledged of `caller`'s own delegations, oldest first; of one delegation, acknowledged ones too.
   * Reads files; needs no owner.
   */
  completions(caller: Caller, delegationId?: string): Promise<readonly Completion[]>
  /** Pauses of `caller`'s own children that it has not acknowledged, oldest first. */
  notices(caller: Caller): Promise<readonly ParentNotice[]>
  /** This process speaks for `caller` from now on: its children are not left alone. Twice is once. */
  speakFor(caller: Caller): void
  /** How new worktrees are set up, and what the repository offers. Reads two files. */
  setups(): Promise<Setups>
  isOwner(): boolean
  /** Whether any process supervises this store now. */
  hasOwner(): Promise<boolean>
  /**
   * Becomes the owner if nobody is, or only one that is known to be frozen: `takeFrom` is its epoch. Answers whether this
   * process is the owner now.
   */
  tryOwn(takeFrom?: number): Promise<boolean>
  /** Becomes the owner if there are children that live, or whose result is not written, and nobody owns them. */
  takeUpLive(): Promise<void>
  /** Resolves once it is known what became of every child that was live when this process became the owner. */
  recovered(): Promise<void>
  /** Resolves once the view shows all that is on disk now. */
  refresh(): Promise<void>
  /** Lets go of the store for good and leaves the background supervisor to own it. */
  handOver(): Promise<void>
  /** Children with a process, of this owner. */
  liveCount(): number
  /** This owner has live children, or carries out a command. */
  inUse(): boolean
  /** Lets go at once; children go on. Twice is harmless. */
  dispose(): void
  /** After `dispose`: everything under way has been written. */
  closed(): Promise<void>
}
