// One child, supervised: its log, its transcript, its present attempt. Every wish and every outside event is queued here,
// one at a time, appended, reduced, then acted on. It never restarts an agent by itself.
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Conversation } from '../agents/agent'
import { currentAttempt, isLive, openRequests, type Attempt, type Child, type EndCause } from '../core/child'
import {
  decideAnswer,
  decideEditSteer,
  decideInterrupt,
  decideReorder,
  decideResume,
  decideSteer,
  decideStop,
  decideWithdrawSteer,
  type Refused,
} from '../core/decide'
import type { Actor, Answer, Fact } from '../core/events'
import { hear, type Heard } from '../core/hear'
import { plainLine } from '../core/plainText'
import { firstPrompt, resumePrompt } from '../core/prompt'
import type { Outgoing } from '../core/signals'
import { activityOf, type EntryBody } from '../core/transcript'
import { attachKeeper, readAgent, readKeeper, readLaunch } from '../process/attachKeeper'
import { endOrphan } from '../process/endOrphan'
import { baseEnvironmentNames } from '../process/environment'
import { LinkLostError, type KeeperLink } from '../process/keeperLink'
import { LaunchError, launchDefaults, type ExitRecord, type Launch } from '../process/launch'
import type { RawLine } from '../process/lines'
import { stderrTail } from '../process/stderrTail'
import { AppendFile } from '../record/appendFile'
import { createWhole, writeWhole } from '../record/atomicWrite'
import type { ChildLog } from '../record/childLog'
import { LineFile } from '../record/lineFile'
import { makeFolder, type AttemptPaths, type ChildPaths } from '../record/paths'
import type { NewEntry, TranscriptFile } from '../record/transcriptFile'
import { resultOf } from './results'
import type { Tools } from './tools'

/** After its report an agent that exits by itself gets this long before the ladder. */
const exitGraceMs = 10_000
const coxswain = { kind: 'coxswain' } as const satisfies Actor

interface Talk {
  readonly attempt: number
  readonly conversation: Conversation
  readonly link: KeeperLink
  readonly paths: AttemptPaths
}

export interface ChildRunEvents {
  /** The fold, the activity or the transcript changed. */
  changed(childId: string): void
  /** A round has settled (or been paused) and its result is on disk. */
  settled(childId: string): void
}

export class ChildRun {
  activity: string | null = null
  activityAt: string | null = null

  private queue: Promise<unknown> = Promise.resolve()
  private talk: Talk | undefined
  private disposed = false
  private readonly timers = new Set<NodeJS.Timeout>()
  private readonly paths: ChildPaths

  constructor(
    private readonly log: ChildLog,
    private readonly transcript: TranscriptFile,
    private readonly tools: Tools,
    private readonly events: ChildRunEvents,
  ) {
    this.paths = tools.paths.child(this.child.id)
  }

  get child(): Child {
    const { child } = this.log
    if (child === undefined) throw new Error('a child run without an accepted child')
    return child
  }

  // ── wishes ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Queues a steer. On the medium before it resolves. The same id twice is one steer. */
  steer(steerId: string, text: string, by: Actor): Promise<Refused | null> {
    return this.enqueue(async () => {
      if (this.child.steers.some((steer) => steer.id === steerId)) return null
      const refused = decideSteer(this.child, text)
      if (refused !== null) return refused
      const message = text.trim()
      await this.append([{ type: 'steerQueued', steerId, text: message, by }], true, [
        { kind: 'steer', steerId, text: message, by },
      ])
      this.later(() => this.handOver())
      return null
    })
  }

  editSteer(steerId: string, text: string, by: Actor): Promise<Refused | null> {
    return this.grant(
      () => decideEditSteer(this.child, steerId, text),
      () => [{ type: 'steerEdited', steerId, text: text.trim(), by }],
    )
  }

  withdrawSteer(steerId: string, by: Actor): Promise<Refused | null> {
    return this.enqueue(async () => {
      const steer = this.child.steers.find((s) => s.id === steerId)
      const takeBack =
        steer?.state === 'sent' ? this.talk?.conversation.withdrawSteer?.bind(this.talk.conversation) : undefined
      const refused = decideWithdrawSteer(this.child, steerId, takeBack !== undefined)
      if (refused !== null) return refused
      if (takeBack !== undefined) await this.send(takeBack(steerId), `withdraw-${steerId}`)
      await this.append([{ type: 'steerWithdrawn', steerId, by }], true)
      return null
    })
  }

  reorderSteers(order: readonly string[], by: Actor): Promise<Refused | null> {
    return this.grant(
      () => decideReorder(this.child, order),
      () => [{ type: 'steersReordered', order: [...order], by }],
    )
  }

