// Random lives of a child and its steers (R11; the long form walks 10,000), driven through the very functions the supervisor uses, against an
// agent that reads its queue in order, answers late or never, is killed, and loses what it said last. R11.
import { expect, it } from 'vitest'
import { acceptance, currentAttempt, isLive, type Child, type SteerState } from '../../../src/core/child'
import { decideInterrupt, decideResume, decideSteer, decideStop, decideWithdrawSteer } from '../../../src/core/decide'
import type { ChildEvent, Fact } from '../../../src/core/events'
import { hear } from '../../../src/core/hear'
import { fold, reduce } from '../../../src/core/reduce'
import type { AgentSignal } from '../../../src/core/signals'
import { seededRandom } from '../agents/random'
import { accepted, alphabet, eventAt } from './sample'

const lives = Number(process.env['COXSWAIN_LIVES'] ?? '2000')
const stepsPerLife = 60

class Life {
  private readonly log: ChildEvent[] = []
  private child: Child
  /** Handed over and not read; said and not heard yet. Both in order. */
  private inbox: string[] = []
  private said: AgentSignal[] = []
  /** Written to the agent by an owner that died before it recorded that. */
  private unrecorded: string[] = []
  /** In the first turn of the present attempt, until the agent answers it. */
  private riding: readonly string[] = []
  private sent = 0
  /** What became of a wish that was declined at the door. */
  readonly refusedAtDoor: string[] = []
  /** How often a living agent read each steer. */
  readonly read = new Map<string, number>()
  private lostWords = false

  constructor(private readonly next: () => number) {
    const first = reduce(undefined, eventAt(accepted(), 1))
    if (first === undefined) throw new Error('not accepted')
    this.child = first
    this.log.push(eventAt(accepted(), 1))
    this.tell(alphabet(1).worktree)
    this.tell(alphabet(1).first)
  }

  private tell(...facts: readonly Fact[]): void {
    for (const fact of facts) {
      const event = eventAt(fact, this.log.length + 1)
      this.log.push(event)
      this.child = reduce(this.child, event) as Child
    }
  }

  private get n(): number {
    return this.child.attempts.length
  }

  private get runs(): boolean {
    const attempt = currentAttempt(this.child)
    return attempt !== undefined && attempt.launchedAt !== null && attempt.ended === null
  }

  private readonly by = { kind: 'person' } as const

  private readonly acts: readonly (() => void)[] = [
    () => this.send(),
    () => this.send(),
    () => this.send(),
    () => this.handOver(false),
    () => this.handOver(false),
    () => this.handOver(true),
    () => this.agentReads(),
    () => this.agentReads(),
    () => this.agentSays({ kind: 'text', text: 'x' }),
    () => this.agentSays({ kind: 'condition', condition: { name: 'compacting', words: 'compacting' } }),
    () => this.agentSays({ kind: 'steerTaken', steerId: 'never', evidence: 'agent said' }),
    () => this.agentSays({ kind: 'result', ok: true }),
    () => this.refuse(),
    () => this.heard(1 + Math.floor(this.next() * 3)),
    () => this.heard(99),
    () => this.launch(),
    () => this.launch(),
    () => this.interrupt(),
    () => this.timeOut(),
    () => this.stop(),
    () => this.withdraw(),
    () => this.exit(true),
    () => this.exit(false),
    () => this.resume(),
    () => this.resume(),
    () => this.crash(),
  ]

  step(): void {
    this.acts[Math.floor(this.next() * this.acts.length)]?.()
  }

  private send(): void {
    const steerId = `s${++this.sent}`
    const refused = decideSteer(this.child, 'Look at auth.py.')
    expect(refused === null).toBe(acceptance(this.child).accepting)
    if (refused !== null) return void this.refusedAtDoor.push(steerId)
    this.tell({ type: 'steerQueued', steerId, text: 'Look at auth.py.', by: this.by })
  }

  private handOver(dies: boolean): void {
    const attempt = currentAttempt(this.child)
    if (!this.runs || attempt?.ready !== true || attempt.endRequest !== null) return
    const next = this.child.steers.find(({ state }) => state === 'queued')
    if (next === undefined || this.unrecorded.includes(next.id)) return
    this.inbox.push(next.id)
    if (dies) {
      this.unrecorded.push(next.id)
      this.crash()
    } else this.tell({ type: 'steerSent', steerId: next.id, attempt: this.n })
  }

  private agentReads(): void {
    const id = this.runs ? this.inbox.shift() : undefined
    if (id === undefined) return
    this.reads(id)
    this.said.push({ kind: 'steerTaken', steerId: id, evidence: 'agent said' })
  }

  private refuse(): void {
    const id = this.runs ? this.inbox.shift() : undefined
    if (id !== undefined) this.said.push({ kind: 'steerRefused', steerId: id, reason: 'no' })
  }

  private agentSays(signal: AgentSignal): void {
    if (!this.runs) return
    this.said.push(signal)
    if (signal.kind !== 'text') return
    for (const id of this.riding) this.reads(id)
    this.riding = []
  }

  private reads(id: string): void {
    this.read.set(id, (this.read.get(id) ?? 0) + 1)
  }

  private heard(count: number): void {
    if (!this.runs) return
    for (const signal of this.said.splice(0, count)) this.tell(...hear(this.child, this.n, [signal], 'stdout').facts)
    const attempt = currentAttempt(this.child)
    const waits = this.child.steers.some(({ state }) => state === 'queued' || state === 'sent')
    if (attempt?.report && attempt.endRequest === null && !waits && !attempt.closing)
      this.tell({ type: 'closing', attempt: this.n })
  }

