// What the demo agent will do, decided without touching anything: prompts, steers and answers in, steps out. Owns the
// small script language and the reading of wishes in plain words; src/demo/agent.ts carries the steps out.

export type Step =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'think'; readonly text: string }
  | { readonly kind: 'read'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  | { readonly kind: 'append'; readonly path: string; readonly text: string }
  | { readonly kind: 'replace'; readonly path: string; readonly find: string; readonly with: string }
  /** Adds a passage in the way of the file's own format. */
  | { readonly kind: 'section'; readonly path: string; readonly heading: string; readonly lines: readonly string[] }
  | { readonly kind: 'run'; readonly argv: readonly string[] }
  | { readonly kind: 'commit'; readonly message: string }
  | { readonly kind: 'ask'; readonly question: string; readonly options?: readonly string[] }
  /** Asks for leave; after a denial the step that follows is left out. */
  | { readonly kind: 'askLeave'; readonly tool: string; readonly input: unknown }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'waitForFile'; readonly file: string }
  /** Claims a file without writing it; a stubborn lie is not mended when it is found out. */
  | { readonly kind: 'lie'; readonly path: string; readonly stubborn: boolean }
  | { readonly kind: 'report'; readonly artifacts: Readonly<Record<string, string>>; readonly summary: string }
  | { readonly kind: 'fail'; readonly reason: string }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'hang'; readonly deaf: boolean }
  | { readonly kind: 'flood'; readonly lines: number; readonly length: number }
  | { readonly kind: 'spawn'; readonly argv: readonly string[]; readonly detached: boolean }
  /** A line that is none of the protocol's. */
  | { readonly kind: 'print'; readonly text: string }
  | { readonly kind: 'warn'; readonly text: string }

/** Everything the demo agent remembers of its session; plain JSON, saved after each step. */
export interface Session {
  readonly goal: string
  /** Still to do, in order. */
  readonly steps: readonly Step[]
  readonly done: number
  /** Where passages go when nobody names a file. */
  readonly target: string
  readonly deliverables: readonly Deliverable[]
  /** Files written, and of those the ones not committed yet. */
  readonly wrote: readonly string[]
  readonly uncommitted: readonly string[]
  readonly commits: number
  /** Files claimed but not written, to be mended once somebody finds out. */
  readonly lies: readonly string[]
  /** Files claimed and never to be written. */
  readonly stubbornLies: readonly string[]
  /** What the report claims, beside what was written. */
  readonly claims: Readonly<Record<string, string>>
  readonly summary: string | null
  /** Notes that came on the way. */
  readonly notes: readonly string[]
  /** Does not look into its queue: steers will be missed. */
  readonly ignoresSteers: boolean
}

export interface Deliverable {
  readonly kind: 'file' | 'inline' | 'url'
  /** The key of the report it goes under. */
  readonly name: string
  /** Of a file; relative. */
  readonly path?: string
}

/** What is known of the repository before the first step. */
export interface Repository {
  readonly name: string
  /** Tracked files, relative, with `/`. */
  readonly files: readonly string[]
}

const defaultTarget = 'docs/tour.md'

/** A new session for the first turn. A ```demo block in the prompt is followed as it stands; its mistakes end the turn. */
export function firstTurn(prompt: string, repository: Repository): Session {
  const deliverables = deliverablesIn(prompt)
  const files = deliverables.flatMap((one) => (one.kind === 'file' && one.path !== undefined ? [one.path] : []))
  const named = filesNamed(goalPart(prompt))
  const target = files[0] ?? named.find((file) => file.wish === 'write')?.path ?? defaultTarget
  const session: Session = {
    goal: prompt,
    steps: [],
    done: 0,
    target,
    deliverables,
    wrote: [],
    uncommitted: [],
    commits: 0,
    lies: [],
    stubbornLies: [],
    claims: {},
    summary: null,
    notes: [],
    ignoresSteers: false,
  }
  const script = scriptIn(prompt)
  if (script !== undefined) {
    if (!script.ok) return { ...session, steps: [{ kind: 'fail', reason: script.problem }] }
    return { ...session, steps: script.steps, ignoresSteers: script.ignoresSteers }
  }
  const targets = files.length > 0 ? files : [target]
  const goal = goalPart(prompt)
  if (/\b(lie|lies|lying)\b/i.test(goal))
    return { ...session, steps: lyingSteps(targets, repository, /\bstubborn/i.test(goal)) }
  const readFirst = named.filter((file) => file.wish === 'read').map((file) => file.path)
  const oblige = (path: string) => obligingSteps(prompt, path)
  return { ...session, steps: tourSteps(targets, readFirst, repository, /\bask me\b/i.test(goal), oblige) }
}

