// The foot of the panel: what the child asks, the steers that wait or were missed with their receipts, and the input.
// The input's text belongs to the person: it is cleared only when the host has said that it is on disk.
import type { FromWebview, PanelChild, PanelRequest, PanelSteer } from '../../src/protocol/panel'
import { button, textField } from './controls'
import { el, icon, setText, show, time } from './dom'
import { receipt } from './entries'
import { Mentions } from './mentions'
import { say } from './strings'

const MAX = 16_000

type Distribute<T> = T extends { wish: number; childId: string } ? Omit<T, 'wish' | 'childId'> : never
export type Wish = Distribute<FromWebview>

export interface SteeringActs {
  /** Resolves with the host's answer. */
  wish(wish: Wish): Promise<{ ok: boolean; words: string }>
  draftChanged(text: string): void
  /** Files of its worktree that may be meant by what is typed behind an @. */
  files(typed: string): Promise<readonly string[]>
  announce(words: string): void
}

export class Steering {
  readonly element: HTMLElement
  private readonly requests = el('div', 'requests')
  private readonly suggestion = el('div', 'missed suggestion')
  private readonly missedLine = el('div', 'missed')
  private readonly waiting = el('div', 'waiting')
  private readonly input = el('textarea', 'input')
  private readonly hint = el('span', 'hint')
  private readonly status = el('div', 'status')
  private readonly inputLine = el('div', 'input-line')
  private readonly send
  /** Whether a person has unfolded the earlier steers. */
  private allSteers = false
  private child: PanelChild | null = null
  private editing: string | null = null
  private shownRequests = ''
  private shownSteers = ''
  private shownSuggestion = ''
  /** Made once per text, so that a double press is one steer. */
  private pending: { text: string; id: string } | null = null
  private sending = false

  constructor(private readonly acts: SteeringActs) {
    this.send = button({
      label: say.steer,
      icon: 'send',
      look: 'primary',
      press: () => void this.submit(),
      refused: (why) => this.tell(why, true),
    })
    this.input.rows = 1
    this.input.title = say.steerExample
    this.input.setAttribute('aria-label', say.steerLabel)
    const mentions = new Mentions(
      this.input,
      (typed) => this.acts.files(typed),
      () => {
        this.count()
        this.acts.draftChanged(this.input.value)
      },
    )
    this.input.addEventListener('keydown', (event) => {
      if (mentions.key(event)) return event.preventDefault()
      // 229: a composing Enter in browsers that do not set isComposing on it.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
      event.preventDefault()
      void this.submit()
    })
    this.input.addEventListener('input', () => {
      this.count()
      this.acts.draftChanged(this.input.value)
    })
    this.inputLine.append(this.input, this.send.element)
    this.status.setAttribute('role', 'status')
    this.element = el(
      'section',
      'steering',
      this.requests,
      this.suggestion,
      this.missedLine,
      this.waiting,
      mentions.element,
      this.inputLine,
      el('div', 'input-foot', this.hint, this.status),
    )
    this.element.setAttribute('aria-label', say.steering)
  }

  get draft(): string {
    return this.input.value
  }

  set draft(text: string) {
    this.input.value = text
    this.pending = null
    this.count()
  }

  focus(): void {
    this.input.focus()
    this.input.setSelectionRange(this.input.value.length, this.input.value.length)
  }

  tell(words: string, bad: boolean): void {
    this.status.classList.toggle('bad', bad)
    setText(this.status, words)
  }

  reset(): void {
    this.child = null
    this.editing = null
    this.allSteers = false
    this.shownRequests = ''
    this.shownSteers = ''
    this.requests.replaceChildren()
    this.waiting.replaceChildren()
    show(this.missedLine, false)
    this.renderSuggestion(null)
    this.tell('', false)
  }

  render(child: PanelChild): void {
    this.child = child
    const steering = child.can.steer
    const resuming = child.can.resume
    show(this.inputLine, !child.discarded)
    this.element.classList.toggle('asked', child.requests.length > 0)
    if (steering.able) {
      this.send.label(say.steer)
      this.send.refuse(null)
      this.input.placeholder = child.requests.length > 0 ? say.askedPlaceholder : say.placeholder
      setText(this.hint, `${say.steerHint} · ${child.steering}`)
    } else if (resuming.able) {
      this.send.label(say.resumeWith)
      this.send.refuse(null)
      this.input.placeholder = say.resumePlaceholder
      setText(this.hint, say.steerHint)
    } else {
      this.send.label(say.steer)
      this.send.refuse(steering.why)
      this.input.placeholder = say.placeholder
      setText(this.hint, say.cannotSend(steering.why))
    }
    this.renderRequests(child.requests)
    this.renderSuggestion(child.suggestion)
    this.renderMissed(child)
    this.renderSteers(child)
  }

