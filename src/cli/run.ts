// `coxswain run`: dispatches the children of a task file. Join mode prints what matters as it happens, then the
// completions; --detach leaves the work to the owner and returns with the handle.
import { readFileSync } from 'node:fs'
import { parse as parseYaml } from 'yaml'
import { isLive, type Child } from '../core/child'
import type { Verdict } from '../core/events'
import { describeResult } from '../core/verdict'
import { taskRequestSchema, invalidRequest, type SpawnRequest } from '../supervisor/commands'
import type { Completion } from '../supervisor/completions'
import type { Coxswain } from '../supervisor/coxswain'
import { isOver, until } from '../supervisor/waiting'
import { z } from 'zod'
import { resultText, withStore } from './commands'
import { contractIn } from './contractFile'
import type { Invocation } from './invocation'
import { granted, UsageError } from './output'

const taskFileSchema = z.strictObject({
  tasks: z.array(taskRequestSchema).min(1, 'must hold at least one task').max(1_000),
  independent_completions: z.boolean().optional(),
})

export async function run(invocation: Invocation): Promise<number> {
  const { flags, open } = invocation
  if (flags.task === undefined)
    throw new UsageError('invalid', 'run needs --task FILE, or --task - for standard input.')
  const given = readTasks(flags.task)
  const contract = flags.contract === undefined ? undefined : contractIn(flags.contract)
  const request: SpawnRequest =
    contract === undefined ? given : { ...given, tasks: given.tasks.map((task) => ({ contract, ...task })) }
  return flags.detach === true
    ? await withStore(await open('command'), (coxswain) => detach(coxswain, request, invocation))
    : await withStore(await open('run'), (coxswain) =>
        // Refused, it may have taken the store all the same.
        join(coxswain, request, invocation).finally(() => leaveOthers(coxswain)),
      )
}

