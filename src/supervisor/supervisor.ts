// Everything one owner supervises: accepts work, knows whose it is, keeps the caps, and hands each wish to the run of its
// child. Answers in-turn; no call here waits for a child.
import type { AgentsSettings } from '../agents/registry'
import { currentAttempt, isLive, lacksResult, wasTakenBack, type Child } from '../core/child'
import {
  decideApply,
  decideCapacity,
  decideHandBack,
  decideTakeOver,
  GOAL_MAX,
  unknownChild,
  type Capacity,
  type Refused,
} from '../core/decide'
import type { Actor, Autonomy, Fact, Limits, Recipe } from '../core/events'
import {
  decideAcceptPartialBy,
  decideAdoptBy,
  decideAnswerBy,
  decideApplyBy,
  decideTakeOverBy,
  ownsChild,
  refusalFor,
  sessionOf,
  type Caller,
} from '../core/ownership'
import { cutText, plainLine } from '../core/plainText'
import { hasExpired } from '../core/retention'
import { isParentAway, type SpawnLimits } from '../core/spawnTree'
import { liveBelow } from '../core/subtree'
import type { SetupRequest } from '../core/setup'
import { textLogHeader } from '../core/textLog'
import { redactText } from '../process/keeper/redact'
import { writeWhole, syncFolder } from '../record/atomicWrite'
import { Bell } from '../record/bell'
import { ChildLog } from '../record/childLog'
import { removeExpired } from '../record/expire'
import { makeFolder } from '../record/paths'
import type { HeldSlot } from '../record/slots'
import { TranscriptFile } from '../record/transcriptFile'
import { ChildRun } from './childRun'
import { acknowledgedBy } from './completions'
import {
  isRefusal,
  type AcknowledgeAnswer,
  type CommandAnswer,
  type Commands,
  type DispatchAnswer,
  type DoneAnswer,
  type EndAnswer,
  type Refusal,
  type ResumeAnswer,
  type SpawnRequest,
  type TakeOverAnswer,
} from './commands'
import { Deeds, whoOf } from './deeds'
import { draft, type Draft, type DraftSources } from './drafts'
import { DisposedError } from './jobs'
import { Orchestration } from './orchestration'
import { openIn, terminalCommand } from './takeOver'
import type { Problem, Tools } from './tools'
import { contractOf } from './verifyChild'
import { Watch, type WatchSettings } from './watch'

export interface SupervisorSettings {
  readonly maxChildrenPerParent: number
  readonly maxChildrenTotal: number
  readonly defaultAgent: string
  /** The most any parent agent may ask for. */
  readonly autonomy: Autonomy
  readonly independentCompletions: boolean
  readonly watch: WatchSettings
  readonly limits: Limits
  readonly spawn: SpawnLimits
}

export interface SupervisorOptions extends Omit<DraftSources, 'settings' | 'known' | 'redactFor'> {
  readonly tools: Tools
  readonly settings: () => SupervisorSettings
  readonly chooseSetup: (request: SetupRequest) => Promise<{ readonly hash: string | null } | Problem>
  /** Called after a round settled or paused and its result is on disk. */
  readonly onSettled?: (childId: string) => void
}

export class Supervisor {
  private readonly runs = new Map<string, ChildRun>()
  /** Logs being opened: a log has one writer, so it is opened once. */
  private readonly opening = new Map<string, Promise<ChildRun | undefined>>()
  /** Finished children whose files are being removed. */
  private readonly clearing = new Map<string, Promise<void>>()
  private readonly bell: Bell
  private readonly deeds: Deeds
  private readonly watch: Watch
  private readonly orchestration: Orchestration
  private disposed = false
  /** What `takeUp` began. */
  recovered: Promise<unknown> = Promise.resolve()
  /** Places given to dispatches under way, per parent session; their children are not in `runs` yet. */
  private readonly reservedBy = new Map<string, number>()
  private startingWaiting = false
  /** Dispatches under way, by whom and under which id. */
  private readonly dispatching = new Map<string, Promise<DispatchAnswer | Refusal>>()

  constructor(private readonly options: SupervisorOptions) {
    this.bell = new Bell(options.tools.paths.bell)
    this.deeds = new Deeds(options.tools)
    this.watch = new Watch({
      settings: () => options.settings().watch,
      newId: options.tools.newId,
      scopeOf: async (child) => (await contractOf(options.tools.paths, child)).scope,
      did: (child, what, reason) => this.deeds.record({ who: 'policy', what, child: child.id, reason }),
    })
    this.orchestration = new Orchestration({
      paths: options.tools.paths,
      recorded: () => options.tools.recorded(),
      runOf: (id) => this.open(id),
      capacity: ({ id, title }) => this.takeSlots([{ id, title }]),
      acknowledge: (caller, ids) => this.acknowledge(caller, ids),
      woken: (id) => this.deeds.record({ who: 'coxswain', what: 'wake', child: id }),
    })
  }

