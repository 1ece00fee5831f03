// A contract's whole life with a real child: what its verdict leads to, what the child is told, and what an agent gains
// by writing to the rules it is checked by.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Child } from '../../../src/core/child'
import { describeVerdict } from '../../../src/core/verdict'
import { isRefusal } from '../../../src/supervisor/commands'
import { script, Stage, type Printed } from './stage'

let stage: Stage
afterEach(() => stage.clear())

const deliverables = [{ path: 'out.md' }]
const writes = { write: { path: 'out.md', text: 'out\n' } }

/** Every verdict in its order, and why nothing more was asked. */
function told({ verdicts, phase }: Child): string[] {
  return [...verdicts.map((verdict) => `${verdict.attempt} ${describeVerdict(verdict)}`), phase]
}

/** What each attempt after the first was told. */
function asked(id: string): string[] {
  return stage
    .events(id)
    .flatMap((event) => (event.type === 'launching' && event.attempt !== 1 ? [event.message ?? ''] : []))
}

async function settled(task: Record<string, unknown> & { goal: string }, ...args: string[]): Promise<Child> {
  stage = Stage.make()
  return await stage.settled(await stage.detached(task, ...args))
}

/** A program that says each of these on its first, second, … turn, and then that it is done. */
function says(...turns: unknown[]): string {
  return stage.agents(`
    const turns = ${JSON.stringify(turns)}
    const say = (line) => console.log(JSON.stringify(line))
    say({ type: 'ready', session_id: process.env.COXSWAIN_SESSION_ID })
    say({ type: 'result', ok: true, ...turns[Number(process.env.COXSWAIN_ATTEMPT) - 1] })`)
}

/** Chooses a program that restructures reports: what it is asked goes to `log`, what it prints is its answer. */
function extractor(answer: string, code = 0): string {
  const log = stage.file('', 'asked.txt')
  const program = stage.file(
    `import { appendFileSync, readFileSync, readdirSync } from 'node:fs'
    appendFileSync(${JSON.stringify(log)}, readFileSync(0, 'utf8') + ' == ' + readdirSync('.').length + ' files')
    console.log(${JSON.stringify(answer)})
    process.exitCode = ${code}`,
    'scribe.mjs',
  )
  const scribe = { kind: 'commandLine', command: [process.execPath], protocol: 'text', oneShot: [program] }
  const settings = { 'coxswain.agents': { scribe }, 'coxswain.extractor': { agent: 'scribe', model: 'quill' } }
  writeFileSync(join(stage.data, 'settings.json'), JSON.stringify(settings))
  return log
}

