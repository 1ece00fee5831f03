// Opens the store of a repository: the view anyone may have, and commands that reach the one owner, which this process
// becomes when there is none. The composition of all rooms happens here, once, for window, command line and background.
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { resolveRecipe } from '../agents/registry'
import type { Bundled } from '../agents/demo'
import { isUnfinished, type Child } from '../core/child'
import type { Recipe } from '../core/events'
import { plainLine } from '../core/plainText'
import { setupToRun, type Setups } from '../core/setup'
import { apply } from '../git/apply'
import { describeLosses, discard } from '../git/discard'
import { Git } from '../git/git'
import { Glance } from '../git/glance'
import { inspectRepository, type Problem as GitProblem, type Repository } from '../git/repository'
import { fileAtBase, status } from '../git/review'
import { treeHash } from '../git/treeHash'
import { addWorktree, baseProblem } from '../git/worktree'
import { endMarked } from '../process/endMarked'
import { identityOf, isRunning } from '../process/identity'
import { LaunchError } from '../process/launch'
import { nodeCandidates, probeNode } from '../process/probeNode'
import { commandMarker, endLeftCommands } from '../process/runCommand'
import { startDetached } from '../process/startDetached'
import { startKeeper } from '../process/startKeeper'
import { placeFolder, writeWhole } from '../record/atomicWrite'
import { AuditLog } from '../record/audit'
import { claim, lastBeat, readOwner, type Lease, type OwnerRecord } from '../record/lease'
import { Slots } from '../record/slots'
import { bePresent, isAnyonePresent } from '../record/presence'
import { dataFolder, defaultStore, repositoryName, storePaths, type StorePaths } from '../record/paths'
import { environmentFor, findAgents, recipeOf, type AgentInfo } from './agentsFound'
import { childBehind } from './childBehind'
import { commandNames, isRefusal, type CommandAnswer, type CommandName, type Commands, type Refusal } from './commands'
import { completionsFor, pendingNotices, type Completion, type ParentNotice } from './completions'
import { oneShotOf, type Extractor } from './extractor'
import { followStore, type FollowedStore } from './followStore'
import { askOwner, serveCommands, type OwnerServer } from './ownerSocket'
import { writeLauncher } from './launcher'
import { isParentPresent, speakFor } from './parentPresence'
import { limitsFrom, watchSettingsFrom, type Settings } from './settings'
import { chooseSetup, readSetups, runSetup } from './setup'
import type { Caller } from '../core/ownership'
import { Supervisor } from './supervisor'
import { problem, type Problem } from './problem'
import type { Tools } from './tools'
import { stackOf } from './jobs'
import { troubleInWords } from './troubleInWords'
import { checksOf, complaint, knownWorktree, promptPart, sha256, verifyChild } from './verifyChild'
import type { StoreView } from './view'

