// Tells a person what happened to a child: one notification per event over all windows, none while they are looking at
// that child, and their own program where they set one. Answers nothing itself; a button looks again before it acts.
import * as vscode from 'vscode'
import { z } from 'zod'
import type { Child } from '../core/child'
import { claimedOf, happenings, happeningWords, isUrgent, type Happening } from './present/attention'
import { t } from './present/l10n'
import { forNotice } from './present/safe'
import { titleOf } from './present/words'
import type { Supervision } from './supervision'

/** The window a person is in speaks first, so that the others find the event claimed. */
const focusedMs = 300
const otherWindowMs = 2_500
/** More than so many at once are told in one sentence. */
const oneByOne = 3

const commandSchema = z.array(z.string())

interface Due {
  readonly childId: string
  readonly happening: Happening
  readonly at: number
}

export class Attention implements vscode.Disposable {
  /** Events this window has dealt with or is about to. */
  private readonly known = new Set<string>()
  private due: Due[] = []
  private timer: NodeJS.Timeout | null = null
  private disposed = false
  private readonly following: vscode.Disposable

  constructor(
    private readonly supervision: Supervision,
    /** That child is before the person's eyes. */
    private readonly onScreen: (childId: string) => boolean,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.following = supervision.onDidChange((childId) => this.look(childId))
  }

  dispose(): void {
    this.disposed = true
    if (this.timer !== null) clearTimeout(this.timer)
    this.following.dispose()
  }

  private look(childId: string | null): void {
    const { view } = this.supervision
    const views = childId === null ? (view?.list() ?? []) : [view?.get(childId)].filter((each) => each !== undefined)
    const { focused } = vscode.window.state
    for (const { child } of views)
      for (const happening of happenings(child)) {
        const name = `${child.id} ${happening.key}`
        if (this.known.has(name)) continue
        this.known.add(name)
        const wait = this.seen(child.id) ? 0 : focused ? focusedMs : otherWindowMs
        this.due.push({ childId: child.id, happening, at: Date.now() + wait })
      }
    this.plan()
  }

  private plan(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    if (this.due.length === 0 || this.disposed) return
    const next = Math.min(...this.due.map(({ at }) => at))
    this.timer = setTimeout(
      () => {
        this.tell().catch((error: unknown) => this.log.error('a notification failed', String(error)))
      },
      Math.max(0, next - Date.now()),
    )
  }

  private async tell(): Promise<void> {
    const now = Date.now()
    const ready = this.due.filter(({ at }) => at <= now)
    this.due = this.due.filter(({ at }) => at > now)
    this.plan()
    const opened = await this.supervision.open()
    if (opened.kind === 'closed') return
    const still = ready.flatMap(({ childId, happening }) => {
      const child = this.still(childId, happening)
      if (child === null) this.known.delete(`${childId} ${happening.key}`)
      return child === null ? [] : [{ child, happening }]
    })
    // Claimed as well when it is before their eyes: no other window has to speak of it.
    const claimed = await claimedOf(
      still,
      ({ child, happening }) => opened.coxswain.tellOnce(child.id, happening.key),
      (error) =>
        this.log.error('an event could not be claimed, so that another window may tell of it too', String(error)),
    )
    const ours = claimed.filter(({ child }) => !this.seen(child.id))
    for (const { child, happening } of ours) if (isUrgent(happening)) void this.runCommand(child, happening)
    const wanted = vscode.workspace.getConfiguration('coxswain').get<string>('notifications', 'all')
    const shown = ours.filter(({ happening }) => wanted === 'all' || (wanted === 'needsYou' && isUrgent(happening)))
    if (shown.length > oneByOne) this.summarise(shown)
    else for (const each of shown) this.show(each.child, each.happening)
  }

  /** The child, if it is still as it was when the event was seen. */
  private still(childId: string, { key }: Happening): Child | null {
    const child = this.supervision.view?.get(childId)?.child
    return child !== undefined && happenings(child).some((each) => each.key === key) ? child : null
  }

  private seen(childId: string): boolean {
    return vscode.window.state.focused && this.onScreen(childId)
  }

  private show(child: Child, happening: Happening): void {
    const words = forNotice(happeningWords(titleOf(child), happening))
    const show = t('Show')
    const first = happening.kind === 'asks' ? t('Answer…') : happening.kind === 'done' ? t('Review changes') : null
    const say = happening.kind === 'done' ? vscode.window.showInformationMessage : vscode.window.showWarningMessage
    // It may never be answered, so nothing waits for it.
    void Promise.resolve(say(words, ...(first === null ? [] : [first]), show)).then((pressed) => {
      if (pressed === undefined) return undefined
      if (pressed === show) return vscode.commands.executeCommand('coxswain.showTranscript', child.id)
      if (happening.kind === 'done') return vscode.commands.executeCommand('coxswain.reviewChanges', child.id)
      // Between the notice and the press somebody else may have answered, and another question may stand there now.
      if (this.still(child.id, happening) !== null)
        return vscode.commands.executeCommand('coxswain.answerNext', child.id)
      return vscode.window.showInformationMessage(
        forNotice(t('“{title}” is not waiting for that answer any more.', { title: titleOf(child) })),
      )
    })
  }

  private summarise(told: readonly { happening: Happening }[]): void {
    const needs = told.filter(({ happening }) => isUrgent(happening)).length
    const words =
      needs === 0
        ? t('{n} children have ended.', { n: told.length })
        : needs === 1
          ? t('1 child needs you.')
          : t('{n} children need you.', { n: needs })
    const show = t('Show')
    const say = needs === 0 ? vscode.window.showInformationMessage : vscode.window.showWarningMessage
    void Promise.resolve(say(words, show)).then((pressed) =>
      pressed === show
        ? vscode.commands.executeCommand(needs === 0 ? 'coxswain.children.focus' : 'coxswain.showNeedsYou')
        : undefined,
    )
  }

  private async runCommand(child: Child, { words }: Happening): Promise<void> {
    const argv = commandSchema.safeParse(vscode.workspace.getConfiguration('coxswain').get('needsYouCommand'))
    if (!argv.success || argv.data.length === 0) return
    const opened = await this.supervision.open()
    if (opened.kind === 'closed') return
    const need = { childId: child.id, title: titleOf(child), needs: words }
    const problem = await opened.coxswain.runNeedsYouCommand(argv.data, need)
    if (problem !== null) this.log.warn('coxswain.needsYouCommand', problem)
  }
}
