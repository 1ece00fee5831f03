// The head of the panel: what the child is, how it stands, and its buttons, enabled by truth. Two lines, so that the
// transcript keeps its room; the goal unfolds under the title.
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
  readonly review: () => void
  readonly verify: () => void
  readonly apply: () => void
  readonly takeOver: () => void
  readonly handBack: () => void
  readonly adopt: () => void
  readonly revoke: (requestId: string) => void
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
  private readonly parent = el('div', 'parent')
  private readonly permissions = el('div', 'permissions')
  private readonly goalFold: HTMLDetailsElement
  private readonly buttons: Record<Exclude<keyof PanelChild['can'], 'retry' | 'acceptPartial'>, ButtonControl>
  private readonly handBack: ButtonControl
  private readonly adopt: ButtonControl
  private child: PanelChild | null = null

  constructor(private readonly acts: HeaderActs) {
    const refused = (why: string): void => acts.refused(why)
    this.buttons = {
      steer: button({ label: say.steer, icon: 'megaphone', look: 'primary', press: acts.steer, refused }),
      pause: button({ label: say.pause, icon: 'debug-pause', press: acts.pause, refused }),
      resume: button({ label: say.resume, icon: 'debug-continue', press: acts.resume, refused }),
      stop: button({ label: say.stop, icon: 'stop-circle', press: acts.stop, refused }),
      review: button({ label: say.review, icon: 'diff-multiple', press: acts.review, refused }),
      verify: button({ label: say.verify, icon: 'beaker', press: acts.verify, refused }),
      apply: button({ label: say.apply, icon: 'git-merge', press: acts.apply, refused }),
      takeOver: button({ label: say.takeOverInTerminal, icon: 'terminal', press: acts.takeOver, refused }),
    }
    this.handBack = button({ label: say.handBack, icon: 'reply', look: 'primary', press: acts.handBack })
    this.adopt = button({ label: say.adopt, icon: 'person-add', press: acts.adopt })
    const fold = el('summary', '', this.title)
    fold.title = say.goal
    this.goalFold = el('details', 'goal', fold, this.goal, this.parent, this.permissions)
    const { steer, pause, resume, stop, review, verify, apply, takeOver } = this.buttons
    const bar = el(
      'div',
      'buttons',
      steer.element,
      pause.element,
      resume.element,
      stop.element,
      review.element,
      verify.element,
      apply.element,
      takeOver.element,
      this.handBack.element,
      this.adopt.element,
    )
    bar.setAttribute('role', 'toolbar')
    this.element = el(
      'header',
      'header',
      el('div', 'title-line', this.goalFold, bar),
      el('div', 'state-line', this.phase, this.facts),
      this.activity,
      this.need,
    )
  }

  render(child: PanelChild): void {
    const former = this.child
    this.child = child
    setText(this.title, child.title)
    this.title.title = child.title
    if (former?.phase !== child.phase || former.icon.id !== child.icon.id)
      this.phase.replaceChildren(icon(child.icon.id, child.icon.color), el('strong', '', child.phase))
    const busy = child.live && child.requests.length === 0 && child.activity !== child.phase
    setText(this.activity, busy && child.activity !== null ? child.activity : '')
    show(this.activity, busy && child.activity !== null)
    const steering = fact(child.accepting ? 'megaphone' : 'mute', child.steeringBrief)
    steering.title = child.steering
    this.facts.replaceChildren(
      ...[
        this.elapsed,
        child.live ? steering : null,
        child.parentAway ? fact('person', say.parentAway, child.parent) : null,
        child.permissions.length === 0 ? null : this.permitted(child.permissions),
        fact('hubot', child.agent),
        child.model === null ? null : fact('chip', child.model),
        child.branch === null ? null : fact('git-branch', child.branch),
        child.tokens === null ? null : fact('symbol-numeric', child.tokens),
        child.cost === null ? null : fact('credit-card', child.cost),
      ].filter((part) => part !== null),
    )
    this.tick()
    // What it asks stands in full below, with the answers.
    const need = child.requests.length > 0 ? null : child.need
    const words = [need, child.reason === need ? null : child.reason].filter((part) => part !== null)
    setText(this.need, words.join(' · '))
    show(this.need, words.length > 0)
    setText(this.goal, child.goal)
    setText(this.parent, say.parent(child.parent))
    if (JSON.stringify(former?.permissions) !== JSON.stringify(child.permissions))
      this.permissions.replaceChildren(...child.permissions.map((permission) => this.permission(permission)))
    // What can be done is in view; what cannot is there with its reason, but not twice: one of Pause and Resume is enough.
    const { can } = child
    for (const key of ['steer', 'pause', 'resume', 'stop', 'review', 'verify', 'apply', 'takeOver'] as const) {
      const able = can[key]
      this.buttons[key].refuse(able.able ? null : able.why)
    }
    const { steer, pause, resume, stop, review, verify, apply, takeOver } = this.buttons
    show(steer.element, !child.discarded)
    show(pause.element, child.live)
    show(resume.element, !child.live && !child.discarded && !child.takenOver)
    show(stop.element, child.live || can.stop.able)
    show(review.element, can.review.able)
    show(verify.element, !child.live && !child.discarded && child.hasContract)
    show(apply.element, child.done && can.apply.able)
    show(takeOver.element, can.takeOver.able && !child.takenOver)
    show(this.handBack.element, child.takenOver)
    show(this.adopt.element, child.parentAway)
  }

  private permitted(permissions: PanelChild['permissions']): HTMLElement {
    const words = permissions.map((permission) => say.mayDo(permission.words)).join('\n')
    return fact('shield', say.permissions(permissions.length), words)
  }

  private permission({ id, words, revoke }: PanelChild['permissions'][number]): HTMLElement {
    const control = button({
      label: say.revoke,
      press: () => this.acts.revoke(id),
      refused: (why) => this.acts.refused(why),
    })
    control.refuse(revoke.able ? null : revoke.why)
    return el('div', 'permission', el('span', '', say.mayDo(words)), control.element)
  }

  /** Once a second while the panel is in view and the child runs. */
  tick(): void {
    const child = this.child
    if (child === null) return
    const now = child.runningSince === null ? 0 : Math.max(0, Date.now() - Date.parse(child.runningSince))
    const words = shortDuration(child.ranMs + now)
    if (this.elapsed.dataset['words'] === words) return
    this.elapsed.dataset['words'] = words
    this.elapsed.replaceChildren(icon('watch'), words)
  }
}

function fact(sign: string, words: string, all = words): HTMLElement {
  const element = el('span', 'fact', icon(sign), words)
  element.title = all
  return element
}
