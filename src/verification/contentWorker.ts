// The worker thread in which untrusted content is parsed, matched and validated: it may be ended at any time and holds
// nothing. Bundled alone; it has no access to the worktree, only to the bytes posted to it.
import { parentPort } from 'node:worker_threads'
import { judgeContent, type Question, type Subject } from './content'

export interface Ask {
  readonly question: Question
  readonly subject: Subject
}

// Loading the validators takes a while; no question's time starts before they are there.
parentPort?.postMessage('ready')
parentPort?.on('message', ({ question, subject }: Ask) => {
  parentPort?.postMessage(judgeContent(question, subject))
})