  private launch(): void {
    const attempt = currentAttempt(this.child)
    if (attempt === undefined || attempt.ended !== null) return
    if (attempt.launchedAt === null) this.tell({ ...alphabet(this.n).launched })
    else if (!attempt.ready) this.tell(alphabet(this.n).ready)
  }

  private interrupt(): void {
    if (decideInterrupt(this.child) === null && currentAttempt(this.child)?.endRequest === null)
      this.tell(alphabet(this.n).interrupt)
  }

  private timeOut(): void {
    if (this.runs && currentAttempt(this.child)?.endRequest === null) this.tell(alphabet(this.n).timeout)
  }

  private stop(): void {
    if (this.next() < 0.3 && decideStop(this.child) === null) this.tell(alphabet(this.n).stop)
  }

  private withdraw(): void {
    const waiting = this.child.steers.filter(({ state }) => ['queued', 'sent', 'missed'].includes(state))
    const steer = waiting[Math.floor(this.next() * waiting.length)]
    if (steer === undefined || this.unrecorded.includes(steer.id)) return
    if (decideWithdrawSteer(this.child, steer.id, false) === null)
      this.tell({ type: 'steerWithdrawn', steerId: steer.id, by: this.by })
  }

  /** `drained`: all it said is heard before its end is on record. */
  exit(drained: boolean): void {
    if (!this.runs) return
    this.recover()
    if (drained) this.heard(Number.POSITIVE_INFINITY)
    else this.lostWords ||= this.said.length > 0
    this.tell(currentAttempt(this.child)?.endRequest ? alphabet(this.n).exitOurs : alphabet(this.n).exit0)
    this.inbox = []
    this.said = []
  }

  private resume(): void {
    const attempt = currentAttempt(this.child)
    if (attempt?.ended === null || decideResume(this.child, 'go on') !== null) return
    const waiting = this.child.steers.filter(({ state }) => state === 'queued' || state === 'missed')
    const carried = waiting.map(({ id }) => id)
    const round = this.child.paused ? this.child.round : this.child.round + 1
    this.tell({ ...alphabet(this.n + 1).resume, round, carried })
    this.riding = carried
  }

  /** A new owner folds the log and finds in the agent's queue what was written and not recorded. */
  private crash(): void {
    const folded = fold(this.log)
    expect(folded).toEqual(this.child)
    this.recover()
  }

  private recover(): void {
    for (const steerId of this.unrecorded.splice(0))
      if (this.child.steers.some(({ id, state }) => id === steerId && state === 'queued'))
        this.tell({ type: 'steerSent', steerId, attempt: this.n })
  }

  /** Brings the life to its end and says what is wrong with it. */
  end(): string[] {
    this.exit(true)
    const wrong: string[] = []
    const attempt = currentAttempt(this.child)
    if (attempt?.launchedAt === null && attempt.ended === null) this.tell(alphabet(this.n).startFailed)
    if (isLive(this.child)) wrong.push(`still ${this.child.phase}`)
    for (const { id, state, history } of this.child.steers) {
      const ended = history.filter((each) => ends.has(each.state)).map((each) => each.state)
      if (!ends.has(state)) wrong.push(`${id} is left ${state}`)
      // A missed steer waits for the next resume; everything else is the end of it.
      const final = ended.filter((each) => each !== 'missed' && each !== 'confirmed')
      if (final.length > 1) wrong.push(`${id} ended more than once: ${ended.join(', ')}`)
      if (history.slice(1).some((each) => each.state === 'queued')) wrong.push(`${id} went back into the queue`)
      // Only what an agent said last and nobody heard can be said to it again.
      if ((this.read.get(id) ?? 0) > 1 && !this.lostWords) wrong.push(`${id} was read twice`)
      if (this.refusedAtDoor.includes(id)) wrong.push(`${id} was refused and queued`)
    }
    if (this.child.steers.length + this.refusedAtDoor.length !== this.sent) wrong.push('a message is nowhere')
    if (this.child.misfits > 0) wrong.push(`${this.child.misfits} facts did not fit`)
    return [...wrong, ...this.outOfOrder()]
  }

  /** Of the steers one attempt was handed, receipts come in the order they were queued in. */
  private outOfOrder(): string[] {
    const places = new Map(this.child.steers.map(({ id }, place) => [id, place]))
    let [last, at] = [-1, 0]
    for (const event of this.log) {
      if (event.type !== 'steerDelivered') continue
      if (event.attempt !== at) [last, at] = [-1, event.attempt]
      const place = places.get(event.steerId) ?? -1
      if (place < last) return [`${event.steerId} overtook another in attempt ${at}`]
      last = place
    }
    return []
  }

  fates(): SteerState[] {
    return this.child.steers.map(({ state }) => state)
  }
}

const ends = new Set<SteerState>(['delivered', 'confirmed', 'refused', 'withdrawn', 'missed', 'unknown'])

it(`in ${lives} random lives each steer ends once, in a state that is shown, and their order is kept`, () => {
  const counts = new Map<string, number>()
  for (let seed = 1; seed <= lives; seed++) {
    const life = new Life(seededRandom(seed))
    for (let step = 0; step < stepsPerLife; step++) life.step()
    expect([seed, life.end()]).toEqual([seed, []])
    for (const fate of [...life.fates(), ...life.refusedAtDoor.map(() => 'refused at the door')])
      counts.set(fate, (counts.get(fate) ?? 0) + 1)
  }
  // All the ways of ending were walked, or the model has gone blind.
  for (const fate of ['delivered', 'confirmed', 'refused', 'withdrawn', 'missed', 'refused at the door'])
    expect([fate, (counts.get(fate) ?? 0) > 5]).toEqual([fate, true])
}, 120_000)