  /**
   * Opens the logs of `childIds`, then finds out what became of what was live in them; that goes on after this resolves, so
   * that a keeper that does not answer holds up nobody else.
   */
  async takeUp(childIds: readonly string[]): Promise<void> {
    const failed = (childId: string) => (error: unknown) =>
      this.options.tools.log('error', 'a child could not be recovered', { childId, error: String(error) })
    const recoveries: Promise<void>[] = []
    for (const id of childIds) {
      // Opening a log cuts its torn end, which may by now be a line that the next owner is writing.
      if (this.disposed || !this.options.tools.isOwner()) break
      const run = await this.open(id).catch(failed(id))
      if (run && (isLive(run.child) || lacksResult(run.child))) recoveries.push(run.recover().catch(failed(id)))
    }
    this.recovered = Promise.all(recoveries)
  }

  /** `agents`: those of the caller's own settings, which it may dispatch to beside the owner's. */
  commandsFor(caller: Caller, agents: AgentsSettings = {}): Commands {
    const by: Actor = caller.kind === 'person' ? { kind: 'person' } : { kind: 'parent', session: caller.session }
    const end = async (
      action: 'stop' | 'interrupt',
      id: string,
      wish: (run: ChildRun) => Promise<Refused | null>,
      note: string | (() => string),
    ): Promise<EndAnswer | Refusal> => {
      const refused = await this.with(caller, id, wish)
      if (refused !== null) return { error: refused }
      this.deeds.record({ who: whoOf(caller), what: action, child: id })
      const words = typeof note === 'string' ? note : note()
      return { action, subagent_id: id, status: 'interrupt_requested', note: words }
    }
    const done = async (
      action: DoneAnswer['action'],
      id: string | undefined,
      wish: (run: ChildRun) => Promise<Refused | null>,
      note: string | ((child: Child | undefined) => string),
    ): Promise<DoneAnswer | Refusal> => {
      if (id === undefined) return { error: unknownChild }
      const refused = await this.with(caller, id, wish)
      if (refused === null && action !== 'flag') this.deeds.record({ who: whoOf(caller), what: action, child: id })
      if (refused !== null) return { error: refused }
      const words = typeof note === 'string' ? note : note(this.runs.get(id)?.child)
      return { action, subagent_id: id, status: 'done', note: words }
    }
    const audited = <T extends CommandAnswer>(what: string, child: string, answer: T, more: object = {}): T => {
      if (!isRefusal(answer)) this.deeds.record({ who: whoOf(caller), what, child, ...more })
      return answer
    }
    return {
      spawn: async (request) => {
        const answer = await this.spawn(request, caller, agents)
        if (!isRefusal(answer)) for (const id of answer.subagent_ids) audited('spawn', id, answer)
        return answer
      },
      steer: async ({ subagent_id: id, message, steer_id }) => {
        const steerId = steer_id ?? this.options.tools.newId()
        const refused = await this.with(caller, id, (run) => run.steer(steerId, message, by))
        if (refused !== null) return { error: refused }
        const note = this.steerNote(id)
        return audited(
          'steer',
          id,
          { action: 'steer', subagent_id: id, steer_id: steerId, status: 'queued', note } as const,
          {
            steer_id: steerId,
          },
        )
      },
      editSteer: ({ subagent_id, steer_id, message }) =>
        done(
          'edit',
          subagent_id,
          (run) => run.editSteer(steer_id, message, by),
          'The steer was changed; it had not been handed over.',
        ),
      withdrawSteer: ({ subagent_id, steer_id }) =>
        done(
          'withdraw',
          subagent_id ?? this.childWithSteer(steer_id),
          (run) => run.withdrawSteer(steer_id, by),
          (child) =>
            child?.steers.find((steer) => steer.id === steer_id)?.state === 'withdrawn'
              ? 'The steer was withdrawn; the agent will not read it.'
              : 'The agent has it already and was asked to give it back. It counts as withdrawn once the agent says that it did not read it.',
        ),
      reorderSteers: ({ subagent_id, order }) =>
        done('reorder', subagent_id, (run) => run.reorderSteers(order, by), 'The waiting steers were reordered.'),
      stop: ({ subagent_id, reason }) =>
        end(
          'stop',
          subagent_id,
          (run) => run.stop(reason ?? '', by),
          'Its end was asked for; it is CANCELLED once its death was observed. Worktree and branch stay.',
        ),
      interrupt: ({ subagent_id, reason }) =>
        end(
          'interrupt',
          subagent_id,
          (run) => run.interrupt(reason ?? '', by),
          () => this.pauseNote(subagent_id),
        ),
      resume: async ({ subagent_id, message }) =>
        audited('resume', subagent_id, await this.resume(caller, subagent_id, message)),
      answer: ({ subagent_id, request_id, answer }) =>
        done(
          'answer',
          subagent_id ?? this.childWithRequest(request_id),
          (run) => {
            const refused = decideAnswerBy(caller, run.child, request_id, answer)
            return refused === null ? run.answer(request_id, answer, by) : Promise.resolve(refused)
          },
          'The answer was handed to the agent.',
        ),
      flag: ({ subagent_id, title, pinned, archived, seen }) =>
        done(
          'flag',
          subagent_id,
          async (run) => {
            const name = title === undefined ? undefined : plainLine(title, 120)
            if (name === '') return { code: 'invalid', message: 'The title is empty.' }
            if (name !== undefined) await run.note({ type: 'renamed', title: name, by })
            if (pinned !== undefined || archived !== undefined || seen !== undefined)
              await run.note({
                type: 'flagged',
                ...(pinned === undefined ? {} : { pinned }),
                ...(archived === undefined ? {} : { archived }),
                ...(seen === undefined ? {} : { seen }),
              })
            return null
          },
          'Done.',
        ),
      discard: async ({ subagent_id, ...consent }) => {
        const run = await this.own(caller, subagent_id)
        if (run === undefined) return { error: this.notThere(caller, subagent_id) }
        const outcome = await run.discard(consent, by)
        if ('code' in outcome) return { error: outcome }
        return audited('discard', subagent_id, {
          action: 'discard',
          subagent_id,
          status: outcome.removed ? 'discarded' : 'absent',
          note: outcome.what,
        } as const)
      },
      verify: ({ subagent_id }) =>
        done(
          'verify',
          subagent_id,
          (run) => run.verifyAgain(),
          'The checks run again; the verdict comes when they are through.',
        ),
      automate: ({ subagent_id, on }) =>
        done(
          'automate',
          subagent_id,
          async (run) => {
            await run.note({ type: 'steeringSwitched', on, by }, (child) => child.automaticSteering === on)
            return null
          },
          on
            ? 'What is suggested for it is done by itself from now on, up to its spend ceiling; each act is on record.'
            : 'Nothing is done to it by itself any more; suggestions still show.',
        ),
      applySuggestion: ({ subagent_id }) =>
        done(
          'suggestion',
          subagent_id,
          async (run) => {
            const { suggestion, title } = run.child
            if (suggestion === null) return { code: 'finished', message: `There is no suggestion for "${title}" now.` }
            return suggestion.action === 'stop'
              ? await run.stop(suggestion.reason, by)
              : await run.steer(this.options.tools.newId(), suggestion.message ?? '', by)
          },
          'Done as suggested.',
        ),
      dismissSuggestion: ({ subagent_id }) =>
        done(
          'suggestion',
          subagent_id,
          async (run) => {
            const { suggestion, title } = run.child
            if (suggestion === null) return { code: 'finished', message: `There is no suggestion for "${title}" now.` }
            await run.note({ type: 'suggestionDismissed', by }, (child) => child.suggestion === null)
            return null
          },
          'Dismissed. The same is not suggested again in this attempt.',
        ),
      acceptPartial: ({ subagent_id }) =>
        done(
          'accept',
          subagent_id,
          async (run) => decideAcceptPartialBy(caller) ?? (await run.acceptPartial(by)),
          'Taken as partial. It stays marked, and applying it still asks for what did not pass by name.',
        ),
      retry: async ({ subagent_id }) => {
        const run = await this.own(caller, subagent_id)
        if (run === undefined) return { error: this.notThere(caller, subagent_id) }
        let told: string | null
        try {
          told = await this.options.tools.complaint(run.child)
        } catch (error) {
          return { error: { code: 'unavailable', message: error instanceof Error ? error.message : String(error) } }
        }
        if (told === null)
          return {
            error: {
              code: 'unsupported',
              message: `Nothing is open in the verdict on "${run.child.title}", so there is nothing to ask again.`,
            },
          }
        const answer = await this.resume(caller, subagent_id, cutText(told, GOAL_MAX))
        return audited('retry', subagent_id, answer)
      },
      apply: async ({ subagent_id, how = 'merge', override = [], message }) => {
        const run = await this.own(caller, subagent_id)
        if (run === undefined) return { error: this.notThere(caller, subagent_id) }
        const refused = decideApplyBy(caller) ?? decideApply(run.child, override)
        if (refused !== null) return { error: refused }
        const words = message?.trim() ?? ''
        const outcome = await this.options.tools.apply(run.child, how, words === '' ? run.child.title : words)
        if (outcome.kind === 'problem') return { error: { code: 'repository', message: outcome.message } }
        const { commit, branch } = outcome
        await run.note({ type: 'applied', how, overridden: [...override], by, ...(commit === null ? {} : { commit }) })
        const where = branch === null ? 'the checked-out commit' : branch
        const note =
          commit === null ? `Staged on ${where}; commit it yourself.` : `Applied to ${where} as ${commit.slice(0, 10)}.`
        const answer = { action: 'apply', subagent_id, status: 'applied', how, commit, branch, note } as const
        return audited('apply', subagent_id, answer, { how, commit, overridden: override })
      },
      takeOver: async ({ subagent_id }) =>
        audited('takeOver', subagent_id, await this.takeOver(caller, by, subagent_id)),
      adopt: ({ subagent_id }) =>
        done(
          'adopt',
          subagent_id,
          async (run) => {
            const away = isParentAway(run.child, (id) => this.known(id), this.options.tools.isPresent)
            const refused = decideAdoptBy(caller, run.child, away)
            if (refused === null) await run.note({ type: 'adopted', by }, (child) => child.formerParent !== null)
            return refused
          },
          'It is yours now. Its former parent is told so when it comes back.',
        ),
      acknowledge: ({ completion_ids }) => this.acknowledge(caller, completion_ids),
      setup: async (request) => {
        if (caller.kind !== 'person')
          return { error: { code: 'unsupported', message: 'How worktrees are set up is for a person to say.' } }
        const chosen = await this.options.chooseSetup(request)
        if ('message' in chosen) return { error: { code: 'invalid', message: chosen.message } }
        const { hash } = chosen
        this.deeds.record({ who: whoOf(caller), what: `setup ${request.action}`, child: '', hash })
        return {
          action: 'setup',
          status: hash === null ? 'cleared' : 'set',
          hash,
          note:
            hash === null
              ? 'New worktrees are not set up any more.'
              : 'Every worktree made from now on is set up with it, before its agent starts.',
        }
      },
    }
  }

