// The rarer choices of a dispatch, in one list that shows what is chosen: each is one step, Escape comes back, and the
// list is left as it was found. Starts nothing.
import { basename } from 'node:path'
import * as vscode from 'vscode'
import { autonomySchema, type Autonomy } from '../core/events'
import type { AgentInfo } from '../supervisor/agentsFound'
import { askMany, askOne, askText, BACK, type Choice } from './ask'
import { chooseFiles, type Chosen } from './attachments'
import { t } from './present/l10n'
import { forPick } from './present/safe'
import type { Coxswain } from './supervision'

export interface Options {
  autonomy: Autonomy | null
  model: string | null
  effort: string | null
  base: string | null
  files: readonly Chosen[]
  /** The same goal goes to each of these, and to so many children of each; null: to the one agent that was chosen. */
  several: { readonly agents: readonly string[]; readonly each: number } | null
}

type Field = 'files' | 'model' | 'effort' | 'autonomy' | 'base' | 'several' | 'done'

const severalAtMost = 4

const autonomyWords: Readonly<Record<Autonomy, () => { label: string; detail: string }>> = {
  ask: () => ({ label: t('Ask for everything'), detail: t('Every edit and every command waits for you.') }),
  edit: () => ({
    label: t('Edit freely, ask for commands'),
    detail: t('It edits files of its worktree; commands wait for you.'),
  }),
  autonomous: () => ({
    label: t('Autonomous in its worktree'),
    detail: t('It runs commands without asking. They run as you: a worktree is no sandbox.'),
  }),
}

/** Changes `options` in place. Resolves when the person goes back to the step they came from. */
export async function askOptions(
  options: Options,
  agent: string,
  coxswain: Coxswain,
  agents: Promise<readonly AgentInfo[]>,
): Promise<void> {
  let last: Field = 'files'
  for (;;) {
    const field: Field | typeof BACK | undefined = await askOne<Field>({
      title: t('New child: more choices'),
      placeholder: t('Enter changes one; Escape goes back'),
      items: fields(options),
      active: (value) => value === last,
    })
    if (field === undefined || field === BACK || field === 'done') return
    last = field
    await change[field](options, agent, coxswain, agents)
  }
}

function fields(options: Options): Choice<Field>[] {
  const { several } = options
  return [
    {
      value: 'files',
      label: t('Attach files…'),
      description: options.files.length === 0 ? '' : t('{n} attached', { n: options.files.length }),
      detail: t('Files and images it is to look at. An @path in the goal does the same.'),
      iconPath: new vscode.ThemeIcon('mention'),
    },
    {
      value: 'model',
      label: t('Model…'),
      description: forPick(options.model ?? t('the agent’s own choice')),
      iconPath: new vscode.ThemeIcon('chip'),
    },
    {
      value: 'effort',
      label: t('Effort…'),
      description: forPick(options.effort ?? t('the agent’s own choice')),
      iconPath: new vscode.ThemeIcon('dashboard'),
    },
    {
      value: 'autonomy',
      label: t('Autonomy…'),
      description: options.autonomy === null ? t('as in settings') : autonomyWords[options.autonomy]().label,
      iconPath: new vscode.ThemeIcon('shield'),
    },
    {
      value: 'base',
      label: t('Base…'),
      description: forPick(options.base ?? t('what is checked out here')),
      iconPath: new vscode.ThemeIcon('git-branch'),
    },
    {
      value: 'several',
      label: t('Several children, to compare…'),
      description: several === null ? '' : t('{n} children', { n: several.agents.length * several.each }),
      detail: t('The same goal, each in a worktree of its own; then keep the one you like.'),
      iconPath: new vscode.ThemeIcon('split-horizontal'),
    },
    { value: 'done', label: t('Back to the contract'), iconPath: new vscode.ThemeIcon('arrow-left') },
  ]
}

type Change = (
  options: Options,
  agent: string,
  coxswain: Coxswain,
  agents: Promise<readonly AgentInfo[]>,
) => Promise<void>

