// Showing a child and what it said: its transcript, one entry of it, all of it as a file, or whoever needs a person.
import * as vscode from 'vscode'
import { z } from 'zod'
import { namedBy, type CommandRoom } from './commandRoom'
import { exportTranscript } from './exportTranscript'
import { t } from './present/l10n'
import { wholeText } from './present/panel'
import { standingOf } from './present/standing'

/** What VS Code hands to a command of the transcript's context menu: the row's own context, which the webview wrote. */
const entrySchema = z.object({ n: z.number().int().nonnegative() })

export function showingCommands({ command, meant, opened, supervision, tree, panels }: CommandRoom): void {
  command('showTranscript', async (...args) => {
    const [child] = await meant(args.slice(0, 1), () => true, t('Show a transcript'))
    if (child !== undefined) panels.show(child.child.id, { preserveFocus: false })
  })
  command('showNeedsYou', async () => {
    const view = await opened()
    if (view === null) return
    await vscode.commands.executeCommand('coxswain.children.focus')
    const first = view.list().find(({ child }) => standingOf(child) === 'needsYou')
    if (first === undefined) void vscode.window.showInformationMessage(t('No child needs you.'))
    else await tree.reveal(first.child.id, true)
  })
  command('openSelected', async () => {
    const node = await tree.selectedNode()
    if (node?.kind === 'child') panels.show(node.id, { preserveFocus: true })
    else if (node?.kind === 'more') tree.unfold(node.standing)
  })
  command('keepPanel', () => panels.keepActive())
  command('copyEntry', async (context) => {
    const n = entrySchema.safeParse(context)
    const id = panels.activeChild()
    const view = await opened()
    if (!n.success || id === null || view === null) return
    const [entry] = await view.entries(id, n.data.n, 1)
    if (entry === undefined) return
    const parts = (['text', 'input', 'output'] as const).map((part) => wholeText(entry, part))
    await vscode.env.clipboard.writeText(parts.find((part) => part !== null) ?? '')
  })
  command('exportTranscript', async (...args) => {
    const inPanel = panels.activeChild()
    const given = namedBy(args).length > 0 ? args.slice(0, 1) : inPanel === null ? [] : [inPanel]
    const [child] = await meant(given, () => true, t('Export a transcript'))
    if (child !== undefined) await exportTranscript(child, supervision)
  })
}
