// Every message between the extension host and the transcript panel; nothing else crosses. The host parses what comes
// from the webview, for a webview that shows hostile text may one day be made to say anything: no path, no command, only
// ids the host gave out and text a person typed. The webview imports types alone and trusts the host.
import { z } from 'zod'

/** Longest page sent to the webview, in bytes of JSON. */
export const PAGE_BYTES = 256 * 1024
/** A text longer than this is cut in the page; the whole opens in an editor. UTF-16 units. */
export const ENTRY_TEXT_MAX = 12_000

/** Files offered for one mention. */
export const MENTIONS_MAX = 10

const id = z.string().min(1).max(200)
const childId = id
const n = z.number().int().nonnegative().max(100_000_000)

// ---- from the webview ----

const answer = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text: z.string().max(16_000) }),
  z.strictObject({ kind: z.literal('allow'), scope: z.enum(['once', 'child']) }),
  z.strictObject({ kind: z.literal('deny'), message: z.string().max(4_000) }),
])

/** Longer than the supervisor allows, so that a person hears its refusal instead of nothing. */
const typed = z.string().max(200_000)
/** The webview's own number for a wish; the outcome names it. */
const wish = z.number().int().nonnegative()

const fromWebviewSchema = z.discriminatedUnion('type', [
  /** The script runs; it remembers this child, or none. Answered by a snapshot. */
  z.strictObject({ type: z.literal('ready'), childId: childId.nullable() }),
  /** The update with this number has been taken in; the next may follow. */
  z.strictObject({ type: z.literal('ack'), seq: n }),
  z.strictObject({ type: z.literal('page'), childId, from: n, count: z.number().int().min(1).max(400) }),
  z.strictObject({ type: z.literal('steer'), wish, childId, steerId: id, text: typed }),
  z.strictObject({ type: z.literal('editSteer'), wish, childId, steerId: id, text: typed }),
  z.strictObject({ type: z.literal('withdrawSteer'), wish, childId, steerId: id }),
  z.strictObject({ type: z.literal('reorderSteers'), wish, childId, order: z.array(id).max(200) }),
  z.strictObject({ type: z.literal('pause'), wish, childId }),
  z.strictObject({ type: z.literal('stop'), wish, childId }),
  z.strictObject({ type: z.literal('verify'), wish, childId }),
  /** Resumes it with what its verdict found wrong. */
  z.strictObject({ type: z.literal('retry'), wish, childId }),
  z.strictObject({ type: z.literal('acceptPartial'), wish, childId }),
  /** Asks how, and before it overrides anything; the questions are the host's. */
  z.strictObject({ type: z.literal('apply'), wish, childId }),
  /** Does what is suggested for it, or takes that away: the suggestion of this reason, and no other. */
  z.strictObject({ type: z.literal('applySuggestion'), wish, childId, reason: typed }),
  z.strictObject({ type: z.literal('dismissSuggestion'), wish, childId, reason: typed }),
  /** Takes back every steer that was missed. */
  z.strictObject({ type: z.literal('dismissMissed'), wish, childId }),
  z.strictObject({ type: z.literal('resume'), wish, childId, text: typed.nullable() }),
  z.strictObject({ type: z.literal('answer'), wish, childId, requestId: id, answer }),
  /** Takes back what was allowed for the whole child. */
  z.strictObject({ type: z.literal('revoke'), wish, childId, requestId: id }),
  z.strictObject({
    type: z.literal('find'),
    wish,
    childId,
    query: z.string().min(1).max(500),
    after: n.nullable(),
    back: z.boolean(),
  }),
  /** How many hits there are, told by `counted` while they are looked for. */
  z.strictObject({ type: z.literal('count'), wish, childId, query: z.string().min(1).max(500) }),
  /** Files of its worktree that may be meant by what is typed behind an @. Answered by `mentioned`. */
  z.strictObject({ type: z.literal('mention'), wish, childId, query: z.string().max(500) }),
  /** Opens its changes in VS Code's own diff editor. */
  z.strictObject({ type: z.literal('review'), childId }),
  /** A terminal in its worktree, for a person to go on where it stands. */
  z.strictObject({ type: z.literal('takeOver'), childId }),
  /** Asks for a message, closes its terminal and lets it go on here. */
  z.strictObject({ type: z.literal('handBack'), childId }),
  /** Asks, and makes it the person's own. */
  z.strictObject({ type: z.literal('adopt'), childId }),
  /** The file a check points at, at its line, or all it found; `check` counts from 0 in the verdict shown. */
  z.strictObject({ type: z.literal('openCheck'), childId, check: n, what: z.enum(['file', 'finding']) }),
  /** Show the whole of an entry that was cut, in an editor. */
  z.strictObject({ type: z.literal('open'), childId, n, part: z.enum(['text', 'input', 'output']) }),
])
export type FromWebview = z.infer<typeof fromWebviewSchema>