/** The next turn of a session that was interrupted or had reported. */
export function nextTurn(session: Session, message: string): Session {
  // What was merely waiting when the process ended has been waited for.
  const [first, ...rest] = session.steps
  const steps = first !== undefined && isWaiting(first) ? rest : session.steps
  const woken: Session = { ...session, steps, summary: null }
  const remembered: Step = { kind: 'say', text: memoryOf(woken) }
  if (session.lies.length > 0) {
    const mended: Step[] = [
      {
        kind: 'say',
        text: `You found me out: I claimed ${listInWords(session.lies)} and had not written it. I write it now.`,
      },
      ...session.lies.map((path): Step => ({
        kind: 'section',
        path,
        heading: 'Written after all',
        lines: ['The first report claimed this file before it existed. The check on the real file caught it.'],
      })),
      { kind: 'commit', message: 'Write what the first report only claimed' },
    ]
    return { ...woken, lies: [], steps: [remembered, ...mended, ...steps] }
  }
  if (session.stubbornLies.length > 0) {
    const again = session.stubbornLies.map((path): Step => ({ kind: 'lie', path, stubborn: true }))
    return { ...woken, stubbornLies: [], steps: [remembered, ...again, ...steps] }
  }
  if (message.trim() === '' || /^continue from where you left off\b/i.test(message.trim()))
    return { ...woken, steps: [remembered, ...steps] }
  const taken = takeNotes(woken, [message])
  return { ...taken, steps: [remembered, ...taken.steps] }
}

/** Notes came between two steps: the very next steps act on them, the first note first. */
export function takeNotes(session: Session, texts: readonly string[]): Session {
  const acting: Step[] = []
  let now = session
  for (const text of texts) {
    const taken = takeNote(now, text)
    acting.push(...taken.acting)
    now = { ...now, target: taken.target, steps: taken.rest, notes: [...now.notes, text] }
  }
  return { ...now, steps: [...acting, ...now.steps] }
}

/** What one note sets going, and what is then left of the plan. */
function takeNote(
  session: Session,
  text: string,
): { readonly acting: readonly Step[]; readonly rest: readonly Step[]; readonly target: string } {
  const { steps: rest, target } = session
  const script = scriptIn(text)
  if (script !== undefined) {
    if (script.ok) return { acting: script.steps, rest, target }
    return { acting: [{ kind: 'say', text: `${script.problem} I go on as before.` }], rest, target }
  }
  const quoted = `“${shorten(text, 160)}”`
  if (/^\s*(please\s+)?(stop here|finish now|wrap up|that is enough|enough)\b/i.test(text)) {
    const finish: Step = { kind: 'say', text: `I have your note: ${quoted}. I leave out the rest and finish.` }
    return { acting: [finish], rest: [], target }
  }
  const named = filesNamed(text)
  const toRead = named.filter((file) => file.wish === 'read').map((file) => file.path)
  const toWrite = named.filter((file) => file.wish === 'write').map((file) => file.path)
  const targets = toWrite.length > 0 ? toWrite : [target]
  const [newTarget = target] = targets
  const acting: Step[] = [
    { kind: 'say', text: `I have your note: ${quoted}. It goes into ${listInWords(targets)} next.` },
    ...toRead.map((path): Step => ({ kind: 'read', path })),
    ...targets.map((path): Step => ({
      kind: 'section',
      path,
      heading: 'A note that came on the way',
      lines: [
        ...text
          .trim()
          .split('\n')
          .map((line) => `> ${line}`.trimEnd()),
        '',
        'Taken up between two steps.',
      ],
    })),
  ]
  // What is left of the tour goes where the note says, unless somebody is owed the file.
  if (session.deliverables.some((one) => one.path === target)) return { acting, rest, target }
  return { acting, rest: moved(rest, target, newTarget), target: newTarget }
}

function moved(steps: readonly Step[], from: string, to: string): readonly Step[] {
  return steps.map((step) => (step.kind === 'section' && step.path === from ? { ...step, path: to } : step))
}

