// The one file through which programs outside start our command line: a small script whose place never changes, rewritten
// by every owner, so that an updated or moved installation does not leave a dead path in somebody's configuration.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeWhole } from '../record/atomicWrite'

/** Writes the launcher into `folder` unless it is there already, and answers its path. Runs `cli` with the program `node`. */
export async function writeLauncher(folder: string, node: string, cli: string): Promise<string> {
  const path = join(folder, 'coxswain')
  const script = `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 exec ${quoted(node)} ${quoted(cli)} "$@"\n`
  const present = await readFile(path, 'utf8').catch(() => '')
  if (present !== script) await writeWhole(path, script, 0o700)
  return path
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
