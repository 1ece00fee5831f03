// What one caller may ask of the children of a store: each command checks whose the child is, has its wish granted or
// refused by the child's run, puts it on the audit trail and answers in words. It owns no child and waits for none.
import type { AgentsSettings } from '../agents/registry'
import { currentAttempt, isLive, type Child } from '../core/child'
import { decideApply, decideHandBack, decideTakeOver, GOAL_MAX, unknownChild, type Refused } from '../core/decide'
import type { Actor, Fact } from '../core/events'
import {
  decideAcceptPartialBy,
  decideAdoptBy,
  decideAnswerBy,
  decideRevokeBy,
  decideApplyBy,
  decideTakeOverBy,
  refusalFor,
  type Caller,
} from '../core/ownership'
import { cutText, plainLine } from '../core/plainText'
import type { SetupRequest } from '../core/setup'
import { isParentAway } from '../core/spawnTree'
import { liveBelow } from '../core/subtree'
import type { ChildRun } from './childRun'
import {
  isRefusal,
  type AcknowledgeAnswer,
  type ApplyAnswer,
  type CommandAnswer,
  type CommandName,
  type Commands,
  type DiscardAnswer,
  type DispatchAnswer,
  type DoneAnswer,
  type EndAnswer,
  type Refusal,
  type ResumeAnswer,
  type SetupAnswer,
  type SpawnRequest,
  type SteerAnswer,
  type TakeOverAnswer,
} from './commands'
import { whoOf, type Deeds } from './deeds'
import { DisposedError } from './jobs'
import { openIn, terminalCommand } from './takeOver'
import type { Problem } from './problem'
import type { Tools } from './tools'

/** What the commands need of the supervisor that owns the children. */
export interface Children {
  /** The run of a child this caller may control; undefined for foreign and unknown ids alike. */
  own(caller: Caller, id: string): Promise<ChildRun | undefined>
  /** A child as it stands, open here or not. */
  known(id: string): Child | undefined
  /** Those that are open here. */
  open(): readonly Child[]
  /** A place for the next attempt of this child is taken, or why there is none. */
  takePlace(caller: Caller, child: Child): Promise<Refused | null>
  spawn(request: SpawnRequest, caller: Caller, agents: AgentsSettings): Promise<DispatchAnswer | Refusal>
  acknowledge(caller: Caller, completionIds: readonly string[]): Promise<AcknowledgeAnswer>
  chooseSetup(request: SetupRequest): Promise<{ readonly hash: string | null } | Problem>
}

type Request<Name extends CommandName> = Parameters<Commands[Name]>[0]
type Wish = (run: ChildRun) => Promise<Refused | null>

export class CallerCommands implements Commands {
  private readonly by: Actor

  /** `agents`: those of the caller's own settings, which it may dispatch to beside the owner's. */
  constructor(
    private readonly caller: Caller,
    private readonly agents: AgentsSettings,
    private readonly children: Children,
    private readonly tools: Tools,
    private readonly deeds: Deeds,
  ) {
    this.by = caller.kind === 'person' ? { kind: 'person' } : { kind: 'parent', session: caller.session }
  }

  // ── dispatch and what is due ────────────────────────────────────────────────────────────────────────────────────

  async spawn(request: Request<'spawn'>): Promise<DispatchAnswer | Refusal> {
    const answer = await this.children.spawn(request, this.caller, this.agents)
    if (!isRefusal(answer)) for (const id of answer.subagent_ids) this.audited('spawn', id, answer)
    return answer
  }

  acknowledge({ completion_ids }: Request<'acknowledge'>): Promise<AcknowledgeAnswer> {
    return this.children.acknowledge(this.caller, completion_ids)
  }

