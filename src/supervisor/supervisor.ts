// Everything one owner supervises: accepts work, knows whose it is, keeps the caps, and hands each wish to the run of its
// child. Answers in-turn; no call here waits for a child.
import type { AgentsSettings } from '../agents/registry'
import { isLive, isUnfinished, wasTakenBack, type Child } from '../core/child'
import { decideCapacity, type Capacity, type Refused } from '../core/decide'
import type { Autonomy, Fact, Limits, Recipe } from '../core/events'
import { ownsChild, refusalFor, sessionOf, type Caller } from '../core/ownership'
import { hasExpired } from '../core/retention'
import type { SetupRequest } from '../core/setup'
import type { SpawnLimits } from '../core/spawnTree'
import { textLogHeader } from '../core/textLog'
import { redactText } from '../process/keeper/redact'
import { writeWhole, syncFolder } from '../record/atomicWrite'
import { Bell } from '../record/bell'
import { ChildLog } from '../record/childLog'
import { removeExpired } from '../record/expire'
import { makeFolder } from '../record/paths'
import type { HeldSlot } from '../record/slots'
import { TranscriptFile } from '../record/transcriptFile'
import { CallerCommands, type Children } from './callerCommands'
import { ChildRun } from './childRun'
import {
  isRefusal,
  type AcknowledgeAnswer,
  type Commands,
  type DispatchAnswer,
  type Refusal,
  type SpawnRequest,
} from './commands'
import { acknowledgedBy } from './completions'
import { Deeds } from './deeds'
import { draft, type Draft, type DraftSources } from './drafts'
import { DisposedError, mayPass } from './jobs'
import { Orchestration } from './orchestration'
import type { Problem } from './problem'
import type { Tools } from './tools'
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
  private readonly children: Children
  private disposed = false
  /** Children to take up whose record could not be opened for the moment. */
  private readonly unopened = new Set<string>()
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
    this.children = {
      own: (caller, id) => this.own(caller, id),
      known: (id) => this.known(id),
      open: () => this.openChildren(),
      takePlace: async (caller, { id, title }) => this.capacity(caller, 1) ?? (await this.takeSlots([{ id, title }])),
      spawn: (request, caller, agents) => this.spawn(request, caller, agents),
      acknowledge: (caller, ids) => this.acknowledge(caller, ids),
      chooseSetup: (request) => options.chooseSetup(request),
    }
  }

  /**
   * Opens the logs of `childIds`, then finds out what became of what was live in them; that goes on after this resolves, so
   * that a keeper that does not answer holds up nobody else.
   */
  async takeUp(childIds: readonly string[]): Promise<void> {
    const failed = (childId: string) => (error: unknown) => {
      // Let go of before it was known: the next owner finds out.
      if (error instanceof DisposedError) return
      this.options.tools.log('error', 'a child could not be recovered', { childId, error: String(error) })
    }
    const opened: ChildRun[] = []
    for (const id of childIds) {
      // Opening a log cuts its torn end, which may by now be a line that the next owner is writing.
      if (this.disposed || !this.options.tools.isOwner()) break
      const run = await this.open(id).catch((error: unknown) => {
        if (!this.unopened.has(id)) failed(id)(error)
        if (mayPass(error)) this.unopened.add(id)
      })
      if (run) this.unopened.delete(id)
      if (run && isUnfinished(run.child)) opened.push(run)
    }
    this.recovered = Promise.all(
      opened.map((run) =>
        (this.isHalfDispatched(run.child) ? run.callOff(halfDispatched) : run.recover()).catch(failed(run.child.id)),
      ),
    )
  }

  /** Its owner died while it was writing down the delegation: nobody was answered, and nothing of it has begun. */
  private isHalfDispatched({ phase, waitingForSlot, delegationId, delegated }: Child): boolean {
    if (phase !== 'PENDING' || waitingForSlot || delegated === null) return false
    return delegated > this.options.tools.delegated(delegationId).length
  }

  /** `agents`: those of the caller's own settings, which it may dispatch to beside the owner's. */
  commandsFor(caller: Caller, agents: AgentsSettings = {}): Commands {
    return new CallerCommands(caller, agents, this.children, this.options.tools, this.deeds)
  }

  /** Every child with a process, about to have one, or whose verdict or result is still to come. */
  liveCount(): number {
    return this.openChildren().filter(isUnfinished).length + this.reserved()
  }

  private openChildren(): Child[] {
    return [...this.runs.values()].map((run) => run.child)
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
    const refused = refusalFor(caller, lost, (id) => this.known(id))
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
          const place = { delegationId, index, count, independentCompletions: independent }
          accepted.push(await this.accept(ids[index] ?? this.freshId(), draft, place, caller))
          if (held === 0) continue
          held--
          this.reserve(session, -1)
        }
        await syncFolder(tools.paths.children)
        if (waits !== null) for (const run of accepted) await run.awaitSlot()
      } catch (error) {
        // All or nothing: what was accepted before the disk failed is called off, and its place given back.
        for (const run of accepted) await run.callOff(halfDispatched)
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
    place: Pick<Accepted, 'delegationId' | 'index' | 'count' | 'independentCompletions'>,
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
    const live = this.openChildren().filter(takesPlace)
    const named = (children: readonly Child[]): Capacity['live'] => children.map(({ id, title }) => ({ id, title }))
    const total = {
      setting: 'maxChildrenTotal' as const,
      cap: maxChildrenTotal,
      live: named(live),
      coming: this.reserved(),
    }
    if (caller.kind === 'person') return decideCapacity(count, [total])
    const mine = live.filter((child) => child.parentSession === caller.session)
    return decideCapacity(count, [
      {
        setting: 'maxChildrenPerParent',
        cap: maxChildrenPerParent,
        live: named(mine),
        coming: this.reservedBy.get(caller.session) ?? 0,
      },
      total,
    ])
  }

  /** The machine's slots for these children, or who holds them. */
  private async takeSlots(children: readonly HeldSlot[]): Promise<Refused | null> {
    const { tools } = this.options
    const cap = this.options.settings().maxChildrenTotal
    const wanted = children.map(({ id, title }) => ({ id, title, repository: tools.repositoryName }))
    const held = await tools.slots.take(wanted, tools.me, cap)
    if (held === undefined) return null
    const live = held.map(({ id, title, repository }) => {
      if (tools.childExists(id)) return { id, title }
      return { id, title, elsewhere: repository === undefined ? 'another repository' : `the repository ${repository}` }
    })
    return decideCapacity(children.length, [{ setting: 'maxChildrenTotal', cap, live }])
  }

  /** One look at what each child is doing. Called every few seconds. */
  async look(): Promise<void> {
    if (this.unopened.size > 0) await this.takeUp([...this.unopened])
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

  /** The run of a child this caller may control; undefined for foreign and unknown ids alike. */
  private async own(caller: Caller, id: string): Promise<ChildRun | undefined> {
    const run = await this.opened(id)
    return run !== undefined && this.mayControl(caller, run.child) ? run : undefined
  }

  private async opened(id: string): Promise<ChildRun | undefined> {
    if (this.disposed || !/^[a-z0-9]{6,40}$/.test(id)) return undefined
    return this.runs.get(id) ?? (this.options.tools.childExists(id) ? await this.open(id) : undefined)
  }

  private mayControl(caller: Caller, child: Child): boolean {
    return ownsChild(caller, child, (id) => this.known(id))
  }

  /** A child as it stands, open here or not. */
  private known(id: string): Child | undefined {
    return this.runs.get(id)?.child ?? this.options.tools.childOf(id)
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
type Accepted = Extract<Fact, { type: 'accepted' }>

const halfDispatched = 'the record of its delegation could not be written'

const takesPlace = (child: Child): boolean => isLive(child) && !child.waitingForSlot && !child.delegating
