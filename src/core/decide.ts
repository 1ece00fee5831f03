// May this wish be granted? Pure: a child's fold and a few numbers in, a refusal in one clear sentence or null out. Every
// door (panel, palette, tool, API, command line) asks here, so all of them refuse with the same words.
import { checksToOverride } from './verdict'
import {
  acceptance,
  awaitsVerdict,
  currentAttempt,
  isLive,
  isSettingUp,
  lacksResult,
  openRequests,
  standingPermissions,
  type Child,
  type Steer,
} from './child'

export type RefusalCode =
  | 'invalid'
  | 'unknown_child'
  | 'adopted'
  | 'not_accepting'
  | 'finished'
  | 'over_cap'
  | 'not_resumable'
  | 'busy'
  | 'untrusted'
  | 'unknown_agent'
  | 'repository'
  | 'would_lose'
  | 'open_elsewhere'
  | 'unsupported'
  | 'unavailable'

export interface Refused {
  readonly code: RefusalCode
  readonly message: string
  /** `would_lose`: a name for exactly what the message tells of; given back, it confirms that and nothing else. */
  readonly confirm?: string
  /** `over_cap`: the setting that is in the way, and what it says where it was decided. */
  readonly limit?: { readonly setting: CapSetting; readonly cap: number }
}

export type CapSetting = 'maxChildrenPerParent' | 'maxChildrenTotal'

export const GOAL_MAX = 16_000
export const CONTEXT_MAX = 32_000
export const STEER_MAX = 16_000

const no = (code: RefusalCode, message: string): Refused => ({ code, message })

/** The same for an id that never was and one that is somebody else's, so that nothing leaks. */
export const unknownChild: Refused = no(
  'unknown_child',
  "There is no such subagent in this conversation's spawn tree. Use list for the ids that are yours.",
)

/** A goal or a steer: what it is called, and its longest length in characters. */
export function decideText(what: string, text: string, max: number): Refused | null {
  const length = text.trim().length
  if (length === 0) return no('invalid', `The ${what} is empty. Say in one or two sentences what should be done.`)
  if (length > max)
    return no(
      'invalid',
      `The ${what} has ${length} characters; at most ${max} are taken. Shorten it, or put the rest in a file.`,
    )
  return null
}

