// Whose a child is. A person at the panel owns the workspace and sees every tree; a parent sees what it spawned and all
// below it, and a child of ours that calls Coxswain is a parent of its own.
import type { Child } from './child'
import { unknownChild, type Refused } from './decide'
import type { Answer } from './events'

/** Who a command comes from. */
export type Caller =
  | { readonly kind: 'person' }
  /** `child`: the caller is itself a child of this store. */
  | { readonly kind: 'parent'; readonly session: string; readonly child?: string | undefined }

export const personSession = 'person'

/** The parent session a caller's children carry. */
export const sessionOf = (caller: Caller): string => (caller.kind === 'person' ? personSession : caller.session)

/** Whether `child` belongs to the caller's tree. `lookUp` finds its ancestors, ended ones too. */
export function ownsChild(caller: Caller, child: Child, lookUp: (id: string) => Child | undefined): boolean {
  if (caller.kind === 'person') return true
  const seen = new Set<string>()
  for (let at: Child | undefined = child; at !== undefined && !seen.has(at.id);) {
    if (at.parentSession === caller.session) return true
    seen.add(at.id)
    at = at.parentChild === null ? undefined : lookUp(at.parentChild)
  }
  return false
}

/** What to answer a caller for whom `child` is not there: the truth to the parent it had before a person adopted it. */
export function refusalFor(
  caller: Caller,
  child: Child | undefined,
  lookUp: (id: string) => Child | undefined,
): Refused {
  const former = child?.formerParent ?? null
  if (child === undefined || former === null) return unknownChild
  const before = { ...child, parentSession: former.session, parentChild: former.child }
  if (!ownsChild(caller, before, lookUp)) return unknownChild
  return {
    code: 'adopted',
    message: `A person adopted "${child.title}" while its parent was away. It is theirs now; do not respawn it.`,
  }
}

/** `isAway`: nobody speaks for its parent now. */
export function decideAdoptBy(caller: Caller, child: Child, isAway: boolean): Refused | null {
  const no = (message: string): Refused => ({ code: 'unsupported', message })
  if (caller.kind !== 'person') return no('Only a person adopts a child.')
  if (child.parentSession === personSession) return no(`"${child.title}" is yours already.`)
  return isAway
    ? null
    : no(
        `"${child.title}" has its parent: it is there, or has heard all that came of it. You can steer, pause and stop the child all the same.`,
      )
}

/** Leave to act is a person's to give: an agent that could allow what its child asks for would allow it to itself. */
export function decideAnswerBy(caller: Caller, child: Child, requestId: string, answer: Answer): Refused | null {
  const asked = child.requests.find((request) => request.id === requestId)
  if (caller.kind === 'person' || asked?.ask.kind !== 'approval' || answer.kind !== 'allow') return null
  return { code: 'unsupported', message: 'Only a person can allow this. It waits in the panel; you may deny it.' }
}

/** Who gave leave takes it back. */
export function decideRevokeBy(caller: Caller): Refused | null {
  return caller.kind === 'person'
    ? null
    : { code: 'unsupported', message: 'Only a person takes back what a person allowed. Steer the child, or pause it.' }
}

/** A terminal has a person at it. */
export function decideTakeOverBy(caller: Caller): Refused | null {
  return caller.kind === 'person'
    ? null
    : { code: 'unsupported', message: 'Only a person takes a child over in a terminal. Steer it, or pause it.' }
}

/** The checked-out branch is the person's. */
export function decideApplyBy(caller: Caller): Refused | null {
  if (caller.kind === 'person') return null
  return {
    code: 'unsupported',
    message:
      "Only a person applies work to the checked-out branch. Merge the child's branch in your own worktree, or report it.",
  }
}

/** Taking work that did not pass as partial is a person's reading of it: an agent cannot clear its own verdict. */
export function decideAcceptPartialBy(caller: Caller): Refused | null {
  if (caller.kind === 'person') return null
  return { code: 'unsupported', message: 'Only a person takes work that did not pass as partial.' }
}
