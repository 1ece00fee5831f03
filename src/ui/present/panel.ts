// The transcript panel's content as plain values: the child's header, its steers and requests, and pages of entries cut
// to size. Pure, and the last place before the webview: whatever leaves here has passed plainText.
import {
  acceptance,
  currentAttempt,
  isLive,
  missedSteers,
  openRequests,
  standingPermissions,
  totalUsage,
  type Attempt,
  type Child,
  type Steer,
  type Suggestion,
} from '../../core/child'
import { checkKinds } from '../../core/contract'
import type { Actor, CheckResult, Verdict } from '../../core/events'
import { cutText, plainLine, plainText, visibleText } from '../../core/plainText'
import { asText, shellLine } from '../../core/toolInput'
import type { TranscriptEntry } from '../../core/transcript'
import { checksToOverride, describeResult, describeVerdict } from '../../core/verdict'
import {
  ENTRY_TEXT_MAX,
  PAGE_BYTES,
  type PanelChild,
  type PanelEntry,
  type PanelSteer,
  type ShownText,
} from '../../protocol/panel'
import type { ChildView } from '../../supervisor/view'
import { actions, revoke } from './actions'
import { t } from './l10n'
import { icon } from './row'
import {
  branchWords,
  costWords,
  coveredWords,
  dispositionWords,
  endReason,
  evidenceWords,
  needWords,
  parentWords,
  phaseWords,
  runTime,
  steerModeBrief,
  steerModeWords,
  steerStateWords,
  titleOf,
  tokenWords,
  verdictStatusWords,
  verdictWords,
} from './words'

const shownSteers = 60

/** `worktreeChanged`: since its verdict, as far as somebody has looked. `lookUp` finds the child above it. */
export function panelChild(
  view: ChildView,
  worktreeChanged = false,
  lookUp: (id: string) => Child | undefined = () => undefined,
): PanelChild {
  const { child } = view
  const attempt = currentAttempt(child)
  const accepts = acceptance(child)
  const usage = totalUsage(child)
  const ran = runTime(child)
  return {
    childId: child.id,
    title: titleOf(child),
    goal: cutText(plainText(child.task.goal), 16_000),
    phase: phaseWords(child),
    icon: icon(child),
    need: panelNeed(child),
    live: isLive(child),
    activity: view.activity === null ? null : plainLine(view.activity),
    activityAt: view.activityAt,
    reason: endReason(child),
    agent: plainLine(child.task.recipe.label, 60),
    parent: parentWords(view, lookUp),
    parentAway: view.parentAway,
    model: line(attempt?.model ?? child.task.recipe.model ?? null),
    branch: line(branchWords(child)),
    ranMs: ran.doneMs,
    runningSince: ran.since,
    tokens: tokenWords(usage),
    cost: costWords(usage),
    accepting: accepts.accepting,
    steeringBrief: accepts.accepting
      ? t('accepting steer {when}', { when: steerModeBrief(child.task.recipe.abilities.steerMode) })
      : t('not accepting steer'),
    steering: accepts.accepting ? steerModeWords(child.task.recipe.abilities.steerMode) : accepts.why,
    can: panelActions(child),
    takenOver: child.takenOver && !isLive(child),
    suggestion: isLive(child) && child.suggestion !== null ? panelSuggestion(child.suggestion) : null,
    discarded: child.discarded && !isLive(child),
    done: child.phase === 'SUCCESS',
    hasContract: child.task.contract.level !== 'none',
    requests: openRequests(child).map((request) => ({
      id: request.id,
      askedAt: request.askedAt,
      ask:
        request.ask.kind === 'question'
          ? {
              kind: 'question',
              question: cutText(plainText(request.ask.question), 8_000),
              options: (request.ask.options ?? []).slice(0, 20).map((option) => plainLine(option)),
            }
          : {
              kind: 'approval',
              tool: plainLine(request.ask.tool),
              input: shown(inputText(request.ask.input, visibleText), visibleText),
              detail: request.ask.detail === undefined ? null : cutText(plainText(request.ask.detail), 4_000),
              folder: line(child.worktree?.cwd ?? null),
              covers: coveredWords(request.ask, child.task.recipe.label),
            },
    })),
    permissions: standingPermissions(child).flatMap(({ id, ask }) =>
      ask.kind === 'approval' ? [{ id, words: coveredWords(ask, child.task.recipe.label), revoke: revoke(child) }] : [],
    ),
    steers: shownOf(child.steers).map(panelSteer),
    missed: missedSteers(child).length,
    verdict: child.verdict === null ? null : panelVerdict(child, child.verdict, worktreeChanged),
  }
}

