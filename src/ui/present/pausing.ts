// What a person is asked before a child is paused that has dispatched others: its own turn is cut, and they go on. Pure.
import type { Child } from '../../core/child'
import { liveBelow } from '../../core/subtree'
import { t } from './l10n'
import { titleOf } from './words'

/** Null when nothing below it goes on, so that there is nothing to ask. */
export function pauseQuestion(
  child: Child,
  all: readonly Child[],
): { readonly question: string; readonly detail: string } | null {
  const going = liveBelow(child, all)
  if (going.length === 0) return null
  return {
    question: t('Pause “{title}”?', { title: titleOf(child) }),
    detail: [
      t('The call it is making now is lost, and the children it dispatched go on:'),
      going.map((each) => `• ${titleOf(each)}`).join('\n'),
      t('What they come to waits until it is resumed. To end them too, stop it with all it dispatched.'),
    ].join('\n\n'),
  }
}
