// Reads one agent's settings through its schema and turns what is wrong into one sentence for people. Owns no schema
// itself: each kind of agent brings its own.
import { z } from 'zod'

export type SettingsReading<T> =
  { readonly ok: true; readonly settings: T } | { readonly ok: false; readonly refusal: string }

/** `value` is what stands under the agent's id, without `kind`. Unknown keys are refused by name, never ignored. */
export function readSettings<T>(schema: z.ZodType<T>, id: string, value: unknown): SettingsReading<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { ok: true, settings: parsed.data }
  return { ok: false, refusal: `The settings of agent "${id}" cannot be used: ${issuesInWords(parsed.error.issues)}.` }
}

/** At most three problems, each with its place: `"command" is missing; "colour" is not a known key`. */
export function issuesInWords(issues: readonly z.core.$ZodIssue[]): string {
  const words = issues.slice(0, 3).map(issueInWords)
  if (issues.length > 3) words.push(`and ${issues.length - 3} more`)
  return words.join('; ')
}

function issueInWords(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => `"${place === '' ? key : `${place}.${key}`}"`)
    return keys.length === 1 ? `${keys.join()} is not a known key` : `${keys.join(', ')} are not known keys`
  }
  if (issue.code === 'invalid_key') return `"${place}" ${issue.issues[0]?.message ?? 'is not a good name'}`
  const message = issue.message.replace(/\.$/, '')
  return place === '' ? message : `"${place}": ${message}`
}

/** Names of environment variables handed on to an agent; values never stand in settings. */
export const variableNames = z
  .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be names of environment variables, without values'))
  .max(100)
