// What a child was asked to deliver and how that will be checked: reading a contract, refusing by name what it must not
// say, freezing it to one spelling, and telling the child about it. Never reads a file and never judges a result.
import { z } from 'zod'
import { canonicalJson } from './canonicalJson'

const PATH_MAX = 4_096
const TEXT_MAX = 64_000
const RETRIES_MAX = 10
/** Seconds a command check may take when the contract says nothing. */
const COMMAND_TIMEOUT_SECONDS = 300
const COMMAND_TIMEOUT_MAX_SECONDS = 3_600

/** A path below the worktree, or the id of an inline deliverable. Parts are joined by `/`, without `.` and `..`. */
const pathSchema = z.string().min(1).max(PATH_MAX).transform(spellPath)
const globsSchema = z.array(z.string().min(1).max(PATH_MAX)).min(1)
const pointerSchema = z
  .string()
  .regex(/^(\/.*)?$/s, 'a JSON Pointer is empty or starts with /')
  .default('')
const countSchema = z.number().int().nonnegative()
const jsonSchemaSchema = z.union([z.record(z.string(), z.unknown()), z.boolean()])
/** Read from a file of the worktree, or from the object the child returned. */
const source = { path: pathSchema.optional(), output: z.literal(true).optional() }

/** Every kind of check and its keys. A check of a contract is an object with one key, its kind. */
export const checkSchemas = {
  file_exists: z.strictObject({ path: pathSchema }),
  file_contains: z.strictObject({
    path: pathSchema,
    text: z.string().min(1).max(TEXT_MAX).optional(),
    regex: z.string().min(1).max(TEXT_MAX).optional(),
    /** Of JavaScript's: i, m, s, u. */
    flags: z
      .string()
      .regex(/^[imsu]*$/, 'flags are any of i, m, s, u')
      .optional(),
  }),
  json_schema_ok: z.strictObject({
    ...source,
    pointer: pointerSchema,
    /** Each item of the array (or value of the object) at `pointer`, instead of the whole. */
    each: z.boolean().default(false),
    schema: jsonSchemaSchema.optional(),
    required: z.array(z.string().min(1)).min(1).optional(),
  }),
  count_at_least: z.strictObject({
    ...source,
    pointer: pointerSchema,
    n: countSchema,
    /** Items that repeat an earlier one are padding, unless the contract allows them. */
    duplicates: z.enum(['refused', 'allowed']).default('refused'),
  }),
  count_at_most: z.strictObject({ ...source, pointer: pointerSchema, n: countSchema }),
  file_unchanged: z.strictObject({ path: pathSchema }),
  only_changed: z.strictObject({ globs: globsSchema }),
  sha256: z.strictObject({
    path: pathSchema,
    hash: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'a SHA-256 is 64 hexadecimal digits')
      .transform((hash) => hash.toLowerCase()),
  }),
  command: z.strictObject({
    argv: z.array(z.string().max(TEXT_MAX)).min(1),
    timeoutSeconds: z.number().positive().max(COMMAND_TIMEOUT_MAX_SECONDS).default(COMMAND_TIMEOUT_SECONDS),
    /** A folder below the worktree. */
    cwd: pathSchema.optional(),
  }),
  /** JUnit XML: no failure, no error, and at least n tests that ran. */
  test_report: z.strictObject({ path: pathSchema, n: z.number().int().positive().default(1) }),
  /** At least one commit beyond the base, and nothing left uncommitted. */
  git_committed: z.strictObject({}),
  url_ok: z.strictObject({
    url: z.string().min(1).max(PATH_MAX),
    status: z.number().int().min(100).max(599).optional(),
  }),
} as const

/** Each kind in a sentence, for editors and pickers. */
export const checkMeanings: Readonly<Record<CheckKind, string>> = {
  file_exists: 'A regular file stands at this path.',
  file_contains: 'The file contains this text, or matches this regular expression (JavaScript).',
  json_schema_ok: 'The JSON at this place satisfies a schema, or is an object with these keys.',
  count_at_least: 'The list or object at this place has at least n different entries.',
  count_at_most: 'The list or object at this place has at most n entries.',
  file_unchanged: 'The file is as in the base commit.',
  only_changed: 'No file was changed that none of these globs matches.',
  sha256: 'The file has this SHA-256.',
  command: 'The command, run in the worktree without a shell after the child has ended, exits with 0.',
  test_report: 'The JUnit XML report shows no failure, no error, and at least n tests that ran.',
  git_committed: 'There is a commit beyond the base, and nothing is left uncommitted.',
  url_ok: 'The address, on this machine or of an allowed host, answers with success or with this status.',
}

