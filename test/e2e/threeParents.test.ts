// A person at the panel, Claude Code in a terminal and a tool call of the editor's chat, at the same time on one
// repository through one supervisor, each with a tree of its own.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { installAgents } from '../../scripts/installAgents.mjs'
import type { ModelRequest } from '../agents/models/anthropic.js'
import type { Repository } from './harness/repository.js'
import type { TestHome } from './harness/testHome.js'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import type { Workbench } from './harness/workbench.js'
import { coxswain, newChild, showChild, stopAll } from './panelParts.js'
import { inTerminal, TerminalClaude, terminalEnvironment } from './terminalClaude.js'

await installAgents()

const key = 'terminal'
const tool = 'mcp__coxswain__delegate_task'
const answersFile = (home: TestHome) => path.join(home.folder, 'answers.jsonl')
const test = vscodeTest({
  sample: true,
  env: (home) => ({ COXSWAIN_DEMO_PACE_MS: '20', COXSWAIN_SAMPLE_ANSWERS: answersFile(home) }),
})

/** An answer of the tool: its JSON, and the texts that came with it. */
interface Heard {
  readonly answer: ReturnType<typeof JSON.parse>
  readonly due: readonly string[]
}
const heardIn = (texts: readonly string[]): Heard => ({ answer: JSON.parse(texts[0] ?? ''), due: texts.slice(1) })

/** A task whose child follows these steps; what its goal itself named would be no drift. */
const following = (title: string, ...steps: object[]) => ({
  title,
  agent: 'demo',
  goal: title,
  context: `\`\`\`demo\n${JSON.stringify(steps)}\n\`\`\``,
})

/** The tree's rows with whose they are and how they stand, without times. */
const tree = async (workbench: Workbench): Promise<string> =>
  (await workbench.treeText())
    .split('\n')
    .map((line) => line.split(', ').slice(0, 2).join(', '))
    .join('\n')

