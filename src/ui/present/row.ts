// One row of the tree as plain values: what a person sees at a glance, what a screen reader says, what menus match.
// Nothing is told by colour alone, and every word of an agent has passed plainText.
import {
  acceptance,
  currentAttempt,
  awaitsVerdict,
  isLive,
  missedSteers,
  totalUsage,
  waitingSteers,
  type Child,
} from '../../core/child'
import type { TaskUsage } from '../../core/events'
import { spentTogether } from '../../core/subtree'
import { cutText, plainLine } from '../../core/plainText'
import { shortDuration } from '../../protocol/duration'
import type { ChildView } from '../../supervisor/view'
import { facets } from './actions'
import { t } from './l10n'
import { statWords } from './review'
import { noOverlaps, noStats, standingOf, type Overlap, type OverlapsOf, type Standing, type StatOf } from './standing'
import {
  costWords,
  endReason,
  appliedWords,
  hintWords,
  interruptedBy,
  needBrief,
  needWords,
  branchWords,
  parentWords,
  noSteerBrief,
  phaseWords,
  runTime,
  titleOf,
  tokenWords,
  verdictWords,
} from './words'

export interface Icon {
  /** A codicon id. */
  readonly id: string
  /** A theme colour id, beside the shape, never instead of it. */
  readonly color: string | null
}

export interface Row {
  readonly label: string
  readonly description: string
  readonly icon: Icon
  /** The whole sentence a screen reader says; without figures that change every second. */
  readonly sentence: string
  readonly context: string
  /** Pairs of name and value, in order; the tree renders them. */
  readonly tooltip: readonly { readonly name: string; readonly value: string }[]
}

/** A child and all it dispatched, itself first. */
export type SubtreeOf = (child: Child) => readonly Child[]
const alone: SubtreeOf = (child) => [child]

/** Finds a child by its id. */
export type LookUp = (id: string) => Child | undefined

/** @param now milliseconds since 1970 */
export function row(
  view: ChildView,
  now: number,
  statOf: StatOf = noStats,
  overlapsOf: OverlapsOf = noOverlaps,
  subtreeOf: SubtreeOf = alone,
  lookUp: LookUp = () => undefined,
): Row {
  const { child } = view
  const need = needWords(child)
  const needed = needBrief(child)
  const live = isLive(child)
  const accepts = acceptance(child)
  const verdict = awaitsVerdict(child) ? null : verdictWords(child)
  const partial = child.verdict?.disposition === 'partial' && need !== null && need === verdict
  const title = titleOf(child)
  // The default side bar shows some 38 characters of a row. What tells it from others comes first; how it stands must still
  // be read beside it while it works, and is in its sign and its group once it has ended.
  const label = cutText(title, live ? 22 : 26)
  const agent = plainLine(child.task.recipe.label, 40)
  const doing = need ?? doingNow(view, now)
  const since = sinceOf(view)
  const missed = missedSteers(child).length
  const waiting = waitingSteers(child).length
  const stat = live || child.discarded ? null : statOf(child.id)
  const changed = stat === null ? null : statWords(stat)
  const overlaps = live ? overlapsOf(child.id) : []
  const shared = new Set(overlaps.flatMap(({ paths }) => paths)).size
  const overlapping =
    shared === 0
      ? null
      : shared === 1
        ? t('1 file changed by others too')
        : t('{n} files changed by others too', { n: shared })

  const queue = waiting === 0 ? null : waiting === 1 ? t('1 steer waiting') : t('{n} steers waiting', { n: waiting })
  const hint = hintWords(child)
  const why = noSteerBrief(child)
  // Why it takes none is often all that can be said of it: then that is its state, and comes first.
  const steering = !live
    ? null
    : why === null
      ? t('accepting steer')
      : doing === why
        ? t('no steer now')
        : t('no steer: {why}', { why })
  // What nobody sees at work comes before whether it takes a steer; what it does while it works comes after.
  const state = need !== null ? null : live ? doing : stateBrief(view, now)
  const busy = child.phase === 'RUNNING' && !child.delegating && Object.keys(child.conditions).length === 0
  const stateFirst = !busy || doing === why
  const description = [
    // What it needs comes before everything else there is room for.
    needed,
    view.parentAway ? t('parent away') : null,
    hint,
    stateFirst ? state : null,
    steering,
    live ? queue : null,
    stateFirst ? null : state,
    since === null ? null : rowDuration(now - since),
    child.phase === 'INTERRUPTED' && !child.discarded ? t('resume it to steer') : null,
    overlapping,
    missed > 0 && need === null ? t('{n} missed', { n: missed }) : null,
    partial ? t('partial') : null,
    verdict === null || verdict === need || state?.includes(verdict) === true ? null : verdict,
    changed,
    agent,
  ]
  const sentence = [
    title,
    need === null ? null : t('needs you: {what}', { what: need }),
    phaseWords(child),
    need === null && doing !== phaseWords(child) ? doing : null,
    since === null ? null : t('for {duration}', { duration: coarse(now - since) }),
    !live ? null : accepts.accepting ? t('accepting steer') : t('not accepting steer: {why}', { why: accepts.why }),
    hint,
    live ? queue : null,
    missed === 0 ? null : missed === 1 ? t('1 steer missed') : t('{n} steers missed', { n: missed }),
    verdict === null || verdict === need || phaseWords(child).includes(verdict) ? null : verdict,
    changed,
    overlapping,
    view.parentAway ? t('its parent is away') : null,
    t('agent {agent}', { agent }),
    child.pinned ? t('pinned') : null,
    unread(child) ? t('unread') : null,
  ]
  return {
    label,
    description: join(description, ' · '),
    icon: icon(child),
    sentence: join(sentence, ', '),
    context: [...facets(child), ...(view.parentAway ? ['parentAway'] : [])].join(' '),
    tooltip: [...tooltip(view, now, subtreeOf(child), lookUp), ...overlaps.map(overlapPair)],
  }
}

