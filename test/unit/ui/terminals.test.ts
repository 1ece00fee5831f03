// Taking over and handing back, as far as no terminal is needed for it.
import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/ui/acts'
import { OneAtATime } from '../../../src/ui/oneAtATime'
import { resumeOnceLeft } from '../../../src/ui/onceLeft'

test('a job asked for again while it runs is the same job; once it is over, also by failing, it is begun anew', async () => {
  const jobs = new OneAtATime<string>()
  let begun = 0
  let finish: (result: string) => void = () => undefined
  const job = (): Promise<string> => {
    begun++
    return new Promise((resolve) => (finish = resolve))
  }
  const both = [jobs.run('child', job), jobs.run('child', job)]
  await jobs.run('other', () => Promise.resolve('at once'))
  finish('opened')
  expect([await Promise.all(both), begun]).toEqual([['opened', 'opened'], 1])
  await expect(jobs.run('child', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await jobs.run('child', () => Promise.resolve('again'))).toBe('again')
})

const open: Outcome = { ok: false, words: 'is open', code: 'open_elsewhere' }
const done: Outcome = { ok: true, words: '' }

/** How often it was asked, and the answer. */
async function handBack(answers: readonly Outcome[]): Promise<readonly [number, Outcome]> {
  let asked = 0
  const outcome = await resumeOnceLeft(
    () => Promise.resolve(answers[Math.min(asked++, answers.length - 1)] ?? done),
    () => Promise.resolve(),
  )
  return [asked, outcome]
}

test('a child is asked to go on again only while its session is still open in the terminal', async () => {
  expect(await handBack([open, open, done])).toEqual([3, done])
  const discarded: Outcome = { ok: false, words: 'was discarded', code: 'not_resumable' }
  expect(await handBack([discarded])).toEqual([1, discarded])
  expect(await handBack([open, discarded])).toEqual([2, discarded])
  expect(await handBack([open])).toEqual([41, open])
})
