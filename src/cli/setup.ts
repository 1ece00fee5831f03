// `coxswain setup`: how new worktrees of this repository are made ready. Shows exactly what would run before anybody can
// agree to it; looking runs nothing.
import { offeredPath, setupLines, setupToRun, type Setup, type Setups } from '../core/setup'
import { withStore } from './commands'
import type { Invocation } from './invocation'
import { granted, UsageError, word } from './output'

const acts = ['set', 'consent', 'clear'] as const

export async function setup({ open, out, words, flags }: Invocation): Promise<number> {
  const [act] = words
  const set = flags.copy !== undefined || flags.seconds !== undefined
  if (set && act !== 'set') throw new UsageError('invalid', '--copy and --seconds belong to "setup set".')
  return await withStore(await open('command'), async (coxswain) => {
    if (act === undefined) {
      const setups = await coxswain.setups()
      const refused = setupToRun(setups)
      const problem = refused !== null && 'kind' in refused ? refused.message : null
      out.print({ ...setups, problem }, setupsText(setups, problem))
      return 0
    }
    const answer = granted(await coxswain.commands.setup(requestOf(act, words, flags)))
    const { chosen } = await coxswain.setups()
    out.print(answer, [answer.note, ...(chosen === null ? [] : setupLines(chosen.setup))].join('\n'))
    return 0
  })
}

function requestOf(act: string, words: readonly string[], flags: Invocation['flags']) {
  switch (acts.find((known) => known === act)) {
    case 'set': {
      const command = words.slice(1)
      const seconds = flags.seconds === undefined ? undefined : Number(flags.seconds)
      return {
        action: 'set' as const,
        setup: {
          ...(command.length === 0 ? {} : { command }),
          ...(flags.copy === undefined ? {} : { copy: flags.copy }),
          ...(seconds === undefined ? {} : { timeout_seconds: seconds }),
        } satisfies Setup,
      }
    }
    case 'consent':
      return { action: 'consent' as const, hash: word(words, 1, 'The HASH of what you agree to') }
    case 'clear':
      return { action: 'clear' as const }
    case undefined:
      throw new UsageError('invalid', `"setup" takes ${acts.join(', ')}, or nothing to show what there is.`)
  }
}

function setupsText({ chosen, offered }: Setups, problem: string | null): string {
  const lines: string[] = []
  if (chosen === null) lines.push('New worktrees are not set up.')
  else {
    const from = chosen.from === 'person' ? 'set here' : `offered by the repository, agreed to`
    lines.push(`New worktrees are set up as ${from} on ${chosen.at}:`, ...indented(chosen.setup))
  }
  if (problem !== null) lines.push(`No child starts until this is settled: ${problem}`)
  if (offered !== null && offered.hash !== chosen?.hash) {
    if (offered.setup === null) lines.push(`${offeredPath} cannot be used: ${offered.problem ?? ''}.`)
    else
      lines.push(
        `This repository offers a setup in ${offeredPath}, which nobody has agreed to:`,
        ...indented(offered.setup),
        `To agree to exactly this: coxswain setup consent ${offered.hash}`,
      )
  }
  return lines.join('\n')
}

const indented = (setup: Setup): string[] => setupLines(setup).map((line) => `  ${line}`)