  stop(reason: string, by: Actor): Promise<Refused | null> {
    return this.enqueue(async () => {
      const refused = decideStop(this.child)
      if (refused !== null || this.child.phase === 'CANCEL_REQUESTED') return refused
      const wasPaused = this.child.paused
      await this.append([{ type: 'stopRequested', reason, by }], true, [
        { kind: 'notice', level: 'info', text: `Stop requested${reason === '' ? '' : `: ${reason}`}.` },
      ])
      if (isLive(this.child)) this.later(() => this.endAttempt('stop', reason))
      else if (wasPaused || this.child.phase === 'CANCELLED') this.later(() => this.settle())
      return null
    })
  }

  interrupt(reason: string, by: Actor): Promise<Refused | null> {
    return this.enqueue(async () => {
      const refused = decideInterrupt(this.child)
      if (refused !== null) return refused
      const attempt = currentAttempt(this.child)
      if (attempt === undefined || attempt.endRequest !== null) return null
      await this.requestInterrupt(attempt, 'interrupt', reason, by)
      return null
    })
  }

  /** The number of the attempt that starts, or why none does. `capacity` is asked in the same step. */
  resume(
    message: string | undefined,
    by: Actor,
    capacity: () => Refused | null,
  ): Promise<{ attempt: number; carried: readonly string[] } | Refused> {
    return this.enqueue(async () => {
      const refused = decideResume(this.child, message) ?? capacity()
      if (refused !== null) return refused
      const round = this.child.paused ? this.child.round : this.child.round + 1
      const plan = await this.plan('resume', round, message?.trim() ?? null)
      void by
      this.detached(() => this.launch(plan))
      return { attempt: plan.attempt, carried: plan.carried }
    })
  }

  answer(requestId: string, answer: Answer, by: Actor, note?: string): Promise<Refused | null> {
    return this.enqueue(async () => {
      const refused = decideAnswer(this.child, requestId)
      if (refused !== null) return refused
      await this.append([{ type: 'answered', requestId, answer, by, ...(note === undefined ? {} : { note }) }], true, [
        { kind: 'answered', requestId, words: answerInWords(answer) },
      ])
      this.later(() => this.deliverAnswer(requestId, answer))
      return null
    })
  }

  /** Facts that need no deciding: names, pins, unread marks. */
  note(
    fact: Extract<Fact, { type: 'renamed' | 'flagged' | 'noted' | 'completionAcknowledged' | 'discarded' | 'applied' }>,
  ): Promise<void> {
    return this.enqueue(() => this.append([fact], true))
  }

  // ── life ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The first start: worktree, then the first attempt. Never rejects. */
  start(): void {
    this.detached(async () => {
      if (this.child.phase !== 'PENDING') return
      const placed = await this.tools.addWorktree(this.child)
      if (placed.kind === 'problem') {
        await this.enqueue(() => this.failStart(placed.message))
        return
      }
      const { path, cwd, branch, base, notes } = placed
      const plan = await this.enqueue(async () => {
        await this.append([{ type: 'worktreeAdded', path, cwd, branch, base, notes: [...notes] }], true, [
          { kind: 'notice', level: 'info', text: `Works in ${path} on branch ${branch}.` },
          ...notes.map((text) => ({ kind: 'notice', level: 'info', text }) as const),
        ])
        if (this.child.phase !== 'STARTING') return undefined
        return await this.plan('first', 1, null)
      })
      if (plan !== undefined) await this.launch(plan)
    })
  }

  /** Appends the intent. Steers that wait, or were missed, ride in the first turn. */
  private async plan(reason: 'first' | 'resume' | 'retry', round: number, message: string | null): Promise<Plan> {
    const carried = this.child.steers
      .filter((steer) => steer.state === 'queued' || steer.state === 'missed')
      .map((s) => s.id)
    const attempt = this.child.attempts.length + 1
    const sessionId = this.child.sessionId ?? newSessionId()
    const resume = reason !== 'first'
    await this.append([{ type: 'launching', attempt, round, sessionId, resume, carried, message, reason }], true)
    return { attempt, carried, reason, message, sessionId }
  }

