// Wishes to a child at work: steer, pause, resume, stop, take over in a terminal and hand back, and what the watch suggests.
import * as vscode from 'vscode'
import { isLive, missedSteers } from '../core/child'
import { STEER_MAX } from '../supervisor/commands'
import type { ChildView } from '../supervisor/view'
import { askText, BACK } from './ask'
import { can, type CommandRoom, type Wanted } from './commandRoom'
import { actions } from './present/actions'
import { refuseSteer, roomLeft, steerPlaceholder } from './present/input'
import { t } from './present/l10n'
import { forNotice } from './present/safe'
import { steerModeWords, titleOf } from './present/words'

export function steeringCommands({ command, meant, acts, tree, panels, terminals, tell, say }: CommandRoom): void {
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

  command('dismissMissed', async (...args) => {
    const missed: Wanted = (child) => missedSteers(child).length > 0
    const needed = t('No child has a steer that was missed.')
    for (const child of await meant(args, missed, t('Dismiss missed steers'), needed))
      tell(child, await acts.dismissMissed(child.child.id))
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
    const text = await askMessage(single?.id ?? null, {
      title:
        single === null
          ? t('Steer {n} children', { n: able.length })
          : t('Steer “{title}”', { title: titleOf(single) }),
      prompt: forNotice(
        single === null
          ? t('Each gets the same words, {mode}.', { mode: t('at its own next chance') })
          : steerModeWords(single.task.recipe.abilities.steerMode),
      ),
      refuse: refuseSteer,
      remark: (typed) => roomLeft(typed, STEER_MAX),
    })
    if (text === null) return
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
    const text = await askMessage(targets.length === 1 ? first.child.id : null, {
      title:
        targets.length === 1
          ? t('Resume “{title}”', { title: titleOf(first.child) })
          : t('Resume {n} children', { n: targets.length }),
      prompt:
        missed > 0
          ? t('Its {n} missed steers go first. A message is optional: Enter resumes.', { n: missed })
          : t('A message is optional: Enter lets it go on from where it left off.'),
      refuse: (typed) => (typed.trim() === '' ? null : refuseSteer(typed)),
    })
    if (text === null) return
    for (const each of targets) tell(each, await acts.resume(each.child.id, text))
  }

  /** Null: nothing is to be sent. What is meant for one child alone, `only`, may be written in its panel instead. */
  async function askMessage(
    only: string | null,
    step: Pick<Parameters<typeof askText>[0], 'title' | 'prompt' | 'refuse' | 'remark'>,
  ): Promise<string | null> {
    const more = { icon: 'edit', tooltip: t('Write more…'), value: (typed: string) => ({ more: typed }) }
    const text = await askText<{ readonly more: string }>({
      ...step,
      placeholder: steerPlaceholder(),
      ...(only === null ? {} : { button: more }),
    })
    if (text === undefined || text === BACK) return null
    if (typeof text === 'string') return text
    if (only !== null) panels.show(only, { preserveFocus: false, steer: { text: text.more } })
    return null
  }
}
