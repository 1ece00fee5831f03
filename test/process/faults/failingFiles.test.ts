// R3: one file call of the supervisor fails, whichever it is, in a whole run: dispatch, steer, end, checks, result. Long form:
// COXSWAIN_FAULTS=all takes every call with every failure; a number takes so many at random.
import { afterEach, expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import type { Child } from '../../../src/core/child'
import { checkAudit } from '../../../src/record/audit'
import type { Coxswain } from '../../../src/supervisor/coxswain'
import { eventually, script, Stage } from '../supervisor/stage'
import { failFiles, failures, type Failing, type Failure } from './failingFiles'
import { seeded } from './powerCut'

const wanted = process.env['COXSWAIN_FAULTS'] ?? '6'

let stage: Stage
let failing: Failing | undefined
afterEach(async () => {
  failing?.stop()
  await stage.clear()
})

/** A sentence for a person: no stack, no code alone. */
const isClear = (said: string): boolean => said.length > 20 && /[.!]$/.test(said.trim()) && !/\n\s+at /.test(said)

/** One whole run in which a call fails; what was not right about it. */
async function run(failure: Failure, k: number): Promise<{ wrong: string[]; calls: number }> {
  const wrong: string[] = []
  const told: string[] = []
  failing = failFiles(stage.data, failure, k)
  let coxswain: Coxswain | undefined
  const name = `go-${failure}-${k}`
  const summary = () => {
    const what = `${failure} at call ${k} (${failing?.failed()})`
    return { wrong: wrong.map((one) => `${what}: ${one}\n  ${told.join('\n  ')}`), calls: failing?.calls() ?? 0 }
  }
  try {
    /** A person tries again once, as the sentence says. */
    const twice = async <T extends object>(what: string, act: () => Promise<T>): Promise<T | undefined> => {
      for (let tries = 1; tries <= 2; tries++) {
        let said: string
        try {
          const answer = await act()
          if (!('error' in answer)) return answer
          said = (answer.error as { message: string }).message
        } catch (error) {
          said = error instanceof Error ? error.message : String(error)
          if (what !== 'open') wrong.push(`${what} threw: ${said}`)
        }
        told.push(`${what}: ${said}`)
        if (!isClear(said)) wrong.push(`${what}: no clear sentence: ${said}`)
      }
      wrong.push(`${what}: refused twice`)
      return undefined
    }
    coxswain = await twice('open', () =>
      stage.coxswain({
        role: 'run',
        log: (level, message, fields) => {
          if (level !== 'info') told.push(`log: ${message} ${JSON.stringify(fields ?? {}).slice(0, 600)}`)
        },
      }),
    )
    if (coxswain === undefined) return summary()
    const { commands, view } = coxswain
    const spawned = await twice('spawn', () =>
      commands.spawn({
        tasks: [
          {
            goal: script({ say: 'one' }, stage.waits(name), { write: { path: 'x.md', text: 'done' } }, { say: 'two' }),
            contract: { deliverables: [{ path: 'x.md' }], maxRetries: 0 },
          },
        ],
      }),
    )
    const id = spawned !== undefined && 'subagent_ids' in spawned ? spawned.subagent_ids[0] : undefined
    if (id === undefined) return summary()
    const child = (): Child | undefined => view.get(id)?.child
    const ended = (): boolean => child()?.settledAt !== null && child()?.completions.length === 1
    await eventually(() => view.get(id)?.activity === 'one' || ended(), 'it works or has ended')
    const steered = ended()
      ? undefined
      : await twice('steer', () => commands.steer({ subagent_id: id, message: 'Look here.', steer_id: 's' }))
    stage.open(name)
    await eventually(ended, 'settled with its result', 20_000).catch(() => wrong.push(`it hangs in ${child()?.phase}`))
    failing.stop()
    await coxswain.refresh()
    const end = await stage.child(id)
    const { verdict } = end
    const result = JSON.parse(readFileSync(stage.paths.child(id).result(1), 'utf8')) as { failure: string | null }
    if (end.phase === 'SUCCESS') {
      if (stage.said(id).at(-1) === undefined) wrong.push('a success of which nothing was said')
      if (verdict?.status !== 'verified' && (verdict?.notes.length ?? 0) + (verdict?.checks.length ?? 0) === 0)
        wrong.push(`unverified without a reason: ${JSON.stringify(verdict)}`)
    } else {
      told.push(`failure: ${result.failure}`)
      if (result.failure === null || !isClear(result.failure))
        wrong.push(`${end.phase} for no clear reason: ${result.failure}`)
    }
    if (steered !== undefined && end.steers.filter((steer) => steer.text === 'Look here.').length !== 1)
      wrong.push('a queued steer is lost or doubled')
    if (end.misfits > 0) wrong.push(`${end.misfits} facts do not fit`)
    const entries = stage.transcript(id)
    if (entries.some((entry, i) => entry.n !== i)) wrong.push('the transcript has a gap')
    const twiceSaid = stage.said(id).filter((text, i, all) => all.indexOf(text) !== i)
    if (twiceSaid.length > 0) wrong.push(`told twice: ${twiceSaid.join()}`)
  } catch (error) {
    wrong.push(`unforeseen: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    failing.stop()
    coxswain?.dispose()
    await coxswain?.closed().catch((error: unknown) => wrong.push(`not closed: ${String(error)}`))
  }
  const { broken } = await checkAudit(stage.paths.audit)
  if (broken !== null) wrong.push(`the audit trail is broken: ${broken.why}`)
  return summary()
}

it(
  'whichever file call fails: no false success, nothing that was promised is lost, and a person is told',
  { timeout: 7_200_000 },
  async () => {
    stage = Stage.make()
    const random = seeded(Number(process.env['COXSWAIN_SEED'] ?? 7))
    const wrong: string[] = []
    const cases: [Failure, number][] = []
    for (const failure of failures) {
      const whole = await run(failure, Infinity)
      expect(whole.wrong).toEqual([])
      cases.push(...Array.from({ length: whole.calls }, (_, k): [Failure, number] => [failure, k + 1]))
    }
    const chosen =
      wanted === 'all'
        ? cases
        : Array.from({ length: Number(wanted) }, () => cases[Math.floor(random() * cases.length)])
    let spoilt = false
    for (const [n, one] of chosen.entries()) {
      if (one === undefined) continue
      if (n % 10 === 9 || spoilt) {
        spoilt = false
        await stage.clear()
        stage = Stage.make()
      }
      const found = (await run(...one)).wrong
      spoilt = found.length > 0
      wrong.push(...found)
      if (process.env['COXSWAIN_FAULTS'] !== undefined) for (const line of found) console.log(line)
    }
    console.log(`R3: ${chosen.length} of ${cases.length} failing calls of a run, ${wrong.length} promises broken`)
    expect(wrong).toEqual([])
  },
)
