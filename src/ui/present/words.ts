// A child's state in words, and the small figures beside it. Pure; decides nothing: every word here is read off the fold.
import {
  awaitsVerdict,
  acceptance,
  currentAttempt,
  isLive,
  isSettingUp,
  missedSteers,
  openRequests,
  type Child,
  type EndCause,
  type Steer,
} from '../../core/child'
import type { Covers, SteerMode, TaskUsage, Verdict } from '../../core/events'
import { cutText, plainLine } from '../../core/plainText'
import { setupBrief } from '../../core/setup'
import type { ChildView } from '../../supervisor/view'
import { t } from './l10n'

const causes: Readonly<Record<EndCause, () => string>> = {
  stop: () => t('stopped'),
  interrupt: () => t('interrupted on purpose'),
  timeout: () => t('time limit reached'),
  budget: () => t('budget reached'),
  lease: () => t('no window was watching'),
}

/** The phase as a person says it: a few words, lower case, no colour needed to tell it from another. */
export function phaseWords(child: Child): string {
  const applied = isLive(child) ? null : appliedWords(child)
  if (child.discarded && !isLive(child))
    return applied === null ? t('discarded') : t('{what}, discarded', { what: applied })
  const words = plainPhaseWords(child)
  return applied === null ? words : `${words}, ${applied}`
}

/** Where its work has gone, or null while that is nowhere. */
export function appliedWords({ applied, appliedTo }: Child): string | null {
  if (!applied) return null
  return appliedTo === null ? t('applied') : t('applied to {branch}', { branch: plainLine(appliedTo, 60) })
}

function plainPhaseWords(child: Child): string {
  switch (child.phase) {
    case 'PENDING':
      return child.waitingForSlot ? t('waiting for a free slot') : t('preparing its worktree')
    case 'STARTING':
      if (child.setup === null || !isSettingUp(child)) return t('starting')
      if (child.setup.endRequest !== null) return t('pausing')
      return t('setting up: {command}', { command: setupBrief(child.setup) })
    case 'RUNNING':
      if (child.verifying) return t('verifying')
      if (child.delegating) return t('waiting for its children')
      if (openRequests(child).length > 0) return t('waiting for your answer')
      if (currentAttempt(child)?.endRequest) return t('pausing')
      return t('working')
    case 'CANCEL_REQUESTED':
      return t('stopping')
    case 'SUCCESS':
      if (child.verdict?.status === 'verified') return t('succeeded, verified')
      return t('says it is done')
    case 'FAILURE':
      return t('failed')
    case 'INTERRUPTED': {
      if (child.takenOver) return t('taken over in a terminal')
      if (child.paused) return t('paused')
      const cause = interruptedBy(child)
      return cause === null ? t('interrupted') : t('interrupted: {cause}', { cause })
    }
    case 'CANCELLED':
      return t('stopped')
    case 'UNKNOWN':
      return t('cannot be seen')
  }
}

/** What an interrupted child was interrupted by, or null when that is not known or it was paused. */
export function interruptedBy(child: Child): string | null {
  const cause = child.paused || child.takenOver ? undefined : currentAttempt(child)?.endRequest?.cause
  return cause === undefined ? null : causes[cause]()
}

/** Why the last attempt ended the way it did, one line, or null when there is nothing to say beyond the phase. */
export function endReason(child: Child): string | null {
  const attempt = currentAttempt(child)
  if (attempt === undefined) return child.setup?.outcome === 'failed' ? plainLine(child.setup.words ?? '') : null
  if (attempt.startFailure !== null) return plainLine(attempt.startFailure.reason)
  if (attempt.vanished !== null) return plainLine(attempt.vanished)
  if (attempt.report !== null && !attempt.report.ok && attempt.report.reason !== null)
    return plainLine(attempt.report.reason)
  const exit = attempt.exit
  if (child.phase === 'FAILURE' && exit !== null) {
    if (exit.signal !== null) return t('ended by {signal}', { signal: exit.signal })
    if (exit.code !== null && exit.code !== 0) return t('process exited with code {code}', { code: exit.code })
    return t('ended without a report')
  }
  return null
}

/** What is allowed when this is allowed for the whole child. */
export function coveredWords(
  ask: { readonly tool: string; readonly covers?: Covers | undefined },
  agent: string,
): string {
  const tool = plainLine(ask.tool, 60)
  if (ask.covers === undefined) return t('{tool}, as far as {agent} takes it', { tool, agent: plainLine(agent, 60) })
  const { command, path } = ask.covers
  const parts = [command, path].filter((part) => part !== undefined).map((part) => plainLine(part, 200))
  return parts.length === 0
    ? t('every use of {tool} that stays in its worktree', { tool })
    : t('{tool}, exactly: {what}', { tool, what: parts.join(', ') })
}

/** The verdict in words, or null while there is none to speak of. */
export function verdictWords(child: Child): string | null {
  if (awaitsVerdict(child)) return t('verifying')
  const verdict = child.verdict
  if (verdict === null) return null
  return verdictStatusWords(verdict)
}