export type CheckKind = keyof typeof checkSchemas
export const checkKinds = Object.keys(checkSchemas) as CheckKind[]
export type CheckOf<K extends CheckKind> = z.infer<(typeof checkSchemas)[K]>
/** `{ file_exists: { path } }`, and so on: one key, its kind. */
export type Check = { [K in CheckKind]: { readonly [key in K]: CheckOf<K> } }[CheckKind]
/** The same with the kind beside its arguments, for a switch. */
export type KindedCheck = { [K in CheckKind]: { readonly kind: K; readonly args: CheckOf<K> } }[CheckKind]

const deliverableSchema = z.strictObject({
  kind: z.enum(['file', 'inline', 'url']).default('file'),
  path: pathSchema.optional(),
  id: z.string().min(1).max(200).optional(),
  url: z.string().min(1).max(PATH_MAX).optional(),
  description: z.string().max(TEXT_MAX).optional(),
})

const levelSchema = z.enum(['none', 'light', 'full'])
export type Level = z.infer<typeof levelSchema>

/** The contract but for its checks, which are read one by one so that each refusal names its kind. */
export const contractShape = {
  /** Editors' pointer to our JSON Schema; not part of the contract. */
  $schema: z.string().optional(),
  goal: z.string().max(TEXT_MAX).optional(),
  deliverables: z.array(deliverableSchema).max(200).default([]),
  criteria: z.array(z.string().min(1).max(TEXT_MAX)).max(200).default([]),
  checks: z.array(z.unknown()).max(500).default([]),
  scope: globsSchema.optional(),
  output: jsonSchemaSchema.optional(),
  level: levelSchema.optional(),
  maxRetries: z.number().int().nonnegative().max(RETRIES_MAX).optional(),
}
const contractSchema = z.strictObject(contractShape)

export interface Deliverable {
  readonly kind: 'file' | 'inline' | 'url'
  /** What the child calls it in `artifacts`: its id, else its path or address. Unique in the contract. */
  readonly name: string
  /** For a file whose place the contract fixes. */
  readonly path?: string
  readonly url?: string
  readonly description?: string
}

/** A contract as checked: defaults filled in, paths spelled one way, nothing in it unknown. */
export interface Contract {
  readonly v: 1
  readonly level: Level
  readonly goal?: string
  readonly deliverables: readonly Deliverable[]
  readonly criteria: readonly string[]
  readonly checks: readonly Check[]
  readonly scope?: readonly string[]
  /** JSON Schema of the object the child returns. */
  readonly output?: JsonSchema
  readonly maxRetries: number
}
export type JsonSchema = boolean | Readonly<Record<string, unknown>>

export type ContractReading =
  | { readonly ok: true; readonly contract: Contract; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[] }

/** No contract: nothing is demanded and nothing is checked. */
export const noContract: Contract = { v: 1, level: 'none', deliverables: [], criteria: [], checks: [], maxRetries: 0 }

/**
 * A contract as somebody wrote it (an object, or nothing at all) → the contract, or every problem in it, each naming the
 * place. Warnings are for the author: what was accepted and is yet likely to say something other than meant.
 */
export function readContract(value: unknown): ContractReading {
  if (value === undefined || value === null) return { ok: true, contract: noContract, warnings: [] }
  const parsed = contractSchema.safeParse(value)
  if (!parsed.success)
    return { ok: false, problems: parsed.error.issues.flatMap((issue) => spell(issue, [], contractShape)) }
  const given = parsed.data
  const problems: string[] = []
  const checks = readChecks(given.checks, problems)
  const deliverables = readDeliverables(given.deliverables, problems)
  const level = given.level ?? 'full'
  for (const glob of given.scope ?? []) problems.push(...globProblems('scope', glob))
  problems.push(...levelProblems(level, given))
  if (given.output !== undefined) {
    problems.push(...schemaProblems('output', given.output))
    if (deliverables.length > 0 && refusesArtifacts(given.output))
      problems.push('output: the schema allows no key "artifacts", yet the contract has deliverables')
  }
  problems.push(...inlineProblems(checks, deliverables))
  if (problems.length > 0) return { ok: false, problems }
  const contract: Contract = {
    v: 1,
    level,
    ...(given.goal === undefined ? {} : { goal: given.goal }),
    deliverables,
    criteria: given.criteria,
    checks,
    ...(given.scope === undefined ? {} : { scope: given.scope }),
    ...(given.output === undefined ? {} : { output: given.output }),
    maxRetries: level === 'full' ? (given.maxRetries ?? 1) : 0,
  }
  return { ok: true, contract, warnings: warningsOf(contract) }
}