describe('another model that restructures a report', () => {
  const prose = { summary: 'I wrote the table into out.md. Trust me.' }
  const contract = { deliverables, checks: [{ file_contains: { path: 'out.md', text: 'out' } }] }
  const child = async (): Promise<string> => {
    const agents = stage.agents(`
      import { writeFileSync } from 'node:fs'
      writeFileSync('out.md', 'out')
      console.log(JSON.stringify({ type: 'ready', session_id: process.env.COXSWAIN_SESSION_ID }))
      console.log(JSON.stringify({ type: 'result', ok: true, ...${JSON.stringify(prose)} }))`)
    return await stage.detached({ goal: 'Write it', agent: 'kid', contract }, '--agents', agents)
  }

  it('is asked once, after the child was, and what it makes of it is held against the files', async () => {
    stage = Stage.make()
    const log = extractor('{"artifacts": {"out.md": "out.md"}, "summary": "The table is in out.md."}')
    const ended = await stage.settled(await child())
    expect(told(ended)).toEqual([
      '1 its report could not be read, asked again',
      '2 verified: all 2 checks pass',
      'SUCCESS',
    ])
    expect(ended.verdict?.notes).toEqual([
      'extracted: the report was restructured by another model; nothing in it is evidence',
      'scribe (quill) restructured the report',
    ])
    const asked = readFileSync(log, 'utf8')
    expect(asked).toMatch(/one object of this shape[^]+"artifacts":\{"out\.md":"out\.md"\}[^]+Trust me\. == 0 files$/)
    await stage.json('verify', ended.id)
    expect(readFileSync(log, 'utf8')).toBe(asked)
  })

  it('makes no evidence: what it claims and the files do not show fails', async () => {
    stage = Stage.make()
    extractor('{"artifacts": {"out.md": "out.md"}, "summary": "All there."}')
    const agents = says(prose, prose)
    const ended = await stage.settled(
      await stage.detached({ goal: 'Write it', agent: 'kid', contract }, '--agents', agents),
    )
    expect(told(ended)).toEqual([
      '1 its report could not be read, asked again',
      '2 incomplete: a deliverable is missing, asked again',
      '3 incomplete: a deliverable is missing, partial',
      'SUCCESS',
    ])
  })

  it('that fails leaves the report unread, and says why', async () => {
    stage = Stage.make()
    extractor('I would rather not.', 3)
    const ended = await stage.settled(await child())
    expect(told(ended).slice(1)).toEqual(['2 its report could not be read, partial', 'SUCCESS'])
    expect(ended.verdict?.notes.at(-1)).toMatch(
      /^scribe \(quill\) was to restructure the report: it ended with code 3: I would/,
    )
  })

  describe('with a secret of its own', () => {
    const choose = (program: string): void => {
      stage = Stage.make()
      stage.variables['SCRIBE_KEY'] = 'kept-secret-1234567890'
      const speaks = { protocol: 'text', oneShot: [stage.file(program)], secrets: ['SCRIBE_KEY'] }
      const scribe = { kind: 'commandLine', command: [process.execPath], ...speaks }
      const settings = { 'coxswain.agents': { scribe }, 'coxswain.extractor': { agent: 'scribe' } }
      writeFileSync(join(stage.data, 'settings.json'), JSON.stringify(settings))
    }

    it('is heard whole, in whatever pieces its words come, without the secret', async () => {
      choose(`
        const said = { artifacts: { 'out.md': 'out.md' }, summary: 'Tür ' + process.env.SCRIBE_KEY }
        const bytes = Buffer.from(JSON.stringify(said))
        const middle = bytes.indexOf('ü') + 1
        process.stdout.write(bytes.subarray(0, middle))
        setTimeout(() => process.stdout.write(bytes.subarray(middle)), 100)`)
      const { id } = await stage.settled(await child())
      const kept = readFileSync(stage.paths.child(id).wholeText('extracted-2.json'), 'utf8')
      expect(JSON.parse(kept).object.summary).toBe('Tür [redacted SCRIBE_KEY]')
    })

    it('that complains of it leaves the complaint without it', async () => {
      choose("console.error('401: ' + process.env.SCRIBE_KEY); process.exitCode = 1")
      const ended = await stage.settled(await child())
      expect(ended.verdict?.notes.at(-1)).toBe(
        'scribe was to restructure the report: it ended with code 1: 401: [redacted SCRIBE_KEY]',
      )
    })
  })

  it('is nobody unless a person chose one', async () => {
    stage = Stage.make()
    const ended = await stage.settled(await child())
    expect(told(ended).slice(1)).toEqual(['2 its report could not be read, partial', 'SUCCESS'])
    expect(ended.verdict?.notes.join(' ')).not.toMatch(/restructure/)
  })

  it('must be one that answers a prompt', async () => {
    stage = Stage.make()
    writeFileSync(join(stage.data, 'settings.json'), JSON.stringify({ 'coxswain.extractor': { agent: 'demo' } }))
    const ended = await stage.settled(await child())
    expect(ended.verdict?.notes.at(-1)).toBe(
      'the report was not restructured: Demo agent cannot be asked for one answer; choose another coxswain.extractor',
    )
  })
})