  private async launch(plan: Plan): Promise<void> {
    const paths = this.paths.attempt(plan.attempt)
    try {
      const { conversation, launch, prompt } = await this.prepare(plan, paths)
      await this.enqueue(async () => this.write([{ kind: 'turn', reason: plan.reason, prompt }]))
      if (!this.tools.isOwner()) throw new LinkLostError('fenced')
      const link = await this.tools.startKeeper(paths.folder, launch, conversation.launch.env)
      await this.enqueue(async () => {
        await this.append([{ type: 'launched', attempt: plan.attempt, keeper: link.keeper, agent: link.agent }], true)
        this.take({ attempt: plan.attempt, conversation, link, paths })
        if (conversation.launch.input === 'prompt') {
          await link.write(prompt, 'prompt')
          await link.closeInput()
        }
        await this.send(conversation.opening, 'opening')
        const request = currentAttempt(this.child)?.endRequest
        if (request !== null && request !== undefined) this.later(() => this.endAttempt(request.cause, request.reason))
      })
    } catch (error) {
      if (error instanceof LinkLostError) return
      const known = error instanceof LaunchError || error instanceof StartProblem
      if (!known) this.tools.log('error', 'launch failed', { childId: this.child.id, stack: stackOf(error) })
      const tail = (await stderrTail(paths.folder).catch(() => [])).join('\n')
      await this.enqueue(() => this.failStart(messageOf(error), plan.attempt, tail))
    }
  }

  private async prepare(
    plan: Plan,
    paths: AttemptPaths,
  ): Promise<{ conversation: Conversation; launch: Launch; prompt: string }> {
    const { child, tools } = this
    const { worktree } = child
    if (worktree === null) throw new StartProblem('It has no worktree.')
    makeFolder(paths.folder)
    makeFolder(paths.control)
    const steers = child.steers.filter((steer) => plan.carried.includes(steer.id))
    const contract = await tools.contractPrompt(child)
    const prompt =
      plan.reason === 'first'
        ? firstPrompt(child.task, worktree, contract.text, steers, tools.attended())
        : resumePrompt(plan.message, steers)
    const conversation = this.converse(
      plan.attempt,
      plan.sessionId,
      plan.reason !== 'first',
      prompt,
      contract.outputSchema,
    )
    const { launch } = conversation
    for (const [path, content] of Object.entries(launch.files)) await writeWhole(path, content)
    if (launch.files[paths.prompt] === undefined) await writeWhole(paths.prompt, prompt)
    const { limits } = child.task
    return {
      conversation,
      prompt,
      launch: {
        v: 1,
        childId: child.id,
        attempt: plan.attempt,
        marker: `${child.id}.${plan.attempt}.${randomBytes(16).toString('hex')}`,
        file: launch.file,
        args: launch.args,
        cwd: worktree.cwd,
        environmentNames: [...new Set([...baseEnvironmentNames, ...Object.keys(launch.env), ...launch.inherit])],
        secretNames: launch.secrets,
        input: launch.input === 'closed' ? 'closed' : 'open',
        wallLimitMs: limits.wallMs,
        graceMs: limits.stopGraceMs,
        rawCapBytes: launchDefaults.rawCapBytes,
        segmentBytes: launchDefaults.segmentBytes,
        stderrCapBytes: launchDefaults.stderrCapBytes,
        afterWindowCloses: limits.afterWindowCloses,
        exitLeaseMs: launchDefaults.exitLeaseMs,
      },
    }
  }

  private converse(
    attempt: number,
    sessionId: string,
    resume: boolean,
    prompt: string,
    outputSchema: unknown,
  ): Conversation {
    const { child, tools } = this
    const agent = tools.agentOf(child.task.recipe)
    if ('kind' in agent && agent.kind === 'problem') throw new StartProblem(agent.message)
    const { recipe } = child.task
    const paths = this.paths.attempt(attempt)
    return (agent as Exclude<typeof agent, { kind: 'problem' }>).converse({
      childId: child.id,
      attempt,
      sessionId,
      resume,
      prompt,
      cwd: child.worktree?.cwd ?? '',
      promptFile: paths.prompt,
      controlDir: paths.control,
      autonomy: recipe.autonomy,
      abilities: recipe.abilities,
      attended: tools.attended(),
      ...(recipe.model === undefined ? {} : { model: recipe.model }),
      ...(recipe.effort === undefined ? {} : { effort: recipe.effort }),
      ...(recipe.allowedTools === undefined ? {} : { allowedTools: recipe.allowedTools }),
      ...(recipe.executable === undefined ? {} : { executable: recipe.executable }),
      ...(outputSchema === undefined ? {} : { outputSchema }),
    })
  }

  /** From here on this process follows the attempt. */
  private take(talk: Talk): void {
    this.talk = talk
    const { link } = talk
    link.onTrouble = (detail) => {
      this.detached(() => this.enqueue(() => this.tell('warning', `Its output cannot be written to disk: ${detail}.`)))
    }
    link
      .follow((lines) => this.enqueue(() => this.hearLines(talk, lines)))
      .catch((error: unknown) => this.lost(talk, error))
    link.ended.then(
      (exit) => this.detached(() => this.enqueue(() => this.onExit(talk, exit))),
      () => undefined,
    )
  }

