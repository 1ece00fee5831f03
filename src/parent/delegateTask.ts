// `delegate_task`, the one tool of a parent agent, whoever carries it (MCP, the editor's chat): a wish in, an answer out,
// and with it the completions that are due. Nothing here waits for a child, save where a person configured join mode.
import { isRefusal, type Refusal } from '../supervisor/commands'
import { troubleInWords } from '../supervisor/troubleInWords'
import { isOver } from '../supervisor/waiting'
import type { Due, ParentStore } from './parentStore'
import { readWish, type Wish } from './wish'

export const toolName = 'delegate_task'

/** What a model reads before it uses the tool. */
export const toolDescription = `Hand work to supervised child agents. Each works in a git worktree and on a branch of its own, in the background.

After spawn: save the ids, finish what does not depend on the children, say one line, and end your turn. The completion comes by itself with a later answer. Never poll a transcript, an artefact or CI.
Steer when it is the right task and the wrong file; stop when it is the wrong task, looping, or burning budget; interrupt to pause it; resume to go on with a new instruction; respawn only when it is gone.
A steer is a directive, not a vibe. "be more thorough" does nothing. "Stop reading README.md. Open lib/auth.py. Report only null-derefs with file:line." does.
Do not delegate mechanical work: a loop with no judgment, one tool call, what needs a question to the user, what must outlive everything.
Children see nothing of this conversation and nothing of each other: write each goal so that it stands alone.
list, steer, stop, interrupt and result are free and at hand at any time, also when every place is taken. A completion says what a child claims and what was verified; those are two things.`

const unreadDue = 'What your children came to could not be read now and comes with a later answer.'

/** An answer on its way to a parent agent. */
export interface Told {
  readonly answer: object
  readonly refused: boolean
  readonly due: readonly Due[]
  /** Why it does not carry what is due. */
  readonly trouble?: string
  /** To be called when it has left: what it carries counts as taken with the parent's next call. */
  written(): void
  /** To be called instead when it will not leave: what it carries goes with the next answer. */
  lost(): void
}

export class DelegateTask {
  /** On their way with an answer; not said a second time to the same parent. */
  private readonly carried = new Set<string>()
  /** Of these the answer has left. */
  private readonly taken = new Set<string>()
  /** Children whose spawn has yet to be answered: what they come to goes with that answer and no other. */
  private readonly joining = new Set<string>()

  /** `join`: spawn answers once its children are over; a person's choice, never a parent's. */
  constructor(
    private readonly open: () => Promise<ParentStore | Refusal>,
    private readonly join = false,
  ) {}

  /** Answers every input; an abort of `signal` pauses children that are being joined. Rejects only for bugs. */
  async call(input: unknown, signal?: AbortSignal): Promise<Told> {
    // What had left before this call was made; what leaves while it runs is for the next one.
    const taken = [...this.taken]
    const said = readWish(input)
    const store = await this.open()
    if (isRefusal(store)) return this.told(isRefusal(said) ? said : store, [])
    const named = isRefusal(said) ? [] : said.acknowledge
    if (taken.length + named.length > 0) {
      const answer = await store.acknowledge([...new Set([...taken, ...named])])
      if (!isRefusal(answer)) for (const id of taken) this.taken.delete(id)
    }
    const joined: string[] = []
    try {
      const done = isRefusal(said) ? said : await this.act(said.wish, store, signal, joined)
      // What was done is answered all the same: who hears that it failed does it again.
      const all = await store.due().catch(troubleInWords)
      const due = (typeof all === 'string' ? [] : all).filter(
        ({ id, children }) =>
          !this.carried.has(id) && children.every((child) => !this.joining.has(child) || joined.includes(child)),
      )
      // Made after what is due was read, so that a list never shows as running what the same answer says has ended.
      const answer = done ?? store.list()
      return this.told(answer, due, typeof all === 'string' ? `${unreadDue} ${all}` : undefined)
    } finally {
      for (const id of joined) this.joining.delete(id)
    }
  }

  private told(answer: object, due: readonly Due[], trouble?: string): Told {
    const ids = due.map(({ id }) => id)
    for (const id of ids) this.carried.add(id)
    return {
      answer,
      refused: isRefusal(answer),
      due,
      ...(trouble === undefined ? {} : { trouble }),
      written: () => {
        for (const id of ids) this.taken.add(id)
      },
      lost: () => {
        for (const id of ids) this.carried.delete(id)
      },
    }
  }

  /** Null for a list. `joined`: takes the children this call has waited for. */
  private async act(
    wish: Wish,
    store: ParentStore,
    signal: AbortSignal | undefined,
    joined: string[],
  ): Promise<object | null> {
    const { commands } = store
    switch (wish.action) {
      case 'spawn':
        return await this.spawn(wish, store, signal, joined)
      case 'list':
        return null
      case 'result':
        return await store.result(wish.id, wish.round)
      case 'steer':
        return await caughtUp(store, commands.steer(wish.request))
      case 'stop':
        return await caughtUp(store, commands.stop(wish.request))
      case 'interrupt':
        return await caughtUp(store, commands.interrupt(wish.request))
      case 'resume':
        return await caughtUp(store, commands.resume(wish.request))
    }
  }

  private async spawn(
    { request, notes }: Extract<Wish, { action: 'spawn' }>,
    store: ParentStore,
    signal: AbortSignal | undefined,
    joined: string[],
  ): Promise<object> {
    const answer = await store.commands.spawn(request)
    if (!isRefusal(answer) && this.join) {
      joined.push(...answer.subagent_ids)
      for (const id of joined) this.joining.add(id)
    }
    await store.caughtUp()
    if (isRefusal(answer)) return answer
    const all = [...(answer.notes ?? []), ...notes]
    const noted = all.length === 0 ? {} : { notes: all }
    if (!this.join) return { ...answer, ...noted }
    await store.until(() => answer.subagent_ids.every((id) => isOver(store.child(id))), signal)
    if (signal?.aborted === true) {
      const reason = 'the agent that waited for it was stopped'
      for (const subagent_id of answer.subagent_ids)
        if (isRefusal(await store.commands.interrupt({ subagent_id, reason })))
          // Nothing of it runs yet: there is nothing to keep.
          await store.commands.stop({ subagent_id, reason })
    }
    const control_hint = 'These children are over; what each reported and what was verified follows.'
    return { ...answer, mode: 'join', control_hint, ...noted }
  }
}

/** The answer to what was done, once a list would show it. */
async function caughtUp<T>(store: ParentStore, doing: Promise<T>): Promise<T> {
  const answer = await doing
  await store.caughtUp()
  return answer
}

/** As a model reads it: the answer as JSON, then what is due, each in words, or why that has to wait. */
export function asTexts({ answer, due, trouble }: Told): string[] {
  return [JSON.stringify(answer), ...due.map(({ text }) => text), ...(trouble === undefined ? [] : [trouble])]
}