  async setup(request: Request<'setup'>): Promise<SetupAnswer | Refusal> {
    if (this.caller.kind !== 'person')
      return { error: { code: 'unsupported', message: 'How worktrees are set up is for a person to say.' } }
    const chosen = await this.children.chooseSetup(request)
    if ('message' in chosen) return { error: { code: 'invalid', message: chosen.message } }
    const { hash } = chosen
    this.deeds.record({ who: whoOf(this.caller), what: `setup ${request.action}`, child: '', setup_hash: hash })
    const note =
      hash === null
        ? 'New worktrees are not set up any more.'
        : 'Every worktree made from now on is set up with it, before its agent starts.'
    return { action: 'setup', status: hash === null ? 'cleared' : 'set', hash, note }
  }

  // ── steers and answers ──────────────────────────────────────────────────────────────────────────────────────────

  async steer({ subagent_id, message, steer_id }: Request<'steer'>): Promise<SteerAnswer | Refusal> {
    const steerId = steer_id ?? this.tools.newId()
    const refused = await this.grant(subagent_id, (run) => run.steer(steerId, message, this.by))
    if (refused !== null) return { error: refused }
    const note = steerNote(this.children.known(subagent_id))
    const answer = { action: 'steer', subagent_id, steer_id: steerId, status: 'queued', note } as const
    return this.audited('steer', subagent_id, answer, { steer_id: steerId })
  }

  editSteer({ subagent_id, steer_id, message }: Request<'editSteer'>): Promise<DoneAnswer | Refusal> {
    const wish: Wish = (run) => run.editSteer(steer_id, message, this.by)
    return this.done('edit', subagent_id, wish, 'The steer was changed; it had not been handed over.')
  }

  withdrawSteer({ subagent_id, steer_id }: Request<'withdrawSteer'>): Promise<DoneAnswer | Refusal> {
    const has = (child: Child): boolean => child.steers.some(({ id }) => id === steer_id)
    return this.done(
      'withdraw',
      subagent_id ?? this.children.open().find(has)?.id,
      (run) => run.withdrawSteer(steer_id, this.by),
      (child) =>
        child?.steers.find((steer) => steer.id === steer_id)?.state === 'withdrawn'
          ? 'The steer was withdrawn; the agent will not read it.'
          : 'The agent has it already and was asked to give it back. It counts as withdrawn once the agent says that it did not read it.',
    )
  }

  reorderSteers({ subagent_id, order }: Request<'reorderSteers'>): Promise<DoneAnswer | Refusal> {
    const wish: Wish = (run) => run.reorderSteers(order, this.by)
    return this.done('reorder', subagent_id, wish, 'The waiting steers were reordered.')
  }

  answer({ subagent_id, request_id, answer }: Request<'answer'>): Promise<DoneAnswer | Refusal> {
    const wish: Wish = async (run) =>
      decideAnswerBy(this.caller, run.child, request_id, answer) ?? (await run.answer(request_id, answer, this.by))
    return this.done('answer', subagent_id ?? this.childAsking(request_id), wish, 'The answer was handed to the agent.')
  }

  revoke({ subagent_id, request_id }: Request<'revoke'>): Promise<DoneAnswer | Refusal> {
    const wish: Wish = async (run) => decideRevokeBy(this.caller) ?? (await run.revoke(request_id, this.by))
    return this.done('revoke', subagent_id, wish, 'It asks again before it does that.')
  }

  // ── ends and further rounds ─────────────────────────────────────────────────────────────────────────────────────

  stop({ subagent_id, reason = '' }: Request<'stop'>): Promise<EndAnswer | Refusal> {
    const wish: Wish = (run) => run.stop(reason, this.by)
    const note = 'Its end was asked for; it is CANCELLED once its death was observed. Worktree and branch stay.'
    return this.end('stop', subagent_id, wish, () => note)
  }

  interrupt({ subagent_id, reason = '' }: Request<'interrupt'>): Promise<EndAnswer | Refusal> {
    const wish: Wish = (run) => run.interrupt(reason, this.by)
    return this.end('interrupt', subagent_id, wish, () =>
      pauseNote(this.children.known(subagent_id), this.children.open()),
    )
  }