/** One check as written → read, or the problems in it, each starting with `place`. */
export function readCheck(
  value: unknown,
  place: string,
): { ok: true; check: Check } | { ok: false; problems: string[] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ok: false, problems: [`${place}: a check is an object with one key, its kind`] }
  const keys = Object.keys(value)
  const kind = keys[0]
  if (kind === undefined || keys.length > 1)
    return {
      ok: false,
      problems: [
        `${place}: a check has one key, its kind; this one has ${keys.length === 0 ? 'none' : keys.join(', ')}`,
      ],
    }
  if (!isCheckKind(kind))
    return { ok: false, problems: [`${place}: unknown kind "${kind}"; known: ${checkKinds.join(', ')}`] }
  const schema = checkSchemas[kind]
  const given = (value as Record<string, unknown>)[kind]
  const parsed = schema.safeParse(kind === 'git_committed' && given === true ? {} : given)
  if (!parsed.success)
    return { ok: false, problems: parsed.error.issues.flatMap((issue) => spell(issue, [place, kind], schema.shape)) }
  const check = { [kind]: parsed.data } as unknown as Check
  const problems = checkProblems(kinded(check)).map((problem) => `${place}.${kind}${problem}`)
  return problems.length > 0 ? { ok: false, problems } : { ok: true, check }
}

export function kinded(check: Check): KindedCheck {
  const [kind, args] = Object.entries(check)[0] as [CheckKind, never]
  return { kind, args }
}

/** Every check that runs: the contract's own, then those its scope and output schema imply. */
export function allChecks(contract: Contract): readonly Check[] {
  const checks = [...contract.checks]
  if (contract.scope !== undefined) checks.push({ only_changed: { globs: [...contract.scope] } })
  if (contract.output !== undefined)
    checks.push({ json_schema_ok: { output: true, pointer: '', each: false, schema: contract.output } })
  return checks
}

/** Whether this contract demands one JSON object from the child. */
export function demandsReport(contract: Contract): boolean {
  return contract.level === 'full'
}

export interface FrozenContract {
  /** What is stored, byte for byte. */
  readonly text: string
  readonly hash: string
}

/** The contract's one spelling and its hash, fixed before the start. `hash` gives lower-case hexadecimal SHA-256. */
export function freezeContract(contract: Contract, hash: (text: string) => string): FrozenContract {
  const text = canonicalJson(contract)
  return { text, hash: hash(text) }
}

/** A stored contract, if it is still the one that was frozen; the reason in words, if not. */
export function thawContract(
  frozen: FrozenContract,
  hash: (text: string) => string,
): { ok: true; contract: Contract } | { ok: false; reason: string } {
  if (hash(frozen.text) !== frozen.hash)
    return { ok: false, reason: 'the stored contract is not the one this child was given: its hash differs' }
  try {
    const value = JSON.parse(frozen.text) as Contract
    if (value.v === 1) return { ok: true, contract: value }
    return { ok: false, reason: 'the stored contract is of a newer version' }
  } catch {
    return { ok: false, reason: 'the stored contract is unreadable' }
  }
}

/** What the child's log keeps of it. */
export function contractRef(
  contract: Contract,
  frozen: FrozenContract,
): { level: Level; hash?: string; maxRetries: number; deliverables?: string[] } {
  if (contract.level === 'none') return { level: 'none', maxRetries: 0 }
  return {
    level: contract.level,
    hash: frozen.hash,
    maxRetries: contract.maxRetries,
    ...(contract.deliverables.length === 0 ? {} : { deliverables: contract.deliverables.map(({ name }) => name) }),
  }
}

