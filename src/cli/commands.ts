// The commands that look, and those that wish something of one child. Looking reads files only.
import { acceptance, isLive, type Child } from '../core/child'
import type { CheckResult, Verdict } from '../core/events'
import type { TranscriptEntry } from '../core/transcript'
import { plainLine } from '../core/plainText'
import { textLogLine } from '../core/textLog'
import { changedFiles, overlaps, status, type ChangedFile } from '../git/review'
import { isRefusal } from '../supervisor/commands'
import type { Coxswain, CoxswainOptions } from '../supervisor/coxswain'
import { listAnswer, showAnswer, type OverlapEntry } from '../supervisor/payloads'
import { readResult, type ChildResult } from '../supervisor/results'
import { knownWorktree } from '../supervisor/verifyChild'
import type { ChildView } from '../supervisor/view'
import { isOver, until } from '../supervisor/waiting'
import type { Invocation } from './invocation'
import { granted, textOf, UsageError, word } from './output'
import { listAllAnswer, listAllLine, phaseText } from './listAll'
import { unknownChild } from '../core/decide'
import { ownsChild } from '../core/ownership'
import { checksToOverride, describeResult, describeVerdict } from '../core/verdict'

const page = 500
const idleNote = 'No child is at work.'
const unattendedNote =
  'Nobody supervises these at the moment, so this may be out of date: an open window, any command to one of them, or "coxswain doctor" finds out what became of them.'

/** Runs `job` with the store open and lets go of it afterwards. */
export async function withStore<T>(coxswain: Coxswain, job: (coxswain: Coxswain) => Promise<T>): Promise<T> {
  try {
    return await job(coxswain)
  } finally {
    coxswain.dispose()
    await coxswain.closed()
  }
}

/** Runs `job` for the child that the first word names. */
export async function withChild(
  { open, words }: Invocation,
  job: (coxswain: Coxswain, id: string) => Promise<number>,
  role: CoxswainOptions['role'] = 'command',
): Promise<number> {
  const id = word(words, 0, 'The ID of a child')
  return await withStore(await open(role), async (coxswain) => {
    try {
      return await job(coxswain, id)
    } catch (error) {
      // A person sees every child, so there is nothing to keep from one.
      if (error instanceof UsageError && error.code === unknownChild.code && coxswain.caller.kind === 'person')
        throw new UsageError(
          error.code,
          `There is no child ${id} in this repository. "coxswain list --all" names them.`,
        )
      throw error
    }
  })
}

export async function list({ open, out, flags }: Invocation): Promise<number> {
  return await withStore(await open('command'), async (coxswain) => {
    const now = new Date()
    if (flags.all === true) {
      const views = [...visible(coxswain)].sort((a, b) => b.child.acceptedAt.localeCompare(a.child.acceptedAt))
      const text = views.map(({ child }) => listAllLine(child, now)).join('\n')
      out.print(listAllAnswer(views, now), text === '' ? 'There are no children in this repository.' : text)
      return 0
    }
    const listed = listAnswer(visible(coxswain), now)
    const alone = listed.count > 0 && !(await coxswain.hasOwner())
    const note = alone ? unattendedNote : listed.count === 0 && coxswain.caller.kind === 'person' ? idleNote : undefined
    const answer = note === undefined ? listed : { ...listed, note }
    const standing = new Map(visible(coxswain).map(({ child }) => [child.id, phaseText(child)]))
    const rows = answer.subagents.map(
      (row) =>
        `${row.subagent_id}  ${(standing.get(row.subagent_id) ?? row.phase).padEnd(8)} ${String(Math.round(row.running_seconds)).padStart(5)} s  ${(row.condition === 'paused' ? '' : (row.condition ?? (row.accepting_steer ? 'accepting steer' : ''))).padEnd(15)}  ${row.title}${row.parent_away === true ? '  (parent away)' : ''}${row.last_activity === null ? '' : `  —  ${row.last_activity}`}`,
    )
    const people = rows.length === 0 ? idleNote : [...rows, ...(alone ? [unattendedNote] : [])].join('\n')
    out.print(answer, people)
    return 0
  })
}

