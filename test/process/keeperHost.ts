// A host as small as can be, to be killed at any moment: starts the attempt or attaches to it, follows it, and puts down
// what it has taken, one record per batch in one write. Started by tests and by the long reliability run.
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { attachKeeper } from '../../src/process/attachKeeper'
import { attemptFiles } from '../../src/process/attemptFiles'
import type { KeeperLink } from '../../src/process/keeperLink'
import { startKeeper, type StartOptions } from '../../src/process/startKeeper'

export interface TakenRecord {
  readonly from: number
  readonly to: number
  readonly first: number
  readonly last: number
}

/** What a host before us has put down. A torn record at the end is cut off: its lines count as not taken. */
export function readTaken(path: string): TakenRecord[] {
  if (!existsSync(path)) return []
  const text = readFileSync(path, 'utf8')
  const whole = text.lastIndexOf('\n') + 1
  if (whole < text.length) truncateSync(path, Buffer.byteLength(text.slice(0, whole)))
  return text
    .slice(0, whole)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as TakenRecord)
}

function takeEpoch(folder: string): number {
  for (;;) {
    const taken = readdirSync(folder).flatMap((name) => (name.startsWith('epoch.') ? [Number(name.slice(6))] : []))
    const next = Math.max(0, ...taken) + 1
    try {
      closeSync(openSync(join(folder, `epoch.${next}`), 'wx'))
      return next
    } catch {
      continue
    }
  }
}

async function main(optionsFile: string): Promise<void> {
  const options = JSON.parse(readFileSync(optionsFile, 'utf8')) as Omit<StartOptions, 'write'> & { root: string }
  const { attemptDir, root } = options
  const takenFile = join(root, 'taken.jsonl')
  const epoch = takeEpoch(root)
  let link: KeeperLink
  const taken = readTaken(takenFile)
  const from = { stdout: taken.at(-1)?.to ?? 0, stderr: 0 }
  const write = async (path: string, data: string): Promise<void> => writeFileSync(path, data)
  const createExclusively = async (path: string, data: string): Promise<boolean> => {
    try {
      writeFileSync(path, data, { flag: 'wx' })
      return true
    } catch {
      return false
    }
  }
  if (!existsSync(attemptFiles(attemptDir).launch)) {
    link = await startKeeper({ ...options, write, epoch })
  } else {
    const attached = await attachKeeper({ attemptDir, epoch, from, createExclusively })
    process.stdout.write(`${attached.kind}\n`)
    if (attached.kind !== 'live') process.exit(attached.kind === 'ended' ? 0 : 3)
    link = attached.link
  }
  await link.follow((lines) => {
    const numbers = lines.map((line) => (line.kind === 'line' ? Number(line.text) : NaN))
    const [first = NaN, last = NaN] = [numbers[0], numbers.at(-1)]
    // Counted within the batch here, across batches by whoever reads the records.
    if (numbers.some((number, index) => number !== first + index))
      throw new Error(`a batch out of order: ${first}…${last}`)
    const to = lines.at(-1)?.end ?? 0
    appendFileSync(takenFile, `${JSON.stringify({ from: lines[0]?.offset, to, first, last })}\n`)
    link.acknowledge({ stdout: to, stderr: 0 })
  })
  await link.acknowledgeExit()
  process.stdout.write('over\n')
  process.exit(0)
}

const optionsFile = process.argv[2]
if (optionsFile !== undefined && process.argv[1]?.endsWith('keeperHost.js') === true) void main(optionsFile)