/** JSON Schema of the object the child returns, for agents that can be held to one; undefined when none is demanded. */
export function outputSchema(contract: Contract): JsonSchema | undefined {
  if (!demandsReport(contract)) return undefined
  if (contract.output !== undefined) return contract.output
  const names = contract.deliverables.map((deliverable) => deliverable.name)
  return {
    type: 'object',
    additionalProperties: false,
    required: ['artifacts', 'summary'],
    properties: {
      artifacts: {
        type: 'object',
        additionalProperties: false,
        required: names,
        properties: Object.fromEntries(
          contract.deliverables.map((deliverable) => [
            deliverable.name,
            { type: 'string', description: artifactMeaning(deliverable) },
          ]),
        ),
      },
      summary: { type: 'string' },
    },
  }
}

/**
 * The part of the child's first prompt that tells it the contract; empty when there is none. `worktree` is absolute: a
 * child that is told only relative names has been seen to write them elsewhere.
 */
export function contractPrompt(contract: Contract, worktree: string): string {
  if (contract.level === 'none') return ''
  const lines = ['# Contract', '', `Your working folder is ${worktree}. Every path below is relative to it.`]
  if (contract.goal !== undefined) lines.push('', contract.goal)
  if (contract.deliverables.length > 0) {
    lines.push('', 'Deliver:')
    for (const deliverable of contract.deliverables)
      lines.push(`- ${deliverable.name}: ${artifactMeaning(deliverable, worktree)}`)
  }
  if (contract.criteria.length > 0) lines.push('', 'It is right when:', ...contract.criteria.map((line) => `- ${line}`))
  if (contract.scope !== undefined) lines.push('', `Change nothing but files that match: ${contract.scope.join(', ')}`)
  const checks = allChecks(contract).map((check) => describeCheck(check))
  if (checks.length > 0)
    lines.push(
      '',
      'After you end, these checks run on the real files, not on what you say:',
      ...checks.map((line) => `- ${line}`),
    )
  if (demandsReport(contract)) {
    const artifacts = Object.fromEntries(
      contract.deliverables.map((deliverable) => [
        deliverable.name,
        deliverable.kind === 'file'
          ? (deliverable.path ?? '<path>')
          : deliverable.kind === 'inline'
            ? '<content>'
            : '<address>',
      ]),
    )
    lines.push(
      '',
      'When everything is done, your last message must be exactly one JSON object and nothing else, no prose and no code fence:',
      JSON.stringify({ artifacts, summary: '<what you did and what is left>' }),
    )
    if (contract.output !== undefined)
      lines.push(`It must satisfy this JSON Schema: ${JSON.stringify(contract.output)}`)
    lines.push('If something could not be done, say so in "summary". Do not list a deliverable that does not exist.')
  }
  return lines.join('\n')
}

/** A check in one line, for people and for the child. */
export function describeCheck(check: Check): string {
  const { kind, args } = kinded(check)
  const of = (from: { path?: string | undefined; pointer: string }) =>
    `${from.path ?? 'the returned object'}${from.pointer === '' ? '' : ` at ${from.pointer}`}`
  switch (kind) {
    case 'file_exists':
      return `${args.path} exists`
    case 'file_contains':
      return args.text === undefined
        ? `${args.path} matches /${args.regex ?? ''}/${args.flags ?? ''}`
        : `${args.path} contains ${JSON.stringify(args.text)}`
    case 'json_schema_ok': {
      const what = args.required === undefined ? 'satisfies its schema' : `has ${args.required.join(', ')}`
      return `${args.each ? 'each item of ' : ''}${of(args)} ${what}`
    }
    case 'count_at_least':
      return `${of(args)} has at least ${args.n}${args.duplicates === 'refused' ? ' different' : ''} entries`
    case 'count_at_most':
      return `${of(args)} has at most ${args.n} entries`
    case 'file_unchanged':
      return `${args.path} is unchanged`
    case 'only_changed':
      return `nothing changed but ${args.globs.join(', ')}`
    case 'sha256':
      return `${args.path} has SHA-256 ${args.hash.slice(0, 12)}…`
    case 'command':
      return `${args.argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')} exits with 0`
    case 'test_report':
      return `${args.path} reports no failure and at least ${args.n} ${args.n === 1 ? 'test' : 'tests'}`
    case 'git_committed':
      return 'everything is committed'
    case 'url_ok':
      return `${args.url} answers${args.status === undefined ? '' : ` with ${args.status}`}`
  }
}