  /** Every child with a process, about to have one, or whose result is being written. */
  liveCount(): number {
    const children = [...this.runs.values()].map((run) => run.child)
    return children.filter((child) => isLive(child) || lacksResult(child)).length + this.reserved()
  }

  private live(): Child[] {
    return [...this.runs.values()].map((run) => run.child).filter((child) => takesPlace(child))
  }

  private async spawn(
    request: SpawnRequest,
    caller: Caller,
    agents: AgentsSettings,
  ): Promise<DispatchAnswer | Refusal> {
    const { dispatch_id } = request
    if (dispatch_id === undefined) return await this.dispatch(request, caller, agents)
    // A dispatch that is told again, because its answer was lost, is the same dispatch, also while it is under way.
    const key = `${sessionOf(caller)} ${dispatch_id}`
    const dispatching = this.dispatching.get(key) ?? this.dispatchOnce(dispatch_id, request, caller, agents)
    this.dispatching.set(key, dispatching)
    try {
      return await dispatching
    } finally {
      this.dispatching.delete(key)
    }
  }

  private async dispatchOnce(
    dispatchId: string,
    request: SpawnRequest,
    caller: Caller,
    agents: AgentsSettings,
  ): Promise<DispatchAnswer | Refusal> {
    const here = [...this.runs.values()].filter((run) => run.child.delegationId === dispatchId)
    const known =
      here.length > 0
        ? here.filter((run) => !run.isTakenBack).map((run) => run.child)
        : this.options.tools.delegated(dispatchId).filter((child) => !wasTakenBack(child))
    if (known.length === 0) return await this.dispatch(request, caller, agents)
    const lost = known.find((child) => !this.mayControl(caller, child))
    if (lost === undefined) return this.handle(dispatchId, known)
    const refused = this.notThere(caller, lost.id)
    if (refused.code === 'adopted') return { error: refused }
    return { error: { code: 'invalid', message: 'This id of a dispatch cannot be used. Choose another.' } }
  }

