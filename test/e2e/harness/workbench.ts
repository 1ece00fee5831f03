// One VS Code window in a browser page, in the words of a person: run a command, click a row's action, answer the
// question, read the toast. Selectors of VS Code's own markup live here and nowhere else.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Frame, FrameLocator, Locator, Page } from 'playwright-core'
import { settingsFile, type Server } from '../../../scripts/vscode/server.mjs'
import { until } from './until.js'

/** Ignored by git: pictures and logs of the last run. */
export const outFolder = fileURLToPath(new URL('../out', import.meta.url))

/** Each theme by its label in the picker, with the class its window carries. */
const themes = {
  dark: { label: 'Dark 2026', mark: 'vs-dark' },
  light: { label: 'Light 2026', mark: 'vs' },
  highContrast: { label: 'Dark High Contrast', mark: 'hc-black' },
  highContrastLight: { label: 'Light High Contrast', mark: 'hc-light' },
} as const

export type Theme = keyof typeof themes
export const everyTheme = Object.keys(themes) as Theme[]

const extensionId = 'coxswain.coxswain'
/** The window's first sign of life may take long on a cold machine. */
const openMs = 60_000

export class Workbench {
  constructor(
    readonly page: Page,
    readonly server: Server,
  ) {}

  /** Opens a folder and waits until the window can be used. */
  async open(folder: string): Promise<void> {
    await this.#go(this.server.url(folder))
  }

  /** The same for a workspace file of several folders. A VS Code that is slow to start now and then reads none out of it. */
  async openWorkspace(file: string): Promise<void> {
    const url = this.server.url(file).replace('folder=', 'workspace=')
    const folder = this.page.locator('.explorer-folders-view .monaco-list-row').first()
    await until(
      'the window has the folders',
      async () => {
        await this.#go(url)
        await folder.waitFor({ timeout: 10_000 })
        return true
      },
      openMs,
    )
  }

