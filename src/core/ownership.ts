// Whose a child is. A person at the panel owns the workspace and sees every tree; a parent sees what it spawned and all
// below it, and a child of ours that calls Coxswain is a parent of its own.
import type { Child } from './child'

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