test(
  'each has its own tree, the person has all of them, and the loop holds',
  { timeout: 300_000 },
  async ({ workbench, repository, home, models }) => {
    const latch = (name: string) => path.join(home.folder, `latch-${name}`)
    const open = (name: string) => writeFileSync(latch(name), '')
    const waits = (name: string) => ({ wait: { file: latch(name) } })

    // Claude Code, connected by the line the palette shows.
    await workbench.showContainer('Coxswain')
    await workbench.run('Coxswain: Connect a parent agent…')
    await workbench.pick('Claude Code')
    const line = /^claude mcp add .+$/m.exec(await workbench.dialog.innerText())?.[0] ?? ''
    await workbench.answerDialog('Cancel')
    const env = terminalEnvironment(home, models.url, key)
    inTerminal(line, repository.folder, env)
    let claude = TerminalClaude.start(repository.folder, env, tool)
    /** One turn: its model calls the tool with each of these and then ends it. What it was answered, and how it was told. */
    const turn = async (text: string, ...inputs: object[]): Promise<Heard[]> => {
      const from = models.requests(key).length
      models.script(key, ...inputs.map((input) => ({ tools: [{ name: tool, input }] })), { text: 'So much for now.' })
      expect(await claude.turn(text)).toBe('So much for now.')
      return models
        .requests(key)
        .slice(from + 1)
        .map((request) => heardIn(toolResult(request)))
    }

    // The editor's chat: the tool by its name, as an extension calls it for a model.
    let told = 0
    const chat = async (input: object, confirmation?: string): Promise<Heard> => {
      await workbench.run('Sample: Call delegate_task')
      await workbench.answer(JSON.stringify(input))
      if (confirmation !== undefined) {
        await workbench.dialog.filter({ hasText: confirmation }).waitFor()
        await workbench.answerDialog('Yes')
      }
      const lines = await until('the tool has answered', () => {
        const all = readFileSync(answersFile(home), 'utf8').trim().split('\n')
        return all.length > told && all
      })
      told = lines.length
      return heardIn(JSON.parse(lines.at(-1) ?? '') as string[])
    }

    await newChild(workbench, 'Ask me which file, then write about the pier')
    const [spawned] = await turn('Hand out the two tasks.', {
      tasks: [
        {
          ...following(
            'Chart the harbour',
            { say: 'I will now search the entire repo.' },
            waits('chart'),
            { write: { path: 'chart.md', text: 'Depths.\n' } },
            { report: { artifacts: { 'chart.md': 'chart.md' }, summary: 'The harbour is charted.' } },
          ),
          contract: { deliverables: [{ path: 'chart.md' }] },
        },
        following('Count the gulls', { say: 'Again: retrying the same command.' }, waits('gulls')),
      ],
    })
    const [charts, gulls] = spawned?.answer.subagent_ids as [string, string]
    const chats = await chat(following('Mend the nets', waits('nets')), 'Dispatch a child?')
    const [nets] = chats.answer.subagent_ids as [string]

    // Every child shows to the person; to each other parent its own and no more.
    await expect
      .poll(() => tree(workbench))
      .toBe(
        [
          'Needs you, 2 children',
          '  Ask me which file, then write about the pier',
          '  Count the gulls, needs you: stop it? loop: it says "retrying the same command"',
          'Working, 2 children',
          '  Mend the nets, working',
          '  Chart the harbour, working',
        ].join('\n'),
      )
    const all = (await listed(home, repository)).map(idOf)
    const persons = all.find((id) => ![charts, gulls, nets].includes(id))
    expect((await chat({ action: 'list' })).answer.subagents.map(idOf)).toEqual([nets])

    await until('the drift was seen', async () => {
      const found = (await listed(home, repository)).find((row) => idOf(row) === charts)
      return found?.condition?.startsWith('steer?')
    })

    // Back later: it lists, steers the one that drifts, stops the one that loops; what is another's is nobody's to it.
    const nobody = 'aaaaaaaaaa'
    const words = 'Stop searching. Open chart.md. Report depths only.'
    const [list, steered, stopped, foreign, unknown] = await turn(
      'How are they?',
      { action: 'list' },
      { action: 'steer', subagent_id: charts, message: words },
      { action: 'stop', subagent_id: gulls, reason: 'it loops' },
      { action: 'steer', subagent_id: persons, message: 'Not yours.' },
      { action: 'steer', subagent_id: nobody, message: 'Not yours.' },
    )
    const standing = (row: Listed) => [row.title, row.condition ?? '', row.needs ?? ''].join(' | ')
    expect(list?.answer.subagents.map(standing)).toEqual([
      'Count the gulls |  | a decision: stop? loop: it says "retrying the same command"',
      `Chart the harbour | steer? drift: it is at "I will now search the entire repo" | `,
    ])
    expect([steered?.answer.status, stopped?.answer.status]).toEqual(['queued', 'interrupt_requested'])
    expect(foreign?.answer.error.code).toBe('unknown_child')
    expect(foreign?.answer).toEqual(unknown?.answer)
    expect((await chat({ action: 'steer', subagent_id: charts, message: 'Not yours.' })).answer).toEqual(
      unknown?.answer,
    )

    // The person steers what others dispatched.
    for (const title of ['Mend the nets', 'Chart the harbour']) {
      const panel = await showChild(workbench, title)
      await panel.getByLabel('Steer this child').fill('From the person.')
      await panel.getByLabel('Steer this child').press('Enter')
      await panel.locator('.waiting .steer-line').filter({ hasText: 'From the person.' }).waitFor()
    }

    // The work ends between its turns. The completion comes with its next answer, claim and verdict side by side, and with
    // every new connection again, until it is taken.
    open('chart')
    await workbench.row(/Chart the harbour.+succeeded, verified/).waitFor()
    const [first] = await turn('And now?', { action: 'list' })
    expect(first?.due).toHaveLength(1)
    expect(first?.due[0]).toMatch(/^Completion \S+: 2 children are through/)
    expect(first?.due[0]).toContain(`| ${charts} | Chart the harbour | SUCCESS (claimed) | verified |`)
    expect(first?.due[0]).toContain(`| ${gulls} | Count the gulls | CANCELLED | not checked |`)
    await claude.kill()
    claude = TerminalClaude.start(repository.folder, env, tool, '--continue')
    const [again, after, more] = await turn(
      'Say it again, and hand out one more.',
      { action: 'list' },
      { action: 'list' },
      following('Ring the bell', waits('bell')),
    )
    expect([again?.due, after?.due]).toEqual([first?.due, []])
    const [bell] = more?.answer.subagent_ids as [string]
    expect((await chat({ action: 'list' })).due).toEqual([])

    // Its terminal is closed: what it left behind is shown as such, and the person makes it their own.
    const left = workbench.row(/Ring the bell.+its parent is away/)
    await claude.kill()
    await left.waitFor()
    await workbench.screenshot('parent-away')
    const panel = await showChild(workbench, 'Ring the bell')
    await panel.getByRole('heading', { level: 1, name: 'Ring the bell' }).click()
    await panel
      .getByText('Parent: an agent, by MCP, away: nobody hears of this child; you can adopt it', { exact: true })
      .waitFor()
    await panel.getByRole('button', { name: 'Adopt…' }).click()
    await workbench.dialog.filter({ hasText: 'Adopt “Ring the bell”?' }).waitFor()
    await workbench.screenshot('adopt')
    await workbench.answerDialog('Adopt')
    await left.waitFor({ state: 'detached' })
    await panel.getByText('Parent: you; adopted', { exact: true }).waitFor()
    await panel.getByRole('button', { name: 'Adopt…' }).waitFor({ state: 'hidden' })
    claude = TerminalClaude.start(repository.folder, env, tool, '--continue')
    const [back, refused] = await turn(
      'Ring it now.',
      { action: 'list' },
      { action: 'steer', subagent_id: bell, message: 'Now.' },
    )
    expect([back?.answer.count, refused?.answer.error.code]).toEqual([0, 'adopted'])
    expect(back?.due).toEqual([expect.stringMatching(new RegExp(`^Notice ${bell}.adopted: `))])

    // The chat ends and begins work only with the person's leave.
    const live = async () => (await listed(home, repository)).map(idOf)
    await chat({ action: 'stop', subagent_id: nets }, 'Stop a child?')
    await until('it has stopped', async () => !(await live()).includes(nets))
    await workbench.run('Sample: Call delegate_task')
    await workbench.answer(JSON.stringify({ action: 'resume', subagent_id: nets }))
    await workbench.dialog.filter({ hasText: 'Resume a child?' }).waitFor()
    await workbench.answerDialog('Cancel')
    await until('the call was refused', () => readFileSync(answersFile(home), 'utf8').trim().endsWith('Canceled"}'))
    expect(await live()).not.toContain(nets)

    await claude.kill()
    await stopAll(home, repository)
  },
)

interface Listed {
  readonly subagent_id: string
  readonly title: string
  readonly condition: string | null
  readonly needs: string | null
}
const idOf = (row: Listed): string => row.subagent_id

/** Every child a person sees. */
async function listed(home: TestHome, repository: Repository): Promise<Listed[]> {
  const [list] = (await coxswain(home, repository, 'list')) as { subagents: Listed[] }[]
  return list?.subagents ?? []
}

/** The texts of the latest answer of a tool in a request. */
function toolResult({ body }: ModelRequest): string[] {
  const parts = body.messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []))
  const result = parts.filter(({ type }) => type === 'tool_result').at(-1)?.content
  // A refusal is handed on as one text.
  return typeof result === 'string' ? result.split('\n') : (result ?? []).map(({ text }) => text)
}

interface Part {
  readonly type: string
  readonly content?: string | { readonly text: string }[]
}
