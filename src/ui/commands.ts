// Every command of the palette, the tree and the panel's title: finds out which child is meant, then acts. A command
// without an argument asks by name rather than guess: a keybinding may fire while another row is focused.
import * as vscode from 'vscode'
import { z } from 'zod'
import { isLive, missedSteers, openRequests, type Child } from '../core/child'
import { plainLine, plainText } from '../core/plainText'
import type { AgentInfo } from '../supervisor/agentsFound'
import { STEER_MAX } from '../supervisor/commands'
import type { ChildView } from '../supervisor/view'
import type { Acts, Outcome } from './acts'
import { askOne, askText, BACK, type Choice } from './ask'
import type { CommandRoom, Wanted } from './commandRoom'
import { adoptingCommands } from './adopting'
import { attachCommands } from './attachSteer'
import { careCommands } from './care'
import { comparisonCommands } from './comparing'
import type { CheckTests } from './checkTests'
import { briefAgain, dispatch, type Brief } from './dispatch'
import { fixingCommands } from './fixing'
import { connectParent } from './connectParent'
import { exportTranscript } from './exportTranscript'
import { applyChild, discardChild } from './handBack'
import type { TranscriptPanels } from './panel/panels'
import { actions, type Actions } from './present/actions'
import { refuseSteer, roomLeft, steerPlaceholder } from './present/input'
import { t } from './present/l10n'
import { wholeText } from './present/panel'
import { row } from './present/row'
import { forNotice, forPick } from './present/safe'
import { filters, nothingFiltered, standingOf, standings, type Standing, type TreeFilter } from './present/standing'
import { commandIn, namedOnce, steerModeWords, titleOf } from './present/words'
import { commentCommands } from './review/comments'
import { pullRequestCommands } from './review/pullRequest'
import { editReviewedFile, reviewChanges } from './review/reviewChanges'
import { searchCommands } from './searchTranscripts'
import { setUpWorktrees } from './setUpWorktrees'
import { repositoryCommands } from './chooseRepository'
import { subtreeCommands } from './subtree'
import type { Supervision } from './supervision'
import type { Terminals } from './terminals'
import { worktreeCommands } from './worktrees'
import { groupTitle, type ChildrenTree, type TreeNode } from './tree/childrenTree'

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

/** What VS Code hands to a command of the transcript's context menu: the row's own context, which the webview wrote. */
const entrySchema = z.object({ n: z.number().int().nonnegative() })