/** A task file, JSON or YAML. */
function readTasks(path: string): SpawnRequest {
  let text: string
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw new UsageError(
      'invalid',
      `The task file ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
    )
  }
  let value: unknown
  try {
    // Every JSON text is YAML, but JSON's own complaint is the better one for a file that means to be JSON.
    value = /^\s*[[{]/.test(text) ? JSON.parse(text) : parseYaml(text, { maxAliasCount: 100 })
  } catch (error) {
    throw new UsageError(
      'invalid',
      `The task file ${path} is neither JSON nor YAML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}.`,
    )
  }
  const parsed = taskFileSchema.safeParse(value)
  if (!parsed.success)
    throw new UsageError(
      'invalid',
      `${path}: ${invalidRequest(parsed.error).error.message.replace('The request', 'The task file')}`,
    )
  return parsed.data
}

async function detach({ commands }: Coxswain, request: SpawnRequest, { out }: Invocation): Promise<number> {
  const handle = granted(await commands.spawn(request))
  out.print(handle, handle.subagent_ids.map((id, i) => `${id}  ${handle.goals[i]?.split('\n')[0] ?? ''}`).join('\n'))
  return 0
}

async function join(coxswain: Coxswain, request: SpawnRequest, { out }: Invocation): Promise<number> {
  const { commands, view } = coxswain
  const interrupted = new AbortController()
  let interrupts = 0
  const onSignal = (): void => {
    interrupts++
    // Asked twice: the children go on under their keepers, and can be resumed or stopped from anywhere.
    if (interrupts > 1) process.exit(130)
    interrupted.abort()
  }
  const hungUp = new AbortController()
  const onHangUp = (): void => hungUp.abort()
  // Nobody hears of the children here any more.
  const unheard = AbortSignal.any([out.gone, hungUp.signal])
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onHangUp)
  try {
    const handle = granted(await commands.spawn(request))
    out.print(handle, handle.subagent_ids.map((id, i) => `${id}  ${handle.goals[i]?.split('\n')[0] ?? ''}`).join('\n'))
    const ids = handle.subagent_ids
    const told = new Map<string, string>()
    const tell = (): void => {
      for (const id of ids) {
        const seen = view.get(id)
        if (seen === undefined) continue
        for (const [key, event] of happenings(seen.child)) {
          if (told.has(key)) continue
          told.set(key, event)
          const at = new Date().toISOString()
          out.print({ event, subagent_id: id, at }, `${at} ${id} ${event}`)
        }
      }
    }
    const printed = new Set<string>()
    let through: readonly string[] = []
    const over = async (): Promise<boolean> => {
      tell()
      const now = ids.filter((id) => isOver(view.get(id)?.child))
      if (now.join() !== through.join())
        for (const completion of await coxswain.completions(coxswain.caller, handle.delegation_id)) {
          if (printed.has(completion.completion_id)) continue
          printed.add(completion.completion_id)
          // Printed first, then acknowledged: who is ended in between leaves it to whoever asks next.
          out.print(...printable(completion))
          if (!(await out.arrived())) return false
          await commands.acknowledge({ completion_ids: [completion.completion_id] })
        }
      through = now
      return now.length === ids.length
    }
    await until(coxswain, over, AbortSignal.any([interrupted.signal, unheard]))
    if (interrupts > 0) {
      for (const id of ids) {
        const child = view.get(id)?.child
        if (child !== undefined && isLive(child)) {
          const answer = await commands.interrupt({ subagent_id: id, reason: 'coxswain run was interrupted' })
          // Nothing of it runs yet: there is nothing to keep.
          if ('error' in answer) await commands.stop({ subagent_id: id, reason: 'coxswain run was interrupted' })
        }
      }
      await until(coxswain, over, unheard)
    }
    for (const id of ids) {
      const child = view.get(id)?.child
      if (child?.paused !== true) continue
      const go = `coxswain resume ${id}`
      out.print(
        { paused: { subagent_id: id, phase: child.phase, condition: 'paused', resume: go } },
        `${child.title} is paused. Go on with: ${go}`,
      )
    }
    await leaveOthers(coxswain)
    if (interrupts > 0) return 130
    if (unheard.aborted) {
      process.stderr.write('coxswain: nobody reads this any more. Its children go on; "coxswain list" shows them.\n')
      return 141
    }
    return exitCode(ids.map((id) => view.get(id)?.child))
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', onHangUp)
  }
}

/** For programs the object without the text that is made for agents, for people the text. */
function printable(completion: Completion): [object, string] {
  const { completion_id, delegation_id, round, paused_left, subagents } = completion
  return [
    { completion: { completion_id, delegation_id, round, paused_left, subagents } },
    subagents.map(resultText).join('\n\n'),
  ]
}

/** What has happened to a child so far, each under a key of its own. */
function happenings(child: Child): [key: string, event: string][] {
  const events: [string, string][] = []
  for (const attempt of child.attempts) {
    const key = `${child.id}.${attempt.n}`
    if (attempt.launchedAt !== null)
      events.push([`${key}.started`, attempt.n === 1 ? 'started' : `attempt ${attempt.n} started`])
    if (attempt.endRequest !== null) events.push([`${key}.end`, `${attempt.endRequest.cause} requested`])
    if (attempt.ended !== null) events.push([`${key}.ended`, `attempt ended ${attempt.ended}`])
    const verdict = child.verdicts.find((one) => one.attempt === attempt.n && one.disposition === 'retry')
    if (verdict !== undefined) events.push([`${key}.again`, `asked again: ${whyAskedAgain(verdict)}`])
  }
  for (const steer of child.steers)
    for (const { state } of steer.history) events.push([`${steer.id}.${state}`, `steer ${steer.id} ${state}`])
  for (const request of child.requests) events.push([`${child.id}.${request.id}.asked`, `asked ${request.id}`])
  if (child.settledAt !== null) events.push([`${child.id}.${child.round}.settled`, `settled ${child.phase}`])
  return events
}

function whyAskedAgain(verdict: Verdict): string {
  const open = verdict.checks.filter(({ result }) => result !== 'PASS')
  return [...open.map((check) => `${describeResult(check)}: ${check.reason}`), ...verdict.notes].join('; ')
}

/** Children of others that this process owned meanwhile get an owner that stays. */
export async function leaveOthers(coxswain: Coxswain): Promise<void> {
  if (!coxswain.isOwner() || !coxswain.inUse()) return
  // A process that is just being started is waited for: its start would otherwise count as failed.
  await until(coxswain, async () => !coxswain.view.list().some(({ child }) => isStarting(child)))
  await coxswain.handOver()
}

function isStarting(child: Child): boolean {
  return (child.phase === 'PENDING' && !child.waitingForSlot) || child.phase === 'STARTING'
}

/** 0 all well, 3 the rest is partial, 1 otherwise. */
function exitCode(children: readonly (Child | undefined)[]): number {
  const good = (child: Child | undefined): boolean =>
    child?.phase === 'SUCCESS' && (child.task.contract.level === 'none' || child.verdict?.status === 'verified')
  const partial = (child: Child | undefined): boolean => child?.verdict?.disposition === 'partial'
  if (children.every(good)) return 0
  return children.every((child) => good(child) || partial(child)) ? 3 : 1
}
