// Opens the store of a repository: the view anyone may have, and commands that reach the one owner, which this process
// becomes when there is none. The same for window, command line and background.
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Caller } from '../core/ownership'
import type { Setups } from '../core/setup'
import { Git } from '../git/git'
import {
  inspectRepository,
  problem as gitProblem,
  type Problem as GitProblem,
  type Repository,
} from '../git/repository'
import { identityOf, isRunning } from '../process/identity'
import { placeFolder } from '../record/atomicWrite'
import { belongTo } from '../record/belonging'
import { readOwner } from '../record/lease'
import { dataFolder, defaultStore, storePaths, type StorePaths } from '../record/paths'
import { bePresent } from '../record/presence'
import { findAgents, type AgentInfo } from './agentsFound'
import { childBehind } from './childBehind'
import { commandNames, type CommandName, type Commands } from './commands'
import { completionsFor, pendingNotices, type Completion, type ParentNotice } from './completions'
import { Composition } from './composition'
import type { Coxswain, CoxswainOptions } from './coxswain'
import { followStore, type FollowedStore } from './followStore'
import { Ownership } from './ownership'
import { OwnPrograms } from './ownPrograms'
import { speakFor } from './parentPresence'
import { ReachOwner } from './reachOwner'
import { readSetups } from './setup'
import { troubleInWords } from './troubleInWords'
import type { StoreView } from './view'

/** Opens the store of the repository around `folder`, or says why that cannot be. */
export async function openCoxswain(options: CoxswainOptions): Promise<Coxswain | GitProblem> {
  try {
    return await open(options)
  } catch (error) {
    throw new Error(troubleInWords(error), { cause: error })
  }
}

async function open(options: CoxswainOptions): Promise<Coxswain | GitProblem> {
  const data = dataFolder(options.environment)
  await placeFolder(data)
  const git = new Git({ environment: options.environment, store: join(data, 'git') })
  const repository = await inspectRepository(git, options.folder)
  if (repository.kind === 'problem') return repository
  const paths = storePaths(options.store ?? defaultStore(data, repository.commonDir))
  for (const folder of [
    paths.root,
    paths.children,
    paths.owner,
    paths.present,
    paths.bell,
    paths.bin,
    paths.parents,
    paths.git,
    paths.demoSessions,
    paths.sockets,
  ])
    await placeFolder(folder)
  const theirs = await belongTo(paths, repository.commonDir)
  if (theirs !== repository.commonDir) return anothersStore(paths, theirs, repository.commonDir)
  const view = await followStore(paths)
  return new OpenStore({ ...options, caller: callerOf(options, view) }, repository, paths, view)
}

const anothersStore = ({ root, repository }: StorePaths, theirs: string, ours: string): GitProblem =>
  gitProblem(
    'other-store',
    `${root} is the store of ${theirs}, not of ${ours}. Leave out --store, or name that repository with --repo. If that repository was moved here, remove ${repository} first.`,
  )

/** A child that calls Coxswain acts as that child, never as the person. */
function callerOf({ role, caller, environment }: CoxswainOptions, view: StoreView): Caller {
  if (role === 'window' || role === 'background') return caller
  const child = childBehind(
    view.list().map((each) => each.child),
    environment,
  )
  return child === undefined ? caller : { kind: 'parent', session: `child:${child}`, child }
}

/** True when this repository's store holds children. Reads a folder or two; starts git once. */
export async function hasChildren(folder: string, environment: CoxswainOptions['environment']): Promise<boolean> {
  const data = dataFolder(environment)
  if (!existsSync(join(data, 'stores'))) return false
  const repository = await inspectRepository(new Git({ environment, store: join(data, 'git') }), folder)
  if (repository.kind === 'problem') return false
  const names = await readdir(storePaths(defaultStore(data, repository.commonDir)).children).catch(() => [])
  return names.length > 0
}

class OpenStore implements Coxswain {
  readonly commands: Commands
  readonly caller: Caller
  readonly git: Git
  private readonly programs: OwnPrograms
  private readonly ownership: Ownership
  private readonly owner: ReachOwner
  private presence: { dispose(): void } | undefined
  /** By parent session. */
  private readonly speaking = new Map<string, { dispose(): void }>()

  constructor(
    private readonly options: CoxswainOptions,
    readonly repository: Repository,
    readonly paths: StorePaths,
    readonly view: FollowedStore,
  ) {
    this.git = new Git({ environment: options.environment, store: paths.git })
    this.caller = options.caller
    this.programs = new OwnPrograms(options, paths)
    const composition = new Composition(options, repository, paths, view, this.git, this.programs)
    this.ownership = new Ownership(
      options,
      paths,
      view,
      (lease, isOwner) => composition.supervisor(lease, isOwner),
      () => composition.warmUp(),
    )
    this.owner = new ReachOwner(options, paths, this.ownership, this.programs)
    const me = options.role === 'window' ? identityOf(process.pid) : undefined
    if (me !== undefined) this.presence = bePresent(paths.present, me)
    this.commands = this.commandsFor(options.caller)
  }

  commandsFor(caller: Caller): Commands {
    const route = (name: CommandName) => (request: unknown) => this.owner.route(caller, name, request)
    return Object.fromEntries(commandNames.map((name) => [name, route(name)])) as unknown as Commands
  }

  isOwner(): boolean {
    return this.ownership.isOwner()
  }

  async hasOwner(): Promise<boolean> {
    const owner = await readOwner(this.paths.owner)
    return owner !== undefined && isRunning(owner.process)
  }

  liveCount(): number {
    return this.ownership.supervisor?.liveCount() ?? 0
  }

  inUse(): boolean {
    return this.liveCount() > 0 || this.ownership.isBusy()
  }

  async agents(): Promise<readonly AgentInfo[]> {
    const bundled = await this.programs.bundled()
    if ('message' in bundled) throw new Error(bundled.message)
    return await findAgents(this.options.settings().agents, bundled, this.options.environment)
  }

  async completions(caller: Caller, delegationId?: string): Promise<readonly Completion[]> {
    return await completionsFor(caller, await this.view.recorded(), this.paths, delegationId)
  }

  async notices(caller: Caller): Promise<readonly ParentNotice[]> {
    return pendingNotices(caller, await this.view.recorded())
  }

  speakFor(caller: Caller): void {
    // Of a child of ours it is known whether it lives.
    if (this.ownership.isClosed || caller.kind === 'person' || caller.child !== undefined) return
    if (!this.speaking.has(caller.session)) this.speaking.set(caller.session, speakFor(this.paths, caller.session))
  }

  async setups(): Promise<Setups> {
    return await readSetups(this.paths, this.repository.topLevel)
  }

  async tryOwn(takeFrom?: number): Promise<boolean> {
    return await this.ownership.own(takeFrom)
  }

  async takeUpLive(): Promise<void> {
    await this.ownership.takeUpLive()
  }

  async recovered(): Promise<void> {
    await this.ownership.supervisor?.recovered
  }

  async refresh(): Promise<void> {
    await this.view.refresh()
  }

  async handOver(): Promise<void> {
    await this.ownership.giveUp()
    const refused = await this.owner.startBackground()
    if (refused !== undefined) this.options.log('error', 'no background supervisor', { ...refused.error })
  }

  dispose(): void {
    if (this.ownership.isClosed) return
    this.presence?.dispose()
    for (const presence of this.speaking.values()) presence.dispose()
    this.ownership.dispose()
    this.view.dispose()
  }

  async closed(): Promise<void> {
    await this.ownership.closed()
  }
}
