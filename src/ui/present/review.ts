// What changed, in a few words. Pure.
import type { ChangedFile } from '../../git/review'
import { t } from './l10n'

export function changeSummary(files: readonly ChangedFile[]): string {
  const insertions = files.reduce((sum, file) => sum + (file.insertions ?? 0), 0)
  const deletions = files.reduce((sum, file) => sum + (file.deletions ?? 0), 0)
  const count = files.length === 1 ? t('1 file') : t('{n} files', { n: files.length })
  return t('{files}, +{insertions} −{deletions}', { files: count, insertions, deletions })
}

/** "3 files +40 −2", for a row; null when nothing changed. */
export function statWords(stat: { files: number; insertions: number; deletions: number }): string | null {
  if (stat.files === 0) return null
  const files = stat.files === 1 ? t('1 file') : t('{n} files', { n: stat.files })
  return `${files} +${stat.insertions} −${stat.deletions}`
}
