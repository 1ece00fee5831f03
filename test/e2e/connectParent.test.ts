// 'Connect a parent agent…' as a person uses it: what is shown is what is written into another program's configuration,
// which otherwise stays as it is, or stays as it is altogether.
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { until } from './harness/until.js'
import { vscodeTest } from './harness/vscodeTest.js'
import type { Workbench } from './harness/workbench.js'
import { inTerminal } from './terminalClaude.js'

const test = vscodeTest()

/** What is shown for this agent; the dialog stays open. */
async function connect(workbench: Workbench, agent: string): Promise<string> {
  await workbench.run('Coxswain: Connect a parent agent…')
  await workbench.pick(agent)
  await workbench.dialog.filter({ hasText: `Connect ${agent} to Coxswain?` }).waitFor()
  return await workbench.dialog.innerText()
}

interface Sample {
  readonly agent: string
  readonly file: string
  readonly existing: string
  /** `S` stands for its session, `L` for the launcher. */
  readonly added: string
  readonly unreadable: string
}

const samples: readonly Sample[] = [
  {
    agent: 'Codex',
    file: '.codex/config.toml',
    existing: '# mine\nmodel = "x"   # keep\n\n[mcp_servers.other]\ncommand = "y"\n',
    added: '\n[mcp_servers.coxswain]\ncommand = "L"\nargs = ["mcp", "--session", "S"]\n',
    unreadable: 'model =\n',
  },
  {
    agent: 'gptme',
    file: '.config/gptme/config.toml',
    existing: '# mine\n[mcp]\nenabled = true   # keep\n',
    added: '\n[[mcp.servers]]\nname = "coxswain"\nenabled = true\ncommand = "L"\nargs = ["mcp", "--session", "S"]\n',
    unreadable: '[mcp\n',
  },
  {
    agent: 'Hermes',
    file: '.hermes/config.yaml',
    existing: '# mine\nmodel:   x   # keep\n',
    added: 'mcp_servers:\n  coxswain:\n    command: L\n    args:\n      - mcp\n      - --session\n      - S\n',
    unreadable: 'model: [x\n',
  },
  {
    agent: 'opencode',
    file: '.config/opencode/opencode.json',
    existing: '{\n  // mine\n  "theme":   "x" // keep\n',
    added:
      '  "mcp": {\n    "coxswain": {\n      "type": "local",\n      "command": [\n        "L",\n        "mcp",\n        "--session",\n        "S"\n      ],\n      "enabled": true\n    }\n  }\n}\n',
    unreadable: '{ "theme": \n',
  },
]

test('what is shown is written, once, and nothing else of a configuration is touched', async ({
  workbench,
  home,
  repository,
}) => {
  const launcher = path.join(home.home, '.local/share/coxswain/bin/coxswain')
  for (const { agent, file, existing, added, unreadable } of samples) {
    const place = path.join(home.home, file)
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, unreadable)
    const refusal = await connect(workbench, agent)
    expect(refusal).toMatch(/cannot be read as (TOML|YAML|JSON), so it is left as it is\. Put it right first/)
    expect(await workbench.dialog.getByRole('button', { name: 'Write' }).count()).toBe(0)
    await workbench.answerDialog('Cancel')
    expect(readFileSync(place, 'utf8')).toBe(unreadable)

    // opencode's sample is closed by what is added.
    const whole = agent === 'opencode' ? `${existing}}\n` : existing
    // As many keep their files: elsewhere, with a link to them.
    const kept = path.join(home.home, `kept-${agent}`)
    rmSync(place)
    writeFileSync(kept, whole, { mode: 0o640 })
    symlinkSync(kept, place)
    const shown = await connect(workbench, agent)
    expect(shown).toContain(`This is added to ${place}, which is otherwise left as it is:`)
    if (agent === 'Codex') await workbench.screenshot('connect-parent')
    await workbench.answerDialog('Write')
    await until(`the file of ${agent} is written`, () => readFileSync(place, 'utf8') !== whole)
    const written = readFileSync(place, 'utf8')
    const session = new RegExp(`${agent.toLowerCase()}-[0-9a-f]{24}`).exec(written)?.[0] ?? 'none'
    expect(shown).toContain(session)
    expect(written.replace(session, 'S').replace(launcher, 'L')).toBe(
      (agent === 'opencode' ? existing.replace('"x"', '"x",') : existing) + added,
    )

    expect([readFileSync(kept, 'utf8'), statSync(kept).mode & 0o777]).toEqual([written, 0o640])

    expect(await connect(workbench, agent)).toContain(`${place} names Coxswain already, so there is nothing to write.`)
    expect(await workbench.dialog.getByRole('button', { name: 'Write' }).count()).toBe(0)
    await workbench.answerDialog('Cancel')
    expect(readFileSync(place, 'utf8')).toBe(written)
  }

  // Where there is no configuration yet, one is begun.
  const [codex] = samples
  const fresh = path.join(home.home, codex?.file ?? '')
  rmSync(fresh)
  await connect(workbench, 'Codex')
  await workbench.answerDialog('Write')
  await workbench.toast('Codex has the tool delegate_task from its next start on.').first().waitFor()
  await until('it is written', () => readFileSync(fresh, 'utf8').startsWith('[mcp_servers.coxswain]\ncommand = "'))

  // All of them name one launcher, which is of this installation and of no place that an update moves.
  expect(readFileSync(launcher, 'utf8')).toContain(path.join(home.profile, 'ext/coxswain.coxswain-'))
  expect(inTerminal(`'${launcher}' list --json`, repository.folder, home.env)).toContain('"action":"list"')
})
