// What to do with a live child after one look at the end of what it wrote: wait, steer or stop, with a reason. It proposes
// and never acts; whoever calls it acts only on children for which automatic steering was switched on.
import { plainLine } from './plainText'
import type { EntryBody } from './transcript'

/** Of a list payload's entry, what the decision needs. */
export interface WatchedChild {
  readonly subagent_id: string
  readonly accepting_steer: boolean
  /** A marker that the goal itself names is no drift. */
  readonly goal?: string | undefined
}

/** One line of the child's own output, or one call of a tool. */
export type TailLine = string | { readonly tool: string; readonly input: unknown }

export interface PolicyOptions {
  readonly loopMarkers?: readonly string[]
  readonly driftMarkers?: readonly string[]
  /** Whether the contract lets the child change this path; absent when it has no scope. */
  readonly inScope?: (path: string) => boolean
  /** The child's worktree, absolute: paths in tool calls are told relative to it. */
  readonly worktree?: string
  readonly driftMessage?: string
  /** So many calls at the beginning of the tail may look around: a file that is a marker is none there. Default 0. */
  readonly orientationCalls?: number
}

export interface Decision {
  readonly action: 'wait' | 'steer' | 'stop'
  readonly subagent_id: string
  readonly reason: string
  /** The steer to send; only with `steer`. */
  readonly message?: string
}

/** Lines of the tail that are looked at. */
const TAIL_LINES = 40
/** The same tool with the same arguments so often is a loop. */
const SAME_CALL_LIMIT = 3
/** Characters of a path that are said to a person and to the child. */
const SHOWN_PATH = 400

export const defaultLoopMarkers: readonly string[] = [
  'retrying the same command',
  'the previous approach failed, trying again',
]
export const defaultDriftMarkers: readonly string[] = [
  'README.md',
  'I will now search the entire repo',
  'Let me start by listing all files',
]
export const driftMessage =
  'Stop listing the repo. Open the file named in your goal. Return findings as file:line only.'

/** Finishing before loop before drift before on track. `tail` is the child's own output since its last steer. */
export function decide(child: WatchedChild, tail: readonly TailLine[], options: PolicyOptions = {}): Decision {
  const { subagent_id } = child
  if (!child.accepting_steer) return { action: 'wait', subagent_id, reason: 'finishing' }
  const lines = tail.slice(-TAIL_LINES)
  const loop = loopIn(lines, options.loopMarkers ?? defaultLoopMarkers)
  if (loop !== null) return { action: 'stop', subagent_id, reason: `loop: ${loop}` }
  const drift = driftIn(child, lines, options)
  if (drift !== null)
    return {
      action: 'steer',
      subagent_id,
      reason: `drift: ${drift.what}`,
      message: options.driftMessage ?? drift.message,
    }
  return { action: 'wait', subagent_id, reason: 'on track' }
}

/** The end of a transcript as `decide` reads it: what the child itself wrote and did since it was last steered or asked. */
export function tailOf(entries: readonly EntryBody[]): readonly TailLine[] {
  const lines: TailLine[] = []
  for (let at = entries.length - 1; at >= 0 && lines.length < TAIL_LINES; at--) {
    const entry = entries[at]
    if (entry === undefined || entry.kind === 'steer' || entry.kind === 'turn') break
    switch (entry.kind) {
      case 'text':
      case 'reasoning':
        lines.push(...linesOf(entry.text).reverse())
        break
      case 'noise':
        if (entry.source === 'stdout') lines.push(...linesOf(entry.text).reverse())
        break
      case 'toolStarted':
        lines.push({ tool: entry.name, input: entry.input })
        break
      case 'toolEnded':
      case 'receipt':
      case 'asked':
      case 'answered':
      case 'report':
      case 'verdict':
      case 'notice':
        break
    }
  }
  return lines.slice(0, TAIL_LINES).reverse()
}

/** Milliseconds without a sign of life after which a child may be stuck; a tool that runs is given more. */
export interface QuietLimits {
  readonly quietMs: number
  readonly quietInToolMs: number
}

export const defaultQuietLimits: QuietLimits = { quietMs: 3 * 60_000, quietInToolMs: 20 * 60_000 }

