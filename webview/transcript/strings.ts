// Every word the webview itself says; what comes from the host is in the host's language already.
//
// The host hands in the translations of what stands here, by the English words, as `data-words` of the page's root; without
// them English is shown. `t` is for words with something in them, every plain value of `english` is translated as it is.
type Args = Readonly<Record<string, string | number>>

const translations: Readonly<Record<string, string>> = (() => {
  const words = typeof document === 'undefined' ? undefined : document.getElementById('root')?.dataset['words']
  return words === undefined ? {} : (JSON.parse(words) as Record<string, string>)
})()

function translated(message: string, args: Args = {}): string {
  const words = translations[message] ?? message
  return words.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = args[name]
    return value === undefined ? place : String(value)
  })
}

/** Takes a literal only: the strings are collected from the source. */
const t = translated

const english = {
  steer: 'Steer',
  pause: 'Pause',
  resume: 'Resume',
  stop: 'Stop…',
  review: 'Review changes',
  transcript: 'Transcript',
  steering: 'Steering',
  goal: 'Goal',
  verify: 'Verify again',
  apply: 'Apply…',
  dismiss: 'Dismiss',
  earlierSteers: (n: number) => (n === 1 ? t('1 earlier steer') : t('{n} earlier steers', { n })),
  stopped: 'Stopped',
  paused: 'Paused',
  because: (why: string) => t('Not now: {why}.', { why }),
  steerLabel: 'Steer this child',
  mentions: 'Files of its worktree',
  steerHint: 'Enter sends, Shift+Enter breaks the line',
  steerExample: 'A directive: “Open lib/auth.py. Report only null-derefs.” Not: “be more thorough”',
  placeholder: 'e.g. “Open lib/auth.py. Report only null-derefs.”',
  askedPlaceholder: 'This steers it; what it asks is answered above',
  resumePlaceholder: 'What it should do next; empty lets it go on from where it left off',
  resumeWith: 'Resume with this',
  cannotSend: (why: string) => t('A message cannot reach it: {why}.', { why }),
  tooLong: (n: number, max: number) =>
    t('{n} characters; {max} may be sent.', { n: n.toLocaleString(), max: max.toLocaleString() }),
  room: (n: number, max: number) => t('{n} of {max} characters', { n: n.toLocaleString(), max: max.toLocaleString() }),
  missed: (n: number) =>
    n === 1 ? t('1 steer was missed: its attempt ended first.') : t('{n} steers were missed.', { n }),
  resumeWithIt: (n: number) => (n === 1 ? t('Resume with it') : t('Resume with them')),
  edit: 'Edit',
  save: 'Save',
  cancel: 'Cancel',
  withdraw: 'Withdraw',
  earlier: 'Earlier',
  sending: 'sending…',
  newEntries: (n: number) => t('{n} new', { n: n.toLocaleString() }),
  toEnd: 'To the end',
  reasoning: 'Reasoning',
  input: 'Input',
  output: 'Output',
  noOutput: 'no output',
  running: 'running',
  failed: 'failed',
  showAll: (size: string) => t('Show all ({size})', { size }),
  steeredBy: (who: string) => t('Steer by {who}', { who }),
  steerReceipt: 'Steer',
  asks: 'Asks',
  answered: 'Answered',
  claimsSuccess: 'Reports success (its claim)',
  claimsFailure: 'Reports failure',
  checks: 'Checks',
  retry: 'Ask again with this',
  acceptPartial: 'Accept as partial',
  takeOver: 'Take over…',
  takeOverInTerminal: 'Take over in terminal',
  handBack: 'Hand back…',
  adopt: 'Adopt…',
  parentAway: 'parent away',
  parent: (who: string) => t('Parent: {who}', { who }),
  suggestsSteer: 'Steer it?',
  suggestsStop: 'Stop it?',
  doSteer: 'Steer it so',
  doStop: 'Stop it',
  takeOverHint: 'Opens a terminal in its worktree',
  says: 'It says',
  foundIs: 'Found',
  openFinding: 'Open all it found',
  openFile: 'Open file',
  evidence: 'Evidence',
  earlierVerdict: (attempt: number) => t('Attempt {attempt}', { attempt }),
  moreChecks: (n: number) => t('and {n} more', { n: n.toLocaleString() }),
  verdictOf: (attempt: number) => t('on attempt {attempt}', { attempt }),
  verdictStale: (why: string) => t('Out of date: {why}.', { why }),
  loading: 'loading…',
  prompt: 'Prompt',
  by: (name: string) => t('by {name}', { name }),
  question: 'It asks',
  approval: 'It wants to use',
  inFolder: 'in',
  allowOnce: 'Allow once',
  allowChild: 'Allow for this child',
  covers: (what: string) => t('Until its process ends: {what}', { what }),
  permissions: (count: number) => (count === 1 ? t('1 permission') : t('{count} permissions', { count })),
  mayDo: (what: string) => t('May do unasked: {what}', { what }),
  revoke: 'Take back',
  deny: 'Deny',
  denyWith: 'Why not, or what instead (it reads this)',
  answer: 'Answer',
  yourAnswer: 'Your answer',
  find: 'Find in the whole transcript',
  found: (place: number, n: number) =>
    n === 0 ? t('nothing found') : t('{place} of {n}', { place: place.toLocaleString(), n: n.toLocaleString() }),
  counted: (n: number, over: boolean) => {
    const found = n.toLocaleString()
    return over ? (n === 0 ? t('nothing found') : t('{n} found', { n: found })) : t('{n} found…', { n: found })
  },
  next: 'Next (Enter)',
  previous: 'Previous (Shift+Enter)',
  close: 'Close',
  empty: 'Nothing was said yet.',
  noise: 'Not understood',
  branch: 'Branch',
}

/** The same shape in the person's language. */
export const say = Object.fromEntries(
  Object.entries(english).map(([key, words]) => [key, typeof words === 'string' ? translated(words) : words]),
) as typeof english