/** What the verdict says stands with its checks, and not twice. */
function panelNeed(child: Child): string | null {
  const need = needWords(child)
  return need === verdictWords(child) ? null : need
}

/** In the very words a wish for it gives back. */
export function panelSuggestion({ action, reason, message }: Suggestion): NonNullable<PanelChild['suggestion']> {
  return {
    action,
    reason: plainLine(reason, 300),
    message: message === undefined ? null : cutText(plainText(message), 1_000),
  }
}

const shownChecks = 200

function panelVerdict(child: Child, verdict: Verdict, worktreeChanged: boolean): NonNullable<PanelChild['verdict']> {
  const attempt = currentAttempt(child)
  const goneOn = attempt !== undefined && verdict.attempt !== attempt.n
  return {
    status: verdict.status,
    words: verdictStatusWords(verdict),
    then: dispositionWords(child, verdict),
    attempt: verdict.attempt,
    stale:
      verdict.status === 'stale'
        ? t('files changed while the checks ran')
        : goneOn
          ? t('the work has gone on since')
          : worktreeChanged
            ? t('files of the worktree have changed since')
            : null,
    open: checksToOverride(verdict).length > 0,
    earlier: child.verdicts
      .filter((each) => each !== verdict && each.round === verdict.round)
      .slice(-10)
      .map((each) => ({ attempt: each.attempt, words: plainLine(describeVerdict(each), 200) })),
    // A count that was claimed otherwise stands beside its check.
    notes: verdict.notes.filter((note) => !/^claims \d+ .+; found \d+$/.test(note)).map((note) => plainLine(note, 400)),
    checks: verdict.checks.slice(0, shownChecks).map((check) => ({
      name: resultName(check),
      result: check.result,
      reason: plainLine(check.reason, 400),
      claim: check.claim === undefined ? null : plainLine(check.claim, 300),
      evidence: check.evidence === undefined ? null : cutText(plainText(check.evidence), 4_000),
      place: placeWords(check),
      ms: check.ms,
    })),
    more: Math.max(0, verdict.checks.length - shownChecks),
  }
}

/** `src/a.js:3`, or null when a check points at no file, or at one that is not there. */
function placeWords({ location, check, result, evidence }: CheckResult): string | null {
  const absent = result === 'FAIL' && evidence === undefined && ('deliverable' in check || 'file_exists' in check)
  if (location === undefined || (absent && location.line === undefined)) return null
  return plainLine(location.path, 300) + (location.line === undefined ? '' : `:${location.line}`)
}

function panelActions(child: Child): PanelChild['can'] {
  const { discard: _discard, ...can } = actions(child)
  return can
}

/** All that wait or were missed, and the newest of the rest, in their order. */
function shownOf(steers: readonly Steer[]): readonly Steer[] {
  const kept = new Set(steers.slice(-shownSteers))
  return steers.filter((steer) => kept.has(steer) || steer.state === 'queued' || steer.state === 'missed')
}

export function panelSteer(steer: Steer): PanelSteer {
  return {
    id: steer.id,
    text: cutText(plainText(steer.text), 16_000),
    by: actorWords(steer.by),
    state: steer.state,
    words: steerStateWords(steer),
    waiting: steer.state === 'queued',
    history: steer.history.map(({ state, at, evidence }) => ({
      state,
      at,
      // Confirmed rests on the same source as delivered: said once is enough.
      how: state === 'delivered' && evidence !== null ? evidenceWords(evidence.kind) : null,
    })),
  }
}