/** Why a command's exit code cannot speak for all of what it runs, or null. We start no shell; a contract may. */
export function hiddenExit(argv: readonly string[]): string | null {
  const words = argv[0]?.endsWith('env') === true ? argv.slice(1).filter((word) => !word.includes('=')) : argv
  const shell = words[0]?.split('/').pop() ?? ''
  if (!/^(ba|da|z|k|a)?sh$/.test(shell)) return null
  const at = words.findIndex((word, index) => index > 0 && /^-[a-z]*c[a-z]*$/.test(word))
  const script = at < 0 ? undefined : words[at + 1]
  if (script === undefined) return null
  const options = words.slice(1, at + 1)
  const bare = script.replace(/\\.|'[^']*'|"(?:[^"\\]|\\.)*"/gs, '_')
  if (/(^|[^|>])\|(?!\|)/.test(bare) && !/pipefail/.test(script) && !options.includes('pipefail'))
    return 'a pipe reports only the exit of its last program; say `set -o pipefail` or use two checks'
  if (/\|\|\s*(true|:|exit\s+0|echo)/.test(bare)) return 'the exit of a failing part is thrown away by `||`'
  const parts = bare.split(/[;\n]|(?<!&)&(?!&)/).filter((part) => !/^\s*(set\s.*|export\s.*|\w+=\S*)?\s*$/.test(part))
  const strict = /(^|[;\s])set\s+-[a-z]*e/.test(bare) || options.some((word) => /^-[a-z]*e/.test(word))
  if (parts.length > 1 && !strict && !/\b(if|for|while|case)\b/.test(bare))
    return 'only the exit of its last part counts; join the parts with `&&`, say `set -e`, or use several checks'
  return null
}

function artifactMeaning(deliverable: Deliverable, worktree?: string): string {
  const words = deliverable.description === undefined ? '' : `: ${deliverable.description}`
  switch (deliverable.kind) {
    case 'file':
      if (deliverable.path === undefined) return `a file, its path below your working folder${words}`
      return `the file ${worktree === undefined ? deliverable.path : `${worktree}/${deliverable.path}`}${words}`
    case 'inline':
      return `content, given in the returned object${words}`
    case 'url':
      return `${deliverable.url ?? 'an address'}${words}`
  }
}

function isCheckKind(kind: string): kind is CheckKind {
  return Object.hasOwn(checkSchemas, kind)
}

function readChecks(values: readonly unknown[], problems: string[]): Check[] {
  const checks: Check[] = []
  for (const [index, value] of values.entries()) {
    const read = readCheck(value, `checks[${index}]`)
    if (read.ok) checks.push(read.check)
    else problems.push(...read.problems)
  }
  return checks
}

function readDeliverables(given: readonly z.infer<typeof deliverableSchema>[], problems: string[]): Deliverable[] {
  const names = new Set<string>()
  const deliverables: Deliverable[] = []
  for (const [index, { kind, path, id, url, description }] of given.entries()) {
    const place = `deliverables[${index}]`
    const say = (problem: string) => problems.push(`${place}${problem}`)
    if (path !== undefined && kind === 'inline') say('.path: inline content is never written; give it an "id"')
    if (path !== undefined && kind === 'url') say('.path: an address goes into "url"')
    if (url !== undefined && kind !== 'url') say(`.url: a deliverable of kind "${kind}" has no address`)
    if (path !== undefined) problems.push(...pathProblems(`${place}.path`, path))
    const name = id ?? path ?? url
    if (name === undefined) {
      say(
        kind === 'file'
          ? ': a file needs a "path" (or an "id" whose path the child tells)'
          : `: a deliverable of kind "${kind}" needs an "id"`,
      )
      continue
    }
    if (names.has(name)) say(`: "${name}" is there twice`)
    names.add(name)
    deliverables.push({
      kind,
      name,
      ...(path === undefined ? {} : { path }),
      ...(url === undefined ? {} : { url }),
      ...(description === undefined ? {} : { description }),
    })
  }
  return deliverables
}