  private lost(talk: Talk, error: unknown): void {
    if (this.disposed || this.talk !== talk) return
    if (!(error instanceof LinkLostError)) {
      this.tools.log('error', 'following failed', { childId: this.child.id, stack: stackOf(error) })
      talk.link.detach()
      this.detached(() => this.recover())
      return
    }
    this.talk = undefined
    if (error.loss === 'keeperLost') this.detached(() => this.recover())
  }

  /**
   * Finds out what became of an attempt that nobody follows: attaches to its keeper, or records its end. It never starts
   * a replacement.
   */
  async recover(): Promise<void> {
    const attempt = currentAttempt(this.child)
    if (attempt === undefined) {
      if (this.child.phase === 'PENDING' && !this.child.waitingForSlot) this.start()
      else if (this.child.phase === 'STARTING')
        await this.enqueue(() => this.failStart('Coxswain ended while this child was being started. Start it again.'))
      return
    }
    if (attempt.ended !== null) {
      if (this.child.verifying) this.detached(() => this.verify())
      else if (this.child.retrying) await this.enqueue(() => this.giveUpRetry())
      else this.detached(() => this.settle())
      return
    }
    await this.reattach(attempt)
  }

  private async reattach(attempt: Attempt): Promise<void> {
    const paths = this.paths.attempt(attempt.n)
    const found = await attachKeeper({
      attemptDir: paths.folder,
      epoch: this.tools.epoch,
      createExclusively: createWhole,
    })
    const conversation = (): Conversation =>
      this.converse(attempt.n, attempt.sessionId, attempt.reason !== 'first', '', undefined)
    switch (found.kind) {
      case 'live': {
        await this.enqueue(async () => {
          if (currentAttempt(this.child)?.launchedAt === null)
            await this.append(
              [{ type: 'launched', attempt: attempt.n, keeper: found.link.keeper, agent: found.link.agent }],
              true,
            )
          await this.tell('info', 'Attached again to the running agent.')
          this.take({ attempt: attempt.n, conversation: conversation(), link: found.link, paths })
          await this.handOver()
          const request = currentAttempt(this.child)?.endRequest
          if (request !== null && request !== undefined)
            this.later(() => this.endAttempt(request.cause, request.reason))
          else if (currentAttempt(this.child)?.closing === true) this.afterReport()
        })
        return
      }
      case 'ended': {
        const talk = conversation()
        if (found.exit.launchError !== undefined) {
          const { message } = found.exit.launchError
          await this.enqueue(() => this.failStart(message, attempt.n, ''))
        } else {
          await this.enqueue(async () => {
            if (currentAttempt(this.child)?.launchedAt === null) await this.launchedUnseen(attempt)
          })
          await found.readLines(async (lines) => void (await this.enqueue(() => this.hearRaw(talk, attempt.n, lines))))
          await this.enqueue(() => this.recordExit(talk, attempt.n, found.exit))
        }
        await found.acknowledgeExit()
        return
      }
      case 'keeperLost': {
        const launch = await readLaunch(paths.folder)
        const talk = conversation()
        await this.enqueue(async () => {
          if (currentAttempt(this.child)?.launchedAt === null && found.agent !== undefined)
            await this.launchedUnseen(attempt)
        })
        await found.readLines(async (lines) => void (await this.enqueue(() => this.hearRaw(talk, attempt.n, lines))))
        const end =
          launch === undefined
            ? undefined
            : await endOrphan({
                attemptDir: paths.folder,
                marker: launch.marker,
                agent: found.agent ?? attempt.agent ?? undefined,
                graceMs: this.child.task.limits.stopGraceMs,
              })
        const ended =
          end === undefined || end.ended.length === 0 ? '' : ` ${end.ended.length} leftover processes were ended.`
        const unproven =
          end?.unproven === undefined
            ? ''
            : ` A process with its pid ${end.unproven.pid} runs that cannot be proven to be ours; it was left alone.`
        await this.enqueue(() =>
          this.ended([
            {
              type: 'vanished',
              attempt: attempt.n,
              detail: `Its keeper is gone without a record of the end.${ended}${unproven}`,
            },
          ]),
        )
        return
      }
      case 'neverStarted':
        await this.enqueue(() =>
          this.failStart(
            'Coxswain ended before the agent was started. Nothing ran; resume or start it again.',
            attempt.n,
          ),
        )
        return
      case 'silent':
        await this.enqueue(() => this.tell('warning', 'Its keeper runs but does not answer; trying again.'))
        this.afterMs(5_000, () => this.reattach(attempt))
        return
      case 'refused':
        await this.enqueue(() =>
          this.tell('warning', `Its keeper belongs to another window or version: ${found.detail}`),
        )
        return
    }
  }

