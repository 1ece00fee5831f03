// The verdict beside the claim: every check with its result and evidence. Absent while nothing was checked.
import { exactDuration } from '../../src/protocol/duration'
import type { PanelChild } from '../../src/protocol/panel'
import { el, icon, show } from './dom'
import { say } from './strings'

const signs = { PASS: 'pass', FAIL: 'error', UNKNOWN: 'question' } as const

export class Verification {
  readonly element = el('details', 'verification')
  private shown = ''

  constructor() {
    this.element.hidden = true
  }

  render(verdict: PanelChild['verdict']): void {
    show(this.element, verdict !== null)
    const asText = JSON.stringify(verdict)
    if (verdict === null || asText === this.shown) return
    const first = this.shown === ''
    this.shown = asText
    this.element.replaceChildren(
      el(
        'summary',
        '',
        icon('beaker'),
        el('strong', '', `${say.checks}: ${verdict.words}`),
        el('span', 'quiet', verdict.stale ? say.verdictStale : say.verdictOf(verdict.attempt)),
      ),
      el(
        'ul',
        'checks',
        ...verdict.checks.map((check) =>
          el(
            'li',
            `check check-${check.result}`,
            icon(signs[check.result]),
            el('span', 'check-result', check.result),
            el('span', 'check-name', check.name),
            el('span', 'check-reason', check.reason),
            el('span', 'quiet', exactDuration(check.ms)),
            check.evidence === null ? null : el('pre', 'code', check.evidence),
          ),
        ),
        ...verdict.notes.map((note) => el('li', 'quiet', note)),
      ),
    )
    if (first) this.element.open = verdict.checks.some((check) => check.result !== 'PASS')
  }
}