/** Partial stands before what did not pass: work a person may use, and must not take for verified. */
export function verdictStatusWords(verdict: Verdict): string {
  const what = statusWords(verdict)
  return verdict.disposition === 'partial' ? t('partial, {what}', { what }) : what
}

function statusWords(verdict: Verdict): string {
  const failed = verdict.checks.filter((check) => check.result === 'FAIL').length
  switch (verdict.status) {
    case 'verified':
      return t('verified')
    case 'failed':
      return failed === 1 ? t('1 check failed') : t('{n} checks failed', { n: failed })
    case 'incomplete':
      return t('incomplete')
    case 'parse_error':
      return t('report unreadable')
    case 'unverified':
      return t('not verified')
    case 'stale':
      return t('verdict out of date')
  }
}

/** What follows from a verdict, and why, in a sentence; null where there is nothing to do. */
export function dispositionWords(child: Child, verdict: Verdict): string | null {
  if (child.partialAccepted) return t('You took it as partial. Applying it still asks for what did not pass, by name.')
  switch (verdict.disposition) {
    case 'accept':
      return null
    case 'retry':
      return child.retrying || isLive(child) ? t('It is being asked again with exactly this.') : null
    case 'partial':
      return t('Partial: usable and marked. It is not asked again by itself; what next is yours to say.')
    case 'escalate':
      return t('Escalated: another turn of the same agent cannot settle this. What next is yours to say.')
  }
}

/** A steer that was thought of for a child at work: a hint, and nobody's duty. Null when there is none. */
export function hintWords(child: Child): string | null {
  if (child.suggestion?.action !== 'steer' || !isLive(child)) return null
  return t('steer it? {reason}', { reason: plainLine(child.suggestion.reason, 120) })
}

/** What needs a person, most urgent first, or null. One line without the child's name. */
export function needWords(child: Child): string | null {
  const live = child.phase === 'RUNNING' || child.phase === 'STARTING'
  const request = openRequests(child)[0]
  if (request !== undefined && live) {
    return request.ask.kind === 'question'
      ? t('asks: {question}', { question: plainLine(request.ask.question, 120) })
      : t('wants to use {tool}', { tool: plainLine(request.ask.tool, 60) })
  }
  if (child.phase === 'UNKNOWN') return t('its processes cannot be seen')
  const stuck = child.conditions['stuck']
  if (stuck !== undefined && live) return plainLine(stuck.words)
  if (child.suggestion?.action === 'stop' && live)
    return t('stop it? {reason}', { reason: plainLine(child.suggestion.reason, 120) })
  if (child.parked !== null) return plainLine(child.parked)
  const settled = child.phase === 'SUCCESS' || child.phase === 'FAILURE'
  const verdict = child.verdict
  if (settled && verdict !== null && !child.partialAccepted && !child.applied && !child.discarded) {
    if (verdict.status === 'failed' || verdict.status === 'incomplete' || verdict.status === 'parse_error')
      return verdictStatusWords(verdict)
    if (verdict.disposition === 'escalate') return t('a check could not decide')
  }
  const missed = missedSteers(child).length
  if (missed > 0 && settled && !child.discarded)
    return missed === 1 ? t('1 steer was missed') : t('{n} steers were missed', { n: missed })
  return null
}

/** The same where there is little room: the word that tells it from another need comes first. */
export function needBrief(child: Child): string | null {
  const need = needWords(child)
  const ask = openRequests(child)[0]?.ask
  if (need !== null && isLive(child) && ask?.kind === 'approval')
    return t('wants {tool}', { tool: plainLine(ask.tool, 60) })
  return need !== null && need === verdictWords(child) && child.verdict !== null ? statusWords(child.verdict) : need
}

/** Why it takes no steer right now, in a word or two, for places with little room; null when it takes one. */
export function noSteerBrief(child: Child): string | null {
  if (acceptance(child).accepting) return null
  if (child.discarded) return t('discarded')
  const attempt = currentAttempt(child)
  switch (child.phase) {
    case 'PENDING':
      return null
    case 'CANCEL_REQUESTED':
      return t('stopping')
    case 'INTERRUPTED':
      return child.paused ? t('paused') : t('interrupted')
    case 'SUCCESS':
    case 'FAILURE':
    case 'CANCELLED':
      return t('ended')
    case 'UNKNOWN':
      return t('out of sight')
    case 'STARTING':
    case 'RUNNING':
      if (child.verifying) return t('verifying')
      if (attempt?.endRequest) return t('pausing')
      if (attempt !== undefined && (attempt.closing || attempt.ended !== null)) return t('finishing')
      return t('pause it first')
  }
}

/** Milliseconds its attempts have run so far, pauses left out, and since when the present one runs. */
export function runTime(child: Child): { readonly doneMs: number; readonly since: string | null } {
  let doneMs = 0
  let since: string | null = null
  for (const attempt of child.attempts) {
    if (attempt.endedAt === null) since = isLive(child) ? attempt.launchingAt : null
    else doneMs += Math.max(0, Date.parse(attempt.endedAt) - Date.parse(attempt.launchingAt))
  }
  return { doneMs, since }
}

