// What a person notes about a child: its name, and whether it is pinned or put away.
import { askText, BACK } from './ask'
import { namedBy, type CommandRoom, type Wanted } from './commandRoom'
import { t } from './present/l10n'
import { titleOf } from './present/words'

export function markingCommands({ command, meant, acts, tree, tell }: CommandRoom): void {
  command('rename', async (...args) => {
    const given = namedBy(args).length > 0 ? args.slice(0, 1) : tree.selectedChildren().slice(0, 1)
    const [child] = await meant(given, () => true, t('Rename a child'))
    if (child === undefined) return
    const title = await askText({
      title: t('Rename'),
      prompt: t('A title of a few words'),
      value: titleOf(child.child),
      refuse: (text) =>
        text.trim() === '' ? t('A title may not be empty.') : text.length > 80 ? t('80 characters at most.') : null,
    })
    if (title !== undefined && title !== BACK) tell(child, await acts.flag(child.child.id, { title: title.trim() }))
  })
  const flag = (
    name: string,
    flags: { pinned?: boolean; archived?: boolean },
    wanted: Wanted,
    question: string,
    archived = false,
  ): void =>
    command(name, async (...args) => {
      for (const child of await meant(args, wanted, question, undefined, archived))
        tell(child, await acts.flag(child.child.id, flags))
    })
  flag('pin', { pinned: true }, (child) => !child.pinned, t('Pin a child'))
  flag('unpin', { pinned: false }, (child) => child.pinned, t('Unpin a child'))
  flag('archive', { archived: true }, () => true, t('Archive a child'))
  flag('unarchive', { archived: false }, () => true, t('Bring back a child'), true)
}
