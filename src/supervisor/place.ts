// The place one child takes on this machine. It is bookkeeping, so its failures are told to the log and never stand in the
// way of the child.
import type { ProcessIdentity } from '../core/events'
import type { Tools } from './tools'

export class Place {
  constructor(
    private readonly childId: string,
    private readonly tools: Pick<Tools, 'slots' | 'log'>,
  ) {}

  /** It is taken as long as `holder` lives. */
  async hold(holder: ProcessIdentity): Promise<void> {
    await this.change((slots) => slots.hold(this.childId, holder))
  }

  async release(): Promise<void> {
    await this.change((slots) => slots.release(this.childId))
  }

  /** Gives the place back when what it was taken for cannot begin. */
  async orGiveBack<T>(begins: Promise<T>): Promise<T> {
    try {
      return await begins
    } catch (error) {
      await this.release()
      throw error
    }
  }

  private async change(change: (slots: Tools['slots']) => Promise<void>): Promise<void> {
    try {
      await change(this.tools.slots)
    } catch (error) {
      this.tools.log('warning', 'slot not changed', { childId: this.childId, error: String(error) })
    }
  }
}
