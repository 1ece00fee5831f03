// What became of an attempt that nobody follows: its keeper is attached to, or its end is found out, and what is left of a
// tree without a keeper is ended. It never starts a replacement.
import type { Attempt, Child } from '../core/child'
import type { ProcessIdentity } from '../core/events'
import { attachKeeper, readAgent, readKeeper, readLaunch } from '../process/attachKeeper'
import { endOrphan } from '../process/endOrphan'
import { signalProcess } from '../process/identity'
import type { KeeperLink } from '../process/keeperLink'
import type { ExitRecord } from '../process/launch'
import type { LineTaker } from '../process/rawReader'
import { createWhole } from '../record/atomicWrite'
import { makeFolder } from '../record/paths'
import type { Tools } from './tools'

interface Identities {
  readonly keeper: ProcessIdentity
  readonly agent: ProcessIdentity
}

export type FoundAttempt =
  | { readonly kind: 'live'; readonly link: KeeperLink }
  | {
      readonly kind: 'ended'
      readonly exit: ExitRecord
      /** Taken from the keeper's own records; undefined when no agent ever ran. */
      readonly ran: Identities | undefined
      readonly readLines: (take: LineTaker) => Promise<void>
      readonly acknowledge: () => Promise<void>
    }
  | {
      readonly kind: 'vanished'
      readonly ran: Identities | undefined
      readonly readLines: (take: LineTaker) => Promise<void>
      /** Ends what is left of the tree and says what was found. */
      readonly endRest: () => Promise<string>
    }
  | { readonly kind: 'neverStarted' }
  /** Ask again later, or end the keeper: then the next look finds it lost, and what it kept can be ended without it. */
  | { readonly kind: 'silent'; readonly endKeeper: () => void }
  | { readonly kind: 'foreign'; readonly words: string }

export async function findAttempt(child: Child, attempt: Attempt, tools: Tools): Promise<FoundAttempt> {
  const { folder } = tools.paths.child(child.id).attempt(attempt.n)
  const found = await attachKeeper({
    attemptDir: folder,
    epoch: tools.epoch,
    createExclusively: async (path, data) => {
      // Its owner may have died before it had made the folder, which is where it is forbidden to start.
      makeFolder(folder)
      return await createWhole(path, data)
    },
  })
  switch (found.kind) {
    case 'live':
      return found
    case 'ended':
      return {
        kind: 'ended',
        exit: found.exit,
        ran: await identities(folder),
        readLines: found.readLines,
        acknowledge: found.acknowledgeExit,
      }
    case 'keeperLost':
      return {
        kind: 'vanished',
        ran: await identities(folder),
        readLines: found.readLines,
        endRest: () => endRest(folder, found.agent ?? attempt.agent ?? undefined, child.task.limits.stopGraceMs),
      }
    case 'neverStarted':
      return { kind: 'neverStarted' }
    case 'silent':
      return { kind: 'silent', endKeeper: () => void signalProcess(found.keeper, 'SIGKILL') }
    case 'refused':
      return { kind: 'foreign', words: found.detail }
  }
}

/** Lets the keeper of an attempt whose end is on record go: a former owner may not have lived to tell it. */
export async function dismissKeeper(child: Child, attempt: Attempt, tools: Tools): Promise<void> {
  const { folder } = tools.paths.child(child.id).attempt(attempt.n)
  const found = await attachKeeper({ attemptDir: folder, epoch: tools.epoch })
  if (found.kind === 'ended') await found.acknowledgeExit()
  if (found.kind !== 'live') return
  await found.link.acknowledgeExit()
  found.link.detach()
}

async function identities(folder: string): Promise<Identities | undefined> {
  const [keeper, agent] = await Promise.all([readKeeper(folder), readAgent(folder)])
  return keeper === undefined || agent === undefined ? undefined : { keeper, agent }
}

async function endRest(folder: string, agent: ProcessIdentity | undefined, graceMs: number): Promise<string> {
  const launch = await readLaunch(folder)
  const gone = 'Its keeper is gone without a record of the end.'
  if (launch === undefined) return gone
  const { ended, survivors, unproven } = await endOrphan({ attemptDir: folder, marker: launch.marker, agent, graceMs })
  const swept = ended.length === 0 ? '' : ` ${ended.length} of its processes still ran and were ended.`
  const left = survivors.length === 0 ? '' : ` Could not be ended: ${survivors.map(({ pid }) => pid).join(', ')}.`
  const strange =
    unproven === undefined ? '' : ` Process ${unproven.pid} cannot be proven to be ours and was left alone.`
  return `${gone}${swept}${left}${strange}`
}
