// Search over the transcripts of all children: hits come in while the words are typed, and one opens the panel at its
// entry. Reads the record in small chunks and stops at the next key.
import * as vscode from 'vscode'
import type { TranscriptEntry } from '../core/transcript'
import type { StoreView } from '../supervisor/view'
import type { CommandRoom } from './commandRoom'
import { excerpt, isPlace, needleOf } from './present/find'
import { t } from './present/l10n'
import { forPick } from './present/safe'
import { titleOf } from './present/words'

const shortest = 2
const settleMs = 200
const atMost = 300
/** Of one child; a word that stands in every line must not hide the other children. */
const atMostOfOne = 60
const chunk = 100

interface Hit extends vscode.QuickPickItem {
  readonly childId?: string
  readonly n?: number
}

const icons: Readonly<Record<TranscriptEntry['kind'], string>> = {
  turn: 'comment',
  text: 'comment-discussion',
  reasoning: 'lightbulb',
  toolStarted: 'tools',
  toolEnded: 'output',
  steer: 'megaphone',
  receipt: 'megaphone',
  asked: 'question',
  answered: 'reply',
  report: 'pass',
  verdict: 'verified',
  notice: 'info',
  noise: 'warning',
}

export function searchCommands({ command, opened, panels, log }: CommandRoom): void {
  command('searchTranscripts', async () => {
    const view = await opened()
    if (view === null) return
    const hit = await pickHit(view, (error) => log.error('a search in the transcripts failed', String(error)))
    if (hit?.childId !== undefined && hit.n !== undefined)
      panels.show(hit.childId, { preserveFocus: false, entry: hit.n })
  })
}

function pickHit(view: StoreView, failed: (error: unknown) => void): Promise<Hit | undefined> {
  return new Promise((resolve) => {
    const pick = vscode.window.createQuickPick<Hit>()
    pick.title = t('Search transcripts')
    // So that VS Code marks what was looked for in what was found.
    pick.matchOnDetail = true
    pick.placeholder = t('Words in any transcript of this repository')
    let search = new AbortController()
    let timer: NodeJS.Timeout | null = null
    let chosen: Hit | undefined
    pick.onDidChangeValue((value) => {
      search.abort()
      search = new AbortController()
      if (timer !== null) clearTimeout(timer)
      const { signal } = search
      timer = setTimeout(() => {
        show(pick, view, value, signal).catch((error: unknown) => {
          if (!signal.aborted) pick.busy = false
          failed(error)
        })
      }, settleMs)
    })
    pick.onDidAccept(() => {
      chosen = pick.selectedItems[0]
      if (chosen?.childId !== undefined) pick.hide()
    })
    pick.onDidHide(() => {
      search.abort()
      if (timer !== null) clearTimeout(timer)
      pick.dispose()
      resolve(chosen)
    })
    pick.show()
  })
}

async function show(pick: vscode.QuickPick<Hit>, view: StoreView, query: string, signal: AbortSignal): Promise<void> {
  const needle = needleOf(query)
  if (needle.length < shortest) {
    pick.items = []
    return
  }
  pick.busy = true
  const items: Hit[] = []
  for await (const found of search(view, needle, signal)) {
    if (signal.aborted) return
    items.push(...found)
    pick.items = items
    if (items.length >= atMost) break
  }
  if (signal.aborted) return
  pick.busy = false
  const n = items.length
  const note = n === 0 ? t('Nothing found') : n >= atMost ? t('The first {n} hits', { n }) : null
  if (note !== null) pick.items = [...items, { label: note, alwaysShow: true }]
}

/** The hits of one child after the other, newest child first. VS Code orders the list by how well a label fits. */
async function* search(view: StoreView, needle: string, signal: AbortSignal): AsyncGenerator<readonly Hit[]> {
  for (const { child, entryCount } of view.list()) {
    const hits: Hit[] = []
    for (let at = 0; at < entryCount && hits.length < atMostOfOne; at += chunk) {
      const entries = await view.entries(child.id, at, chunk)
      if (signal.aborted) return
      for (const entry of entries) {
        const words = isPlace(entry) ? null : excerpt(entry, needle)
        if (words === null || hits.length >= atMostOfOne) continue
        hits.push({
          // The child comes first: long words leave no room behind them.
          label: forPick(titleOf(child), 60),
          detail: forPick(words, 300),
          iconPath: new vscode.ThemeIcon(icons[entry.kind]),
          // It was found already; VS Code must not leave it out for its case or spacing.
          alwaysShow: true,
          childId: child.id,
          n: entry.n,
        })
      }
    }
    if (hits.length > 0) yield [{ label: forPick(titleOf(child)), kind: vscode.QuickPickItemKind.Separator }, ...hits]
  }
}