  async #go(url: string): Promise<void> {
    // The page's own "load" says nothing of the window, and on a cold machine it comes late.
    await this.page.goto(url, { waitUntil: 'commit', timeout: openMs })
    await this.ready()
  }

  async ready(): Promise<void> {
    await this.page.locator('.monaco-workbench').waitFor({ timeout: openMs })
    await this.page.locator('.activitybar .action-item').first().waitFor({ timeout: openMs })
  }

  /** Reloads the window, which ends its extension host and starts another. */
  async reload(): Promise<void> {
    await this.page.reload({ waitUntil: 'commit', timeout: openMs })
    await this.ready()
  }

  /** Runs a palette command by its whole title, `Category: Title`, as soon as it is offered. */
  async run(title: string): Promise<void> {
    await until(`the palette offers "${title}"`, async () => {
      // The palette's list is fixed when it opens, so it is opened anew until the extension has its commands in it.
      const row = await this.#offer(title)
      if (row) {
        await row.click({ timeout: 3_000 })
        return true
      }
      await this.page.keyboard.press('Escape')
      return false
    })
  }

  /** Whether the palette offers a command now. */
  async offers(title: string): Promise<boolean> {
    const offered = (await this.#offer(title)) !== undefined
    await this.page.keyboard.press('Escape')
    await this.input.waitFor({ state: 'hidden' })
    return offered
  }

  async #offer(title: string): Promise<Locator | undefined> {
    await this.page.keyboard.press('F1')
    // A panel that opens in this very moment takes the focus and closes it: then it is opened anew.
    await this.input.fill(`>${title}`, { timeout: 3_000 })
    // The row's accessible name begins with the title; a keybinding or "recently used" may follow.
    const row = this.quickPickRows.filter({ has: this.page.getByText(title, { exact: true }) }).first()
    const none = this.page.locator('.quick-input-list').getByText('No matching commands')
    await row
      .or(none)
      .first()
      .waitFor({ timeout: 3_000 })
      .catch(() => undefined)
    return (await row.isVisible()) ? row : undefined
  }

  /** The input of the palette, a QuickPick or an InputBox, whichever is open. */
  get input(): Locator {
    return this.page.locator('.quick-input-widget:visible input').first()
  }

  /** The line below an InputBox or above a QuickPick: prompt, and refusals of what was typed. */
  get inputMessage(): Locator {
    return this.page.locator('.quick-input-widget:visible .quick-input-message')
  }

  get quickPickRows(): Locator {
    return this.page.locator('.quick-input-list .monaco-list-row')
  }

  /** Types an answer into the InputBox and sends it: the one that is open, or the one with this message once it is. */
  async answer(text: string, message?: string): Promise<void> {
    if (message !== undefined) await this.inputMessage.filter({ hasText: message }).waitFor()
    await this.input.fill(text)
    await this.page.keyboard.press('Enter')
  }

  /** Chooses a row of the open QuickPick. */
  async pick(label: string | RegExp): Promise<void> {
    await this.quickPickRows.filter({ hasText: label }).first().click()
  }

  /** The tab of a view container in the activity bar. */
  viewContainer(title: string): Locator {
    return this.page.locator('.activitybar').getByRole('tab', { name: title })
  }

  /** Shows a view container; one that the window itself has brought back is left alone, for a click on its icon hides it. */
  async showContainer(title: string): Promise<void> {
    const tab = this.viewContainer(title)
    await until(`the side bar shows ${title}`, async () => {
      if ((await tab.getAttribute('aria-selected', { timeout: 3_000 })) === 'true') return true
      await tab.click({ timeout: 3_000 })
      return false
    })
  }

  get sideBar(): Locator {
    return this.page.locator('.part.sidebar')
  }

  /** A row of a tree in the side bar, by its accessible sentence or part of it. */
  row(name: string | RegExp): Locator {
    return this.sideBar.getByRole('treeitem', { name })
  }

  /** The tree as text: one line per visible row, indented by depth, as a screen reader hears it without VS Code's own ending. */
  async treeText(): Promise<string> {
    const rows = await this.sideBar.getByRole('treeitem').all()
    const lines = await Promise.all(
      rows.map(async (row) => {
        const level = Number((await row.getAttribute('aria-level')) ?? 1)
        const heard = (await row.getAttribute('aria-label')) ?? (await row.innerText())
        return `${'  '.repeat(level - 1)}${heard.replace(/, has actions$/, '')}`
      }),
    )
    return lines.join('\n')
  }

  /** An inline action of a row, shown while the row is hovered. */
  async rowAction(row: Locator, action: string): Promise<void> {
    await row.hover()
    await row.getByRole('button', { name: action }).click()
  }

  /** A row's context menu entry. VS Code in a browser draws the menu itself. */
  async rowMenu(row: Locator, entry: string): Promise<void> {
    await this.pickFromMenu(() => row.click({ button: 'right', timeout: 3_000 }), entry)
  }

  /** An entry of a menu. What opens it is done again while it lacks the entry, or closes as the window takes the focus away. */
  async pickFromMenu(open: () => Promise<void>, entry: string): Promise<void> {
    const menu = this.page.locator('.monaco-menu')
    const item = menu.getByRole('menuitem', { name: entry })
    await until(`a menu offers "${entry}"`, async () => {
      await this.page.keyboard.press('Escape')
      await open()
      await item.waitFor({ timeout: 3_000 })
      return true
    })
    await until(`the menu takes "${entry}"`, async () => {
      // VS Code ignores a click that comes right after the menu opened.
      if (await item.isVisible()) await item.click({ timeout: 2_000 })
      await menu.waitFor({ state: 'hidden', timeout: 1_000 })
      return true
    })
  }

  toast(text: string | RegExp): Locator {
    return this.page.locator('.notification-list-item').filter({ hasText: text })
  }

  /** The modal dialog. */
  get dialog(): Locator {
    return this.page.locator('.monaco-dialog-box')
  }

  async answerDialog(button: string): Promise<void> {
    await this.dialog.getByRole('button', { name: button, exact: true }).click()
    await this.dialog.waitFor({ state: 'hidden' })
  }

  statusBarItem(name: string | RegExp): Locator {
    return this.page.locator('.statusbar-item').filter({ hasText: name })
  }

  /** The content of a webview of ours: an editor panel, or with `view` one in the side bar. */
  webview({ view = false, nth = 0 } = {}): FrameLocator {
    const purpose = view ? '[src*="purpose=webviewView"]' : ':not([src*="purpose=webviewView"])'
    const frame = this.page.locator(`iframe.webview.ready[src*="extensionId=${extensionId}"]${purpose}`)
    return frame.nth(nth).contentFrame().locator('#active-frame').contentFrame()
  }

  /** The same as a frame, to evaluate script in. */
  async webviewFrame(options: { view?: boolean; nth?: number } = {}): Promise<Frame> {
    const body = await this.webview(options).locator('body').elementHandle()
    const frame = await body?.ownerFrame()
    if (!frame) throw new Error('the webview went away')
    return frame
  }

  /** Changes user settings on disk. This VS Code does not follow that file: they count from the next `open` or `reload`. */
  changeSettings(changes: Record<string, unknown>): void {
    const file = settingsFile(this.server.profile)
    const settings = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    writeFileSync(file, JSON.stringify({ ...settings, ...changes }, null, 2))
  }

  async setTheme(theme: Theme): Promise<void> {
    const { label, mark } = themes[theme]
    await this.run('Preferences: Color Theme')
    await this.input.fill(label)
    await this.quickPickRows
      .filter({ has: this.page.getByText(label, { exact: true }) })
      .first()
      .click()
    await this.page.locator(`.monaco-workbench.${mark}`).waitFor()
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' })
  }

  /** The banner of Restricted Mode; there only when the server was started without trust. */
  get restrictedBanner(): Locator {
    return this.page.getByText('Restricted Mode is intended for safe code browsing')
  }

  /** Trusts the open folder by the banner's own way. */
  async trustFolder(): Promise<void> {
    const manage = this.page.getByRole('button', { name: 'Manage' }).or(this.page.getByRole('link', { name: 'Manage' }))
    await manage.first().click()
    await this.page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click()
    await this.restrictedBanner.waitFor({ state: 'hidden' })
    // The editor lies over the window and stays there once it has done its work.
    await this.page.locator('.monaco-modal-editor-block').getByRole('button', { name: 'Close' }).click()
    await this.page.locator('.workspace-trust-editor').waitFor({ state: 'hidden' })
  }

  /** The pid of the extension host of this window; with several, the youngest. */
  async extensionHostPid(): Promise<number> {
    return until('an extension host runs', () => this.server.extensionHosts().at(-1))
  }

  /** Keeps a picture of the window; returns its path. */
  async screenshot(name: string): Promise<string> {
    mkdirSync(outFolder, { recursive: true })
    const file = path.join(outFolder, `${name.replace(/[^\w.-]+/g, '-')}.png`)
    await this.page.screenshot({ path: file, animations: 'disabled' })
    return file
  }
}
