// Puts one entry into another program's configuration, which is a person's own file: everything else in it stays as it is,
// comments and blanks too. Each change is read back before it counts; what cannot be read, or would not come out as
// meant, is not changed.
import {
  findNodeAtLocation,
  getNodeValue,
  parse as parseJsonc,
  parseTree,
  type Node,
  type ParseError,
} from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { isMap, parseDocument, type Document, type YAMLMap } from 'yaml'

export type Merged =
  /** `part`: what was added, as it stands in an empty file. */
  | { readonly kind: 'added'; readonly text: string; readonly part: string }
  /** It has the entry already. */
  | { readonly kind: 'there' }
  /** It is no JSON, TOML or YAML. */
  | { readonly kind: 'unreadable' }
  /** The entry cannot be put in without guessing what the person wants. */
  | { readonly kind: 'unsuited' }

const unreadable: Merged = { kind: 'unreadable' }
const unsuited: Merged = { kind: 'unsuited' }
const there: Merged = { kind: 'there' }

type Reader = (text: string) => Table | undefined
type Table = Record<string, unknown>

/** The text with the entry, if it reads as what was meant; `meant` is the whole file's content with the entry in it. */
function checked(text: string, part: string, read: Reader, meant: Table): Merged {
  return JSON.stringify(read(text)) === JSON.stringify(meant) ? { kind: 'added', text, part } : unsuited
}

/** Adds `[at.name]` at the end of a TOML file. */
export function intoTomlTable(existing: string, at: string, name: string, entry: Table): Merged {
  const value = readToml(existing)
  if (value === undefined) return unreadable
  const servers = value[at] ?? {}
  if (!isTable(servers)) return unsuited
  if (Object.hasOwn(servers, name)) return there
  const part = `[${at}.${name}]\n${tomlLines(entry)}`
  return checked(appended(existing, part), part, readToml, { ...value, [at]: { ...servers, [name]: entry } })
}

/** Adds an `[[table.list]]` with its name to a TOML file, and switches the table on if it is not there yet. */
export function intoTomlList(existing: string, table: string, list: string, entry: Table): Merged {
  const value = readToml(existing)
  if (value === undefined) return unreadable
  const present = value[table]
  const holder = present ?? { enabled: true }
  if (!isTable(holder)) return unsuited
  const entries: unknown = holder[list] ?? []
  if (!isList(entries)) return unsuited
  if (entries.some((one) => isTable(one) && one['name'] === entry['name'])) return there
  // Switched off by the person, or by whoever reads the file: not for us to switch on.
  if (holder['enabled'] !== true) return unsuited
  const server = `[[${table}.${list}]]\n${tomlLines(entry)}`
  const part = present === undefined ? `[${table}]\nenabled = true\n\n${server}` : server
  return checked(appended(existing, part), part, readToml, {
    ...value,
    [table]: { ...holder, [list]: [...entries, entry] },
  })
}

/** Adds `at: {name: entry}` to a YAML file, below what stands there. */
export function intoYaml(existing: string, at: string, name: string, entry: Table): Merged {
  const document = parseDocument(existing)
  if (document.errors.length > 0) return unreadable
  const value = yamlValue(document) ?? {}
  if (!isTable(value)) return unsuited
  const servers = value[at] ?? {}
  if (!isTable(servers)) return unsuited
  if (Object.hasOwn(servers, name)) return there
  const meant = { ...value, [at]: { ...servers, [name]: entry } }
  const part = yamlOf({ [at]: { [name]: entry } })
  const place = document.get(at, true)
  if (isMap(place) && place.flow !== true && place.items.length > 0)
    return checked(belowLast(existing, place, name, entry), part, readYaml, meant)
  if (Object.hasOwn(value, at)) return unsuited
  return checked(appended(existing, part, '\n'), part, readYaml, meant)
}

