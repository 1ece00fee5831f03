// Opens the real supervisor for this window: settings from VS Code, the built files beside the extension, a person at
// hand. The supervisor's rooms are loaded here and only when first opened, so that activation stays quick.
import * as path from 'node:path'
import * as vscode from 'vscode'
import { isLive } from '../core/child'
import { noContract } from '../core/contract'
import type { Problem } from '../git/repository'
import type { ParentsDoor } from '../parent/door'
import type { Settings } from '../supervisor/settings'
import { t } from './present/l10n'
import type { ClosedWhy, Opened, Opener } from './supervision'

export function realOpener(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Opener {
  const environment = process.env
  const version = String((context.extension.packageJSON as { version?: unknown }).version)
  return {
    hasChildren: async (folder) => {
      if (process.platform === 'win32') return false
      const { hasChildren } = await import('../supervisor/openCoxswain')
      return hasChildren(folder, environment)
    },
    open: async (folder): Promise<Opened> => {
      if (process.platform === 'win32')
        return {
          kind: 'closed',
          why: 'unsupported',
          message: t('Coxswain cannot watch over processes on Windows itself. Open this folder in WSL.'),
        }
      const [{ openCoxswain }, { readSettings, settingNames }] = await Promise.all([
        import('../supervisor/openCoxswain'),
        import('../supervisor/settings'),
      ])
      let told = ''
      const settings = (): Settings => {
        const read = readSettings(written(settingNames))
        const problems = read.problems.join(' ')
        if (problems !== told && problems !== '') log.warn('settings', problems)
        told = problems
        return read.settings
      }
      const opened = await openCoxswain({
        folder,
        role: 'window',
        caller: { kind: 'person' },
        settings,
        dist: path.join(context.extensionPath, 'dist'),
        environment,
        attended: () => true,
        openFolders: (vscode.workspace.workspaceFolders ?? [])
          .filter(({ uri }) => uri.scheme === 'file')
          .map(({ uri }) => uri.fsPath),
        version,
        log: (level, fact, fields) => {
          if (level === 'error') log.error(fact, fields)
          else if (level === 'warning') log.warn(fact, fields)
          else log.info(fact, fields)
        },
      })
      if ('kind' in opened) return { kind: 'closed', why: whyClosed(opened), message: opened.message }
      // Children that lost their window are taken up again at once, not at the next command.
      opened.takeUpLive().catch((error: unknown) => log.error('live children could not be taken up', String(error)))
      const [{ Changes }, { Checkout }, { tellOnce }, { runNeedsYouCommand }, { checkAudit }, { contractOf }] =
        await Promise.all([
          import('./review/changes'),
          import('./checkout'),
          import('../record/told'),
          import('../supervisor/needsYou'),
          import('../record/audit'),
          import('../supervisor/verifyChild'),
        ])
      const { view, commands, git, repository, paths } = opened
      let door: Promise<ParentsDoor> | undefined
      let held = false
      const openDoor = async (): Promise<ParentsDoor> => {
        try {
          const { parentsDoor } = await import('../parent/door')
          return await parentsDoor(opened, () => {
            held = true
          })
        } catch (error) {
          door = undefined
          throw error
        }
      }
      return {
        kind: 'open',
        coxswain: {
          view,
          commands,
          agents: () => opened.agents(),
          setups: () => opened.setups(),
          parents: () => (door ??= openDoor()),
          isHeld: () => held,
          changes: new Changes(git, repository.commonDir, repository.topLevel, (id) => view.get(id)?.child),
          checkout: new Checkout(git, repository.topLevel, repository.commonDir),
          care: {
            reconcile: async () => {
              await opened.takeUpLive()
              await opened.recovered()
              await opened.refresh()
              const all = view.list()
              const owner = opened.isOwner() ? 'this window' : (await opened.hasOwner()) ? 'another process' : 'nobody'
              return { live: all.filter(({ child }) => isLive(child)).length, children: all.length, owner }
            },
            audit: async () => ({ path: paths.audit, ...(await checkAudit(paths.audit)) }),
            facts: { version, platform: `${process.platform} ${process.arch}`, node: process.versions.node },
          },
          tellOnce: (childId, event) => tellOnce(paths.child(childId), event),
          runNeedsYouCommand: (argv, need) => runNeedsYouCommand(argv, need, environment),
          contractFrom: async (text, format) => {
            const { contractFromText, readText } = await import('../verification/contractText')
            const read = readText(text, format)
            return { ...contractFromText(text, format), value: read.ok ? read.value : undefined }
          },
          contract: async (id) => {
            const child = view.get(id)?.child
            return child === undefined ? noContract : await contractOf(paths, child)
          },
          dispose: () => opened.dispose(),
        },
      }
    },
  }
}

function written(names: readonly string[]): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration('coxswain')
  return Object.fromEntries(names.map((name) => [name, configuration.get(name)]))
}

function whyClosed(problem: Problem): ClosedWhy {
  switch (problem.code) {
    case 'no-git':
      return 'noGit'
    case 'not-a-repository':
    case 'bare':
    case 'inside-git-folder':
    case 'no-folder':
      return 'noRepository'
    case 'no-commits':
      return 'noCommit'
    default:
      return 'failed'
  }
}
