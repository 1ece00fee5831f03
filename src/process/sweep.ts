// Finds what belongs to an agent's tree: by its group and session, by the marker in the environment, and by who holds
// the agent's pipes. It only looks; a working folder inside the worktree is no proof and is not looked at.
import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs'
import { allPs, isDead, readStat, withSpareFile, type StatRow } from './identity'
import type { Bond, ProcessIdentity, TreeMember } from './launch'

export const markerName = 'COXSWAIN_MARKER'

/** What is known of a tree when it is looked for. */
export interface Tree {
  /** The agent: its pid is its group's and its session's number. Undefined when nothing recorded it. */
  readonly leader: ProcessIdentity | undefined
  readonly marker: string
  /** How the agent's pipes look in /proc/PID/fd; an entry that ends in `/` stands for every pipe of that folder. */
  readonly pipes: readonly string[]
}

export interface FoundMember extends TreeMember {
  readonly group: number
}

const linux = process.platform === 'linux'
const largestEnvironment = 4 * 1024 * 1024
let environmentBytes = Buffer.allocUnsafe(64 * 1024)

/** Every process this user could own, dead ones included. */
function listProcesses(): StatRow[] {
  if (!linux) return allPs()
  const rows: StatRow[] = []
  for (const name of withSpareFile(() => readdirSync('/proc'))) {
    const first = name.charCodeAt(0)
    if (first < 0x30 || first > 0x39) continue
    const row = readStat(Number(name))
    if (row !== undefined) rows.push(row)
  }
  return rows
}

/**
 * The living members of the tree, in one synchronous scan (7 ms at 400 processes). `trustGroup` says that the leader's
 * number cannot have passed to strangers; without it a process of that group must also carry the marker or a pipe.
 */
export function findMembers(tree: Tree, trustGroup: boolean): FoundMember[] {
  const members: FoundMember[] = []
  const leader = tree.leader
  const uid = process.getuid?.()
  // Nothing that started before the agent descends from it. Elsewhere start times are text and do not compare.
  const notBefore = linux && leader !== undefined ? Number(leader.startTime) : 0
  for (const row of listProcesses()) {
    if (row.pid === process.pid || isDead(row)) continue
    if (linux && Number(row.startTime) < notBefore) continue
    const bond = bondOf(row, tree, trustGroup, uid)
    if (bond === undefined) continue
    members.push({ pid: row.pid, startTime: row.startTime, name: row.name, group: row.group, bond })
  }
  return members
}

function bondOf(row: StatRow, tree: Tree, trustGroup: boolean, uid: number | undefined): Bond | undefined {
  if (trustGroup && tree.leader !== undefined) {
    if (row.group === tree.leader.pid) return 'group'
    if (row.session === tree.leader.pid) return 'session'
  }
  if (!linux) return undefined
  if (uid !== undefined && uid !== 0 && !belongsTo(row.pid, uid)) return undefined
  if (carriesMarker(row.pid, tree.marker)) return 'marker'
  return holdsPipe(row.pid, tree.pipes) ? 'pipe' : undefined
}

function belongsTo(pid: number, uid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === uid
  } catch {
    return false
  }
}

/**
 * True when the process's environment holds exactly COXSWAIN_MARKER=marker; a marker that ends in a dot stands for every
 * marker that begins so. False when the environment may not be read.
 */
export function carriesMarker(pid: number, marker: string): boolean {
  if (!linux || marker === '') return false
  const wanted = Buffer.from(`${markerName}=${marker}${marker.endsWith('.') ? '' : '\0'}`)
  let filled: number
  try {
    filled = withSpareFile(() => readEnvironment(pid))
  } catch {
    return false
  }
  const environment = environmentBytes.subarray(0, filled)
  for (let at = environment.indexOf(wanted); at !== -1; at = environment.indexOf(wanted, at + 1))
    if (at === 0 || environment[at - 1] === 0) return true
  return false
}

/** Into `environmentBytes`; the number of bytes read. */
function readEnvironment(pid: number): number {
  let filled = 0
  const fd = openSync(`/proc/${pid}/environ`, 'r')
  try {
    for (;;) {
      if (filled === environmentBytes.length) {
        if (filled >= largestEnvironment) return filled
        environmentBytes = Buffer.concat([environmentBytes, Buffer.allocUnsafe(filled)])
      }
      const got = readSync(fd, environmentBytes, filled, environmentBytes.length - filled, filled)
      if (got === 0) return filled
      filled += got
    }
  } finally {
    closeSync(fd)
  }
}

/** True when the process has one of these pipes open. Reads links only, so no hung file system can hold it up. */
export function holdsPipe(pid: number, pipes: readonly string[]): boolean {
  if (!linux || pipes.length === 0) return false
  let names: string[]
  try {
    names = withSpareFile(() => readdirSync(`/proc/${pid}/fd`))
  } catch {
    return false
  }
  for (const name of names) {
    let link: string
    try {
      link = readlinkSync(`/proc/${pid}/fd/${name}`)
    } catch {
      continue
    }
    if (pipes.some((pipe) => (pipe.endsWith('/') ? link.startsWith(pipe) : link === pipe))) return true
  }
  return false
}
