// The one JSON object in what a child said last: the whole text, the inside of one fence around the whole, or the last
// balanced object in prose, in this order. What it says is a claim; nothing here is evidence.
import { plainLine } from '../core/plainText'
import { parseJson } from './content'

/** UTF-16 units; a longer report is no report. */
const REPORT_MAX = 1024 * 1024
/** Units looked at while searching prose, so that text made of braces cannot take long. */
const SEARCH_MAX = 4 * REPORT_MAX

export type Extraction =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>>; readonly from: 'whole' | 'fence' | 'prose' }
  /** For the child: what was wrong, exactly. */
  | { readonly ok: false; readonly complaint: string }

export function extractObject(text: string): Extraction {
  if (text.length > REPORT_MAX) return no(`the message has ${text.length} characters; at most ${REPORT_MAX} are read`)
  const whole = text.replace(/^\ufeff/, '').trim()
  if (whole === '') return no('the message is empty')
  const raw = parseJson(whole)
  if (raw.ok) return asObject(raw.value, 'whole')
  const inside = insideFence(whole)
  if (inside !== null) {
    const fenced = parseJson(inside)
    if (fenced.ok) return asObject(fenced.value, 'fence')
  }
  const found = lastObject(whole)
  // Where the whole was meant to be the object, a part of it that happens to parse is not what was meant.
  const meant = inside ?? whole
  const isMeant = /^\s*[[{]/.test(meant)
  if (found !== null && (!isMeant || Object.hasOwn(found, 'artifacts')))
    return { ok: true, value: found, from: 'prose' }
  if (isMeant) {
    const complaint = inside === null ? raw : parseJson(inside)
    return no(complaint.ok ? raw.complaint : complaint.complaint)
  }
  const start = whole.indexOf('{')
  if (start < 0) return no(`there is no JSON object in it; it begins ${JSON.stringify(plainLine(whole, 80))}`)
  const tail = parseJson(whole.slice(start))
  return no(`the object in it is no JSON: ${tail.ok ? raw.complaint : tail.complaint}`)
}

/** The text between a fence that opens the whole and one that closes it; null when something stands outside. */
function insideFence(whole: string): string | null {
  const opening = /^(`{3,}|~{3,})[ \t]*[\w.+-]*[ \t]*\r?\n/.exec(whole)
  const fence = opening?.[1]
  if (opening === null || fence === undefined || !whole.endsWith(`\n${fence}`)) return null
  return whole.slice(opening[0].length, -fence.length)
}

/** The last object that parses, lies in no other and is not empty; one with `artifacts` before any other. */
function lastObject(text: string): Record<string, unknown> | null {
  let last: Record<string, unknown> | null = null
  let budget = SEARCH_MAX
  let at = text.indexOf('{')
  while (at >= 0 && budget > 0) {
    const end = closingBrace(text, at, budget)
    budget -= (end ?? Math.min(text.length, at + budget)) - at
    const parsed = end === null ? null : parseJson(text.slice(at, end + 1))
    if (parsed?.ok === true && end !== null && end > at + 1) {
      const value = parsed.value as Record<string, unknown>
      if (last === null || Object.hasOwn(value, 'artifacts') || !Object.hasOwn(last, 'artifacts')) last = value
      at = text.indexOf('{', end + 1)
    } else at = text.indexOf('{', (end ?? at) + 1)
  }
  return last
}

/** The place of the brace that closes the one at `start`, read as JSON; null when there is none, or none near enough. */
function closingBrace(text: string, start: number, budget: number): number | null {
  // An object begins with a key or ends at once: braces of code and prose are left behind here.
  if (!/^\{\s*["}]/.test(text.slice(start, start + 200))) return null
  const end = Math.min(text.length, start + budget)
  let depth = 0
  let inString = false
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (inString) {
      if (unit === 0x5c) at++
      else if (unit === 0x22) inString = false
    } else if (unit === 0x22) inString = true
    else if (unit === 0x7b) depth++
    else if (unit === 0x7d && --depth === 0) return at
  }
  return null
}

function asObject(value: unknown, from: 'whole' | 'fence'): Extraction {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { ok: true, value: value as Record<string, unknown>, from }
  const what = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
  return no(`it is ${what}, not one JSON object`)
}

function no(complaint: string): Extraction {
  return { ok: false, complaint }
}
