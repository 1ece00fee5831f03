// 'Connect a parent agent…': shows what another agent's configuration needs, and where, then copies it or, asked, writes it.
// Keeps the launcher that such configurations name pointing at this installation.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import * as vscode from 'vscode'
import type { Merged } from '../parent/configText'
import type { Connection } from '../parent/connect'
import { askOne, BACK } from './ask'
import { t } from './present/l10n'
import { forNotice } from './present/safe'

export async function connectParent(dist: string): Promise<void> {
  const launcher = await writeLauncher(dist)
  if (typeof launcher !== 'string') {
    void vscode.window.showWarningMessage(forNotice(launcher.message))
    return
  }
  const { connections } = await import('../parent/connect')
  const session = (agent: string): string => `${agent}-${randomBytes(12).toString('hex')}`
  const connection = await askOne<Connection>({
    title: t('Connect a parent agent'),
    placeholder: t('It gets the tool delegate_task in the repository it runs in'),
    items: connections(launcher, session, process.env, homedir()).map((each) => ({
      label: each.label,
      description: each.file?.path ?? t('by its own command, in a terminal'),
      value: each,
    })),
  })
  if (connection === undefined || connection === BACK) return
  await put(connection)
}

/** After an update the same launcher starts the new version. Does nothing for people who never connected an agent. */
export async function refreshLauncher(dist: string): Promise<void> {
  const { userLauncherPath } = await import('../supervisor/launcher')
  if (vscode.workspace.isTrusted && process.platform !== 'win32' && existsSync(userLauncherPath(process.env)))
    await writeLauncher(dist)
}

async function writeLauncher(dist: string): Promise<string | { readonly message: string }> {
  if (process.platform === 'win32')
    return { message: t('Coxswain cannot watch over processes on Windows itself. Open this folder in WSL.') }
  const { writeUserLauncher } = await import('../supervisor/launcher')
  const nodePath = vscode.workspace.getConfiguration('coxswain').get<string>('nodePath', '')
  return await writeUserLauncher(process.env, dist, nodePath)
}

async function put({ label, text, file }: Connection): Promise<void> {
  const existing = file === undefined ? null : await read(file.path)
  const merged =
    file === undefined ? null : existing === null ? ({ kind: 'unreadable' } as const) : file.merge(existing)
  const write = t('Write')
  const copy = t('Copy')
  const written = merged?.kind === 'added' ? merged.text : null
  const part = merged?.kind === 'added' ? merged.part : text
  const choice = await vscode.window.showInformationMessage(
    forNotice(t('Connect {label} to Coxswain?', { label })),
    { modal: true, detail: `${whereWords(label, file, merged)}\n\n${part}` },
    ...(written === null ? [copy] : [write, copy]),
  )
  if (choice === copy) {
    await vscode.env.clipboard.writeText(part)
    vscode.window.setStatusBarMessage(t('Copied.'), 6_000)
  }
  if (choice !== write || file === undefined || written === null) return
  // What was shown is what is changed: somebody may have saved the file meanwhile.
  if ((await read(file.path)) !== existing) {
    void vscode.window.showWarningMessage(forNotice(t('{path} has just been changed. Try again.', { path: file.path })))
    return
  }
  const { writeThroughLink } = await import('../record/atomicWrite')
  await writeThroughLink(file.path, written)
  void vscode.window.showInformationMessage(
    forNotice(t('{label} has the tool delegate_task from its next start on.', { label })),
  )
}

function whereWords(label: string, file: Connection['file'], merged: Merged | null): string {
  if (file === undefined || merged === null) return t('Run this in a terminal to connect {label}:', { label })
  const { path: place, format } = file
  switch (merged.kind) {
    case 'added':
      return t('This is added to {path}, which is otherwise left as it is:', { path: place })
    case 'there':
      return t(
        '{path} names Coxswain already, so there is nothing to write. To connect it anew, put this in its place:',
        {
          path: place,
        },
      )
    case 'unreadable':
      return t('{path} cannot be read as {format}, so it is left as it is. Put it right first, or add this yourself:', {
        path: place,
        format,
      })
    case 'unsuited':
      return t(
        '{path} has its MCP servers switched off, or in a form that is not changed for you, so it is left as it is. This belongs there:',
        { path: place },
      )
  }
}

/** Empty when there is none; null when it cannot be read as text. */
async function read(file: string): Promise<string | null> {
  try {
    const bytes = await vscode.workspace.fs.readFile(vscode.Uri.file(file))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    return error instanceof vscode.FileSystemError && error.code === 'FileNotFound' ? '' : null
  }
}