  private async submit(): Promise<void> {
    const child = this.child
    if (child === null || this.sending) return
    const text = this.input.value
    if (text.trim().length > MAX) return this.tell(say.tooLong(text.trim().length, MAX), true)
    const steers = child.can.steer.able
    if (!steers && !child.can.resume.able) return this.tell(say.cannotSend(child.can.steer.why), true)
    if (steers && text.trim() === '') return this.input.focus()
    if (this.pending?.text !== text) this.pending = { text, id: crypto.randomUUID() }
    this.sending = true
    this.tell(say.sending, false)
    const outcome = await this.acts.wish(
      steers
        ? { type: 'steer', steerId: this.pending.id, text }
        : { type: 'resume', text: text.trim() === '' ? null : text },
    )
    this.sending = false
    this.tell(outcome.words, !outcome.ok)
    if (!outcome.ok || this.input.value !== text) return
    this.draft = ''
    this.acts.draftChanged('')
  }

  private async act(wish: Wish): Promise<boolean> {
    const outcome = await this.acts.wish(wish)
    this.tell(outcome.words, !outcome.ok)
    return outcome.ok
  }

  private count(): void {
    const used = this.input.value.trim().length
    if (used > MAX) this.tell(say.tooLong(used, MAX), true)
    else this.tell(used > MAX * 0.8 ? say.room(used, MAX) : '', false)
  }

  private renderSuggestion(suggestion: PanelChild['suggestion']): void {
    const asText = JSON.stringify(suggestion)
    // A button that a person has their finger on stays where it is.
    if (asText === this.shownSuggestion) return
    this.shownSuggestion = asText
    show(this.suggestion, suggestion !== null)
    if (suggestion === null) return
    const { action, reason, message } = suggestion
    const question = action === 'stop' ? say.suggestsStop : say.suggestsSteer
    const words = el('span', 'missed-words', el('strong', '', question), ` ${reason}`)
    if (message !== null) words.append(el('div', 'quiet', message))
    this.suggestion.replaceChildren(
      icon('lightbulb'),
      words,
      button({
        label: action === 'stop' ? say.doStop : say.doSteer,
        icon: action === 'stop' ? 'stop-circle' : 'megaphone',
        press: () => void this.act({ type: 'applySuggestion', reason }),
      }).element,
      button({ label: say.dismiss, press: () => void this.act({ type: 'dismissSuggestion', reason }) }).element,
    )
    this.acts.announce(`${question} ${reason}`)
  }

  private renderMissed(child: PanelChild): void {
    show(this.missedLine, child.missed > 0)
    if (child.missed === 0) return
    const go = button({
      label: say.resumeWithIt(child.missed),
      icon: 'debug-continue',
      press: () => void this.act({ type: 'resume', text: null }),
    })
    const dismiss = button({ label: say.dismiss, press: () => void this.act({ type: 'dismissMissed' }) })
    this.missedLine.replaceChildren(
      icon('warning'),
      el('span', 'missed-words', say.missed(child.missed)),
      ...(child.can.resume.able ? [go.element] : []),
      dismiss.element,
    )
  }

  private renderSteers({ steers: all, live }: PanelChild): void {
    // What still moves or went wrong, and while it runs the newest one, so that its "confirmed" is seen where it was typed.
    const last = live ? all[all.length - 1] : undefined
    // Two at most by default: the transcript tells of all of them.
    const over = (steer: PanelSteer): boolean =>
      steer.state === 'confirmed' || steer.state === 'withdrawn' || (steer.state === 'delivered' && !live)
    const kept = all.filter((steer) => !over(steer) || steer.id === last?.id)
    const shown = this.allSteers ? kept.slice(-40) : kept.slice(-2)
    const earlier = kept.length - shown.length
    const asText = JSON.stringify([shown, earlier])
    if (asText === this.shownSteers || this.editing !== null) return
    this.shownSteers = asText
    const queued = kept.filter((steer) => steer.waiting)
    const more = el('button', 'link', say.earlierSteers(earlier))
    more.type = 'button'
    more.addEventListener('click', () => {
      this.allSteers = true
      if (this.child !== null) this.renderSteers(this.child)
    })
    this.waiting.replaceChildren(
      ...(earlier > 0 && !this.allSteers ? [more] : []),
      ...shown.map((steer) => this.steerLine(steer, queued)),
    )
  }

