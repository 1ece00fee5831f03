// Whether this process owns the store: it takes it when nobody does, keeps its heart beating, lets go when another has taken
// it, and holds what only an owner has, the supervisor and the ear for others' commands.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { isUnfinished } from '../core/child'
import { identityOf, isRunning } from '../process/identity'
import { endLeftCommands } from '../process/runCommand'
import { claim, readOwner, type Lease, type OwnerRecord } from '../record/lease'
import type { StorePaths } from '../record/paths'
import type { CoxswainOptions } from './coxswain'
import type { FollowedStore } from './followStore'
import { serveCommands, type OwnerServer } from './ownerSocket'
import type { Supervisor } from './supervisor'
import { checksOf } from './verifyChild'

const beatMs = 2_000
const dayMs = 86_400_000

/** The supervisor of an owner; `isOwner` is false once another has taken the store. */
export type MakeSupervisor = (lease: Lease, isOwner: () => boolean) => Promise<Supervisor>

export class Ownership {
  private current: Supervisor | undefined
  private lease: Lease | undefined
  private server: OwnerServer | undefined
  private underWay: Promise<boolean> | undefined
  private readonly heart: NodeJS.Timeout
  private readonly ended: Promise<unknown>[] = []
  private disposed = false
  /** From then on the store is the background supervisor's: its start is no gap to step into. */
  private handedOver = false
  /** When old children were last looked for, on the monotonic clock. */
  private clearedAt = 0

  /** `taken`: told once this process has taken the store, before its children are taken up. */
  constructor(
    private readonly options: Pick<CoxswainOptions, 'log' | 'role' | 'settings' | 'version'>,
    private readonly paths: StorePaths,
    private readonly view: FollowedStore,
    private readonly makeSupervisor: MakeSupervisor,
    private readonly taken: () => void,
  ) {
    const failed = (error: unknown): void => options.log('error', 'the heart missed a beat', { error: String(error) })
    this.heart = setInterval(() => void this.beat().catch(failed), beatMs)
    this.heart.unref()
  }

  /** Undefined: this process does not own the store, or has not taken it in yet. */
  get supervisor(): Supervisor | undefined {
    return this.current
  }

  /** The attempt to take the store that is under way. */
  get claiming(): Promise<unknown> | undefined {
    return this.underWay
  }

  get isClosed(): boolean {
    return this.disposed
  }

  isOwner(): boolean {
    return this.lease !== undefined
  }

  /** A command of another process is being carried out. */
  isBusy(): boolean {
    return this.server?.isBusy() === true
  }

  /** Becomes the owner, if it can; `takeFrom`: the epoch of an owner known to be frozen. Whether it is one now. */
  async own(takeFrom?: number): Promise<boolean> {
    if (this.underWay === undefined && this.lease !== undefined) return true
    if (this.disposed || this.handedOver || this.options.role === 'command') return false
    this.underWay ??= this.claimStore(this.options.role, takeFrom).finally(() => (this.underWay = undefined))
    return await this.underWay
  }

  /** Becomes the owner if there are children that live, or whose result is not written, and nobody owns them. */
  async takeUpLive(): Promise<void> {
    if (this.lease !== undefined || !this.view.list().some(({ child }) => isUnfinished(child))) return
    const owner = await readOwner(this.paths.owner)
    if (owner === undefined || !isRunning(owner.process)) await this.own()
  }

  /** Lets go of the store for good. Resolves once what was under way is on disk. */
  async giveUp(): Promise<void> {
    this.handedOver = true
    await this.underWay
    const { lease } = this
    this.letGo()
    try {
      // What was under way is on disk before anybody else may write there.
      await this.closed()
    } finally {
      lease?.release()
    }
  }

  /** Lets go at once; children go on. Twice is harmless. */
  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    clearInterval(this.heart)
    const { lease } = this
    this.letGo()
    lease?.release()
  }

  /** After `dispose`: everything under way has been written. */
  async closed(): Promise<void> {
    await Promise.all(this.ended)
  }

  private async claimStore(role: OwnerRecord['role'], takeFrom: number | undefined): Promise<boolean> {
    const me = identityOf(process.pid)
    if (me === undefined) throw new Error('This process cannot see itself in the process table.')
    const token = randomBytes(32).toString('hex')
    const socketPath = join(this.paths.sockets, `owner-${randomBytes(4).toString('hex')}.sock`)
    const claimant = { process: me, token, socketPath, role, version: this.options.version }
    const claimed = await claim(this.paths.owner, claimant, isRunning, takeFrom)
    if (!('isHeld' in claimed)) return false
    try {
      // A former owner that was killed while it ran checks cannot end them any more. They will be run again.
      await endLeftCommands(checksOf(this.paths))
      const supervisor = await this.makeSupervisor(claimed, () => this.lease === claimed && claimed.isHeld())
      if (this.disposed) {
        claimed.release()
        return false
      }
      this.lease = claimed
      this.current = supervisor
      this.taken()
      await this.view.refresh()
      const unsettled = this.view.list().filter(({ child }) => isUnfinished(child))
      await supervisor.takeUp(unsettled.map(({ child }) => child.id))
      const server = await serveCommands(socketPath, token, (caller, agents) => supervisor.commandsFor(caller, agents))
      if (this.lease !== claimed) {
        server.dispose()
        return false
      }
      this.server = server
    } catch (error) {
      // On record as the owner and deaf: worse than none.
      if (this.lease === claimed) this.letGo()
      claimed.release()
      throw error
    }
    this.clearOld()
    return true
  }

  /** Beside everything else; nobody waits for it. */
  private clearOld(): void {
    this.clearedAt = performance.now()
    const { keepFinishedDays } = this.options.settings()
    if (keepFinishedDays === null || this.current === undefined) return
    this.current
      .expire(keepFinishedDays)
      .catch((error: unknown) => this.options.log('error', 'old children', { error: String(error) }))
  }

  private async beat(): Promise<void> {
    if (this.disposed) return
    if (this.lease !== undefined) {
      if (this.lease.isHeld()) {
        this.lease.beat()
        if (performance.now() - this.clearedAt > dayMs) this.clearOld()
        await this.current?.startWaiting()
        await this.current?.look()
        return
      }
      this.options.log('warning', 'another process has taken the store', { epoch: this.lease.epoch })
      this.letGo()
      return
    }
    // A parent agent waits for completions, and only an owner writes them.
    if (this.options.role === 'window' || this.options.role === 'mcp') await this.takeUpLive()
  }

  private letGo(): void {
    this.server?.dispose()
    this.server = undefined
    this.current?.dispose()
    if (this.current !== undefined) this.ended.push(this.current.closed())
    this.current = undefined
    this.lease = undefined
  }
}
