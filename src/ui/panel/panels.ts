// Which transcript panels are open: one preview that follows the tree's selection, any number that are kept, each
// restored after a reload. Decides only which panel shows what.
import * as vscode from 'vscode'
import { z } from 'zod'
import type { Acts } from '../acts'
import type { Supervision } from '../supervision'
import { TranscriptPanel } from './transcriptPanel'

export const PANEL_TYPE = 'coxswain.transcript'

/** What the webview left behind with setState; an older or foreign shape restores nothing. */
const stateSchema = z.object({ childId: z.string().min(1).max(200), kept: z.boolean().catch(false) })

export class TranscriptPanels implements vscode.WebviewPanelSerializer, vscode.Disposable {
  private preview: TranscriptPanel | null = null
  private readonly open = new Set<TranscriptPanel>()
  private readonly activeChanged = new vscode.EventEmitter<void>()
  readonly onDidChangeActive = this.activeChanged.event

  constructor(
    private readonly acts: Acts,
    private readonly supervision: Supervision,
    private readonly log: vscode.LogOutputChannel,
    private readonly extensionUri: vscode.Uri,
  ) {}

  /** Shows a child: in its kept panel if it has one, else in the preview. */
  show(
    childId: string,
    options: { preserveFocus: boolean; steer?: { text: string | null }; entry?: number },
  ): TranscriptPanel {
    const kept = [...this.open].find((panel) => panel.kept && panel.childId === childId)
    const panel = kept ?? this.previewFor(childId, options.preserveFocus)
    panel.panel.reveal(undefined, options.preserveFocus)
    if (options.steer !== undefined) panel.focusSteerInput(options.steer.text)
    if (options.entry !== undefined) panel.go(options.entry)
    return panel
  }

  /** The preview, if it is on screen, moves on to the child that was selected. */
  follow(childId: string): void {
    if (this.preview?.panel.visible === true) this.preview.show(childId)
  }

  /** The child of the panel a person is in, or null. */
  activeChild(): string | null {
    for (const panel of this.open) if (panel.panel.active) return panel.childId
    return null
  }

  /** True when this child's transcript is on screen. */
  isVisible(childId: string): boolean {
    return [...this.open].some((panel) => panel.panel.visible && panel.childId === childId)
  }

  keepActive(): void {
    for (const panel of this.open) if (panel.panel.active) panel.keep()
  }

  async deserializeWebviewPanel(webviewPanel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const parsed = stateSchema.safeParse(state)
    if (!parsed.success || !vscode.workspace.isTrusted) {
      webviewPanel.dispose()
      return
    }
    const kept = parsed.data.kept || this.preview !== null
    this.take(webviewPanel, parsed.data.childId, kept)
  }

  /** Leaves the editors open: VS Code restores them after a reload, and closes them when the extension goes. */
  dispose(): void {
    for (const panel of this.open) panel.dispose()
    this.activeChanged.dispose()
  }

  private previewFor(childId: string, preserveFocus: boolean): TranscriptPanel {
    if (this.preview !== null) {
      this.preview.show(childId)
      return this.preview
    }
    const webviewPanel = vscode.window.createWebviewPanel(PANEL_TYPE, '', {
      viewColumn: vscode.ViewColumn.Active,
      preserveFocus,
    })
    return this.take(webviewPanel, childId, false)
  }

  private take(webviewPanel: vscode.WebviewPanel, childId: string, kept: boolean): TranscriptPanel {
    const media = vscode.Uri.joinPath(this.extensionUri, 'media')
    webviewPanel.iconPath = {
      light: vscode.Uri.joinPath(media, 'tab-light.svg'),
      dark: vscode.Uri.joinPath(media, 'tab-dark.svg'),
    }
    const panel = new TranscriptPanel(
      webviewPanel,
      this.acts,
      this.supervision,
      this.log,
      this.extensionUri,
      { childId, kept },
      (same) => {
        if (this.preview === same) this.preview = null
        this.publish()
      },
    )
    this.open.add(panel)
    if (!kept) this.preview = panel
    webviewPanel.onDidDispose(() => {
      this.open.delete(panel)
      if (this.preview === panel) this.preview = null
      this.publish()
    })
    webviewPanel.onDidChangeViewState(() => this.publish())
    this.publish()
    return panel
  }

  private publish(): void {
    const active = [...this.open].find((panel) => panel.panel.active)
    void vscode.commands.executeCommand('setContext', 'coxswain.panelActive', active !== undefined)
    void vscode.commands.executeCommand('setContext', 'coxswain.panelIsPreview', active?.kept === false)
    this.activeChanged.fire()
  }
}
