// What a person can do to a child right now, and why not when not. The supervisor decides; this only keeps buttons honest
// beforehand, in the same words wherever a button stands.
import {
  awaitsVerdict,
  acceptance,
  currentAttempt,
  isLive,
  isSettingUp,
  missedSteers,
  openRequests,
  type Child,
} from '../../core/child'
import { decideTakeOver } from '../../core/decide'
import { checksToOverride } from '../../core/verdict'
import { t } from './l10n'

export type Able = { readonly able: true } | { readonly able: false; readonly why: string }
export interface Actions {
  readonly steer: Able
  readonly pause: Able
  readonly resume: Able
  readonly stop: Able
  readonly review: Able
  readonly verify: Able
  readonly retry: Able
  readonly acceptPartial: Able
  readonly apply: Able
  readonly discard: Able
  readonly takeOver: Able
}

const yes: Able = { able: true }
const no = (why: string): Able => ({ able: false, why })

export function actions(child: Child): Actions {
  const accepts = acceptance(child)
  return {
    steer: accepts.accepting ? yes : no(accepts.why),
    pause: pause(child),
    resume: resume(child),
    stop: stop(child),
    review: review(child),
    verify: verify(child),
    retry: retry(child),
    acceptPartial: acceptPartial(child),
    apply: apply(child),
    discard: discard(child),
    takeOver: takeOver(child),
  }
}

function review(child: Child): Able {
  if (child.worktree === null) return no(t('it has no worktree'))
  return child.discarded ? no(t('its worktree was discarded')) : yes
}

/** Taking back what was allowed for the whole child. */
export function revoke({ task: { recipe } }: Child): Able {
  if (recipe.abilities.revoke === true) return yes
  return no(t('{agent} keeps by itself what it may do; pause it, then resume it', { agent: recipe.label }))
}

function verify(child: Child): Able {
  if (awaitsVerdict(child)) return no(t('it is being verified already'))
  if (isLive(child)) return no(t('it is running; its work is verified when it has ended'))
  if (child.task.contract.level === 'none') return no(t('it has no contract, so there is nothing to check'))
  if (currentAttempt(child) === undefined) return no(t('no agent has worked on it yet'))
  return hasWorktree(child)
}

/** Resuming it with exactly what its verdict found wrong. */
function retry(child: Child): Able {
  const open = hasOpenVerdict(child)
  return open.able ? resume(child) : open
}

function acceptPartial(child: Child): Able {
  const open = hasOpenVerdict(child)
  if (!open.able) return open
  if (child.partialAccepted) return no(t('you have taken it as partial already'))
  return child.discarded ? no(t('its worktree was discarded')) : yes
}

function hasOpenVerdict(child: Child): Able {
  if (isLive(child)) return no(t('it is running; its work is verified when it has ended'))
  if (child.verdict === null) return no(t('it has no verdict'))
  if (child.applied) return no(t('its work has been applied already'))
  return checksToOverride(child.verdict).length === 0 ? no(t('nothing in its verdict is open')) : yes
}

/** What did not pass is asked about when it comes to it; the rest refuses beforehand. */
function apply(child: Child): Able {
  if (isLive(child)) return no(t('it is running; stop it or let it end first'))
  if (child.applied) return no(t('its work has been applied already'))
  return hasWorktree(child)
}

function hasWorktree(child: Child): Able {
  if (child.phase === 'UNKNOWN') return no(t('it cannot be seen at the moment'))
  if (child.worktree === null) return no(t('it never had a worktree'))
  return child.discarded ? no(t('its worktree was discarded')) : yes
}

function takeOver(child: Child): Able {
  const refused = decideTakeOver(child)
  return refused === null ? yes : no(refused.message)
}

function discard(child: Child): Able {
  if (isLive(child)) return no(t('it is running; stop it first'))
  return hasWorktree(child)
}

