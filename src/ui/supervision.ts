// The window's one supervisor: opened late, when something first needs it, and only in a trusted folder. Everything in
// ui/ asks here for the view and the commands; nothing else opens or keeps one.
import * as vscode from 'vscode'
import type { Setups } from '../core/setup'
import type { AuditCheck } from '../record/audit'
import type { ParentsDoor } from '../parent/door'
import type { Contract, ContractReading } from '../core/contract'
import type { AgentInfo } from '../supervisor/agentsFound'
import type { Commands } from '../supervisor/commands'
import type { Need } from '../supervisor/needsYou'
import type { StoreView } from '../supervisor/view'
import type { Checkout } from './checkout'
import { t } from './present/l10n'
import type { Changes } from './review/changes'

/** The part of an opened store that the window uses. */
export interface Coxswain {
  readonly view: StoreView
  readonly commands: Commands
  /** Looks for agents; runs `--version` of those it finds. */
  agents(): Promise<readonly AgentInfo[]>
  /** How new worktrees are set up, and what the repository offers. Reads two files. */
  setups(): Promise<Setups>
  readonly changes: Changes
  readonly checkout: Checkout
  readonly care: Care
  /** True for the first window, ever, that claims this event of a child. */
  tellOnce(childId: string, event: string): Promise<boolean>
  /** Runs the person's own program; null, or why it could not be run. */
  runNeedsYouCommand(argv: readonly string[], need: Need): Promise<string | null>
  /** For whoever speaks for a parent other than the person. */
  parents(): Promise<ParentsDoor>
  /** Another extension keeps handles to its children. */
  isHeld(): boolean
  /** What a child was given, as it was frozen. Rejects when the stored one is another. */
  contract(childId: string): Promise<Contract>
  /** A contract file's text, read; `value` is what it holds, for a spawn request. */
  contractFrom(text: string, format: 'json' | 'yaml'): Promise<ContractReading & { readonly value: unknown }>
  /** Returns at once; children go on under their keepers. */
  dispose(): void
}

/** What looks after the store itself. */
export interface Care {
  /** Takes up children nobody owns, folds everything on disk, and says what there is. */
  reconcile(): Promise<{
    readonly live: number
    readonly children: number
    readonly owner: 'this window' | 'another process' | 'nobody'
  }>
  audit(): Promise<{ readonly path: string } & AuditCheck>
  readonly facts: { readonly version: string; readonly platform: string; readonly node: string }
}

/** Why there is none; each has its own welcome. */
export type ClosedWhy = 'untrusted' | 'noFolder' | 'noGit' | 'noRepository' | 'noCommit' | 'unsupported' | 'failed'
export type Opened =
  | { readonly kind: 'open'; readonly coxswain: Coxswain }
  | { readonly kind: 'closed'; readonly why: ClosedWhy; readonly message: string }

export interface Opener {
  /** True when this folder's store has children a window should show or re-attach to. Reads at most a few files. */
  hasChildren(folder: string): Promise<boolean>
  open(folder: string): Promise<Opened>
}

export type SupervisionState = 'idle' | 'opening' | 'open' | ClosedWhy

/** What a `git init`, a first commit or a fetch writes; a lock or an object is no news yet. */
const repositoryFile = /\/\.git(?:|\/HEAD|\/packed-refs|\/logs\/HEAD|\/refs\/heads\/.+|\/reftable\/.+)(?<!\.lock)$/
const lookAfterMs = 500
/** Of several folders, the one a person chose in this window. */
const chosenKey = 'coxswain.folder'

/** What a person may be putting right outside of us at this moment. */
function awaitsRepository(state: SupervisionState): boolean {
  return state === 'noRepository' || state === 'noCommit' || state === 'noGit'
}

