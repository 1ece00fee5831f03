// Files on their way into a brief or a steer: chosen from a list, named by @path, or dropped. Finds out what a child would
// see of them in its own worktree; sends nothing.
import * as path from 'node:path'
import * as vscode from 'vscode'
import { askMany, askOne, BACK, type Choice } from './ask'
import { mentions, type Attachment } from './present/attachments'
import { t } from './present/l10n'
import { forPick } from './present/safe'
import type { Coxswain } from './supervision'

/** Longest text of one file that rides along, in bytes. */
const textBytes = 16 * 1024
const listedAtMost = 3_000

export interface Chosen {
  readonly uri: vscode.Uri
  readonly lines?: { readonly from: number; readonly to: number }
}

/** Any number of files, ticked; null when the person changed their mind. */
export async function chooseFiles(title: string): Promise<readonly Chosen[] | null> {
  const picked = await askMany({ title, placeholder: t('Files it is to look at; images too'), items: fileChoices() })
  if (picked === undefined || picked === BACK) return null
  return [
    ...picked.filter((each) => each !== 'elsewhere'),
    ...(picked.includes('elsewhere') ? await elsewhere(title) : []),
  ].map((uri) => ({ uri }))
}

/** One file, by a few letters and Enter; null when the person changed their mind. */
export async function chooseFile(title: string): Promise<Chosen | null> {
  const picked = await askOne({ title, placeholder: t('A file it is to look at'), items: fileChoices() })
  if (picked === undefined || picked === BACK) return null
  const uri = picked === 'elsewhere' ? (await elsewhere(title))[0] : picked
  return uri === undefined ? null : { uri }
}

async function elsewhere(title: string): Promise<readonly vscode.Uri[]> {
  return (await vscode.window.showOpenDialog({ canSelectMany: true, title })) ?? []
}

/** Files of the workspace, open ones first. */
async function fileChoices(): Promise<readonly Choice<vscode.Uri | 'elsewhere'>[]> {
  const open = vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []))
    .filter(({ scheme }) => scheme === 'file')
  const choice = (uri: vscode.Uri, isOpen: boolean): Choice<vscode.Uri | 'elsewhere'> => {
    const folder = path.dirname(vscode.workspace.asRelativePath(uri, false))
    return {
      value: uri,
      label: forPick(path.basename(uri.fsPath)),
      description: forPick([folder === '.' ? '' : folder, isOpen ? t('open') : ''].filter(Boolean).join(' · ')),
      iconPath: vscode.ThemeIcon.File,
    }
  }
  const found = await vscode.workspace.findFiles('**/*', undefined, listedAtMost)
  const shown = new Map(open.map((uri) => [String(uri), uri]))
  const rest = found.filter((uri) => !shown.has(String(uri))).sort((a, b) => (a.path < b.path ? -1 : 1))
  return [
    ...[...shown.values()].map((uri) => choice(uri, true)),
    ...rest.map((uri) => choice(uri, false)),
    {
      value: 'elsewhere',
      label: t('From elsewhere…'),
      alwaysShow: true,
      iconPath: new vscode.ThemeIcon('folder-opened'),
    },
  ]
}

/** The files a text mentions by @path, as far as they exist in the repository. */
export async function mentioned(text: string, folder: string): Promise<readonly Chosen[]> {
  const found = await Promise.all(
    mentions(text).map(async (name) => {
      const file = path.resolve(folder, name)
      if (!file.startsWith(folder + path.sep)) return null
      const uri = vscode.Uri.file(file)
      return (await isFile(uri)) ? { uri } : null
    }),
  )
  return found.filter((each) => each !== null)
}

/** What the child will see of each; files that cannot be read are named all the same. */
export async function attach({ checkout }: Coxswain, chosen: readonly Chosen[]): Promise<readonly Attachment[]> {
  const files = await Promise.all(
    chosen
      .filter(({ uri }) => uri.scheme === 'file')
      .map(async ({ uri, lines }) => {
        const place = await checkout.place(uri.fsPath)
        return { uri, outside: place === null, path: place ?? uri.fsPath, ...(lines && { lines }) }
      }),
  )
  const inside = files.filter(({ outside }) => !outside).map(({ path: name }) => name)
  const unlike = await checkout.unlikeHead(inside)
  return await Promise.all(
    files.map(async ({ uri, ...file }): Promise<Attachment> => {
      // What git cannot tell is sent along rather than left out.
      const uncommitted = !file.outside && (unlike === null || unlike.has(file.path))
      return { ...file, uncommitted, text: file.outside || uncommitted ? await smallText(uri) : null }
    }),
  )
}

async function smallText(uri: vscode.Uri): Promise<string | null> {
  try {
    const { size, type } = await vscode.workspace.fs.stat(uri)
    if (size > textBytes || (type & vscode.FileType.File) === 0) return null
    const bytes = await vscode.workspace.fs.readFile(uri)
    return bytes.includes(0) ? null : new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

async function isFile(uri: vscode.Uri): Promise<boolean> {
  try {
    return ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.File) !== 0
  } catch {
    return false
  }
}