  /** The agent ran although nobody saw its start: taken from the keeper's own records. */
  private async launchedUnseen(attempt: Attempt): Promise<void> {
    const { folder } = this.paths.attempt(attempt.n)
    const [keeper, agent] = await Promise.all([readKeeper(folder), readAgent(folder)])
    if (keeper !== undefined && agent !== undefined)
      await this.append([{ type: 'launched', attempt: attempt.n, keeper, agent }], true)
  }

  private async giveUpRetry(): Promise<void> {
    const { verdict } = this.child
    if (verdict === null) return
    const retry = await this.plan('retry', this.child.round, 'Go on where the retry was cut off.')
    this.detached(() => this.launch(retry))
  }

  // ── what the agent says ─────────────────────────────────────────────────────────────────────────────────────────

  private async hearLines(talk: Talk, lines: readonly RawLine[]): Promise<void> {
    if (this.talk !== talk) return
    const effects = await this.hearRaw(talk.conversation, talk.attempt, lines)
    for (const frames of effects.replies) await this.send(frames.frames, frames.id)
    if (effects.ready) await this.handOver()
    for (const requestId of effects.asked) await this.onAsked(requestId)
    if (effects.reported) this.afterReport()
    if (effects.used) await this.watchBudget()
    talk.link.acknowledge(this.transcript.cursor(talk.attempt))
  }

  /** Folds lines into facts and entries; what was told before an attach is not told again. */
  private async hearRaw(conversation: Conversation, attempt: number, lines: readonly RawLine[]): Promise<Effects> {
    const effects: Effects = { replies: [], ready: false, asked: [], reported: false, used: false }
    const told = { ...this.transcript.cursor(attempt) }
    const entries: NewEntry[] = []
    const at = this.tools.now().toISOString()
    for (const line of lines) {
      const cursor = { source: line.source, end: line.end }
      const heard = this.hearLine(conversation, attempt, line)
      const factsAreNew = line.end > this.child.cursor[line.source]
      if (line.end > told[line.source]) for (const body of heard.entries) entries.push({ at, attempt, body, cursor })
      if (factsAreNew && heard.facts.length > 0)
        await this.appendFacts(
          heard.facts.map((fact) => ({ ...fact, cursor }) as Fact),
          heard.sync,
        )
      heard.replies.forEach((frames, i) =>
        effects.replies.push({ frames, id: `reply-${line.source}-${line.end}-${i}` }),
      )
      effects.ready ||= heard.ready
      effects.reported ||= heard.reported
      effects.used ||= heard.facts.some((fact) => fact.type === 'used')
      if (factsAreNew)
        effects.asked.push(...heard.facts.flatMap((fact) => (fact.type === 'asked' ? [fact.requestId] : [])))
    }
    if (entries.length > 0) await this.writeEntries(entries)
    return effects
  }

  private hearLine(conversation: Conversation, attempt: number, line: RawLine): Heard {
    switch (line.kind) {
      case 'line':
        return hear(this.child, attempt, conversation.read(line.source, line.text), line.source)
      case 'overLong':
        return notice(`A line of ${line.byteCount} bytes was skipped: ${plainLine(line.head, 80)}`)
      case 'gap':
        return notice(`${line.byteCount} bytes of its ${line.source} are missing from the record.`)
    }
  }

  private async onAsked(requestId: string): Promise<void> {
    const { approvalTimeoutMs } = this.child.task.limits
    if (!this.tools.attended() && this.child.requests.find((r) => r.id === requestId)?.ask.kind === 'question') {
      const text = 'Nobody is there to answer: decide yourself, and say what you assumed.'
      this.later(() => this.answer(requestId, { kind: 'text', text }, coxswain, 'nobody was attending'))
      return
    }
    await this.talk?.link.pauseClock()
    if (approvalTimeoutMs !== null)
      this.afterMs(approvalTimeoutMs, async () => {
        const message = 'Nobody answered in time.'
        await this.answer(requestId, { kind: 'deny', message }, coxswain, 'timed out')
      })
  }

  private async deliverAnswer(requestId: string, answer: Answer): Promise<void> {
    const talk = this.talk
    if (talk === undefined) return
    const frames = talk.conversation.answer?.(requestId, answer) ?? []
    await this.send(frames, `answer-${requestId}`)
    if (openRequests(this.child).length === 0) await talk.link.resumeClock()
  }

  /** Hands waiting steers to the agent, in order, once its receiver is known to be there. */
  private async handOver(): Promise<void> {
    const talk = this.talk
    const attempt = currentAttempt(this.child)
    if (talk?.conversation.steer === undefined || attempt === undefined) return
    if (!attempt.ready || !attempt.steerable || attempt.endRequest !== null || attempt.ended !== null) return
    for (const steer of this.child.steers) {
      if (steer.state !== 'queued') continue
      const frames = talk.conversation.steer.write({ id: steer.id, text: steer.text, queuedAt: steer.queuedAt })
      if (!(await this.send(frames, `steer-${steer.id}`))) return
      await this.append([{ type: 'steerSent', steerId: steer.id, attempt: attempt.n }], false, [
        { kind: 'receipt', steerId: steer.id, state: 'sent' },
      ])
    }
  }

