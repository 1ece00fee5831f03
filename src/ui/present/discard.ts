// Discarding what would lose something: only what a person has read is lost. Pure.
import type { Outcome } from '../acts'

/**
 * Discards; where something would be lost, asks with its names and gives back exactly these, so that what has come to be
 * since is asked about anew. Any other refusal is the outcome: there is nothing to confirm in it.
 */
export async function confirmedDiscard(
  discard: (confirmed?: string) => Promise<Outcome>,
  lose: (words: string) => Promise<boolean>,
): Promise<Outcome> {
  let outcome = await discard()
  while (!outcome.ok && outcome.confirm !== undefined) {
    if (!(await lose(outcome.words))) return { ok: false, words: '' }
    outcome = await discard(outcome.confirm)
  }
  return outcome
}
