// The agent's stdin: every frame gets a sequence number and a line in the journal before it goes into the pipe. It is
// bounded: an agent that does not read gets nothing more, and whoever writes is told.
import { Socket } from 'node:net'
import type { Journal } from './journal'
import { redactText, type Secret } from './redact'
import { largestFrame, type NotTaken, type Offsets } from '../wire'

/** Beyond what the kernel holds (about 64 kB); a single frame may be larger when nothing waits. */
const waitingBytesMax = 1024 * 1024

export type WriteAnswer = { readonly seq: number } | { readonly notTaken: NotTaken }

export class AgentInput {
  readonly #pipe: Socket | undefined
  readonly #seqById = new Map<string, number>()
  #seq = 0
  #flushedSeq = 0
  #waitingBytes = 0
  #open: boolean

  constructor(
    fd: number | undefined,
    private readonly options: {
      readonly journal: Journal
      readonly secrets: readonly Secret[]
      readonly totals: () => Offsets
    },
  ) {
    this.#open = fd !== undefined
    if (fd === undefined) return
    this.#pipe = new Socket({ fd, readable: false, writable: true })
    // EPIPE: the agent closed its stdin or ended. Its exit says the rest.
    this.#pipe.on('error', () => this.#shut())
    this.#pipe.on('close', () => this.#shut())
  }

  get lastSeq(): number {
    return this.#seq
  }

  get flushedSeq(): number {
    return this.#flushedSeq
  }

  /** The same id twice is one frame: the second time only its number is answered. Throws when the journal cannot be. */
  write(text: string, id: string | undefined): WriteAnswer {
    const known = id === undefined ? undefined : this.#seqById.get(id)
    if (known !== undefined) return { seq: known }
    if (!this.#open || this.#pipe === undefined) return { notTaken: 'closed' }
    const bytes = Buffer.from(text)
    if (bytes.length > largestFrame) return { notTaken: 'tooLarge' }
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > waitingBytesMax) return { notTaken: 'full' }
    const seq = this.#seq + 1
    this.options.journal.append({
      seq,
      ...(id === undefined ? {} : { id }),
      at: Date.now(),
      after: this.options.totals(),
      text: redactText(text, this.options.secrets),
    })
    this.#seq = seq
    if (id !== undefined) this.#seqById.set(id, seq)
    this.#waitingBytes += bytes.length
    this.#pipe.write(bytes, (error) => {
      this.#waitingBytes -= bytes.length
      if (!error) this.#flushedSeq = Math.max(this.#flushedSeq, seq)
    })
    return { seq }
  }

  /** End of input, once what waits has gone through. */
  closeInput(): void {
    if (!this.#open) return
    this.#open = false
    this.options.journal.note({ closed: true, at: Date.now(), after: this.options.totals() })
    this.#pipe?.end()
  }

  close(): void {
    this.#shut()
    this.#pipe?.destroy()
  }

  #shut(): void {
    this.#open = false
  }
}
