// The one file through which programs outside start our command line: a small script whose place never changes, rewritten
// by every owner, so that an updated or moved installation does not leave a dead path in somebody's configuration.
import { join } from 'node:path'
import { nodeCandidates, probeNode } from '../process/probeNode'
import { writeWhole } from '../record/atomicWrite'
import { dataFolder, makeFolder } from '../record/paths'
import { readText } from '../record/readFile'

/** Writes the launcher into `folder` unless it is there already, and answers its path. Runs `cli` with the program `node`. */
export async function writeLauncher(folder: string, node: string, cli: string): Promise<string> {
  const path = join(folder, 'coxswain')
  const script = `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 exec ${quoted(node)} ${quoted(cli)} "$@"\n`
  const present = await readText(path).catch(() => '')
  if (present !== script) await writeWhole(path, script, 0o700)
  return path
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Where other agents' configuration may point: outside every store and every version of the installation. */
export const userLauncherPath = (environment: Environment): string => join(dataFolder(environment), 'bin', 'coxswain')

/** Writes the launcher of this user, for the command line in `dist`; its path, or why no Node was found to run it. */
export async function writeUserLauncher(
  environment: Environment,
  dist: string,
  nodePath: string,
): Promise<string | { readonly message: string }> {
  const probe = await probeNode(nodePath === '' ? nodeCandidates(environment['PATH']) : [nodePath])
  if (probe.found === undefined)
    return {
      message: 'No Node of version 20 or newer was found to run Coxswain with. Install Node, or set coxswain.nodePath.',
    }
  const folder = join(dataFolder(environment), 'bin')
  makeFolder(folder)
  return await writeLauncher(folder, probe.found.path, join(dist, 'cli.js'))
}

type Environment = Readonly<Record<string, string | undefined>>