  /** Writes frames to the agent, each exactly once per attempt however often it is asked. False: not taken. */
  private async send(frames: readonly Outgoing[], id: string): Promise<boolean> {
    const talk = this.talk
    if (talk === undefined) return false
    for (const [i, frame] of frames.entries()) {
      if (frame.to === 'stdin') {
        const result = await talk.link.write(frame.text, `${id}-${i}`)
        if (result.taken !== true) return false
      } else if (!(await appendOnce(join(talk.paths.control, frame.name), frame.line))) {
        return false
      }
    }
    return true
  }

  /** The agent has reported: with nothing waiting, its end is brought about. */
  private afterReport(): void {
    const attempt = currentAttempt(this.child)
    const talk = this.talk
    if (attempt === undefined || talk === undefined || attempt.ended !== null || attempt.endRequest !== null) return
    const waiting = this.child.steers.some((steer) => steer.state === 'queued' || steer.state === 'sent')
    const closes = talk.conversation.afterResult === 'close input'
    // An agent that takes late steers as its next turn reports again after it.
    if (closes && waiting) return
    this.later(async () => {
      if (this.talk !== talk) return
      if (currentAttempt(this.child)?.closing === false)
        await this.append([{ type: 'closing', attempt: attempt.n }], false)
      if (closes) await talk.link.closeInput()
      this.afterMs(exitGraceMs, async () => {
        if (this.talk === talk)
          await talk.link.requestEnd({ kind: 'finished', reason: 'it had reported and did not exit' })
      })
    })
  }

  private async watchBudget(): Promise<void> {
    const attempt = currentAttempt(this.child)
    if (attempt === undefined || attempt.endRequest !== null || attempt.ended !== null) return
    const { maxTokens, maxCostUsd } = this.child.task.limits
    const tokens = attempt.usage.inputTokens + attempt.usage.outputTokens
    const over =
      maxTokens !== null && tokens > maxTokens
        ? `it used ${tokens} tokens of max_tokens = ${maxTokens}`
        : maxCostUsd !== null && attempt.usage.costUsd !== null && attempt.usage.costUsd > maxCostUsd
          ? `it cost ${attempt.usage.costUsd.toFixed(4)} USD of max_cost_usd = ${maxCostUsd}`
          : undefined
    if (over !== undefined) await this.requestInterrupt(attempt, 'budget', over, coxswain)
  }

  // ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────

  private async requestInterrupt(
    attempt: Attempt,
    cause: 'interrupt' | 'budget',
    reason: string,
    by: Actor,
  ): Promise<void> {
    const text =
      cause === 'interrupt' ? `Pause requested${reason === '' ? '' : `: ${reason}`}.` : `Interrupted: ${reason}.`
    await this.append([{ type: 'interruptRequested', attempt: attempt.n, cause, reason, by }], true, [
      { kind: 'notice', level: 'info', text },
    ])
    this.later(() => this.endAttempt(cause, reason))
  }

  /** The agent's own soft way, then the keeper's ladder. Pending questions are answered "cancelled". */
  private async endAttempt(cause: EndCause, reason: string): Promise<void> {
    const talk = this.talk
    if (talk === undefined) return
    const { conversation } = talk
    const { softEnd } = conversation
    const soft =
      softEnd === undefined
        ? undefined
        : { afterMs: softEnd.waitMs, ...(softEnd.signal === undefined ? {} : { signal: softEnd.signal }) }
    try {
      await talk.link.requestEnd({ kind: cause, reason }, soft)
    } catch (error) {
      if (error instanceof LinkLostError) return
      throw error
    }
    if (conversation.answer !== undefined)
      for (const request of openRequests(this.child))
        await this.send(conversation.answer(request.id, { kind: 'cancelled' }), `answer-${request.id}`)
    if (softEnd !== undefined) await this.send(softEnd.write(), 'soft-end')
  }

  private async onExit(talk: Talk, exit: ExitRecord): Promise<void> {
    if (this.talk !== talk) return
    await this.recordExit(talk.conversation, talk.attempt, exit)
    this.talk = undefined
    await talk.link.acknowledgeExit()
    talk.link.detach()
  }

