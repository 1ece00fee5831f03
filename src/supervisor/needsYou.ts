// A person's own program that is run when a child starts to need them, e.g. a desktop notification. Argv without a shell;
// what the child is and needs passes by the environment, where no word of an agent can become an argument.
import { isAbsolute } from 'node:path'
import { baseEnvironmentNames, pickEnvironment } from '../process/environment'
import { askProgram, findProgram } from '../process/runProgram'

/** A person's program may take this long, then it is ended. */
const patienceMs = 30_000

/** What a desktop needs to be reached, beside the usual. */
const desktopNames = ['DISPLAY', 'WAYLAND_DISPLAY', 'DBUS_SESSION_BUS_ADDRESS', 'XAUTHORITY'] as const

export interface Need {
  readonly childId: string
  readonly title: string
  /** One line, e.g. `wants to use Bash`. */
  readonly needs: string
}

/** Runs the program. Resolves to null when it was run, else to why not, in a sentence. Never rejects. */
export async function runNeedsYouCommand(
  argv: readonly string[],
  need: Need,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const [name = '', ...args] = argv
  const found = await findProgram([name], environment['PATH'])
  if (name === '' || found.path === undefined)
    return `${name === '' ? 'An empty program' : name} cannot be run: ${isAbsolute(name) ? 'there is no such program' : 'it is not on PATH'}.`
  const answer = await askProgram(found.path, args, {
    environment: {
      ...pickEnvironment(environment, [...baseEnvironmentNames, ...desktopNames]),
      COXSWAIN_CHILD_ID: need.childId,
      COXSWAIN_CHILD_TITLE: need.title,
      COXSWAIN_CHILD_NEEDS: need.needs,
    },
    timeoutMs: patienceMs,
  })
  return 'problem' in answer ? `${name}: ${answer.problem}.` : null
}
