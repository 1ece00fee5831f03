// The walkthrough's ticks: each a context key that VS Code waits for. A key that holds already when VS Code reads the
// walkthrough, which may be as late as its first opening, ticks nothing in that window: keys are set once a page stands open.
import * as vscode from 'vscode'
import { milestones, type Milestone } from './present/milestones'

/** VS Code reads the walkthroughs while it opens the page, and says of no event that it has. */
const readAfterMs = 1_000

export class WalkthroughTicks implements vscode.Disposable {
  private readonly reached = new Set<Milestone>()
  private readonly told = new Set<Milestone>()
  private timer: NodeJS.Timeout | null = null
  private readonly tabs = vscode.window.tabGroups.onDidChangeTabs(() => this.tellSoon())

  /** True once there is nothing left to be reached. */
  get complete(): boolean {
    return this.reached.size === milestones.length
  }

  reach(names: readonly Milestone[]): void {
    for (const name of names) this.reached.add(name)
    this.tellSoon()
  }

  dispose(): void {
    this.tabs.dispose()
    if (this.timer !== null) clearTimeout(this.timer)
  }

  private tellSoon(): void {
    if (this.timer !== null || this.reached.size === this.told.size || !pageOpen()) return
    this.timer = setTimeout(() => {
      this.timer = null
      if (!pageOpen()) return
      for (const name of this.reached) {
        if (this.told.has(name)) continue
        this.told.add(name)
        void vscode.commands.executeCommand('setContext', `coxswain.done.${name}`, true)
      }
    }, readAfterMs)
  }
}

/** To an extension a walkthrough is a tab of no kind it knows, as the welcome page that leads to it. */
function pageOpen(): boolean {
  return vscode.window.tabGroups.all.some(({ tabs }) => tabs.some(({ input }) => input === undefined))
}