  async resume({ subagent_id, message }: Request<'resume'>): Promise<ResumeAnswer | Refusal> {
    return this.audited('resume', subagent_id, await this.goOn(subagent_id, message))
  }

  async retry({ subagent_id }: Request<'retry'>): Promise<ResumeAnswer | Refusal> {
    const run = await this.own(subagent_id)
    if (run === undefined) return this.notThere(subagent_id)
    let told: string | null
    try {
      told = await this.tools.complaint(run.child)
    } catch (error) {
      return { error: { code: 'unavailable', message: error instanceof Error ? error.message : String(error) } }
    }
    if (told === null) {
      const message = `Nothing is open in the verdict on "${run.child.title}", so there is nothing to ask again.`
      return { error: { code: 'unsupported', message } }
    }
    return this.audited('retry', subagent_id, await this.goOn(subagent_id, cutText(told, GOAL_MAX)))
  }

  async takeOver({ subagent_id }: Request<'takeOver'>): Promise<TakeOverAnswer | Refusal> {
    return this.audited('takeOver', subagent_id, await this.giveToTerminal(subagent_id))
  }

  // ── verdict and work ────────────────────────────────────────────────────────────────────────────────────────────

  verify({ subagent_id }: Request<'verify'>): Promise<DoneAnswer | Refusal> {
    const note = 'The checks run again; the verdict comes when they are through.'
    return this.done('verify', subagent_id, (run) => run.verifyAgain(this.by), note)
  }

  acceptPartial({ subagent_id }: Request<'acceptPartial'>): Promise<DoneAnswer | Refusal> {
    return this.done(
      'accept',
      subagent_id,
      async (run) => decideAcceptPartialBy(this.caller) ?? (await run.acceptPartial(this.by)),
      'Taken as partial. It stays marked, and applying it still asks for what did not pass by name.',
    )
  }

  async apply(request: Request<'apply'>): Promise<ApplyAnswer | Refusal> {
    const { subagent_id, how = 'merge', override = [] } = request
    const run = await this.own(subagent_id)
    if (run === undefined) return this.notThere(subagent_id)
    const refused = decideApplyBy(this.caller) ?? decideApply(run.child, override)
    if (refused !== null) return { error: refused }
    const message = request.message?.trim() ?? ''
    const outcome = await this.tools.apply(run.child, how, message === '' ? run.child.title : message)
    if (outcome.kind === 'problem') return { error: { code: 'repository', message: outcome.message } }
    const { commit, branch } = outcome
    const made = { ...(commit === null ? {} : { commit }), ...(branch === null ? {} : { branch }) }
    const where = branch === null ? 'the checked-out commit' : branch
    const note =
      commit === null ? `Staged on ${where}; commit it yourself.` : `Applied to ${where} as ${commit.slice(0, 10)}.`
    const fact: Extract<Fact, { type: 'applied' }> = {
      type: 'applied',
      how,
      overridden: [...override],
      by: this.by,
      ...made,
    }
    await run.note(fact, undefined, [{ kind: 'notice', level: 'info', text: note }])
    const answer = { action: 'apply', subagent_id, status: 'applied', how, commit, branch, note } as const
    return this.audited('apply', subagent_id, answer, { how, commit, overridden: override })
  }

  async discard({ subagent_id, ...consent }: Request<'discard'>): Promise<DiscardAnswer | Refusal> {
    const run = await this.own(subagent_id)
    if (run === undefined) return this.notThere(subagent_id)
    const outcome = await run.discard(consent, this.by)
    if ('code' in outcome) return { error: outcome }
    const status = outcome.removed ? 'discarded' : 'absent'
    const answer = { action: 'discard', subagent_id, status, note: outcome.what } as const
    return this.audited('discard', subagent_id, answer)
  }

  // ── watch, names, owners ────────────────────────────────────────────────────────────────────────────────────────

