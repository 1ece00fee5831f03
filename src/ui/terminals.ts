// Children a person has taken over in a terminal of this window: opened once nothing of the child runs any more, closed
// before it is handed back. Whether a session is still open elsewhere is the supervisor's to say.
import * as vscode from 'vscode'
import { isLive } from '../core/child'
import type { ChildView } from '../supervisor/view'
import type { Acts, Outcome } from './acts'
import { OneAtATime } from './oneAtATime'
import { resumeOnceLeft } from './onceLeft'
import { t } from './present/l10n'
import { titleOf } from './present/words'
import type { Supervision } from './supervision'

/** A child is paused within its grace for stopping and what the sweep takes. */
const pauseMs = 30_000

export class Terminals implements vscode.Disposable {
  private readonly open = new Map<string, vscode.Terminal>()
  private readonly opening = new OneAtATime<Outcome>()
  private readonly closing: vscode.Disposable

  constructor(
    private readonly acts: Acts,
    private readonly supervision: Supervision,
  ) {
    this.closing = vscode.window.onDidCloseTerminal((closed) => {
      for (const [id, terminal] of this.open) if (terminal === closed) this.open.delete(id)
    })
  }

  /** Pauses the child and opens its session in a terminal; shows the one that is there already. */
  takeOver(view: ChildView): Promise<Outcome> {
    return this.opening.run(view.child.id, () => this.openFor(view))
  }

  private async openFor({ child }: ChildView): Promise<Outcome> {
    const here = this.open.get(child.id)
    if (here !== undefined) {
      here.show()
      return { ok: true, words: '' }
    }
    const answer = await this.acts.takeOver(child.id)
    if ('ok' in answer) return answer
    if (!(await this.ended(child.id))) return { ok: false, words: t('It has not ended yet. Take it over again.') }
    const terminal = vscode.window.createTerminal({
      name: t('Taken over: {title}', { title: titleOf(child) }),
      cwd: answer.cwd,
    })
    this.open.set(child.id, terminal)
    terminal.sendText(answer.command)
    terminal.show()
    return { ok: true, words: t('Paused here. Hand it back when you are done in the terminal.') }
  }

  /** Closes the terminal, which ends the agent in it, and lets the child go on here. */
  async handBack({ child }: ChildView, text: string): Promise<Outcome> {
    const terminal = this.open.get(child.id)
    terminal?.dispose()
    const resume = (): Promise<Outcome> => this.acts.resume(child.id, text)
    return terminal === undefined ? await resume() : await resumeOnceLeft(resume)
  }

  private async ended(childId: string): Promise<boolean> {
    const gone = (): boolean => {
      const view = this.supervision.view?.get(childId)
      return view === undefined || !isLive(view.child)
    }
    if (gone()) return true
    return await new Promise((resolve) => {
      const end = (answer: boolean): void => {
        clearTimeout(timer)
        following.dispose()
        resolve(answer)
      }
      const timer = setTimeout(() => end(false), pauseMs)
      const following = this.supervision.onDidChange(() => {
        if (gone()) end(true)
      })
    })
  }

  dispose(): void {
    this.closing.dispose()
  }
}
