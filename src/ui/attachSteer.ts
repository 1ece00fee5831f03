// A steer with files: chosen from a list or dropped on a row, then the words that go with them.
import * as vscode from 'vscode'
import { STEER_MAX } from '../supervisor/commands'
import { askText, BACK } from './ask'
import { attach, chooseFiles, type Chosen } from './attachments'
import type { CommandRoom, Wanted } from './commandRoom'
import { actions } from './present/actions'
import { attachedText } from './present/attachments'
import { steerPlaceholder } from './present/input'
import { t } from './present/l10n'
import { titleOf } from './present/words'

export function attachCommands({ command, meant, acts, supervision, say }: CommandRoom): void {
  /** With a child's id, or a row, and perhaps the files that were dropped on it. */
  command('attachFiles', async (subject, dropped) => {
    const able: Wanted = (child) => actions(child).steer.able || actions(child).resume.able
    const needed = t('No child can be reached by a message now.')
    const targets = await meant(
      subject === undefined ? [] : Array.isArray(dropped) && dropped.some(isFile) ? [subject] : [subject, dropped],
      able,
      t('Steer a child with files'),
      needed,
    )
    const [first] = targets
    if (first === undefined) return
    const files = dropped instanceof Array ? dropped.filter(isFile).map((uri): Chosen => ({ uri })) : []
    const chosen = files.length > 0 ? files : await chooseFiles(t('Files for the steer'))
    const now = await supervision.open()
    if (chosen === null || chosen.length === 0 || now.kind === 'closed') return
    const attached = attachedText(await attach(now.coxswain, chosen), STEER_MAX / 2)
    const title =
      targets.length === 1
        ? t('Steer “{title}”', { title: titleOf(first.child) })
        : t('Steer {n} children', { n: targets.length })
    const words = await askText({
      title,
      prompt:
        chosen.length === 1
          ? t('1 file goes along. What is it to do with it?')
          : t('{n} files go along. What is it to do with them?', { n: chosen.length }),
      placeholder: steerPlaceholder(),
      refuse: (text) =>
        text.trim() === ''
          ? t('Say what it should do with them.')
          : text.length + attached.length + 2 > STEER_MAX
            ? t('That is too long together with the files.')
            : null,
    })
    if (words === undefined || words === BACK) return
    const message = `${words.trim()}\n\n${attached}`
    for (const each of targets) {
      const { id } = each.child
      say(each, actions(each.child).steer.able ? await acts.steer(id, message) : await acts.resume(id, message))
    }
  })
}

function isFile(value: unknown): value is vscode.Uri {
  return value instanceof vscode.Uri && value.scheme === 'file'
}