export function actorWords(actor: Actor): string {
  switch (actor.kind) {
    case 'person':
      return t('you')
    case 'parent':
      return t('its parent agent')
    case 'policy':
      return t('policy')
    case 'coxswain':
      return t('Coxswain')
  }
}

/** What a check asks, in the words an override names it by. A kind that a newer version wrote is told as it stands. */
export function resultName(result: CheckResult): string {
  const { check } = result
  const known = typeof check['deliverable'] === 'string' || checkKinds.some((kind) => Object.hasOwn(check, kind))
  return plainLine(known ? describeResult(result) : JSON.stringify(check), 400)
}

/** All that a check found, for an editor; null when the verdict has no such check. */
export function findingText(child: Child, index: number): string | null {
  const found = child.verdict?.checks[index]
  if (child.verdict === null || found === undefined) return null
  const place = placeWords(found)
  const lines = [
    `${found.result}  ${resultName(found)}`,
    found.reason,
    ...(found.claim === undefined ? [] : [t('Its report says: {claim}', { claim: found.claim })]),
    ...(place === null ? [] : [place]),
    t('Attempt {n}, {ms} ms', { n: child.verdict.attempt, ms: found.ms }),
    ...(found.evidence === undefined ? [] : ['', found.evidence]),
  ]
  return plainText(`${lines.join('\n')}\n`)
}

export function panelEntry(entry: TranscriptEntry, child?: Child): PanelEntry {
  const { n, at, attempt } = entry
  const head = { n, at, attempt }
  switch (entry.kind) {
    case 'turn':
      return { ...head, kind: 'turn', words: turnWords(entry.reason, attempt), prompt: shown(entry.prompt) }
    case 'text':
      return { ...head, kind: 'text', text: shown(entry.text), subagent: line(entry.subagent ?? null) }
    case 'reasoning':
      return { ...head, kind: 'reasoning', text: shown(entry.text) }
    case 'toolStarted':
      return {
        ...head,
        kind: 'toolStarted',
        toolId: entry.toolId,
        name: plainLine(entry.name, 80),
        brief: toolBrief(entry.input),
        input: shown(inputText(entry.input, plainText)),
        subagent: line(entry.subagent ?? null),
      }
    case 'toolEnded':
      return { ...head, kind: 'toolEnded', toolId: entry.toolId, output: shown(entry.output), isError: entry.isError }
    case 'steer':
      return {
        ...head,
        kind: 'steer',
        steerId: entry.steerId,
        text: cutText(plainText(entry.text), 16_000),
        by: actorWords(entry.by),
      }
    case 'receipt':
      return {
        ...head,
        kind: 'receipt',
        steerId: entry.steerId,
        state: entry.state,
        words:
          entry.evidence === undefined ? entry.state : `${entry.state} (${evidenceWords(plainLine(entry.evidence))})`,
      }
    case 'asked':
      return { ...head, kind: 'asked', words: cutText(plainText(entry.words), 8_000) }
    case 'answered':
      return { ...head, kind: 'answered', words: cutText(plainText(entry.words), 8_000) }
    case 'report':
      return { ...head, kind: 'report', ok: entry.ok, asked: askedToEnd(entry, child), text: shown(entry.summary) }
    case 'verdict':
      return { ...head, kind: 'verdict', words: cutText(plainText(entry.words), 8_000) }
    case 'notice':
      return { ...head, kind: 'notice', level: entry.level, words: cutText(plainText(entry.text), 8_000) }
    case 'noise':
      return { ...head, kind: 'noise', source: entry.source, text: shown(entry.text) }
  }
}

/** How the attempt had been asked to end before it reported: a failure in it is no news then. Null: it had not. */
export function askedToEnd({ attempt, at }: TranscriptEntry, child: Child | undefined): 'stop' | 'pause' | null {
  const its = child?.attempts.find(({ n }) => n === attempt)
  if (its === undefined || its.endRequest === null) return null
  if (its.report !== null && its.endRequest.at > at) return null
  return its.endRequest.cause === 'interrupt' ? 'pause' : 'stop'
}

