// A real agent in figures: what Coxswain adds to Claude Code. Each stands beside the same program driven bare, through the
// same adapter, in the same run; the model is a loopback server. Run it with `npm run bench:agents`; without the agent
// (`npm run agents:install`) it says so and fails.
import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import { claudeAgent } from '../src/agents/claude'
import { currentAttempt } from '../src/core/child'
import type { Coxswain } from '../src/supervisor/coxswain'
import { bash, claudeProgram as executable, ClaudeStage, key } from '../test/agents/claudeStage'
import { Room } from '../test/agents/room'
import { eventually } from '../test/process/supervisor/stage'
import { median, quantile, say } from './figures'

const rounds = 10
const boundaries = 50

interface Timed {
  readonly firstWordsMs: number
  readonly settledMs: number
}

/** The program alone: from its start to its first words, and from the wish to end it to its end, a tool running. */
async function bare(claude: ClaudeStage): Promise<Timed> {
  const room = new Room(claudeAgent('claude', { executable }), claude.stage.variables)
  try {
    claude.script({ text: 'I work.', tools: [claude.until('never')] })
    const from = performance.now()
    room.start('Work.', { autonomy: 'autonomous' })
    await room.until('words', ({ kind }) => kind === 'text')
    const firstWordsMs = performance.now() - from
    await room.until('the tool', ({ kind }) => kind === 'toolStarted')
    const asked = performance.now()
    room.cancel()
    await room.end()
    return { firstWordsMs, settledMs: performance.now() - asked }
  } finally {
    await room.dispose()
  }
}

/** The same as a child: from the attempt's launch, from the dispatch, and from the stop to CANCELLED on record. */
async function child(
  claude: ClaudeStage,
  window: Coxswain,
): Promise<Timed & { readonly dispatchedMs: number; readonly interruptMs: number }> {
  const { stage } = claude
  claude.script({ text: 'I work.', tools: [claude.until('never')] })
  const from = Date.now()
  const id = await claude.spawn(window, 'Work.')
  await claude.toolRuns(id)
  const words = Date.parse(stage.transcript(id).find((entry) => entry.kind === 'text')?.at ?? '')
  const { attempts } = await stage.child(id)
  const firstWordsMs = words - Date.parse(attempts[0]?.launchingAt ?? '')
  const asked = performance.now()
  const wished = Date.now()
  await window.commands.interrupt({ subagent_id: id })
  const interruptMs = performance.now() - asked
  const ended = await stage.until(id, 'it has ended', (now) => (currentAttempt(now)?.endedAt ?? null) !== null)
  const settledMs = Date.parse(currentAttempt(ended)?.endedAt ?? '') - wished
  await window.commands.stop({ subagent_id: id })
  await stage.settled(id)
  return { firstWordsMs, settledMs, dispatchedMs: words - from, interruptMs }
}

/** One child, a steer in the middle of each of its tools: how many stand right after that tool's result. */
async function steers(claude: ClaudeStage, window: Coxswain): Promise<number> {
  const { stage } = claude
  const before = claude.requests().length
  for (let n = 0; n < boundaries; n++) claude.script({ text: `Step ${n}.`, tools: [claude.until(`step-${n}`)] })
  claude.script({ text: 'Done.' })
  const id = await claude.spawn(window, 'Take many steps.')
  for (let n = 0; n < boundaries; n++) {
    await claude.toolRuns(id, n + 1)
    await window.commands.steer({ subagent_id: id, message: `MARKER-${n}.` })
    await eventually(async () => (await stage.child(id)).steers[n]?.state === 'sent', 'sent')
    stage.open(`step-${n}`)
  }
  const { steers: all } = await stage.settled(id)
  const confirmed = all.filter(({ state }) => state === 'confirmed').length
  const placed = Array.from({ length: boundaries }, (_, n) => {
    const [result, steer] = claude.last(before + n + 1)
    return result?.startsWith('tool_result not cut') === true && steer?.includes(`MARKER-${n}.`) === true
  })
  return Math.min(confirmed, placed.filter(Boolean).length)
}

async function main(): Promise<void> {
  if (!existsSync(executable)) throw new Error(`There is no ${executable}. Run "npm run agents:install" first.`)
  console.log(`load ${loadavg()[0]?.toFixed(1)} on two cores, ${rounds} rounds`)
  const claude = await ClaudeStage.make()
  try {
    const window = await claude.window()
    claude.script({ text: 'Warm.', tools: [bash('true')] }, { text: 'Done.' })
    await claude.stage.settled(await claude.spawn(window, 'Warm up.'))
    const alone: Timed[] = []
    const kept: Awaited<ReturnType<typeof child>>[] = []
    for (let i = 0; i < rounds; i++) {
      alone.push(await bare(claude))
      kept.push(await child(claude, window))
    }
    const ratio = (of: (timed: Timed) => number): number => median(kept.map(of)) / median(alone.map(of))
    say('interrupt asked → answered', {
      'median ms': median(kept.map((timed) => timed.interruptMs)),
      'p99 ms': quantile(
        kept.map((timed) => timed.interruptMs),
        0.99,
      ),
    })
    say('end asked → ended / bare', {
      ratio: ratio((timed) => timed.settledMs),
      ms: median(kept.map((timed) => timed.settledMs)),
      'bare ms': median(alone.map((timed) => timed.settledMs)),
    })
    say('launch → first words / bare', {
      ratio: ratio((timed) => timed.firstWordsMs),
      ms: median(kept.map((timed) => timed.firstWordsMs)),
      'bare ms': median(alone.map((timed) => timed.firstWordsMs)),
      'from dispatch, with its worktree, ms': median(kept.map((timed) => timed.dispatchedMs)),
    })
    say('steers at the next tool boundary', { of: `${await steers(claude, window)} of ${boundaries}` })
  } finally {
    claude.models.forget(key)
    await claude.clear()
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
