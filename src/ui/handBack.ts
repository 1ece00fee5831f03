// Taking over a child's work, or throwing it away: the questions on the way, each naming what is at stake. What may be
// applied or lost is the supervisor's to say; nothing here overrides without a person having read the names.
import * as vscode from 'vscode'
import type { Child } from '../core/child'
import type { ApplyPreview } from '../git/apply'
import { checksToOverride } from '../core/verdict'
import type { Acts, Outcome } from './acts'
import { askOne, BACK } from './ask'
import { confirmedDiscard } from './present/discard'
import { t } from './present/l10n'
import { changeSummary } from './present/review'
import { forNotice } from './present/safe'
import { titleOf } from './present/words'
import { isProblem } from './review/changes'
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
  const opened = await supervision.open()
  if (opened.kind === 'closed') return { ok: false, words: opened.message }
  const preview = await opened.coxswain.changes.preview(childId, how)
  if (isProblem(preview)) return { ok: false, words: forNotice(preview.message) }
  const override = child.verdict === null ? [] : checksToOverride(child.verdict)
  const sure = await confirmApply(child, preview, override)
  return sure ? await acts.apply(childId, how, override) : nothing
}

/** Says where it goes, how much it is, what is committed on the way, and what did not pass. */
async function confirmApply(child: Child, preview: ApplyPreview, unmet: readonly string[]): Promise<boolean> {
  const detail = [
    changeSummary(preview.files),
    preview.uncommitted.length === 0
      ? null
      : t('It left work uncommitted, which is committed on its own branch first: {files}.', {
          files: forNotice(preview.uncommitted.slice(0, 8).join(', ')),
        }),
    unmet.length === 0
      ? null
      : [t('It did not pass everything:'), ...unmet.map((name) => `• ${forNotice(name)}`)].join('\n'),
  ]
  const button = unmet.length === 0 ? t('Apply') : t('Apply all the same')
  const question = t('Apply “{title}” to {branch}?', {
    title: titleOf(child),
    branch: preview.branch ?? t('the checked-out commit'),
  })
  const choice = await vscode.window.showWarningMessage(
    forNotice(question),
    { modal: true, detail: detail.filter((line) => line !== null).join('\n\n') },
    button,
  )
  return choice === button
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
  const lose = t('Discard and lose it')
  return await confirmedDiscard(
    (confirmed) => acts.discard(child.id, confirmed),
    async (detail) => {
      // The first button is what Enter presses: it must lose nothing.
      const keep: vscode.MessageItem = { title: t('Keep it') }
      const away: vscode.MessageItem = { title: lose }
      return (await vscode.window.showWarningMessage(question, { modal: true, detail }, keep, away)) === away
    },
  )
}
