// What bytes say: text in whatever encoding, JSON, JUnit, and the checks on them. Pure and synchronous; it may take long
// or never end on hostile input, so anything but small and simple content runs in the worker (contentWorker.ts).
import type { Ajv as AjvBase, ErrorObject, Options, ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import Ajv2019 from 'ajv/dist/2019'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { canonicalJson } from '../core/canonicalJson'
import type { CheckOf, JsonSchema } from '../core/contract'
import { cutText, plainLine } from '../core/plainText'

/** JSON or XML nested deeper is refused before it is parsed. */
const DEPTH_MAX = 512

/** A question to the content of one file or of the returned object. Everything in it can be posted to a worker. */
export type Question =
  | { readonly kind: 'contains'; readonly args: CheckOf<'file_contains'> }
  | { readonly kind: 'schema'; readonly args: CheckOf<'json_schema_ok'> }
  | { readonly kind: 'atLeast'; readonly args: CheckOf<'count_at_least'> }
  | { readonly kind: 'atMost'; readonly args: CheckOf<'count_at_most'> }
  | { readonly kind: 'tests'; readonly args: CheckOf<'test_report'> }

/** The bytes of a file, or a value that was parsed before. `name` is what people call it. */
export type Subject =
  { readonly name: string; readonly bytes: Uint8Array } | { readonly name: string; readonly value: unknown }

export interface Finding {
  readonly result: 'PASS' | 'FAIL' | 'UNKNOWN'
  readonly reason: string
  readonly evidence?: string
  /** From 1. */
  readonly line?: number
  readonly recoverable: boolean
}

export function judgeContent(question: Question, subject: Subject): Finding {
  switch (question.kind) {
    case 'contains':
      return judgeContains(question.args, subject)
    case 'schema':
      return withJson(subject, question.args.pointer, (value) => judgeSchema(question.args, value, subject.name))
    case 'atLeast':
    case 'atMost':
      return withJson(subject, question.args.pointer, (value) => judgeCount(question, value, subject.name))
    case 'tests':
      return judgeTests(question.args, subject)
  }
}

type Decoded =
  | { readonly ok: true; readonly text: string; readonly encoding: 'UTF-8' | 'UTF-16' | 'not UTF-8' }
  | { readonly ok: false; readonly reason: string }

/** Text of a file: UTF-8 or UTF-16 with or without a byte order mark. Undecodable bytes become U+FFFD and are said. */
function decodeText(bytes: Uint8Array): Decoded {
  const [a, b, c, d] = bytes
  if ((a === 0xff && b === 0xfe && c === 0 && d === 0) || (a === 0 && b === 0 && c === 0xfe && d === 0xff))
    return { ok: false, reason: 'it is UTF-32; only UTF-8 and UTF-16 are read' }
  const utf16 = utf16Of(bytes)
  try {
    if (utf16 !== null)
      return { ok: true, text: new TextDecoder(utf16, { fatal: true }).decode(bytes), encoding: 'UTF-16' }
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'UTF-8' }
  } catch {
    return { ok: true, text: new TextDecoder(utf16 ?? 'utf-8').decode(bytes), encoding: 'not UTF-8' }
  }
}

function utf16Of(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  // Without a mark: text of mostly Latin letters has a zero in every other byte.
  const sample = Math.min(bytes.length, 512) & ~1
  if (sample < 2 || bytes.length % 2 !== 0) return null
  let even = 0
  let odd = 0
  for (let at = 0; at < sample; at += 2) {
    if (bytes[at] === 0) even++
    if (bytes[at + 1] === 0) odd++
  }
  const half = sample / 2
  if (odd * 10 >= half * 7 && even === 0) return 'utf-16le'
  if (even * 10 >= half * 7 && odd === 0) return 'utf-16be'
  return null
}

export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly complaint: string; readonly line?: number; readonly recoverable: boolean }

/** JSON.parse behind a depth limit, its complaint with line, column and the text at that place. */
export function parseJson(text: string): Parsed {
  if (text.trim() === '') return { ok: false, complaint: 'it is empty', recoverable: true }
  if (nestedBeyond(text, DEPTH_MAX))
    return { ok: false, complaint: `it is nested deeper than ${DEPTH_MAX} levels`, recoverable: false }
  try {
    return { ok: true, value: JSON.parse(text) as unknown }
  } catch (error) {
    const message = (error as Error).message
    const position = badPlace(text)
    const before = text.slice(0, position)
    const line = before.split('\n').length
    const column = position - before.lastIndexOf('\n')
    const near = plainLine(text.slice(Math.max(0, position - 20), position + 20), 60)
    // The engine quotes the text without bounds; its place and ours are enough.
    const what = cutText(
      message.replace(/, (\.\.\.)?".*" is not valid JSON$/s, '').replace(/ in JSON at position.*$/s, ''),
      120,
    )
    return {
      ok: false,
      complaint: `${what} at line ${line}, column ${column}, near ${JSON.stringify(near)}`,
      line,
      recoverable: true,
    }
  }
}