export function steerModeWords(mode: SteerMode): string {
  switch (mode) {
    case 'at_tool_boundary':
      return t('read after the tool call at hand; nothing is cut')
    case 'next_turn':
      return t('read as its next turn')
    case 'restart':
      return t('only by interrupting and resuming')
    case 'none':
      return t('cannot be steered')
  }
}

/** The same where there is little room. */
export function steerModeBrief(mode: SteerMode): string {
  switch (mode) {
    case 'at_tool_boundary':
      return t('between tool calls')
    case 'next_turn':
      return t('as its next turn')
    case 'restart':
      return t('by interrupting')
    case 'none':
      return t('never')
  }
}

/** "12.3k tokens", or null when nothing was reported. */
export function tokenWords(usage: TaskUsage): string | null {
  const total = usage.inputTokens + usage.outputTokens
  return total === 0 ? null : t('{n} tokens', { n: shortNumber(total) })
}

/** "$0.042": US dollars; null when there is no price to tell. */
export function costWords(usage: TaskUsage): string | null {
  // Less than half a tenth of a cent would stand there as "$0.000".
  if (usage.costUsd === null || usage.costUsd < 0.0005) return null
  return `$${usage.costUsd >= 1 ? usage.costUsd.toFixed(2) : usage.costUsd.toFixed(3)}`
}

export function shortNumber(n: number): string {
  if (n < 1_000) return String(n)
  if (n < 100_000) return `${(n / 1_000).toFixed(1)}k`
  if (n < 1_000_000) return `${Math.round(n / 1_000)}k`
  return `${(n / 1_000_000).toFixed(1)}M`
}

/** Bytes or characters in words: "412 B", "5.0 MB". */
export function sizeWords(n: number): string {
  if (n < 1_024) return `${n} B`
  if (n < 1_024 * 1_024) return `${(n / 1_024).toFixed(1)} KB`
  return `${(n / 1_024 / 1_024).toFixed(1)} MB`
}

/** How we know that a steer was read: words for the kinds of evidence, anything else as it is. */
export function evidenceWords(evidence: string): string {
  if (evidence === 'agent said') return t('the agent said so')
  return evidence === 'observed' ? t('seen in the agent’s own log') : evidence
}

/** What a steer's present state means and how we know, in a sentence without its time. */
export function steerStateWords(steer: Steer): string {
  const how = steer.evidence === null ? '' : evidenceWords(steer.evidence.kind)
  switch (steer.state) {
    case 'queued':
      return steer.carried ? t('will ride in the first turn') : t('on disk, not handed over yet')
    case 'sent':
      if (steer.withdrawal !== null) return t('handed to the agent, and asked back; it has not said whether it read it')
      return t('handed to the agent; no proof yet that it was read')
    case 'delivered':
      return how === '' ? t('in the model’s input') : t('in the model’s input ({how})', { how })
    case 'confirmed':
      return how === '' ? t('the model answered after it') : t('the model answered after it ({how})', { how })
    case 'missed':
      return t('the attempt ended before it was read')
    case 'withdrawn':
      return t('taken back before it was read')
    case 'refused':
      return steer.reason === null ? t('the agent refused it') : plainLine(steer.reason)
    case 'unknown':
      return steer.reason === null ? t('nobody can say what became of it') : plainLine(steer.reason)
  }
}

/** Whose child it is, and what follows when that parent has gone. `lookUp` finds the child above it. */
export function parentWords({ child, parentAway }: ChildView, lookUp: (id: string) => Child | undefined): string {
  const above = child.parentChild === null ? undefined : lookUp(child.parentChild)
  if (!parentAway) return dispatcherWords(child, above)
  const parent =
    above === undefined && child.parentSession.startsWith('child:')
      ? t('a child that has ended')
      : dispatcherWords(child, above)
  return t('{parent}, away: nobody hears of this child; you can adopt it', { parent })
}

function dispatcherWords(child: Child, above: Child | undefined): string {
  switch (child.parentSession.split(':')[0]) {
    case 'mcp':
      return t('an agent, by MCP')
    case 'chat':
      return t('the editor’s chat')
    case 'extension':
      return t('another extension')
    case 'child':
      return above === undefined ? t('another child') : t('the child “{title}”', { title: titleOf(above) })
    default:
      return child.formerParent === null ? t('you') : t('you; adopted')
  }
}

/** Its branch, or null; says so when worktree and branch were discarded. */
export function branchWords(child: Child): string | null {
  if (child.worktree === null) return null
  return child.discarded ? t('{branch} (discarded)', { branch: child.worktree.branch }) : child.worktree.branch
}

export function titleOf(child: Child): string {
  const title = plainLine(child.title, 80)
  return title === '' ? cutText(child.id, 12) : title
}

/** A refusal for a notice: with the child's name before it, unless the sentence says it itself. */
export function namedOnce(child: Child, reason: string): string {
  const title = titleOf(child)
  return reason.includes(`"${title}"`) || reason.includes(`“${title}”`)
    ? reason
    : t('{title}: {reason}', { title, reason })
}

/** The first command a sentence names in backticks, as of how an agent is installed; null when it names none. */
export function commandIn(sentence: string): string | null {
  return /`([^`\n]+)`/.exec(sentence)?.[1] ?? null
}
