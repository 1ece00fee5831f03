// A person's wishes on their way to the supervisor, and its answer in one sentence: shared by tree, palette and panel so
// that the same wish has the same words everywhere. Shows nothing itself but what has to be confirmed.
import * as vscode from 'vscode'
import { missedSteers } from '../core/child'
import type { RefusalCode } from '../core/decide'
import type { Answer } from '../core/events'
import { isRefusal, type Commands, type Refusal, type TakeOverAnswer } from '../supervisor/commands'
import type { ChildView, StoreView } from '../supervisor/view'
import { t } from './present/l10n'
import { pauseQuestion } from './present/pausing'
import { forNotice } from './present/safe'
import { titleOf } from './present/words'
import type { Supervision } from './supervision'

export interface Outcome {
  readonly ok: boolean
  /** One sentence; empty when there is nothing worth saying. */
  readonly words: string
  /** Why it was refused. */
  readonly code?: RefusalCode
  /** What a person may confirm, so that it is done all the same. */
  readonly confirm?: string
}

export class Acts {
  constructor(private readonly supervision: Supervision) {}

  steer(childId: string, text: string, steerId?: string): Promise<Outcome> {
    return this.ask((commands) =>
      commands.steer({ subagent_id: childId, message: text, ...(steerId === undefined ? {} : { steer_id: steerId }) }),
    )
  }

  editSteer(childId: string, steerId: string, text: string): Promise<Outcome> {
    return this.ask((commands) => commands.editSteer({ subagent_id: childId, steer_id: steerId, message: text }))
  }

  withdrawSteer(childId: string, steerId: string): Promise<Outcome> {
    return this.ask((commands) => commands.withdrawSteer({ subagent_id: childId, steer_id: steerId }))
  }

  reorderSteers(childId: string, order: readonly string[]): Promise<Outcome> {
    return this.ask((commands) => commands.reorderSteers({ subagent_id: childId, order: [...order] }))
  }

  /** Asks first where children of its own would go on. */
  async pause(childId: string): Promise<Outcome> {
    const { view } = this.supervision
    const paused = view?.get(childId)
    const asked =
      view === null || paused === undefined
        ? null
        : pauseQuestion(
            paused.child,
            view.list().map(({ child }) => child),
          )
    if (asked !== null && !(await confirmed(asked.question, asked.detail, t('Pause')))) return { ok: false, words: '' }
    return await this.ask((commands) => commands.interrupt({ subagent_id: childId, reason: t('paused by you') }))
  }

  resume(childId: string, text: string | null): Promise<Outcome> {
    return this.ask((commands) =>
      commands.resume({ subagent_id: childId, ...(text === null || text.trim() === '' ? {} : { message: text }) }),
    )
  }

  /** The command that goes on with its session in a terminal, or why there is none. */
  async takeOver(childId: string): Promise<TakeOverAnswer | Outcome> {
    const opened = await this.supervision.open()
    if (opened.kind === 'closed') return { ok: false, words: opened.message }
    const answer = await opened.coxswain.commands.takeOver({ subagent_id: childId })
    return isRefusal(answer) ? refused(answer) : answer
  }

  verify(childId: string): Promise<Outcome> {
    return this.ask((commands) => commands.verify({ subagent_id: childId }))
  }

  retry(childId: string): Promise<Outcome> {
    return this.ask((commands) => commands.retry({ subagent_id: childId }))
  }

  automate(childId: string, on: boolean): Promise<Outcome> {
    return this.ask((commands) => commands.automate({ subagent_id: childId, on }))
  }

  applySuggestion(childId: string): Promise<Outcome> {
    return this.ask((commands) => commands.applySuggestion({ subagent_id: childId }))
  }

  dismissSuggestion(childId: string): Promise<Outcome> {
    return this.ask((commands) => commands.dismissSuggestion({ subagent_id: childId }))
  }

  adopt(childId: string): Promise<Outcome> {
    return this.ask((commands) => commands.adopt({ subagent_id: childId }))
  }