function levelProblems(level: Level, given: z.infer<typeof contractSchema>): string[] {
  const problems: string[] = []
  const refuse = (key: string, why: string) => problems.push(`${key}: ${why}`)
  if (level === 'full') return problems
  if (given.checks.length > 0) refuse('checks', `level "${level}" runs no checks; leave the level out, or say "full"`)
  if (given.scope !== undefined) refuse('scope', `level "${level}" runs no checks, and a scope is one`)
  if (given.output !== undefined) refuse('output', `level "${level}" demands no JSON`)
  if ((given.maxRetries ?? 0) > 0) refuse('maxRetries', `level "${level}" never asks again`)
  if (level === 'none' && given.deliverables.length > 0)
    refuse('deliverables', 'level "none" checks nothing; say "light" to have them looked for')
  if (level === 'light' && given.deliverables.some(({ kind }) => kind !== 'file'))
    refuse('deliverables', 'level "light" looks for files only')
  if (level === 'light' && given.deliverables.some(({ kind, path }) => kind === 'file' && path === undefined))
    refuse('deliverables', 'level "light" needs the path of each file, for the child is not asked for it')
  return problems
}

function checkProblems(check: KindedCheck): string[] {
  switch (check.kind) {
    case 'file_exists':
    case 'file_unchanged':
    case 'sha256':
    case 'test_report':
      return pathProblems('.path', check.args.path)
    case 'file_contains': {
      const { path, text, regex, flags } = check.args
      const problems = pathProblems('.path', path)
      if ((text === undefined) === (regex === undefined)) problems.push(': give either "text" or "regex"')
      if (flags !== undefined && regex === undefined) problems.push('.flags: they belong to a "regex"')
      if (regex !== undefined)
        try {
          new RegExp(regex, flags)
        } catch (error) {
          problems.push(`.regex: ${(error as Error).message}`)
        }
      return problems
    }
    case 'json_schema_ok': {
      const problems = sourceProblems(check.args)
      if ((check.args.schema === undefined) === (check.args.required === undefined))
        problems.push(': give either "schema" or "required"')
      if (check.args.schema !== undefined) problems.push(...schemaProblems('.schema', check.args.schema))
      return problems
    }
    case 'count_at_least':
    case 'count_at_most':
      return sourceProblems(check.args)
    case 'only_changed':
      return check.args.globs.flatMap((glob) => globProblems('.globs', glob))
    case 'command': {
      const problems = check.args.cwd === undefined ? [] : pathProblems('.cwd', check.args.cwd, 'folder')
      if (check.args.argv[0] === '') problems.push('.argv: the program has no name')
      for (const word of check.args.argv) {
        if (word.includes('\0')) problems.push('.argv: a word holds a NUL character')
        if (/^(\|\|?|&&?|;|\d?>>?|<|\d>&\d)$/.test(word))
          problems.push(`.argv: "${word}" is a word of a shell, and no shell is started; use several checks`)
      }
      return problems
    }
    case 'git_committed':
      return []
    case 'url_ok':
      return []
  }
}

function sourceProblems(args: { path?: string | undefined; output?: true | undefined }): string[] {
  if ((args.path === undefined) === (args.output === undefined)) return [': give either "path" or "output": true']
  return args.path === undefined ? [] : pathProblems('.path', args.path)
}

/** A check on inline content must be one that can read it: it has no path, no base and no age. */
function inlineProblems(checks: readonly Check[], deliverables: readonly Deliverable[]): string[] {
  const inline = new Set(deliverables.filter(({ kind }) => kind !== 'file').map(({ name }) => name))
  return checks.flatMap((check) => {
    const { kind, args } = kinded(check)
    if (kind !== 'file_unchanged' || !inline.has(args.path)) return []
    return [`checks: ${kind} cannot look at "${args.path}", which is no file`]
  })
}

/** `a//./b` → `a/b`. What is wrong with a path is said by pathProblems; a spelling never hides it. */
function spellPath(path: string): string {
  if (path.startsWith('/') || path.endsWith('/')) return path
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  return parts.length === 0 ? '.' : parts.join('/')
}

function pathProblems(place: string, path: string, names: 'file' | 'folder' = 'file'): string[] {
  const shown = JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
  if (path.includes('\0')) return [`${place}: ${shown} holds a NUL character`]
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) || path.startsWith('\\\\'))
    return [`${place}: ${shown} is absolute; paths are relative to the child's worktree`]
  const parts = path.split('/')
  if (parts.includes('..')) return [`${place}: ${shown} leaves the child's worktree`]
  if (names === 'file' && (path.endsWith('/') || path === '.')) return [`${place}: ${shown} is a folder; name a file`]
  if (parts.some((part) => part.toLowerCase() === '.git')) return [`${place}: ${shown} lies in git's own files`]
  if (parts.some((part) => part.length > 255)) return [`${place}: ${shown} has a part longer than 255 characters`]
  return []
}

