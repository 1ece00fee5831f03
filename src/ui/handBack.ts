// Taking over a child's work, or throwing it away: the questions on the way, each naming what is at stake. What may be
// applied or lost is the supervisor's to say; nothing here overrides without a person having read the names.
import * as vscode from 'vscode'
import type { Child } from '../core/child'
import { checksToOverride } from '../core/verdict'
import type { Acts, Outcome } from './acts'
import { askOne, BACK } from './ask'
import { t } from './present/l10n'
import { forNotice } from './present/safe'
import { titleOf } from './present/words'
import type { Supervision } from './supervision'

const nothing: Outcome = { ok: false, words: '' }

/** Asks how, and again by name when something did not pass. */
export async function applyChild(acts: Acts, supervision: Supervision, childId: string): Promise<Outcome> {
  const child = supervision.view?.get(childId)?.child
  if (child === undefined) return { ok: false, words: t('This child is not in the record any more.') }
  const how = await askOne<'merge' | 'squash' | 'patch'>({
    title: t('Apply “{title}”', { title: titleOf(child) }),
    placeholder: t('Into the branch that is checked out here'),
    items: [
      { value: 'merge', label: t('Merge'), detail: t('Keeps its commits, joined by a merge commit') },
      { value: 'squash', label: t('Squash'), detail: t('One commit with all of its changes') },
      { value: 'patch', label: t('Patch'), detail: t('Its changes staged, for you to commit') },
    ],
  })
  if (how === undefined || how === BACK) return nothing
  const override = await overrides(child)
  return override === null ? nothing : await acts.apply(childId, how, override)
}

/** What a person agrees to apply although it did not pass; null when they do not. */
async function overrides(child: Child): Promise<readonly string[] | null> {
  const names = child.verdict === null ? [] : checksToOverride(child.verdict)
  if (names.length === 0) return []
  const button = t('Apply all the same')
  const choice = await vscode.window.showWarningMessage(
    forNotice(t('“{title}” did not pass everything. Apply it all the same?', { title: titleOf(child) })),
    { modal: true, detail: names.map((name) => `• ${name}`).join('\n') },
    button,
  )
  return choice === button ? names : null
}

/** Discards at once what is safe elsewhere; shows what would be lost and asks when something is not. */
export async function discardChild(acts: Acts, child: Child): Promise<Outcome> {
  const button = t('Discard worktree')
  const question = forNotice(t('Discard the worktree of “{title}”?', { title: titleOf(child) }))
  const first = await vscode.window.showWarningMessage(
    question,
    { modal: true, detail: t('You are asked again if anything in it would be lost.') },
    button,
  )
  if (first !== button) return nothing
  const outcome = await acts.discard(child.id, false)
  if (outcome.ok) return outcome
  const force = t('Discard and lose it')
  const again = await vscode.window.showWarningMessage(question, { modal: true, detail: outcome.words }, force)
  return again === force ? await acts.discard(child.id, true) : nothing
}
