// Files dropped on a row become part of a steer to that child. Takes nothing of the tree itself and sends nothing: the
// words that go with them are asked for first.
import * as vscode from 'vscode'
import type { TreeNode } from '../present/standing'

const uriList = 'text/uri-list'

export class DropFiles implements vscode.TreeDragAndDropController<TreeNode> {
  readonly dropMimeTypes = [uriList]
  readonly dragMimeTypes = []

  async handleDrop(target: TreeNode | undefined, data: vscode.DataTransfer): Promise<void> {
    const list = await data.get(uriList)?.asString()
    if (target?.kind !== 'child' || list === undefined) return
    const uris = list
      .split(/\r?\n/)
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => vscode.Uri.parse(line))
      .filter(({ scheme }) => scheme === 'file')
    // Not waited for: VS Code would keep the drop open until the steer has been typed.
    if (uris.length > 0) void vscode.commands.executeCommand('coxswain.attachFiles', target.id, uris)
  }
}
