// The audit trail of a store: one line per deed, each with the hash of the one before it, so that a changed, removed or
// inserted line shows. Append-only, one writer, fsynced.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { canonicalJson } from '../core/canonicalJson'
import { AppendFile } from './appendFile'
import { LineFile } from './lineFile'

/**
 * Who, what, on which child, and what the deed itself has to say; never prompts, secrets or environment. The fields that make
 * the chain are the trail's own.
 */
export interface Deed {
  readonly who: string
  readonly what: string
  readonly child: string
  readonly n?: never
  readonly at?: never
  readonly prev?: never
  readonly hash?: never
  readonly [field: string]: unknown
}

const lineSchema = z.looseObject({ n: z.number().int().positive(), at: z.string(), prev: z.string(), hash: z.string() })
type Line = z.infer<typeof lineSchema>

export interface AuditCheck {
  readonly lines: number
  /** The number of the first line of the file (from 1) that does not follow from those before it, and why. */
  readonly broken: { readonly line: number; readonly why: string } | null
}

const start = '0'.repeat(64)

export class AuditLog {
  private queue: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly file: AppendFile,
    private n: number,
    private last: string,
    private readonly now: () => Date,
  ) {}

  /** Opens the trail for its one writer. A torn last line is cut, and a line that says so seals the place. */
  static async open(path: string, now: () => Date): Promise<AuditLog> {
    const file = await AppendFile.open(path)
    try {
      return await AuditLog.after(path, file, now)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  private static async after(path: string, file: AppendFile, now: () => Date): Promise<AuditLog> {
    let n = 0
    let last = start
    let end = 0
    await new LineFile(path).readNew((text, _start, lineEnd) => {
      const line = readLine(text)
      if (line === undefined) return
      n = line.n
      last = line.hash
      end = lineEnd
    })
    // Each line is on the medium before the next is begun: only the last can be what a power cut left.
    if (end < file.size) await file.cutBack(end)
    const log = new AuditLog(file, n, last, now)
    if (file.cutBytes > 0)
      await log.add({
        who: 'coxswain',
        what: 'repaired',
        child: '',
        note: `a torn line of ${file.cutBytes} bytes was cut`,
      })
    return log
  }

  /** On the medium when it resolves. Rejects, and adds nothing, when it could not be written. */
  add(deed: Deed): Promise<void> {
    const done = this.queue.then(async () => {
      const body = { ...deed, n: this.n + 1, at: this.now().toISOString(), prev: this.last }
      const hash = hashOf(body)
      await this.file.append([JSON.stringify({ ...body, hash })], true)
      this.n = body.n
      this.last = hash
    })
    this.queue = done.catch(() => undefined)
    return done
  }

  async close(): Promise<void> {
    await this.queue
    await this.file.close()
  }
}

/** Reads the whole trail and follows its chain. For anyone. */
export async function checkAudit(path: string): Promise<AuditCheck> {
  let lines = 0
  let n = 0
  let last = start
  let broken: AuditCheck['broken'] = null
  await new LineFile(path).readNew((text) => {
    lines++
    const why = problemOf(readLine(text), n, last)
    if (why !== null) {
      broken = { line: lines, why }
      return false
    }
    const line = readLine(text)
    n = line?.n ?? n
    last = line?.hash ?? last
    return true
  })
  return { lines, broken }
}

function problemOf(line: Line | undefined, n: number, last: string): string | null {
  if (line === undefined) return 'it is not a line of an audit trail'
  if (line.prev !== last)
    return 'it does not follow the line before it: something was changed, removed or put in between'
  if (line.n !== n + 1) return `its number is ${line.n} where ${n + 1} is due`
  const { hash, ...body } = line
  return hashOf(body) === hash ? null : 'its content was changed'
}

const hashOf = (body: object): string => createHash('sha256').update(canonicalJson(body)).digest('hex')

function readLine(text: string): Line | undefined {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
