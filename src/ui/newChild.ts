// Handing out work: from nothing, from what is selected in an editor, or from the brief of another child.
import * as vscode from 'vscode'
import { plainText } from '../core/plainText'
import type { CommandRoom } from './commandRoom'
import { briefAgain, dispatch, type Brief } from './dispatch'
import { t } from './present/l10n'

export function newChildCommands({ command, meant, supervision, memory, present }: CommandRoom): void {
  command('newChild', async (brief) => {
    const id = await dispatch(supervision, memory, isBrief(brief) ? brief : {})
    if (id !== null) await present(id)
  })
  command('newChildFromSelection', async () => {
    const brief = selectionBrief()
    if (brief === null) {
      void vscode.window.showInformationMessage(t('Select some text in an editor first.'))
      return
    }
    const id = await dispatch(supervision, memory, brief)
    if (id !== null) await present(id)
  })
  command('duplicate', async (...args) => {
    const [original] = await meant(args, () => true, t('Duplicate with edited brief'))
    if (original === undefined) return
    const { task } = original.child
    const id = await dispatch(
      supervision,
      memory,
      briefAgain({ goal: task.goal, context: task.context, agent: task.recipe.agent }),
    )
    if (id !== null) await present(id)
  })
}

function isBrief(value: unknown): value is Brief {
  return typeof value === 'object' && value !== null && 'goal' in value && typeof value.goal === 'string'
}

function selectionBrief(): Brief | null {
  const editor = vscode.window.activeTextEditor
  if (editor === undefined || editor.selection.isEmpty) return null
  const { document, selection } = editor
  const path = vscode.workspace.asRelativePath(document.uri, false)
  const where = `${path}:${selection.start.line + 1}-${selection.end.line + 1}`
  return { goal: '', context: plainText(`From ${where}:\n${document.getText(selection)}`).slice(0, 24_000) }
}