const change: Readonly<Record<Exclude<Field, 'done'>, Change>> = {
  files: async (options) => {
    const chosen = await chooseFiles(t('Attach files'))
    if (chosen !== null) options.files = chosen
  },
  model: async (options) => {
    const model = await askText({
      title: t('New child: model'),
      prompt: t('Model, as this agent names it. Empty: the agent’s own choice.'),
      value: options.model ?? '',
      refuse: (text) => (text.length > 200 ? t('A model’s name is shorter than that.') : null),
    })
    if (model !== undefined && model !== BACK) options.model = model.trim() === '' ? null : model.trim()
  },
  effort: async (options) => {
    const own = [...new Set(['low', 'medium', 'high', ...(options.effort === null ? [] : [options.effort])])]
    const effort = await chooseOrType({
      title: t('New child: effort'),
      placeholder: t('How long may it think? Not every agent knows this.'),
      items: [
        { value: null, label: t('The agent’s own choice') },
        ...own.map((value) => ({ value, label: forPick(value) })),
        { value: OTHER, label: t('Another word…') },
      ],
      now: options.effort,
      prompt: t('Effort, as this agent names it'),
      refuse: (text) => (text.trim() === '' || text.length > 40 ? t('One word.') : null),
    })
    if (effort !== undefined) options.effort = effort
  },
  autonomy: async (options) => {
    const autonomy = await askOne<Autonomy | null>({
      title: t('New child: autonomy'),
      placeholder: t('How much may it do without asking?'),
      items: [
        { value: null, label: t('As in settings') },
        ...autonomySchema.options.map((value) => ({ value, ...autonomyWords[value]() })),
      ],
      active: (value) => value === options.autonomy,
    })
    if (autonomy !== undefined && autonomy !== BACK) options.autonomy = autonomy
  },
  base: async (options, _agent, { checkout }) => {
    const base = await chooseOrType({
      title: t('New child: base'),
      placeholder: t('What its worktree starts from: the last commit there'),
      items: Promise.all([checkout.branches(), checkout.worktrees()]).then(([branches, worktrees]) => [
        { value: null, label: t('What is checked out here') },
        { value: OTHER, label: t('A commit or another name…') },
        ...branches.map((value) => ({
          value,
          label: forPick(value),
          iconPath: new vscode.ThemeIcon('git-branch'),
        })),
        ...worktrees.map(({ path, at }) => ({
          value: at,
          label: forPick(basename(path)),
          description: forPick(t('worktree on {what}', { what: at.slice(0, 100) })),
          detail: forPick(path, 300),
          iconPath: new vscode.ThemeIcon('worktree'),
        })),
      ]),
      now: options.base,
      prompt: t('Branch, tag or commit'),
      refuse: (text) => (text.length > 300 ? t('That is too long for a branch or commit.') : null),
    })
    if (base !== undefined) options.base = base
  },
  several: async (options, agent, _coxswain, agents) => {
    const ticked = options.several?.agents ?? [agent]
    const chosen = await askMany<string>({
      title: t('New children to compare: agents'),
      placeholder: t('Which agents get this goal?'),
      items: agents.then((found) =>
        found
          .filter((each) => each.found)
          .map((each) => ({ value: each.id, label: forPick(each.label), picked: ticked.includes(each.id) })),
      ),
    })
    if (chosen === undefined || chosen === BACK) return
    if (chosen.length === 0) {
      options.several = null
      return
    }
    const most = Math.max(1, Math.floor((severalAtMost * 2) / chosen.length))
    const each = await askOne<number>({
      title: t('New children to compare: how many'),
      placeholder: t('Children of each agent'),
      items: Array.from({ length: Math.min(severalAtMost, most) }, (_, n) => ({
        value: n + 1,
        label: String(n + 1),
        description: chosen.length === 1 ? '' : t('{n} in all', { n: (n + 1) * chosen.length }),
      })),
      active: (value) => value === (options.several?.each ?? (chosen.length === 1 ? 2 : 1)),
    })
    if (each === undefined || each === BACK) return
    options.several = chosen.length * each === 1 ? null : { agents: chosen, each }
  },
}

const OTHER = Symbol('other')

/** One of the list, or what is typed behind its OTHER; null is no word at all, undefined leaves it as it was. */
async function chooseOrType(options: {
  readonly title: string
  readonly placeholder: string
  readonly items:
    readonly Choice<string | null | typeof OTHER>[] | Promise<readonly Choice<string | null | typeof OTHER>[]>
  readonly now: string | null
  readonly prompt: string
  readonly refuse: (text: string) => string | null
}): Promise<string | null | undefined> {
  const { title, placeholder, items, now, prompt, refuse } = options
  const chosen = await askOne({ title, placeholder, items, active: (value) => value === now })
  if (chosen !== OTHER) return chosen === BACK ? undefined : chosen
  const typed = await askText({ title, prompt, value: now ?? '', refuse })
  if (typed === undefined || typed === BACK) return undefined
  return typed.trim() === '' ? null : typed.trim()
}