export async function show(invocation: Invocation): Promise<number> {
  const { out } = invocation
  return await withChild(invocation, async (coxswain, id) => {
    const { child } = viewed(coxswain, id)
    const known = knownWorktree(child, coxswain.repository.commonDir)
    const state = known === undefined || child.discarded ? undefined : await status(coxswain.git, known)
    const answer = showAnswer(
      child,
      state === undefined || state.kind === 'problem'
        ? null
        : {
            commits: state.commits,
            dirty: state.dirty,
            files: state.files.length,
            insertions: state.insertions,
            deletions: state.deletions,
          },
      await overlapsOf(coxswain, child),
    )
    out.print(answer, showText(child, answer))
    return 0
  })
}

/** Asked of git here and now: files that others at work have changed besides this child. */
async function overlapsOf(coxswain: Coxswain, child: Child): Promise<OverlapEntry[]> {
  const others = visible(coxswain)
    .map((view) => view.child)
    .filter((other) => other.id !== child.id && isLive(other) && other.worktree !== null)
  if (!isLive(child) || others.length === 0) return []
  const changed = async (one: Child): Promise<readonly ChangedFile[]> => {
    const known = knownWorktree(one, coxswain.repository.commonDir)
    const found = known === undefined ? undefined : await changedFiles(coxswain.git, known)
    return found?.kind === 'files' ? found.files : []
  }
  const own = await changed(child)
  const entries: OverlapEntry[] = []
  for (const other of others) {
    const shared = overlaps(
      new Map([
        [child.id, own],
        [other.id, await changed(other)],
      ]),
    )
    if (shared.size > 0) entries.push({ subagent_id: other.id, title: other.title, paths: [...shared.keys()].sort() })
  }
  return entries
}

function showText(child: Child, answer: ReturnType<typeof showAnswer>): string {
  const accepts = acceptance(child)
  return [
    `${answer.title}  (${answer.subagent_id})`,
    `${answer.phase}${answer.condition === null ? '' : ` · ${answer.condition}`} · attempt ${answer.attempt} · ${answer.agent}`,
    ...(child.verdict === null || isLive(child) ? [] : [describeVerdict(child.verdict)]),
    ...(child.applied ? [`applied to ${child.appliedTo ?? 'the checkout'}`] : []),
    accepts.accepting ? 'accepting steer' : `takes no steer: ${accepts.why}`,
    ...(answer.worktree === null
      ? []
      : [`worktree ${answer.worktree.path}`, `branch   ${branchText(answer.worktree)}`]),
    ...answer.overlaps.map(({ title, paths }) => `also changed by "${title}": ${paths.join(', ')}`),
    ...answer.requests.map((request) => `needs an answer to ${request.request_id}: ${request.words}`),
    ...answer.permissions.map(
      ({ request_id, tool, input }) =>
        `may do unasked, by ${request_id}: ${plainLine(`${tool} ${JSON.stringify(input)}`)}`,
    ),
    ...answer.steers.map(
      (steer) =>
        `steer ${steer.steer_id}: ${steer.state}${steer.evidence === null ? '' : ` (${steer.evidence})`} — ${steer.text}`,
    ),
    `log      ${answer.live_transcript}`,
  ].join('\n')
}

export async function transcript(invocation: Invocation): Promise<number> {
  const { out, flags } = invocation
  return await withChild(invocation, async (coxswain, id) => {
    viewed(coxswain, id)
    const { view } = coxswain
    const print = (entry: TranscriptEntry): void => out.print(entry, textLogLine(entry))
    let next = 0
    const printNew = async (): Promise<void> => {
      for (;;) {
        const entries = await view.entries(id, next, page)
        if (entries.length === 0) return
        entries.forEach(print)
        next += entries.length
      }
    }
    await printNew()
    if (flags.follow !== true) return 0
    const over = async (): Promise<boolean> => {
      await printNew()
      return isOver(viewed(coxswain, id).child)
    }
    await until(coxswain, over, out.gone)
    await coxswain.refresh()
    await printNew()
    return 0
  })
}

export async function result(invocation: Invocation): Promise<number> {
  const { out, flags } = invocation
  return await withChild(invocation, async (coxswain, id) => {
    const { child } = viewed(coxswain, id)
    const round = flags.round === undefined ? child.round : Number(flags.round)
    if (flags.round !== undefined && (!Number.isInteger(round) || round < 1))
      throw new UsageError('invalid', `--round takes a whole number from 1, not "${flags.round}".`)
    if (round > child.round)
      throw new UsageError('invalid', `"${child.title}" has no round ${round}; its latest is round ${child.round}.`)
    const found = isLive(child) ? undefined : await readResult(coxswain.paths, child, round)
    if (found === undefined) {
      const answer = { ready: false, phase: child.phase }
      out.print(answer, `No result yet: "${child.title}" is ${child.phase}.`)
      return 0
    }
    out.print(found, resultText(found))
    return 0
  })
}