  automate({ subagent_id, on }: Request<'automate'>): Promise<DoneAnswer | Refusal> {
    const fact = { type: 'steeringSwitched', on, by: this.by } as const
    return this.done(
      'automate',
      subagent_id,
      (run) => granted(run.note(fact, (child) => child.automaticSteering === on)),
      on
        ? 'What is suggested for it is done by itself from now on, up to its spend ceiling; each act is on record.'
        : 'Nothing is done to it by itself any more; suggestions still show.',
    )
  }

  applySuggestion({ subagent_id }: Request<'applySuggestion'>): Promise<DoneAnswer | Refusal> {
    const wish: Wish = async (run) => {
      const { suggestion, title } = run.child
      if (suggestion === null) return noSuggestion(title)
      return suggestion.action === 'stop'
        ? await run.stop(suggestion.reason, this.by)
        : await run.steer(this.tools.newId(), suggestion.message ?? '', this.by)
    }
    return this.done('suggestion', subagent_id, wish, 'Done as suggested.')
  }

  dismissSuggestion({ subagent_id }: Request<'dismissSuggestion'>): Promise<DoneAnswer | Refusal> {
    const fact = { type: 'suggestionDismissed', by: this.by } as const
    const wish: Wish = async (run) => {
      const { suggestion, title } = run.child
      if (suggestion === null) return noSuggestion(title)
      return await granted(run.note(fact, (child) => child.suggestion === null))
    }
    return this.done('suggestion', subagent_id, wish, 'Dismissed. The same is not suggested again in this attempt.')
  }

  flag({ subagent_id, title, pinned, archived, seen }: Request<'flag'>): Promise<DoneAnswer | Refusal> {
    const name = title === undefined ? undefined : plainLine(title, 120)
    const flags = {
      ...(pinned === undefined ? {} : { pinned }),
      ...(archived === undefined ? {} : { archived }),
      ...(seen === undefined ? {} : { seen }),
    }
    const wish: Wish = async (run) => {
      if (name === '') return { code: 'invalid', message: 'The title is empty.' }
      if (name !== undefined) await run.note({ type: 'renamed', title: name, by: this.by })
      if (Object.keys(flags).length > 0) await run.note({ type: 'flagged', ...flags })
      return null
    }
    return this.done('flag', subagent_id, wish, 'Done.')
  }

  adopt({ subagent_id }: Request<'adopt'>): Promise<DoneAnswer | Refusal> {
    const fact = { type: 'adopted', by: this.by } as const
    const wish: Wish = async (run) => {
      const away = isParentAway(run.child, (id) => this.children.known(id), this.tools.isPresent)
      const refused = decideAdoptBy(this.caller, run.child, away)
      return refused ?? (await granted(run.note(fact, (child) => child.formerParent !== null)))
    }
    return this.done('adopt', subagent_id, wish, 'It is yours now. Its former parent is told so when it comes back.')
  }

  // ── what they share ─────────────────────────────────────────────────────────────────────────────────────────────

  private async end(
    action: EndAnswer['action'],
    id: string,
    wish: Wish,
    note: () => string,
  ): Promise<EndAnswer | Refusal> {
    const refused = await this.grant(id, wish)
    if (refused !== null) return { error: refused }
    const answer = { action, subagent_id: id, status: 'interrupt_requested', note: note() } as const
    return this.audited(action, id, answer)
  }

  private async done(
    action: DoneAnswer['action'],
    id: string | undefined,
    wish: Wish,
    note: string | ((child: Child | undefined) => string),
  ): Promise<DoneAnswer | Refusal> {
    const refused = id === undefined ? unknownChild : await this.grant(id, wish)
    if (id === undefined || refused !== null) return { error: refused ?? unknownChild }
    const words = typeof note === 'string' ? note : note(this.children.known(id))
    const answer = { action, subagent_id: id, status: 'done', note: words } as const
    // Names, pins and unread marks change nothing of the work.
    return action === 'flag' ? answer : this.audited(action, id, answer)
  }

