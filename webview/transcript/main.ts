// The transcript panel's script: holds no truth, only what it was last told, and can be thrown away at any moment. Says
// `ready`, gets a snapshot, takes one update at a time and asks for the pages a person scrolls to.
import type { FromWebview, PanelChild, PanelEntry, ToWebview } from '../../src/protocol/panel'
import { EntryCache } from './cache'
import { button, progressRing, textField } from './controls'
import { el, icon, setText, show } from './dom'
import { entryRow, missingRow, reportTitle } from './entries'
import { Finding } from './finding'
import { Header } from './header'
import { VirtualList } from './list'
import { Steering, type Wish } from './steering'
import { say } from './strings'
import { Verification } from './verification'
import './style.css'

interface Saved {
  readonly childId: string | null
  readonly kept: boolean
  readonly drafts: Readonly<Record<string, string>>
  /** Where a person was reading; null = at the end. */
  readonly place: { readonly n: number; readonly offset: number } | null
}

declare function acquireVsCodeApi(): {
  postMessage(message: FromWebview): void
  getState(): Saved | undefined
  setState(state: Saved): void
}

const vscode = acquireVsCodeApi()
let saved: Saved = vscode.getState() ?? { childId: null, kept: false, drafts: {}, place: null }
// First thing: without a state of its own the panel would come back after a reload knowing nothing.
vscode.setState(saved)

let child: PanelChild | null = null
let steersById = new Map<string, PanelChild['steers'][number]>()
let place = saved.place
/** Entries a person at the end has had before their eyes. */
let seenTo = 0
let wishes = 0
const mentioned = new Map<number, (paths: readonly string[]) => void>()
const open = new Map<number, (outcome: { ok: boolean; words: string }) => void>()

function save(change: Partial<Saved>): void {
  saved = { ...saved, ...change }
  vscode.setState(saved)
}

const cache = new EntryCache()
const unfolded = new Set<string>()
const context = {
  cache,
  unfolded,
  steer: (id: string) => steersById.get(id),
  runs: (attempt: number) => child !== null && child.live && attempt === newestAttempt(),
  open: (n: number, part: 'text' | 'input' | 'output') => {
    if (saved.childId !== null) vscode.postMessage({ type: 'open', childId: saved.childId, n, part })
  },
}

function newestAttempt(): number {
  return cache.get(list.length - 1)?.attempt ?? 0
}

/** The entry a search led to, and the rows already unfolded on its account. */
let marked: number | null = null
const opened = new Set<number>()
function mark(n: number | null): void {
  marked = n
  opened.clear()
}
function goTo(n: number): void {
  mark(n)
  list.go(n)
  list.renew(list.mountedRows())
}
/** An output stands in the row of its call. */
function isMarked(entry: PanelEntry): boolean {
  if (marked === null) return false
  return entry.n === marked || (entry.kind === 'toolStarted' && cache.endOf(entry)?.n === marked)
}

const list: VirtualList = new VirtualList({
  row: (n) => {
    const entry = cache.get(n)
    if (entry === undefined) return missingRow()
    const found = isMarked(entry)
    // Once: a person may fold it again.
    if (found && !opened.has(n)) {
      opened.add(n)
      unfolded.add(`${n}`)
    }
    const row = entryRow(entry, context)
    row.classList.toggle('row-found', found)
    return row
  },
  wanted: (from, to) => {
    cache.trim(from, to, list.length)
    const gap = cache.gap(from - 20, Math.min(list.length, to + 20), performance.now())
    if (gap !== null && saved.childId !== null) vscode.postMessage({ type: 'page', childId: saved.childId, ...gap })
  },
  moved: () => {
    if (list.follows) seenTo = list.length
    const news = list.length - seenTo
    show(tail, !list.follows)
    setText(tailWords, news > 0 ? say.newEntries(news) : say.toEnd)
    savePlaceSoon()
  },
})
list.element.setAttribute('aria-label', say.transcript)

let placeTimer = 0
function savePlaceSoon(): void {
  if (placeTimer !== 0) return
  placeTimer = window.setTimeout(() => {
    placeTimer = 0
    if (list.length > 0) save({ place: list.follows ? null : list.place })
  }, 500)
}

const tailWords = el('span', '')
const tail = el('button', 'tail', icon('arrow-down'), tailWords)
tail.type = 'button'
tail.hidden = true
tail.addEventListener('click', () => list.toEnd())

