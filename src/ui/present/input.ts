// What may be typed as a goal or a steer, and the example of a directive that stands wherever one is typed.
import { GOAL_MAX, STEER_MAX } from '../../supervisor/commands'
import { t } from './l10n'

const count = (n: number): string => n.toLocaleString('en-US')

/** Why this goal cannot be dispatched, or null. */
export function refuseGoal(text: string): string | null {
  const trimmed = text.trim()
  if (trimmed === '') return t('Say what the child is to do.')
  if (trimmed.length > GOAL_MAX)
    return t('{n} characters; a goal may have {max}. Put the rest into a file of the repository and name it.', {
      n: count(trimmed.length),
      max: count(GOAL_MAX),
    })
  return null
}

/** Why this steer cannot be queued, or null. */
export function refuseSteer(text: string): string | null {
  const trimmed = text.trim()
  if (trimmed === '') return t('Say what it should do differently.')
  if (trimmed.length > STEER_MAX)
    return t('{n} characters; a steer may have {max}.', { n: count(trimmed.length), max: count(STEER_MAX) })
  return null
}

/** How much is left, once that begins to matter. */
export function roomLeft(text: string, max: number): string | null {
  const used = text.trim().length
  return used > max * 0.8 && used <= max ? t('{n} of {max} characters', { n: count(used), max: count(max) }) : null
}

/** A directive, not a vibe; both fit into an InputBox. */
export const steerExample = {
  good: 'Open lib/auth.py. Report only null-derefs.',
  bad: 'be more thorough',
}

export function steerPlaceholder(): string {
  return t('A directive: “{good}” Not: “{bad}”', steerExample)
}
