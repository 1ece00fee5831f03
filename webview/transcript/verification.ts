// The verdict beside the claim: every check with its result, what the report says of it and what was found, and what a
// person can do about it. Absent while nothing was checked.
import { exactDuration } from '../../src/protocol/duration'
import type { PanelChild } from '../../src/protocol/panel'
import { button, type ButtonControl } from './controls'
import { el, icon, show } from './dom'
import { say } from './strings'

type Verdict = NonNullable<PanelChild['verdict']>
type Check = Verdict['checks'][number]

export interface VerificationActs {
  readonly open: (check: number, what: 'file' | 'finding') => void
  readonly verify: () => void
  readonly retry: () => void
  readonly acceptPartial: () => void
  readonly takeOver: () => void
  /** Told the reason when a refused button is pressed. */
  readonly refused: (why: string) => void
}

const signs = { PASS: 'pass', FAIL: 'error', UNKNOWN: 'question' } as const
/** Longer evidence opens in an editor instead of pushing the transcript away. */
const shownEvidence = 600

export class Verification {
  private readonly fold = el('details', '')
  readonly element = el('section', 'verification', this.fold)
  private readonly buttons: Record<'verify' | 'retry' | 'acceptPartial' | 'takeOver', ButtonControl>
  private shown = ''

  constructor(private readonly acts: VerificationActs) {
    const refused = (why: string): void => acts.refused(why)
    this.buttons = {
      retry: button({ label: say.retry, icon: 'refresh', look: 'primary', press: acts.retry, refused }),
      acceptPartial: button({ label: say.acceptPartial, icon: 'check', press: acts.acceptPartial, refused }),
      takeOver: button({
        label: say.takeOver,
        icon: 'terminal',
        title: say.takeOverHint,
        press: acts.takeOver,
        refused,
      }),
      verify: button({ label: say.verify, icon: 'beaker', press: acts.verify, refused }),
    }
    this.element.setAttribute('aria-label', say.checks)
    this.element.hidden = true
  }

  render({ childId, verdict, can, live, discarded }: PanelChild): void {
    show(this.element, verdict !== null)
    const asText = JSON.stringify([childId, verdict, can.retry, can.acceptPartial, can.verify, live, discarded])
    if (verdict === null || asText === this.shown) return
    this.shown = asText
    // A person's own folding counts until another verdict is on show.
    const isNew = this.element.dataset['verdict'] !== keyOf(childId, verdict)
    this.element.dataset['verdict'] = keyOf(childId, verdict)
    const { verify, retry, acceptPartial, takeOver } = this.buttons
    for (const [control, able] of [
      [verify, can.verify],
      [retry, can.retry],
      [acceptPartial, can.acceptPartial],
    ] as const)
      control.refuse(able.able ? null : able.why)
    const open = verdict.open && !live
    show(retry.element, open)
    show(acceptPartial.element, open && can.acceptPartial.able)
    show(takeOver.element, open && !discarded)
    show(verify.element, verdict.stale !== null && !live && !discarded)
    const bar = el('div', 'choices', retry.element, acceptPartial.element, takeOver.element, verify.element)
    this.fold.replaceChildren(
      el(
        'summary',
        '',
        verdict.status === 'verified' ? icon('verified-filled', 'testing.iconPassed') : icon('beaker'),
        el('strong', '', `${say.checks}: ${verdict.words}`),
        el('span', 'quiet', say.verdictOf(verdict.attempt)),
        verdict.stale === null ? null : el('span', 'stale', icon('history'), ' ', say.verdictStale(verdict.stale)),
      ),
      el(
        'div',
        '',
        verdict.then === null ? null : el('div', 'disposition', verdict.then),
        bar,
        el('ul', 'checks', ...openFirst(verdict.checks).map(([check, index]) => this.row(check, index))),
        verdict.more === 0 ? null : el('div', 'quiet', say.moreChecks(verdict.more)),
        verdict.notes.length === 0
          ? null
          : el('ul', 'verdict-notes', ...verdict.notes.map((note) => el('li', '', note))),
        verdict.earlier.length === 0
          ? null
          : el(
              'ol',
              'verdict-earlier',
              ...verdict.earlier.map(({ attempt, words }) => el('li', '', `${say.earlierVerdict(attempt)}: ${words}`)),
            ),
      ),
    )
    show(bar, open || verdict.stale !== null)
    if (isNew) this.fold.open = verdict.open || verdict.stale !== null
  }

  /** What passed takes one line; what did not shows the claim beside the finding, and the end of what was captured. */
  private row(check: Check, index: number): HTMLElement {
    const { evidence, place, claim } = check
    const passed = check.result === 'PASS'
    const found = evidence === null ? null : this.link(say.openFinding, () => this.acts.open(index, 'finding'))
    return el(
      'li',
      `check check-${check.result}`,
      el(
        'div',
        'check-line',
        icon(signs[check.result]),
        el('span', 'check-result', check.result),
        el('span', 'check-name', check.name),
        place === null ? null : this.link(placeWords(place, check.name), () => this.acts.open(index, 'file')),
        passed ? found : null,
        check.ms < 100 ? null : el('span', 'quiet check-ms', exactDuration(check.ms)),
      ),
      passed
        ? null
        : el(
            'dl',
            'check-facts',
            ...(claim === null ? [] : [el('dt', '', say.says), el('dd', 'check-claim', claim)]),
            el('dt', '', say.foundIs),
            el('dd', 'check-reason', check.reason),
          ),
      evidence === null || passed ? null : evidencePart(lastLines(evidence)),
      passed ? null : found,
    )
  }

  private link(words: string, press: () => void): HTMLElement {
    const link = el('button', 'link', words)
    link.type = 'button'
    link.addEventListener('click', press)
    return link
  }
}

function evidencePart(text: string): HTMLElement {
  const part = el('pre', 'code', text)
  part.tabIndex = 0
  part.setAttribute('aria-label', say.evidence)
  return part
}

/** A place that the check's own name gives already is not said twice. */
function placeWords(place: string, name: string): string {
  return name.includes(place) ? say.openFile : place
}

/** What a person has to look at comes first; each with its place in the verdict. */
function openFirst(checks: readonly Check[]): (readonly [Check, number])[] {
  const all = checks.map((check, index) => [check, index] as const)
  return [...all.filter(([{ result }]) => result !== 'PASS'), ...all.filter(([{ result }]) => result === 'PASS')]
}

/** The end of a long text, from a line's beginning: where a program says what went wrong. */
function lastLines(text: string): string {
  if (text.length <= shownEvidence) return text
  const tail = text.slice(-shownEvidence)
  return `…\n${tail.slice(tail.indexOf('\n') + 1)}`
}

const keyOf = (childId: string, { attempt, status, earlier }: Verdict): string =>
  `${childId} ${attempt} ${status} ${earlier.length}`