function globProblems(place: string, glob: string): string[] {
  const shown = JSON.stringify(glob)
  if (glob.includes('\0')) return [`${place}: ${shown} holds a NUL character`]
  if (glob.startsWith('/')) return [`${place}: ${shown} is absolute; globs are relative to the child's worktree`]
  if (glob.startsWith('!')) return [`${place}: ${shown} excludes; say only what may be changed`]
  if (glob.split('/').includes('..')) return [`${place}: ${shown} leaves the child's worktree`]
  return []
}

/** References that would have to be fetched. Ones to the schema itself and to a `$id` inside it are fine. */
function schemaProblems(place: string, schema: JsonSchema): string[] {
  const ids = new Set<string>()
  const references: string[] = []
  const walk = (value: unknown, depth: number): void => {
    if (depth > 200) throw new RangeError()
    if (Array.isArray(value)) for (const item of value) walk(item, depth + 1)
    else if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value)) {
        if (key === '$id' && typeof member === 'string') ids.add(member.replace(/#$/, ''))
        else if ((key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') && typeof member === 'string')
          references.push(member)
        // What stands there is data, not schema.
        else if (key !== 'const' && key !== 'enum' && key !== 'default' && key !== 'examples') walk(member, depth + 1)
      }
  }
  try {
    walk(schema, 0)
  } catch {
    return [`${place}: the schema is nested more than 200 deep`]
  }
  return references
    .filter((reference) => !reference.startsWith('#') && !ids.has(reference.split('#')[0] ?? ''))
    .map(
      (reference) => `${place}: "$ref": ${JSON.stringify(reference)} would have to be fetched; put it into the schema`,
    )
}

function refusesArtifacts(schema: JsonSchema): boolean {
  if (schema === false) return true
  if (schema === true || schema['additionalProperties'] !== false) return false
  const properties = schema['properties']
  return typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, 'artifacts')
}

function warningsOf(contract: Contract): string[] {
  const warnings: string[] = []
  for (const [index, check] of contract.checks.entries()) {
    const { kind, args } = kinded(check)
    if (kind !== 'command') continue
    const hidden = hiddenExit(args.argv)
    if (hidden !== null) warnings.push(`checks[${index}].command: ${hidden}; its exit 0 will not count as a pass`)
    if (args.argv.length === 1 && /\s/.test(args.argv[0] ?? ''))
      warnings.push(
        `checks[${index}].command: argv is a list of words, e.g. ["npm", "test"]; this is one word with spaces`,
      )
  }
  if (contract.level === 'light' && contract.deliverables.length === 0)
    warnings.push('level "light" without deliverables checks nothing')
  if (contract.level === 'full' && contract.deliverables.length === 0 && allChecks(contract).length === 0)
    warnings.push('nothing in this contract can be checked by a machine: the result will be "unverified"')
  return warnings
}

/** One zod issue as a sentence that starts with the place and, for an unknown key, names the known ones. */
function spell(issue: z.core.$ZodIssue, at: readonly string[], shape: Readonly<Record<string, unknown>>): string[] {
  const place =
    [...at.slice(0, 1), ...at.slice(1).map((part) => `.${part}`)].join('') + spellPlace(issue.path, at.length === 0)
  const lead = place === '' ? '' : `${place}: `
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => {
        const known =
          issue.path.length === 0
            ? Object.keys(shape)
            : issue.path[0] === 'deliverables'
              ? Object.keys(deliverableSchema.shape)
              : []
        const list = known.filter((name) => name !== '$schema')
        return `${lead}unknown key "${key}"${list.length === 0 ? '; it takes none' : `; known: ${list.join(', ')}`}`
      })
    case 'invalid_type': {
      const missing = /received undefined/.test(issue.message)
      return [`${lead}${missing ? 'is missing' : issue.message.replace(/^Invalid input: /, '')}`]
    }
    default:
      return [`${lead}${issue.message.replace(/^Invalid input: /, '')}`]
  }
}

function spellPlace(path: readonly PropertyKey[], atStart: boolean): string {
  let place = ''
  for (const part of path)
    place += typeof part === 'number' ? `[${part}]` : place === '' && atStart ? String(part) : `.${String(part)}`
  return place
}