/** A message from the webview, or null when it is none: it is then counted and dropped. */
export function readFromWebview(message: unknown): FromWebview | null {
  const parsed = fromWebviewSchema.safeParse(message)
  return parsed.success ? parsed.data : null
}

// ---- to the webview ----

const able = z.discriminatedUnion('able', [
  z.object({ able: z.literal(true) }),
  z.object({ able: z.literal(false), why: z.string() }),
])

/** A text, perhaps cut; `whole` is its full length in UTF-16 units. */
const shownText = z.object({ text: z.string(), whole: z.number() })

const steerState = z.enum(['queued', 'sent', 'delivered', 'confirmed', 'missed', 'withdrawn', 'refused', 'unknown'])
const panelSteerSchema = z.object({
  id,
  text: z.string(),
  /** Who gave it, in words. */
  by: z.string(),
  state: steerState,
  /** The state as a sentence with its evidence. */
  words: z.string(),
  /** It can still be edited, reordered and withdrawn. */
  waiting: z.boolean(),
  /** Every state it passed through; `how` = how we know, in words, where there is more to say than the state. */
  history: z.array(z.object({ state: steerState, at: z.string(), how: z.string().nullable() })),
})

const panelRequestSchema = z.object({
  id,
  askedAt: z.string(),
  ask: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('question'), question: z.string(), options: z.array(z.string()) }),
    z.object({
      kind: z.literal('approval'),
      tool: z.string(),
      input: shownText,
      detail: z.string().nullable(),
      folder: z.string().nullable(),
      /** What it covers when it is allowed for the whole child. */
      covers: z.string(),
    }),
  ]),
})

export const panelChildSchema = z.object({
  childId,
  title: z.string(),
  goal: z.string(),
  phase: z.string(),
  /** For the sign beside the words. */
  icon: z.object({ id: z.string(), color: z.string().nullable() }),
  need: z.string().nullable(),
  live: z.boolean(),
  activity: z.string().nullable(),
  activityAt: z.string().nullable(),
  reason: z.string().nullable(),
  agent: z.string(),
  /** Whose child it is, in words. */
  parent: z.string(),
  /** Nobody speaks for its parent: a person can adopt it. */
  parentAway: z.boolean(),
  model: z.string().nullable(),
  branch: z.string().nullable(),
  /** What its attempts have run so far, in milliseconds, pauses left out; and since when the present one runs. */
  ranMs: z.number(),
  runningSince: z.string().nullable(),
  tokens: z.string().nullable(),
  cost: z.string().nullable(),
  accepting: z.boolean(),
  /** For the header: a few words. */
  steeringBrief: z.string(),
  /** The mode when it accepts, the reason when it does not. */
  steering: z.string(),
  can: z.object({
    steer: able,
    pause: able,
    resume: able,
    stop: able,
    review: able,
    verify: able,
    apply: able,
    retry: able,
    acceptPartial: able,
    takeOver: able,
  }),
  /** A person has its session in a terminal. */
  takenOver: z.boolean(),
  /** What the watch would do: for which reason, and in which words it would steer. */
  suggestion: z
    .object({ action: z.enum(['steer', 'stop']), reason: z.string(), message: z.string().nullable() })
    .nullable(),
  /** Its worktree is gone: nothing can be sent to it any more. */
  discarded: z.boolean(),
  /** It says it is done, so that its work waits for a person. */
  done: z.boolean(),
  /** It has a contract, so that there is something to check. */
  hasContract: z.boolean(),
  requests: z.array(panelRequestSchema),
  /** What it may go on doing unasked, in words, since it was allowed for the whole child. */
  permissions: z.array(z.object({ id, words: z.string(), revoke: able })),
  steers: z.array(panelSteerSchema),
  missed: z.number(),
  verdict: z
    .object({
      status: z.enum(['verified', 'failed', 'incomplete', 'parse_error', 'unverified', 'stale']),
      /** What it comes to, e.g. "partial: 1 check failed". */
      words: z.string(),
      /** What follows from it, or null. */
      then: z.string().nullable(),
      attempt: z.number(),
      /** Why it says nothing of the work as it is now, or null. */
      stale: z.string().nullable(),
      /** Something did not pass, so that a person has a choice to make. */
      open: z.boolean(),
      /** Earlier verdicts of the same round, oldest first. */
      earlier: z.array(z.object({ attempt: z.number(), words: z.string() })),
      notes: z.array(z.string()),
      checks: z.array(
        z.object({
          name: z.string(),
          result: z.enum(['PASS', 'FAIL', 'UNKNOWN']),
          reason: z.string(),
          /** What the report says of it. */
          claim: z.string().nullable(),
          evidence: z.string().nullable(),
          /** A file of the worktree, with its line: `src/a.js:3`. */
          place: z.string().nullable(),
          ms: z.number(),
        }),
      ),
      /** Checks beyond those listed. */
      more: z.number(),
    })
    .nullable(),
})
export type PanelChild = z.infer<typeof panelChildSchema>
export type PanelSteer = z.infer<typeof panelSteerSchema>
export type PanelRequest = z.infer<typeof panelRequestSchema>