describe('the decision tree, with a real agent that resumes', () => {
  it('accepts what passes', async () => {
    const child = await settled({ goal: script(writes), contract: { deliverables } })
    expect(told(child)).toEqual(['1 verified: its one check passes', 'SUCCESS'])
  })

  it('asks a child that claimed a file it had not written for exactly that, once, and accepts it then', async () => {
    const child = await settled({ goal: script({ lie: 'out.md' }), contract: { deliverables } })
    expect(told(child)).toEqual([
      '1 incomplete: a deliverable is missing, asked again',
      '2 verified: its one check passes',
      'SUCCESS',
    ])
    const [first] = child.verdicts
    expect(first?.checks[0]).toMatchObject({
      claim: 'out.md',
      reason: expect.stringMatching(/^claimed, but there is no/),
    })
    expect(asked(child.id)).toHaveLength(1)
    expect(asked(child.id)[0]).toMatch(
      /^One deliverable is missing\. Looked for in .+:\n- out\.md: claimed, but there is/,
    )
    expect(child.attempts.map(({ reason, sessionId }) => [reason, sessionId])).toEqual([
      ['first', child.sessionId],
      ['retry', child.sessionId],
    ])
    expect(child.completions).toHaveLength(1)
  })

  it('ends partial when the retries are used up, and says so', async () => {
    const child = await settled({
      goal: script({ lie: { path: 'out.md', stubborn: true } }),
      contract: { deliverables, maxRetries: 2 },
    })
    expect(told(child)).toEqual([
      '1 incomplete: a deliverable is missing, asked again',
      '2 incomplete: a deliverable is missing, partial',
      'SUCCESS',
    ])
    expect(child.verdict?.notes).toContain('not asked again: 1 of 1 retry used')
  })

  it('hands a failed check to the child with its evidence, up to maxRetries times', async () => {
    const check = { command: { argv: ['ls', '/no/such/folder'] } }
    const child = await settled({ goal: script(writes), contract: { deliverables, checks: [check], maxRetries: 2 } })
    expect(told(child).map((line) => line.replace(/: .*, /, ', '))).toEqual([
      '1 failed, asked again',
      '2 failed, asked again',
      '3 failed, partial',
      'SUCCESS',
    ])
    expect(asked(child.id)[0]).toMatch(
      /- ls \/no\/such\/folder exits with 0: ls exited with 2\n {2}\| ls exited with 2\n {2}\| .*No such file/,
    )
  })

  it('never asks again with maxRetries 0', async () => {
    const child = await settled({ goal: script({ lie: 'out.md' }), contract: { deliverables, maxRetries: 0 } })
    expect([child.attempts.length, child.verdict?.disposition]).toEqual([1, 'partial'])
  })

  it('leaves to a person what another turn cannot mend', async () => {
    const child = await settled({
      goal: script(writes, { write: { path: 'README.md', text: 'mine now\n' } }),
      contract: { deliverables, scope: ['out.md'] },
    })
    expect(told(child)).toEqual(['1 failed: 1 of 2 checks, a person must decide', 'SUCCESS'])
  })

  it('takes a check that could not be run for no pass, and asks a person', async () => {
    const check = { command: { argv: ['no-such-program-here'] } }
    const child = await settled({ goal: script(writes), contract: { deliverables, checks: [check] } })
    expect(told(child)).toEqual(['1 unverified: 1 of 2 checks could not be decided, a person must decide', 'SUCCESS'])
  })

  it('asks once for JSON when the report is none, with the complaint, and reads it from one fence then', async () => {
    stage = Stage.make()
    const contract = {
      deliverables: [{ kind: 'inline', id: 'answer' }],
      checks: [{ file_contains: { path: 'answer', text: '42' } }],
    }
    const agents = says(
      { summary: 'All done, the answer is 42, trust me.' },
      { summary: '```json\n{"artifacts": {"answer": "42"}, "summary": "done"}\n```' },
    )
    const child = await stage.settled(
      await stage.detached({ goal: 'Answer.', agent: 'kid', contract }, '--agents', agents),
    )
    expect(told(child)).toEqual([
      '1 its report could not be read, asked again',
      '2 verified: all 2 checks pass',
      'SUCCESS',
    ])
    expect(asked(child.id)[0]).toContain('The output must be JSON')
    expect(asked(child.id)[0]).toContain('The complaint was: there is no JSON object in it; it begins "All done')
  })

  it.each([
    ['the whole', { summary: '{"artifacts": {"answer": "42"}, "summary": "s"}' }],
    [
      'the last object in prose',
      { summary: 'First {"a": 1}, and then {"artifacts": {"answer": "42"}, "summary": "s"}. Bye.' },
    ],
    ['a protocol of its own', { summary: 'done', output: { artifacts: { answer: '42' }, summary: 's' } }],
    ['a text handed over by that', { summary: 'done', output: '{"artifacts": {"answer": "42"}, "summary": "s"}' }],
    ['a string that holds a fence', { summary: '{"artifacts": {"answer": "42 ```js\\nx\\n```"}, "summary": "s"}' }],
  ])('reads the report from %s', async (_from, turn) => {
    stage = Stage.make()
    const contract = {
      deliverables: [{ kind: 'inline', id: 'answer' }],
      checks: [{ file_contains: { path: 'answer', text: '42' } }],
    }
    const id = await stage.detached({ goal: 'Answer.', agent: 'kid', contract }, '--agents', says(turn))
    expect(told(await stage.settled(id))).toEqual(['1 verified: all 2 checks pass', 'SUCCESS'])
  })

  it('never starts an agent that cannot resume from nothing', async () => {
    stage = Stage.make()
    const agents = stage.agents(`console.log('I wrote it all.')`, { protocol: 'text' })
    const child = await stage.settled(
      await stage.detached({ goal: 'Write.', agent: 'kid', contract: { deliverables } }, '--agents', agents),
    )
    expect(told(child)).toEqual(['1 its report could not be read, partial', 'SUCCESS'])
    expect(child.verdict?.notes.at(-1)).toMatch(/^cannot be asked again: .+ cannot resume its session$/)
  })

  it('asks nobody again whose spend ceiling is reached', async () => {
    stage = Stage.make()
    const agents = stage.agents(`
      const say = (line) => console.log(JSON.stringify(line))
      say({ type: 'ready', session_id: 's' })
      say({ type: 'result', ok: true, output: { artifacts: { 'out.md': 'out.md' }, summary: 's' } })
      say({ type: 'usage', input_tokens: 400, output_tokens: 100 })`)
    const task = { goal: 'Write.', agent: 'kid', contract: { deliverables }, limits: { max_tokens: 100 } }
    const child = await stage.settled(await stage.detached(task, '--agents', agents))
    expect([child.attempts.length, child.verdict?.notes.at(-1)]).toEqual([
      1,
      expect.stringMatching(/^cannot be asked again: .*500 .*and nothing is done by itself beyond that$/),
    ])
  })
})