  private async dispatch(
    request: SpawnRequest,
    caller: Caller,
    agents: AgentsSettings,
  ): Promise<DispatchAnswer | Refusal> {
    const settings = this.options.settings()
    const count = request.tasks.length
    // Taken before the first wait: of two racing dispatches at the cap exactly one is accepted.
    const full = this.capacity(caller, count)
    const mayWait = request.when_full === 'wait' && caller.kind === 'person'
    if (full !== null && !mayWait) return { error: full }
    const session = sessionOf(caller)
    let held = full === null ? count : 0
    this.reserve(session, held)
    try {
      const drafts = await draft(request, caller, agents, {
        ...this.options,
        settings,
        known: (id) => this.known(id),
        redactFor: (recipe) => this.redactFor(recipe),
      })
      if (isRefusal(drafts)) return drafts
      const { tools } = this.options
      const delegationId = request.dispatch_id ?? tools.newId()
      const ids = drafts.map(() => this.freshId())
      const places = drafts.map(({ task }, i) => ({ id: ids[i] ?? '', title: task.title }))
      const waits = full ?? (await this.takeSlots(places))
      if (waits !== null && !mayWait) return { error: waits }
      const independent = request.independent_completions ?? settings.independentCompletions
      const accepted: ChildRun[] = []
      try {
        for (const [index, draft] of drafts.entries()) {
          const place = { delegationId, index, independentCompletions: independent }
          accepted.push(await this.accept(ids[index] ?? this.freshId(), draft, place, caller))
          if (held === 0) continue
          held--
          this.reserve(session, -1)
        }
        await syncFolder(tools.paths.children)
        if (waits !== null) for (const run of accepted) await run.awaitSlot()
      } catch (error) {
        // All or nothing: what was accepted before the disk failed is called off, and its place given back.
        for (const run of accepted) await run.callOff('the record of its delegation could not be written')
        for (const { id } of places) await tools.slots.release(id).catch(() => undefined)
        throw error
      }
      if (waits === null) for (const run of accepted) run.start()
      const notes = [...new Set(drafts.flatMap(({ note }) => note ?? []))]
      const handle = this.handle(
        delegationId,
        accepted.map((run) => run.child),
      )
      return notes.length === 0 ? handle : { ...handle, notes }
    } finally {
      this.reserve(session, -held)
    }
  }

