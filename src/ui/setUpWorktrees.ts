// Set up worktrees…: what new worktrees are made ready with, shown to the letter before anybody agrees to it. What is
// agreed to is the supervisor's to store; nothing runs from here.
import * as vscode from 'vscode'
import { commandLine, offeredPath, setupLines, setupToRun, type Setup, type Setups } from '../core/setup'
import type { SetupRequest } from '../core/setup'
import { isRefusal } from '../supervisor/commands'
import { askOne, askText, BACK, type Choice } from './ask'
import { t } from './present/l10n'
import { forNotice, forPick } from './present/safe'
import type { Coxswain } from './supervision'

type Wish = 'offer' | 'write' | 'clear' | 'keep'

export async function setUpWorktrees(coxswain: Coxswain): Promise<void> {
  const setups = await coxswain.setups()
  const wish = await askOne<Wish>({
    title: t('Set up worktrees'),
    placeholder: t('What happens in a new worktree before its agent starts'),
    items: choices(setups),
  })
  if (wish === 'offer') await agreeToOffer(coxswain, setups)
  else if (wish === 'write') await write(coxswain, setups.chosen?.setup)
  else if (wish === 'clear') await choose(coxswain, { action: 'clear' })
}

/** Asks again when the repository offers something else than was agreed to. False: nothing may be dispatched. */
export async function settleSetup(coxswain: Coxswain): Promise<boolean> {
  const setups = await coxswain.setups()
  const problem = setupToRun(setups)
  if (problem === null || !('kind' in problem)) return true
  return await agreeToOffer(coxswain, setups)
}

function choices({ chosen, offered }: Setups): Choice<Wish>[] {
  const isNew = offered !== null && offered.hash !== chosen?.hash
  return [
    ...(chosen === null
      ? []
      : [{ value: 'keep' as const, label: t('As it is'), detail: forPick(linesOf(chosen.setup), 1_000) }]),
    ...(isNew && offered.setup !== null
      ? [
          {
            value: 'offer' as const,
            label: t('What this repository offers…'),
            description: offeredPath,
            detail: forPick(linesOf(offered.setup), 1_000),
          },
        ]
      : []),
    ...(isNew && offered.setup === null
      ? [
          {
            value: 'keep' as const,
            label: t('What this repository offers cannot be used'),
            description: offeredPath,
            detail: forPick(offered.problem ?? ''),
          },
        ]
      : []),
    {
      value: 'write',
      label: t('Copy ignored files, run a command…'),
      detail: t('Kept in your own data folder, for this repository only'),
    },
    ...(chosen === null ? [] : [{ value: 'clear' as const, label: t('Set nothing up any more') }]),
  ]
}

const linesOf = (setup: Setup): string => setupLines(setup).join('; ')

async function agreeToOffer(coxswain: Coxswain, { chosen, offered }: Setups): Promise<boolean> {
  if (offered === null) return true
  const clear = t('Set nothing up')
  if (offered.setup === null) {
    const why = t('{path} cannot be used: {problem}.', { path: offeredPath, problem: offered.problem ?? '' })
    const choice = await vscode.window.showWarningMessage(forNotice(why), { modal: true }, clear)
    return choice === clear && (await choose(coxswain, { action: 'clear' }))
  }
  const agree = t('Agree')
  const question =
    chosen === null
      ? t('Set up every new worktree as this repository offers?')
      : t('The setup this repository offers has changed. Set up every new worktree as it says now?')
  const choice = await vscode.window.showWarningMessage(
    forNotice(question),
    { modal: true, detail: detailOf(offered.setup, t('It runs as you. You are asked again when it changes.')) },
    agree,
    ...(chosen === null ? [] : [clear]),
  )
  if (choice === agree) return await choose(coxswain, { action: 'consent', hash: offered.hash })
  return choice === clear && (await choose(coxswain, { action: 'clear' }))
}

async function write(coxswain: Coxswain, former: Setup | undefined): Promise<void> {
  const title = t('Set up worktrees')
  const copied = await askText({
    title,
    step: 1,
    steps: 2,
    prompt: t('Ignored files to copy from this checkout, separated by commas; empty for none'),
    placeholder: '.env, node_modules',
    value: (former?.copy ?? []).join(', '),
    refuse: () => null,
  })
  if (copied === undefined || copied === BACK) return
  const typed = await askText({
    title,
    step: 2,
    steps: 2,
    prompt: t('A shell line to run at the top of the new worktree; empty for none'),
    placeholder: 'npm ci',
    value: shellLine(former?.command),
    refuse: () => null,
  })
  if (typed === undefined || typed === BACK) return
  const copy = copied
    .split(',')
    .map((glob) => glob.trim())
    .filter((glob) => glob !== '')
  const line = typed.trim()
  if (copy.length === 0 && line === '') {
    if (former !== undefined) await choose(coxswain, { action: 'clear' })
    return
  }
  const setup: Setup = {
    ...(copy.length === 0 ? {} : { copy }),
    ...(line === '' ? {} : { command: ['sh', '-c', line] }),
    ...(former?.timeout_seconds === undefined ? {} : { timeout_seconds: former.timeout_seconds }),
  }
  const agree = t('Set up so')
  const choice = await vscode.window.showWarningMessage(
    t('Set up every new worktree of this repository like this?'),
    { modal: true, detail: detailOf(setup, t('It runs as you, before the agent starts.')) },
    agree,
  )
  if (choice === agree) await choose(coxswain, { action: 'set', setup })
}

const detailOf = (setup: Setup, note: string): string =>
  [...setupLines(setup).map((line) => `• ${line}`), '', note].join('\n')

function shellLine(command: readonly string[] | undefined): string {
  if (command === undefined) return ''
  const [program, flag, line] = command
  return program === 'sh' && flag === '-c' && line !== undefined && command.length === 3 ? line : commandLine(command)
}

/** True when it was stored. */
async function choose(coxswain: Coxswain, request: SetupRequest): Promise<boolean> {
  const answer = await coxswain.commands.setup(request)
  if (isRefusal(answer)) {
    void vscode.window.showWarningMessage(forNotice(answer.error.message))
    return false
  }
  vscode.window.setStatusBarMessage(answer.note, 6_000)
  return true
}