describe('an agent that writes to the rules it is checked by', () => {
  it('changes nothing about what is checked, and is seen', async () => {
    stage = Stage.make()
    const contract = { deliverables, checks: [{ file_contains: { path: 'out.md', text: 'Sources' } }], maxRetries: 0 }
    writeFileSync(`${stage.repo}/job.coxswain.json`, JSON.stringify(contract))
    stage.git('add', '.')
    stage.git('commit', '-qm', 'Rules')
    const id = await stage.detached({
      goal: script(writes, { write: { path: 'job.coxswain.json', text: '{"level": "none"}' } }, { commit: 'Done' }),
      contract,
    })
    const { verdict } = await stage.settled(id)
    expect(verdict?.status).toBe('failed')
    expect(verdict?.notes).toContain(
      'the child changed job.coxswain.json in its worktree; that changes nothing: the contract was fixed before it started',
    )
  })

  it('is escalated when it touches a test that must stay as it is', async () => {
    stage = Stage.make()
    const contract = { deliverables, checks: [{ file_unchanged: { path: 'README.md' } }] }
    const goal = script(writes, { write: { path: 'README.md', text: 'exit 0\n' } }, { commit: 'Done' })
    const { verdict } = await stage.settled(await stage.detached({ goal, contract }))
    expect([verdict?.status, verdict?.disposition]).toEqual(['failed', 'escalate'])
    expect(verdict?.checks.at(-1)).toMatchObject({
      reason: 'README.md was changed; it must be as in the base commit',
      location: { path: 'README.md', line: 1 },
    })
  })

  it('gains no pass by changing the stored contract: the child settles unverified, with the reason', async () => {
    stage = Stage.make()
    const id = await stage.detached({
      goal: script(writes, { say: 'ready' }, stage.waits('go')),
      contract: { deliverables },
    })
    await stage.until(id, 'it works', () => stage.said(id).includes('ready'))
    const file = stage.paths.child(id).contract
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('out.md', 'README.md'))
    stage.open('go')
    const { verdict } = await stage.settled(id)
    expect([verdict?.status, verdict?.disposition]).toEqual(['unverified', 'escalate'])
    expect(verdict?.notes[0]).toContain('is not the one this child was given: its hash differs')
    const { code, out } = await stage.cli('verify', id, '--json')
    expect([code, JSON.parse(out).verdict.status]).toEqual([1, 'unverified'])
  })
})