  /** Never one that a child of this store has or had: whoever was given that one would have this one too. */
  private freshId(): string {
    for (;;) {
      const id = this.options.tools.newId()
      if (!this.runs.has(id) && !this.options.tools.childExists(id)) return id
    }
  }

  private handle(delegationId: string, children: readonly Child[]): DispatchAnswer {
    return {
      status: 'dispatched',
      mode: 'background',
      count: children.length,
      delegation_id: delegationId,
      goals: children.map((child) => child.task.goal),
      subagent_ids: children.map((child) => child.id),
      control_hint:
        'Running in the background; the completion comes by itself. Legal now: list, steer (a directive, not a vibe), interrupt, stop. Do what does not depend on the children, then end your turn; never poll.',
      live_transcripts: children.map((child) => child.liveTranscript),
    }
  }

  private reserve(session: string, count: number): void {
    const reserved = (this.reservedBy.get(session) ?? 0) + count
    if (reserved === 0) this.reservedBy.delete(session)
    else this.reservedBy.set(session, reserved)
  }

  private reserved(): number {
    return [...this.reservedBy.values()].reduce((sum, count) => sum + count, 0)
  }

  private async accept(
    childId: string,
    draft: Draft,
    place: { readonly delegationId: string; readonly index: number; readonly independentCompletions: boolean },
    caller: Caller,
  ): Promise<ChildRun> {
    const { tools } = this.options
    const paths = tools.paths.child(childId)
    makeFolder(paths.folder)
    const liveTranscript = paths.textLog(place.index)
    if (draft.task.contract.level !== 'none') await writeWhole(paths.contract, draft.contract.text)
    const accepted: Fact = {
      type: 'accepted',
      childId,
      ...place,
      parentSession: sessionOf(caller),
      parentChild: caller.kind === 'parent' ? (caller.child ?? null) : null,
      task: draft.task,
      liveTranscript,
    }
    const transcript = await this.openTranscript(childId, liveTranscript, draft.task.recipe)
    let log: ChildLog
    try {
      // The last thing that can fail: what is refused must not be on record as accepted.
      log = await ChildLog.begin(paths.events, tools.epoch, tools.now, [accepted])
    } catch (error) {
      await transcript.close()
      throw error
    }
    const { title, recipe } = draft.task
    const goal = this.redactFor(recipe)(draft.task.goal)
    const acceptedAt = log.child?.acceptedAt ?? tools.now().toISOString()
    await transcript
      .say(textLogHeader({ id: childId, title, goal, agent: recipe.label }, acceptedAt))
      .catch((error: unknown) => tools.log('warning', 'header not written', { childId, error: String(error) }))
    const run = this.runOf(childId, log, transcript)
    this.runs.set(childId, run)
    this.bell.ring(childId)
    return run
  }

