// Builds the window's part of Coxswain from its pieces and registers it; decides nothing. Activation does no disk and no
// process work: the supervisor is opened when something first needs it, or right after if its children are still about.
import * as path from 'node:path'
import * as vscode from 'vscode'
import type { CoxswainApi } from '../../api/coxswain'
import { Acts } from './acts'
import { Attention } from './attention'
import { CheckTests } from './checkTests'
import { registerCommands } from './commands'
import { refreshLauncher } from './connectParent'
import { PANEL_TYPE, TranscriptPanels } from './panel/panels'
import { TEXT_SCHEME, WholeTexts } from './panel/wholeText'
import { lifecycleApi, offerToChat } from './parents'
import { linkedChild } from './present/link'
import { reached } from './present/milestones'
import { useTranslator } from './present/l10n'
import { FileMarks } from './review/fileMarks'
import { REVIEW_SCHEME, ReviewFiles } from './review/reviewFiles'
import { StatusItem } from './statusBar'
import { Supervision, type Opener } from './supervision'
import { Terminals } from './terminals'
import { ChildrenTree, UnreadMarks } from './tree/childrenTree'
import { WalkthroughTicks } from './walkthroughTicks'

/**
 * @param opener makes what opens the supervisor of a folder
 * @returns what other extensions get
 */
export function activateUi(
  context: vscode.ExtensionContext,
  opener: (log: vscode.LogOutputChannel) => Opener,
): CoxswainApi {
  const started = performance.now()
  useTranslator((message, args) => vscode.l10n.t(message, args ?? {}))
  const log = vscode.window.createOutputChannel('Coxswain', { log: true })
  const supervision = new Supervision(opener(log), log, context.workspaceState)
  const acts = new Acts(supervision)
  const panels = new TranscriptPanels(acts, supervision, log, context.extensionUri)
  const terminals = new Terminals(acts, supervision)
  const tree = new ChildrenTree(supervision, () => Date.now(), context.workspaceState)

  const dist = path.join(context.extensionPath, 'dist')
  let shownState = ''
  const showState = (): void => {
    const empty = supervision.state === 'open' && supervision.view?.list().length === 0
    const state = empty ? 'noChildren' : supervision.state
    if (state === shownState) return
    shownState = state
    void vscode.commands.executeCommand('setContext', 'coxswain.state', state)
  }
  const showFolders = (): void => {
    void vscode.commands.executeCommand('setContext', 'coxswain.severalFolders', supervision.folders().length > 1)
  }
  // The walkthrough ticks off what has happened, not what was only asked for.
  const ticks = new WalkthroughTicks()
  const showDone = (childId: string | null): void => {
    if (ticks.complete) return
    const { view } = supervision
    const views = childId === null ? (view?.list() ?? []) : [view?.get(childId)].filter((each) => each !== undefined)
    ticks.reach(views.flatMap(({ child }) => reached(child)))
  }
  const marks = new FileMarks(supervision, (error) => log.error('marks of changed files', String(error)))
  const checkTests = new CheckTests(supervision, acts, (error) => log.error('checks as tests', String(error)))
  context.subscriptions.push(
    log,
    supervision,
    ticks,
    checkTests,
    panels,
    terminals,
    tree,
    new StatusItem(supervision),
    new Attention(supervision, (childId) => panels.isVisible(childId), log),
    offerToChat(context, supervision),
    registerCommands({
      supervision,
      acts,
      tree,
      panels,
      terminals,
      memory: context.workspaceState,
      log,
      dist,
      checkTests,
    }),
    vscode.window.registerWebviewPanelSerializer(PANEL_TYPE, panels),
    vscode.window.registerFileDecorationProvider(new UnreadMarks()),
    marks,
    vscode.window.registerFileDecorationProvider(marks),
    vscode.workspace.registerTextDocumentContentProvider(TEXT_SCHEME, new WholeTexts(supervision)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => supervision.reconsider()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      showFolders()
      supervision.reconsider()
    }),
    supervision.onDidChange(showState),
    supervision.onDidChange(showDone),
    vscode.workspace.registerFileSystemProvider(REVIEW_SCHEME, new ReviewFiles(supervision), {
      isReadonly: true,
      isCaseSensitive: true,
    }),
    vscode.window.registerUriHandler({
      // Shows, and never acts: a link may come from anywhere.
      handleUri: (uri) => {
        const id = linkedChild(uri.path)
        if (id !== null && vscode.workspace.isTrusted) panels.show(id, { preserveFocus: false })
      },
    }),
    tree.treeView.onDidChangeSelection(({ selection }) => {
      const [only] = selection
      if (selection.length === 1 && only?.kind === 'child') panels.follow(only.id)
    }),
  )
  showState()
  showFolders()
  void vscode.commands.executeCommand('setContext', 'coxswain.ready', true)
  log.info('activated', { ms: Math.round(performance.now() - started) })
  supervision.openIfUsed().catch((error: unknown) => log.error('re-attaching failed', String(error)))
  refreshLauncher(dist).catch((error: unknown) => log.error('the launcher was not refreshed', String(error)))
  return lifecycleApi(supervision)
}
