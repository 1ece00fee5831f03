// The way of a command to the one process that may carry it out: the owner of the store, which is this process, or another
// that is asked over its socket, or one that has to be brought first. It carries out nothing itself.
import { join } from 'node:path'
import type { Caller } from '../core/ownership'
import { isRunning } from '../process/identity'
import { startDetached } from '../process/startDetached'
import { lastBeat, readOwner, type OwnerRecord } from '../record/lease'
import type { StorePaths } from '../record/paths'
import { isRefusal, type CommandAnswer, type CommandName, type Commands, type Refusal } from './commands'
import type { CoxswainOptions } from './coxswain'
import { stackOf } from './jobs'
import { newId } from './newId'
import { askOwner } from './ownerSocket'
import type { Ownership } from './ownership'
import type { OwnPrograms } from './ownPrograms'
import { isForeseen, troubleInWords } from './troubleInWords'

const ownersInWords: Readonly<Record<OwnerRecord['role'], string>> = {
  window: 'the VS Code window',
  run: 'coxswain run',
  background: 'the background supervisor',
  mcp: 'coxswain mcp',
}
/** An owner whose heart has not beaten for so long while its process lives is frozen. */
const frozenMs = 15_000
const patienceMs = 5_000
/** An owner takes the store before it listens: so long it may take until it can be reached. */
const reachMs = 15_000
/** A dispatch may have to ask an agent for its version first. */
const spawnPatienceMs = 20_000

export class ReachOwner {
  constructor(
    private readonly options: Pick<CoxswainOptions, 'dist' | 'environment' | 'folder' | 'log' | 'role' | 'settings'>,
    private readonly paths: StorePaths,
    private readonly ownership: Ownership,
    private readonly programs: OwnPrograms,
  ) {}

  /** Never rejects: what fails is answered. */
  async route(caller: Caller, name: CommandName, wanted: unknown): Promise<CommandAnswer> {
    try {
      return await this.reach(caller, name, wanted)
    } catch (error) {
      if (!isForeseen(error)) this.options.log('error', 'a command failed', { command: name, stack: stackOf(error) })
      return unavailable(troubleInWords(error))
    }
  }

  private async reach(caller: Caller, name: CommandName, wanted: unknown): Promise<CommandAnswer> {
    // Told twice because an answer was lost, it must still be one: the sender gives it its name.
    const request = named(name, wanted)
    for (let since = performance.now(); performance.now() - since < reachMs; await pause(50)) {
      if (this.ownership.isClosed) return unavailable('This window is closing.')
      // Until every live child is open here, the caps would count too few.
      await this.ownership.claiming
      if (this.ownership.supervisor !== undefined)
        return await call(this.ownership.supervisor.commandsFor(caller), name, request)
      const owner = await readOwner(this.paths.owner)
      if (owner === undefined || !isRunning(owner.process)) {
        const problem = await this.bringOwner()
        if (problem !== undefined) return problem
        continue
      }
      const { agents } = this.options.settings()
      const asked = await askOwner(owner, caller, name, request, {
        agents,
        patienceMs: name === 'spawn' ? spawnPatienceMs : patienceMs,
      })
      if (asked.kind === 'answer') return this.besideOwnLimit(asked.answer, owner)
      if (asked.kind === 'silent') {
        if (!(await this.isFrozen(owner)))
          return unavailable(
            `The ${owner.role} that owns this store is busy and did not answer. Try again in a moment.`,
          )
        const problem = await this.bringOwner(owner.epoch)
        if (problem !== undefined) return problem
        since = performance.now()
        continue
      }
      // Unreachable: it is going, or has just gone.
      await pause(200)
    }
    return unavailable('The owner of this store could not be reached. Run "coxswain doctor" to see what is wrong.')
  }

  /** An owner refuses by its own settings: whoever has others hears whose they are. */
  private besideOwnLimit(answer: CommandAnswer, { role }: OwnerRecord): CommandAnswer {
    if (!isRefusal(answer) || answer.error.limit === undefined) return answer
    const { setting, cap } = answer.error.limit
    const own = this.options.settings()[setting]
    if (own === cap) return answer
    const whose = `That limit is the setting of ${ownersInWords[role]}, which runs this repository's children; your own, ${own}, does not count there.`
    return { error: { ...answer.error, message: `${answer.error.message} ${whose}` } }
  }

  /** Leaves a supervisor behind that owns the store until its children have ended. */
  async startBackground(takeFrom?: number): Promise<Refusal | undefined> {
    const node = await this.programs.node()
    if (typeof node !== 'string') return unavailable(node.message)
    const place = ['--repo', this.options.folder, '--store', this.paths.root]
    const take = takeFrom === undefined ? [] : ['--take', String(takeFrom)]
    await startDetached(node, [join(this.options.dist, 'cli.js'), 'supervise', ...place, ...take], {
      cwd: this.paths.root,
      environment: this.options.environment,
    })
    for (let waited = 0; waited < 10_000; waited += 50) {
      const owner = await readOwner(this.paths.owner)
      if (owner !== undefined && owner.epoch !== takeFrom && isRunning(owner.process)) return undefined
      await pause(50)
    }
    return unavailable(
      'The background supervisor did not come up within 10 s. Run "coxswain doctor" to see what is wrong.',
    )
  }

  /**
   * Somebody who can act: this process, or the background supervisor for a one-shot caller. `takeFrom`: the epoch of an
   * owner known to be frozen.
   */
  private async bringOwner(takeFrom?: number): Promise<Refusal | undefined> {
    if (this.options.role !== 'command') {
      await this.ownership.own(takeFrom)
      return undefined
    }
    return await this.startBackground(takeFrom)
  }

  private async isFrozen(owner: OwnerRecord): Promise<boolean> {
    const before = await lastBeat(this.paths.owner, owner.epoch)
    for (let waited = 0; waited < frozenMs; waited += 1_000) {
      await pause(1_000)
      if ((await lastBeat(this.paths.owner, owner.epoch)) !== before) return false
    }
    return true
  }
}

function named(name: CommandName, request: unknown): unknown {
  if (typeof request !== 'object' || request === null) return request
  if (name === 'steer') return { steer_id: newId(), ...request }
  if (name === 'spawn') return { dispatch_id: newId(), ...request }
  return request
}

async function call(commands: Commands, name: CommandName, request: unknown): Promise<CommandAnswer> {
  return await (commands[name] as (request: unknown) => Promise<CommandAnswer>)(request)
}

const unavailable = (message: string): Refusal => ({ error: { code: 'unavailable', message } })
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
