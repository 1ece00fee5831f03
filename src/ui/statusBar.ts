// The one status-bar item: how many children work and how many need you; its hover answers which. Hidden while there is
// nothing to say.
import * as vscode from 'vscode'
import { isLive, openRequests } from '../core/child'
import { t } from './present/l10n'
import { row } from './present/row'
import { needsYouCount, standingOf } from './present/standing'
import type { ChildView } from '../supervisor/view'
import type { Supervision } from './supervision'

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('coxswain.status', vscode.StatusBarAlignment.Left, 5)
  private readonly following: vscode.Disposable
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly supervision: Supervision) {
    this.item.name = t('Coxswain')
    this.item.command = 'coxswain.showNeedsYou'
    this.following = supervision.onDidChange(() => {
      this.timer ??= setTimeout(() => this.render(), 300)
    })
  }

  dispose(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.following.dispose()
    this.item.dispose()
  }

  private render(): void {
    this.timer = null
    const views = (this.supervision.view?.list() ?? []).filter(({ child }) => !child.archived)
    const needs = needsYouCount(views)
    const working = views.filter(({ child }) => isLive(child) && standingOf(child) !== 'needsYou').length
    if (needs === 0 && working === 0) {
      this.item.hide()
      return
    }
    this.item.text = `$(megaphone) ${needs === 1 ? t('1 needs you') : needs > 0 ? t('{n} need you', { n: needs }) : t('{n} working', { n: working })}`
    this.item.accessibilityInformation = {
      label: t('Coxswain: {needs} children need you, {working} working', { needs, working }),
    }
    this.item.backgroundColor = needs > 0 ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined
    this.item.tooltip = this.hover(views)
    this.item.show()
  }

  /** Names go in as text; the only links are our own two commands. */
  private hover(views: readonly ChildView[]): vscode.MarkdownString {
    const hover = new vscode.MarkdownString('', true)
    hover.isTrusted = { enabledCommands: ['coxswain.showTranscript', 'coxswain.answerNext'] }
    hover.supportHtml = false
    for (const view of views.filter(({ child }) => standingOf(child) === 'needsYou' || isLive(child)).slice(0, 12)) {
      const shown = row(view, Date.now())
      const args = encodeURIComponent(JSON.stringify([view.child.id]))
      hover.appendMarkdown(`$(${shown.icon.id}) `)
      hover.appendText(shown.label)
      const answer = openRequests(view.child).length > 0 && standingOf(view.child) === 'needsYou'
      if (answer) hover.appendMarkdown(` [${t('Answer…')}](command:coxswain.answerNext?${args})`)
      hover.appendMarkdown(` [${t('Show')}](command:coxswain.showTranscript?${args})  \n`)
      hover.appendText(shown.description)
      hover.appendMarkdown('\n\n')
    }
    return hover
  }
}