/** The words of the condition `stuck?`, or null while the child may well be working. */
export function stuckWords(
  quietMs: number,
  toolsInFlight: number,
  limits: QuietLimits = defaultQuietLimits,
): string | null {
  if (quietMs < (toolsInFlight > 0 ? limits.quietInToolMs : limits.quietMs)) return null
  const minutes = Math.round(quietMs / 60_000)
  const tools =
    toolsInFlight === 0 ? '' : toolsInFlight === 1 ? ', one tool running' : `, ${toolsInFlight} tools running`
  return `stuck? quiet for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}${tools}`
}

function loopIn(lines: readonly TailLine[], markers: readonly string[]): string | null {
  const calls = new Map<string, number>()
  for (const line of lines) {
    if (typeof line === 'string') {
      const marker = markers.find((candidate) => holds(line, candidate))
      if (marker !== undefined) return `it says "${marker}"`
      continue
    }
    const call = `${line.tool}\0${sameText(line.input)}`
    const count = (calls.get(call) ?? 0) + 1
    if (count >= SAME_CALL_LIMIT) return `${line.tool} was called ${count} times with the same arguments`
    calls.set(call, count)
  }
  return null
}

function driftIn(
  child: WatchedChild,
  lines: readonly TailLine[],
  options: PolicyOptions,
): { what: string; message: string } | null {
  const { inScope, worktree } = options
  if (inScope !== undefined)
    for (const line of lines) {
      if (typeof line === 'string') continue
      const path = editedPath(line.tool, line.input, worktree)
      if (path === null || (!/^(\/|\.\.(\/|$))/.test(path) && inScope(path))) continue
      const shown = plainLine(path, SHOWN_PATH)
      return {
        what: `${line.tool} edits ${shown}, outside the contract's scope`,
        message: `Put ${shown} back as it was, and change nothing outside of the contract's scope.`,
      }
    }
  const markers = (options.driftMarkers ?? defaultDriftMarkers).filter((marker) => !holds(child.goal ?? '', marker))
  const { orientationCalls = 0 } = options
  let calls = 0
  for (const line of lines) {
    if (typeof line !== 'string') calls++
    const isLookingAround = calls <= orientationCalls && orientationCalls > 0
    const text = textOf(line, worktree)
    const marker = markers.find((candidate) => !(isLookingAround && isFileName(candidate)) && holds(text, candidate))
    if (marker !== undefined) return { what: `it is at "${marker}"`, message: driftMessage }
  }
  return null
}

/** What a line says of where the child is: of a change the file, for its words are the child's work. */
function textOf(line: TailLine, worktree: string | undefined): string {
  if (typeof line === 'string') return line
  return `${line.tool} ${editedPath(line.tool, line.input, worktree) ?? sameText(line.input)}`
}

const isFileName = (marker: string): boolean => /^[\w./-]+\.\w+$/.test(marker)

/** The file a tool call is about to change, as far as its name and arguments tell; null for any other call. */
function editedPath(tool: string, input: unknown, worktree: string | undefined): string | null {
  if (!/edit|write|patch|save|append|replace|create/i.test(tool)) return null
  if (typeof input !== 'object' || input === null) return null
  const fields = input as Record<string, unknown>
  const given = ['file_path', 'path', 'notebook_path', 'filename', 'file'].map((name) => fields[name])
  const path = given.find((value): value is string => typeof value === 'string' && value !== '')
  if (path === undefined) return null
  const meant = withoutDetours(path)
  return worktree !== undefined && meant.startsWith(`${worktree}/`) ? meant.slice(worktree.length + 1) : meant
}

/** The same path without `.`, empty parts, and folders that are left again by `..`. */
function withoutDetours(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (part !== '..' || !path.startsWith('/')) parts.push(part)
  }
  return `${path.startsWith('/') ? '/' : ''}${parts.join('/')}`
}

function holds(text: string, marker: string): boolean {
  return marker !== '' && text.toLowerCase().includes(marker.toLowerCase())
}

/** One text for the same arguments, whatever order their keys came in. Hostile depth is cut, never thrown on. */
function sameText(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  if (depth > 20) return '…'
  if (Array.isArray(value)) return `[${value.map((item) => sameText(item, depth + 1)).join(',')}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${sameText(member, depth + 1)}`).join(',')}}`
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}