  private audited<T extends CommandAnswer>(what: string, child: string, answer: T, more: object = {}): T {
    if (!isRefusal(answer)) this.deeds.record({ who: whoOf(this.caller), what, child, ...more })
    return answer
  }

  private async grant(id: string, wish: Wish): Promise<Refused | null> {
    const run = await this.own(id)
    if (run === undefined) return this.notThere(id).error
    try {
      return await wish(run)
    } catch (error) {
      if (error instanceof DisposedError)
        return { code: 'unavailable', message: 'Another window has just taken over this child. Try again.' }
      throw error
    }
  }

  private own(id: string): Promise<ChildRun | undefined> {
    return this.children.own(this.caller, id)
  }

  /** Why this caller may not control that child. */
  private notThere(id: string): Refusal {
    return { error: refusalFor(this.caller, this.children.known(id), (above) => this.children.known(above)) }
  }

  /** The one child that asks this; ids of questions are the agents' own and may be the same in two of them. */
  private childAsking(requestId: string): string | undefined {
    const asking = this.children.open().filter(({ requests }) => requests.some(({ id }) => id === requestId))
    return asking.length === 1 ? asking[0]?.id : undefined
  }

  private async goOn(id: string, message: string | undefined): Promise<ResumeAnswer | Refusal> {
    const run = await this.own(id)
    if (run === undefined) return this.notThere(id)
    const held = decideHandBack(run.child, this.caller.kind) ?? (await this.openElsewhere(run.child))
    if (held !== null) return { error: held }
    const started = await run.resume(message, () => this.children.takePlace(this.caller, run.child))
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

  private async giveToTerminal(id: string): Promise<TakeOverAnswer | Refusal> {
    const run = await this.own(id)
    const refused = decideTakeOverBy(this.caller) ?? decideTakeOver(run?.child)
    if (run === undefined || refused !== null) return { error: refused ?? unknownChild }
    const agent = this.tools.agentOf(run.child.task.recipe)
    const command = 'message' in agent ? undefined : terminalCommand(run.child, agent)
    if (command === undefined)
      return { error: { code: 'unsupported', message: `"${run.child.title}" has no session for a terminal.` } }
    await run.note({ type: 'takenOver', by: this.by }, (child) => child.takenOver)
    // One that ends by itself in this very moment has nothing to be paused.
    await run.interrupt('taken over in a terminal', this.by)
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
    const agent = this.tools.agentOf(child.task.recipe)
    if (isLive(child) || child.sessionId === null || 'message' in agent) return null
    const found = await openIn(child.sessionId, agent, this.tools.environment)
    if (found === undefined) return null
    const message = `The session of "${child.title}" is open in another process (${found.pid}). End it there first; two in one session lose the work of one.`
    return { code: 'open_elsewhere', message }
  }
}

/** Of a wish that cannot be refused. */
const granted = (written: Promise<void>): Promise<null> => written.then(() => null)

const noSuggestion = (title: string): Refused => ({
  code: 'finished',
  message: `There is no suggestion for "${title}" now.`,
})

function steerNote(child: Child | undefined): string {
  const attempt = child === undefined ? undefined : currentAttempt(child)
  if (attempt === undefined || attempt.launchedAt === null)
    return 'It has not started yet: the text is part of its first turn.'
  const where =
    child?.task.recipe.abilities.steerMode === 'next_turn'
      ? 'it reads it as its next turn'
      : 'appended to its next tool result; the current tool call is never cut'
  return `Queued; ${where}. It counts as read only once the agent's receipt came.`
}

function pauseNote(child: Child | undefined, all: readonly Child[]): string {
  const kept = 'Session, worktree and branch are kept; resume goes on with a new instruction.'
  const going = child === undefined ? [] : liveBelow(child, all)
  if (going.length === 0) return kept
  const named = going.map((each) => `${plainLine(each.title, 60)} (${each.id})`).join(', ')
  return `${kept} The call it was making is lost, and the children it dispatched go on: ${named}. What they come to waits until it is resumed; interrupt or stop them by their own ids.`
}
