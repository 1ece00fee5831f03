// The head of the panel: what the child is, how it stands, and the four buttons, enabled by truth.
import { shortDuration } from '../../src/protocol/duration'
import type { PanelChild } from '../../src/protocol/panel'
import { button, type ButtonControl } from './controls'
import { el, icon, setText, show } from './dom'
import { say } from './strings'

export interface HeaderActs {
  readonly steer: () => void
  readonly pause: () => void
  readonly resume: () => void
  readonly stop: () => void
  readonly refused: (why: string) => void
}

export class Header {
  readonly element: HTMLElement
  private readonly title = el('h1', 'title')
  private readonly phase = el('span', 'phase')
  private readonly elapsed = el('span', 'fact')
  private readonly facts = el('div', 'facts')
  private readonly activity = el('div', 'activity')
  private readonly need = el('div', 'need')
  private readonly goal = el('div', 'goal-text')
  private readonly goalFold: HTMLDetailsElement
  private readonly buttons: Record<keyof PanelChild['can'], ButtonControl>
  private child: PanelChild | null = null

  constructor(acts: HeaderActs) {
    const refused = (why: string): void => acts.refused(why)
    this.buttons = {
      steer: button({ label: say.steer, icon: 'megaphone', look: 'primary', press: acts.steer, refused }),
      pause: button({ label: say.pause, icon: 'debug-pause', press: acts.pause, refused }),
      resume: button({ label: say.resume, icon: 'debug-continue', press: acts.resume, refused }),
      stop: button({ label: say.stop, icon: 'debug-stop', press: acts.stop, refused }),
    }
    this.goalFold = el('details', 'goal', el('summary', '', say.goal), this.goal)
    const { steer, pause, resume, stop } = this.buttons
    const bar = el('div', 'buttons', steer.element, pause.element, resume.element, stop.element)
    bar.setAttribute('role', 'toolbar')
    this.element = el(
      'header',
      'header',
      this.title,
      el('div', 'state-line', this.phase, this.activity),
      this.facts,
      this.need,
      bar,
      this.goalFold,
    )
  }

  render(child: PanelChild): void {
    const former = this.child
    this.child = child
    setText(this.title, child.title)
    if (former?.phase !== child.phase || former.icon.id !== child.icon.id)
      this.phase.replaceChildren(icon(child.icon.id, child.icon.color), el('strong', '', child.phase))
    const busy = child.live && child.requests.length === 0 && child.activity !== child.phase
    setText(this.activity, busy && child.activity !== null ? child.activity : '')
    const steering = fact(child.accepting ? 'megaphone' : 'mute', child.steeringBrief)
    steering.title = child.steering
    this.facts.replaceChildren(
      ...[
        fact('hubot', child.agent),
        child.model === null ? null : fact('chip', child.model),
        child.branch === null ? null : fact('git-branch', child.branch),
        this.elapsed,
        child.tokens === null ? null : fact('symbol-numeric', child.tokens),
        child.cost === null ? null : fact('credit-card', child.cost),
        child.live ? steering : null,
      ].filter((part) => part !== null),
    )
    this.tick()
    // What it asks stands in full below, with the answers.
    const need = child.requests.length > 0 ? null : child.need
    const words = [need, child.reason === need ? null : child.reason].filter((part) => part !== null)
    setText(this.need, words.join(' · '))
    show(this.need, words.length > 0)
    setText(this.goal, child.goal)
    // What can be done is in view; what cannot is there with its reason, but not twice: one of Pause and Resume is enough.
    const { can } = child
    for (const key of ['steer', 'pause', 'resume', 'stop'] as const) {
      const able = can[key]
      this.buttons[key].refuse(able.able ? null : able.why)
    }
    show(this.buttons.pause.element, child.live || !can.resume.able)
    show(this.buttons.resume.element, !child.live)
  }

  /** Once a second while the panel is in view and the child runs. */
  tick(): void {
    const child = this.child
    if (child === null) return
    const end = child.endedAt === null ? Date.now() : Date.parse(child.endedAt)
    const words = shortDuration(end - Date.parse(child.startedAt))
    if (this.elapsed.dataset['words'] === words) return
    this.elapsed.dataset['words'] = words
    this.elapsed.replaceChildren(icon('watch'), words)
  }
}

function fact(sign: string, words: string): HTMLElement {
  const element = el('span', 'fact', icon(sign), words)
  element.title = words
  return element
}
