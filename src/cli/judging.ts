// The commands that judge: a child's work against its contract, what to do with a live child, and the trail of deeds.
import { readFileSync } from 'node:fs'
import { isLive } from '../core/child'
import { decide as decideWhat, tailOf, type Decision, type WatchedChild } from '../core/policy'
import { plainLine } from '../core/plainText'
import { describeVerdict } from '../core/verdict'
import { checkAudit } from '../record/audit'
import { readText } from '../record/readFile'
import type { Coxswain } from '../supervisor/coxswain'
import { listAnswer } from '../supervisor/payloads'
import { z } from 'zod'
import { checkText, onlyForPersons, viewed, visible, withChild, withStore } from './commands'
import { until, verdictOver } from '../supervisor/waiting'
import { leaveOthers } from './run'
import type { Invocation } from './invocation'
import { granted, UsageError } from './output'

/** Entries looked at for the tail: more than the lines it may have. */
const tailEntries = 200

export async function verify(invocation: Invocation): Promise<number> {
  const { out } = invocation
  const judged = async (coxswain: Coxswain, id: string): Promise<number> => {
    const before = viewed(coxswain, id).child.verdicts.length
    granted(await coxswain.commands.verify({ subagent_id: id }))
    const isOver = verdictOver(before)
    await until(coxswain, async () => isOver(viewed(coxswain, id).child))
    const { verdict, verdicts, title } = viewed(coxswain, id).child
    if (verdict === null || verdicts.length === before)
      throw new UsageError(
        'finished',
        `The work of "${title}" went on or was discarded before its verdict. Verify it again once it has ended.`,
      )
    out.print({ subagent_id: id, verdict }, [describeVerdict(verdict), ...verdict.checks.map(checkText)].join('\n'))
    if (verdict.status === 'verified') return 0
    return verdict.disposition === 'partial' ? 3 : 1
  }
  // The store was perhaps taken for it: whoever works there goes on under an owner, also when this was refused.
  const judge = (coxswain: Coxswain, id: string): Promise<number> =>
    judged(coxswain, id).finally(() => leaveOthers(coxswain))
  return await withChild(invocation, judge, 'run')
}

const listPayload = z.object({
  subagents: z.array(z.looseObject({ subagent_id: z.string(), accepting_steer: z.boolean() })),
})

/**
 * What to do with one child, every live one, or those of a list payload on standard input; or what became of the
 * suggestion that a child has.
 */
export async function decide(invocation: Invocation): Promise<number> {
  const { open, out, words, flags } = invocation
  const { apply = false, dismiss = false } = flags
  if (apply && dismiss) throw new UsageError('invalid', 'decide takes --apply or --dismiss, not both.')
  if (apply || dismiss)
    return await withChild(invocation, async ({ commands }, id) => {
      const suggested = { subagent_id: id }
      const answer = granted(
        await (apply ? commands.applySuggestion(suggested) : commands.dismissSuggestion(suggested)),
      )
      out.print(answer, answer.note)
      return 0
    })
  const [which] = words
  const look = async (coxswain: Coxswain): Promise<number> => {
    for (const child of watched(coxswain, which)) {
      const decision = decideWhat(child, await tail(coxswain, child.subagent_id))
      out.print(decision, decisionText(decision))
    }
    return 0
  }
  return which === undefined || which === '-'
    ? await withStore(await open('command'), look)
    : await withChild(invocation, look)
}

/** Switches automatic steering of one child on, or off. */
export async function automate(invocation: Invocation): Promise<number> {
  const { out, flags } = invocation
  return await withChild(invocation, async ({ commands }, id) => {
    const answer = granted(await commands.automate({ subagent_id: id, on: flags.off !== true }))
    out.print(answer, answer.note)
    return 0
  })
}

function watched(coxswain: Coxswain, which: string | undefined): readonly WatchedChild[] {
  if (which === '-') {
    let value: unknown
    try {
      value = JSON.parse(readFileSync(0, 'utf8'))
    } catch {
      throw new UsageError('invalid', 'Standard input is not JSON. Give it what "coxswain list --json" prints.')
    }
    const parsed = listPayload.safeParse(value)
    if (!parsed.success)
      throw new UsageError('invalid', 'Standard input is no list payload. Give it what "coxswain list --json" prints.')
    return parsed.data.subagents.map(({ subagent_id, accepting_steer, goal }) => ({
      subagent_id,
      accepting_steer,
      goal: typeof goal === 'string' ? goal : undefined,
    }))
  }
  const views = which === undefined ? visible(coxswain).filter(({ child }) => isLive(child)) : [viewed(coxswain, which)]
  const { subagents } = listAnswer(views, new Date())
  if (which !== undefined && subagents.length === 0)
    throw new UsageError('finished', 'That child has ended; there is nothing to decide.')
  return subagents
}

async function tail({ view }: Coxswain, id: string): Promise<ReturnType<typeof tailOf>> {
  const seen = view.get(id)
  if (seen === undefined) return []
  return tailOf(await view.entries(id, Math.max(0, seen.entryCount - tailEntries), tailEntries))
}

function decisionText({ action, subagent_id, reason, message }: Decision): string {
  return `${subagent_id}  ${action}: ${reason}${message === undefined ? '' : `\n  ${message}`}`
}

export async function audit({ open, out, flags }: Invocation): Promise<number> {
  return await withStore(await open('command'), async (coxswain) => {
    onlyForPersons(coxswain)
    const { paths } = coxswain
    if (flags.check === true) {
      const found = await checkAudit(paths.audit)
      const words =
        found.broken === null
          ? `The chain of ${found.lines} lines holds.`
          : `Line ${found.broken.line} is broken: ${found.broken.why}.`
      out.print(found, words)
      return found.broken === null ? 0 : 1
    }
    let text = ''
    try {
      text = await readText(paths.audit)
    } catch (error) {
      // No deed yet.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    if (out.json) process.stdout.write(text)
    else for (const line of text.split('\n').filter(Boolean)) out.print({}, deedText(coxswain, line))
    return 0
  })
}

/** Of the trail's own chain, or long, or said by the title. */
const notForPeople = /^(n|at|timestamp|prev|hash|who|what|child|delegate_goal|.*_(hash|session|length))$/

/** One deed for people. A line that cannot be read is shown as it is. */
function deedText({ view }: Coxswain, line: string): string {
  let deed: Record<string, unknown>
  try {
    deed = z.record(z.string(), z.unknown()).parse(JSON.parse(line))
  } catch {
    return plainLine(line, 300)
  }
  const { at, who, what, child } = deed
  const title = typeof child === 'string' ? view.get(child)?.child.title : undefined
  const isNothing = (value: unknown): boolean =>
    value === null || value === '' || (Array.isArray(value) && value.length === 0)
  const rest = Object.entries(deed)
    .filter(([key, value]) => !notForPeople.test(key) && !isNothing(value))
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const head = [at, who, what, child].filter((word) => typeof word === 'string').join(' ')
  return plainLine([head, ...(title === undefined ? [] : [`“${title}”`]), ...rest].join(', '), 400)
}