function nestedBeyond(text: string, limit: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (inString) {
      if (unit === 0x5c) at++
      else if (unit === 0x22) inString = false
    } else if (unit === 0x22) inString = true
    else if (unit === 0x5b || unit === 0x7b) {
      if (++depth > limit) return true
    } else if (unit === 0x5d || unit === 0x7d) depth--
  }
  return false
}

function badPlace(text: string): number {
  try {
    return firstBadPosition(text)
  } catch {
    // A string so long that the pattern's stack does not hold it.
    return text.length
  }
}

/** Where text stops being JSON, by our own reading: the engine's messages do not always tell. */
function firstBadPosition(text: string): number {
  const scalar =
    /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")/y
  const space = /[ \t\n\r]*/y
  const open: ('[' | '{')[] = []
  let at = 0
  let expects: 'value' | 'value or ]' | 'key or }' | 'key' | 'comma or end' = 'value'
  const skip = (): void => {
    space.lastIndex = at
    space.exec(text)
    at = space.lastIndex
  }
  for (;;) {
    skip()
    const unit = text[at]
    if (unit === undefined) return at
    const close = (bracket: '[' | '{'): boolean => {
      if (open[open.length - 1] !== bracket) return false
      open.pop()
      at++
      expects = 'comma or end'
      return true
    }
    switch (expects) {
      case 'value':
      case 'value or ]':
        if (unit === ']' && expects === 'value or ]') {
          if (!close('[')) return at
        } else if (unit === '[' || unit === '{') {
          open.push(unit)
          at++
          expects = unit === '[' ? 'value or ]' : 'key or }'
        } else {
          scalar.lastIndex = at
          if (scalar.exec(text) === null) return at
          at = scalar.lastIndex
          expects = 'comma or end'
        }
        break
      case 'key or }':
      case 'key':
        if (unit === '}' && expects === 'key or }') {
          if (!close('{')) return at
          break
        }
        scalar.lastIndex = at
        if (unit !== '"' || scalar.exec(text) === null) return at
        at = scalar.lastIndex
        skip()
        if (text[at] !== ':') return at
        at++
        expects = 'value'
        break
      case 'comma or end':
        if (unit === ',' && open.length > 0) {
          at++
          expects = open[open.length - 1] === '[' ? 'value' : 'key'
        } else if (unit === ']' || unit === '}') {
          if (!close(unit === ']' ? '[' : '{')) return at
        } else return at
        break
    }
  }
}

function withJson(subject: Subject, pointer: string, judge: (value: unknown) => Finding): Finding {
  let value: unknown
  if ('value' in subject) value = subject.value
  else {
    const decoded = decodeText(subject.bytes)
    if (!decoded.ok) return fail(`${subject.name} cannot be read: ${decoded.reason}`)
    if (decoded.encoding === 'not UTF-8') return fail(`${subject.name} is neither UTF-8 nor UTF-16`)
    const parsed = parseJson(decoded.text)
    if (!parsed.ok)
      return {
        result: 'FAIL',
        reason: `${subject.name} is no JSON: ${parsed.complaint}`,
        ...(parsed.line === undefined ? {} : { line: parsed.line }),
        recoverable: parsed.recoverable,
      }
    value = parsed.value
  }
  const found = resolvePointer(value, pointer)
  if (!found.ok) return fail(`${subject.name} ${found.reason}`)
  return judge(found.value)
}

/** RFC 6901. */
function resolvePointer(value: unknown, pointer: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  let here = value
  let walked = ''
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    const at = walked === '' ? 'at the root' : `at ${walked}`
    if (Array.isArray(here)) {
      if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) >= here.length)
        return { ok: false, reason: `has no item ${JSON.stringify(key)} ${at}: a list of ${here.length}` }
      here = here[Number(key)] as unknown
    } else if (typeof here === 'object' && here !== null) {
      if (!Object.hasOwn(here, key)) {
        const keys = Object.keys(here)
          .slice(0, 8)
          .map((name) => plainLine(name, 40))
        return { ok: false, reason: `has no ${JSON.stringify(key)} ${at}; there: ${keys.join(', ') || 'nothing'}` }
      }
      here = (here as Record<string, unknown>)[key]
    } else return { ok: false, reason: `has no ${JSON.stringify(key)} ${at}: it is ${typeName(here)}` }
    walked += `/${token}`
  }
  return { ok: true, value: here }
}

