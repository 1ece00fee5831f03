// Looks, before anything is started, whether folder and program are there, so that a missing folder is never reported
// as a missing program.
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, resolve } from 'node:path'
import { LaunchError } from './launch'

const defaultPath = '/usr/local/bin:/usr/bin:/bin'

/**
 * The path of the program that `file` names, found as the shell would: with a slash from `cwd`, else along `path`.
 * Rejects with a LaunchError of kind cwdMissing, programMissing or notExecutable.
 */
export async function checkProgram(file: string, cwd: string, path: string | undefined): Promise<string> {
  const folder = await stat(cwd).catch(() => undefined)
  if (folder?.isDirectory() !== true)
    throw new LaunchError(
      'cwdMissing',
      `The agent's working folder ${cwd} ${folder === undefined ? 'does not exist' : 'is not a folder'}. ` +
        'It may have been deleted since it was made; make it anew or start a new child.',
    )
  const named = file.includes('/')
  const places = named
    ? [isAbsolute(file) ? file : resolve(cwd, file)]
    : (path ?? defaultPath).split(delimiter).map((entry) => resolve(cwd, entry === '' ? '.' : entry, file))
  let notExecutable: string | undefined
  for (const place of places) {
    const found = await stat(place).catch(() => undefined)
    if (found?.isFile() !== true) continue
    if (
      await access(place, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return place
    notExecutable ??= place
  }
  if (notExecutable !== undefined)
    throw new LaunchError('notExecutable', `${notExecutable} may not be executed. Check its permissions (chmod +x).`)
  throw new LaunchError(
    'programMissing',
    named
      ? `The program ${places.join('')} does not exist. Check the agent's executable in the settings.`
      : `The program ${file} is in none of the folders of PATH (${path ?? defaultPath}). ` +
          "Install it, or set the agent's executable to its full path.",
  )
}