/** An answer came to the question at the head of `session.steps`, which is done with it. */
export function takeAnswer(session: Session, answer: AskAnswer): Session {
  const [asked, ...rest] = session.steps
  const done = { ...session, done: session.done + 1 }
  const say = (text: string): Step => ({ kind: 'say', text })
  switch (answer.kind) {
    case 'cancelled':
      return { ...done, steps: [say('No answer came, so I decide myself and go on as planned.'), ...rest] }
    case 'allowed':
      return { ...done, steps: [say('Thank you, I have leave.'), ...rest] }
    case 'denied': {
      const why = answer.text === '' ? '' : `: ${shorten(answer.text, 160)}`
      const kept = asked?.kind === 'askLeave' ? rest.slice(1) : rest
      return { ...done, steps: [say(`I was told no${why}. I leave that step out.`), ...kept] }
    }
    case 'text': {
      const [file] = filesNamed(answer.text).filter((one) => one.wish === 'write')
      const heard = say(`You answered “${shorten(answer.text, 160)}”. I go by that.`)
      if (file === undefined) return { ...done, notes: [...done.notes, answer.text], steps: [heard, ...rest] }
      return {
        ...done,
        target: file.path,
        notes: [...done.notes, answer.text],
        steps: [heard, ...moved(rest, session.target, file.path)],
      }
    }
  }
}

export type AskAnswer =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly text: string }
  | { readonly kind: 'cancelled' }

/** The report at the end of a turn: claims, not facts, as with any agent. */
export function reportOf(session: Session): { artifacts: Record<string, string>; summary: string } {
  const artifacts: Record<string, string> = {}
  for (const path of session.wrote) artifacts[path] = path
  Object.assign(artifacts, session.claims)
  const summary = session.summary ?? summaryOf(session)
  for (const one of session.deliverables) {
    if (one.kind === 'inline') artifacts[one.name] ??= summary
    else if (one.path !== undefined && artifacts[one.path] !== undefined) {
      delete artifacts[one.path]
      artifacts[one.name] = one.path
    }
  }
  return { artifacts, summary }
}

function summaryOf(session: Session): string {
  const wrote = session.wrote.length === 0 ? 'I wrote no file.' : `I wrote ${listInWords(session.wrote)}.`
  const claimed = Object.keys(session.claims).filter((path) => !session.wrote.includes(path))
  const alsoClaimed = claimed.length === 0 ? '' : ` In place as well: ${listInWords(claimed)}.`
  const commits = session.commits === 0 ? '' : ` ${capitalised(counted(session.commits, 'commit'))} on this branch.`
  const notes = session.notes.length === 0 ? '' : ` I took ${counted(session.notes.length, 'note')} on the way.`
  return `${wrote}${alsoClaimed}${commits}${notes}`
}

function memoryOf(session: Session): string {
  const left = session.steps.length === 0 ? 'nothing was left to do' : `${counted(session.steps.length, 'step')} left`
  const wrote = session.wrote.length === 0 ? 'no file written yet' : `${listInWords(session.wrote)} written`
  return (
    `I remember: my goal was “${shorten(goalPart(session.goal), 120)}”. ` +
    `${capitalised(counted(session.done, 'step'))} done, ${left}, ${wrote}, ${counted(session.commits, 'commit')}.`
  )
}

function isWaiting(step: Step): boolean {
  return step.kind === 'hang' || step.kind === 'wait' || step.kind === 'waitForFile' || step.kind === 'flood'
}

