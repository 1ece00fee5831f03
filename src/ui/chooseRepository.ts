// Which folder of a window with several has its repository supervised. One at a time; the others are named, never silent.
import * as path from 'node:path'
import * as vscode from 'vscode'
import type { CommandRoom } from './commandRoom'
import { t } from './present/l10n'

export function repositoryCommands({ command, supervision }: CommandRoom): void {
  command('chooseRepository', async () => {
    const now = supervision.folder()
    const picks = supervision.folders().map((folder) => ({
      label: path.basename(folder),
      description: folder === now ? t('shown now') : '',
      detail: folder,
      folder,
    }))
    const picked = await vscode.window.showQuickPick(picks, {
      title: t('Choose repository'),
      placeHolder: t('Children of this folder’s repository are shown, and new ones work there'),
      matchOnDetail: true,
    })
    if (picked !== undefined) await supervision.choose(picked.folder)
  })
}
