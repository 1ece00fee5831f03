// The commands that look, and those that wish something of one child. Looking reads files only.
import { acceptance, isLive, type Child } from '../core/child'
import type { TranscriptEntry } from '../core/transcript'
import { textLogLine } from '../core/textLog'
import { changedFiles, overlaps, status, type ChangedFile } from '../git/review'
import type { Coxswain } from '../supervisor/openCoxswain'
import { listAnswer, showAnswer, type OverlapEntry } from '../supervisor/payloads'
import { readResult, type ChildResult } from '../supervisor/results'
import { knownWorktree } from '../supervisor/verifyChild'
import type { ChildView } from '../supervisor/view'
import { isOver, until } from '../supervisor/waiting'
import type { Invocation } from './invocation'
import { granted, textOf, UsageError, word } from './output'
import { unknownChild } from '../core/decide'
import { ownsChild } from '../core/ownership'

const page = 500
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

export async function list({ open, out }: Invocation): Promise<number> {
  return await withStore(await open('command'), async (coxswain) => {
    const listed = listAnswer(visible(coxswain), new Date())
    const alone = listed.count > 0 && !(await coxswain.hasOwner())
    const answer = alone ? { ...listed, note: unattendedNote } : listed
    const rows = answer.subagents.map(
      (row) =>
        `${row.subagent_id}  ${row.phase.padEnd(9)} ${String(Math.round(row.running_seconds)).padStart(5)} s  ${(row.condition ?? (row.accepting_steer ? 'accepting steer' : '')).padEnd(15)}  ${row.title}${row.parent_away === true ? '  (parent away)' : ''}${row.last_activity === null ? '' : `  —  ${row.last_activity}`}`,
    )
    const people = rows.length === 0 ? 'No live children.' : [...rows, ...(alone ? [unattendedNote] : [])].join('\n')
    out.print(answer, people)
    return 0
  })
}

export async function show({ open, out, words }: Invocation): Promise<number> {
  const id = word(words, 0, 'The ID of a child')
  return await withStore(await open('command'), async (coxswain) => {
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
    accepts.accepting ? 'accepting steer' : `takes no steer: ${accepts.why}`,
    ...(answer.worktree === null
      ? []
      : [
          `worktree ${answer.worktree.path}`,
          `branch   ${answer.worktree.branch}: ${answer.worktree.commits ?? '?'} commits${answer.worktree.dirty === true ? ', uncommitted changes' : ''}`,
        ]),
    ...answer.overlaps.map(({ title, paths }) => `also changed by "${title}": ${paths.join(', ')}`),
    ...answer.requests.map((request) => `needs an answer to ${request.request_id}: ${request.words}`),
    ...answer.steers.map(
      (steer) =>
        `steer ${steer.steer_id}: ${steer.state}${steer.evidence === null ? '' : ` (${steer.evidence})`} — ${steer.text}`,
    ),
    `log      ${answer.live_transcript}`,
  ].join('\n')
}

export async function transcript({ open, out, words, flags }: Invocation): Promise<number> {
  const id = word(words, 0, 'The ID of a child')
  return await withStore(await open('command'), async (coxswain) => {
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

export async function result({ open, out, words, flags }: Invocation): Promise<number> {
  const id = word(words, 0, 'The ID of a child')
  return await withStore(await open('command'), async (coxswain) => {
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
  const { worktree } = found
  return [
    `${found.title}  (${found.subagent_id}) round ${found.round}: ${found.phase}${found.verdict === null ? '' : `, ${found.verdict.status}`}`,
    ...(!found.report?.summary ? [] : [found.report.summary]),
    ...(found.failure === null ? [] : [found.failure]),
    ...(worktree === null
      ? []
      : [
          `branch ${worktree.branch}: ${worktree.commits ?? '?'} commits${worktree.dirty === true ? ', uncommitted changes' : ''}`,
        ]),
    ...found.missed_steers.map((steer) => `missed steer: ${steer.text}`),
  ].join('\n')
}

export async function steer({ open, out, words }: Invocation): Promise<number> {
  const id = word(words, 0, 'The ID of a child')
  const message = textOf(words, 1)
  return await withStore(await open('command'), async ({ commands }) => {
    const answer = granted(await commands.steer({ subagent_id: id, message }))
    out.print(answer, `Steer ${answer.steer_id} queued. ${answer.note}`)
    return 0
  })
}

export async function resume({ open, out, words }: Invocation): Promise<number> {
  const id = word(words, 0, 'The ID of a child')
  const message = textOf(words, 1)
  return await withStore(await open('command'), async ({ commands }) => {
    const answer = granted(await commands.resume({ subagent_id: id, ...(message.trim() === '' ? {} : { message }) }))
    out.print(answer, `Attempt ${answer.attempt} starts. ${answer.note}`)
    return 0
  })
}

/** Prints the command once nothing of the child runs any more: before that it would be the second in its session. */
export async function takeOver({ open, out, words }: Invocation): Promise<number> {
  const id = word(words, 0, 'The ID of a child')
  return await withStore(await open('command'), async (coxswain) => {
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

/** stop, interrupt, adopt, withdraw, answer, discard. */
export async function act(command: string, { open, out, words, flags }: Invocation): Promise<number> {
  const id = word(
    words,
    0,
    command === 'withdraw' ? 'A STEER_ID' : command === 'answer' ? 'A REQUEST_ID' : 'The ID of a child',
  )
  const reason = flags.reason === undefined ? {} : { reason: flags.reason }
  return await withStore(await open('command'), async (coxswain) => {
    const { commands } = coxswain
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
      case 'withdraw': {
        const owner = visible(coxswain).find(({ child }) => child.steers.some((s) => s.id === id))
        if (owner === undefined) throw new UsageError('invalid', `There is no steer ${id}.`)
        const answer = granted(await commands.withdrawSteer({ subagent_id: owner.child.id, steer_id: id }))
        out.print(answer, answer.note)
        return 0
      }
      case 'answer': {
        const asking = visible(coxswain).filter(({ child }) => child.requests.some((request) => request.id === id))
        if (asking.length !== 1 || asking[0] === undefined)
          throw new UsageError(
            'invalid',
            asking.length === 0
              ? `Nobody has asked anything under the id ${id}.`
              : `Several children have asked under the id ${id}; answer in the panel.`,
          )
        const text = textOf(words, 1)
        const answer =
          flags.allow === true
            ? ({ kind: 'allow', scope: 'once' } as const)
            : flags.deny !== undefined
              ? ({ kind: 'deny', message: flags.deny } as const)
              : ({ kind: 'text', text } as const)
        if (answer.kind === 'text' && text.trim() === '')
          throw new UsageError('invalid', 'The answer is empty. Give a text, --allow, or --deny WHY.')
        const done = granted(await commands.answer({ subagent_id: asking[0].child.id, request_id: id, answer }))
        out.print(done, done.note)
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
        const answer = granted(
          await commands.discard({ subagent_id: id, ...(flags.force === true ? { force: true } : {}) }),
        )
        out.print(answer, answer.note)
        return 0
      }
    }
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
