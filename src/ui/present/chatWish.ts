// What the editor says of a chat's wish before it is carried out, and which wishes a person confirms each time: those that
// start or end work. The words of others in it are shown as text.
import type { Said } from '../../parent/wish'
import type { Refusal } from '../../supervisor/commands'
import { t } from './l10n'

export interface ChatWish {
  /** What is going on, while it does. */
  readonly doing: string
  /** Absent: nothing to confirm. */
  readonly confirm?: { readonly title: string; readonly lines: readonly string[] }
}

/** Characters of one goal or message that are shown. */
const shown = 2_000

/** `nameOf`: a child as people call it. */
export function chatWish(said: Said | Refusal, nameOf: (childId: string) => string): ChatWish {
  if ('error' in said) return { doing: t('Asking Coxswain') }
  const { wish } = said
  switch (wish.action) {
    case 'spawn': {
      const { tasks } = wish.request
      const title = tasks.length === 1 ? t('Dispatch a child?') : t('Dispatch {n} children?', { n: tasks.length })
      const lines = tasks.map(({ goal, agent }) =>
        agent === undefined ? cut(goal.trim()) : t('Agent {agent}: {goal}', { agent, goal: cut(goal.trim()) }),
      )
      return { doing: t('Dispatching'), confirm: { title, lines } }
    }
    case 'stop':
      return {
        doing: t('Stopping a child'),
        confirm: { title: t('Stop a child?'), lines: [nameOf(wish.request.subagent_id)] },
      }
    case 'resume': {
      const { subagent_id, message } = wish.request
      const lines = [nameOf(subagent_id), ...(message === undefined ? [] : [cut(message)])]
      return { doing: t('Resuming a child'), confirm: { title: t('Resume a child?'), lines } }
    }
    case 'list':
      return { doing: t('Looking at children') }
    case 'steer':
      return { doing: t('Steering a child') }
    case 'interrupt':
      return { doing: t('Pausing a child') }
    case 'result':
      return { doing: t('Reading a result') }
  }
}

/** With a count of what is not shown: a person confirms what they can see. */
function cut(text: string): string {
  const more = text.length - shown
  return more > 0 ? `${text.slice(0, shown)} ${t('… and {n} more characters', { n: more })}` : text
}