describe('a contract that cannot work', () => {
  it.each<[string, object, string]>([
    ['output', { output: { type: 'nonsense' } }, 'output: '],
    [
      'a schema of a check',
      { checks: [{ json_schema_ok: { path: 'a.json', schema: { minimum: 'one' } } }] },
      'checks[0].json_schema_ok.schema: ',
    ],
    [
      'a regular expression',
      { checks: [{ file_contains: { path: 'a', regex: '(' } }] },
      'checks[0].file_contains.regex: ',
    ],
    ['a fetched reference', { output: { $ref: 'https://example.invalid/x.json' } }, 'output: "$ref"'],
  ])('is refused at spawn for %s, by name, and nothing exists', async (_what, contract, place) => {
    stage = Stage.make()
    const task = stage.tasks({ goal: 'Do it.', contract: contract })
    const { code, out } = await stage.cli('run', '--task', task, '--detach', '--json')
    const { error } = JSON.parse(out)
    expect([code, error.code, error.message]).toEqual([
      2,
      'invalid',
      expect.stringContaining(`The contract cannot be used: ${place}`),
    ])
    expect(stage.left().children).toEqual([])
  })
})

describe('what a person does with an open verdict', () => {
  it('asks again with exactly its complaint, takes the rest as partial, and the audit tells it all', async () => {
    stage = Stage.make()
    const coxswain = await stage.coxswain()
    const contract = { deliverables, checks: [{ file_contains: { path: 'out.md', text: 'Sources' } }], maxRetries: 0 }
    const spawned = await coxswain.commands.spawn({ tasks: [{ goal: script({ lie: 'out.md' }), contract }] })
    if (isRefusal(spawned)) throw new Error(spawned.error.message)
    const [id = ''] = spawned.subagent_ids
    expect((await stage.settled(id)).verdict?.disposition).toBe('partial')
    const again = await coxswain.commands.retry({ subagent_id: id })
    expect(again).toMatchObject({ action: 'resume', attempt: 2 })
    const child = await stage.until(id, 'settled again', ({ completions }) => completions.length === 2)
    expect(asked(id)[0]).toMatch(/^One deliverable is missing/)
    expect(told(child)).toEqual([
      '1 incomplete: a deliverable is missing, partial',
      '2 failed: 1 of 2 checks, partial',
      'SUCCESS',
    ])
    expect(await coxswain.commands.acceptPartial({ subagent_id: id })).toMatchObject({ status: 'done' })
    expect(await stage.until(id, 'taken as partial', ({ partialAccepted }) => partialAccepted)).toBeDefined()
    const refused = await coxswain.commands.apply({ subagent_id: id })
    expect(isRefusal(refused) && refused.error.message).toContain(
      'override by name what did not pass: out.md contains "Sources"',
    )
    coxswain.dispose()
    await coxswain.closed()

    const deeds: Printed[] = readFileSync(stage.paths.audit, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(
      deeds.map(({ who, what, status, disposition }) => [who, what, status, disposition].filter(Boolean).join(' ')),
    ).toEqual([
      'person spawn',
      'policy judged incomplete partial',
      'coxswain completed incomplete partial',
      'person retry',
      'policy judged failed partial',
      'coxswain completed failed partial',
      'person accept',
    ])
    expect(deeds[4]).toMatchObject({ attempt: 2, not_passed: ['out.md contains "Sources"'] })
    expect(Object.keys(deeds[5] ?? {})).toEqual(
      expect.arrayContaining(
        'timestamp parent_session child child_session attempt delegate_goal contract_deliverables contract_hash status disposition verification_notes raw_summary_length duration_s tokens cost_usd result_hash'.split(
          ' ',
        ),
      ),
    )
    expect(deeds[5]).toMatchObject({
      contract_deliverables: ['out.md'],
      result_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const lines = readFileSync(stage.paths.audit, 'utf8').split('\n')
    writeFileSync(stage.paths.audit, lines.filter((_, n) => n !== 3).join('\n'))
    const { code, out } = await stage.cli('audit', '--check', '--json')
    expect([code, JSON.parse(out).broken]).toEqual([
      1,
      { line: 4, why: expect.stringContaining('does not follow the line before it') },
    ])
  })
})