  /**
   * Removes raw output, transcripts and results of children that settled more than `days` ago; never worktrees, branches or
   * the record of what happened. Those that are open here wait for the next time.
   */
  async expire(days: number): Promise<void> {
    const { tools } = this.options
    for (const child of await tools.recorded()) {
      const { id } = child
      if (this.disposed || !tools.isOwner()) return
      if (this.runs.has(id) || this.opening.has(id) || !hasExpired(child, days, tools.now())) continue
      const removal = this.removeFinished(id, days).catch((error: unknown) =>
        tools.log('error', 'a finished child could not be cleared', { childId: id, error: String(error) }),
      )
      this.clearing.set(id, removal)
      await removal
      this.clearing.delete(id)
    }
  }

  /** On record once it is done: what a crash leaves is removed the next time. */
  private async removeFinished(id: string, days: number): Promise<void> {
    const { tools } = this.options
    const paths = tools.paths.child(id)
    const log = await ChildLog.open(paths.events, tools.epoch, tools.now)
    try {
      await removeExpired(paths)
      await log.append([{ type: 'expired', days }], true)
    } finally {
      await log.close()
    }
    this.deeds.record({ who: 'coxswain', what: 'expired', child: id, days })
    this.bell.ring(id)
  }

  private async open(childId: string): Promise<ChildRun | undefined> {
    while (this.clearing.has(childId)) await this.clearing.get(childId)
    const known = this.runs.get(childId)
    if (known !== undefined) return known
    const opening = this.opening.get(childId) ?? this.openLog(childId).finally(() => this.opening.delete(childId))
    this.opening.set(childId, opening)
    return await opening
  }

  private async openLog(childId: string): Promise<ChildRun | undefined> {
    const { tools } = this.options
    const log = await ChildLog.open(tools.paths.child(childId).events, tools.epoch, tools.now)
    if (log.child === undefined) {
      await log.close()
      return undefined
    }
    let run: ChildRun
    try {
      run = this.runOf(
        childId,
        log,
        await this.openTranscript(childId, log.child.liveTranscript, log.child.task.recipe),
      )
    } catch (error) {
      await log.close()
      throw error
    }
    if (this.disposed) run.dispose()
    this.runs.set(childId, run)
    return run
  }

  private async openTranscript(childId: string, liveTranscript: string, recipe: Recipe): Promise<TranscriptFile> {
    const { tools } = this.options
    const trouble = (words: string): void => tools.log('warning', 'transcript not written', { childId, words })
    const redact = this.redactFor(recipe)
    return await TranscriptFile.open(tools.paths.child(childId).transcript, liveTranscript, trouble, redact)
  }

  /** The keeper redacts what the agent prints; this is for what people and parents say to it. */
  private redactFor(recipe: Recipe): (text: string) => string {
    const { tools } = this.options
    const { environment } = tools
    const agent = tools.agentOf(recipe)
    const names = 'message' in agent ? [] : agent.secrets
    const secrets = names.flatMap((name) => {
      const value = environment[name]
      return value === undefined ? [] : [{ name, value }]
    })
    return (text) => (secrets.length === 0 ? text : redactText(text, secrets))
  }

  private runOf(childId: string, log: ChildLog, transcript: TranscriptFile): ChildRun {
    const { tools } = this.options
    return new ChildRun(childId, log, transcript, tools, {
      changed: (id) => this.bell.ring(id),
      goesOn: (child) => this.orchestration.goesOn(child),
      delegating: (id) => this.wake(id),
      judged: (id, verdict) => this.deeds.verdict(id, verdict),
      settled: (id, result) => {
        const child = this.runs.get(id)?.child
        if (child !== undefined) this.deeds.completion(child, result)
        this.options.onSettled?.(id)
        const above = this.known(id)?.parentChild ?? null
        if (above !== null) this.wake(above)
        this.startWaiting().catch((error: unknown) => tools.log('error', 'waiting children', { error: String(error) }))
      },
    })
  }

