// One attempt: what it is started with, and the talk with its running process. It carries frames to the agent and the
// agent's end to its keeper; what follows from what is heard is decided by the child's run.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Conversation } from '../agents/agent'
import { currentAttempt, openRequests, totalUsage, type Attempt, type Child, type EndCause } from '../core/child'
import type { Answer } from '../core/events'
import { spentSince } from '../core/budget'
import { firstPrompt, resumePrompt } from '../core/prompt'
import { resting, type Pulse } from '../core/pulse'
import type { Outgoing } from '../core/signals'
import { baseEnvironmentNames } from '../process/environment'
import { readInputJournal, type JournaledFrame } from '../process/inputJournal'
import { LinkLostError, type KeeperLink } from '../process/keeperLink'
import { launchDefaults, type Launch, type SoftEnd } from '../process/launch'
import type { RawLine } from '../process/lines'
import { AppendFile } from '../record/appendFile'
import { placeFolder, writeWhole } from '../record/atomicWrite'
import { LineFile } from '../record/lineFile'
import { makeFolder, type AttemptPaths, type ChildPaths } from '../record/paths'
import { AsItWas } from './asItWas'
import type { Tools } from './tools'

/** What the log says of an attempt that is about to start. */
export interface Plan {
  readonly attempt: number
  /** Ids of the steers that ride in its first turn. */
  readonly carried: readonly string[]
  readonly reason: 'first' | 'resume' | 'retry' | 'wake'
  readonly message: string | null
  readonly sessionId: string
  /** It goes on with the agent's session instead of beginning one. */
  readonly resume: boolean
}

export interface Prepared {
  readonly conversation: Conversation
  readonly launch: Launch
  readonly prompt: string
}

/**
 * Whether attempt `n` has a session to go on with. One whose former attempts never said anything begins with the whole
 * brief in a new session: an agent may not have written the old one down yet.
 */
export function continuesSession(child: Child, n: number): boolean {
  return child.attempts.some((attempt) => attempt.n < n && attempt.turnStarted)
}

/** A start that cannot be, in words for a person. */
export class StartProblem extends Error {
  override readonly name = 'StartProblem'
}

