// A child's checks as VS Code test items, made only when a person asks for them: "Run failed again" and peek then work on
// them. Running one verifies the child again. Its profile is never a default one, so that "Run all tests" runs no
// command of a contract; archiving the child takes its items away.
import * as path from 'node:path'
import * as vscode from 'vscode'
import type { Child } from '../core/child'
import type { CheckResult, Verdict } from '../core/events'
import { plainText } from '../core/plainText'
import { verdictOver } from '../supervisor/waiting'
import type { Acts } from './acts'
import { t } from './present/l10n'
import { resultName } from './present/panel'
import { titleOf } from './present/words'
import type { Supervision } from './supervision'

export class CheckTests implements vscode.Disposable {
  private controller: vscode.TestController | null = null
  /** How many verdicts of a child its items show. */
  private readonly shown = new Map<string, number>()
  /** Children whose verdict a run of ours waits for. */
  private readonly running = new Set<string>()
  private readonly changed = new vscode.EventEmitter<void>()
  private readonly following: vscode.Disposable

  constructor(
    private readonly supervision: Supervision,
    private readonly acts: Acts,
    private readonly failed: (error: unknown) => void,
  ) {
    this.following = supervision.onDidChange((childId) => {
      if (this.controller === null) return
      for (const id of childId === null ? this.shown.keys() : [childId]) this.refresh(id)
      this.changed.fire()
    })
  }

  /** Shows a child's checks in VS Code's testing view, with the results of its present verdict. */
  async show(childId: string): Promise<void> {
    const opened = await this.supervision.open()
    const child = opened.kind === 'open' ? opened.coxswain.view.get(childId)?.child : undefined
    if (opened.kind === 'closed' || child === undefined || child.verdict === null) return
    const { criteria } = await opened.coxswain.contract(childId)
    const controller = (this.controller ??= this.makeController())
    const item = controller.createTestItem(childId, titleOf(child))
    item.description = child.task.recipe.label
    controller.items.add(item)
    for (const [n, words] of criteria.entries()) {
      const criterion = controller.createTestItem(`criterion ${n}`, words)
      criterion.description = t('for you to judge')
      criterion.sortText = `1 ${String(n).padStart(4, '0')}`
      item.children.add(criterion)
    }
    this.shown.delete(childId)
    this.refresh(childId)
    await vscode.commands.executeCommand('workbench.view.testing.focus')
  }

  dispose(): void {
    this.following.dispose()
    this.changed.dispose()
    this.controller?.dispose()
    this.controller = null
  }

  private makeController(): vscode.TestController {
    const controller = vscode.tests.createTestController('coxswain.checks', t('Coxswain: checks of children'))
    controller.createRunProfile(
      t('Verify again'),
      vscode.TestRunProfileKind.Run,
      (request, cancelled) => this.run(request, cancelled),
      false,
    )
    return controller
  }

  /** Items and results after a child's present verdict; takes them away when it was archived or is gone. */
  private refresh(childId: string): void {
    const { controller } = this
    const item = controller?.items.get(childId)
    if (controller === null || item === undefined) return
    const child = this.supervision.view?.get(childId)?.child
    if (child === undefined || child.archived) {
      controller.items.delete(childId)
      this.shown.delete(childId)
      if (controller.items.size === 0) {
        controller.dispose()
        this.controller = null
      }
      return
    }
    const { verdict, verdicts } = child
    if (verdict === null || this.running.has(childId) || this.shown.get(childId) === verdicts.length) return
    this.shown.set(childId, verdicts.length)
    const run = controller.createTestRun(new vscode.TestRunRequest([item]), titleOf(child), false)
    this.tell(run, controller, item, child, verdict)
    run.end()
  }

  private tell(
    run: vscode.TestRun,
    controller: vscode.TestController,
    item: vscode.TestItem,
    child: Child,
    verdict: Verdict,
  ): void {
    const known = new Set<string>()
    for (const [n, result] of verdict.checks.entries()) {
      const id = `check ${n}`
      known.add(id)
      const at = placeOf(child, result)
      const check = controller.createTestItem(id, resultName(result), at?.uri)
      if (at !== null) check.range = at.range
      check.sortText = `0 ${String(n).padStart(4, '0')}`
      item.children.add(check)
      const message = new vscode.TestMessage(wordsOf(result))
      if (at !== null) message.location = at
      if (result.result === 'PASS') run.passed(check, result.ms)
      else if (result.result === 'FAIL') run.failed(check, message, result.ms)
      else run.errored(check, message, result.ms)
    }
    item.children.forEach(({ id }) => {
      if (id.startsWith('check ') && !known.has(id)) item.children.delete(id)
    })
    for (const note of verdict.notes) run.appendOutput(`${plainText(note).replaceAll('\n', '\r\n')}\r\n`)
  }

  private async run(request: vscode.TestRunRequest, cancelled: vscode.CancellationToken): Promise<void> {
    const { controller } = this
    if (controller === null) return
    const all: vscode.TestItem[] = []
    controller.items.forEach((item) => all.push(item))
    const asked = new Set((request.include ?? all).map((item) => item.parent ?? item))
    const run = controller.createTestRun(request)
    try {
      await Promise.all([...asked].map((item) => this.verify(run, controller, item, cancelled)))
    } catch (error) {
      this.failed(error)
    } finally {
      run.end()
    }
  }

  private async verify(
    run: vscode.TestRun,
    controller: vscode.TestController,
    item: vscode.TestItem,
    cancelled: vscode.CancellationToken,
  ): Promise<void> {
    const childId = item.id
    const child = (): Child | undefined => this.supervision.view?.get(childId)?.child
    item.children.forEach((check) => {
      if (check.id.startsWith('check ')) run.started(check)
      else run.skipped(check)
    })
    const before = child()?.verdicts.length ?? 0
    this.running.add(childId)
    try {
      const outcome = await this.acts.verify(childId)
      if (!outcome.ok) {
        run.errored(item, new vscode.TestMessage(outcome.words))
        return
      }
      const isOver = verdictOver(before)
      const judged = (): boolean => {
        const now = child()
        return now === undefined || now.archived || isOver(now)
      }
      await this.until(judged, cancelled)
      const now = child()
      if (now === undefined || now.verdict === null || now.verdicts.length === before) return
      this.shown.set(childId, now.verdicts.length)
      this.tell(run, controller, item, now, now.verdict)
    } finally {
      this.running.delete(childId)
    }
  }

  /** Resolves when it holds, or nobody wants to know any more. */
  private until(holds: () => boolean, cancelled: vscode.CancellationToken): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds() && !cancelled.isCancellationRequested) return
        for (const each of listening) each.dispose()
        resolve()
      }
      const listening = [this.changed.event(look), cancelled.onCancellationRequested(look)]
      look()
    })
  }
}

/** Where a failure shows: the file it points at, at its line. */
function placeOf(child: Child, { location }: CheckResult): vscode.Location | null {
  if (location === undefined || child.worktree === null) return null
  const line = Math.max(0, (location.line ?? 1) - 1)
  return new vscode.Location(
    vscode.Uri.file(path.join(child.worktree.path, location.path)),
    new vscode.Range(line, 0, line, 0),
  )
}

function wordsOf(result: CheckResult): string {
  const words = [
    result.reason,
    ...(result.claim === undefined ? [] : [t('Its report says: {claim}', { claim: result.claim })]),
    ...(result.evidence === undefined ? [] : ['', result.evidence]),
  ].join('\n')
  // The testing view draws both in a terminal, which would obey what a file or a program put there.
  return plainText(words)
}
