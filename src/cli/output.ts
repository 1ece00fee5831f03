// How the command line speaks: JSON for programs, text for people, and errors that end it with exit 2.
import { readFileSync } from 'node:fs'
import type { RefusalCode } from '../core/decide'
import { isRefusal, type Refusal } from '../supervisor/commands'

export interface Output {
  readonly json: boolean
  /** With --json the object on one line, else the text; '' prints nothing. */
  print(object: object, text: string): void
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
