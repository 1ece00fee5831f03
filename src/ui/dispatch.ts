// New child…: goal, agent, contract, go; by keyboard alone, with the last choices under Enter. Ends in one spawn request;
// what may be spawned is the supervisor's to decide.
import * as vscode from 'vscode'
import { z } from 'zod'
import { autonomySchema, type Autonomy } from '../core/events'
import { plainLine } from '../core/plainText'
import type { AgentInfo } from '../supervisor/agentsFound'
import { GOAL_MAX, isRefusal, type TaskRequest } from '../supervisor/commands'
import { askOne, askText, BACK, type Choice } from './ask'
import { refuseGoal, roomLeft } from './present/input'
import { t } from './present/l10n'
import { forNotice, forPick } from './present/safe'
import { steerModeBrief } from './present/words'
import type { Coxswain, Supervision } from './supervision'

const rememberedSchema = z.object({
  agent: z.string().nullable().catch(null),
  contract: z.enum(['none', 'light']).catch('none'),
  autonomy: autonomySchema.nullable().catch(null),
  model: z.string().nullable().catch(null),
})
type Remembered = z.infer<typeof rememberedSchema>
const MEMORY = 'coxswain.lastDispatch'

/** What a flow starts with: an earlier child's brief, a selection, a list of problems. */
export interface Brief {
  readonly goal?: string
  readonly context?: string
  readonly agent?: string
}

interface Draft {
  goal: string
  agent: string
  contract: 'none' | 'light'
  /** Files a light contract looks for, relative to the child's folder. */
  deliverables: string
  autonomy: Autonomy | null
  model: string | null
  base: string | null
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
  const remembered = rememberedSchema.parse(memory.get(MEMORY) ?? {})
  const draft = await ask(opened.coxswain, remembered, brief)
  if (draft === null) return null
  await memory.update(MEMORY, {
    agent: draft.agent,
    contract: draft.contract,
    autonomy: draft.autonomy,
    model: draft.agent === remembered.agent ? draft.model : null,
  } satisfies Remembered)
  return spawn(opened.coxswain, taskOf(draft, brief))
}

function taskOf(draft: Draft, brief: Brief): TaskRequest {
  return {
    goal: draft.goal.trim(),
    agent: draft.agent,
    ...(brief.context === undefined ? {} : { context: brief.context }),
    ...(draft.contract === 'none'
      ? {}
      : { contract: { level: draft.contract, deliverables: paths(draft.deliverables).map((path) => ({ path })) } }),
    ...(draft.autonomy === null ? {} : { autonomy: draft.autonomy }),
    ...(draft.model === null || draft.model === '' ? {} : { model: draft.model }),
    ...(draft.base === null || draft.base === '' ? {} : { base: draft.base }),
  }
}

/** "a.md, b.json" → both, without blanks. */
function paths(text: string): string[] {
  return text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '')
}

async function ask(coxswain: Coxswain, remembered: Remembered, brief: Brief): Promise<Draft | null> {
  const title = t('New child')
  const steps = 3
  const agents = coxswain.agents()
  // The search for agents goes on while the goal is typed; a failure is told at the step that needs them.
  agents.catch(() => undefined)
  const draft: Draft = {
    goal: brief.goal ?? '',
    agent: brief.agent ?? remembered.agent ?? '',
    contract: remembered.contract,
    deliverables: '',
    autonomy: remembered.autonomy,
    model: remembered.model,
    base: null,
  }
  let step = 1
  for (;;) {
    if (step === 1) {
      const goal = await askText({
        title,
        step,
        steps,
        value: draft.goal,
        prompt: t('What is it to do? It knows nothing of this window: name files, and say when it is done.'),
        placeholder: t('Fix the null check in lib/auth.py and add a test for it'),
        refuse: refuseGoal,
        remark: (text) => roomLeft(text, GOAL_MAX),
      })
      if (goal === undefined || goal === BACK) return null
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
      else if (agent === null) void vscode.commands.executeCommand('coxswain.checkAgents')
      else {
        draft.agent = agent
        step = 3
      }
      if (agent === null) return null
    } else {
      const contract = await askOne<'none' | 'light', 'more'>({
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
        ],
        active: (value) => value === draft.contract,
        button: {
          icon: 'settings-gear',
          tooltip: t('More: autonomy, model, base'),
          value: () => 'more',
        },
      })
      if (contract === undefined) return null
      if (contract === BACK) step = 2
      else if (contract === 'more') await more(draft)
      else {
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

/** The rare choices, each skippable with Escape. */
async function more(draft: Draft): Promise<void> {
  const autonomy = await askOne<Autonomy | null>({
    title: t('New child: autonomy'),
    placeholder: t('How much may it do without asking?'),
    items: [
      { value: null, label: t('As in settings') },
      ...autonomySchema.options.map((value) => ({ value, ...autonomyWords[value]() })),
    ],
    active: (value) => value === draft.autonomy,
  })
  if (autonomy === undefined || autonomy === BACK) return
  draft.autonomy = autonomy
  const model = await askText({
    title: t('New child: model'),
    prompt: t('Model, as this agent names it. Empty: the agent’s own choice.'),
    value: draft.model ?? '',
    refuse: (text) => (text.length > 200 ? t('A model’s name is shorter than that.') : null),
  })
  if (model === undefined || model === BACK) return
  draft.model = model.trim()
  const base = await askText({
    title: t('New child: base'),
    prompt: t('Branch or commit its worktree starts from. Empty: what is checked out here.'),
    value: draft.base ?? '',
    refuse: (text) => (text.length > 300 ? t('That is too long for a branch or commit.') : null),
  })
  if (base === undefined || base === BACK) return
  draft.base = base.trim()
}

async function spawn(coxswain: Coxswain, task: TaskRequest): Promise<string | null> {
  const answer = await coxswain.commands.spawn({ tasks: [task] })
  if (!isRefusal(answer)) return answer.subagent_ids[0] ?? null
  const overCap = answer.error.code === 'over_cap'
  const wait = t('Start when one is free')
  const raise = t('Raise limit')
  const choice = await vscode.window.showWarningMessage(
    forNotice(answer.error.message),
    ...(overCap ? [wait, raise] : []),
  )
  if (choice === raise)
    void vscode.commands.executeCommand('workbench.action.openSettings', 'coxswain.maxChildrenTotal')
  if (choice !== wait) return null
  const second = await coxswain.commands.spawn({ tasks: [task], when_full: 'wait' })
  if (!isRefusal(second)) return second.subagent_ids[0] ?? null
  void vscode.window.showWarningMessage(forNotice(second.error.message))
  return null
}

/** The brief of a child, to be edited and dispatched again. */
export function briefAgain(task: { goal: string; context?: string | undefined; agent: string }): Brief {
  return {
    goal: plainLine(task.goal, GOAL_MAX),
    agent: task.agent,
    ...(task.context === undefined ? {} : { context: task.context }),
  }
}