export function resultText(found: ChildResult): string {
  const { worktree, verdict } = found
  return [
    `${found.title}  (${found.subagent_id}) round ${found.round}: ${found.phase}${verdict === null ? '' : `, ${verdict.status}`}`,
    ...(!found.report?.summary ? [] : [found.report.summary]),
    ...(found.failure === null ? [] : [found.failure]),
    ...(verdict === null || verdict.status === 'verified' ? [] : notVerified(found, verdict)),
    ...(worktree === null ? [] : [`branch ${branchText(worktree)}`]),
    ...found.missed_steers.map((steer) => `missed steer: ${steer.text}`),
  ].join('\n')
}

/** What did not pass, and what a person can do about it. */
function notVerified({ subagent_id, phase, worktree }: ChildResult, verdict: Verdict): string[] {
  const names = checksToOverride(verdict)
  return [
    describeVerdict(verdict),
    ...verdict.checks.filter(({ result }) => result !== 'PASS').map(checkText),
    ...verdict.notes,
    ...(worktree === null ? [] : [`To check it again: coxswain verify ${subagent_id}`]),
    ...(worktree === null || phase !== 'SUCCESS' || names.length === 0
      ? []
      : [
          `To apply it all the same: coxswain apply ${subagent_id} ${names.map((name) => `--override ${quoted(name)}`).join(' ')}`,
        ]),
  ]
}

export function checkText(check: CheckResult): string {
  return `${check.result.padEnd(7)} ${describeResult(check)}: ${check.reason}`
}

/** As one word for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

function branchText({ branch, commits, dirty }: NonNullable<ChildResult['worktree']>): string {
  const count = commits === 1 ? '1 commit' : `${commits ?? '?'} commits`
  return `${branch}: ${count}${dirty === true ? ', uncommitted changes' : ''}`
}

export async function steer(invocation: Invocation): Promise<number> {
  const { out, words } = invocation
  return await withChild(invocation, async ({ commands }, id) => {
    const message = textOf(words, 1)
    const answer = granted(await commands.steer({ subagent_id: id, message }))
    out.print(answer, `${answer.steer_id}  ${answer.note}`)
    return 0
  })
}

export async function resume(invocation: Invocation): Promise<number> {
  const { out, words } = invocation
  return await withChild(invocation, async ({ commands }, id) => {
    const message = textOf(words, 1)
    const answer = granted(await commands.resume({ subagent_id: id, ...(message.trim() === '' ? {} : { message }) }))
    out.print(answer, `Attempt ${answer.attempt} starts. ${answer.note}`)
    return 0
  })
}

/** Prints the command once nothing of the child runs any more: before that it would be the second in its session. */
export async function takeOver(invocation: Invocation): Promise<number> {
  const { out } = invocation
  return await withChild(invocation, async (coxswain, id) => {
    const { commands } = coxswain
    const answer = granted(await commands.takeOver({ subagent_id: id }))
    await until(coxswain, () => Promise.resolve(!isLive(viewed(coxswain, id).child)))
    out.print(
      { ...answer, status: 'ready' },
      `${answer.command}\n\n${answer.note} Hand it back with: coxswain resume ${id}`,
    )
    return 0
  })
}

/** stop, interrupt, adopt, apply, discard. */
export async function act(command: string, invocation: Invocation): Promise<number> {
  const { out, flags } = invocation
  const reason = flags.reason === undefined ? {} : { reason: flags.reason }
  return await withChild(invocation, async ({ commands }, id) => {
    switch (command) {
      case 'stop':
      case 'interrupt': {
        const answer = granted(await commands[command]({ subagent_id: id, ...reason }))
        out.print(answer, `${command === 'stop' ? 'Stop' : 'Pause'} requested. ${answer.note}`)
        return 0
      }
      case 'adopt': {
        const answer = granted(await commands.adopt({ subagent_id: id }))
        out.print(answer, answer.note)
        return 0
      }
      case 'apply': {
        if (flags.squash === true && flags.patch === true)
          throw new UsageError('invalid', 'apply takes --squash or --patch, not both.')
        const how = flags.patch === true ? 'patch' : flags.squash === true ? 'squash' : 'merge'
        const override = flags.override ?? []
        const answer = granted(await commands.apply({ subagent_id: id, how, override }))
        out.print(answer, answer.note)
        return 0
      }
      default: {
        const answer = await commands.discard({ subagent_id: id, ...(flags.force === true ? { force: true } : {}) })
        if (isRefusal(answer) && answer.error.code === 'would_lose')
          throw new UsageError(
            answer.error.code,
            `${answer.error.message} To discard it with all that is in it: coxswain discard ${id} --force`,
          )
        const done = granted(answer)
        out.print(done, done.note)
        return 0
      }
    }
  })
}