/** Why there is nothing to pause or to stop, or null while it is on its way or at work. */
function whyIdle(child: Child): string | null {
  switch (child.phase) {
    case 'PENDING':
    case 'STARTING':
    case 'RUNNING':
      return null
    case 'CANCEL_REQUESTED':
      return t('it is being stopped already')
    case 'INTERRUPTED':
      return child.paused ? t('it is paused already') : t('it is not running')
    case 'SUCCESS':
    case 'FAILURE':
    case 'CANCELLED':
      return t('it has ended')
    case 'UNKNOWN':
      return t('it cannot be seen at the moment')
  }
}

function pause(child: Child): Able {
  const idle = whyIdle(child)
  if (idle !== null) return no(idle)
  if (child.phase === 'PENDING') return no(t('it has not started yet'))
  if (child.verifying) return no(t('its work is being verified'))
  if (child.delegating) return no(t('it waits for its children'))
  if (isSettingUp(child)) return child.setup?.endRequest ? no(t('it is being paused')) : yes
  const attempt = currentAttempt(child)
  if (attempt === undefined || attempt.launchedAt === null) return no(t('it has not started yet'))
  if (attempt.endRequest !== null) return no(t('it is being paused'))
  if (attempt.closing || attempt.ended !== null) return no(t('it is finishing'))
  if (!child.task.recipe.abilities.resume)
    return no(t('{agent} cannot go on after a pause; it can only be stopped', { agent: child.task.recipe.label }))
  return yes
}

function resume(child: Child): Able {
  switch (child.phase) {
    case 'PENDING':
    case 'STARTING':
    case 'RUNNING':
      return no(t('it is running'))
    case 'CANCEL_REQUESTED':
      return no(t('it is being stopped'))
    case 'UNKNOWN':
      return no(t('it cannot be seen at the moment'))
    case 'SUCCESS':
    case 'FAILURE':
    case 'INTERRUPTED':
    case 'CANCELLED':
      break
  }
  if (child.discarded) return no(t('its worktree was discarded'))
  if (child.worktree === null) return no(t('it never had a worktree'))
  if (child.attempts.length === 0) return child.setup === null ? no(t('it never started')) : yes
  if (!child.task.recipe.abilities.resume)
    return no(t('{agent} cannot be resumed; start a new child with the same brief', { agent: child.task.recipe.label }))
  return yes
}

function stop(child: Child): Able {
  // A paused child can still be called off.
  const idle = child.phase === 'INTERRUPTED' && child.paused ? null : whyIdle(child)
  return idle === null ? yes : no(idle)
}

/** Words for `contextValue`, which menus match one by one: `viewItem =~ /\bcanSteer\b/`. */
export function facets(child: Child): readonly string[] {
  const can = actions(child)
  return [
    'child',
    ...(can.steer.able ? ['canSteer'] : []),
    ...(can.pause.able ? ['canPause'] : []),
    ...(can.resume.able ? ['canResume'] : []),
    ...(can.stop.able ? ['canStop'] : []),
    ...(can.verify.able ? ['canVerify'] : []),
    ...(can.retry.able ? ['canRetry'] : []),
    ...(can.acceptPartial.able ? ['canAcceptPartial'] : []),
    ...(can.apply.able ? ['canApply'] : []),
    ...(can.discard.able ? ['canDiscard'] : []),
    ...(can.takeOver.able ? ['canTakeOver'] : []),
    ...(child.takenOver && !isLive(child) ? ['takenOver'] : []),
    ...(child.suggestion !== null && isLive(child) ? ['suggests'] : []),
    ...(child.automaticSteering && isLive(child) ? ['automatic'] : []),
    ...(!child.automaticSteering && isLive(child) && can.stop.able ? ['byHand'] : []),
    ...(openRequests(child).length > 0 && child.phase === 'RUNNING' ? ['asks'] : []),
    ...(child.worktree !== null && !child.discarded ? ['hasWorktree'] : []),
    ...(child.verdict !== null ? ['hasVerdict'] : []),
    ...(missedSteers(child).length > 0 ? ['hasMissed'] : []),
    child.pinned ? 'pinned' : 'loose',
    child.archived ? 'archived' : 'kept',
  ]
}
