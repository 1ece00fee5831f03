// Which files a person may mean by what they have typed behind an @. Pure.
import { plainLine } from '../../core/plainText'
import { MENTIONS_MAX } from '../../protocol/panel'

/**
 * Best first: by the file's name before its folders, by its beginning before its middle, short before long. A name that
 * cannot be shown as it is, is left out.
 */
export function meantFiles(paths: readonly string[], typed: string, atMost = MENTIONS_MAX): readonly string[] {
  const wanted = typed.toLowerCase()
  const rank = (path: string): number => {
    const whole = path.toLowerCase()
    const name = whole.slice(whole.lastIndexOf('/') + 1)
    if (name.startsWith(wanted)) return 0
    if (whole.startsWith(wanted)) return 1
    if (name.includes(wanted)) return 2
    return whole.includes(wanted) ? 3 : 4
  }
  return [...new Set(paths)]
    .filter((path) => plainLine(path, 4_096) === path)
    .map((path) => ({ path, rank: rank(path) }))
    .filter((each) => each.rank < 4)
    .sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
    .slice(0, atMost)
    .map(({ path }) => path)
}