const placeholders = [/^to-?do\.?$/i, /^(task|goal|item)\s*#?\d*$/i, /^\.{2,}$/, /^(placeholder|tbd|xxx)$/i]
/** A whole `{{mark}}`, or a `{template mark}` that stands in a sentence like a word. */
const templateMark =
  /\{\{\s*[\w .-]+\s*\}\}|(?<![\w$"'`:[{(,=>}/\\.@]|[:[{(,=>]\s|\b(?:import|export|const|let|var)\s)\{[A-Za-z_][\w -]*\}(?!\s*[>"'`=({/]|\.\w)/

/** In a batch nobody proof-reads each goal: a goal that was never filled in is refused by its number. */
export function decideBatchGoals(goals: readonly string[]): Refused | null {
  if (goals.length < 2) return null
  for (const [i, goal] of goals.entries()) {
    const text = goal.trim()
    if (placeholders.some((pattern) => pattern.test(text)) || templateMark.test(text))
      return no(
        'invalid',
        `Task ${i + 1} has a placeholder for a goal (${JSON.stringify(text.slice(0, 80))}). Write out what that child should do.`,
      )
  }
  return null
}

export interface Capacity {
  readonly setting: CapSetting
  readonly cap: number
  /** The children that are live. `elsewhere`: which other repository it is of, in words. */
  readonly live: readonly { readonly id: string; readonly title: string; readonly elsewhere?: string }[]
  /** Places given to dispatches under way, whose children have no id yet. */
  readonly coming?: number
}

/** Whether `count` more children fit under every cap. */
export function decideCapacity(count: number, capacities: readonly Capacity[]): Refused | null {
  for (const { setting, cap, live, coming = 0 } of capacities) {
    if (live.length + coming + count <= cap) continue
    const names = [
      ...live.map(({ id, title, elsewhere }) => `${title} (${id})${elsewhere === undefined ? '' : ` in ${elsewhere}`}`),
      ...(coming === 0 ? [] : [`${coming} just being dispatched`]),
    ].join(', ')
    const asked = count === 1 ? 'One more child' : `${count} more children`
    const name = `coxswain.${setting}`
    const message = `${asked} would go over ${name} = ${cap}; live now: ${names === '' ? 'none' : names}. Nothing was started. Stop or wait for one of them, ask for fewer, or raise ${name}.`
    return { ...no('over_cap', message), limit: { setting, cap } }
  }
  return null
}

export function decideSteer(child: Child | undefined, text: string): Refused | null {
  if (child === undefined) return unknownChild
  const wrong = decideText('message', text, STEER_MAX)
  if (wrong !== null) return wrong
  const answer = acceptance(child)
  if (answer.accepting) return null
  const code = isLive(child) ? 'not_accepting' : 'finished'
  return no(code, `"${child.title}" takes no steer now: ${answer.why}.`)
}

const waitingOnly = (verb: string, steer: Steer): Refused =>
  no(
    'invalid',
    `This steer is already ${steer.state === 'sent' ? 'with the agent' : steer.state} and can no longer be ${verb}.`,
  )

export function decideEditSteer(child: Child | undefined, steerId: string, text: string): Refused | null {
  if (child === undefined) return unknownChild
  const steer = child.steers.find((s) => s.id === steerId)
  if (steer === undefined) return no('invalid', `"${child.title}" has no steer ${steerId}.`)
  const wrong = decideText('message', text, STEER_MAX)
  if (wrong !== null) return wrong
  return steer.state === 'queued' || steer.state === 'missed' ? null : waitingOnly('edited', steer)
}

/** `canTakeBack`: the agent's protocol can give back what it was sent and has not read. */
export function decideWithdrawSteer(child: Child | undefined, steerId: string, canTakeBack: boolean): Refused | null {
  if (child === undefined) return unknownChild
  const steer = child.steers.find((s) => s.id === steerId)
  if (steer === undefined) return no('invalid', `"${child.title}" has no steer ${steerId}.`)
  if (steer.state === 'queued' || steer.state === 'missed') return null
  if (steer.state === 'sent' && !steer.carried && canTakeBack) return null
  return waitingOnly('withdrawn', steer)
}

export function decideReorder(child: Child | undefined, order: readonly string[]): Refused | null {
  if (child === undefined) return unknownChild
  const waiting = child.steers.filter((steer) => steer.state === 'queued').map((steer) => steer.id)
  const same =
    order.length === waiting.length && new Set(order).size === order.length && order.every((id) => waiting.includes(id))
  return same
    ? null
    : no('invalid', `The order must name each queued steer once: ${waiting.join(', ') || 'there is none'}.`)
}

export function decideStop(child: Child | undefined): Refused | null {
  if (child === undefined) return unknownChild
  if (child.phase === 'CANCEL_REQUESTED') return null
  if (isLive(child) || child.paused) return null
  return no('finished', `"${child.title}" is not running any more: it ended as ${child.phase}.`)
}

export function decideInterrupt(child: Child | undefined): Refused | null {
  if (child === undefined) return unknownChild
  if (child.paused) return no('finished', `"${child.title}" is paused already. Resume it when you are ready.`)
  if (!isLive(child)) return no('finished', `"${child.title}" is not running any more: it ended as ${child.phase}.`)
  if (child.phase === 'CANCEL_REQUESTED')
    return no('busy', `"${child.title}" is being stopped; it cannot be paused any more.`)
  if (child.verifying || child.retrying)
    return no(
      'busy',
      `"${child.title}" has no process right now: its work is being verified. Stop it, or wait for the verdict.`,
    )
  if (child.delegating)
    return no(
      'busy',
      `"${child.title}" has no process right now: it waits for its own children. Pause them, or stop it.`,
    )
  if (currentAttempt(child) === undefined && !isSettingUp(child))
    return no(
      'busy',
      `"${child.title}" has not started yet; there is nothing to pause. Stop it instead, or wait a moment.`,
    )
  return null
}

export function decideResume(child: Child | undefined, message: string | undefined): Refused | null {
  if (child === undefined) return unknownChild
  if (message !== undefined && message.trim() !== '') {
    const wrong = decideText('message', message, GOAL_MAX)
    if (wrong !== null) return wrong
  }
  if (isLive(child))
    return child.phase === 'CANCEL_REQUESTED'
      ? no('busy', `"${child.title}" is still being stopped. Resume it once it has ended.`)
      : no('busy', `"${child.title}" is running; steer it instead of resuming it.`)
  if (child.worktree === null)
    return no(
      'not_resumable',
      `"${child.title}" never got a worktree, so there is nothing to go on with. Start a new child with the same brief.`,
    )
  if (child.discarded)
    return no('not_resumable', `The worktree of "${child.title}" was discarded. Start a new child with the same brief.`)
  // Only its setup ran: no session is needed to begin.
  if (child.attempts.length === 0 && child.setup !== null) return null
  if (!child.task.recipe.abilities.resume)
    return no(
      'not_resumable',
      `${child.task.recipe.label} cannot go on with an earlier session. Start a new child with the same brief.`,
    )
  const left = currentAttempt(child)?.exit?.survivors ?? 0
  if (left > 0)
    return no(
      'busy',
      `${left} processes of the former attempt of "${child.title}" could not be ended. End them first; two agents must not share one worktree.`,
    )
  if (child.attempts.length === 0)
    return no('not_resumable', `"${child.title}" never started. Start a new child with the same brief.`)
  return null
}

/** The result of a round is on disk before the next one may change what it tells of. */
export function decideNextRound(child: Child): Refused | null {
  return lacksResult(child)
    ? no('busy', `The result of the last round of "${child.title}" is still being written. Try again in a moment.`)
    : null
}

/** `by`: a parent does not take a child out of a person's hands. */
export function decideHandBack(child: Child | undefined, by: 'person' | 'parent'): Refused | null {
  if (child === undefined) return unknownChild
  return child.takenOver && by === 'parent'
    ? no('busy', `A person has taken over "${child.title}" in a terminal. It goes on here once they hand it back.`)
    : null
}

export function decideTakeOver(child: Child | undefined): Refused | null {
  if (child === undefined) return unknownChild
  const { task, title } = child
  if (task.recipe.abilities.terminal !== true)
    return no('unsupported', `A session of ${task.recipe.label} cannot be gone on with in a terminal.`)
  if (child.worktree === null || child.discarded)
    return no('unsupported', `"${title}" has no worktree to go on in. Start a new child with the same brief.`)
  if (child.phase === 'CANCEL_REQUESTED')
    return no('busy', `"${title}" is being stopped. Take it over once it has ended.`)
  if (awaitsVerdict(child) || child.retrying)
    return no('busy', `The work of "${title}" is being verified. Take it over once that is through.`)
  if (!child.attempts.some((attempt) => attempt.turnStarted))
    return no('busy', `"${title}" has not said anything yet, so there is no session to go on with.`)
  return null
}

export function decideDiscard(child: Child | undefined): Refused | null {
  if (child === undefined) return unknownChild
  return isLive(child) ? no('busy', `"${child.title}" is running; stop it before discarding its worktree.`) : null
}

export function decideVerify(child: Child | undefined): Refused | null {
  if (child === undefined) return unknownChild
  if (awaitsVerdict(child)) return no('busy', `The work of "${child.title}" is being verified already.`)
  if (isLive(child)) return no('busy', `"${child.title}" is running; its work is verified when it has ended.`)
  if (child.worktree === null || child.discarded)
    return no('unsupported', `"${child.title}" has no worktree, so there is nothing to verify.`)
  if (currentAttempt(child) === undefined)
    return no('unsupported', `No agent has worked on "${child.title}" yet, so there is nothing to verify.`)
  if (child.task.contract.level === 'none')
    return no('unsupported', `"${child.title}" has no contract, so there is nothing to check.`)
  return null
}

/** Taking work whose verdict is no pass as partial. It stays marked, and applying it still needs its override. */
export function decideAcceptPartial(child: Child | undefined): Refused | null {
  if (child === undefined) return unknownChild
  if (isLive(child)) return no('busy', `"${child.title}" is running; there is no verdict to go by yet.`)
  const { verdict } = child
  if (verdict === null) return no('unsupported', `"${child.title}" has no verdict, so there is nothing to accept.`)
  if (checksToOverride(verdict).length === 0)
    return no('unsupported', `The verdict on "${child.title}" is ${verdict.status}: nothing is left to accept.`)
  return null
}

/** `overrides`: what did not pass and is applied all the same, by the names `checksToOverride` gives. */
export function decideApply(child: Child | undefined, overrides: readonly string[]): Refused | null {
  if (child === undefined) return unknownChild
  if (isLive(child)) return no('busy', `"${child.title}" is running; stop it or let it end before its work is applied.`)
  if (child.worktree === null || child.discarded)
    return no('unsupported', `"${child.title}" has no worktree, so there is nothing to apply.`)
  const { verdict } = child
  const missing = verdict === null ? [] : checksToOverride(verdict).filter((name) => !overrides.includes(name))
  if (verdict === null || missing.length === 0) return null
  return no(
    'invalid',
    `The verdict on "${child.title}" is ${verdict.status}. To apply it all the same, override by name what did not pass: ${missing.join('; ')}.`,
  )
}

export function decideRevoke(child: Child | undefined, requestId: string): Refused | null {
  if (child === undefined) return unknownChild
  const { label, abilities } = child.task.recipe
  if (abilities.revoke !== true)
    return no('unsupported', `${label} keeps by itself what it may do. Pause "${child.title}", then resume it.`)
  if (standingPermissions(child).some(({ id }) => id === requestId)) return null
  return no('finished', `Nothing that "${child.title}" may do unasked was allowed under the id ${requestId}.`)
}

export function decideAnswer(child: Child | undefined, requestId: string): Refused | null {
  if (child === undefined) return unknownChild
  const request = child.requests.find((r) => r.id === requestId)
  if (request === undefined) return no('invalid', `"${child.title}" has not asked anything under the id ${requestId}.`)
  if (!openRequests(child).includes(request)) {
    const how =
      request.answer?.kind === 'cancelled' ? 'was cancelled when its process ended' : 'has been answered already'
    return no('finished', `This question of "${child.title}" ${how}.`)
  }
  return null
}