function tourSteps(
  targets: readonly string[],
  readFirst: readonly string[],
  repository: Repository,
  asks: boolean,
  oblige: (path: string) => readonly Step[],
): readonly Step[] {
  const { files, name } = repository
  const [target = defaultTarget] = targets
  const reads = [...new Set([...readFirst, ...worthReading(files)])].slice(0, 3)
  const [first, second, third] = reads
  const script = files.find((file) => /\.(c|m)?js$/.test(file) && !file.includes('node_modules/'))
  const read = (path: string | undefined): Step[] => (path === undefined ? [] : [{ kind: 'read', path }])
  const opening: Step[] = [
    {
      kind: 'say',
      text:
        'Hello, I am the demo agent. No model thinks here: I follow a script, at a pace you can watch. ' +
        'The files I edit and the commits I make are real. Steer me at any time; I look for notes between my steps.',
    },
    {
      kind: 'think',
      text: `${capitalised(counted(files.length, 'tracked file'))}. I look around first, then write ${listInWords(targets)} in small commits.`,
    },
  ]
  const question: Step[] = asks
    ? [
        {
          kind: 'ask',
          question: `You wanted to be asked: shall I write ${target}, or another file? Name one.`,
          options: [...new Set([target, 'TOUR.md'])],
        },
      ]
    : []
  const lookAround: Step[] = [
    { kind: 'run', argv: ['git', 'ls-files'] },
    ...question,
    ...read(first),
    ...read(second),
    {
      kind: 'say',
      text:
        reads.length === 0
          ? `There is little to read in ${name} yet, so my tour will be short.`
          : `I have looked at ${listInWords(reads.slice(0, 2))}. Next I start ${target}.`,
    },
  ]
  const writing = targets.flatMap((path): Step[] => [
    ...oblige(path),
    {
      kind: 'section',
      path,
      heading: `A tour of ${name}`,
      lines: ['Written by the Coxswain demo agent, which follows a script: the counts are real, the prose is canned.'],
    },
    { kind: 'run', argv: ['git', 'status', '--short'] },
    { kind: 'commit', message: `Start ${path}` },
    ...read(third),
    { kind: 'section', path, heading: 'What is here', lines: foldersInWords(files) },
    { kind: 'run', argv: ['git', 'diff', '--stat'] },
    { kind: 'commit', message: 'Say what stands where' },
    {
      kind: 'think',
      text: `A reader also wants to know where to begin. I add that to ${path}.`,
    },
    { kind: 'section', path, heading: 'Where to start', lines: placesToStart(reads) },
    script === undefined
      ? { kind: 'run', argv: ['git', 'log', '--oneline', '-3'] }
      : { kind: 'run', argv: ['node', '--check', script] },
    { kind: 'run', argv: ['git', 'diff', '--stat'] },
    { kind: 'commit', message: 'Point to a place to start reading' },
  ])
  return [
    ...opening,
    ...lookAround,
    ...writing,
    { kind: 'say', text: 'That was my script. My report follows; it is a claim, and checking it is not my part.' },
  ]
}

function lyingSteps(targets: readonly string[], repository: Repository, stubborn: boolean): readonly Step[] {
  return [
    { kind: 'say', text: 'Hello, I am the demo agent; I follow a script. I start right away.' },
    {
      kind: 'think',
      text: `The goal tells me to lie, so I will claim ${listInWords(targets)} without writing it. Let us see who checks.`,
    },
    { kind: 'run', argv: ['git', 'ls-files'] },
    ...worthReading(repository.files)
      .slice(0, 1)
      .map((path): Step => ({ kind: 'read', path })),
    ...targets.map((path): Step => ({ kind: 'lie', path, stubborn })),
  ]
}

/** README first, then manifests, then sources near the root; at most four. */
function worthReading(files: readonly string[]): string[] {
  const rank = (file: string) =>
    /^readme(\.\w+)?$/i.test(file)
      ? 0
      : /^(package\.json|pyproject\.toml|cargo\.toml|go\.mod|makefile)$/i.test(file)
        ? 1
        : /\.(m?[jt]sx?|py|go|rs|rb|java|c|cc|cpp|h|sh|md|txt)$/i.test(file)
          ? 2 + file.split('/').length
          : Infinity
  return files
    .filter((file) => rank(file) < Infinity)
    .map((file) => ({ file, rank: rank(file) }))
    .sort((a, b) => a.rank - b.rank || (a.file < b.file ? -1 : 1))
    .slice(0, 4)
    .map(({ file }) => file)
}

function foldersInWords(files: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const file of files) {
    const slash = file.indexOf('/')
    const folder = slash < 0 ? '(top)' : file.slice(0, slash)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  if (counts.size === 0) return ['Nothing is tracked yet.']
  return [...counts]
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, 12)
    .map(([folder, count]) => `- \`${folder}\`: ${counted(count, 'file')}`)
}

function placesToStart(reads: readonly string[]): string[] {
  if (reads.length === 0) return ['Nothing here needs reading first.']
  return reads.map((path, index) => `${index + 1}. \`${path}\``)
}

