// Capabilities to one child: plain data that only this store's secret can make. Whatever does not fit to the last bit opens
// nothing, and says no more than an id that never was.
import { z } from 'zod'
import type { Child } from '../core/child'
import type { StoreSecret } from './secret'

const contractVersion = 1

const handleSchema = z.strictObject({
  contractVersion: z.literal(contractVersion),
  childId: z.string().max(100),
  parentSessionId: z.string().max(200),
  createdAt: z.string().max(100),
  capability: z.string().max(200),
})
export type Handle = Readonly<z.infer<typeof handleSchema>>

/** The same child has the same handle each time. */
export function handleOf(child: Child, secret: StoreSecret): Handle {
  const fields = {
    contractVersion,
    childId: child.id,
    parentSessionId: child.parentSession,
    createdAt: child.acceptedAt,
  } as const
  return Object.freeze({ ...fields, capability: secret.sign(fields) })
}

/** The id of the child that a handle was made for, if it was made here and for `session`; undefined for everything else. Never throws. */
export function openedBy(value: unknown, session: string, secret: StoreSecret): string | undefined {
  let parsed
  try {
    parsed = handleSchema.safeParse(value)
  } catch {
    // A getter of theirs threw.
    return undefined
  }
  if (!parsed.success) return undefined
  const { capability, ...fields } = parsed.data
  return secret.isSigned(fields, capability) && fields.parentSessionId === session ? fields.childId : undefined
}
