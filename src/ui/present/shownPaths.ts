// The same file under two names: as the window shows it, where a folder may have been opened through a link, and as it
// lies on disk. Pure.
import * as path from 'node:path'

/** A folder of the window. */
export interface ShownFolder {
  readonly shown: string
  readonly real: string
}

/** A real path relative to `top`, with `/`; null when it does not lie below. */
export function placeBelow(top: string, file: string): string | null {
  const relative = path.relative(top, file)
  if (relative === '' || relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative))
    return null
  return relative.split(path.sep).join('/')
}

/** Where a file that the window shows lies below `top`; null when it does not. */
export function placeOf(top: string, folders: readonly ShownFolder[], file: string): string | null {
  for (const { shown, real } of folders) {
    const inFolder = placeBelow(shown, file)
    if (inFolder !== null) return placeBelow(top, path.join(real, inFolder))
  }
  return placeBelow(top, file)
}

/** Every path under which the window may show the file at this place: its own, and one through each folder that is a link. */
export function shownAt(top: string, folders: readonly ShownFolder[], place: string): readonly string[] {
  const file = path.join(top, place)
  const through = folders.flatMap(({ shown, real }) => {
    const inFolder = shown === real ? null : placeBelow(real, file)
    return inFolder === null ? [] : [path.join(shown, inFolder)]
  })
  return [file, ...through]
}
