// What every file of commands is given: how a command is registered, how the children it is meant for are found, and how
// its outcome is told. A command without an argument asks by name rather than guess: a keybinding may fire while another
// row is focused. Acts on nothing.
import * as vscode from 'vscode'
import type { Child } from '../core/child'
import { plainLine } from '../core/plainText'
import type { ChildView, StoreView } from '../supervisor/view'
import type { Acts, Outcome } from './acts'
import { askOne, BACK, type Choice } from './ask'
import type { CheckTests } from './checkTests'
import type { TranscriptPanels } from './panel/panels'
import { actions, type Actions } from './present/actions'
import { t } from './present/l10n'
import { row } from './present/row'
import { forNotice, forPick } from './present/safe'
import type { TreeNode } from './present/standing'
import { namedOnce, titleOf } from './present/words'
import type { Supervision } from './supervision'
import type { Terminals } from './terminals'
import type { ChildrenTree } from './tree/childrenTree'

export interface CommandParts {
  readonly supervision: Supervision
  readonly acts: Acts
  readonly tree: ChildrenTree
  readonly panels: TranscriptPanels
  readonly terminals: Terminals
  readonly memory: vscode.Memento
  readonly checkTests: CheckTests
  readonly log: vscode.LogOutputChannel
  /** The folder with the built command line. */
  readonly dist: string
}

export type Wanted = (child: Child) => boolean

export interface CommandRoom extends CommandParts {
  /** Registers `coxswain.NAME`; what it throws is logged and told. */
  readonly command: (name: string, run: (...args: unknown[]) => Promise<void> | void) => void
  /**
   * The children a command's arguments name; asks when there are none, about archived ones only where these are meant, and
   * tells when there is nobody to ask about.
   */
  readonly meant: (
    args: readonly unknown[],
    wanted: Wanted,
    question: string,
    needed?: string,
    archived?: boolean,
  ) => Promise<readonly ChildView[]>
  /** The view, or null after telling why there is none. */
  readonly opened: () => Promise<StoreView | null>
  /** Tells a refusal. */
  readonly tell: (child: ChildView, outcome: Outcome) => void
  /** Like tell, and also says in passing what was done. */
  readonly say: (child: ChildView, outcome: Outcome) => void
  /** Shows a new child: its transcript and its row. */
  readonly present: (childId: string) => Promise<void>
}

/** The room of these parts; `registered` gets every command. */
export function commandRoom(parts: CommandParts, registered: vscode.Disposable[]): CommandRoom {
  const { supervision, tree, panels, log } = parts
  const command = (name: string, run: (...args: unknown[]) => Promise<void> | void): void => {
    registered.push(
      vscode.commands.registerCommand(`coxswain.${name}`, async (...args: unknown[]) => {
        try {
          await run(...args)
        } catch (error) {
          log.error(`coxswain.${name}`, error instanceof Error ? error : String(error))
          const reason = error instanceof Error ? error.message : String(error)
          void vscode.window.showErrorMessage(forNotice(t('Coxswain: {reason}', { reason })))
        }
      }),
    )
  }

  async function meant(
    args: readonly unknown[],
    wanted: Wanted,
    question: string,
    needed = t('No child is in a state for that.'),
    archived = false,
  ): Promise<readonly ChildView[]> {
    const view = await opened()
    if (view === null) return []
    const named = namedBy(args)
    if (named.length > 0) return named.flatMap((id) => view.get(id) ?? [])
    const candidates = view.list().filter(({ child }) => child.archived === archived && wanted(child))
    if (candidates.length === 0) {
      void vscode.window.showInformationMessage(view.list().length === 0 ? t('There are no children yet.') : needed)
      return []
    }
    const inPanel = panels.activeChild()
    const first = candidates.find((each) => each.child.id === inPanel) ?? candidates[0]
    const picked = await askOne<ChildView>({
      title: question,
      placeholder: t('Which child?'),
      items: candidates.map(childChoice),
      active: (each) => each.child.id === first?.child.id,
    })
    return picked === undefined || picked === BACK ? [] : [picked]
  }

  async function opened() {
    const now = await supervision.open()
    if (now.kind === 'open') return now.coxswain.view
    void vscode.window.showWarningMessage(forNotice(now.message))
    return null
  }

  const tell = (child: ChildView, outcome: Outcome): void => {
    if (outcome.ok || outcome.words === '') return
    void vscode.window.showWarningMessage(forNotice(namedOnce(child.child, outcome.words)))
  }
  /** Like tell, and also says in passing what was done. */
  const say = (child: ChildView, outcome: Outcome): void => {
    if (outcome.ok && outcome.words !== '') vscode.window.setStatusBarMessage(outcome.words, 6_000)
    else tell(child, outcome)
  }

  async function present(childId: string): Promise<void> {
    panels.show(childId, { preserveFocus: false })
    await tree.reveal(childId, false)
  }

  return { ...parts, command, meant, opened, tell, say, present }
}

/** Where this action is possible now. */
export const can =
  (action: keyof Actions): Wanted =>
  (child) =>
    actions(child)[action].able

/** The ids a command was called with: tree nodes (one, or all that are selected), or plain ids. */
export function namedBy(args: readonly unknown[]): readonly string[] {
  const selected = args[1]
  const source = Array.isArray(selected) && selected.length > 0 ? (selected as readonly unknown[]) : args
  const ids = source.flatMap((arg) => {
    if (typeof arg === 'string') return [arg]
    return isNode(arg) && arg.kind === 'child' ? [arg.id] : []
  })
  return [...new Set(ids)]
}

function isNode(value: unknown): value is TreeNode {
  return typeof value === 'object' && value !== null && 'kind' in value
}

function childChoice(view: ChildView): Choice<ChildView> {
  const shown = row(view, Date.now())
  return {
    value: view,
    label: forPick(titleOf(view.child)),
    description: forPick(shown.description),
    detail: forPick(plainLine(view.child.task.goal, 160)),
    iconPath: new vscode.ThemeIcon(shown.icon.id),
  }
}
