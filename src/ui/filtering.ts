// Which children the tree shows: a filter a person chose, by one question at a time.
import * as vscode from 'vscode'
import type { ChildView } from '../supervisor/view'
import { askOne, askText, BACK } from './ask'
import type { CommandRoom } from './commandRoom'
import { t } from './present/l10n'
import { forPick } from './present/safe'
import { filters, nothingFiltered, standings, type Standing, type TreeFilter } from './present/standing'
import { groupTitle } from './tree/childrenTree'

export function filteringCommands({ command, opened, tree }: CommandRoom): void {
  command('filter', async () => {
    const filter = await askFilter(tree.filter, (await opened())?.list() ?? [])
    if (filter === null) return
    tree.setFilter(filter)
    await vscode.commands.executeCommand('setContext', 'coxswain.filtered', filters(filter))
  })
  command('clearFilter', async () => {
    tree.setFilter(nothingFiltered)
    await vscode.commands.executeCommand('setContext', 'coxswain.filtered', false)
  })
}

async function askFilter(now: TreeFilter, views: readonly ChildView[]): Promise<TreeFilter | null> {
  type Field = 'text' | 'state' | 'agent' | 'archived'
  const field = await askOne<Field>({
    title: t('Filter children'),
    placeholder: t('By what?'),
    items: [
      { value: 'text', label: t('Text…'), detail: t('In title, goal, branch or agent') },
      { value: 'state', label: t('State…') },
      { value: 'agent', label: t('Agent…') },
      { value: 'archived', label: now.archived === true ? t('Hide archived') : t('Show archived too') },
    ],
  })
  if (field === undefined || field === BACK) return null
  if (field === 'archived') return { ...now, archived: now.archived !== true }
  if (field === 'text') {
    const text = await askText({
      title: t('Filter children'),
      prompt: t('Part of a title, goal, branch or agent'),
      value: now.text ?? '',
      refuse: () => null,
    })
    return text === undefined || text === BACK ? null : { ...now, text }
  }
  if (field === 'state') {
    const picked = await vscode.window.showQuickPick(
      standings.map((value) => ({ label: groupTitle(value), value, picked: now.standings?.includes(value) ?? true })),
      { canPickMany: true, title: t('States to show') },
    )
    return picked === undefined
      ? null
      : withList(
          now,
          'standings',
          picked.map(({ value }) => value),
          standings.length,
        )
  }
  const agents = [...new Map(views.map(({ child }) => [child.task.recipe.agent, child.task.recipe.label]))]
  const picked = await vscode.window.showQuickPick(
    agents.map(([value, label]) => ({ label: forPick(label), value, picked: now.agents?.includes(value) ?? true })),
    { canPickMany: true, title: t('Agents to show') },
  )
  return picked === undefined
    ? null
    : withList(
        now,
        'agents',
        picked.map(({ value }) => value),
        agents.length,
      )
}

/** All ticked is no filter. */
function withList<K extends 'standings' | 'agents'>(
  filter: TreeFilter,
  key: K,
  values: K extends 'standings' ? Standing[] : string[],
  all: number,
): TreeFilter {
  const { [key]: _former, ...rest } = filter
  return values.length === all ? rest : { ...rest, [key]: values }
}