  private async takeOver(caller: Caller, by: Actor, id: string): Promise<TakeOverAnswer | Refusal> {
    const run = await this.own(caller, id)
    const refused = decideTakeOverBy(caller) ?? decideTakeOver(run?.child)
    if (run === undefined || refused !== null) return { error: refused ?? this.notThere(caller, id) }
    const agent = this.options.tools.agentOf(run.child.task.recipe)
    const command = 'message' in agent ? undefined : terminalCommand(run.child, agent)
    if (command === undefined)
      return { error: { code: 'unsupported', message: `"${run.child.title}" has no session for a terminal.` } }
    await run.note({ type: 'takenOver', by }, (child) => child.takenOver)
    // One that ends by itself in this very moment has nothing to be paused.
    await run.interrupt('taken over in a terminal', by)
    return {
      action: 'takeOver',
      subagent_id: id,
      status: isLive(run.child) ? 'pausing' : 'ready',
      cwd: command.cwd,
      command: command.line,
      note: 'Go on with it there; end it there before you hand it back with resume.',
    }
  }

  /** A session that somebody has open elsewhere is not resumed: the last one to write would win. */
  private async openElsewhere(child: Child): Promise<Refused | null> {
    const { tools } = this.options
    const agent = tools.agentOf(child.task.recipe)
    if (isLive(child) || child.sessionId === null || 'message' in agent) return null
    const found = await openIn(child.sessionId, agent, tools.environment)
    if (found === undefined) return null
    const message = `The session of "${child.title}" is open in another process (${found.pid}). End it there first; two in one session lose the work of one.`
    return { code: 'open_elsewhere', message }
  }

  private async resume(caller: Caller, id: string, message: string | undefined): Promise<ResumeAnswer | Refusal> {
    const run = await this.own(caller, id)
    if (run === undefined) return { error: this.notThere(caller, id) }
    const held = decideHandBack(run.child, caller.kind) ?? (await this.openElsewhere(run.child))
    if (held !== null) return { error: held }
    const { title } = run.child
    const started = await run.resume(
      message,
      async () => this.capacity(caller, 1) ?? (await this.takeSlots([{ id, title }])),
    )
    if ('code' in started) return { error: started }
    return {
      action: 'resume',
      subagent_id: id,
      status: 'resuming',
      attempt: started.attempt,
      carried_steers: started.carried,
      note: 'Same session, worktree and branch; time and turn limits start anew.',
    }
  }

  /** Every round a completion tells of is acknowledged; a crash in between leaves it due under the same id. */
  private async acknowledge(caller: Caller, ids: readonly string[]): Promise<AcknowledgeAnswer> {
    const { completions, notices } = acknowledgedBy(caller, await this.options.tools.recorded(), ids)
    for (const { members, round } of completions)
      for (const { id } of members) {
        const run = await this.opened(id)
        const telling = run?.child.completions.find((completion) => completion.round === round)
        if (run === undefined || telling === undefined) continue
        const fact = { type: 'completionAcknowledged', completionId: telling.id } as const
        await run.note(fact, (child) => child.completions.some((done) => done.id === telling.id && done.acknowledged))
      }
    for (const notice of notices) {
      const run = await this.opened(notice.child.id)
      if (notice.kind === 'adopted') {
        await run?.note({ type: 'adoptionAcknowledged' }, (now) => now.formerParent?.told === true)
        continue
      }
      const { n } = notice.attempt
      await run?.note({ type: 'noticeAcknowledged', attempt: n }, (now) => now.noticed.includes(n))
    }
    const acknowledged = [...completions, ...notices].map(({ id }) => id)
    return { action: 'acknowledge', status: 'done', acknowledged }
  }

  private capacity(caller: Caller, count: number): Refused | null {
    const { maxChildrenPerParent, maxChildrenTotal } = this.options.settings()
    const live = this.live()
    const named = (children: readonly Child[]): Capacity['live'] => children.map(({ id, title }) => ({ id, title }))
    const total = {
      setting: 'coxswain.maxChildrenTotal',
      cap: maxChildrenTotal,
      live: named(live),
      coming: this.reserved(),
    }
    if (caller.kind === 'person') return decideCapacity(count, [total])
    const mine = live.filter((child) => child.parentSession === caller.session)
    return decideCapacity(count, [
      {
        setting: 'coxswain.maxChildrenPerParent',
        cap: maxChildrenPerParent,
        live: named(mine),
        coming: this.reservedBy.get(caller.session) ?? 0,
      },
      total,
    ])
  }

  /** The machine's slots for these children, or who holds them. */
  private async takeSlots(children: readonly HeldSlot[]): Promise<Refused | null> {
    const { slots, me } = this.options.tools
    const cap = this.options.settings().maxChildrenTotal
    const live = await slots.take(children, me, cap)
    return live === undefined
      ? null
      : decideCapacity(children.length, [{ setting: 'coxswain.maxChildrenTotal', cap, live }])
  }

  /** One look at what each child is doing. Called every few seconds. */
  async look(): Promise<void> {
    await this.watch.look(this.runs.values())
  }

