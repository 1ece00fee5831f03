// The steers of one child, from the wish to the agent's hands: on record before anyone hears "queued", handed over in
// order, each once, and asked back while the agent has not read them. Whether one was read is for its receipt to say.
import { decideEditSteer, decideReorder, decideSteer, decideWithdrawSteer, type Refused } from '../core/decide'
import type { Actor, Fact } from '../core/events'
import type { Talk } from './attempt'
import type { ChildRecord } from './childRecord'
import type { Jobs } from './jobs'

/** What an agent did not take is offered again after this. */
const notTakenRetryMs = 5_000

export interface OutboxSurroundings {
  /** The hold on the running agent, if there is one. */
  talk(): Talk | undefined
  /** A child that waits for its own children has something to go on with. */
  delegating(): void
}

export class Outbox {
  constructor(
    private readonly record: ChildRecord,
    private readonly jobs: Jobs,
    private readonly around: OutboxSurroundings,
  ) {}

  steer(steerId: string, text: string, by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const { child } = this.record
      if (child.steers.some((steer) => steer.id === steerId)) return null
      const refused = decideSteer(child, text)
      if (refused !== null) return refused
      const message = text.trim()
      await this.record.append([{ type: 'steerQueued', steerId, text: message, by }], true, [
        { kind: 'steer', steerId, text: message, by },
      ])
      this.jobs.later(() => this.handOver())
      if (this.record.child.delegating) this.around.delegating()
      return null
    })
  }

  edit(steerId: string, text: string, by: Actor): Promise<Refused | null> {
    return this.grant(
      () => decideEditSteer(this.record.child, steerId, text),
      () => ({ type: 'steerEdited', steerId, text: text.trim(), by }),
    )
  }

  reorder(order: readonly string[], by: Actor): Promise<Refused | null> {
    return this.grant(
      () => decideReorder(this.record.child, order),
      () => ({ type: 'steersReordered', order: [...order], by }),
    )
  }

  withdraw(steerId: string, by: Actor): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const { child } = this.record
      const canTakeBack = this.around.talk()?.conversation.withdrawSteer !== undefined
      const refused = decideWithdrawSteer(child, steerId, canTakeBack)
      if (refused !== null) return refused
      const steer = child.steers.find(({ id }) => id === steerId)
      if (steer?.state !== 'sent') {
        await this.record.append([{ type: 'steerWithdrawn', steerId, by }], true)
      } else if (steer.withdrawal === null) {
        await this.record.append([{ type: 'withdrawalAsked', steerId, by }], true, [
          { kind: 'notice', level: 'info', text: 'The agent was asked to give a steer back unread.' },
        ])
        this.jobs.later(() => this.askBack())
      }
      return null
    })
  }

  /** Within the queue: hands waiting steers to the agent, in order, once its receiver is known to be there. */
  async handOver(): Promise<void> {
    const talk = this.around.talk()
    if (talk === undefined) return
    const waiting = (): ReturnType<Talk['nextSteer']> => talk.nextSteer(this.record.child)
    for (let next = waiting(); next !== undefined; next = waiting()) {
      const { id, frames } = next
      if (!(await talk.send(frames, `steer-${id}`))) {
        this.jobs.afterMs(notTakenRetryMs, () => this.jobs.enqueue(() => this.handOver()))
        return
      }
      // Its receipt counts only once this is on record; until then nothing the agent says is heard.
      await this.jobs.surely(() =>
        this.record.append([{ type: 'steerSent', steerId: id, attempt: talk.attempt }], false, [
          { kind: 'receipt', steerId: id, state: 'sent' },
        ]),
      )
    }
  }

  /** Within the queue: asks for every steer that somebody wants back, each once per attempt. */
  async askBack(): Promise<void> {
    const talk = this.around.talk()
    if (talk?.conversation.withdrawSteer === undefined) return
    for (const { id, state, attempt, withdrawal } of this.record.child.steers)
      if (state === 'sent' && attempt === talk.attempt && withdrawal !== null)
        await talk.send(talk.conversation.withdrawSteer(id), `withdraw-${id}`)
  }

  private grant(decide: () => Refused | null, fact: () => Fact): Promise<Refused | null> {
    return this.jobs.enqueue(async () => {
      const refused = decide()
      if (refused === null) await this.record.append([fact()], true)
      return refused
    })
  }
}
