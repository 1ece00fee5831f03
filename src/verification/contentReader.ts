// Puts questions to content without ever blocking the host: what is small and simple is answered here, everything else in
// a worker thread with a time and a memory limit, which is ended when it exceeds them. Owns that one worker.
import { Worker } from 'node:worker_threads'
import { judgeContent, type Finding, type Question, type Subject } from './content'
import type { Ask } from './contentWorker'
import { bytes } from './safePath'
import type { Limits } from './world'

/** Up to here searching and parsing take a few milliseconds at most. */
const SMALL_BYTES = 128 * 1024

/** For loading the worker's file on a machine that has much else to do. */
const START_MS = 30_000

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

  private async askWorker(ask: Ask): Promise<Finding> {
    const { name } = ask.subject
    let worker: Worker
    try {
      worker = this.worker ?? (await this.start())
    } catch (error) {
      return unknown(`${name} could not be judged: ${(error as Error).message}`)
    }
    return new Promise((resolve) => {
      const settle = (finding: Finding, keep: boolean): void => {
        clearTimeout(timer)
        forget(worker)
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
        const limit = bytes(this.limits.workerMemoryMb * 1024 * 1024)
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
          settle(hostile(`reading ${name} needs more memory than ${limit}`), false)
        else settle(unknown(`${name} could not be judged: ${error.message}`), false)
      })
      worker.once('exit', (code) =>
        settle(unknown(`${name} could not be judged: its reader ended with ${code}`), false),
      )
      const { subject } = ask
      if ('bytes' in subject && subject.bytes.byteLength === subject.bytes.buffer.byteLength)
        worker.postMessage(ask, [subject.bytes.buffer as ArrayBuffer])
      else worker.postMessage(ask)
    })
  }

  private start(): Promise<Worker> {
    if (this.disposed) return Promise.reject(new Error('verification was ended'))
    const worker = new Worker(this.workerFile, {
      env: {},
      stdin: false,
      resourceLimits: { maxOldGenerationSizeMb: this.limits.workerMemoryMb, stackSizeMb: 4 },
    })
    this.worker = worker
    const fail = (reject: (error: Error) => void, words: string): void => {
      forget(worker)
      worker.on('error', () => undefined)
      this.worker = undefined
      void worker.terminate()
      reject(new Error(words))
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    return new Promise<Worker>((resolve, reject) => {
      timer = setTimeout(() => fail(reject, `its reader did not start within ${START_MS / 1000} s`), START_MS)
      worker.once('message', () => {
        forget(worker)
        resolve(worker)
      })
      worker.once('error', (error) => fail(reject, `its reader could not start: ${error.message}`))
      worker.once('exit', (code) => fail(reject, `its reader ended with ${code}`))
    }).finally(() => clearTimeout(timer))
  }
}

/** Only our own listeners: without the worker's internal ones it would never tell anything again. */
function forget(worker: Worker): void {
  for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
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
