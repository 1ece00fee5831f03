// Looking after Coxswain itself: compare the record with what runs, read the audit trail, copy what a bug report needs.
// Nothing copied holds a goal, a transcript, a path or an environment.
import * as vscode from 'vscode'
import type { ChildView } from '../supervisor/view'
import type { CommandRoom } from './commandRoom'
import { diagnosticsText } from './present/diagnostics'
import { t } from './present/l10n'
import { forNotice } from './present/safe'

export function careCommands({ command, meant, supervision, log }: CommandRoom): void {
  const coxswain = async () => {
    const now = await supervision.open()
    if (now.kind === 'open') return now.coxswain
    void vscode.window.showWarningMessage(forNotice(now.message))
    return null
  }

  command('reconcile', async () => {
    const opened = await coxswain()
    if (opened === null) return
    const found = await vscode.window.withProgress(
      { location: { viewId: 'coxswain.children' }, title: t('Reconciling') },
      () => opened.care.reconcile(),
    )
    const live = found.live === 1 ? t('1 child runs') : t('{n} children run', { n: found.live })
    void vscode.window.showInformationMessage(
      forNotice(
        t('The record was compared with what runs: {live}, {seen} in all. {owner}.', {
          live,
          seen: found.children,
          owner: owners[found.owner](),
        }),
      ),
    )
  })
  command('openAuditLog', async () => {
    const opened = await coxswain()
    if (opened === null) return
    const { path, lines, broken } = await opened.care.audit()
    if (lines === 0) {
      void vscode.window.showInformationMessage(t('Nothing was done yet that is audited.'))
      return
    }
    await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true })
    if (broken === null) vscode.window.setStatusBarMessage(t('Audit trail intact: {n} lines', { n: lines }), 8_000)
    else
      void vscode.window.showErrorMessage(
        forNotice(t('The audit trail is broken at line {line}: {why}.', { line: broken.line, why: broken.why })),
      )
  })
  command('copyDiagnostics', async (...args) => {
    const opened = await coxswain()
    if (opened === null) return
    const given: readonly ChildView[] =
      args.length > 0
        ? await meant(args.slice(0, 1), () => true, t('Copy diagnostics'))
        : opened.view.list().slice(0, 20)
    const agents = await opened.agents().catch((error: unknown) => {
      log.warn('agents could not be looked for', String(error))
      return []
    })
    const { version, platform, node } = opened.care.facts
    const host = [`VS Code ${vscode.version}`, vscode.env.appHost, vscode.env.remoteName ?? 'local'].join(', ')
    await vscode.env.clipboard.writeText(diagnosticsText({ version, platform, node, host, agents, views: given }))
    vscode.window.setStatusBarMessage(t('Diagnostics copied, without goals, transcripts, paths and environment'), 8_000)
  })
}

const owners = {
  'this window': () => t('This window supervises them'),
  'another process': () => t('Another window or process supervises them'),
  nobody: () => t('Nothing has to be supervised'),
} as const