function judgeContains(args: CheckOf<'file_contains'>, subject: Subject): Finding {
  let text: string
  if ('value' in subject) text = typeof subject.value === 'string' ? subject.value : canonicalJson(subject.value)
  else {
    const decoded = decodeText(subject.bytes)
    if (!decoded.ok) return fail(`${subject.name} cannot be read: ${decoded.reason}`)
    text = decoded.text
  }
  // A contract is written with line feeds, whatever the file's line ends are.
  if (text.includes('\r\n')) text = text.replaceAll('\r\n', '\n')
  const wanted = args.text?.replaceAll('\r\n', '\n')
  let at: number
  let words: string
  if (wanted !== undefined) {
    at = text.indexOf(wanted)
    words = JSON.stringify(cutText(wanted, 200))
  } else {
    at = new RegExp(args.regex ?? '', args.flags).exec(text)?.index ?? -1
    words = `/${cutText(args.regex ?? '', 200)}/${args.flags ?? ''}`
  }
  const facts = `${text.length} characters, ${lineCount(text)} lines`
  if (at < 0) {
    const near = wanted !== undefined && text.toLowerCase().includes(wanted.toLowerCase())
    return {
      ...fail(
        `${subject.name} does not ${wanted === undefined ? 'match' : 'contain'} ${words}${near ? ', only in other letter case' : ''}`,
      ),
      evidence: text === '' ? 'the file is empty' : `${facts}; it begins: ${plainLine(text, 200)}`,
    }
  }
  const start = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  const line = lineCount(text.slice(0, at))
  return {
    result: 'PASS',
    reason: `${subject.name} ${wanted === undefined ? 'matches' : 'contains'} ${words}`,
    evidence: `line ${line}: ${plainLine(text.slice(start, end < 0 ? undefined : end), 300)}`,
    line,
    recoverable: true,
  }
}

function lineCount(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}

function judgeCount(
  { kind, args }: Extract<Question, { kind: 'atLeast' | 'atMost' }>,
  value: unknown,
  name: string,
): Finding {
  const place = args.pointer === '' ? name : `${name} at ${args.pointer}`
  let total: number
  let distinct: number
  if (Array.isArray(value)) {
    total = value.length
    distinct = new Set(value.map((item) => canonicalJson(item))).size
  } else if (typeof value === 'object' && value !== null) total = distinct = Object.keys(value).length
  else return fail(`${place} is ${typeName(value)}, nothing that can be counted`)
  const evidence = `${total} in all, ${distinct} distinct`
  if (kind === 'atMost') {
    if (total <= args.n) return { ...pass(`${place} has ${total} entries, at most ${args.n} are allowed`), evidence }
    return { ...fail(`${place} has ${total} entries; at most ${args.n} are allowed`), evidence }
  }
  if (total < args.n) return { ...fail(`${place} has ${total} of at least ${args.n} entries`), evidence }
  if (distinct < args.n && args.duplicates === 'refused')
    return {
      ...fail(
        `${place} has ${total} entries, but only ${distinct} different ones of at least ${args.n}; the others repeat them`,
      ),
      evidence,
    }
  return { ...pass(`${place} has ${total} entries, at least ${args.n} are wanted`), evidence }
}

function judgeSchema(args: CheckOf<'json_schema_ok'>, value: unknown, name: string): Finding {
  const place = args.pointer === '' ? name : `${name} at ${args.pointer}`
  let entries: [string, unknown][]
  if (!args.each) entries = [['', value]]
  else if (Array.isArray(value)) entries = value.map((item, index) => [`/${index}`, item])
  else if (typeof value === 'object' && value !== null)
    entries = Object.entries(value).map(([key, item]) => [`/${pointerToken(key)}`, item])
  else return fail(`${place} is ${typeName(value)}; "each" needs a list or an object`)
  if (args.each && entries.length === 0) return fail(`${place} has no entries, so none of them says anything`)
  const complaintOf = args.required === undefined ? validator(args.schema ?? true) : hasKeys(args.required)
  if (typeof complaintOf === 'object') return complaintOf
  const wrong: string[] = []
  let wrongCount = 0
  for (const [where, entry] of entries) {
    const complaint = complaintOf(entry)
    if (complaint === null) continue
    wrongCount++
    if (wrong.length < 10)
      wrong.push(`${args.pointer}${where}${complaint.startsWith('/') ? '' : ' '}${complaint}`.trim())
  }
  const of = args.each ? `${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}` : 'it'
  if (wrongCount === 0)
    return pass(args.each ? `all of ${of} of ${place} are as the schema says` : `${place} is as the schema says`)
  const reason = args.each
    ? `${wrongCount} of ${of} of ${place} are not as the schema says; the first: ${wrong[0] ?? ''}`
    : `${place} is not as the schema says: ${wrong[0] ?? ''}`
  return { ...fail(plainLine(reason, 500)), evidence: wrong.map((line) => plainLine(line, 300)).join('\n') }
}

