// How a new worktree is made ready for a child: ignored files that come along and a command that runs in it, per
// repository. Pure: what may be in a setup, how it reads to a person, and its spelling that consent is given to.
import { z } from 'zod'
import { canonicalJson } from './canonicalJson'
import { cutText, visibleText } from './plainText'

/** Where a repository may offer a setup, relative to its top. It is never run unless a person agreed to its content. */
export const offeredPath = '.coxswain/setup.json'
/** Longest offer that is read, in bytes. */
export const offerBytes = 64 * 1024
export const defaultSetupSeconds = 600

const glob = z
  .string()
  .min(1)
  .max(500)
  .refine((text) => !text.startsWith('/') && !text.startsWith('~') && !/^[A-Za-z]:|\\|\0/.test(text), {
    error: 'is relative to the top of the repository, with / between folders',
  })
  .refine((text) => !text.split('/').includes('..'), { error: 'may not lead out of the repository with ..' })
  .refine((text) => !text.split('/').some((part) => part.toLowerCase() === '.git'), { error: 'may not name .git' })
  .refine((text) => !text.startsWith('!'), { error: 'cannot leave files out again with !' })

const setupSchema = z
  .strictObject({
    /** A program and its arguments, run without a shell at the top of the new worktree. */
    command: z
      .array(
        z
          .string()
          .max(8_000)
          .regex(/^[^\0]*$/, 'may not hold a NUL'),
      )
      .min(1)
      .max(200)
      .optional(),
    /** Which ignored files of the checkout come along, as globs from the top of the repository. */
    copy: z.array(glob).max(200).optional(),
    timeout_seconds: z.number().positive().max(86_400).optional(),
  })
  .refine((setup) => setup.command?.[0] !== '', { error: 'the command names no program' })
  .refine((setup) => setup.command !== undefined || (setup.copy ?? []).length > 0, {
    error: 'a setup copies something, runs something, or both',
  })
export type Setup = z.infer<typeof setupSchema>

/** A setup as somebody wrote it, or what is wrong with it in words. */
export function readSetup(value: unknown): { ok: true; setup: Setup } | { ok: false; problem: string } {
  const parsed = setupSchema.safeParse(value)
  if (parsed.success) return { ok: true, setup: parsed.data }
  const words = parsed.error.issues.map((issue) => {
    const place = issue.path.map(String).join('.')
    const what = issue.code === 'unrecognized_keys' ? `unknown key ${issue.keys.join(', ')}` : issue.message
    return place === '' ? what : `${place} ${what}`
  })
  return { ok: false, problem: words.join('; ') }
}

/** An offer's text, as found in the repository. */
export function parseOffer(text: string): { ok: true; setup: Setup } | { ok: false; problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, problem: 'it is not JSON' }
  }
  return readSetup(value)
}

/** The one spelling of a setup that its hash is taken of. */
export const setupText = (setup: Setup): string => canonicalJson(setup)

/** A command as a person would type it. Nothing is hidden: control characters are written out. */
export function commandLine(command: readonly string[]): string {
  return visibleText(command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word))).join(' ')).replace(
    /\n/g,
    '\\u{a}',
  )
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** Exactly what a setup does, one line each; never cut, because it is agreed to. */
export function setupLines(setup: Setup): string[] {
  const seconds = setup.timeout_seconds ?? defaultSetupSeconds
  return [
    ...(setup.copy ?? []).map((pattern) => `copies ignored files that match ${visibleText(pattern)}`),
    ...(setup.command === undefined ? [] : [`runs ${commandLine(setup.command)} (for at most ${seconds} s)`]),
  ]
}

/** The same in one short line, for rows and notices. */
export function setupBrief(setup: { readonly command?: readonly string[] | null | undefined }): string {
  return setup.command ? cutText(commandLine(setup.command), 80) : 'copies ignored files'
}

/** What a person agreed to. */
export interface ChosenSetup {
  readonly setup: Setup
  /** Hex SHA-256 of its text. */
  readonly hash: string
  readonly from: 'person' | 'repository'
  readonly at: string
}

/** What the repository offers. */
export interface OfferedSetup {
  readonly hash: string
  readonly setup: Setup | null
  /** Why it cannot be used; null when it can. */
  readonly problem: string | null
}

export interface Setups {
  readonly chosen: ChosenSetup | null
  readonly offered: OfferedSetup | null
}

/** In words for a person. */
export interface SetupProblem {
  readonly kind: 'problem'
  readonly message: string
}

/** What a new worktree is set up with; null for nothing. A problem when the offer is no longer what was agreed to. */
export function setupToRun({ chosen, offered }: Setups): ChosenSetup | null | SetupProblem {
  if (chosen === null || chosen.from === 'person') return chosen
  if (offered === null) return null
  if (offered.hash === chosen.hash) return chosen
  return {
    kind: 'problem',
    message: `The setup this repository offers (${offeredPath}) has changed since you agreed to it. Look at it and agree again, or clear it: "coxswain setup", or "Coxswain: Set up worktrees…" in VS Code.`,
  }
}

export const setupRequestSchema = z.strictObject({
  /** set: what a person wrote. consent: to what the repository offers, by its hash. clear: nothing any more. */
  action: z.enum(['set', 'consent', 'clear']),
  setup: z.unknown().optional(),
  hash: z.string().optional(),
})
export type SetupRequest = z.infer<typeof setupRequestSchema>
