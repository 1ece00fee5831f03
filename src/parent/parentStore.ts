// An opened store as one parent may see and use it: its own tree and nothing else. Reads are folds of the files that are
// followed anyway; what acts goes to the owner as this caller.
import { isLive, type Child } from '../core/child'
import { ownsChild, refusalFor, type Caller } from '../core/ownership'
import { isRefusal, type Commands, type Refusal } from '../supervisor/commands'
import type { ParentNotice } from '../supervisor/completions'
import type { Coxswain } from '../supervisor/coxswain'
import { listAnswer, type ListAnswer } from '../supervisor/payloads'
import { readResult, type ChildResult } from '../supervisor/results'
import { until } from '../supervisor/waiting'

/** What a parent must hear of and has not acknowledged yet; said again under the same id until it has. */
export interface Due {
  readonly id: string
  /** The children it tells of. */
  readonly children: readonly string[]
  /** For a parent agent to read. */
  readonly text: string
}

export type ResultAnswer =
  | ({ readonly action: 'result'; readonly ready: true } & ChildResult)
  | {
      readonly action: 'result'
      readonly subagent_id: string
      readonly ready: false
      readonly phase: Child['phase']
      readonly note: string
    }

export interface ParentStore {
  readonly commands: Commands
  /** Memory only. */
  list(): ListAnswer
  result(id: string, round?: number): Promise<ResultAnswer | Refusal>
  /** The child, if it is of this caller's tree. */
  child(id: string): Child | undefined
  /** Why `child` has none of that id: the truth to the parent it had before a person adopted it. */
  whyNot(id: string): Refusal['error']
  /** What is due to this caller of its own delegations: pauses, then completions, each oldest first. */
  due(): Promise<readonly Due[]>
  /** Ids that were never due to this caller change nothing. */
  acknowledge(ids: readonly string[]): Promise<{ readonly status: 'done' } | Refusal>
  /** Resolves once what this caller has just done shows in `list` and `child`. */
  caughtUp(): Promise<void>
  /** Resolves once `done` says so, asked again after each change, or `signal` aborts. For those who may wait. */
  until(done: () => boolean, signal?: AbortSignal): Promise<void>
  /** A child of this caller's tree changed. */
  onDidChange(listener: (child: Child) => void): { dispose(): void }
}

export function parentStore(coxswain: Coxswain, caller: Caller): ParentStore {
  const { view } = coxswain
  const commands = coxswain.commandsFor(caller)
  coxswain.speakFor(caller)
  const isOwn = (child: Child): boolean => ownsChild(caller, child, (id) => view.get(id)?.child)
  const childOf = (id: string): Child | undefined => {
    const child = view.get(id)?.child
    return child !== undefined && isOwn(child) ? child : undefined
  }
  const whyNot = (id: string) => refusalFor(caller, view.get(id)?.child, (above) => view.get(above)?.child)
  return {
    commands,
    list: () =>
      listAnswer(
        view.list().filter(({ child }) => isOwn(child)),
        new Date(),
      ),
    result: async (id, round) => {
      const child = childOf(id)
      if (child === undefined) return { error: whyNot(id) }
      const wanted = round ?? child.round
      const found =
        isLive(child) && wanted === child.round ? undefined : await readResult(coxswain.paths, child, wanted)
      if (found !== undefined) return { action: 'result', ready: true, ...found }
      const note =
        round !== undefined && round > child.round
          ? `There was no round ${round} yet.`
          : 'There is no result of it yet. Its completion comes by itself; do not poll.'
      return { action: 'result', subagent_id: id, ready: false, phase: child.phase, note }
    },
    child: childOf,
    whyNot,
    due: async () => [
      ...(await coxswain.notices(caller)).map(noticed),
      ...(await coxswain.completions(caller)).map(({ completion_id, relay, subagents }): Due => ({
        id: completion_id,
        children: subagents.map(({ subagent_id }) => subagent_id),
        text: relay,
      })),
    ],
    acknowledge: async (ids) => {
      const answer = await commands.acknowledge({ completion_ids: [...ids] })
      return isRefusal(answer) ? answer : { status: 'done' }
    },
    caughtUp: () => coxswain.refresh(),
    until: (done, signal) => until(coxswain, async () => done(), signal),
    onDidChange: (listener) =>
      view.onDidChange((id) => {
        const child = childOf(id)
        if (child !== undefined) listener(child)
      }),
  }
}

function noticed({ notice_id: id, ...notice }: ParentNotice): Due {
  return { id, children: [notice.subagent_id], text: `Notice ${id}: ${JSON.stringify(notice)}` }
}