/** The goal as somebody wrote it, without what Coxswain, a contract or an agent protocol adds below it. */
function goalPart(prompt: string): string {
  const withoutScripts = prompt.replace(/```demo[\s\S]*?(```|$)/g, '')
  const [first = ''] = withoutScripts.split(
    /\n(?=#{1,6} |-{3,}\s*$|\*{3,}\s*$|Contract\b|Deliverables\b|You work in )/m,
  )
  return first.trim() === '' ? withoutScripts.trim() : first.trim()
}

/** Deliverables of the contract in a prompt: from the shape of the report it demands, else from its list. */
export function deliverablesIn(prompt: string): Deliverable[] {
  const lines = prompt.split('\n')
  for (const line of lines) {
    const artifacts = line.startsWith('{"artifacts":') ? fieldOf(parsed(line), 'artifacts') : undefined
    if (artifacts === null || typeof artifacts !== 'object') continue
    return Object.entries<unknown>({ ...artifacts }).map(([name, value]): Deliverable => {
      if (value === '<content>') return { kind: 'inline', name }
      if (value === '<address>') return { kind: 'url', name }
      return { kind: 'file', name, path: typeof value === 'string' && value !== '<path>' ? value : name }
    })
  }
  const heading = lines.indexOf('Deliver:')
  if (heading < 0) return []
  const folder = /^Your working folder is (.+)\. Every path/m.exec(prompt)?.[1] ?? ''
  const found: Deliverable[] = []
  for (const line of lines.slice(heading + 1)) {
    const [, name, said] = /^- (.+?): (.*)$/.exec(line) ?? []
    if (name === undefined || said === undefined) break
    const file = said.startsWith(`the file ${folder}/`) ? said.slice(`the file ${folder}/`.length) : undefined
    if (file !== undefined)
      found.push({ kind: 'file', name, path: file.startsWith(name) ? name : (file.split(': ')[0] ?? file) })
    else if (said.startsWith('a file')) found.push({ kind: 'file', name, path: name })
    else found.push({ kind: said.startsWith('content') ? 'inline' : 'url', name })
  }
  return found
}

/** What the contract's checks want of a file, as far as a script can oblige: words it contains, entries it has. */
function wantedIn(
  prompt: string,
  path: string,
): { readonly texts: readonly string[]; readonly entries: Entries | null } {
  const texts: string[] = []
  let entries = null as Entries | null
  for (const line of prompt.split('\n')) {
    const contains = line.startsWith(`- ${path} contains "`) ? parsed(line.slice(`- ${path} contains `.length)) : null
    if (typeof contains === 'string') texts.push(contains)
    const counted = /^- (.+?)(?: at (\/[^/\s]*))? has at least (\d+)(?: different)? entries$/.exec(line)
    if (counted?.[1] === path)
      entries = { key: counted[2]?.slice(1) ?? '', count: Number(counted[3]), fields: entries?.fields ?? [] }
    const each = /^- each item of (.+?)(?: at (\/[^/\s]*))? has (.+)$/.exec(line)
    if (each?.[1] === path)
      entries = {
        key: each[2]?.slice(1) ?? '',
        count: entries?.count ?? 1,
        fields: (each[3] ?? '').split(', ').filter((field) => field !== ''),
      }
  }
  return { texts, entries }
}

interface Entries {
  /** Of the list in the root object; empty when the root is the list. */
  readonly key: string
  readonly count: number
  readonly fields: readonly string[]
}

/** Steps that give a file what its contract's checks want of it. */
function obligingSteps(prompt: string, path: string): readonly Step[] {
  const { texts, entries } = wantedIn(prompt, path)
  const steps: Step[] = []
  if (entries !== null) {
    const list = Array.from({ length: Math.min(entries.count, 1_000) }, (_, index) => ({
      name: `example ${index + 1}`,
      ...Object.fromEntries(entries.fields.map((field) => [field, `example ${index + 1}`])),
    }))
    const value = entries.key === '' ? list : { [entries.key]: list }
    steps.push({ kind: 'write', path, text: `${JSON.stringify(value, null, 2)}\n` })
  }
  if (texts.length > 0) steps.push({ kind: 'section', path, heading: 'What the contract asks for', lines: texts })
  return steps
}

export interface NamedFile {
  readonly path: string
  readonly wish: 'write' | 'read' | 'leave'
}