function hasKeys(required: readonly string[]): (value: unknown) => string | null {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return `is ${typeName(value)}, no object with ${required.join(', ')}`
    const missing = required.filter((key) => !Object.hasOwn(value, key))
    return missing.length === 0 ? null : `lacks ${missing.map((key) => JSON.stringify(key)).join(', ')}`
  }
}

/** What is wrong with a schema itself, or null: unusable keywords, formats, drafts and references. */
export function schemaComplaint(schema: JsonSchema): string | null {
  const made = validator(schema)
  return typeof made === 'object' ? made.reason : null
}

const validatorOptions: Options = {
  allErrors: false,
  strict: false,
  // An unknown format would otherwise pass everything.
  strictSchema: 'log',
  logger: false,
  ownProperties: true,
  validateFormats: true,
  messages: true,
}

/** A schema that cannot be used says nothing about the work; one that wants something fetched is refused. */
function validator(schema: JsonSchema): Finding | ((value: unknown) => string | null) {
  const unusable = (reason: string): Finding => ({ result: 'UNKNOWN', reason, recoverable: false })
  const draft = typeof schema === 'object' && typeof schema['$schema'] === 'string' ? schema['$schema'] : '2020-12'
  const ajv: AjvBase | null = /draft-0[67]/.test(draft)
    ? new Ajv(validatorOptions)
    : draft.includes('2019-09')
      ? new Ajv2019(validatorOptions)
      : draft.includes('2020-12')
        ? new Ajv2020(validatorOptions)
        : null
  if (ajv === null) return unusable(`the schema is of draft ${plainLine(draft, 100)}; draft-06 to 2020-12 are known`)
  addFormats(ajv)
  let validate: ValidateFunction
  try {
    validate = ajv.compile(schema)
  } catch (error) {
    if (error instanceof Ajv.MissingRefError) {
      if (error.missingRef.startsWith('#'))
        return unusable(`the schema refers to ${plainLine(error.missingRef, 200)}, which it does not hold`)
      const reason = `the schema refers to ${plainLine(error.missingRef, 200)}, which would have to be fetched; nothing is fetched`
      return { result: 'FAIL', reason, recoverable: false }
    }
    return unusable(`the schema cannot be used: ${plainLine((error as Error).message, 300)}`)
  }
  return (value) => {
    if (validate(value)) return null
    const error = validate.errors?.[0]
    return error === undefined ? 'is not as the schema says' : `${error.instancePath} ${spellError(error)}`.trim()
  }
}

function spellError(error: ErrorObject): string {
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'additionalProperties':
      return `must not have ${JSON.stringify(params['additionalProperty'])}`
    case 'enum':
      return `must be one of ${cutText(JSON.stringify(params['allowedValues']), 200)}`
    case 'const':
      return `must be ${cutText(JSON.stringify(params['allowedValue']), 200)}`
    default:
      return error.message ?? error.keyword
  }
}

