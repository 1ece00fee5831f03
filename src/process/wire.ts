// What host and keeper say to each other over the socket: JSON lines, versioned. The socket is a bell and a tube for
// wishes; what the agent said is read from the files. Unknown fields are ignored, unknown messages answered as refused.
import { isObject, parseObject, type Fields } from './json'
import type { EndCause, ExitRecord, ProcessIdentity, SoftEnd } from './launch'
import { parseIdentity } from './identity'

/** Versions this build speaks. A keeper of a former version goes on serving a newer host that still knows it. */
export const wireVersions: readonly number[] = [1]
/** Linux takes 108 and macOS 104 with the final NUL; Node 20 cuts longer paths in silence. */
export const longestSocketPath = 103
/** A stdin frame may not be larger; its line on the wire may, for escaping. */
export const largestFrame = 16 * 1024 * 1024
export const largestWireLine = 8 * largestFrame

export interface Offsets {
  readonly stdout: number
  readonly stderr: number
}

export type HostMessage =
  | { readonly t: 'hello'; readonly versions: readonly number[]; readonly epoch: number; readonly hostId: string }
  | { readonly t: 'write'; readonly n: number; readonly id?: string; readonly text: string }
  | { readonly t: 'closeInput'; readonly n: number }
  | { readonly t: 'requestEnd'; readonly n: number; readonly cause: EndCause; readonly soft?: SoftEnd }
  | { readonly t: 'pauseClock'; readonly n: number }
  | { readonly t: 'resumeClock'; readonly n: number }
  | { readonly t: 'folded'; readonly offsets: Offsets }
  | { readonly t: 'exitSeen'; readonly n: number }

export type NotTaken = 'full' | 'closed' | 'ended' | 'tooLarge' | 'notJournaled'

export type KeeperMessage =
  | {
      readonly t: 'welcome'
      readonly version: number
      readonly keeper: ProcessIdentity
      readonly agent: ProcessIdentity
      readonly totals: Offsets
      readonly lastSeq: number
    }
  | { readonly t: 'refused'; readonly reason: 'epoch' | 'version'; readonly detail: string }
  | { readonly t: 'fenced'; readonly epoch: number }
  | { readonly t: 'grew'; readonly totals: Offsets }
  | { readonly t: 'answer'; readonly n: number; readonly seq?: number; readonly notTaken?: NotTaken }
  | { readonly t: 'trouble'; readonly what: 'diskWrite'; readonly detail: string }
  | { readonly t: 'exit'; readonly record: ExitRecord }

/** The keeper's first and only line to the process that started it. */
export type ReadyMessage =
  | { readonly ok: true; readonly keeper: ProcessIdentity; readonly agent: ProcessIdentity }
  | { readonly ok: false; readonly kind: string; readonly message: string }

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

export function parseOffsets(value: unknown): Offsets | undefined {
  if (!isObject(value) || !isCount(value['stdout']) || !isCount(value['stderr'])) return undefined
  return { stdout: value['stdout'], stderr: value['stderr'] }
}

/** A keeper's message as the host reads it; undefined for one this version does not know. */
export function parseKeeperMessage(line: string): KeeperMessage | undefined {
  const value = parseObject(line)
  if (value === undefined) return undefined
  switch (value['t']) {
    case 'welcome':
      return parseWelcome(value)
    case 'refused':
      return {
        t: 'refused',
        reason: value['reason'] === 'version' ? 'version' : 'epoch',
        detail: typeof value['detail'] === 'string' ? value['detail'] : '',
      }
    case 'fenced':
      return { t: 'fenced', epoch: isCount(value['epoch']) ? value['epoch'] : 0 }
    case 'grew': {
      const totals = parseOffsets(value['totals'])
      return totals && { t: 'grew', totals }
    }
    case 'answer': {
      const { n, seq, notTaken } = value
      if (!isCount(n)) return undefined
      if (typeof notTaken === 'string') return { t: 'answer', n, notTaken: notTaken as NotTaken }
      return isCount(seq) ? { t: 'answer', n, seq } : { t: 'answer', n }
    }
    case 'trouble':
      return { t: 'trouble', what: 'diskWrite', detail: typeof value['detail'] === 'string' ? value['detail'] : '' }
    case 'exit':
      return isObject(value['record']) ? { t: 'exit', record: value['record'] as unknown as ExitRecord } : undefined
    default:
      return undefined
  }
}

function parseWelcome(value: Fields): KeeperMessage | undefined {
  const keeper = parseIdentity(value['keeper'])
  const agent = parseIdentity(value['agent'])
  const totals = parseOffsets(value['totals'])
  const { version, lastSeq } = value
  if (!keeper || !agent || !totals || !isCount(version) || !isCount(lastSeq)) return undefined
  return { t: 'welcome', version, keeper, agent, totals, lastSeq }
}

/** Cuts a socket's bytes into messages. A line beyond `largest` ends the connection: `push` returns undefined. */
export class WireReader {
  #parts: Buffer[] = []
  #byteCount = 0
  constructor(private readonly largest: number) {}

  push(chunk: Buffer): string[] | undefined {
    const lines: string[] = []
    let from = 0
    for (;;) {
      const cut = chunk.indexOf(0x0a, from)
      const part = chunk.subarray(from, cut === -1 ? chunk.length : cut)
      this.#byteCount += part.length
      if (this.#byteCount > this.largest) return undefined
      this.#parts.push(part)
      if (cut === -1) return lines
      lines.push(Buffer.concat(this.#parts).toString())
      this.#parts = []
      this.#byteCount = 0
      from = cut + 1
    }
  }
}

export const wireLine = (message: HostMessage | KeeperMessage): string => `${JSON.stringify(message)}\n`