  /** Starts children that wait for a slot, oldest first, as long as there is one. */
  async startWaiting(): Promise<void> {
    if (this.startingWaiting) return
    this.startingWaiting = true
    try {
      const waiting = [...this.runs.values()].filter((run) => run.waits)
      waiting.sort((a, b) => (a.child.acceptedAt < b.child.acceptedAt ? -1 : 1))
      for (const run of waiting) {
        const { id, title } = run.child
        if (!run.waits) continue
        if ((await this.takeSlots([{ id, title }])) !== null) return
        // Stopped meanwhile, it has given back the place it did not have yet.
        if (run.waits) run.start()
        else await this.options.tools.slots.release(id)
      }
      for (const id of this.orchestration.toTryAgain) this.wake(id)
    } finally {
      this.startingWaiting = false
    }
  }

  private wake(id: string): void {
    const { tools } = this.options
    this.orchestration.wake(id).catch((error: unknown) => {
      if (!(error instanceof DisposedError))
        tools.log('error', 'an orchestrator was not woken', { id, error: String(error) })
    })
  }

  private async with(
    caller: Caller,
    id: string,
    wish: (run: ChildRun) => Promise<Refused | null>,
  ): Promise<Refused | null> {
    const run = await this.own(caller, id)
    if (run === undefined) return this.notThere(caller, id)
    try {
      return await wish(run)
    } catch (error) {
      if (error instanceof DisposedError)
        return { code: 'unavailable', message: 'Another window has just taken over this child. Try again.' }
      throw error
    }
  }

  /** The run of a child this caller may control; undefined for foreign and unknown ids alike. */
  private async own(caller: Caller, id: string): Promise<ChildRun | undefined> {
    const run = await this.opened(id)
    return run !== undefined && this.mayControl(caller, run.child) ? run : undefined
  }

  private async opened(id: string): Promise<ChildRun | undefined> {
    if (this.disposed || !/^[a-z0-9]{6,40}$/.test(id)) return undefined
    return this.runs.get(id) ?? (this.options.tools.childExists(id) ? await this.open(id) : undefined)
  }

  /** Why this caller may not control that child. */
  private notThere(caller: Caller, id: string): Refused {
    return refusalFor(caller, this.known(id), (above) => this.known(above))
  }

  private mayControl(caller: Caller, child: Child): boolean {
    return ownsChild(caller, child, (id) => this.known(id))
  }

  /** A child as it stands, open here or not. */
  private known(id: string): Child | undefined {
    return this.runs.get(id)?.child ?? this.options.tools.childOf(id)
  }

  private steerNote(id: string): string {
    const child = this.runs.get(id)?.child
    const attempt = child === undefined ? undefined : currentAttempt(child)
    if (attempt === undefined || attempt.launchedAt === null)
      return 'It has not started yet: the text is part of its first turn.'
    const where =
      child?.task.recipe.abilities.steerMode === 'next_turn'
        ? 'it reads it as its next turn'
        : 'appended to its next tool result; the current tool call is never cut'
    return `Queued; ${where}. It counts as read only once the agent's receipt came.`
  }

  private pauseNote(id: string): string {
    const kept = 'Session, worktree and branch are kept; resume goes on with a new instruction.'
    const all = [...this.runs.values()].map((run) => run.child)
    const child = this.runs.get(id)?.child
    const going = child === undefined ? [] : liveBelow(child, all)
    if (going.length === 0) return kept
    const named = going.map((each) => `${plainLine(each.title, 60)} (${each.id})`).join(', ')
    return `${kept} The call it was making is lost, and the children it dispatched go on: ${named}. What they come to waits until it is resumed; interrupt or stop them by their own ids.`
  }

  private childWithSteer(steerId: string): string | undefined {
    return [...this.runs.values()].find((run) => run.child.steers.some((steer) => steer.id === steerId))?.child.id
  }

  private childWithRequest(requestId: string): string | undefined {
    const asking = [...this.runs.values()].filter((run) =>
      run.child.requests.some((request) => request.id === requestId),
    )
    return asking.length === 1 ? asking[0]?.child.id : undefined
  }

  /** Lets go of every child; agents and keepers go on. Synchronous. */
  dispose(): void {
    this.disposed = true
    for (const run of this.runs.values()) run.dispose()
  }

  /** After `dispose`: all that was under way has been written. */
  async closed(): Promise<void> {
    await Promise.all([...this.runs.values()].map((run) => run.closed()))
    await this.options.tools.audit.close()
  }
}

/** It counts against the caps: an orchestrator between its turns has no process, and a child in the queue not yet. */
const takesPlace = (child: Child): boolean => isLive(child) && !child.waitingForSlot && !child.delegating