/** Adds `at: {name: entry}` to a JSON file, which may have comments. */
export function intoJson(existing: string, at: string, name: string, entry: Table): Merged {
  const from = existing.trim() === '' ? '{}\n' : existing
  const errors: ParseError[] = []
  const root = parseTree(from, errors, { allowTrailingComma: true })
  if (root === undefined || errors.length > 0) return unreadable
  const value: unknown = getNodeValue(root)
  if (!isTable(value)) return unsuited
  const servers = value[at] ?? {}
  if (!isTable(servers)) return unsuited
  if (Object.hasOwn(servers, name)) return there
  const holder = findNodeAtLocation(root, [at])
  const text =
    holder === undefined ? intoObject(from, root, at, { [name]: entry }) : intoObject(from, holder, name, entry)
  const part = `${JSON.stringify({ [at]: { [name]: entry } }, null, 2)}\n`
  return checked(text, part, readJson, { ...value, [at]: { ...servers, [name]: entry } })
}

/** The text with one more member at the end of an object of it, as the others stand. */
function intoObject(text: string, object: Node, name: string, value: Table): string {
  const unit = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  const lines = (indent: string): string =>
    `\n${indent}${JSON.stringify(name)}: ${JSON.stringify(value, null, unit).replaceAll('\n', `\n${indent}`)}`
  const last = object.children?.at(-1)
  if (last === undefined) {
    const [begin, end] = [object.offset + 1, object.offset + object.length - 1]
    const indent = indentAt(text, object.offset)
    const inner = text.slice(begin, end)
    return `${text.slice(0, begin)}${lines(indent + unit)}${inner.trim() === '' ? `\n${indent}` : inner}${text.slice(end)}`
  }
  const end = last.offset + last.length
  // The rest of its line: a comma, a comment.
  const rest = /^[ \t]*(,?)[ \t]*(?:\/\/[^\n]*|\/\*[^\n]*?\*\/[ \t]*)?(?=\n)/.exec(text.slice(end))
  if (rest === null) return `${text.slice(0, end)}, ${JSON.stringify(name)}: ${JSON.stringify(value)}${text.slice(end)}`
  const [line, comma] = rest
  const after = text.slice(end + line.length)
  return `${text.slice(0, end)}${comma === '' ? ',' : ''}${line}${lines(indentAt(text, last.offset))}${comma}${after}`
}

/** The blanks before the first word of the line that holds this place. */
const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset) + 1))?.[0] ?? ''

function appended(existing: string, text: string, between = '\n\n'): string {
  if (existing.trim() === '') return text
  return `${existing.replace(/\n*$/, between)}${text}`
}

function belowLast(existing: string, map: YAMLMap, name: string, entry: Table): string {
  const start = (map.range?.[0] ?? 0) - 1
  const indent = existing.slice(existing.lastIndexOf('\n', start) + 1, start + 1)
  const last = existing.slice(0, map.range?.[1] ?? existing.length).trimEnd().length
  const found = existing.indexOf('\n', last)
  const end = found === -1 ? existing.length : found
  const lines = yamlOf({ [name]: entry })
    .trimEnd()
    .split('\n')
  return `${existing.slice(0, end)}\n${lines.map((line) => `${indent}${line}`).join('\n')}${existing.slice(end) || '\n'}`
}

const yamlOf = (value: Table): string => {
  const document: Document = parseDocument('')
  document.contents = document.createNode(value)
  return document.toString({ lineWidth: 0 })
}

function readYaml(text: string): Table | undefined {
  const document = parseDocument(text)
  return document.errors.length > 0 ? undefined : (yamlValue(document) as Table)
}

/** What JSON can hold too; aliases may name what is not there, themselves, or far too much. Text: it is none of that. */
function yamlValue(document: Document): unknown {
  try {
    return JSON.parse(JSON.stringify(document.toJS() ?? null))
  } catch {
    return 'no value'
  }
}

function readToml(text: string): Table | undefined {
  try {
    return parseToml(text)
  } catch {
    return undefined
  }
}

function readJson(text: string): Table | undefined {
  const errors: ParseError[] = []
  const value = parseJsonc(text, errors, { allowTrailingComma: true }) as Table
  return errors.length > 0 ? undefined : value
}

/** JSON's strings and lists of them are TOML's. */
const tomlLines = (entry: Table): string =>
  Object.entries(entry)
    .map(([key, value]) => `${key} = ${JSON.stringify(value).replaceAll('","', '", "')}\n`)
    .join('')

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

const isTable = (value: unknown): value is Table => typeof value === 'object' && value !== null && !Array.isArray(value)