/** It has settled and nobody has looked since. */
export function unread(child: Child): boolean {
  return !child.seen && child.settledAt !== null && !child.archived
}

/** The time of day is of use only when it is not at once. */
const soonMs = 60_000

function conditionWords({ words, until }: Child['conditions'][string], now: number): string {
  const what = plainLine(words, 60)
  if (until === null || Date.parse(until) - now < soonMs) return what
  const time = new Date(until).toTimeString().slice(0, 5)
  return t('{what} until {time}', { what, time })
}

function doingNow(view: ChildView, now: number): string {
  const { child } = view
  if (child.delegating) return t('waiting for its children')
  if (child.phase === 'RUNNING' && !child.verifying && (currentAttempt(child)?.endRequest ?? null) === null) {
    const condition = Object.values(child.conditions)[0]
    if (condition !== undefined) return conditionWords(condition, now)
    if (view.activity !== null) return plainLine(view.activity, 60)
  }
  const reason = child.phase === 'FAILURE' ? endReason(child) : null
  return reason === null || child.discarded
    ? phaseWords(child)
    : t('failed: {reason}', { reason: plainLine(reason, 80) })
}

/** How an ended child stands, in as few words as tell it from another. */
function stateBrief(view: ChildView, now: number): string {
  const { child } = view
  if (child.discarded || child.phase === 'FAILURE') return doingNow(view, now)
  if (child.verifyingAgain) return t('verifying')
  const applied = appliedWords(child)
  if (applied !== null) return applied
  if (child.phase === 'SUCCESS' && child.verdict?.status === 'verified') return t('verified')
  return (child.phase === 'INTERRUPTED' ? interruptedBy(child) : null) ?? phaseWords(child)
}

/** Since when it does what it does: milliseconds since 1970, null when the time is of no use. */
function sinceOf(view: ChildView): number | null {
  const { child } = view
  const at = isLive(child)
    ? child.phase === 'RUNNING'
      ? (view.activityAt ?? currentAttempt(child)?.launchedAt ?? child.acceptedAt)
      : (currentAttempt(child)?.launchingAt ?? child.acceptedAt)
    : (child.settledAt ?? currentAttempt(child)?.endedAt ?? null)
  if (at === null) return null
  const ms = Date.parse(at)
  return Number.isNaN(ms) ? null : ms
}

/** Milliseconds until the row's age may read otherwise; Infinity for a row without one. */
export function ageStep(view: ChildView, now: number): number {
  const since = sinceOf(view)
  if (since === null) return Infinity
  return isLive(view.child) && now - since < 60_000 ? 5_000 : 30_000
}

/** A row that changed every second could not be hovered: VS Code draws it anew each time. Steps of ten seconds do. */
function rowDuration(ms: number): string | null {
  if (ms < 10_000) return null
  return shortDuration(ms < 60_000 ? Math.floor(ms / 10_000) * 10_000 : ms)
}

