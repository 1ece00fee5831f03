// New child…: goal, agent, contract, go; by keyboard alone, with the last choices under Enter. Ends in one spawn request;
// what may be spawned is the supervisor's to decide.
import * as vscode from 'vscode'
import { z } from 'zod'
import { autonomySchema } from '../core/events'
import { plainLine } from '../core/plainText'
import type { AgentInfo } from '../supervisor/agentsFound'
import { CONTEXT_MAX, GOAL_MAX, isRefusal, type TaskRequest } from '../supervisor/commands'
import { askOne, askText, BACK, type Choice } from './ask'
import { attach, chooseFile, mentioned, type Chosen } from './attachments'
import { templateNames, templates, type TemplateName } from '../core/contractTemplates'
import { checkByCheck, fromFile, fromTemplate } from './contractForm'
import { askOptions, type Options } from './dispatchOptions'
import { attachedText, beginsMention } from './present/attachments'
import { refuseGoal, roomLeft } from './present/input'
import { t } from './present/l10n'
import { forNotice, forPick } from './present/safe'
import { steerModeBrief } from './present/words'
import { settleSetup } from './setUpWorktrees'
import type { Coxswain, Supervision } from './supervision'

const rememberedSchema = z.object({
  agent: z.string().nullable().catch(null),
  contract: z.enum(['none', 'light']).catch('none'),
  autonomy: autonomySchema.nullable().catch(null),
  model: z.string().nullable().catch(null),
  effort: z.string().nullable().catch(null),
})
type Remembered = z.infer<typeof rememberedSchema>
const MEMORY = 'coxswain.lastDispatch'

/** What a flow starts with: an earlier child's brief, a selection, a list of problems. */
export interface Brief {
  readonly goal?: string
  readonly context?: string
  readonly agent?: string
  readonly files?: readonly Chosen[]
}

interface Draft extends Options {
  goal: string
  agent: string
  contract: 'none' | 'light'
  /** Files a light contract looks for, relative to the child's folder. */
  deliverables: string
  /** A contract that was written or read for this child; before the two above. */
  written: unknown
}

/** Runs the flow. Returns the new child's id, or null when the person changed their mind or was refused. */
export async function dispatch(
  supervision: Supervision,
  memory: vscode.Memento,
  brief: Brief = {},
): Promise<string | null> {
  const opened = await supervision.open()
  if (opened.kind === 'closed') {
    void vscode.window.showWarningMessage(forNotice(opened.message))
    return null
  }
  if (!(await settleSetup(opened.coxswain))) return null
  const remembered = rememberedSchema.parse(memory.get(MEMORY) ?? {})
  const draft = await ask(opened.coxswain, memory, remembered, brief)
  if (draft === null) return null
  await memory.update(MEMORY, {
    agent: draft.agent,
    contract: draft.contract,
    autonomy: draft.autonomy,
    model: draft.model,
    effort: draft.effort,
  } satisfies Remembered)
  return spawn(opened.coxswain, tasksOf(draft, await contextOf(opened.coxswain, draft, brief)))
}

/** What the brief came with, and the files that go along. */
async function contextOf(coxswain: Coxswain, draft: Draft, brief: Brief): Promise<string> {
  const named = await mentioned(draft.goal, coxswain.checkout.topLevel)
  const chosen = new Map([...(brief.files ?? []), ...draft.files, ...named].map((each) => [String(each.uri), each]))
  const given = brief.context ?? ''
  const attached = attachedText(await attach(coxswain, [...chosen.values()]), CONTEXT_MAX - given.length - 2)
  return [given, attached].filter((part) => part !== '').join('\n\n')
}

/** One task, or the same for each of several. */
function tasksOf(draft: Draft, context: string): TaskRequest[] {
  const { several } = draft
  if (several === null) return [taskOf(draft, draft.agent, context)]
  return several.agents.flatMap((agent) => Array.from({ length: several.each }, () => taskOf(draft, agent, context)))
}

function taskOf(draft: Draft, agent: string, context: string): TaskRequest {
  return {
    goal: draft.goal.trim(),
    agent,
    ...(context === '' ? {} : { context }),
    ...(draft.written !== undefined
      ? { contract: draft.written }
      : draft.contract === 'none'
        ? {}
        : { contract: { level: draft.contract, deliverables: paths(draft.deliverables).map((path) => ({ path })) } }),
    ...(draft.autonomy === null ? {} : { autonomy: draft.autonomy }),
    // A model is one agent's own word.
    ...(draft.model === null || agent !== draft.agent ? {} : { model: draft.model }),
    ...(draft.effort === null || agent !== draft.agent ? {} : { effort: draft.effort }),
    ...(draft.base === null ? {} : { base: draft.base }),
  }
}

