// Puts questions to content without ever blocking the host: what is small and simple is answered here, everything else in
// a worker thread with a time and a memory limit, which is ended when it exceeds them. Owns that one worker.
import { Worker } from 'node:worker_threads'
import { judgeContent, type Finding, type Question, type Subject } from './content'
import type { Ask } from './contentWorker'
import { bytes } from './safePath'
import type { Limits } from './world'

/** Up to here searching and parsing take a few milliseconds at most. */
const SMALL_BYTES = 128 * 1024

export class ContentReader {
  private worker: Worker | undefined
  private busy: Promise<unknown> = Promise.resolve()
  private disposed = false

  /** `workerFile` is the bundled contentWorker, absolute. */
  constructor(
    private readonly workerFile: string,
    private readonly limits: Limits,
  ) {}

  /** One at a time, in order. Never rejects; content that exceeds a limit has failed its check. */
  async ask(question: Question, subject: Subject): Promise<Finding> {
    const isSmall = !('bytes' in subject) || subject.bytes.length <= SMALL_BYTES
    if (isSmall && isSimple(question)) return judgeContent(question, subject)
    const answer = this.busy.then(() => this.askWorker({ question, subject }))
    this.busy = answer
    return answer
  }

  async dispose(): Promise<void> {
    this.disposed = true
    await this.worker?.terminate()
    this.worker = undefined
  }

  private askWorker(ask: Ask): Promise<Finding> {
    if (this.disposed) return Promise.resolve(unknown('verification was ended'))
    const { name } = ask.subject
    return new Promise((resolve) => {
      const worker = (this.worker ??= new Worker(this.workerFile, {
        env: {},
        stdin: false,
        resourceLimits: { maxOldGenerationSizeMb: this.limits.workerMemoryMb, stackSizeMb: 4 },
      }))
      const settle = (finding: Finding, keep: boolean): void => {
        clearTimeout(timer)
        worker.removeAllListeners()
        // What it still has to say when it has been given up is of no interest.
        worker.on('error', () => undefined)
        if (!keep) {
          this.worker = undefined
          void worker.terminate()
        }
        resolve(finding)
      }
      const timer = setTimeout(() => {
        const seconds = this.limits.contentMs / 1000
        settle(hostile(`reading ${name} was stopped after ${seconds} s, the limit for ${whatOf(ask.question)}`), false)
      }, this.limits.contentMs)
      worker.once('message', (finding: Finding) => settle(finding, true))
      worker.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
          settle(
            hostile(`reading ${name} needs more memory than ${bytes(this.limits.workerMemoryMb * 1024 * 1024)}`),
            false,
          )
        else settle(unknown(`${name} could not be judged: ${error.message}`), false)
      })
      worker.once('exit', (code) =>
        settle(unknown(`${name} could not be judged: the worker ended with ${code}`), false),
      )
      const { subject } = ask
      if ('bytes' in subject && subject.bytes.byteLength === subject.bytes.buffer.byteLength)
        worker.postMessage(ask, [subject.bytes.buffer as ArrayBuffer])
      else worker.postMessage(ask)
    })
  }
}

function isSimple(question: Question): boolean {
  switch (question.kind) {
    case 'contains':
      return question.args.regex === undefined
    case 'schema':
      return question.args.schema === undefined
    case 'atLeast':
    case 'atMost':
      return true
    case 'tests':
      return false
  }
}

function whatOf(question: Question): string {
  switch (question.kind) {
    case 'contains':
      return question.args.regex === undefined ? 'a search' : 'a regular expression'
    case 'schema':
      return 'a schema'
    case 'atLeast':
    case 'atMost':
      return 'a count'
    case 'tests':
      return 'a test report'
  }
}

function hostile(reason: string): Finding {
  return { result: 'FAIL', reason, recoverable: false }
}

function unknown(reason: string): Finding {
  return { result: 'UNKNOWN', reason, recoverable: false }
}
