// One open transcript panel: answers what its webview asks and tells it what changed, one unacknowledged update at a
// time and nothing while hidden. The webview forgets everything when hidden; the next `ready` starts from a snapshot.
import { randomBytes } from 'node:crypto'
import * as vscode from 'vscode'
import { PAGE_BYTES, readFromWebview, type FromWebview, type ToWebview } from '../../protocol/panel'
import type { Acts, Outcome } from '../acts'
import { hitsIn, needleOf, nextHit } from '../present/find'
import { actions } from '../present/actions'
import { meantFiles } from '../present/mentioning'
import { t } from '../present/l10n'
import { pageOf, panelChild, panelSuggestion } from '../present/panel'
import { unread } from '../present/row'
import { forNotice } from '../present/safe'
import { titleOf } from '../present/words'
import type { Supervision } from '../supervision'
import { applyChild } from '../handBack'
import { panelHtml } from './html'
import { openCheckedFile } from '../review/reviewChanges'
import { VerdictAge } from './verdictAge'
import { findingUri, wholeTextUri } from './wholeText'

/** Entries of the end that ride along with a snapshot; the webview asks for others as a person scrolls. */
const tailEntries = 80
/** More new entries than this are not pushed one by one: the end is, and the rest waits to be asked for. */
const pushAtMost = 200
const pushBytes = 96 * 1024
const betweenUpdatesMs = 80
/** Entries read from the record at once: each may carry megabytes. */
const readChunk = 40
const namesMs = 10_000

export class TranscriptPanel implements vscode.Disposable {
  private shownChild: string
  private keptNow: boolean
  private scriptReady = false
  private inFlight = false
  private dirty = false
  private timer: NodeJS.Timeout | null = null
  private seq = 0
  /** Entries before this are known to the webview or left for it to ask. -1: nothing was sent yet. */
  private sentTo = -1
  private sentChild = ''
  private focusSteer: { text: string | null } | null = null
  private wantedEntry: number | null = null
  /** The search whose answer is waited for. */
  private searching = -1
  private names: { childId: string; at: number; listed: Promise<readonly string[]> } | null = null
  private disposed = false
  private readonly age: VerdictAge
  private readonly parts: vscode.Disposable[] = []
  /** Messages that were no messages of ours. */
  misread = 0

  constructor(
    readonly panel: vscode.WebviewPanel,
    private readonly acts: Acts,
    private readonly supervision: Supervision,
    private readonly log: vscode.LogOutputChannel,
    extensionUri: vscode.Uri,
    first: { childId: string; kept: boolean },
    private readonly onKept: (panel: TranscriptPanel) => void,
  ) {
    this.shownChild = first.childId
    this.keptNow = first.kept
    const dist = vscode.Uri.joinPath(extensionUri, 'dist', 'webview')
    const webview = panel.webview
    webview.options = { enableScripts: true, enableForms: false, enableCommandUris: false, localResourceRoots: [dist] }
    this.age = new VerdictAge(
      () => supervision.changes,
      () => this.wake(),
      (error) => log.warn('whether a verdict is out of date could not be found out', String(error)),
    )
    this.parts.push(
      this.age,
      webview.onDidReceiveMessage((message: unknown) => this.receive(message)),
      panel.onDidChangeViewState(() => {
        // A hidden webview is torn down by VS Code; whatever it knew is gone with it.
        if (panel.visible) return this.wake()
        this.scriptReady = false
        this.age.follow(null)
      }),
      supervision.onDidChange((childId) => {
        if (childId === null || childId === this.shownChild) this.wake()
      }),
      panel.onDidDispose(() => this.dispose()),
    )
    this.nameTab()
    webview.html = panelHtml({
      nonce: randomBytes(18).toString('base64'),
      cspSource: webview.cspSource,
      script: webview.asWebviewUri(vscode.Uri.joinPath(dist, 'transcript.js')).toString(),
      styles: [webview.asWebviewUri(vscode.Uri.joinPath(dist, 'transcript.css')).toString()],
      language: vscode.env.language,
      words: vscode.l10n.bundle ?? {},
    })
  }

  get childId(): string {
    return this.shownChild
  }

  get kept(): boolean {
    return this.keptNow
  }