  private async recordExit(conversation: Conversation, attempt: number, exit: ExitRecord): Promise<void> {
    const last = hear(this.child, attempt, conversation.ended({ code: exit.code, signal: exit.signal }), 'stdout')
    const facts: Fact[] = [...last.facts]
    const cause = exit.firstCause?.kind
    if ((cause === 'timeout' || cause === 'lease') && currentAttempt(this.child)?.endRequest === null)
      facts.push({ type: 'interruptRequested', attempt, cause, reason: limitInWords(cause, this.child), by: coxswain })
    const tail = (await stderrTail(this.paths.attempt(attempt).folder).catch(() => [])).join('\n')
    facts.push({
      type: 'exited',
      attempt,
      exit: {
        code: exit.code,
        signal: exit.signal,
        firstCause: cause ?? null,
        drained: exit.drained,
        survivors: exit.survivors.length,
        durationMs: exit.durationMs ?? 0,
      },
      ...(tail === '' ? {} : { stderrTail: tail }),
    })
    await this.write(last.entries)
    await this.ended(facts, exitInWords(exit))
  }

  /** Appends the end, tells what became of the steers that still waited, and goes on to verdict or result. */
  private async ended(facts: readonly Fact[], words?: string): Promise<void> {
    const before = this.child.steers
    await this.append(facts, true)
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
    const fates = this.child.steers.filter((steer, i) => before[i]?.state !== steer.state)
    await this.write([
      ...fates.flatMap((steer) =>
        steer.state === 'missed' || steer.state === 'withdrawn'
          ? [{ kind: 'receipt', steerId: steer.id, state: steer.state } as const]
          : [],
      ),
      ...(words === undefined ? [] : [{ kind: 'notice', level: 'info', text: words } as const]),
      ...facts.flatMap((fact) =>
        fact.type === 'vanished' ? [{ kind: 'notice', level: 'warning', text: fact.detail } as const] : [],
      ),
    ])
    if (this.child.verifying) this.detached(() => this.verify())
    else this.detached(() => this.settle())
  }

  private async failStart(reason: string, attempt?: number, diagnostic = ''): Promise<void> {
    await this.append(
      [
        {
          type: 'startFailed',
          reason,
          ...(attempt === undefined ? {} : { attempt }),
          ...(diagnostic === '' ? {} : { diagnostic }),
        },
      ],
      true,
      [{ kind: 'notice', level: 'error', text: `It did not start: ${reason}` }],
    )
    if (this.child.verifying) this.detached(() => this.verify())
    else this.detached(() => this.settle())
  }

  private async verify(): Promise<void> {
    const { child } = this
    const outcome = await this.tools.verify(child)
    await this.enqueue(async () => {
      if (!this.child.verifying) return
      const { verdict, retryMessage } = outcome
      await this.append([{ type: 'verified', verdict }], true, [
        { kind: 'verdict', words: verdictInWords(verdict.status, verdict.checks) },
      ])
      if (this.child.retrying) {
        const plan = await this.plan('retry', this.child.round, retryMessage)
        this.detached(() => this.launch(plan))
      } else {
        this.detached(() => this.settle())
      }
    })
  }

  /** The round has settled, or the child is paused: its result is written once and told. */
  private async settle(): Promise<void> {
    const { child } = this
    if (isLive(child)) return
    if (child.settledAt !== null && !child.completions.some((completion) => completion.round === child.round)) {
      const state = child.worktree === null || child.discarded ? undefined : await this.tools.worktreeState(child)
      const treeHash = child.worktree === null || child.discarded ? null : await this.tools.treeHash(child)
      const result = resultOf(child, state === undefined || 'kind' in state ? null : state, treeHash)
      const path = this.paths.result(child.round)
      makeFolder(join(path, '..'))
      await createWhole(path, `${JSON.stringify(result)}\n`)
      await this.enqueue(() =>
        this.append([{ type: 'completionSent', completionId: `${child.id}.${child.round}`, round: child.round }], true),
      )
    }
    this.events.settled(child.id)
  }

  // ── the queue ───────────────────────────────────────────────────────────────────────────────────────────────────

  private enqueue<T>(job: () => Promise<T>): Promise<T> {
    const done = this.queue.then(() => {
      if (this.disposed) throw new DisposedError()
      return job()
    })
    this.queue = done.catch(() => undefined)
    return done
  }

  /** An action that follows from what was appended; it waits its turn. */
  private later(job: () => Promise<unknown>): void {
    this.detached(() => this.enqueue(job))
  }

  /** Work whose failure has no other owner: it is a bug unless we are going. */
  private detached(job: () => Promise<unknown>): void {
    job().catch((error: unknown) => {
      if (error instanceof DisposedError || this.disposed) return
      this.tools.log('error', 'a child run failed', { childId: this.child.id, stack: stackOf(error) })
    })
  }