/** Makes the attempt's private folders and files and says how to start it. Throws a StartProblem. */
export async function prepareAttempt(child: Child, plan: Plan, tools: Tools): Promise<Prepared> {
  const { worktree } = child
  if (worktree === null) throw new StartProblem('It has no worktree.')
  const paths = tools.paths.child(child.id).attempt(plan.attempt)
  await placeFolder(paths.folder)
  makeFolder(paths.control)
  const steers = child.steers.filter((steer) => plan.carried.includes(steer.id))
  const contract = await tools.contractPrompt(child)
  const prompt = plan.resume
    ? resumePrompt(plan.message, steers)
    : firstPrompt(child.task, worktree, contract.text, steers, tools.attended(), plan.message)
  const conversation = await converse(child, plan, prompt, tools, contract.outputSchema)
  const { launch } = conversation
  for (const [path, content] of Object.entries({ [paths.prompt]: prompt, ...launch.files }))
    await writeWhole(path, content)
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

/** The conversation of an attempt whose process another supervisor started: it is about to hear the past again. */
export async function rejoin(child: Child, attempt: Attempt, prompt: string, tools: Tools): Promise<Conversation> {
  const { n, reason, sessionId, message } = attempt
  const plan = { attempt: n, carried: [], reason, sessionId, message, resume: continuesSession(child, n) }
  return await converse(child, plan, prompt, tools, undefined)
}

async function converse(
  child: Child,
  plan: Plan,
  prompt: string,
  tools: Tools,
  outputSchema: unknown,
): Promise<Conversation> {
  const { recipe } = child.task
  const agent = tools.agentOf(recipe)
  if ('message' in agent) throw new StartProblem(agent.message)
  const paths = tools.paths.child(child.id).attempt(plan.attempt)
  const rules = agent.projectRules === undefined ? [] : await tools.projectRules(child, agent.projectRules)
  const { costUsd, inputTokens: input, outputTokens: output } = totalUsage(child)
  const { maxTurns, maxCostUsd } = child.task.limits
  return agent.converse({
    childId: child.id,
    attempt: plan.attempt,
    sessionId: plan.sessionId,
    resume: plan.resume,
    prompt,
    cwd: child.worktree?.cwd ?? '',
    promptFile: paths.prompt,
    controlDir: paths.control,
    autonomy: recipe.autonomy,
    abilities: recipe.abilities,
    attended: tools.attended(),
    ...(child.task.role === 'orchestrator' ? { launcher: tools.launcher } : {}),
    ...(rules.length === 0 ? {} : { projectRules: rules }),
    ...(costUsd === null ? {} : { sessionCostUsd: costUsd }),
    sessionTokens: { input, output },
    ...(maxTurns === null ? {} : { maxTurns }),
    ...(maxCostUsd === null ? {} : { maxCostUsd: Math.max(0.01, maxCostUsd - (spentSince(child).costUsd ?? 0)) }),
    ...(recipe.model === undefined ? {} : { model: recipe.model }),
    ...(recipe.effort === undefined ? {} : { effort: recipe.effort }),
    ...(recipe.allowedTools === undefined ? {} : { allowedTools: recipe.allowedTools }),
    ...(recipe.executable === undefined ? {} : { executable: recipe.executable }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
  })
}

/** What a conversation was told earlier, put in again between the lines it hears again, and who heard them then. */
export class Past {
  private readonly ids: ReadonlySet<string>

  private constructor(
    private readonly frames: JournaledFrame[],
    private readonly heardBy: AsItWas | undefined,
    private readonly revocations: { readonly id: string; readonly after: number }[],
  ) {
    this.ids = new Set(frames.flatMap(({ id }) => (id === undefined ? [] : [id])))
  }

  static async of(paths: ChildPaths, attempt: number, child: Child): Promise<Past> {
    const { folder } = paths.attempt(attempt)
    const revocations = child.requests.flatMap(({ id, attempt: n, revokedAfter: after }) =>
      n === attempt && after !== null ? [{ id, after }] : [],
    )
    return new Past(await readInputJournal(folder), await AsItWas.of(paths.events, attempt), revocations)
  }

  static readonly none = new Past([], undefined, [])

  /** The child as it was when this line was heard for the first time; undefined when it never was. */
  hearerOf(line: RawLine): Child | undefined {
    return this.heardBy?.before(line.source, line.end)
  }

  /** Call before the line is read. */
  before(line: RawLine, conversation: Conversation): void {
    for (
      let frame = this.frames[0];
      frame !== undefined && frame.after[line.source] <= line.offset;
      frame = this.frames[0]
    ) {
      this.frames.shift()
      conversation.wrote?.(frame.text)
    }
    if (line.source === 'stdout')
      for (const { id, after } of this.revocations) if (after <= line.offset) conversation.revoke?.(id)
  }

  /** Whether all of these frames, sent under this id, had reached the agent's endpoint. */
  async holds(frames: readonly Outgoing[], id: string, paths: AttemptPaths): Promise<boolean> {
    for (const [i, frame] of frames.entries()) {
      const there =
        frame.to === 'stdin' ? this.ids.has(`${id}-${i}`) : await hasLine(join(paths.control, frame.name), frame.line)
      if (!there) return false
    }
    return frames.length > 0
  }
}

/** The hold on a running agent. */
export class Talk {
  private readonly attended = new Set<string>()
  private readonly answered = new Set<string>()
  /** Undefined: a former supervisor may have left it either way. */
  private clockHeld: boolean | undefined
  private reports = 0
  private through = false
  pulse: Pulse = resting
  /** So many bytes of its stdout were heard; undefined while none were. */
  heardTo: number | undefined
  /** When it last wrote anything, or was attached to; on the monotonic clock. */
  heardAt = performance.now()

  constructor(
    readonly attempt: number,
    readonly conversation: Conversation,
    readonly link: KeeperLink,
    private readonly paths: AttemptPaths,
    readonly past: Past = Past.none,
  ) {}

  /** The prompt on stdin where the agent reads it there, and the frames that open the talk. */
  async open(prompt: string): Promise<void> {
    if (this.conversation.launch.input === 'prompt') {
      await this.link.write(prompt, 'prompt')
      await this.link.closeInput()
    }
    await this.send(this.conversation.opening, 'opening')
  }

  /** Writes frames to the agent, each exactly once per attempt however often it is asked. False: not taken. */
  async send(frames: readonly Outgoing[], id: string): Promise<boolean> {
    for (const [i, frame] of frames.entries()) {
      if (frame.to === 'stdin') {
        const result = await this.link.write(frame.text, `${id}-${i}`)
        if (result.taken !== true) return false
      } else if (!(await appendOnce(join(this.paths.control, frame.name), frame.line))) {
        return false
      }
    }
    return true
  }

  /** The next steer to hand over, if the agent's receiver is known to be there. */
  nextSteer(child: Child): { readonly id: string; readonly frames: readonly Outgoing[] } | undefined {
    const attempt = currentAttempt(child)
    const { steer } = this.conversation
    if (steer === undefined || attempt === undefined || attempt.n !== this.attempt) return undefined
    if (!attempt.ready || !attempt.steerable || attempt.endRequest !== null || attempt.ended !== null) return undefined
    const next = child.steers.find(({ state }) => state === 'queued')
    if (next === undefined) return undefined
    return { id: next.id, frames: steer.write({ id: next.id, text: next.text, queuedAt: next.queuedAt }) }
  }

  /** True the first time a question is seen by this hold. */
  attendOnce(requestId: string): boolean {
    if (this.attended.has(requestId)) return false
    this.attended.add(requestId)
    return true
  }

  /** Hands an answer over once. An adapter that has not heard the question again yet is asked later. */
  async answer(requestId: string, answer: Answer): Promise<void> {
    if (this.answered.has(requestId)) return
    const frames = this.conversation.answer?.(requestId, answer) ?? []
    if (frames.length > 0 && (await this.send(frames, `answer-${requestId}`))) this.answered.add(requestId)
  }

  /** The wall-time limit stands still while a person is waited for. */
  async holdClock(hold: boolean): Promise<void> {
    if (this.clockHeld === hold) return
    this.clockHeld = hold
    await (hold ? this.link.pauseClock() : this.link.resumeClock())
  }

  /** Counts reports, so that whoever waits after one can tell whether the agent has gone on. */
  reported(): number {
    this.through = true
    return ++this.reports
  }

  goesOn(): void {
    this.through = false
  }

  isThrough(report: number): boolean {
    return this.through && this.reports === report
  }

  /**
   * The agent's own soft way, then the keeper's ladder. Pending questions are answered "cancelled". False: the keeper does
   * not answer, and nothing was asked for.
   */
  async end(cause: EndCause, reason: string, child: Child): Promise<boolean> {
    const { conversation } = this
    try {
      await this.link.requestEnd({ kind: cause, reason }, softEndOf(conversation))
    } catch (error) {
      if (error instanceof LinkLostError) return error.loss !== 'keeperSilent'
      throw error
    }
    // In this order: an agent that hears first that nobody answers would decide by itself and go on.
    if (conversation.softEnd !== undefined) await this.send(conversation.softEnd.write(), 'soft-end')
    if (conversation.answer !== undefined)
      for (const request of openRequests(child))
        await this.send(conversation.answer(request.id, { kind: 'cancelled' }), `answer-${request.id}`)
    return true
  }
}

/** How long after the soft way's own signal the ladder goes on (milliseconds). */
const afterSignalMs = 1_000

function softEndOf({ softEnd }: Conversation): SoftEnd | undefined {
  if (softEnd === undefined) return undefined
  const { waitMs, signal } = softEnd
  return signal === undefined ? { afterMs: waitMs } : { waitMs, signal, afterMs: afterSignalMs }
}

async function hasLine(path: string, line: string): Promise<boolean> {
  let known = false
  await new LineFile(path).readNew((existing) => {
    known = existing === line
    return !known
  })
  return known
}

/** One line of a control file, unless it is there already: its writer may have died between writing and recording. */
async function appendOnce(path: string, line: string): Promise<boolean> {
  if (await hasLine(path, line)) return true
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
