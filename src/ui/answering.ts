// Answering what a child asks: the one that has waited longest first.
import * as vscode from 'vscode'
import { openRequests, type Child } from '../core/child'
import { plainLine } from '../core/plainText'
import type { ChildView } from '../supervisor/view'
import { askOne, askText, BACK } from './ask'
import { namedBy, type CommandRoom, type Wanted } from './commandRoom'
import { t } from './present/l10n'
import { forNotice, forPick } from './present/safe'
import { standingOf } from './present/standing'
import { coveredWords, titleOf } from './present/words'

export function answeringCommands({ command, opened, acts, panels, tell }: CommandRoom): void {
  command('answerNext', async (...args) => {
    const asking: Wanted = (child) => openRequests(child).length > 0 && standingOf(child) === 'needsYou'
    const view = await opened()
    if (view === null) return
    const named = namedBy(args)
    const next =
      named.length > 0
        ? view.get(named[0] ?? '')
        : [...view.list()].filter(({ child }) => asking(child)).sort(waited)[0]
    if (next === undefined) void vscode.window.showInformationMessage(t('No child is waiting for an answer.'))
    else await answer(next)
  })

  async function answer(asking: ChildView): Promise<void> {
    const request = openRequests(asking.child)[0]
    const id = asking.child.id
    if (request === undefined) {
      void vscode.window.showInformationMessage(
        forNotice(t('“{title}” is not waiting for an answer any more.', { title: titleOf(asking.child) })),
      )
      return
    }
    panels.show(id, { preserveFocus: true })
    if (request.ask.kind === 'question') {
      const text = await askQuestion(asking.child, request.ask)
      if (text !== null) tell(asking, await acts.answer(id, request.id, { kind: 'text', text }))
      return
    }
    const verdict = await askOne<'once' | 'child' | 'deny'>({
      title: t('“{title}” wants to use {tool}', {
        title: titleOf(asking.child),
        tool: plainLine(request.ask.tool, 60),
      }),
      placeholder: forNotice(plainLine(JSON.stringify(request.ask.input) ?? '', 200)),
      items: [
        { value: 'once', label: t('Allow once') },
        {
          value: 'child',
          label: t('Allow for this child'),
          detail: t('Until its process ends: {what}', {
            what: forPick(coveredWords(request.ask, asking.child.task.recipe.label), 200),
          }),
        },
        { value: 'deny', label: t('Deny…') },
      ],
    })
    if (verdict === undefined || verdict === BACK) return
    if (verdict !== 'deny') {
      tell(asking, await acts.answer(id, request.id, { kind: 'allow', scope: verdict }))
      return
    }
    const message = await askText({
      title: t('Deny'),
      prompt: t('What should it do instead? It reads this.'),
      refuse: (text) => (text.length > 4_000 ? t('4,000 characters at most.') : null),
    })
    if (message !== undefined && message !== BACK)
      tell(asking, await acts.answer(id, request.id, { kind: 'deny', message }))
  }
}

async function askQuestion(
  child: Child,
  ask: { readonly question: string; readonly options?: readonly string[] | undefined },
): Promise<string | null> {
  const title = t('“{title}” asks', { title: titleOf(child) })
  const options = ask.options ?? []
  if (options.length > 0) {
    const choice = await askOne<string | null>({
      title,
      placeholder: forNotice(ask.question, 200),
      items: [
        ...options.map((option) => ({ value: option, label: forPick(option) })),
        { value: null, label: t('Something else…') },
      ],
    })
    if (choice === undefined || choice === BACK) return null
    if (choice !== null) return choice
  }
  const text = await askText({
    title,
    prompt: forNotice(ask.question),
    refuse: (typed) => (typed.trim() === '' ? t('Type an answer.') : null),
  })
  return text === undefined || text === BACK ? null : text
}

function waited(a: ChildView, b: ChildView): number {
  const since = ({ child }: ChildView): string => openRequests(child)[0]?.askedAt ?? ''
  return since(a) < since(b) ? -1 : 1
}
