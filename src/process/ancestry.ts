// Who started a process: the chain of its ancestors and what a few variables were when each began. It only looks. Where
// there is no /proc (macOS, untested) the variables of other processes cannot be read and stay empty.
import { readFileSync } from 'node:fs'
import { currentBootId, readStat } from './identity'
import type { ProcessIdentity } from './launch'

const deepest = 64

export interface Ancestor {
  readonly identity: ProcessIdentity
  /** The asked-for variables of its first environment; those without a value are absent. */
  readonly variables: Readonly<Record<string, string>>
}

/** From the parent of `pid` upwards, without the first process of the system. */
export function ancestorsOf(pid: number, names: readonly string[]): Ancestor[] {
  const found: Ancestor[] = []
  for (let at = readStat(pid)?.parent ?? 0; at > 1 && found.length < deepest;) {
    const row = readStat(at)
    if (row === undefined) break
    found.push({
      identity: { pid: at, startTime: row.startTime, bootId: currentBootId() },
      variables: variablesOf(at, names),
    })
    at = row.parent
  }
  return found
}

function variablesOf(pid: number, names: readonly string[]): Record<string, string> {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return {}
  }
  const variables: Record<string, string> = {}
  for (const entry of text.split('\0')) {
    const equals = entry.indexOf('=')
    const name = entry.slice(0, Math.max(0, equals))
    if (names.includes(name) && equals < entry.length - 1) variables[name] = entry.slice(equals + 1)
  }
  return variables
}
