// Where the rooms that do not know each other are joined, once: what the supervisor of a store and the runs of its children
// are given. It decides nothing.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { resolveRecipe } from '../agents/registry'
import type { Child } from '../core/child'
import type { Recipe } from '../core/events'
import { plainLine } from '../core/plainText'
import { setupToRun } from '../core/setup'
import { apply } from '../git/apply'
import { describeLosses, discard } from '../git/discard'
import type { Git } from '../git/git'
import { Glance } from '../git/glance'
import type { Repository } from '../git/repository'
import { fileAtBase, status } from '../git/review'
import { treeHash } from '../git/treeHash'
import { addWorktree, baseProblem } from '../git/worktree'
import { endMarked } from '../process/endMarked'
import { isRunning } from '../process/identity'
import { LaunchError } from '../process/launch'
import { commandMarker } from '../process/runCommand'
import { startKeeper } from '../process/startKeeper'
import { writeWhole } from '../record/atomicWrite'
import { AuditLog } from '../record/audit'
import type { Lease } from '../record/lease'
import { dataFolder, repositoryName, type StorePaths } from '../record/paths'
import { isAnyonePresent } from '../record/presence'
import { Slots } from '../record/slots'
import { environmentFor, recipeOf } from './agentsFound'
import type { CoxswainOptions } from './coxswain'
import { oneShotOf, type Extractor } from './extractor'
import type { FollowedStore } from './followStore'
import { newId } from './newId'
import type { OwnPrograms } from './ownPrograms'
import { isParentPresent } from './parentPresence'
import { problem, type Problem } from './problem'
import { limitsFrom, watchSettingsFrom } from './settings'
import { chooseSetup, readSetups, runSetup } from './setup'
import { Supervisor } from './supervisor'
import type { Tools } from './tools'
import { checksOf, complaint, knownWorktree, promptPart, sha256, verifyChild } from './verifyChild'
import { stateOf } from './worktreeFacts'

export class Composition {
  private readonly glance: Glance

  constructor(
    private readonly options: CoxswainOptions,
    private readonly repository: Repository,
    private readonly paths: StorePaths,
    private readonly view: FollowedStore,
    private readonly git: Git,
    private readonly programs: OwnPrograms,
  ) {
    this.glance = new Glance(git, repository)
  }

  /** Looks at the repository ahead of the first dispatch. Told to nobody: that one finds out by itself if this look fails. */
  warmUp(): void {
    void this.glance.look().catch(() => undefined)
  }

  /** `isOwner`: false once another process has taken the store. */
  async supervisor(lease: Lease, isOwner: () => boolean): Promise<Supervisor> {
    return new Supervisor({
      tools: await this.tools(lease, isOwner),
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
        const bundled = await this.programs.bundled()
        if ('message' in bundled) return bundled
        const { agents: own, autonomy } = this.options.settings()
        const agents = { ...own, ...callersAgents }
        return await recipeOf(request, agentId, { agents, bundled, environment: this.options.environment, autonomy })
      },
      repositoryProblem: async (bases) => {
        const now = await this.glance.look()
        if (now.kind === 'problem') return now.message
        const setup = setupToRun(await readSetups(this.paths, this.repository.topLevel))
        if (setup !== null && 'kind' in setup) return setup.message
        const problems = await Promise.all(bases.map((base) => baseProblem(this.git, now, base)))
        return problems.find((problem) => problem !== undefined)
      },
      chooseSetup: (request) => chooseSetup(this.paths, this.repository.topLevel, request, new Date()),
      hash: sha256,
      ...(this.options.onSettled === undefined ? {} : { onSettled: this.options.onSettled }),
    })
  }

  private async tools(lease: Lease, isOwner: () => boolean): Promise<Tools> {
    const { options, paths, git, repository } = this
    const { commonDir } = repository
    const keeperFile = await this.programs.keeper()
    const bundled = await this.programs.bundled()
    const known = (child: Child) => knownWorktree(child, commonDir)
    return {
      paths,
      epoch: lease.epoch,
      launcher: await this.programs.launcher(),
      now: () => new Date(),
      newId,
      slots: new Slots(join(dataFolder(options.environment), 'slots'), isRunning),
      me: lease.record.process,
      repositoryName: plainLine(repositoryName(commonDir), 60),
      isOwner,
      environment: options.environment,
      isPresent: (session) => isParentPresent(paths, session),
      attended: () => options.attended() || isAnyonePresent(paths.present, isRunning),
      childOf: (id) => this.view.get(id)?.child,
      recorded: () => this.view.recorded(),
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
      setupToRun: async () => setupToRun(await readSetups(this.paths, this.repository.topLevel)),
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
        const found = await status(git, place)
        return found.kind === 'problem' ? found : stateOf(found)
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
        const node = await this.programs.node()
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
    const bundled = await this.programs.bundled()
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
}
