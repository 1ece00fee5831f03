// What stands beside a worktree in the list of all. Pure.
import { t } from './l10n'
import { sizeWords } from './words'

/** What git and the disk say of a child's worktree now. */
export interface Figures {
  room(childId: string): Promise<{ readonly bytes: number; readonly complete: boolean } | null>
  loss(childId: string): Promise<string | null>
}

/** Its size and what discarding it would lose. One that cannot be looked at says so, and holds up no other. */
export async function worktreeFigures(
  childId: string,
  figures: Figures,
  failed: (error: unknown) => void,
): Promise<string> {
  const size = async (): Promise<string | null> => {
    const room = await figures.room(childId)
    return room === null ? null : `${sizeWords(room.bytes)}${room.complete ? '' : '+'}`
  }
  const unseen = (words: string) => (error: unknown) => {
    failed(error)
    return words
  }
  const parts = [
    await size().catch(unseen(t('its size could not be found out'))),
    await figures.loss(childId).catch(unseen(t('it could not be found out what would be lost'))),
  ]
  return parts.filter((part) => part !== null).join(' · ')
}
