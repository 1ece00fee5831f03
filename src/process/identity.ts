// Who a process is, and the only place of this room from which a signal leaves. Every signal is preceded by a check
// that the pid still belongs to the process that was meant; a forged or odd identity never gets one.
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { isObject } from './json'
import type { ProcessIdentity } from './launch'

const linux = process.platform === 'linux'
const largestPid = 4_194_304

export interface StatRow {
  readonly pid: number
  readonly name: string
  /** One letter of /proc/PID/stat. Z and X are dead: nothing of them runs, whoever has not yet reaped them. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly startTime: string
}

const statBytes = Buffer.allocUnsafe(4096)

/**
 * One process from /proc (Linux) or ps (elsewhere, untested); undefined when there is none. Throws when the system does not
 * tell, which says nothing of the process. Takes 0.02 ms, or 7 ms.
 */
export function readStat(pid: number): StatRow | undefined {
  if (!linux) return readPs(pid)
  let text: string
  try {
    text = withSpareFile(() => {
      const fd = openSync(`/proc/${pid}/stat`, 'r')
      try {
        return statBytes.toString('latin1', 0, readSync(fd, statBytes, 0, statBytes.length, 0))
      } finally {
        closeSync(fd)
      }
    })
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return undefined
    throw error
  }
  // The name may hold spaces and parentheses, so the fields count from the last one.
  const nameEnd = text.lastIndexOf(')')
  const fields = text.slice(nameEnd + 2).split(' ')
  const startTime = fields[19]
  if (nameEnd === -1 || startTime === undefined) return undefined
  return {
    pid,
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime,
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** Kept back, so that the process table can be read when every other file descriptor of this process is in use. */
let spareFile: number | undefined

/** `read` opens one file and closes it again. */
export function withSpareFile<T>(read: () => T): T {
  try {
    spareFile ??= openSync('/dev/null', 'r')
  } catch {
    // None is left; it is taken back with a later look.
  }
  try {
    return read()
  } catch (error) {
    if (codeOf(error) !== 'EMFILE' || spareFile === undefined) throw error
    closeSync(spareFile)
    spareFile = undefined
    return read()
  }
}

const psEnvironment = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }
const psFormat = 'pid=,ppid=,pgid=,sess=,state=,lstart=,comm='

function readPs(pid: number): StatRow | undefined {
  return ps(['-o', psFormat, '-p', String(pid)])[0]
}

/** The table of `ps` for systems without /proc. Untested there: macOS prints `sess` as a pointer, which then is 0. */
export function ps(selection: readonly string[]): StatRow[] {
  const run = spawnSync('ps', selection, { env: psEnvironment, encoding: 'utf8', timeout: 5_000 })
  const rows: StatRow[] = []
  for (const line of (run.stdout ?? '').split('\n')) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S)\S*\s+(\w{3} \w{3}\s+\d+ [\d:]+ \d+)\s+(.*)$/.exec(line)
    if (!match) continue
    const [, pid, parent, group, session, state, startTime, name] = match
    rows.push({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: /^\d+$/.test(session ?? '') ? Number(session) : 0,
      state: state ?? '',
      startTime: startTime ?? '',
      name: name ?? '',
    })
  }
  return rows
}

export const allPs = (): StatRow[] => ps(['-A', '-o', psFormat])

let bootId: string | undefined
/** The id of this boot of the machine. */
export function currentBootId(): string {
  bootId ??= linux
    ? withSpareFile(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
    : (spawnSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8', timeout: 5_000 }).stdout ?? '').trim()
  return bootId
}

/** A running process's identity; undefined when there is none or it is dead and not yet reaped. Throws as `readStat` does. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const row = readStat(pid)
  return row === undefined || isDead(row) ? undefined : { pid, startTime: row.startTime, bootId: currentBootId() }
}

export const isDead = (row: StatRow): boolean => row.state === 'Z' || row.state === 'X' || row.state === 'x'

/**
 * True while this very process runs. A zombie, a reused pid and another boot are all "no"; when the system does not tell,
 * nothing is known to have ended, and the answer is "yes".
 */
export function isRunning(identity: ProcessIdentity): boolean {
  return isSeenRunning(identity) ?? true
}

/** Undefined when the system does not tell. */
function isSeenRunning(identity: ProcessIdentity): boolean | undefined {
  try {
    return matches(identity)
  } catch {
    return undefined
  }
}

function matches(identity: ProcessIdentity): boolean {
  if (!isPlausiblePid(identity.pid) || identity.bootId !== currentBootId()) return false
  const row = readStat(identity.pid)
  return row !== undefined && !isDead(row) && row.startTime === identity.startTime
}

/** Never 0, 1, negative, fractional or beyond what a kernel gives out. */
const isPlausiblePid = (pid: unknown): pid is number =>
  typeof pid === 'number' && Number.isInteger(pid) && pid > 1 && pid <= largestPid

/** An identity from a record, or undefined when any part of it is odd. */
export function parseIdentity(value: unknown): ProcessIdentity | undefined {
  if (!isObject(value)) return undefined
  const { pid, startTime, bootId } = value
  if (!isPlausiblePid(pid)) return undefined
  if (typeof startTime !== 'string' || startTime === '' || startTime.length > 64) return undefined
  if (typeof bootId !== 'string' || !/^[0-9A-Fa-f-]{32,40}$/.test(bootId)) return undefined
  return { pid, startTime, bootId }
}

/** Signals one process if it still is the one meant. Never this process, its parent or its group's leader. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (isOurs(identity.pid) || isSeenRunning(identity) !== true) return false
  return kill(identity.pid, signal)
}

/**
 * Signals a whole group. `witness` is a process known to belong to it: as long as it runs in that group, the group's
 * number cannot have passed to strangers.
 */
export function signalGroup(group: number, witness: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isPlausiblePid(group) || isOurs(group) || isSeenRunning(witness) !== true) return false
  try {
    const own = readStat(process.pid)
    const row = readStat(witness.pid)
    if (row === undefined || row.group !== group || own === undefined || own.group === group) return false
  } catch {
    return false
  }
  return kill(-group, signal)
}

const isOurs = (pid: number): boolean => pid === process.pid || pid === process.ppid

function kill(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal)
  } catch {
    // ESRCH: it went between check and signal. EPERM: it is no longer ours to signal. Either way nothing was sent.
    return false
  }
}