export function registerCommands(parts: CommandParts): vscode.Disposable {
  const { supervision, acts, tree, panels, terminals, memory, log, dist, checkTests } = parts
  const registered: vscode.Disposable[] = []
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

  /** The children meant by a command's arguments; asks when there are none, about archived ones only where these are meant. */
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
  const can =
    (action: keyof Actions): Wanted =>
    (child) =>
      actions(child)[action].able

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

  command('steer', async (...args) => {
    const targets = await meant(
      args,
      can('steer'),
      t('Steer a child'),
      t('No child accepts a steer now: it has to be running. A paused or ended one is resumed with a message instead.'),
    )
    if (targets.length > 0) await steer(targets)
  })
  command('steerSelected', async () => {
    const chosen = tree.selectedChildren()
    if (chosen.length > 0) await vscode.commands.executeCommand('coxswain.steer', ...chosen)
  })
  command('steerFocused', async () => {
    const id = panels.activeChild() ?? tree.selectedChildren()[0]
    if (id === undefined) await vscode.commands.executeCommand('coxswain.steer')
    else panels.show(id, { preserveFocus: false, steer: { text: null } })
  })

  command('pause', async (...args) => {
    for (const child of await meant(
      args,
      can('pause'),
      t('Pause a child'),
      t('No child can be paused now: it has to be running, with an agent that can resume.'),
    ))
      tell(child, await acts.pause(child.child.id))
  })
  command('resume', async (...args) => {
    const targets = await meant(
      args,
      can('resume'),
      t('Resume a child'),
      t('No child can be resumed now: it has to be paused or ended, with its worktree still there.'),
    )
    if (targets.length > 0) await resume(targets)
  })
  command('takeOver', async (...args) => {
    const needed = t('No child can be taken over now: it has to have said something, and its agent to have a terminal.')
    const [child] = await meant(args.slice(0, 1), can('takeOver'), t('Take over a child in a terminal'), needed)
    if (child !== undefined) say(child, await terminals.takeOver(child))
  })
  command('handBack', async (...args) => {
    const needed = t('No child has been taken over.')
    const taken: Wanted = (child) => child.takenOver
    const [child] = await meant(args.slice(0, 1), taken, t('Hand a child back'), needed)
    if (child === undefined) return
    const text = await askText({
      title: t('Hand back “{title}”', { title: titleOf(child.child) }),
      prompt: t('Its terminal is closed. A message is optional: Enter lets it go on from where you left it.'),
      placeholder: steerPlaceholder(),
      refuse: (typed) => (typed.trim() === '' ? null : refuseSteer(typed)),
    })
    if (text !== undefined && text !== BACK) say(child, await terminals.handBack(child, text))
  })
  command('stop', async (...args) => {
    const targets = await meant(
      args,
      can('stop'),
      t('Stop a child'),
      t('No child can be stopped now: it has to be running or paused.'),
    )
    const [first] = targets
    if (first === undefined) return
    tell(first, await acts.stop(targets.map(({ child }) => child.id)))
  })

  command('reviewChanges', async (...args) => {
    const now = await supervision.open()
    const needed = t('No child has a worktree.')
    const [child] = await meant(args.slice(0, 1), can('review'), t('Review the changes of a child'), needed)
    if (child !== undefined && now.kind === 'open') await reviewChanges(now.coxswain, child)
  })
  command('editReviewedFile', async (uri) => {
    const now = await supervision.open()
    if (now.kind === 'open') await editReviewedFile(now.coxswain, uri)
  })
  command('verify', async (...args) => {
    const needed = t('No child with a contract has ended and still has its worktree.')
    for (const child of await meant(args, can('verify'), t('Verify a child again'), needed))
      say(child, await acts.verify(child.child.id))
  })
  command('retry', async (...args) => {
    const needed = t('No child has a verdict that is open and an agent that can be asked again.')
    for (const child of await meant(args, can('retry'), t('Ask a child again with what did not pass'), needed))
      say(child, await acts.retry(child.child.id))
  })
  const suggests: Wanted = (child) => isLive(child) && child.suggestion !== null
  command('applySuggestion', async (...args) => {
    const nothing = t('Nothing is suggested for any child.')
    for (const child of await meant(args, suggests, t('Do what is suggested'), nothing))
      say(child, await acts.applySuggestion(child.child.id))
  })
  command('dismissSuggestion', async (...args) => {
    const nothing = t('Nothing is suggested for any child.')
    for (const child of await meant(args, suggests, t('Dismiss what is suggested'), nothing))
      say(child, await acts.dismissSuggestion(child.child.id))
  })
  const switchSteering = async (on: boolean, title: string, args: unknown[]): Promise<void> => {
    const other: Wanted = (child) => isLive(child) && child.automaticSteering !== on
    for (const child of await meant(args, other, title, t('There is no such child at work.')))
      say(child, await acts.automate(child.child.id, on))
  }
  command('automate', (...args) => switchSteering(true, t('Steer a child automatically'), args))
  command('dontAutomate', (...args) => switchSteering(false, t('Stop steering a child automatically'), args))
  command('acceptPartial', async (...args) => {
    const needed = t('No child has a verdict that is open.')
    for (const child of await meant(args, can('acceptPartial'), t('Accept the work of a child as partial'), needed))
      say(child, await acts.acceptPartial(child.child.id))
  })
  command('showChecks', async (...args) => {
    const needed = t('No child has a verdict yet.')
    const judged: Wanted = (child) => child.verdict !== null
    for (const { child } of await meant(args, judged, t('Show the checks of a child as tests'), needed))
      await checkTests.show(child.id)
  })
  command('apply', async (...args) => {
    const needed = t('No ended child has work that was not applied yet.')
    const [child] = await meant(args.slice(0, 1), can('apply'), t('Apply the work of a child'), needed)
    if (child !== undefined) say(child, await applyChild(acts, supervision, child.child.id))
  })
  command('discard', async (...args) => {
    const needed = t('No ended child has a worktree left.')
    const [child] = await meant(args.slice(0, 1), can('discard'), t('Discard the worktree of a child'), needed)
    if (child !== undefined) say(child, await discardChild(acts, child.child))
  })
  command('dismissMissed', async (...args) => {
    const missed: Wanted = (child) => missedSteers(child).length > 0
    const needed = t('No child has a steer that was missed.')
    for (const child of await meant(args, missed, t('Dismiss missed steers'), needed))
      tell(child, await acts.dismissMissed(child.child.id))
  })

  command('showTranscript', async (...args) => {
    const [child] = await meant(args.slice(0, 1), () => true, t('Show a transcript'))
    if (child !== undefined) panels.show(child.child.id, { preserveFocus: false })
  })
  command('showNeedsYou', async () => {
    const view = await opened()
    if (view === null) return
    await vscode.commands.executeCommand('coxswain.children.focus')
    const first = view.list().find(({ child }) => standingOf(child) === 'needsYou')
    if (first === undefined) void vscode.window.showInformationMessage(t('No child needs you.'))
    else await tree.reveal(first.child.id, true)
  })
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

  command('connectParent', () => connectParent(dist))

  command('checkAgents', async () => {
    const now = await supervision.open()
    if (now.kind === 'closed') {
      void vscode.window.showWarningMessage(forNotice(now.message))
      return
    }
    const { coxswain } = now
    const agent = await askOne<AgentInfo>({
      title: t('Agents on this machine'),
      placeholder: t('Enter opens the settings of an agent, or says how to get it'),
      items: coxswain.agents().then((found) => found.map(agentReport)),
    })
    if (agent === undefined || agent === BACK) return
    if (agent.found) await vscode.commands.executeCommand('workbench.action.openSettings', 'coxswain.agents')
    else sayHowToGet(agent)
  })

  command('setUpWorktrees', async () => {
    const now = await supervision.open()
    if (now.kind === 'open') await setUpWorktrees(now.coxswain)
    else void vscode.window.showWarningMessage(forNotice(now.message))
  })

  command('openWorktree', async (...args) => {
    const path = await worktreeOf(args, t('Open the worktree of a child'))
    if (path !== null)
      await vscode.commands.executeCommand('vscode.openFolder', vscode.Uri.file(path), { forceNewWindow: true })
  })
  command('openTerminal', async (...args) => {
    const path = await worktreeOf(args, t('Open a terminal in the worktree of a child'))
    if (path !== null) vscode.window.createTerminal({ cwd: path, name: t('Worktree') }).show()
  })
  command('copyBranch', async (...args) => {
    const [child] = await meant(
      args.slice(0, 1),
      hasWorktree,
      t('Copy the branch of a child'),
      t('No child has a branch.'),
    )
    const branch = child?.child.worktree?.branch
    if (branch !== undefined) await vscode.env.clipboard.writeText(plainText(branch))
  })

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
  command('openSelected', async () => {
    const node = await tree.selectedNode()
    if (node?.kind === 'child') panels.show(node.id, { preserveFocus: true })
    else if (node?.kind === 'more') tree.unfold(node.standing)
  })
  command('keepPanel', () => panels.keepActive())
  command('openWalkthrough', async () => {
    await vscode.commands.executeCommand('workbench.action.openWalkthrough', 'coxswain.coxswain#start', false)
  })
  command('copyEntry', async (context) => {
    const n = entrySchema.safeParse(context)
    const id = panels.activeChild()
    const view = await opened()
    if (!n.success || id === null || view === null) return
    const [entry] = await view.entries(id, n.data.n, 1)
    if (entry === undefined) return
    const parts = (['text', 'input', 'output'] as const).map((part) => wholeText(entry, part))
    await vscode.env.clipboard.writeText(parts.find((part) => part !== null) ?? '')
  })
  command('exportTranscript', async (...args) => {
    const inPanel = panels.activeChild()
    const given = namedBy(args).length > 0 ? args.slice(0, 1) : inPanel === null ? [] : [inPanel]
    const [child] = await meant(given, () => true, t('Export a transcript'))
    if (child !== undefined) await exportTranscript(child, supervision)
  })

  async function present(childId: string): Promise<void> {
    panels.show(childId, { preserveFocus: false })
    await tree.reveal(childId, false)
  }

  async function worktreeOf(args: readonly unknown[], question: string): Promise<string | null> {
    const [child] = await meant(args.slice(0, 1), hasWorktree, question, t('No child has a worktree.'))
    if (child === undefined) return null
    const { worktree, discarded } = child.child
    if (worktree !== null && !discarded) return worktree.path
    void vscode.window.showInformationMessage(t('This child has no worktree.'))
    return null
  }

  async function steer(targets: readonly ChildView[]): Promise<void> {
    const able = targets.filter(({ child }) => actions(child).steer.able)
    const [only] = able
    if (only === undefined) {
      const [first] = targets
      if (first === undefined) return
      const { steer: asked, resume: instead } = actions(first.child)
      const why = asked.able ? '' : asked.why
      const button = t('Resume with a message…')
      const choice = await vscode.window.showWarningMessage(
        forNotice(t('“{title}” takes no steer: {why}.', { title: titleOf(first.child), why })),
        ...(instead.able ? [button] : []),
      )
      if (choice === button) await resume([first])
      return
    }
    const single = able.length === 1 ? only.child : null
    const text = await askText<{ readonly more: string }>({
      title:
        single === null
          ? t('Steer {n} children', { n: able.length })
          : t('Steer “{title}”', { title: titleOf(single) }),
      prompt: forNotice(
        single === null
          ? t('Each gets the same words, {mode}.', { mode: t('at its own next chance') })
          : steerModeWords(single.task.recipe.abilities.steerMode),
      ),
      placeholder: steerPlaceholder(),
      refuse: refuseSteer,
      remark: (typed) => roomLeft(typed, STEER_MAX),
      ...(single === null
        ? {}
        : { button: { icon: 'edit', tooltip: t('Write more…'), value: (typed: string) => ({ more: typed }) } }),
    })
    if (text === undefined || text === BACK) return
    if (typeof text === 'object') {
      panels.show(only.child.id, { preserveFocus: false, steer: { text: text.more } })
      return
    }
    for (const each of able) tell(each, await acts.steer(each.child.id, text.trim()))
    vscode.window.setStatusBarMessage(
      able.length === 1 ? t('Steer queued') : t('Steer queued for {n} children', { n: able.length }),
      4_000,
    )
  }

  async function resume(targets: readonly ChildView[]): Promise<void> {
    const [first] = targets
    if (first === undefined) return
    const missed = missedSteers(first.child).length
    const text = await askText<{ readonly more: string }>({
      title:
        targets.length === 1
          ? t('Resume “{title}”', { title: titleOf(first.child) })
          : t('Resume {n} children', { n: targets.length }),
      prompt:
        missed > 0
          ? t('Its {n} missed steers go first. A message is optional: Enter resumes.', { n: missed })
          : t('A message is optional: Enter lets it go on from where it left off.'),
      placeholder: steerPlaceholder(),
      refuse: (typed) => (typed.trim() === '' ? null : refuseSteer(typed)),
      ...(targets.length > 1
        ? {}
        : { button: { icon: 'edit', tooltip: t('Write more…'), value: (typed: string) => ({ more: typed }) } }),
    })
    if (text === undefined || text === BACK) return
    if (typeof text === 'object') {
      panels.show(first.child.id, { preserveFocus: false, steer: { text: text.more } })
      return
    }
    for (const each of targets) tell(each, await acts.resume(each.child.id, text))
  }

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
          detail: t('Exactly this, for as long as this child lives'),
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

  const room: CommandRoom = { ...parts, command, meant, opened, tell, say, present }
  searchCommands(room)
  comparisonCommands(room)
  subtreeCommands(room)
  adoptingCommands(room)
  repositoryCommands(room)
  worktreeCommands(room)
  pullRequestCommands(room)
  careCommands(room)
  attachCommands(room)
  registered.push(fixingCommands(room), commentCommands(room))
  return vscode.Disposable.from(...registered)
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

const hasWorktree: Wanted = (child) => child.worktree !== null && !child.discarded

function waited(a: ChildView, b: ChildView): number {
  const since = ({ child }: ChildView): string => openRequests(child)[0]?.askedAt ?? ''
  return since(a) < since(b) ? -1 : 1
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

function agentReport(agent: AgentInfo): Choice<AgentInfo> {
  return {
    value: agent,
    label: forPick(agent.label),
    description: agent.found
      ? forPick(agent.version ?? (agent.path === null ? '' : t('version unknown')))
      : t('not installed'),
    // What was found needs no words on how to get it.
    detail: forPick([agent.path ?? '', ...agent.notes].filter((part) => part !== '').join(' · '), 400),
    iconPath: new vscode.ThemeIcon(agent.found ? 'pass' : 'circle-slash'),
  }
}

function sayHowToGet({ install }: AgentInfo): void {
  const command = commandIn(install)
  const copy = t('Copy command')
  // A notice that nobody answers stays open: the flow that led here must not wait for it.
  void vscode.window.showInformationMessage(forNotice(install), ...(command === null ? [] : [copy])).then((choice) => {
    if (choice === copy && command !== null) void vscode.env.clipboard.writeText(command)
  })
}

/** The ids a command was called with: tree nodes (one, or all that are selected), or plain ids. */
function namedBy(args: readonly unknown[]): readonly string[] {
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