/** A transcript entry as shown: sanitised, long texts cut. */
export const panelEntrySchema = z.intersection(
  z.object({ n, at: z.string(), attempt: z.number() }),
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('turn'), words: z.string(), prompt: shownText }),
    z.object({ kind: z.literal('text'), text: shownText, subagent: z.string().nullable() }),
    z.object({ kind: z.literal('reasoning'), text: shownText }),
    z.object({
      kind: z.literal('toolStarted'),
      toolId: z.string(),
      name: z.string(),
      /** The one argument that says most, one line. */
      brief: z.string(),
      input: shownText,
      subagent: z.string().nullable(),
    }),
    z.object({ kind: z.literal('toolEnded'), toolId: z.string(), output: shownText, isError: z.boolean() }),
    z.object({ kind: z.literal('steer'), steerId: z.string(), text: z.string(), by: z.string() }),
    z.object({ kind: z.literal('receipt'), steerId: z.string(), state: steerState, words: z.string() }),
    z.object({ kind: z.literal('asked'), words: z.string() }),
    z.object({ kind: z.literal('answered'), words: z.string() }),
    /** `asked`: how the attempt had been asked to end before it came, so that a failure in it is no news; else null. */
    z.object({
      kind: z.literal('report'),
      ok: z.boolean(),
      asked: z.enum(['stop', 'pause']).nullable(),
      text: shownText,
    }),
    z.object({ kind: z.literal('verdict'), words: z.string() }),
    z.object({ kind: z.literal('notice'), level: z.enum(['info', 'warning', 'error']), words: z.string() }),
    z.object({ kind: z.literal('noise'), source: z.enum(['stdout', 'stderr']), text: shownText }),
  ]),
)
export type PanelEntry = z.infer<typeof panelEntrySchema>
export type ShownText = z.infer<typeof shownText>

export const toWebviewSchema = z.discriminatedUnion('type', [
  /** Show this child from nothing: forget the former one. `kept` = this panel is pinned to it. */
  z.object({ type: z.literal('show'), childId, kept: z.boolean() }),
  /** What is new since the last one. `entries` are [from, from + length) of `total`; a gap is fetched by page. */
  z.object({
    type: z.literal('update'),
    seq: n,
    childId,
    child: panelChildSchema.nullable(),
    total: n,
    from: n,
    entries: z.array(panelEntrySchema),
  }),
  z.object({ type: z.literal('page'), childId, from: n, entries: z.array(panelEntrySchema), total: n }),
  z.object({ type: z.literal('outcome'), wish, ok: z.boolean(), words: z.string() }),
  /** `place` counts from 1 among all `count`. */
  z.object({ type: z.literal('found'), wish, at: n.nullable(), place: n, count: n }),
  /** Hits so far; all of them once it is `over`. */
  z.object({ type: z.literal('counted'), wish, count: n, over: z.boolean() }),
  z.object({ type: z.literal('mentioned'), wish, paths: z.array(z.string()).max(MENTIONS_MAX) }),
  z.object({ type: z.literal('kept'), kept: z.boolean() }),
  /** Shows this entry and marks it. */
  z.object({ type: z.literal('go'), n }),
  z.object({ type: z.literal('focusSteer'), text: z.string().nullable() }),
  /** The child is not in the record (discarded from the store, another repository). */
  z.object({ type: z.literal('gone'), words: z.string() }),
])
export type ToWebview = z.infer<typeof toWebviewSchema>
