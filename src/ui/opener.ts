// Opens the supervisor of this window's folder with the editor's settings. The supervisor's code is loaded here and not at
// activation, so that a window that never uses it pays nothing.
import * as vscode from 'vscode'
import type { AgentInfo } from '../supervisor/agentsFound'
import type { ClosedWhy, Opened, Opener } from './supervision'
import type { AgentFound } from './supervision'

const settingNames = [
  'maxChildrenPerParent',
  'maxChildrenTotal',
  'childTimeoutSeconds',
  'stopGraceSeconds',
  'approvalTimeoutSeconds',
  'afterWindowCloses',
  'reloadLeaseSeconds',
  'worktreeRoot',
  'autonomy',
  'defaultAgent',
  'agents',
  'nodePath',
] as const

/** Which welcome fits why a repository cannot be used. */
const whys: Readonly<Record<string, ClosedWhy>> = {
  'no-git': 'noGit',
  'old-git': 'noGit',
  'not-a-repository': 'noRepository',
  'no-commits': 'noCommit',
}

export function makeOpener(context: vscode.ExtensionContext): Opener {
  const dist = vscode.Uri.joinPath(context.extensionUri, 'dist').fsPath
  const { version } = context.extension.packageJSON as { version: string }
  const environment = process.env
  return {
    hasChildren: async (folder) => {
      const { hasChildren } = await import('../supervisor/openCoxswain')
      return await hasChildren(folder, environment)
    },
    open: async (folder): Promise<Opened> => {
      if (process.platform === 'win32')
        return {
          kind: 'closed',
          why: 'unsupported',
          message: vscode.l10n.t(
            'Coxswain cannot keep agents safely on native Windows. Open this folder in WSL instead.',
          ),
        }
      const { openCoxswain } = await import('../supervisor/openCoxswain')
      const { readSettings } = await import('../supervisor/settings')
      const log = vscode.window.createOutputChannel('Coxswain Supervisor', { log: true })
      const warned = new Set<string>()
      const settings = () => {
        const own = vscode.workspace.getConfiguration('coxswain')
        const raw = Object.fromEntries(settingNames.map((name) => [name, own.get<unknown>(name)]))
        const read = readSettings(raw)
        for (const problem of read.problems) {
          if (warned.has(problem)) continue
          warned.add(problem)
          log.warn(problem)
        }
        return read.settings
      }
      const opened = await openCoxswain({
        folder,
        role: 'window',
        caller: { kind: 'person' },
        settings,
        dist,
        environment,
        attended: () => true,
        openFolders: (vscode.workspace.workspaceFolders ?? []).map((open) => open.uri.fsPath),
        version,
        log: (level, fact, fields) => {
          if (level === 'error') log.error(fact, fields)
          else if (level === 'warning') log.warn(fact, fields)
          else log.info(fact, fields)
        },
      })
      if (!('commands' in opened)) {
        log.dispose()
        return { kind: 'closed', why: whys[opened.code] ?? 'failed', message: opened.message }
      }
      opened.takeUpLive().catch((error: unknown) => log.error('re-attaching failed', String(error)))
      return {
        kind: 'open',
        coxswain: {
          view: opened.view,
          commands: opened.commands,
          agents: async () => (await opened.agents()).map(agentFound),
          dispose: () => {
            opened.dispose()
            log.dispose()
          },
        },
      }
    },
  }
}

function agentFound({ abilities, ...info }: AgentInfo): AgentFound {
  const { steerMode, resume, approvals } = abilities
  return { ...info, steerMode, resume, approvals }
}
