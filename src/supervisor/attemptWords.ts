// What Coxswain itself says about an attempt, in words for people.
import type { Child } from '../core/child'
import type { Answer } from '../core/events'
import { nothingHeard, type Heard } from '../core/hear'
import type { Pulse } from '../core/pulse'
import type { ExitRecord } from '../process/launch'

export function notice(pulse: Pulse, text: string): Heard {
  return { ...nothingHeard(pulse), entries: [{ kind: 'notice', level: 'warning', text }] }
}

export function answerInWords(answer: Answer): string {
  switch (answer.kind) {
    case 'text':
      return answer.text
    case 'allow':
      return answer.scope === 'once' ? 'allowed once' : 'allowed for this child'
    case 'deny':
      return `denied: ${answer.message}`
    case 'cancelled':
      return 'cancelled'
  }
}

export function exitInWords(exit: ExitRecord): string {
  const how = exit.signal === null ? `with code ${exit.code ?? 'unknown'}` : `by ${exit.signal}`
  const cut = exit.drained ? '' : ' Its last output may be missing.'
  const swept = exit.killedSweep.length === 0 ? '' : ` ${processes(exit.killedSweep.length)} it left behind were ended.`
  const alive = exit.survivors.map((survivor) => survivor.pid).join(', ')
  const left = alive === '' ? '' : ` ${processes(exit.survivors.length)} could not be ended: ${alive}.`
  return `Process ended ${how}.${cut}${swept}${left}`
}

/** A limit that the keeper kept while nobody else was there names its setting. */
export function limitInWords(cause: 'timeout' | 'lease', child: Child): string {
  if (cause === 'lease') return 'no window was open for longer than reloadLeaseSeconds'
  return `it ran longer than childTimeoutSeconds = ${(child.task.limits.wallMs ?? 0) / 1000}`
}

export const keeperEnded =
  'Its keeper does not answer. The keeper was killed, so that what it kept can be ended without it.'

/** `spent`: the ceiling that is reached. */
export const notWoken = (spent: string): string =>
  `It is not woken by what its children come to: ${spent}, and nothing is done by itself beyond that. They go on; resume it, and it hears of them.`

const processes = (count: number): string => (count === 1 ? '1 process' : `${count} processes`)
