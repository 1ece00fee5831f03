// Line comments on a child's changes: collected on its diff, kept over a reload, sent together as one steer, or as the
// message of a resume when it has ended. Sends nothing before the person says so.
import * as vscode from 'vscode'
import { z } from 'zod'
import { STEER_MAX } from '../../supervisor/commands'
import { askOne, BACK } from '../ask'
import type { CommandRoom } from '../commandRoom'
import { actions } from '../present/actions'
import { t } from '../present/l10n'
import { commentsMessage, type LineComment } from '../present/reviewComments'
import { forPick } from '../present/safe'
import { titleOf } from '../present/words'
import { readReviewUri, reviewUri } from './reviewFiles'

const MEMORY = 'coxswain.reviewComments'
const savedSchema = z
  .array(
    z.object({
      childId: z.string(),
      path: z.string(),
      side: z.enum(['base', 'now']),
      line: z.number().int().positive(),
      lineText: z.string(),
      body: z.string(),
    }),
  )
  .catch([])
type Draft = LineComment & { readonly childId: string }

class DraftComment implements vscode.Comment {
  mode = vscode.CommentMode.Preview
  contextValue = 'draft'
  author = { name: t('You') }
  label = t('not sent yet')
  readonly body: vscode.MarkdownString
  constructor(
    readonly text: string,
    readonly thread: vscode.CommentThread,
    readonly lineText: string,
  ) {
    this.body = new vscode.MarkdownString('', false).appendText(text)
  }
}

export function commentCommands(room: CommandRoom): vscode.Disposable {
  const { command, opened, acts, memory, say } = room
  const controller = vscode.comments.createCommentController('coxswain.review', t('Comments on a child’s changes'))
  const threads = new Set<vscode.CommentThread>()
  controller.options = { prompt: t('Comment…'), placeHolder: t('What should it do about this line?') }
  controller.commentingRangeProvider = {
    // VS Code asks about every document there is; only both sides of a review are ours.
    provideCommentingRanges: (document) =>
      readReviewUri(document.uri) === null ? [] : [new vscode.Range(0, 0, Math.max(0, document.lineCount - 1), 0)],
  }

  const drafts = (): Draft[] =>
    [...threads].flatMap((thread) => {
      const address = readReviewUri(thread.uri)
      if (address === null) return []
      return thread.comments
        .filter((comment) => comment instanceof DraftComment)
        .map(({ text, lineText }) => ({ ...address, line: lineOf(thread), lineText, body: text }))
    })
  const changed = (): void => {
    const now = drafts()
    void memory.update(MEMORY, now)
    void vscode.commands.executeCommand('setContext', 'coxswain.hasComments', now.length > 0)
  }
  const drop = (thread: vscode.CommentThread): void => {
    threads.delete(thread)
    thread.dispose()
  }
  const add = (thread: vscode.CommentThread, text: string, lineText: string): void => {
    threads.add(thread)
    thread.label = t('For the child')
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded
    thread.comments = [...thread.comments, new DraftComment(text, thread, lineText)]
  }

  for (const { childId, side, path, line, lineText, body } of savedSchema.parse(memory.get(MEMORY) ?? [])) {
    const thread = controller.createCommentThread(
      reviewUri(childId, side, path),
      new vscode.Range(line - 1, 0, line - 1, 0),
      [],
    )
    add(thread, body, lineText)
  }
  void vscode.commands.executeCommand('setContext', 'coxswain.hasComments', threads.size > 0)

  command('addComment', async (reply) => {
    if (!isReply(reply) || reply.text.trim() === '') return
    const document = await vscode.workspace.openTextDocument(reply.thread.uri)
    const line = Math.min(lineOf(reply.thread), document.lineCount) - 1
    add(reply.thread, reply.text.trim(), document.lineAt(line).text)
    changed()
  })
  command('deleteComment', (comment) => {
    if (!(comment instanceof DraftComment)) return
    const { thread } = comment
    thread.comments = thread.comments.filter((each) => each !== comment)
    if (thread.comments.length === 0) drop(thread)
    changed()
  })
  command('commentHere', () => {
    const editor = vscode.window.activeTextEditor
    if (editor === undefined || readReviewUri(editor.document.uri) === null) {
      void vscode.window.showInformationMessage(t('Put the cursor into the changes of a child first.'))
      return
    }
    const thread = controller.createCommentThread(editor.document.uri, editor.selection, [])
    threads.add(thread)
    thread.label = t('For the child')
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded
  })
  command('sendComments', async (subject) => {
    const view = await opened()
    if (view === null) return
    const all = drafts()
    const ids = [...new Set(all.map(({ childId }) => childId))]
    const named = childOf(subject) ?? childOf(vscode.window.activeTextEditor?.document.uri)
    const childId = named !== null && ids.includes(named) ? named : ids.length === 1 ? ids[0] : await which(ids)
    const child = childId === undefined ? undefined : view.get(childId)
    if (child === undefined) {
      if (ids.length === 0) void vscode.window.showInformationMessage(t('There are no comments to send.'))
      return
    }
    const message = commentsMessage(all.filter((each) => each.childId === child.child.id))
    const { steer, resume } = actions(child.child)
    if (message.length > STEER_MAX)
      return say(child, {
        ok: false,
        words: t('the comments are too long for one message; delete some and send twice'),
      })
    const outcome = steer.able
      ? await acts.steer(child.child.id, message)
      : resume.able
        ? await acts.resume(child.child.id, message)
        : { ok: false, words: steer.why }
    if (!outcome.ok) return say(child, outcome)
    for (const thread of [...threads]) if (readReviewUri(thread.uri)?.childId === child.child.id) drop(thread)
    changed()
    vscode.window.setStatusBarMessage(
      steer.able ? t('Comments sent as a steer') : t('Resumed with the comments'),
      6_000,
    )
    room.panels.show(child.child.id, { preserveFocus: true })
  })

  async function which(ids: readonly string[]): Promise<string | undefined> {
    const view = await opened()
    const items = ids.flatMap((id) => {
      const child = view?.get(id)?.child
      return child === undefined ? [] : [{ value: id, label: forPick(titleOf(child)) }]
    })
    if (items.length === 0) return undefined
    const picked = await askOne<string>({ title: t('Send comments'), placeholder: t('To which child?'), items })
    return picked === BACK ? undefined : picked
  }

  // VS Code's own keys do not tell a file in a multi-diff from another one.
  const whereabouts = (editor: vscode.TextEditor | undefined): void => {
    const inReview = editor !== undefined && readReviewUri(editor.document.uri) !== null
    void vscode.commands.executeCommand('setContext', 'coxswain.inReview', inReview)
  }
  return vscode.Disposable.from(controller, vscode.window.onDidChangeActiveTextEditor(whereabouts))
}

function lineOf({ range }: vscode.CommentThread): number {
  return (range?.end.line ?? 0) + 1
}

function childOf(subject: unknown): string | null {
  if (subject instanceof vscode.Uri) return readReviewUri(subject)?.childId ?? null
  if (typeof subject === 'object' && subject !== null && 'uri' in subject) return childOf(subject.uri)
  return null
}

function isReply(value: unknown): value is vscode.CommentReply {
  return typeof value === 'object' && value !== null && 'thread' in value && 'text' in value
}
