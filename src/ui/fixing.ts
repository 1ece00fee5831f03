// From a problem to a brief: a Quick Fix on diagnostics and a command in the test explorer start the dispatch of a child
// that is to fix it. Prepares the goal; the person edits it and sends it.
import * as vscode from 'vscode'
import { plainLine, plainText } from '../core/plainText'
import type { CommandRoom } from './commandRoom'
import { dispatch, type Brief } from './dispatch'
import { t } from './present/l10n'

const problemsAtMost = 20
/** Lines of the file before and after a problem. */
const around = 3

export function fixingCommands({ command, supervision, memory, present }: CommandRoom): vscode.Disposable {
  command('fixThis', async (subject, range) => {
    const brief = briefOf(subject, range)
    if (brief === null) {
      void vscode.window.showInformationMessage(
        t('There is no problem at the cursor or in this file, and no test was chosen.'),
      )
      return
    }
    const id = await dispatch(supervision, memory, brief)
    if (id !== null) await present(id)
  })
  return vscode.languages.registerCodeActionsProvider({ scheme: 'file' }, new Fixes(), {
    providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
  })
}

class Fixes implements vscode.CodeActionProvider {
  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    context: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    // Asked for on every move of the cursor: only where there is something to fix, and last in the list.
    if (context.diagnostics.length === 0 || !vscode.workspace.isTrusted) return []
    const action = new vscode.CodeAction(t('Dispatch a child to fix this…'), vscode.CodeActionKind.QuickFix)
    action.diagnostics = [...context.diagnostics]
    action.command = { command: 'coxswain.fixThis', title: action.title, arguments: [document.uri, range] }
    return [action]
  }
}

function briefOf(subject: unknown, range: unknown): Brief | null {
  if (isTest(subject)) return testBrief(subject)
  const editor = vscode.window.activeTextEditor
  const uri = subject instanceof vscode.Uri ? subject : editor?.document.uri
  if (uri === undefined) return null
  const all = vscode.languages.getDiagnostics(uri)
  const place = range instanceof vscode.Range ? range : uri === editor?.document.uri ? editor.selection : null
  const here = place === null ? [] : all.filter((each) => each.range.intersection(place) !== undefined)
  const problems = here.length > 0 ? here : range === undefined ? all : []
  return problems.length === 0 ? null : problemBrief(uri, problems.slice(0, problemsAtMost))
}

function problemBrief(uri: vscode.Uri, problems: readonly vscode.Diagnostic[]): Brief {
  const file = vscode.workspace.asRelativePath(uri, false)
  const [first] = problems
  const goal =
    problems.length === 1 && first !== undefined
      ? t('Fix this problem in {file}: {message}', { file, message: plainLine(first.message, 300) })
      : t('Fix these {n} problems in {file}', { n: problems.length, file })
  const document = vscode.workspace.textDocuments.find((each) => String(each.uri) === String(uri))
  const lines = problems.map((problem) => {
    const at = `${file}:${problem.range.start.line + 1}:${problem.range.start.character + 1}`
    const source = problem.source === undefined ? '' : ` (${problem.source})`
    return `${at}: ${plainText(problem.message)}${source}${document === undefined ? '' : `\n${passage(document, problem.range)}`}`
  })
  return {
    goal,
    context: `Problems reported by the editor:\n\n${lines.join('\n\n')}`.slice(0, 24_000),
    files: [{ uri }],
  }
}

function passage(document: vscode.TextDocument, range: vscode.Range): string {
  const from = Math.max(0, range.start.line - around)
  const to = Math.min(document.lineCount - 1, range.end.line + around)
  const lines: string[] = []
  for (let at = from; at <= to && lines.length < 40; at++)
    lines.push(`${String(at + 1).padStart(5)}  ${plainLine(document.lineAt(at).text, 300)}`)
  return lines.join('\n')
}

interface Test {
  readonly id: string
  readonly label: string
  readonly uri?: vscode.Uri | undefined
  readonly range?: vscode.Range | undefined
  readonly parent?: Test | undefined
  readonly error?: string | vscode.MarkdownString | undefined
}

/** What the test explorer hands over: an item of whichever extension's. */
function isTest(value: unknown): value is Test {
  return typeof value === 'object' && value !== null && 'id' in value && 'label' in value && 'children' in value
}

function testBrief(test: Test): Brief {
  const names: string[] = []
  for (let at: Test | undefined = test; at !== undefined && names.length < 10; at = at.parent)
    names.unshift(plainLine(at.label, 120))
  const where =
    test.uri === undefined
      ? null
      : `${vscode.workspace.asRelativePath(test.uri, false)}${test.range === undefined ? '' : `:${test.range.start.line + 1}`}`
  const error = typeof test.error === 'string' ? test.error : test.error?.value
  return {
    goal: t('Make the test “{name}” pass, without changing what it expects', { name: names.join(' › ') }),
    context: [
      where === null ? null : `The test: ${where}`,
      error === undefined ? null : `It said:\n${plainText(error)}`,
    ]
      .filter((part) => part !== null)
      .join('\n\n')
      .slice(0, 24_000),
    files: test.uri === undefined ? [] : [{ uri: test.uri }],
  }
}