  private afterMs(ms: number, job: () => Promise<unknown>): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.detached(job)
    }, ms)
    timer.unref()
    this.timers.add(timer)
  }

  private grant(decide: () => Refused | null, facts: () => Fact[]): Promise<Refused | null> {
    return this.enqueue(async () => {
      const refused = decide()
      if (refused === null) await this.append(facts(), true)
      return refused
    })
  }

  private async append(facts: readonly Fact[], sync: boolean, entries: readonly EntryBody[] = []): Promise<void> {
    await this.appendFacts(facts, sync)
    await this.write(entries)
  }

  private async appendFacts(facts: readonly Fact[], sync: boolean): Promise<void> {
    if (!this.tools.isOwner()) {
      this.dispose()
      throw new DisposedError()
    }
    await this.log.append(facts, sync)
    this.events.changed(this.child.id)
  }

  private async write(bodies: readonly EntryBody[]): Promise<void> {
    if (bodies.length === 0) return
    const at = this.tools.now().toISOString()
    const attempt = currentAttempt(this.child)?.n ?? 0
    await this.writeEntries(bodies.map((body) => ({ at, attempt, body })))
  }

  private async writeEntries(entries: readonly NewEntry[]): Promise<void> {
    await this.transcript.append(entries)
    for (const entry of entries) {
      const activity = activityOf(entry.body)
      if (activity === undefined) continue
      this.activity = activity
      this.activityAt = entry.at
    }
    this.events.changed(this.child.id)
  }

  private async tell(level: 'info' | 'warning', text: string): Promise<void> {
    await this.write([{ kind: 'notice', level, text }])
  }

  /** Lets go of everything; agents and keepers go on. Synchronous and harmless twice. */
  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
    this.talk?.link.detach()
    this.talk = undefined
  }

  /** After `dispose`: everything that was under way has been written. */
  async closed(): Promise<void> {
    await this.queue
    await this.log.close()
    await this.transcript.close()
  }
}

interface Plan {
  readonly attempt: number
  readonly carried: readonly string[]
  readonly reason: 'first' | 'resume' | 'retry'
  readonly message: string | null
  readonly sessionId: string
}

interface Effects {
  readonly replies: { frames: readonly Outgoing[]; id: string }[]
  ready: boolean
  readonly asked: string[]
  reported: boolean
  used: boolean
}

/** What was still waiting when the run was let go. */
class DisposedError extends Error {
  override readonly name = 'DisposedError'
}

/** A start that cannot be, in words for a person. */
class StartProblem extends Error {
  override readonly name = 'StartProblem'
}

const newSessionId = (): string => randomUUID()

/** One line of a control file, unless it is there already: its writer may have died between writing and recording. */
async function appendOnce(path: string, line: string): Promise<boolean> {
  let known = false
  await new LineFile(path).readNew((existing) => {
    known = existing === line
    return !known
  })
  if (known) return true
  try {
    const file = await AppendFile.open(path)
    try {
      await file.append([line], false)
    } finally {
      await file.close()
    }
    return true
  } catch {
    return false
  }
}

function notice(text: string): Heard {
  return {
    facts: [],
    entries: [{ kind: 'notice', level: 'warning', text }],
    replies: [],
    ready: false,
    reported: false,
    sync: false,
  }
}

function answerInWords(answer: Answer): string {
  switch (answer.kind) {
    case 'text':
      return answer.text
    case 'allow':
      return answer.scope === 'once' ? 'allowed once' : 'allowed for this child'
    case 'deny':
      return `denied: ${answer.message}`
    case 'cancelled':
      return 'cancelled'
  }
}

function exitInWords(exit: ExitRecord): string {
  const how = exit.signal === null ? `with code ${exit.code ?? 'unknown'}` : `by ${exit.signal}`
  const cut = exit.drained ? '' : ' Its last output may be missing.'
  const swept = exit.killedSweep.length === 0 ? '' : ` ${exit.killedSweep.length} processes it left behind were ended.`
  const left =
    exit.survivors.length === 0
      ? ''
      : ` ${exit.survivors.length} processes could not be ended: ${exit.survivors.map((p) => p.pid).join(', ')}.`
  return `Process ended ${how}.${cut}${swept}${left}`
}

function limitInWords(cause: 'timeout' | 'lease', child: Child): string {
  if (cause === 'lease') return 'no window was open for longer than reloadLeaseSeconds'
  return `it ran longer than childTimeoutSeconds = ${(child.task.limits.wallMs ?? 0) / 1000}`
}

function verdictInWords(status: string, checks: readonly { result: string }[]): string {
  const passed = checks.filter((check) => check.result === 'PASS').length
  return checks.length === 0 ? status : `${status}: ${passed} of ${checks.length} checks passed`
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))