const spoken = el('div', 'spoken')
spoken.setAttribute('aria-live', 'polite')
/** One polite sentence at a time. */
function announce(words: string): void {
  setText(spoken, words)
}

function takeOver(): void {
  if (saved.childId !== null) vscode.postMessage({ type: 'takeOver', childId: saved.childId })
}
const header = new Header({
  steer: () => steering.focus(),
  pause: () => void tellWish({ type: 'pause' }),
  resume: () => {
    if (steering.draft.trim() === '') void tellWish({ type: 'resume', text: null })
    else steering.focus()
  },
  stop: () => void tellWish({ type: 'stop' }),
  review: () => {
    if (saved.childId !== null) vscode.postMessage({ type: 'review', childId: saved.childId })
  },
  verify: () => void tellWish({ type: 'verify' }),
  apply: () => void tellWish({ type: 'apply' }),
  takeOver,
  handBack: () => {
    if (saved.childId !== null) vscode.postMessage({ type: 'handBack', childId: saved.childId })
  },
  adopt: () => {
    if (saved.childId !== null) vscode.postMessage({ type: 'adopt', childId: saved.childId })
  },
  revoke: (requestId) => void tellWish({ type: 'revoke', requestId }),
  refused: (why) => steering.tell(say.because(why), true),
})
const verification: Verification = new Verification({
  open: (check, what) => {
    if (saved.childId !== null) vscode.postMessage({ type: 'openCheck', childId: saved.childId, check, what })
  },
  verify: () => void tellWish({ type: 'verify' }),
  retry: () => void tellWish({ type: 'retry' }),
  acceptPartial: () => void tellWish({ type: 'acceptPartial' }),
  takeOver,
  refused: (why) => steering.tell(say.because(why), true),
})
const steering: Steering = new Steering({
  wish: ask,
  files: (query) => {
    const { childId } = saved
    if (childId === null) return Promise.resolve([])
    const wish = ++wishes
    vscode.postMessage({ type: 'mention', wish, childId, query })
    return new Promise((resolve) => mentioned.set(wish, resolve))
  },
  draftChanged: (text) => {
    if (saved.childId === null) return
    const drafts = Object.entries(saved.drafts).filter(([id]) => id !== saved.childId)
    if (text !== '') drafts.push([saved.childId, text])
    save({ drafts: Object.fromEntries(drafts.slice(-20)) })
  },
  announce,
})

function ask(wish: Wish): Promise<{ ok: boolean; words: string }> {
  const { childId } = saved
  if (childId === null) return Promise.resolve({ ok: false, words: '' })
  const number = ++wishes
  return new Promise((resolve) => {
    open.set(number, resolve)
    vscode.postMessage({ ...wish, wish: number, childId })
  })
}

async function tellWish(wish: Wish): Promise<void> {
  const outcome = await ask(wish)
  steering.tell(outcome.words, !outcome.ok)
}

// ---- find ----

