// Which agents are on this machine, and how to get the others.
import * as vscode from 'vscode'
import type { AgentInfo } from '../supervisor/agentsFound'
import { askOne, BACK, type Choice } from './ask'
import type { CommandRoom } from './commandRoom'
import { t } from './present/l10n'
import { forNotice, forPick } from './present/safe'
import { commandIn } from './present/words'

export function checkAgentsCommands({ command, supervision }: CommandRoom): void {
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