export class Supervision implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<string | null>()
  /** A child's id, or null when everything may have changed. */
  readonly onDidChange = this.changed.event
  private current: SupervisionState = 'idle'
  private opening: Promise<Opened> | null = null
  private coxswain: Coxswain | null = null
  private openedFolder: string | null = null
  /** By folder: shown before, and held. */
  private readonly held = new Map<string, Coxswain>()
  private following: { dispose(): void } | null = null
  private message = ''
  private disposed = false
  private watching: vscode.Disposable | null = null

  constructor(
    private readonly opener: Opener,
    private readonly log: vscode.LogOutputChannel,
    private readonly memory: vscode.Memento,
  ) {
    this.current = this.obstacle()?.why ?? 'idle'
  }

  get state(): SupervisionState {
    return this.current
  }

  /** Why there is no supervisor, in a sentence; empty when there is one. */
  get closedMessage(): string {
    return this.message
  }

  /** Without opening anything. */
  get view(): StoreView | null {
    return this.coxswain?.view ?? null
  }

  /** Without opening anything. */
  get changes(): Changes | null {
    return this.coxswain?.changes ?? null
  }

  /** Opens on first use. Asked again after a failure it tries again: a person may have run `git init` meanwhile. */
  async open(): Promise<Opened> {
    if (this.coxswain !== null) return { kind: 'open', coxswain: this.coxswain }
    this.opening ??= this.tryOpen().finally(() => {
      this.opening = null
    })
    return this.opening
  }

  /** Opens only if there is something to show: called after start-up, so that an unused window stays unused. */
  async openIfUsed(): Promise<void> {
    const folder = this.folder()
    if (this.obstacle() !== null || folder === null) return
    if (await this.opener.hasChildren(folder)) await this.open()
  }

  /** The window's folders on this machine, in their order. */
  folders(): readonly string[] {
    const all = vscode.workspace.workspaceFolders ?? []
    return all.filter((folder) => folder.uri.scheme === 'file').map((folder) => folder.uri.fsPath)
  }

  /** The folder whose repository is supervised: the one that was chosen, else the first; null when there is none. */
  folder(): string | null {
    const folders = this.folders()
    const chosen = this.memory.get<string>(chosenKey)
    return folders.find((folder) => folder === chosen) ?? folders[0] ?? null
  }

  /**
   * Shows this folder's repository from now on. Children of the former one go on under their keepers, as when a window
   * closes; its store stays open only for an extension that has children there.
   */
  async choose(folder: string): Promise<void> {
    if (folder === this.folder() && this.coxswain !== null) return
    await this.opening
    await this.memory.update(chosenKey, folder)
    this.following?.dispose()
    this.following = null
    if (this.coxswain?.isHeld() === true && this.openedFolder !== null) this.held.set(this.openedFolder, this.coxswain)
    else this.coxswain?.dispose()
    this.coxswain = null
    this.watching?.dispose()
    this.watching = null
    this.become(this.obstacle()?.why ?? 'idle', this.obstacle()?.message ?? '')
    await this.open()
  }

  /** Trust was granted or folders changed: what was impossible may be possible now. */
  reconsider(): void {
    if (this.coxswain !== null) return
    this.become(this.obstacle()?.why ?? 'idle', this.obstacle()?.message ?? '')
  }

  dispose(): void {
    this.disposed = true
    this.watching?.dispose()
    this.following?.dispose()
    this.coxswain?.dispose()
    this.coxswain = null
    for (const former of this.held.values()) former.dispose()
    this.changed.dispose()
  }

  private obstacle(): { why: ClosedWhy; message: string } | null {
    if (!vscode.workspace.isTrusted)
      return { why: 'untrusted', message: t('Coxswain starts nothing in a folder you have not trusted.') }
    if (this.folder() === null) return { why: 'noFolder', message: t('Open a folder that is a git repository first.') }
    return null
  }

  private async tryOpen(): Promise<Opened> {
    const obstacle = this.obstacle()
    const folder = this.folder()
    if (obstacle !== null || folder === null) {
      const why = obstacle ?? { why: 'noFolder' as const, message: '' }
      this.become(why.why, why.message)
      return { kind: 'closed', ...why }
    }
    // A look whether a repository has come about meanwhile leaves the words on screen as they are.
    if (!awaitsRepository(this.current)) this.become('opening', '')
    let opened: Opened
    try {
      const kept = this.held.get(folder)
      opened = kept === undefined ? await this.opener.open(folder) : { kind: 'open', coxswain: kept }
      this.held.delete(folder)
    } catch (error) {
      this.log.error('the supervisor could not be opened', error instanceof Error ? error : String(error))
      const reason = error instanceof Error ? error.message : String(error)
      opened = { kind: 'closed', why: 'failed', message: t('Coxswain could not open its record: {reason}', { reason }) }
    }
    if (opened.kind === 'closed') {
      this.become(opened.why, opened.message)
      return opened
    }
    // What arrives after disposal is disposed at once.
    if (this.disposed) {
      opened.coxswain.dispose()
      return { kind: 'closed', why: 'failed', message: t('The window is closing.') }
    }
    this.coxswain = opened.coxswain
    this.openedFolder = folder
    this.following = opened.coxswain.view.onDidChange((childId) => this.changed.fire(childId))
    this.become('open', '')
    return opened
  }

  /** `git init` and a first commit are noticed by themselves, so that nobody has to ask again. */
  private watchForRepository(): void {
    const folder = this.folder()
    if (this.watching !== null || folder === null) return
    let timer: NodeJS.Timeout | null = null
    const look = (): void => {
      timer ??= setTimeout(() => {
        timer = null
        // A look that is under way may have begun before what is told of now.
        if (this.opening !== null) look()
        else if (awaitsRepository(this.current)) void this.open()
      }, lookAfterMs)
    }
    const looked = (uri: vscode.Uri): void => {
      if (repositoryFile.test(uri.path)) look()
    }
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, '{.git,.git/**}'))
    this.watching = vscode.Disposable.from(
      watcher,
      watcher.onDidCreate(looked),
      watcher.onDidChange(looked),
      // Somebody who comes back to the window may have installed git, or worked where no watcher reaches.
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) look()
      }),
      {
        dispose: () => {
          if (timer !== null) clearTimeout(timer)
        },
      },
    )
  }

  private become(state: SupervisionState, message: string): void {
    if (this.disposed) return
    if (awaitsRepository(state)) this.watchForRepository()
    else if (state !== 'opening') {
      this.watching?.dispose()
      this.watching = null
    }
    if (awaitsRepository(state) && state === this.current && message === this.message) return
    this.current = state
    this.message = message
    this.changed.fire(null)
  }
}