export async function withdraw({ open, out, words }: Invocation): Promise<number> {
  const id = word(words, 0, 'A STEER_ID')
  return await withStore(await open('command'), async (coxswain) => {
    const owner = visible(coxswain).find(({ child }) => child.steers.some((s) => s.id === id))
    if (owner === undefined) throw new UsageError('invalid', `There is no steer ${id}.`)
    const answer = granted(await coxswain.commands.withdrawSteer({ subagent_id: owner.child.id, steer_id: id }))
    out.print(answer, answer.note)
    return 0
  })
}

export async function answer({ open, out, words, flags }: Invocation): Promise<number> {
  const id = word(words, 0, 'A REQUEST_ID')
  return await withStore(await open('command'), async (coxswain) => {
    const asking = visible(coxswain).filter(({ child }) => child.requests.some((request) => request.id === id))
    if (asking.length !== 1 || asking[0] === undefined)
      throw new UsageError(
        'invalid',
        asking.length === 0
          ? `Nobody has asked anything under the id ${id}.`
          : `Several children have asked under the id ${id}; answer in the panel.`,
      )
    if (flags.revoke === true) {
      const done = granted(await coxswain.commands.revoke({ subagent_id: asking[0].child.id, request_id: id }))
      out.print(done, done.note)
      return 0
    }
    const text = textOf(words, 1)
    const given =
      flags.allow === true
        ? ({ kind: 'allow', scope: 'once' } as const)
        : flags.deny !== undefined
          ? ({ kind: 'deny', message: flags.deny } as const)
          : ({ kind: 'text', text } as const)
    if (given.kind === 'text' && text.trim() === '')
      throw new UsageError('invalid', 'The answer is empty. Give a text, --allow, or --deny WHY.')
    const done = granted(
      await coxswain.commands.answer({ subagent_id: asking[0].child.id, request_id: id, answer: given }),
    )
    out.print(done, done.note)
    return 0
  })
}

export async function agents({ open, out }: Invocation): Promise<number> {
  return await withStore(await open('command'), async (coxswain) => {
    const found = await coxswain.agents()
    const rows = found.map(({ id, label, found: here, version, path, abilities, notes, install }) => ({
      row: {
        id,
        found: here,
        version,
        path,
        steer_mode: abilities.steerMode,
        receipt: abilities.receipt,
        resume: abilities.resume,
        approvals: abilities.approvals,
        cost: abilities.cost,
        notes,
        install: here || install === '' ? null : install,
      },
      text: here
        ? `${id.padEnd(14)} ${label} ${version ?? ''}  steer: ${abilities.steerMode}, receipts: ${abilities.receipt}, resume: ${abilities.resume ? 'yes' : 'no'}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`
        : `${id.padEnd(14)} not found. ${notes.join(' ')}`,
    }))
    out.print({ agents: rows.map(({ row }) => row) }, rows.map(({ text }) => text).join('\n'))
    return 0
  })
}

/** What tells of every child: children are blind to each other. */
export function onlyForPersons({ caller }: Coxswain): void {
  if (caller.kind !== 'person')
    throw new UsageError('unsupported', 'This tells of children that are not yours. A person can run it.')
}

/** The children this caller may see: all of them for a person, its own tree for a child that calls coxswain. */
export function visible({ view, caller }: Coxswain): readonly ChildView[] {
  return view.list().filter(({ child }) => ownsChild(caller, child, (id) => view.get(id)?.child))
}

/** The child, or the one refusal for ids that are not there and ids that are somebody else's. */
export function viewed(coxswain: Coxswain, id: string): ChildView {
  const found = visible(coxswain).find(({ child }) => child.id === id)
  if (found === undefined) throw new UsageError(unknownChild.code, unknownChild.message)
  return found
}