function judgeTests(args: CheckOf<'test_report'>, subject: Subject): Finding {
  if ('value' in subject) return fail(`${subject.name} is no file`)
  const decoded = decodeText(subject.bytes)
  if (!decoded.ok) return fail(`${subject.name} cannot be read: ${decoded.reason}`)
  const text = decoded.text
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    return { ...fail(`${subject.name} declares a document type or entities; none are read`), recoverable: false }
  if (xmlNestedBeyond(text, DEPTH_MAX))
    return { ...fail(`${subject.name} is nested deeper than ${DEPTH_MAX} levels`), recoverable: false }
  const valid = XMLValidator.validate(text)
  if (valid !== true) {
    const { msg, line } = valid.err
    return { ...fail(`${subject.name} is no well-formed XML: ${plainLine(msg, 200)} (line ${line})`), line }
  }
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseTagValue: false,
    parseAttributeValue: false,
    processEntities: false,
  })
  const seen: Tally = { tests: 0, failures: [], errors: 0, skipped: 0, suites: 0 }
  const claims = tally(parser.parse(text) as XmlNode[], seen)
  if (seen.suites === 0) return fail(`${subject.name} is no JUnit report: it has no <testsuite>`)
  const ran = seen.tests - seen.skipped
  const bad = seen.failures.length + seen.errors
  const facts = `${seen.tests} tests, ${bad} failed, ${seen.skipped} skipped`
  const claimed = claims.tests > 0 && claims.tests !== seen.tests ? `; the file claims ${claims.tests} tests` : ''
  const evidence = [facts + claimed, ...seen.failures.slice(0, 10)].join('\n')
  if (bad > 0)
    return {
      ...fail(
        `${subject.name}: ${bad} of ${seen.tests} tests failed, the first: ${seen.failures[0] ?? 'a suite reports an error'}`,
      ),
      evidence,
    }
  if (claims.failures > 0)
    return {
      ...fail(`${subject.name}: its suites count ${claims.failures} failures, though no test case shows one`),
      evidence,
    }
  if (ran < args.n) return { ...fail(`${subject.name}: ${ran} tests ran; at least ${args.n} are wanted`), evidence }
  return { ...pass(`${subject.name}: ${ran} tests ran, none failed`), evidence }
}

type XmlNode = { readonly ':@'?: Readonly<Record<string, string>> } & Readonly<Record<string, unknown>>

interface Tally {
  tests: number
  failures: string[]
  /** Suites that broke outside any test case. */
  errors: number
  skipped: number
  suites: number
}

/** Counts test cases into `seen`; returns what the suites say of themselves, each suite's own word before its parts'. */
function tally(nodes: readonly XmlNode[], seen: Tally): { tests: number; failures: number } {
  const claims = { tests: 0, failures: 0 }
  for (const node of nodes) {
    const tag = Object.keys(node).find((key) => key !== ':@')
    const children = tag === undefined ? undefined : node[tag]
    if (!Array.isArray(children)) continue
    const parts = children as XmlNode[]
    const attributes = node[':@'] ?? {}
    if (tag === 'testcase') {
      seen.tests++
      const status = (attributes['status'] ?? attributes['result'] ?? '').toLowerCase()
      if (parts.some((part) => 'failure' in part || 'error' in part) || /^(fail|error)/.test(status)) {
        const words = [attributes['classname'], attributes['name']].filter((word) => word !== undefined)
        seen.failures.push(plainLine(words.join(' › '), 200) || 'an unnamed test')
      } else if (parts.some((part) => 'skipped' in part) || /^(skipped|disabled|notrun)/.test(status)) seen.skipped++
    } else if (tag === 'testsuite' || tag === 'testsuites') {
      seen.suites++
      if (parts.some((part) => 'error' in part)) seen.errors++
      const below = tally(parts, seen)
      const own = (attribute: string | undefined, sum: number) => Math.max(count(attribute), sum)
      claims.tests += own(attributes['tests'], below.tests)
      claims.failures += Math.max(count(attributes['failures']) + count(attributes['errors']), below.failures)
    }
  }
  return claims
}

function count(attribute: string | undefined): number {
  const value = Number(attribute)
  return Number.isFinite(value) && value > 0 ? value : 0
}

function xmlNestedBeyond(text: string, limit: number): boolean {
  let depth = 0
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) {
    const next = text[at + 1]
    if (next === '/') depth--
    else if (next === '!' && text.startsWith('<![CDATA[', at)) {
      const end = text.indexOf(']]>', at)
      if (end < 0) return false
      at = end
    } else if (next === '!' && text.startsWith('<!--', at)) {
      const end = text.indexOf('-->', at)
      if (end < 0) return false
      at = end
    } else if (next !== '!' && next !== '?') {
      const end = text.indexOf('>', at)
      if (end < 0) return false
      if (text[end - 1] !== '/' && ++depth > limit) return true
      at = end
    }
  }
  return false
}

function pointerToken(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  switch (typeof value) {
    case 'object':
      return 'an object'
    case 'string':
      return 'text'
    case 'number':
      return 'a number'
    case 'boolean':
      return String(value)
    default:
      return 'nothing'
  }
}

function pass(reason: string): Finding {
  return { result: 'PASS', reason, recoverable: true }
}

function fail(reason: string): Finding {
  return { result: 'FAIL', reason, recoverable: true }
}
