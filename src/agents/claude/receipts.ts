// How far each steer is known to have come, by the CLI's lifecycle events and replays of its uuid, never by its words.
import type { AgentSignal } from '../../core/signals'
import { steerIdIn } from './frames'

interface SteerProgress {
  readonly id: string
  state: 'written' | 'sent' | 'taken' | 'answered'
}

export class Receipts {
  /** Steers this process was handed: uuid → id, and how far each is known to have come. */
  private readonly steers = new Map<string, SteerProgress>()

  constructor(private readonly promptUuid: string) {}

  /** It is written to the CLI, or was by an earlier host. Twice is once. */
  written(uuid: string, id: string): void {
    if (!this.steers.has(uuid)) this.steers.set(uuid, { id, state: 'written' })
  }

  lifecycle(uuid: string, state: string): AgentSignal[] {
    const steer = this.steerOf(uuid)
    if (steer === undefined) return []
    switch (state) {
      case 'queued':
        if (steer.state !== 'written') return []
        steer.state = 'sent'
        return [{ kind: 'steerSent', steerId: steer.id }]
      case 'started':
        return this.taken(uuid, 'command_lifecycle started')
      case 'completed': {
        const taken = this.taken(uuid, 'command_lifecycle completed')
        if (steer.state === 'answered') return taken
        steer.state = 'answered'
        return [...taken, { kind: 'steerAnswered', steerId: steer.id, evidence: 'observed' }]
      }
      case 'cancelled':
        // After `started` it does not take the text back out of the history.
        return steer.state === 'taken' || steer.state === 'answered'
          ? []
          : [{ kind: 'steerGivenBack', steerId: steer.id }]
      default:
        return []
    }
  }

  taken(uuid: string, detail: string): AgentSignal[] {
    const steer = this.steerOf(uuid)
    if (steer === undefined || steer.state === 'taken' || steer.state === 'answered') return []
    steer.state = 'taken'
    return [{ kind: 'steerTaken', steerId: steer.id, evidence: 'observed', detail }]
  }

  /** The model has spoken, and so answered what it had taken. */
  answered(): AgentSignal[] {
    const signals: AgentSignal[] = []
    for (const steer of this.steers.values()) {
      if (steer.state !== 'taken') continue
      steer.state = 'answered'
      signals.push({ kind: 'steerAnswered', steerId: steer.id, evidence: 'observed' })
    }
    return signals
  }

  /** The steer a receipt speaks of, also one that an earlier host handed over. */
  private steerOf(uuid: string) {
    const known = this.steers.get(uuid)
    const id = known === undefined && uuid !== this.promptUuid ? steerIdIn(uuid) : undefined
    if (id === undefined) return known
    const steer: SteerProgress = { id, state: 'written' }
    this.steers.set(uuid, steer)
    return steer
  }
}
