// `coxswain doctor`: takes the store if nobody has it, finds out what became of every attempt, compares the worktrees with
// git, and says what was found and done. It starts nothing and removes nothing.
import { currentAttempt, isLive, type Child } from '../core/child'
import { reconcile, type Reconciled } from '../git/worktree'
import type { Coxswain } from '../supervisor/coxswain'
import { unreadableChildren, type UnreadableChild } from '../supervisor/unreadable'
import { knownWorktree } from '../supervisor/verifyChild'
import { onlyForPersons, withStore } from './commands'
import type { Invocation } from './invocation'

interface Finding {
  readonly subagent_id: string
  readonly title: string
  readonly found: string
}

export async function doctor({ open, out }: Invocation): Promise<number> {
  return await withStore(await open('run'), async (coxswain) => {
    onlyForPersons(coxswain)
    const before = new Map(coxswain.view.list().map(({ child }) => [child.id, child.phase]))
    const owned = await coxswain.tryOwn()
    if (owned) await coxswain.recovered()
    await coxswain.refresh()
    const findings = [
      ...coxswain.view.list().flatMap(({ child }) => ofChild(child, before.get(child.id))),
      ...(await ofWorktrees(coxswain)),
      ...(await unreadableChildren(coxswain.paths, coxswain.view)).map(ofUnreadable),
    ]
    const owner = owned
      ? 'nobody had this store; it was looked after now'
      : 'another process owns this store and looks after its children'
    const children = coxswain.view.list()
    const live = children.filter(({ child }) => isLive(child)).length
    const expired = children.filter(({ child }) => child.expiredAt !== null).length
    out.print(
      { owner, children: children.length, live, expired, findings },
      [
        `${children.length === 1 ? '1 child' : `${children.length} children`}, ${live} live; ${owner}.`,
        ...findings.map(({ subagent_id, title, found }) => `${subagent_id}  ${title}: ${found}`),
        ...(expired === 0
          ? []
          : [`Of ${expired}, raw output, transcripts and results were removed after keepFinishedDays.`]),
        ...(findings.length === 0 ? ['Nothing to report.'] : []),
      ].join('\n'),
    )
    if (owned && coxswain.liveCount() > 0) await coxswain.handOver()
    return 0
  })
}

function ofChild(child: Child, before: Child['phase'] | undefined): Finding[] {
  const found: string[] = []
  if (before !== undefined && before !== child.phase) found.push(`was ${before}, is ${child.phase}`)
  const attempt = currentAttempt(child)
  if (attempt?.vanished) found.push(attempt.vanished)
  if (attempt?.exit && attempt.exit.survivors > 0) found.push(`${attempt.exit.survivors} processes could not be ended`)
  if (child.misfits > 0) found.push(`${child.misfits} facts did not fit and changed nothing`)
  return found.map((words) => ({ subagent_id: child.id, title: child.title, found: words }))
}

function ofUnreadable({ id, events, running }: UnreadableChild): Finding {
  const rest =
    running.length === 0
      ? 'no agent of it runs'
      : `its agent still runs and nothing else here can end it: kill ${running.map(({ pid }) => pid).join(' ')}`
  return { subagent_id: id, title: 'a damaged record', found: `${events} tells of no child; ${rest}` }
}

async function ofWorktrees({ git, repository, view }: Coxswain): Promise<Finding[]> {
  const kept = view.list().flatMap(({ child }) => {
    const known = child.discarded ? undefined : knownWorktree(child, repository.commonDir)
    return known === undefined ? [] : [{ child, known }]
  })
  const states = await reconcile(
    git,
    repository.commonDir,
    kept.map(({ known }) => known),
  )
  return kept.flatMap(({ child }) => {
    const words = worktreeWords(states.get(child.id))
    return words === null ? [] : [{ subagent_id: child.id, title: child.title, found: words }]
  })
}

function worktreeWords(state: Reconciled | undefined): string | null {
  if (state === undefined) return null
  const branch = 'ourBranchExists' in state && !state.ourBranchExists ? ', and its branch is gone' : ''
  switch (state.kind) {
    case 'present':
      if (state.branch === 'ours') return null
      return `another branch is checked out in its worktree: ${state.branchNow ?? 'none'}${branch}`
    case 'missing':
      return `the folder of its worktree was deleted${branch}`
    case 'forgotten':
      return `git no longer knows its worktree${branch}`
    case 'moved':
      return `its worktree was moved to ${state.to}`
    case 'absent':
      return `its worktree is gone${branch}`
  }
}
