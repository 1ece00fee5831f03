// The log for people cannot be written: that is reported, and the child goes on with its transcript whole.
import { afterEach, expect, it } from 'vitest'
import { isRefusal } from '../../../src/supervisor/commands'
import { script, Stage } from '../supervisor/stage'
import { failFiles, type Failing } from './failingFiles'

let stage: Stage
let failing: Failing | undefined
afterEach(async () => {
  failing?.stop()
  await stage.clear()
})

it('that takes nothing any more is told of, and stops no child', async () => {
  stage = Stage.make()
  const told: string[] = []
  const { commands } = await stage.coxswain({
    role: 'run',
    log: (_level, fact, fields) => void told.push(`${fact} ${JSON.stringify(fields)}`),
  })
  const handle = await commands.spawn({ tasks: [{ goal: script({ say: 'Before.' }) }] })
  if (isRefusal(handle)) throw new Error(handle.error.message)
  const [id = ''] = handle.subagent_ids
  await stage.settled(id)
  // Let go of at the end of a round, it is opened anew.
  failing = failFiles(handle.live_transcripts[0] ?? '', 'EIO', 1, Infinity)
  const resumed = await commands.resume({ subagent_id: id, message: 'Go on.' })
  if (isRefusal(resumed)) throw new Error(resumed.error.message)
  expect(await stage.settled(id)).toMatchObject({ phase: 'SUCCESS', round: 2 })
  expect(failing.failed()).toBeDefined()
  const words = stage.transcript(id).flatMap((entry) => (entry.kind === 'text' ? [entry.text] : []))
  expect(words[0]).toBe('Before.')
  expect(words.join('\n')).toContain('I remember')
  expect(told.join('\n')).toMatch(/The readable log could not be written: .*EIO.* The transcript has it all\./)
})