/** Minutes and up: a screen reader must not hear a new sentence every second. */
function coarse(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return t('less than a minute')
  if (minutes === 1) return t('1 minute')
  if (minutes < 60) return t('{n} minutes', { n: minutes })
  const hours = Math.floor(minutes / 60)
  return hours === 1 ? t('1 hour') : t('{n} hours', { n: hours })
}

const standingColor: Readonly<Record<Standing, string | null>> = {
  needsYou: 'notificationsWarningIcon.foreground',
  working: 'charts.blue',
  paused: 'charts.yellow',
  review: null,
  finished: 'disabledForeground',
}

export function icon(child: Child): Icon {
  const standing = standingOf(child)
  const color = standingColor[standing]
  const open = child.requests.find((request) => request.answer === null)
  if (standing === 'needsYou' && isLive(child)) {
    if (open?.ask.kind === 'approval') return { id: 'shield', color }
    if (open !== undefined) return { id: 'question', color }
    return { id: 'warning', color }
  }
  if (child.verifyingAgain) return { id: 'beaker', color }
  switch (child.phase) {
    case 'PENDING':
      return { id: child.waitingForSlot ? 'clock' : 'loading~spin', color }
    case 'STARTING':
      return { id: 'loading~spin', color }
    case 'RUNNING':
      if (child.verifying) return { id: 'beaker', color }
      if (child.delegating) return { id: 'type-hierarchy-sub', color }
      return { id: 'sync~spin', color }
    case 'CANCEL_REQUESTED':
      return { id: 'stop-circle', color }
    case 'SUCCESS':
      if (standing === 'needsYou') return { id: 'warning', color }
      return child.verdict?.status === 'verified'
        ? { id: 'verified-filled', color: 'testing.iconPassed' }
        : { id: 'pass', color: standing === 'review' ? 'charts.blue' : color }
    case 'FAILURE':
      return { id: 'error', color: 'testing.iconFailed' }
    case 'INTERRUPTED':
      return { id: 'debug-pause', color }
    case 'CANCELLED':
      return { id: 'circle-slash', color }
    case 'UNKNOWN':
      return { id: 'question', color }
  }
}

function tooltip(view: ChildView, now: number, subtree: readonly Child[], lookUp: LookUp): Row['tooltip'] {
  const { child } = view
  const attempt = currentAttempt(child)
  const usage = totalUsage(child)
  const ran = runTime(child)
  const accepts = acceptance(child)
  const waiting = waitingSteers(child).length
  const missed = missedSteers(child).length
  const pairs: [string, string | null][] = [
    [t('Goal'), plainLine(child.task.goal, 300)],
    [t('State'), join([phaseWords(child), endReason(child)], ': ')],
    [t('Needs you'), needWords(child)],
    [t('Agent'), join([child.task.recipe.label, attempt?.agentVersion ?? child.task.recipe.version ?? null], ' ')],
    [t('Parent'), parentWords(view, lookUp)],
    [t('Model'), attempt?.model ?? child.task.recipe.model ?? null],
    [t('Branch'), branchWords(child)],
    [
      t('Running time'),
      child.attempts.length === 0
        ? null
        : shortDuration(ran.doneMs + (ran.since === null ? 0 : now - Date.parse(ran.since))),
    ],
    [t('Attempts'), child.attempts.length > 1 ? String(child.attempts.length) : null],
    [t('Spent'), spentWords(usage)],
    [t('Spent with its children'), subtree.length > 1 ? spentWords(spentTogether(subtree)) : null],
    [t('Steering'), isLive(child) ? (accepts.accepting ? t('accepting steer') : accepts.why) : null],
    [t('Steers waiting'), waiting > 0 ? String(waiting) : null],
    [t('Steers missed'), missed > 0 ? String(missed) : null],
    [t('Checks'), verdictWords(child)],
  ]
  return pairs.flatMap(([name, value]) =>
    value === null || value === '' ? [] : [{ name, value: plainLine(value, 300) }],
  )
}

const spentWords = (usage: TaskUsage): string | null => join([tokenWords(usage), costWords(usage)], ', ') || null

function overlapPair({ title, paths }: Overlap): Row['tooltip'][number] {
  const named = paths.slice(0, 5).join(', ')
  const value = paths.length > 5 ? t('{files} and {n} more', { files: named, n: paths.length - 5 }) : named
  return { name: plainLine(t('Also changed by “{title}”', { title }), 120), value: plainLine(value, 300) }
}

function join(parts: readonly (string | null)[], separator: string): string {
  return parts.filter((part): part is string => part !== null && part !== '').join(separator)
}