/** "a.md, b.json" → both, without blanks. */
function paths(text: string): string[] {
  return text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '')
}

async function ask(
  coxswain: Coxswain,
  memory: vscode.Memento,
  remembered: Remembered,
  brief: Brief,
): Promise<Draft | null> {
  const title = t('New child')
  const steps = 3
  let agents = coxswain.agents()
  // The search for agents goes on while the goal is typed; a failure is told at the step that needs them.
  agents.catch(() => undefined)
  const draft: Draft = {
    goal: brief.goal ?? '',
    agent: brief.agent ?? remembered.agent ?? '',
    contract: remembered.contract,
    deliverables: '',
    written: undefined,
    autonomy: remembered.autonomy,
    model: remembered.model,
    effort: remembered.effort,
    base: null,
    files: [],
    several: null,
  }
  let step = 1
  for (;;) {
    if (step === 1) {
      const goal = await askText<{ readonly mention: string }>({
        title,
        step,
        steps,
        value: draft.goal,
        goOn: true,
        prompt: t('What is it to do? It knows nothing of this window: name files, and say when it is done.'),
        placeholder: t('Fix the null check in lib/auth.py and add a test for it'),
        refuse: refuseGoal,
        remark: (text) => roomLeft(text, GOAL_MAX),
        button: { icon: 'mention', tooltip: t('Mention a file (@)'), value: (typed) => ({ mention: `${typed} @` }) },
        trigger: (typed) => (beginsMention(typed) ? { mention: typed } : null),
      })
      if (goal === undefined || goal === BACK) return null
      if (typeof goal === 'object') {
        draft.goal = await withMention(goal.mention.trimStart(), coxswain)
        continue
      }
      draft.goal = goal
      step = 2
    } else if (step === 2) {
      const agent = await askOne({
        title,
        step,
        steps,
        placeholder: t('Which agent?'),
        items: agents.then((found) => agentChoices(found)),
        active: (id) => id === draft.agent,
      })
      if (agent === undefined) return null
      if (agent === BACK) step = 1
      else if (agent === null) {
        await vscode.commands.executeCommand('coxswain.checkAgents')
        // One may have been installed meanwhile.
        agents = coxswain.agents()
        agents.catch(() => undefined)
      } else {
        // What was remembered of another agent means nothing to this one.
        if (agent !== draft.agent) Object.assign(draft, { model: null, effort: null })
        draft.agent = agent
        step = 3
      }
    } else {
      const contract = await askOne<'none' | 'light' | 'more' | 'file' | 'checks' | TemplateName>({
        title,
        step,
        steps,
        placeholder: t('What must hold when it says it is done? Enter starts it.'),
        items: [
          {
            value: 'none',
            label: t('No contract'),
            detail: t('Its word is shown as its word: never as verified.'),
          },
          {
            value: 'light',
            label: t('Light contract…'),
            detail: t('Files it must deliver: they are looked for, and must be newer than its start.'),
          },
          ...templateNames.map((value) => ({
            value,
            label: t('{title}…', { title: templates[value].title }),
            detail: templates[value].meaning,
          })),
          {
            value: 'checks' as const,
            label: t('Check by check…'),
            detail: t('Deliverables, and checks from a list, each explained'),
          },
          {
            value: 'file' as const,
            label: t('From a file…'),
            detail: t('A *.coxswain.json or *.coxswain.yaml of this repository'),
          },
          {
            value: 'more',
            label: t('More choices…'),
            description: forPick(chosenWords(draft)),
            detail: t('Files, model, effort, autonomy, base, several children to compare'),
            iconPath: new vscode.ThemeIcon('settings-gear'),
          },
        ],
        active: (value) => value === draft.contract,
      })
      if (contract === undefined) return null
      if (contract === BACK) step = 2
      else if (contract === 'more') await askOptions(draft, draft.agent, coxswain, agents)
      else if (contract !== 'none' && contract !== 'light') {
        const written =
          contract === 'file'
            ? await fromFile(coxswain, memory)
            : contract === 'checks'
              ? await checkByCheck()
              : await fromTemplate(contract)
        if (written === null) continue
        draft.written = written.value
        return draft
      } else {
        draft.contract = contract
        if (contract === 'none') return draft
        const files = await askText({
          title,
          prompt: t('Files it must deliver, separated by commas; relative to the folder it works in'),
          placeholder: 'docs/report.md, data/table.json',
          value: draft.deliverables,
          refuse: (text) => (paths(text).length === 0 ? t('Name at least one file.') : null),
        })
        if (files === undefined) return null
        if (files === BACK) continue
        draft.deliverables = files
        return draft
      }
    }
  }
}