const findCount = el('span', 'find-count')
findCount.setAttribute('role', 'status')
const findField = textField({
  label: say.find,
  placeholder: say.find,
  enter: (_words, back) => find(back),
  typed: () => countHits(),
})
const findBar = el(
  'div',
  'find',
  findField.element,
  findCount,
  button({ label: say.previous, icon: 'arrow-up', look: 'icon', press: () => find(true) }).element,
  button({ label: say.next, icon: 'arrow-down', look: 'icon', press: () => find() }).element,
  button({ label: say.close, icon: 'close', look: 'icon', press: () => closeFind() }).element,
)
findBar.hidden = true
findBar.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') closeFind()
})
let findWish = -1
const finding = new Finding((request) => {
  if (saved.childId === null) return
  findWish = ++wishes
  vscode.postMessage({ type: 'find', wish: findWish, childId: saved.childId, ...request })
})
function find(back = false): void {
  const query = findField.value.trim()
  if (query !== '' && saved.childId !== null) finding.press(query, back)
}
/** How often the words are there stands beside them at once; where they are is a matter of Enter. */
function countHits(): void {
  const query = findField.value.trim()
  finding.startOver()
  findWish = ++wishes
  setText(findCount, '')
  if (query === '') return
  if (saved.childId !== null) vscode.postMessage({ type: 'count', wish: findWish, childId: saved.childId, query })
}
function closeFind(): void {
  findBar.hidden = true
  finding.startOver()
  mark(null)
  list.renew(list.mountedRows())
  list.element.focus()
}
document.addEventListener('keydown', (event) => {
  if (event.key !== 'f' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
  event.preventDefault()
  countHits()
  findBar.hidden = false
  findField.focus()
})

// ---- page ----

const gone = el('div', 'gone')
gone.hidden = true
const waiting = el('div', 'first', progressRing(say.loading))
const empty = el('div', 'empty', say.empty)
empty.hidden = true
const main = el('main', 'main', list.element, empty, tail, findBar)
const page = el('div', 'page', header.element, verification.element, main, steering.element)
page.hidden = true
document.getElementById('root')?.append(waiting, gone, page, spoken)

function showChild(childId: string, kept: boolean): void {
  if (saved.childId !== childId) {
    place = null
    save({ childId, kept, place: null })
  } else save({ kept })
  child = null
  steersById = new Map()
  cache.clear()
  unfolded.clear()
  list.clear()
  seenTo = 0
  finding.startOver()
  setText(findCount, '')
  if (!findBar.hidden) countHits()
  mark(null)
  show(page, false)
  show(gone, false)
  show(waiting, true)
  steering.reset()
  steering.draft = saved.drafts[childId] ?? ''
}

function update(message: ToWebview & { type: 'update' }): void {
  if (message.childId !== saved.childId) return
  const first = page.hidden
  if (message.child !== null) takeChild(message.child)
  show(page, true)
  show(waiting, false)
  show(gone, false)
  const touched = cache.put(message.entries)
  list.resize(message.total)
  if (first && place !== null) list.go(place.n, place.offset)
  list.renew(touched)
  show(empty, message.total === 0)
  for (const entry of message.entries)
    if (entry.kind === 'report' && !first) announce(`${reportTitle(entry)}. ${entry.text.text.slice(0, 200)}`)
  vscode.postMessage({ type: 'ack', seq: message.seq })
}

function takeChild(next: PanelChild): void {
  const former = child
  child = next
  header.render(next)
  steering.render(next)
  verification.render(next)
  const changed = new Set(
    next.steers
      .filter((steer) => {
        const before = steersById.get(steer.id)
        return before === undefined || before.state !== steer.state || before.text !== steer.text
      })
      .map((steer) => steer.id),
  )
  steersById = new Map(next.steers.map((steer) => [steer.id, steer]))
  list.renew(
    list.mountedRows().filter((n) => {
      const entry = cache.get(n)
      if (entry?.kind === 'steer' || entry?.kind === 'receipt') return changed.has(entry.steerId)
      return entry?.kind === 'toolStarted' && former?.live !== next.live
    }),
  )
  if (former !== null && former.phase !== next.phase) announce(`${next.title}: ${next.phase}`)
  else if (former !== null && changed.size > 0) {
    const moved = next.steers.filter((steer) => changed.has(steer.id)).at(-1)
    if (moved !== undefined) announce(`${say.steerReceipt} ${moved.state}: ${moved.words}`)
  }
}

window.addEventListener('message', (event: MessageEvent<ToWebview>) => {
  const message = event.data
  switch (message.type) {
    case 'show':
      return showChild(message.childId, message.kept)
    case 'update':
      return update(message)
    case 'page': {
      if (message.childId !== saved.childId) return
      cache.answered(message.from, 100)
      const touched = cache.put(message.entries)
      list.resize(Math.max(message.total, list.length))
      return list.renew(touched)
    }
    case 'outcome':
      open.get(message.wish)?.(message)
      open.delete(message.wish)
      return
    case 'mentioned':
      mentioned.get(message.wish)?.(message.paths)
      mentioned.delete(message.wish)
      return
    case 'counted':
      if (message.wish === findWish) setText(findCount, say.counted(message.count, message.over))
      return
    case 'found':
      if (message.wish !== findWish) return
      setText(findCount, say.found(message.place, message.count))
      if (message.at !== null) goTo(message.at)
      return finding.answered(message.at)
    case 'go':
      // Before the snapshot has come there is no row to go to yet.
      if (page.hidden) {
        mark(message.n)
        place = { n: message.n, offset: -40 }
        return
      }
      return goTo(message.n)
    case 'kept':
      return save({ kept: message.kept })
    case 'focusSteer':
      if (message.text !== null) steering.draft = message.text
      // The page may only just be coming up.
      return void requestAnimationFrame(() => steering.focus())
    case 'gone':
      setText(gone, message.words)
      show(gone, true)
      show(page, false)
      return show(waiting, false)
  }
})

setInterval(() => {
  if (document.visibilityState === 'visible' && child?.live === true) header.tick()
}, 1_000)

vscode.postMessage({ type: 'ready', childId: saved.childId })
