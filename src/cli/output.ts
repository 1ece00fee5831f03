// How the command line speaks: JSON for programs, text for people, and errors that end it with exit 2.
import { readFileSync } from 'node:fs'
import type { RefusalCode } from '../core/decide'
import { isRefusal, type Refusal } from '../supervisor/commands'

export interface Output {
  readonly json: boolean
  /** With --json the object on one line, else the text; '' prints nothing. */
  print(object: object, text: string): void
  /** Whether all that was printed has reached whoever reads it. */
  arrived(): Promise<boolean>
  /** Aborts once nobody reads what is printed any more: the pipe was closed, the disk is full, the terminal is gone. */
  readonly gone: AbortSignal
}

/** Standard output as commands use it. Its end is a fact to act on: as an exception it would end an owner in its work. */
export function standardOutput(json: boolean): Output {
  const gone = new AbortController()
  process.stdout.on('error', () => gone.abort())
  process.stderr.on('error', () => undefined)
  return {
    json,
    print: (object, text) => {
      process.stdout.write(json ? `${JSON.stringify(object)}\n` : text === '' ? '' : `${text}\n`)
    },
    arrived: () =>
      new Promise((resolve) => process.stdout.write('', (error) => resolve(!error && !gone.signal.aborted))),
    gone: gone.signal,
  }
}

/** What cannot be done as asked, in one sentence that says what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  constructor(
    readonly code: RefusalCode,
    message: string,
  ) {
    super(message)
  }
}

/** The answer, or a UsageError with the refusal's words. */
export function granted<T extends object>(answer: T | Refusal): T {
  if (isRefusal(answer)) throw new UsageError(answer.error.code, answer.error.message)
  return answer
}

/** A word that must be there. */
export function word(words: readonly string[], index: number, what: string): string {
  const found = words[index]
  if (found === undefined || found === '')
    throw new UsageError('invalid', `${what} is missing. Run coxswain --help for what there is.`)
  return found
}

/** The rest of the words as one text; `-` reads standard input. */
export function textOf(words: readonly string[], from: number): string {
  const rest = words.slice(from)
  return rest.length === 1 && rest[0] === '-' ? readFileSync(0, 'utf8') : rest.join(' ')
}
