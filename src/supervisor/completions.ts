// What a parent hears of its children between its turns: the completions it is owed, with the results, and the notices of
// pauses. Read from the files of the store by whoever asks; only the owner acknowledges.
import { readFile } from 'node:fs/promises'
import type { Child } from '../core/child'
import { completionsOf, noticesOf, pausesOf, type DueCompletion, type DueNotice } from '../core/completion'
import { sessionOf, type Caller } from '../core/ownership'
import type { StorePaths } from '../record/paths'
import { relayText } from './relay'
import { settledResult, type ChildResult } from './results'

export interface Completion {
  /** The same until it is acknowledged, and so is the content. */
  readonly completion_id: string
  readonly delegation_id: string
  readonly round: number
  /** Ids of the delegation's children that were paused when this became due. */
  readonly paused_left: readonly string[]
  readonly subagents: readonly ChildResult[]
  /** The same for a parent agent's context: short, with the paths of the rest. */
  readonly relay: string
}

/** Tells a parent that nothing went wrong: the child was paused on purpose and there is nothing to recover. */
export interface PauseNotice {
  readonly notice_id: string
  readonly subagent_id: string
  readonly title: string
  readonly ok: true
  readonly duration_s: number | null
  readonly outcome: string
}

/** A parent's own delegations, whether or not they have ended. */
export function dispatchedBy(caller: Caller, children: readonly Child[]): readonly Child[] {
  return children.filter((child) => child.parentSession === sessionOf(caller))
}

/** What `caller` has not acknowledged yet, oldest first; of one delegation, acknowledged ones too. */
export async function completionsFor(
  caller: Caller,
  children: readonly Child[],
  paths: StorePaths,
  delegationId?: string,
): Promise<readonly Completion[]> {
  const due = completionsOf(dispatchedBy(caller, children)).filter((completion) =>
    delegationId === undefined ? !completion.acknowledged : completion.delegationId === delegationId,
  )
  return await Promise.all(due.map((completion) => told(completion, paths)))
}

/** The pauses `caller` has not acknowledged yet, oldest first. */
export function pendingNotices(caller: Caller, children: readonly Child[]): readonly PauseNotice[] {
  return noticesOf(dispatchedBy(caller, children)).map(noticeOf)
}

/** What an acknowledgement of `ids` by `caller` is about; ids that are not its own, or never were, are not in it. */
export function acknowledgedBy(
  caller: Caller,
  children: readonly Child[],
  ids: readonly string[],
): { readonly completions: readonly DueCompletion[]; readonly notices: readonly DueNotice[] } {
  const own = dispatchedBy(caller, children)
  return {
    completions: completionsOf(own).filter(({ id }) => ids.includes(id)),
    notices: pausesOf(own).filter(({ id }) => ids.includes(id)),
  }
}

async function told(due: DueCompletion, paths: StorePaths): Promise<Completion> {
  const { id, delegationId, round, members, pausedLeft } = due
  const subagents = await Promise.all(members.map((child) => settledResult(paths, child, round)))
  return {
    completion_id: id,
    delegation_id: delegationId,
    round,
    paused_left: pausedLeft.map((child) => child.id),
    subagents,
    relay: relayText({
      completionId: id,
      subagents,
      wholeSummaries: await wholeSummaries(subagents),
      pausedLeft,
      resultFile: (result) => paths.child(result.subagent_id).result(round),
    }),
  }
}

async function wholeSummaries(results: readonly ChildResult[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const { subagent_id, summary_file } of results) {
    const text = summary_file === null ? undefined : await readFile(summary_file, 'utf8').catch(() => undefined)
    if (text !== undefined) found.set(subagent_id, text)
  }
  return found
}

function noticeOf({ id, child, attempt }: DueNotice): PauseNotice {
  const reason = attempt.endRequest?.reason ?? ''
  const who =
    attempt.endRequest?.cause === 'lease'
      ? 'it was paused on purpose, by a setting'
      : 'somebody stopped this child on purpose'
  return {
    notice_id: id,
    subagent_id: child.id,
    title: child.title,
    ok: true,
    duration_s: attempt.exit === null ? null : attempt.exit.durationMs / 1000,
    outcome: `STEERED -- ${who}, saying: ${reason === '' ? '(nothing)' : reason}`,
  }
}