  private steerLine(steer: PanelSteer, queued: readonly PanelSteer[]): HTMLElement {
    const text = el('div', 'steer-text', steer.text)
    text.title = steer.text
    const row = el('div', 'steer-line', text, receipt(steer))
    if (!steer.waiting) return row
    const controls = el('div', 'steer-controls')
    const earlier = queued.findIndex((each) => each.id === steer.id)
    if (earlier > 0)
      controls.append(
        button({
          label: say.earlier,
          icon: 'arrow-up',
          look: 'icon',
          press: () => {
            const order = queued.map((each) => each.id)
            order.splice(earlier - 1, 0, ...order.splice(earlier, 1))
            void this.act({ type: 'reorderSteers', order })
          },
        }).element,
      )
    controls.append(
      button({ label: say.edit, icon: 'edit', look: 'icon', press: () => this.edit(row, steer) }).element,
      button({
        label: say.withdraw,
        icon: 'trash',
        look: 'icon',
        press: () => void this.act({ type: 'withdrawSteer', steerId: steer.id }),
      }).element,
    )
    row.append(controls)
    return row
  }

  private edit(row: HTMLElement, steer: PanelSteer): void {
    this.editing = steer.id
    const input = el('textarea', 'input')
    input.value = steer.text
    input.rows = 3
    input.setAttribute('aria-label', say.edit)
    const close = (): void => {
      this.editing = null
      this.shownSteers = ''
      if (this.child !== null) this.renderSteers(this.child)
      this.input.focus()
    }
    const save = async (): Promise<void> => {
      if (await this.act({ type: 'editSteer', steerId: steer.id, text: input.value })) close()
    }
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') close()
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      void save()
    })
    row.replaceChildren(
      input,
      el(
        'div',
        'steer-controls',
        button({ label: say.save, look: 'primary', press: () => void save() }).element,
        button({ label: say.cancel, press: close }).element,
      ),
    )
    input.focus()
  }

  private renderRequests(requests: readonly PanelRequest[]): void {
    const asText = JSON.stringify(requests)
    // Redrawing would throw away what a person is typing as an answer.
    if (asText === this.shownRequests) return
    const known = new Set((JSON.parse(this.shownRequests || '[]') as PanelRequest[]).map((request) => request.id))
    this.shownRequests = asText
    this.requests.replaceChildren(...requests.map((request) => this.requestCard(request)))
    const fresh = requests.find((request) => !known.has(request.id))
    if (fresh !== undefined)
      this.acts.announce(
        fresh.ask.kind === 'question' ? `${say.question}: ${fresh.ask.question}` : `${say.approval} ${fresh.ask.tool}`,
      )
  }

  private requestCard({ id, ask, askedAt }: PanelRequest): HTMLElement {
    const answer = (answer: Extract<FromWebview, { type: 'answer' }>['answer']): void =>
      void this.act({ type: 'answer', requestId: id, answer })
    if (ask.kind === 'question') {
      const field = textField({
        label: say.yourAnswer,
        placeholder: say.yourAnswer,
        enter: (text) => {
          if (text.trim() !== '') answer({ kind: 'text', text })
        },
      })
      return el(
        'div',
        'request',
        el(
          'div',
          'question',
          icon('question'),
          el('div', 'prose', el('strong', '', `${say.question}: `), ask.question),
          time(askedAt),
        ),
        el(
          'div',
          'request-controls',
          ...ask.options.map(
            (option) => button({ label: option, press: () => answer({ kind: 'text', text: option }) }).element,
          ),
          field.element,
          button({
            label: say.answer,
            look: 'primary',
            press: () => {
              if (field.value.trim() !== '') answer({ kind: 'text', text: field.value })
              else field.focus()
            },
          }).element,
        ),
      )
    }
    const why = textField({
      label: say.denyWith,
      placeholder: say.denyWith,
      enter: (message) => answer({ kind: 'deny', message }),
    })
    return el(
      'div',
      'request',
      el('div', 'card-title', icon('shield'), `${say.approval} ${ask.tool}`, time(askedAt)),
      ask.detail === null ? null : el('div', 'prose', ask.detail),
      el('pre', 'code', ask.input.text),
      ask.folder === null ? null : el('div', 'quiet', `${say.inFolder} ${ask.folder}`),
      el(
        'div',
        'request-controls',
        button({ label: say.allowOnce, look: 'primary', press: () => answer({ kind: 'allow', scope: 'once' }) })
          .element,
        button({
          label: say.allowChild,
          title: say.covers(ask.covers),
          press: () => answer({ kind: 'allow', scope: 'child' }),
        }).element,
        why.element,
        button({ label: say.deny, press: () => answer({ kind: 'deny', message: why.value }) }).element,
      ),
    )
  }
}