function turnWords(reason: Attempt['reason'], attempt: number): string {
  switch (reason) {
    case 'first':
      return t('Started')
    case 'resume':
      return t('Resumed (attempt {n})', { n: attempt })
    case 'retry':
      return t('Asked again (attempt {n})', { n: attempt })
    case 'wake':
      return t('Heard from its children (attempt {n})', { n: attempt })
  }
}

/** The folded line of a tool call: what its input says, one line. */
export function toolBrief(input: unknown): string {
  return plainLine(asText(input), 160)
}

/** The full text of a part of an entry, as an editor shows it. */
export function wholeText(entry: TranscriptEntry, part: 'text' | 'input' | 'output'): string | null {
  switch (entry.kind) {
    case 'turn':
      return part === 'text' ? plainText(entry.prompt) : null
    case 'toolStarted':
      return part === 'input' ? plainText(inputText(entry.input, plainText)) : null
    case 'toolEnded':
      return part === 'output' ? plainText(entry.output) : null
    case 'report':
      return part === 'text' ? plainText(entry.summary) : null
    case 'asked':
    case 'answered':
    case 'verdict':
      return part === 'text' ? plainText(entry.words) : null
    case 'text':
    case 'reasoning':
    case 'steer':
    case 'notice':
    case 'noise':
      return part === 'text' ? plainText(entry.text) : null
    case 'receipt':
      return null
  }
}

/**
 * As many of `entries` as one page may hold, from the front. Always at least one, for a single entry is bounded by its
 * own cuts.
 */
export function pageOf(entries: readonly TranscriptEntry[], budget = PAGE_BYTES, child?: Child): PanelEntry[] {
  const page: PanelEntry[] = []
  let bytes = 0
  for (const entry of entries) {
    const next = panelEntry(entry, child)
    bytes += jsonBytes(next)
    if (page.length > 0 && bytes > budget) break
    page.push(next)
  }
  return page
}

/** An upper bound of the JSON's size in bytes that costs no encoding: three bytes a unit where it matters. */
function jsonBytes(value: PanelEntry): number {
  const json = JSON.stringify(value)
  let bytes = json.length
  for (let i = 0; i < json.length; i++) if (json.charCodeAt(i) > 0x7f) bytes += 2
  return bytes
}

function shown(text: string, clean = plainText): ShownText {
  const plain = clean(text.length > ENTRY_TEXT_MAX * 4 ? text.slice(0, ENTRY_TEXT_MAX * 4) : text)
  return { text: cutText(plain, ENTRY_TEXT_MAX), whole: text.length }
}

const commandLine = ([key, value]: readonly [string, unknown]): string | null =>
  ['argv', 'command', 'cmd'].includes(key) ? shellLine(value) : null

/** A tool's input as a person reads it: strings as they are instead of JSON's escapes, everything else as JSON. */
export function inputText(input: unknown, clean: (text: string) => string): string {
  if (typeof input === 'string') return clean(input)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return JSON.stringify(input, null, 2) ?? ''
  const fields = Object.entries(input as Record<string, unknown>)
  const [only] = fields
  if (fields.length === 1 && only?.[0] === 'command' && typeof only[1] === 'string') return clean(only[1])
  const line = fields.length === 1 && only !== undefined ? commandLine(only) : null
  if (line !== null) return clean(line)
  return fields
    .map(([key, value]) => {
      const words = typeof value === 'string' ? value : commandLine([key, value])
      const text = words === null ? (JSON.stringify(value, null, 2) ?? '') : clean(words)
      return text.includes('\n') ? `${clean(key)}:\n${text.replace(/^/gm, '    ')}` : `${clean(key)}: ${text}`
    })
    .join('\n')
}

function line(text: string | null): string | null {
  return text === null ? null : plainLine(text)
}