  /** Another child in the same panel. */
  show(childId: string): void {
    if (childId === this.shownChild) return
    this.shownChild = childId
    this.nameTab()
    this.startOver()
  }

  keep(): void {
    if (this.keptNow) return
    this.keptNow = true
    this.onKept(this)
    if (this.scriptReady) void this.post({ type: 'kept', kept: true })
  }

  /** Puts the caret into the steer input, with this text if given. */
  focusSteerInput(text: string | null): void {
    this.focusSteer = { text }
    if (this.scriptReady) this.tellFocus()
  }

  /** Scrolls to an entry and marks it. */
  go(n: number): void {
    this.wantedEntry = n
    if (this.scriptReady) this.tellEntry()
  }

  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    if (this.timer !== null) clearTimeout(this.timer)
    for (const part of this.parts.reverse()) part.dispose()
  }

  private nameTab(): void {
    const view = this.supervision.view?.get(this.shownChild)
    const wanted = view === undefined ? t('Child') : titleOf(view.child)
    if (this.panel.title !== wanted) this.panel.title = wanted
  }

  private startOver(): void {
    this.sentTo = -1
    this.sentChild = ''
    this.inFlight = false
    if (!this.scriptReady) return
    void this.post({ type: 'show', childId: this.shownChild, kept: this.keptNow })
    this.wake(0)
  }

  private tellFocus(): void {
    if (this.focusSteer === null) return
    void this.post({ type: 'focusSteer', text: this.focusSteer.text })
    this.focusSteer = null
  }

  private tellEntry(): void {
    if (this.wantedEntry === null) return
    void this.post({ type: 'go', n: this.wantedEntry })
    this.wantedEntry = null
  }

  private wake(delay = betweenUpdatesMs): void {
    this.dirty = true
    if (this.timer !== null || this.disposed || this.inFlight || !this.scriptReady || !this.panel.visible) return
    this.timer = setTimeout(() => {
      this.timer = null
      this.update().catch((error: unknown) => this.log.error('transcript panel update failed', String(error)))
    }, delay)
  }

  private async update(): Promise<void> {
    if (this.disposed || this.inFlight || !this.scriptReady || !this.panel.visible) return
    this.dirty = false
    const childId = this.shownChild
    const view = this.supervision.view
    if (view === null) {
      if (this.supervision.state === 'opening' || this.supervision.state === 'idle') return
      await this.post({ type: 'gone', words: this.supervision.closedMessage })
      return
    }
    const child = view.get(childId)
    if (child === undefined) {
      await this.post({ type: 'gone', words: t('This child is not in the record of this folder.') })
      return
    }
    this.nameTab()
    if (vscode.window.state.focused && unread(child.child))
      this.acts
        .flag(childId, { seen: true })
        .catch((error: unknown) => this.log.error('marking as seen', String(error)))

    this.age.follow(child.child)
    const shown = panelChild(child, this.age.changed(child.child), (id) => view.get(id)?.child)
    const asText = JSON.stringify(shown)
    const total = child.entryCount
    const news = total - Math.max(this.sentTo, 0)
    const from = this.sentTo < 0 || news > pushAtMost || news < 0 ? Math.max(0, total - tailEntries) : this.sentTo
    this.inFlight = true
    let entries: ToWebview & { type: 'update' }
    try {
      entries = {
        type: 'update',
        seq: ++this.seq,
        childId,
        child: asText === this.sentChild ? null : shown,
        total,
        from,
        entries:
          total > from ? pageOf(await this.read(childId, from, total - from, pushBytes), pushBytes, child.child) : [],
      }
    } finally {
      this.inFlight = false
    }
    // While the record was being read the person may have moved on to another child, or hidden the panel.
    if (childId !== this.shownChild || !this.scriptReady || this.disposed) return this.wake(0)
    if (entries.child === null && entries.entries.length === 0 && this.sentTo === total) return
    this.inFlight = true
    this.sentChild = asText
    this.sentTo = from + entries.entries.length
    if (this.sentTo < total) this.dirty = true
    await this.post(entries)
  }

  /** Reads in chunks and stops at the budget: one entry may hold five megabytes. */
  private async read(childId: string, from: number, count: number, budget: number) {
    const view = this.supervision.view
    const entries = []
    let size = 0
    for (let at = from; view !== null && at < from + count && size < budget; at += readChunk) {
      const some = await view.entries(childId, at, Math.min(readChunk, from + count - at))
      entries.push(...some)
      for (const entry of some) size += 'text' in entry ? Math.min(entry.text.length, 12_000) : 400
      if (some.length < readChunk) break
    }
    return entries
  }

  private receive(raw: unknown): void {
    const message = readFromWebview(raw)
    if (message === null) {
      this.misread++
      if (this.misread <= 3) this.log.warn('a message from the transcript panel was not understood and dropped')
      return
    }
    this.act(message).catch((error: unknown) => this.log.error('transcript panel', String(error)))
  }

  private async act(message: FromWebview): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.scriptReady = true
        this.startOver()
        this.tellFocus()
        this.tellEntry()
        if (this.supervision.view === null) await this.supervision.open()
        return
      case 'ack':
        if (message.seq !== this.seq) return
        this.inFlight = false
        if (this.dirty) this.wake()
        return
      case 'page':
        return this.page(message.childId, message.from, message.count)
      case 'open':
        if (this.knows(message.childId))
          await vscode.window.showTextDocument(wholeTextUri(message.childId, message.n, message.part), {
            preview: true,
            viewColumn: vscode.ViewColumn.Beside,
          })
        return
      case 'review':
        if (this.knows(message.childId)) await vscode.commands.executeCommand('coxswain.reviewChanges', message.childId)
        return
      case 'takeOver':
        return this.takeOver(message.childId)
      case 'handBack':
        if (this.knows(message.childId)) await vscode.commands.executeCommand('coxswain.handBack', message.childId)
        return
      case 'adopt':
        if (this.knows(message.childId)) await vscode.commands.executeCommand('coxswain.adopt', message.childId)
        return
      case 'openCheck':
        return this.openCheck(message.childId, message.check, message.what)
      case 'find':
        return this.find(message)
      case 'count':
        return this.count(message)
      case 'mention':
        return this.mention(message)
      case 'steer':
        return this.wish(message, (id) => this.acts.steer(id, message.text, message.steerId))
      case 'editSteer':
        return this.wish(message, (id) => this.acts.editSteer(id, message.steerId, message.text))
      case 'withdrawSteer':
        return this.wish(message, (id) => this.acts.withdrawSteer(id, message.steerId))
      case 'reorderSteers':
        return this.wish(message, (id) => this.acts.reorderSteers(id, message.order))
      case 'pause':
        return this.wish(message, (id) => this.acts.pause(id))
      case 'stop':
        return this.wish(message, (id) => this.acts.stop([id]))
      case 'verify':
        return this.wish(message, (id) => this.acts.verify(id))
      case 'retry':
        return this.wish(message, (id) => this.acts.retry(id))
      case 'revoke':
        return this.wish(message, (id) => this.acts.revoke(id, message.requestId))
      case 'acceptPartial':
        return this.wish(message, (id) => this.acts.acceptPartial(id))
      case 'apply':
        return this.wish(message, (id) => applyChild(this.acts, this.supervision, id))
      case 'applySuggestion':
        return this.wish(message, (id) => this.onSuggestion(id, message.reason, () => this.acts.applySuggestion(id)))
      case 'dismissSuggestion':
        return this.wish(message, (id) => this.onSuggestion(id, message.reason, () => this.acts.dismissSuggestion(id)))
      case 'dismissMissed':
        return this.wish(message, (id) => this.acts.dismissMissed(id))
      case 'resume':
        return this.wish(message, (id) => this.acts.resume(id, message.text))
      case 'answer':
        return this.wish(message, (id) => this.acts.answer(id, message.requestId, message.answer))
    }
  }

  /** Its session where the agent has one for terminals, else a terminal in its worktree. */
  private async takeOver(childId: string): Promise<void> {
    const child = this.supervision.view?.get(childId)?.child
    if (!this.knows(childId) || child === undefined) return
    const command = actions(child).takeOver.able ? 'coxswain.takeOver' : 'coxswain.openTerminal'
    await vscode.commands.executeCommand(command, childId)
  }

  /** Only the suggestion that was read: another may have taken its place. */
  private async onSuggestion(childId: string, reason: string, act: () => Promise<Outcome>): Promise<Outcome> {
    const now = this.supervision.view?.get(childId)?.child.suggestion ?? null
    return now !== null && panelSuggestion(now).reason === reason
      ? await act()
      : { ok: false, words: t('That is not suggested any more; nothing was done.') }
  }

  private async openCheck(childId: string, check: number, what: 'file' | 'finding'): Promise<void> {
    const child = this.supervision.view?.get(childId)?.child
    const found = child?.verdict?.checks[check]
    if (!this.knows(childId) || child === undefined || found === undefined) return
    if (what === 'file' && found.location !== undefined) return await openCheckedFile(child, found.location)
    await vscode.window.showTextDocument(findingUri(childId, check), {
      preview: true,
      viewColumn: vscode.ViewColumn.Beside,
    })
  }

  /** The wish names the child its button was drawn for: a panel that has moved on refuses it. */
  private async wish(
    message: { readonly wish: number; readonly childId: string },
    act: (childId: string) => Promise<Outcome>,
  ): Promise<void> {
    const outcome = this.knows(message.childId)
      ? await act(message.childId).catch((error: unknown) => this.unforeseen(error))
      : { ok: false, words: t('This panel shows another child now; nothing was done.') }
    if (this.scriptReady) await this.post({ type: 'outcome', wish: message.wish, ...outcome })
  }

  /** A bug is told as well: a wish that nobody answers would leave its button waiting. */
  private unforeseen(error: unknown): Outcome {
    this.log.error('transcript panel', error instanceof Error ? error : String(error))
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, words: forNotice(t('Coxswain: {reason}', { reason })) }
  }

  private knows(childId: string): boolean {
    return childId === this.shownChild && this.supervision.view?.get(childId) !== undefined
  }

  private async page(childId: string, from: number, count: number): Promise<void> {
    if (!this.knows(childId)) return
    const total = this.supervision.view?.get(childId)?.entryCount ?? 0
    const read = await this.read(childId, from, Math.min(count, Math.max(0, total - from)), PAGE_BYTES)
    const entries = pageOf(read, PAGE_BYTES, this.supervision.view?.get(childId)?.child)
    if (this.scriptReady && childId === this.shownChild)
      await this.post({ type: 'page', childId, from, entries, total })
  }

  /** Over the whole log: the next hit after `after`, or the one before it, round once. */
  private async find({ wish, childId, query, after, back }: FromWebview & { type: 'find' }): Promise<void> {
    const hits = await this.search(wish, childId, query)
    if (hits !== null) await this.post({ type: 'found', wish, ...nextHit(hits, after, back) })
  }

  private async count({ wish, childId, query }: FromWebview & { type: 'count' }): Promise<void> {
    const hits = await this.search(wish, childId, query)
    if (hits !== null) await this.post({ type: 'counted', wish, count: hits.length, over: true })
  }

  /** Null when it was called off: by the next search, or because the panel was hidden. */
  private search(wish: number, childId: string, query: string): Promise<readonly number[] | null> {
    this.searching = wish
    const { view } = this.supervision
    if (!this.knows(childId) || view === null) return Promise.resolve(null)
    return hitsIn(view.get(childId)?.entryCount ?? 0, needleOf(query), {
      read: (from, count) => view.entries(childId, from, count),
      found: (count) => void this.post({ type: 'counted', wish, count, over: false }),
      isWanted: () => this.scriptReady && this.searching === wish,
      now: () => Date.now(),
    })
  }

  private async mention({ wish, childId, query }: FromWebview & { type: 'mention' }): Promise<void> {
    const names = this.knows(childId) ? await this.namesOf(childId) : []
    if (this.scriptReady) await this.post({ type: 'mentioned', wish, paths: [...meantFiles(names, query)] })
  }

  /** Listed once for all that is typed within a few seconds. */
  private namesOf(childId: string): Promise<readonly string[]> {
    if (this.names?.childId === childId && Date.now() - this.names.at < namesMs) return this.names.listed
    const listed = (this.supervision.changes?.names(childId) ?? Promise.resolve([])).catch((error: unknown) => {
      this.log.warn('the files of a worktree could not be listed', String(error))
      return []
    })
    this.names = { childId, at: Date.now(), listed }
    return listed
  }

  private async post(message: ToWebview): Promise<void> {
    if (!this.disposed) await this.panel.webview.postMessage(message)
  }
}
