// Which completions a parent is owed: the settled rounds of its children, grouped as they are told. Derived from the
// children's folds alone, so that every reader finds the same ones under the same ids, before and after any restart; what
// was due once stays due, with the same content, until it is acknowledged.
import { isPause, wasTakenBack, type Attempt, type Child } from './child'
import { personSession } from './ownership'

/** One telling: what one delegation's children came to in one round. */
export interface DueCompletion {
  /** `<delegation>.<round>`, with the places of its members behind it when paused ones were left out. */
  readonly id: string
  readonly delegationId: string
  readonly round: number
  /** ISO 8601 UTC: since when it is due. */
  readonly at: string
  /** In the delegation's order. */
  readonly members: readonly Child[]
  /** Children of the same delegation that were paused when it became due; they are told later, on their own. */
  readonly pausedLeft: readonly Child[]
  readonly acknowledged: boolean
}

/** A pause or an adoption that its parent must hear of, so that it does not try to recover the child. */
export type DueNotice = { readonly id: string; readonly child: Child } & (
  { readonly kind: 'paused'; readonly attempt: Attempt } | { readonly kind: 'adopted' }
)

/**
 * All that became due to `session`, oldest first, acknowledged ones too. `children` holds every child of each of its
 * delegations, in any order. A child that was adopted is no part of what became due after that.
 */
export function completionsOf(children: readonly Child[], session: string): readonly DueCompletion[] {
  const due: DueCompletion[] = []
  for (const delegation of byDelegation(
    children.filter((child) => isOrWasOf(child, session) && !wasTakenBack(child)),
  )) {
    due.push(...(delegation.some((child) => child.independentCompletions) ? [] : firstRounds(delegation, session)))
    for (const child of delegation)
      for (const { round, at } of child.completions)
        if ((round > 1 || child.independentCompletions) && parentAt(child, at) === session)
          due.push({
            id: `${child.id}.${round}`,
            delegationId: child.delegationId,
            round,
            at,
            members: [child],
            pausedLeft: [],
            acknowledged: isAcknowledged(child, round, session),
          })
  }
  return due.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.id < b.id ? -1 : 1))
}

/** Notices `session` has not acknowledged and nothing has overtaken, oldest first. A person sees all in the panel. */
export function noticesOf(children: readonly Child[], session: string): readonly DueNotice[] {
  return everyNotice(children, session)
    .filter((notice) => {
      const { child } = notice
      if (notice.kind === 'adopted') return child.formerParent?.told === false
      const { n, round } = notice.attempt
      return child.formerParent === null && !child.noticed.includes(n) && settledAt(child, round) === null
    })
    .sort((a, b) => (noticedAt(a) < noticedAt(b) ? -1 : 1))
}

/** Every notice this parent was or is to be told of. */
export function everyNotice(children: readonly Child[], session: string): readonly DueNotice[] {
  if (session === personSession) return []
  return children
    .filter((child) => isOrWasOf(child, session))
    .flatMap((child): DueNotice[] => [
      ...child.attempts
        .filter((attempt) => isPause(attempt.ended, attempt.endRequest))
        .map((attempt) => ({ id: `${child.id}.paused.${attempt.n}`, kind: 'paused' as const, child, attempt })),
      ...(child.formerParent === null ? [] : [{ id: `${child.id}.adopted`, kind: 'adopted' as const, child }]),
    ])
}

const noticedAt = (notice: DueNotice): string =>
  (notice.kind === 'adopted' ? notice.child.formerParent?.until : notice.attempt.endedAt) ?? ''

/** A person's own children need no more than to have been looked at. */
function isAcknowledged(child: Child, round: number, session: string): boolean {
  if (child.completions.some((completion) => completion.round === round && completion.acknowledged)) return true
  return session === personSession && (round < child.round || child.seen)
}

const isOrWasOf = (child: Child, session: string): boolean =>
  child.parentSession === session || child.formerParent?.session === session

/** Whose it was at that time. */
function parentAt(child: Child, at: string): string {
  const former = child.formerParent
  return former !== null && at < former.until ? former.session : child.parentSession
}

/**
 * A batch is told once, as soon as none of its children is at work and at least one has settled; those that were paused at
 * that moment are told later, the same way. It is read from the times of the facts, so that a child resumed afterwards does
 * not take back what was due.
 */
function firstRounds(delegation: readonly Child[], session: string): DueCompletion[] {
  const moments = delegation.flatMap((child) => [
    ...[settledAt(child, 1), child.formerParent?.until ?? null].filter((at) => at !== null),
    ...pauses(child).map(({ from }) => from),
  ])
  const due: DueCompletion[] = []
  let open = delegation
  for (const at of [...new Set(moments)].sort()) {
    const own = open.filter((child) => parentAt(child, at) === session)
    const through = own.filter((child) => (settledAt(child, 1) ?? '~') <= at)
    const rest = own.filter((child) => !through.includes(child))
    if (through.length === 0 || !rest.every((child) => isPausedAt(child, at))) continue
    due.push(firstRound(delegation, through, rest, at, session))
    open = open.filter((child) => !through.includes(child))
  }
  return due
}

function firstRound(
  delegation: readonly Child[],
  members: readonly Child[],
  pausedLeft: readonly Child[],
  at: string,
  session: string,
): DueCompletion {
  const delegationId = delegation[0]?.delegationId ?? ''
  const places = members.length === delegation.length ? '' : `.${members.map((child) => child.index).join('-')}`
  return {
    id: `${delegationId}.1${places}`,
    delegationId,
    round: 1,
    at,
    members,
    pausedLeft,
    acknowledged: members.every((child) => isAcknowledged(child, 1, session)),
  }
}

/** When the round's result was on disk; null as long as it is not. */
function settledAt(child: Child, round: number): string | null {
  return child.completions.find((completion) => completion.round === round)?.at ?? null
}

/** The pauses of the first round; `to` is null while one lasts. */
function pauses(child: Child): { readonly from: string; readonly to: string | null }[] {
  const attempts = child.attempts.filter((attempt) => attempt.round === 1)
  const between = attempts.flatMap((attempt, i) => {
    if (attempt.endedAt === null || !isPause(attempt.ended, attempt.endRequest)) return []
    return [{ from: attempt.endedAt, to: attempts[i + 1]?.launchingAt ?? settledAt(child, 1) }]
  })
  const before = child.setupPauses.map(({ from, to }) => ({ from, to: to ?? settledAt(child, 1) }))
  return [...before, ...between]
}

const isPausedAt = (child: Child, at: string): boolean =>
  pauses(child).some(({ from, to }) => from <= at && (to === null || at < to))

function byDelegation(children: readonly Child[]): Child[][] {
  const groups = new Map<string, Child[]>()
  for (const child of children) groups.set(child.delegationId, [...(groups.get(child.delegationId) ?? []), child])
  return [...groups.values()].map((group) => group.sort((a, b) => a.index - b.index))
}