/** The text with the file that was chosen behind its @; without one the @ stays what it is. */
async function withMention(text: string, { checkout }: Coxswain): Promise<string> {
  const chosen = await chooseFile(t('Mention a file'))
  if (chosen === null) return text
  return `${text.slice(0, -1)}@${(await checkout.place(chosen.uri.fsPath)) ?? chosen.uri.fsPath} `
}

/** What differs from the usual, for the eye before Enter. */
function chosenWords({ files, model, effort, autonomy, base, several }: Options): string {
  return [
    files.length === 0 ? null : files.length === 1 ? t('1 file') : t('{n} files', { n: files.length }),
    model,
    effort,
    autonomy === null ? null : autonomy,
    base,
    several === null ? null : t('{n} children', { n: several.agents.length * several.each }),
  ]
    .filter((word) => word !== null)
    .join(' · ')
}

function agentChoices(found: readonly AgentInfo[]): Choice<string | null>[] {
  const here = found.filter((agent) => agent.found)
  const choices: Choice<string | null>[] = here.map((agent) => ({
    value: agent.id,
    label: forPick(agent.label),
    description: forPick([agent.id === agent.label ? '' : agent.id, agent.version ?? ''].filter(Boolean).join(' · ')),
    detail: forPick(
      [
        t('takes steers {when}', { when: steerModeBrief(agent.abilities.steerMode) }),
        agent.abilities.resume ? t('pauses and resumes') : t('cannot be resumed'),
        ...(agent.abilities.approvals ? [t('asks for approvals')] : []),
      ].join(' · '),
      300,
    ),
  }))
  const missing = found.length - here.length
  choices.push({
    value: null,
    label:
      missing === 0
        ? t('Check agents')
        : missing === 1
          ? t('1 more agent is not installed')
          : t('{n} more agents are not installed', { n: missing }),
    detail: t('What was looked for, where, and how to get it'),
  })
  return choices
}

/** The first child's id, or null when it was refused or the person changed their mind. */
async function spawn(coxswain: Coxswain, tasks: readonly TaskRequest[]): Promise<string | null> {
  let whenFull: 'refuse' | 'wait' = 'refuse'
  for (;;) {
    const answer = await coxswain.commands.spawn({ tasks: [...tasks], when_full: whenFull })
    if (!isRefusal(answer)) return answer.subagent_ids[0] ?? null
    const wait = t('Start when one is free')
    const raise = t('Raise limit…')
    const choice = await vscode.window.showWarningMessage(
      forNotice(answer.error.message, 1_000),
      ...(answer.error.code === 'over_cap' ? [wait, raise] : []),
    )
    if (choice === undefined) return null
    if (choice === wait) whenFull = 'wait'
    else if (!(await raiseLimit())) return null
  }
}

/** Asks for the new limit and writes it into the person's own settings. */
async function raiseLimit(): Promise<boolean> {
  const settings = vscode.workspace.getConfiguration('coxswain')
  const now = settings.get<number>('maxChildrenTotal', 4)
  const typed = await askText({
    title: t('Raise limit'),
    prompt: t('Children that may run at the same time on this machine (now {n})', { n: now }),
    value: String(Math.min(64, now * 2)),
    refuse: (text) => {
      const n = Number(text)
      return Number.isInteger(n) && n >= 1 && n <= 64 ? null : t('A whole number from 1 to 64.')
    },
  })
  if (typed === undefined || typed === BACK) return false
  await settings.update('maxChildrenTotal', Number(typed), vscode.ConfigurationTarget.Global)
  return true
}

/** The brief of a child, to be edited and dispatched again. */
export function briefAgain(task: { goal: string; context?: string | undefined; agent: string }): Brief {
  return {
    goal: plainLine(task.goal, GOAL_MAX),
    agent: task.agent,
    ...(task.context === undefined ? {} : { context: task.context }),
  }
}