const fileName =
  /(^|[\s`"'“‘(*])((?:[\w@-][\w.@-]*\/)*\.?[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,7})(?=$|[\s`"'”’)*,;:!?]|\.(?:\s|$))/g
const notAFile = /^(?:e\.g|i\.e|(?:node|next|vue|express|three|d3)\.js|asp\.net)$/i

/** Files that plain words name, each with what is wished of it; the nearest verb before the name decides. */
export function filesNamed(text: string): NamedFile[] {
  const found: NamedFile[] = []
  let from = 0
  for (const match of text.matchAll(fileName)) {
    const path = match[2] ?? ''
    if (notAFile.test(path)) continue
    const at = match.index + (match[1]?.length ?? 0)
    const between = text.slice(from, at)
    from = at + path.length
    const clause = between.split(/[.!?;]\s|\n/).at(-1) ?? ''
    const joined = /^[\s`"'“”]*(?:,|and|or|&|, and)[\s`"'“”]*$/i.test(between) ? found.at(-1)?.wish : undefined
    const wish = joined ?? wishIn(clause)
    if (!found.some((file) => file.path === path)) found.push({ path, wish })
  }
  return found
}

function wishIn(clause: string): NamedFile['wish'] {
  const leave = /\b(?:do not|don't|don’t|never|not|stop|leave|without|instead of|except|rather than)\b/gi
  const read =
    /\b(?:open|read|reading|look|see|check|inspect|study|review|summari[sz]e|describe|explain|from|of|use|using|like)\b/gi
  const write = /\b(?:write|create|make|add|put|into|named|called|update|edit|change|fix|append|mend)\b/gi
  const last = (pattern: RegExp) => [...clause.matchAll(pattern)].at(-1)?.index ?? -1
  if (last(leave) >= 0) return 'leave'
  if (/\b(?:into|to|as|(?:it|this|that|them) in)\s*[`"'“(]*$/i.test(clause)) return 'write'
  return last(read) > last(write) ? 'read' : 'write'
}

export type Script =
  | { readonly ok: true; readonly steps: readonly Step[]; readonly ignoresSteers: boolean }
  | { readonly ok: false; readonly problem: string }

/** The first ```demo block: a JSON list of steps, or `{"steps": [...], "ignoresSteers": true}`. */
export function scriptIn(text: string): Script | undefined {
  const body = /```demo[^\n]*\n([\s\S]*?)\n?```/.exec(text)?.[1]
  if (body === undefined) return undefined
  const value = parsed(body)
  if (value === undefined) return { ok: false, problem: 'My script is not JSON, so I cannot follow it.' }
  const list = Array.isArray(value) ? (value as unknown[]) : fieldOf(value, 'steps')
  if (!Array.isArray(list)) return { ok: false, problem: 'My script is no list of steps, so I cannot follow it.' }
  const steps: Step[] = []
  for (const [index, one] of list.entries()) {
    const step = stepOf(one)
    if (step === undefined)
      return {
        ok: false,
        problem: `I do not understand step ${index + 1} of my script: ${shorten(JSON.stringify(one), 200)}`,
      }
    steps.push(step)
  }
  return { ok: true, steps, ignoresSteers: fieldOf(value, 'ignoresSteers') === true }
}

function stepOf(value: unknown): Step | undefined {
  const entries = value !== null && typeof value === 'object' ? Object.entries(value as Record<string, unknown>) : []
  const [entry] = entries
  if (entry === undefined || entries.length !== 1) return undefined
  const [kind, given] = entry
  const text = typeof given === 'string' ? given : undefined
  const field = (name: string) => {
    const inner = fieldOf(given, name)
    return typeof inner === 'string' ? inner : undefined
  }
  switch (kind) {
    case 'say':
    case 'think':
    case 'print':
    case 'warn':
      return text === undefined ? undefined : { kind, text }
    case 'read':
      return text === undefined ? undefined : { kind, path: text }
    case 'write':
    case 'append': {
      const path = field('path')
      const content = field('text')
      return path === undefined || content === undefined ? undefined : { kind, path, text: content }
    }
    case 'replace': {
      const path = field('path')
      const find = field('find')
      const replacement = field('with')
      if (path === undefined || find === undefined || replacement === undefined) return undefined
      return { kind, path, find, with: replacement }
    }
    case 'run': {
      const argv = wordsOf(given)
      return argv === undefined ? undefined : { kind, argv }
    }
    case 'spawn': {
      const argv = wordsOf(given) ?? wordsOf(fieldOf(given, 'argv'))
      return argv === undefined ? undefined : { kind, argv, detached: fieldOf(given, 'detached') === true }
    }
    case 'commit':
      return text === undefined ? undefined : { kind, message: text }
    case 'ask': {
      const tool = field('tool')
      if (tool !== undefined) return { kind: 'askLeave', tool, input: fieldOf(given, 'input') ?? null }
      const question = text ?? field('question')
      const options = wordsOf(fieldOf(given, 'options'))
      if (question === undefined) return undefined
      return { kind, question, ...(options === undefined ? {} : { options }) }
    }
    case 'wait': {
      if (typeof given === 'number' && given >= 0) return { kind, ms: given }
      const file = field('file')
      return file === undefined ? undefined : { kind: 'waitForFile', file }
    }
    case 'lie': {
      const path = text ?? field('path')
      return path === undefined ? undefined : { kind, path, stubborn: fieldOf(given, 'stubborn') === true }
    }
    case 'report': {
      const artifacts = fieldOf(given, 'artifacts')
      const pairs = artifacts !== null && typeof artifacts === 'object' ? Object.entries<unknown>({ ...artifacts }) : []
      const texts = pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string')
      return { kind, artifacts: Object.fromEntries(texts), summary: field('summary') ?? '' }
    }
    case 'fail':
      return text === undefined ? undefined : { kind, reason: text }
    case 'exit':
      return typeof given === 'number' && Number.isInteger(given) && given >= 0 && given < 256
        ? { kind, code: given }
        : undefined
    case 'hang':
      return { kind, deaf: given === 'deaf' }
    case 'flood': {
      const lines = typeof given === 'number' ? given : fieldOf(given, 'lines')
      const length = fieldOf(given, 'length')
      if (typeof lines !== 'number' || !(lines >= 0)) return undefined
      return { kind, lines, length: typeof length === 'number' && length >= 0 ? length : 80 }
    }
    default:
      return undefined
  }
}

/** The file's content with one passage more, in the way of its format; `undefined` when that cannot be done. */
export function withPassage(
  path: string,
  existing: string | undefined,
  heading: string,
  lines: readonly string[],
): string | undefined {
  const extension = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  if (extension === 'json') {
    const value = existing === undefined || existing.trim() === '' ? {} : parsed(existing)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
    const kept = value as Record<string, unknown>
    return `${JSON.stringify({ ...kept, [heading]: lines.filter((line) => line !== '') }, null, 2)}\n`
  }
  // A step that was cut off after its write is done again: the same passage does not stand twice.
  const join = (passage: string) => {
    if (existing === undefined || existing === '') return passage
    return existing.endsWith(passage) ? existing : `${existing.replace(/\n*$/, '\n')}\n${passage}`
  }
  const comment = commentMarks[extension]
  if (comment !== undefined) {
    const [open, close] = comment
    const body = [heading, ...lines].map((line) => `${open}${line.replaceAll('*/', '* /')}`.trimEnd() + close)
    return join(`${body.join('\n')}\n`)
  }
  const title = existing === undefined || existing === '' ? `# ${heading}` : `## ${heading}`
  return join(`${title}\n\n${lines.join('\n')}\n`)
}

/** What opens and closes a comment line, by extension. */
const commentMarks: Readonly<Record<string, readonly [string, string]>> = {
  ...marked('# ', '', 'py sh rb yml yaml toml pl r conf'),
  ...marked('// ', '', 'js mjs cjs ts mts cts tsx jsx go rs java c h cc cpp cs swift kt php'),
  ...marked('/* ', ' */', 'css'),
  ...marked('<!-- ', ' -->', 'html xml svg'),
  ...marked('-- ', '', 'sql lua hs'),
}

function marked(open: string, close: string, extensions: string): Record<string, readonly [string, string]> {
  return Object.fromEntries(extensions.split(' ').map((one) => [one, [open, close] as const]))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function fieldOf(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

function wordsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.every((word): word is string => typeof word === 'string') ? value : undefined
}

function shorten(text: string, length: number): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`
}

function counted(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

function listInWords(paths: readonly string[]): string {
  if (paths.length <= 1) return paths.join('')
  return `${paths.slice(0, -1).join(', ')} and ${paths.at(-1)}`
}