  revoke(childId: string, requestId: string): Promise<Outcome> {
    return this.ask((commands) => commands.revoke({ subagent_id: childId, request_id: requestId }))
  }

  acceptPartial(childId: string): Promise<Outcome> {
    return this.ask((commands) => commands.acceptPartial({ subagent_id: childId }))
  }

  apply(childId: string, how: 'merge' | 'squash' | 'patch', override: readonly string[]): Promise<Outcome> {
    return this.ask((commands) => commands.apply({ subagent_id: childId, how, override: [...override] }))
  }

  /** `confirmed`: what would be lost, as the refusal before named it. */
  discard(childId: string, confirmed?: string): Promise<Outcome> {
    return this.ask((commands) =>
      commands.discard({ subagent_id: childId, ...(confirmed === undefined ? {} : { confirmed }) }),
    )
  }

  /** Takes back every steer that was missed, so that the child needs nobody on their account. */
  async dismissMissed(childId: string): Promise<Outcome> {
    const child = this.supervision.view?.get(childId)?.child
    let last: Outcome = { ok: true, words: '' }
    for (const { id } of child === undefined ? [] : missedSteers(child)) {
      last = await this.withdrawSteer(childId, id)
      if (!last.ok) return last
    }
    return last
  }

  answer(childId: string, requestId: string, answer: Answer): Promise<Outcome> {
    return this.ask((commands) => commands.answer({ subagent_id: childId, request_id: requestId, answer }))
  }

  flag(
    childId: string,
    flags: { title?: string; pinned?: boolean; archived?: boolean; seen?: boolean },
  ): Promise<Outcome> {
    return this.ask((commands) => commands.flag({ subagent_id: childId, ...flags }))
  }

  /** Asks first, by name. A child that has ended meanwhile is refused by the supervisor, not by us. */
  async stop(childIds: readonly string[]): Promise<Outcome> {
    const view = this.supervision.view
    if (view === null || childIds.length === 0) return { ok: false, words: t('There is no child to stop.') }
    if (!(await confirmStop(view, childIds))) return { ok: false, words: '' }
    const outcomes = await Promise.all(
      childIds.map((childId) =>
        this.ask((commands) => commands.stop({ subagent_id: childId, reason: t('stopped by you') })),
      ),
    )
    return outcomes.find((outcome) => !outcome.ok) ?? { ok: true, words: '' }
  }

  async view(): Promise<StoreView | null> {
    const opened = await this.supervision.open()
    return opened.kind === 'open' ? opened.coxswain.view : null
  }

  private async ask(wish: (commands: Commands) => Promise<{ readonly note?: string } | Refusal>): Promise<Outcome> {
    const opened = await this.supervision.open()
    if (opened.kind === 'closed') return { ok: false, words: opened.message }
    const answer = await wish(opened.coxswain.commands)
    if (isRefusal(answer)) return refused(answer)
    return { ok: true, words: answer.note === undefined ? '' : forNotice(answer.note) }
  }
}

const refused = ({ error: { message, ...why } }: Refusal): Outcome => ({ ok: false, words: forNotice(message), ...why })

async function confirmStop(view: StoreView, childIds: readonly string[]): Promise<boolean> {
  const children = childIds.map((id) => view.get(id)).filter((child): child is ChildView => child !== undefined)
  const names = children.map(({ child }) => titleOf(child))
  const button = t('Stop')
  const question =
    names.length === 1 ? t('Stop “{title}”?', { title: names[0] ?? '' }) : t('Stop {n} children?', { n: names.length })
  const detail = [
    ...(names.length === 1 ? [] : [names.map((name) => `• ${name}`).join('\n')]),
    t('Its agent is ended and the task is called off. Worktree and branch stay until you discard them.'),
  ].join('\n\n')
  return await confirmed(question, detail, button)
}

async function confirmed(question: string, detail: string, button: string): Promise<boolean> {
  const choice = await vscode.window.showWarningMessage(forNotice(question), { modal: true, detail }, button)
  return choice === button
}
