// The settings of the command line: a file of the person's own beside the stores, and the agents named by --agents. No
// repository can set any of them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataFolder } from '../record/paths'
import { readTextSync } from '../record/readFile'
import { readSettings, settingNames, type Settings } from '../supervisor/settings'
import { UsageError } from './output'

/**
 * Settings as `settings.json` in the data folder and `agentsFile` say. Names may carry the prefix they have in VS Code
 * ("coxswain.maxChildrenTotal"). A file that is not there says nothing; one that cannot be used is refused, naming why.
 */
export function machineSettings(
  environment: Readonly<Record<string, string | undefined>>,
  agentsFile: string | undefined,
): Settings {
  const file = join(dataFolder(environment), 'settings.json')
  const written = plainNames(readObject('settings', file, true))
  const unknown = Object.keys(written).filter((name) => !settingNames.includes(name))
  if (unknown.length > 0)
    throw new UsageError(
      'invalid',
      `The settings file ${file}: there is no setting ${unknown.join(', ')}. Known: ${settingNames.join(', ')}.`,
    )
  const own = readSettings(written)
  if (own.problems.length > 0) throw new UsageError('invalid', `The settings file ${file}: ${own.problems.join(' ')}`)
  if (agentsFile === undefined) return own.settings
  const agents = readSettings({ agents: readJson('agents', agentsFile, false) })
  if (agents.problems.length > 0)
    throw new UsageError('invalid', `The agents file ${agentsFile}: ${agents.problems.join(' ')}`)
  return { ...own.settings, agents: { ...own.settings.agents, ...agents.settings.agents } }
}

function plainNames(written: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(written).map(([name, value]) => [name.replace(/^coxswain\./, ''), value]))
}

function readObject(what: string, file: string, mayBeAbsent: boolean): object {
  const value = readJson(what, file, mayBeAbsent)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new UsageError('invalid', `The ${what} file ${file} must hold one JSON object.`)
}

function readJson(what: string, file: string, mayBeAbsent: boolean): unknown {
  try {
    // An agents file may come through a pipe.
    return JSON.parse(mayBeAbsent ? readTextSync(file) : readFileSync(file, 'utf8'))
  } catch (error) {
    if (mayBeAbsent && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError('invalid', `The ${what} file ${file} cannot be used: ${why.replace(/\.$/, '')}.`)
  }
}