const ownersInWords: Readonly<Record<OwnerRecord['role'], string>> = {
  window: 'the VS Code window',
  run: 'coxswain run',
  background: 'the background supervisor',
  mcp: 'coxswain mcp',
}
const beatMs = 2_000
const dayMs = 86_400_000
/** An owner whose heart has not beaten for so long while its process lives is frozen. */
const frozenMs = 15_000
const patienceMs = 5_000
/** An owner takes the store before it listens: so long it may take until it can be reached. */
const reachMs = 15_000
/** A dispatch may have to ask an agent for its version first. */
const spawnPatienceMs = 20_000

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
  const view = await followStore(paths)
  return new OpenStore({ ...options, caller: callerOf(options, view) }, repository, paths, view)
}

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
  private readonly glance: Glance
  private supervisor: Supervisor | undefined
  private lease: Lease | undefined
  private server: OwnerServer | undefined
  private owning: Promise<boolean> | undefined
  private readonly heart: NodeJS.Timeout
  private readonly ended: Promise<unknown>[] = []
  private disposed = false
  /** From then on the store is the background supervisor's: its start is no gap to step into. */
  private handedOver = false
  /** When old children were last looked for, on the monotonic clock. */
  private clearedAt = 0
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
    this.glance = new Glance(this.git, repository)
    this.caller = options.caller
    const me = options.role === 'window' ? identityOf(process.pid) : undefined
    if (me !== undefined) this.presence = bePresent(paths.present, me)
    this.commands = this.commandsFor(options.caller)
    const failed = (error: unknown): void => options.log('error', 'the heart missed a beat', { error: String(error) })
    this.heart = setInterval(() => void this.beat().catch(failed), beatMs)
    this.heart.unref()
  }

  commandsFor(caller: Caller): Commands {
    const route = (name: CommandName) => (request: unknown) => this.route(caller, name, request)
    return Object.fromEntries(commandNames.map((name) => [name, route(name)])) as unknown as Commands
  }

  isOwner(): boolean {
    return this.lease !== undefined
  }

  async hasOwner(): Promise<boolean> {
    const owner = await readOwner(this.paths.owner)
    return owner !== undefined && isRunning(owner.process)
  }

  liveCount(): number {
    return this.supervisor?.liveCount() ?? 0
  }

  inUse(): boolean {
    return this.liveCount() > 0 || this.server?.isBusy() === true
  }

  async agents(): Promise<readonly AgentInfo[]> {
    const bundled = await this.bundled()
    if ('message' in bundled) throw new Error(bundled.message)
    return await findAgents(this.options.settings().agents, bundled, this.options.environment)
  }

  async completions(caller: Caller, delegationId?: string): Promise<readonly Completion[]> {
    return await completionsFor(caller, await this.recorded(), this.paths, delegationId)
  }

  async notices(caller: Caller): Promise<readonly ParentNotice[]> {
    return pendingNotices(caller, await this.recorded())
  }

  speakFor(caller: Caller): void {
    // Of a child of ours it is known whether it lives.
    if (this.disposed || caller.kind === 'person' || caller.child !== undefined) return
    if (!this.speaking.has(caller.session)) this.speaking.set(caller.session, speakFor(this.paths, caller.session))
  }

  /** Twice, so that of every child all is read that was on disk before the last that is read of any other. */
  private async recorded(): Promise<readonly Child[]> {
    await this.view.refresh()
    await this.view.refresh()
    return this.view.list().map(({ child }) => child)
  }

  async setups(): Promise<Setups> {
    return await readSetups(this.paths, this.repository.topLevel)
  }

  async tryOwn(takeFrom?: number): Promise<boolean> {
    return await this.own(takeFrom)
  }

  // ── commands ────────────────────────────────────────────────────────────────────────────────────────────────────

  private async route(caller: Caller, name: CommandName, wanted: unknown): Promise<CommandAnswer> {
    try {
      return await this.reach(caller, name, wanted)
    } catch (error) {
      this.options.log('error', 'a command failed', { command: name, stack: stackOf(error) })
      return unavailable(troubleInWords(error))
    }
  }

  private async reach(caller: Caller, name: CommandName, wanted: unknown): Promise<CommandAnswer> {
    // Told twice because an answer was lost, it must still be one: the sender gives it its name.
    const request = named(name, wanted)
    for (let since = performance.now(); performance.now() - since < reachMs; await pause(50)) {
      if (this.disposed) return unavailable('This window is closing.')
      // Until every live child is open here, the caps would count too few.
      await this.owning
      if (this.supervisor !== undefined) return await call(this.supervisor.commandsFor(caller), name, request)
      const owner = await readOwner(this.paths.owner)
      if (owner === undefined || !isRunning(owner.process)) {
        const problem = await this.bringOwner()
        if (problem !== undefined) return problem
        continue
      }
      const { agents } = this.options.settings()
      const asked = await askOwner(owner, caller, name, request, {
        agents,
        patienceMs: name === 'spawn' ? spawnPatienceMs : patienceMs,
      })
      if (asked.kind === 'answer') return this.besideOwnLimit(asked.answer, owner)
      if (asked.kind === 'silent') {
        if (!(await this.isFrozen(owner)))
          return unavailable(
            `The ${owner.role} that owns this store is busy and did not answer. Try again in a moment.`,
          )
        const problem = await this.bringOwner(owner.epoch)
        if (problem !== undefined) return problem
        since = performance.now()
        continue
      }
      // Unreachable: it is going, or has just gone.
      await pause(200)
    }
    return unavailable('The owner of this store could not be reached. Run "coxswain doctor" to see what is wrong.')
  }

  /** An owner refuses by its own settings: whoever has others hears whose they are. */
  private besideOwnLimit(answer: CommandAnswer, { role }: OwnerRecord): CommandAnswer {
    if (!isRefusal(answer) || answer.error.limit === undefined) return answer
    const { setting, cap } = answer.error.limit
    const own = this.options.settings()[setting]
    if (own === cap) return answer
    const whose = `That limit is the setting of ${ownersInWords[role]}, which runs this repository's children; your own, ${own}, does not count there.`
    return { error: { ...answer.error, message: `${answer.error.message} ${whose}` } }
  }

  /**
   * Somebody who can act: this process, or the background supervisor for a one-shot caller. `takeFrom`: the epoch of an
   * owner known to be frozen.
   */
  private async bringOwner(takeFrom?: number): Promise<Refusal | undefined> {
    if (this.options.role !== 'command') {
      await this.own(takeFrom)
      return undefined
    }
    return await this.startBackground(takeFrom)
  }

  async recovered(): Promise<void> {
    await this.supervisor?.recovered
  }

  async refresh(): Promise<void> {
    await this.view.refresh()
  }

  async handOver(): Promise<void> {
    this.handedOver = true
    await this.owning
    const { lease } = this
    this.letGo()
    try {
      // What was under way is on disk before anybody else may write there.
      await this.closed()
    } finally {
      lease?.release()
    }
    const refused = await this.startBackground()
    if (refused !== undefined) this.options.log('error', 'no background supervisor', { ...refused.error })
  }

  /** Leaves a supervisor behind that owns the store until its children have ended. */
  private async startBackground(takeFrom?: number): Promise<Refusal | undefined> {
    const node = await this.node()
    if (typeof node !== 'string') return unavailable(node.message)
    const place = ['--repo', this.options.folder, '--store', this.paths.root]
    const take = takeFrom === undefined ? [] : ['--take', String(takeFrom)]
    await startDetached(node, [join(this.options.dist, 'cli.js'), 'supervise', ...place, ...take], {
      cwd: this.paths.root,
      environment: this.options.environment,
    })
    for (let waited = 0; waited < 10_000; waited += 50) {
      const owner = await readOwner(this.paths.owner)
      if (owner !== undefined && owner.epoch !== takeFrom && isRunning(owner.process)) return undefined
      await pause(50)
    }
    return unavailable(
      'The background supervisor did not come up within 10 s. Run "coxswain doctor" to see what is wrong.',
    )
  }

  private async isFrozen(owner: OwnerRecord): Promise<boolean> {
    const before = await lastBeat(this.paths.owner, owner.epoch)
    for (let waited = 0; waited < frozenMs; waited += 1_000) {
      await pause(1_000)
      if ((await lastBeat(this.paths.owner, owner.epoch)) !== before) return false
    }
    return true
  }

  // ── ownership ───────────────────────────────────────────────────────────────────────────────────────────────────

  private async own(takeFrom?: number): Promise<boolean> {
    if (this.owning === undefined && this.lease !== undefined) return true
    if (this.disposed || this.handedOver || this.options.role === 'command') return false
    this.owning ??= this.claimStore(this.options.role, takeFrom).finally(() => (this.owning = undefined))
    return await this.owning
  }

  private async claimStore(role: OwnerRecord['role'], takeFrom: number | undefined): Promise<boolean> {
    const me = identityOf(process.pid)
    if (me === undefined) throw new Error('This process cannot see itself in the process table.')
    const token = randomBytes(32).toString('hex')
    const socketPath = join(this.paths.sockets, `owner-${randomBytes(4).toString('hex')}.sock`)
    const claimant = { process: me, token, socketPath, role, version: this.options.version }
    const claimed = await claim(this.paths.owner, claimant, isRunning, takeFrom)
    if (!('isHeld' in claimed)) return false
    try {
      // A former owner that was killed while it ran checks cannot end them any more. They will be run again.
      await endLeftCommands(checksOf(this.paths))
      const supervisor = await this.makeSupervisor(claimed)
      if (this.disposed) {
        claimed.release()
        return false
      }
      this.lease = claimed
      this.supervisor = supervisor
      // Told to nobody: the first dispatch finds out by itself, a little later, if this look fails.
      void this.glance.look().catch(() => undefined)
      await this.view.refresh()
      const unsettled = this.view.list().filter(({ child }) => isUnfinished(child))
      await supervisor.takeUp(unsettled.map(({ child }) => child.id))
      const server = await serveCommands(socketPath, token, (caller, agents) => supervisor.commandsFor(caller, agents))
      if (this.lease !== claimed) {
        server.dispose()
        return false
      }
      this.server = server
    } catch (error) {
      // On record as the owner and deaf: worse than none.
      if (this.lease === claimed) this.letGo()
      claimed.release()
      throw error
    }
    this.clearOld()
    return true
  }

  private async makeSupervisor(lease: Lease): Promise<Supervisor> {
    return new Supervisor({
      tools: await this.tools(lease),
      settings: () => {
        const settings = this.options.settings()
        const { maxSpawnDepth, orchestratorEnabled } = settings
        const { maxChildrenPerParent, maxChildrenTotal, defaultAgent, autonomy, independentCompletions } = settings
        const spawn = { maxSpawnDepth, orchestratorEnabled }
        const limits = limitsFrom(settings)
        const watch = watchSettingsFrom(settings)
        const of = { maxChildrenPerParent, maxChildrenTotal, defaultAgent, autonomy, independentCompletions }
        return { ...of, spawn, limits, watch }
      },
      recipe: async (request, agentId, callersAgents) => {
        const bundled = await this.bundled()
        if ('message' in bundled) return bundled
        const { agents: own, autonomy } = this.options.settings()
        const agents = { ...own, ...callersAgents }
        return await recipeOf(request, agentId, { agents, bundled, environment: this.options.environment, autonomy })
      },
      repositoryProblem: async (bases) => {
        const now = await this.glance.look()
        if (now.kind === 'problem') return now.message
        const setup = setupToRun(await this.setups())
        if (setup !== null && 'kind' in setup) return setup.message
        const problems = await Promise.all(bases.map((base) => baseProblem(this.git, now, base)))
        return problems.find((problem) => problem !== undefined)
      },
      chooseSetup: (request) => chooseSetup(this.paths, this.repository.topLevel, request, new Date()),
      hash: sha256,
      ...(this.options.onSettled === undefined ? {} : { onSettled: this.options.onSettled }),
    })
  }

  /** Beside everything else; nobody waits for it. */
  private clearOld(): void {
    this.clearedAt = performance.now()
    const { keepFinishedDays } = this.options.settings()
    if (keepFinishedDays === null || this.supervisor === undefined) return
    this.supervisor
      .expire(keepFinishedDays)
      .catch((error: unknown) => this.options.log('error', 'old children', { error: String(error) }))
  }

  private async beat(): Promise<void> {
    if (this.disposed) return
    if (this.lease !== undefined) {
      if (this.lease.isHeld()) {
        this.lease.beat()
        if (performance.now() - this.clearedAt > dayMs) this.clearOld()
        await this.supervisor?.startWaiting()
        await this.supervisor?.look()
        return
      }
      this.options.log('warning', 'another process has taken the store', { epoch: this.lease.epoch })
      this.letGo()
      return
    }
    // A parent agent waits for completions, and only an owner writes them.
    if (this.options.role === 'window' || this.options.role === 'mcp') await this.takeUpLive()
  }

  async takeUpLive(): Promise<void> {
    if (this.lease !== undefined || !this.view.list().some(({ child }) => isUnfinished(child))) return
    const owner = await readOwner(this.paths.owner)
    if (owner === undefined || !isRunning(owner.process)) await this.own()
  }

  private letGo(): void {
    this.server?.dispose()
    this.server = undefined
    this.supervisor?.dispose()
    if (this.supervisor !== undefined) this.ended.push(this.supervisor.closed())
    this.supervisor = undefined
    this.lease = undefined
  }

  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    clearInterval(this.heart)
    this.presence?.dispose()
    for (const presence of this.speaking.values()) presence.dispose()
    const lease = this.lease
    this.letGo()
    lease?.release()
    this.view.dispose()
  }

  async closed(): Promise<void> {
    await Promise.all(this.ended)
  }

  // ── what a child's run is given ─────────────────────────────────────────────────────────────────────────────────

  private async tools(lease: Lease): Promise<Tools> {
    const { options, paths, git, repository } = this
    const { commonDir } = repository
    const keeperFile = await this.keeperInStore()
    const bundled = await this.bundled()
    const known = (child: Child) => knownWorktree(child, commonDir)
    return {
      paths,
      epoch: lease.epoch,
      launcher: await this.launcher(),
      now: () => new Date(),
      newId,
      slots: new Slots(join(dataFolder(options.environment), 'slots'), isRunning),
      me: lease.record.process,
      repositoryName: plainLine(repositoryName(commonDir), 60),
      isOwner: () => this.lease === lease && lease.isHeld(),
      environment: options.environment,
      isPresent: (session) => isParentPresent(paths, session),
      attended: () => options.attended() || isAnyonePresent(paths.present, isRunning),
      childOf: (id) => this.view.get(id)?.child,
      recorded: () => this.recorded(),
      delegated: (id) =>
        this.view
          .list()
          .map(({ child }) => child)
          .filter((child) => child.delegationId === id)
          .sort((a, b) => a.index - b.index),
      childExists: (id) => existsSync(paths.child(id).events),
      agentOf: (recipe: Recipe) => {
        if ('message' in bundled) return bundled
        const resolution = resolveRecipe(recipe, bundled)
        return resolution.ok ? resolution.agent : { kind: 'problem', message: resolution.refusal }
      },
      addWorktree: async (child) => {
        const { worktreeRoot } = options.settings()
        const now = await this.glance.look()
        if (now.kind === 'problem') return now
        const made = await addWorktree(git, {
          repository: now,
          childId: child.id,
          title: child.title,
          avoid: options.openFolders ?? [],
          ...(child.task.base === undefined ? {} : { base: child.task.base }),
          ...(worktreeRoot === '' ? {} : { worktreeRoot }),
        })
        if (made.kind === 'problem') return made
        const { path, cwd, branch, base, notes } = made
        return { kind: 'worktree', path, cwd, branch, base, notes: notes.map((note) => note.message) }
      },
      setupToRun: async () => setupToRun(await this.setups()),
      runSetup: (child, call) =>
        runSetup(
          { git, paths, topLevel: repository.topLevel, commonDir, environment: options.environment },
          child,
          call,
        ),
      endSetup: endMarked,
      worktreeState: async (child) => {
        const place = known(child)
        if (place === undefined) return problem('It has no worktree.')
        const state = await status(git, place)
        if (state.kind === 'problem') return state
        const { commits, dirty, files, insertions, deletions } = state
        return { commits, dirty, files: files.length, insertions, deletions }
      },
      treeHash: async (child) => {
        const place = known(child)
        if (place === undefined) return null
        const hashed = await treeHash(git, place)
        return hashed.kind === 'problem' ? null : hashed.hash
      },
      discard: async (child, { force, confirmed }) => {
        const place = known(child)
        if (place === undefined) return { kind: 'discarded', removed: false, what: 'It never had a worktree.' }
        const outcome = await discard(git, place, {
          ...(force === undefined ? {} : { force }),
          ...(confirmed === undefined ? {} : { confirmed }),
        })
        if (outcome.kind === 'problem') return outcome
        const kept = outcome.branchKept === null ? '' : ` Its branch stays: ${outcome.branchKept}.`
        const lost = outcome.losses.length === 0 ? '' : `, and with it ${describeLosses(outcome.losses)}`
        const what = outcome.removed ? `The worktree was removed${lost}.` : 'The worktree was gone already.'
        return { kind: 'discarded', removed: outcome.removed, what: `${what}${kept}` }
      },
      apply: async (child, how, message) => {
        const place = known(child)
        if (place === undefined) return problem('It has no worktree.')
        // Whether a verdict was overridden has been decided before this is asked.
        const verdict = child.verdict?.status ?? 'verified'
        const done = await apply(git, {
          worktree: place,
          into: repository.topLevel,
          how,
          message,
          verdict,
          override: verdict,
        })
        return done.kind === 'problem' ? done : { kind: 'applied', commit: done.commit, branch: done.branch }
      },
      audit: await AuditLog.open(paths.audit, () => new Date()),
      startKeeper: async (attemptDir, launch, env) => {
        const node = await this.node()
        if (typeof node !== 'string') throw new LaunchError('keeperFailed', node.message)
        // Our own programs call nobody.
        const near = launch.file === node
        const environment = near ? options.environment : await environmentFor(launch.file, options.environment)
        return await startKeeper({
          nodePath: node,
          keeperFile,
          attemptDir,
          socketDir: paths.sockets,
          launch,
          environment: { ...environment, ...env },
          write: writeWhole,
          epoch: lease.epoch,
        })
      },
      projectRules: async (child, names) => {
        const place = known(child)
        if (place === undefined) return []
        const rules: { path: string; text: string }[] = []
        for (const path of names) {
          const file = await fileAtBase(git, place, path)
          if (file.kind === 'content' && file.content !== null && !file.binary)
            rules.push({ path, text: file.content.toString('utf8') })
        }
        return rules
      },
      contractPrompt: (child) => promptPart(paths, child),
      complaint: (child) => complaint(paths, child),
      verify: (child) =>
        verifyChild(child, {
          git,
          paths,
          workerFile: join(options.dist, 'contentWorker.js'),
          environment: options.environment,
          earlier: child.verdicts,
          allowedHosts: options.settings().allowedHosts,
          extractor: () => this.extractor(),
        }),
      log: options.log,
    }
  }

  private async extractor(): Promise<Extractor | Problem | null> {
    const { extractor, agents, autonomy } = this.options.settings()
    if (extractor === null) return null
    const bundled = await this.bundled()
    if ('message' in bundled) return bundled
    const { environment } = this.options
    const request = { goal: '', ...(extractor.model === undefined ? {} : { model: extractor.model }) }
    const recipe = await recipeOf(request, extractor.agent, { agents, bundled, environment, autonomy })
    if ('message' in recipe) return recipe
    const resolution = resolveRecipe(recipe, bundled)
    if (!resolution.ok) return problem(resolution.refusal)
    return oneShotOf(resolution.agent, recipe, environment, this.paths.oneShots, () =>
      commandMarker(checksOf(this.paths)),
    )
  }

  private async node(): Promise<string | Problem> {
    const { nodePath } = this.options.settings()
    const probe = await probeNode(nodePath === '' ? nodeCandidates(this.options.environment['PATH']) : [nodePath])
    if (probe.found !== undefined) return probe.found.path
    const tried = probe.tried.map(({ path, why }) => `${path} (${why})`).join(', ')
    return problem(
      `No Node of version 20 or newer was found to run agents with: ${tried}. Install Node, or set coxswain.nodePath.`,
    )
  }

  private async bundled(): Promise<Bundled | Problem> {
    const node = await this.node()
    if (typeof node !== 'string') return node
    return {
      node: { file: node, env: { ELECTRON_RUN_AS_NODE: '1' } },
      demoScript: join(this.options.dist, 'demoAgent.js'),
      demoSessions: this.paths.demoSessions,
    }
  }

  /** Absent Node: the place where it will be once there is one; nothing can be started before. */
  private async launcher(): Promise<string> {
    const node = await this.node()
    const cli = join(this.options.dist, 'cli.js')
    return typeof node === 'string' ? await writeLauncher(this.paths.bin, node, cli) : join(this.paths.bin, 'coxswain')
  }

  /** The keeper outlives an extension's folder, so it runs from a copy named by its content. */
  private async keeperInStore(): Promise<string> {
    const source = await readFile(join(this.options.dist, 'keeper.js'), 'utf8')
    const target = join(this.paths.bin, `keeper-${sha256(source).slice(0, 16)}.js`)
    if (!existsSync(target)) await writeWhole(target, source)
    return target
  }
}

function named(name: CommandName, request: unknown): unknown {
  if (typeof request !== 'object' || request === null) return request
  if (name === 'steer') return { steer_id: newId(), ...request }
  if (name === 'spawn') return { dispatch_id: newId(), ...request }
  return request
}

async function call(commands: Commands, name: CommandName, request: unknown): Promise<CommandAnswer> {
  return await (commands[name] as (request: unknown) => Promise<CommandAnswer>)(request)
}

/** Ten characters without look-alikes: 50 bits, and short enough to type. */
function newId(): string {
  const alphabet = 'abcdefghjkmnpqrstvwxyz0123456789'
  return Array.from({ length: 10 }, () => alphabet[randomInt(alphabet.length)]).join('')
}
const unavailable = (message: string): Refusal => ({ error: { code: 'unavailable', message } })
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
