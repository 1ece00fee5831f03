import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loginShellPath } from '../../src/process/loginShellPath'
import { eventually, Stage } from './supervisor/stage'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cxs-shell-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A shell that notes each time it is asked, does `first`, and then what it is told. */
function shell(first: string): Record<string, string> {
  const SHELL = program(
    'shell',
    `echo asked >> '${folder}/asked'\n${first}\nwhile [ "$1" != -c ]; do shift; done\neval "$2"`,
  )
  return { SHELL, HOME: folder, PATH: '/usr/bin:/bin' }
}

function program(name: string, body: string): string {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${body}\n`)
  chmodSync(file, 0o755)
  return file
}

const asked = (): number => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n').length

describe('the login shell', () => {
  it('is asked once for its folders; what else it prints, and relative folders, do not count', async () => {
    const environment = shell(`echo 'Welcome back!'; PATH="/opt/one:.:bin:/opt/two:/opt/one:$PATH"; export PATH`)
    const [first, second] = await Promise.all([loginShellPath(environment), loginShellPath(environment)])
    expect([first, second, asked()]).toEqual([['/opt/one', '/opt/two', '/usr/bin', '/bin'], first, 1])
  })

  it('that does not answer in time is ended with what it started, and counts as silent', async () => {
    const environment = shell(`echo $$ > '${folder}/pid'; sleep 1000`)
    expect(await loginShellPath(environment, 300)).toEqual([])
    const pid = readFileSync(join(folder, 'pid'), 'utf8').trim()
    await eventually(() => isGone(pid), 'the shell has ended')
  })

  it('whose start-up file leaves something running answers at once, and that is ended', async () => {
    const environment = shell(`sleep 1000 & echo $! > '${folder}/pid'`)
    const began = performance.now()
    expect(await loginShellPath(environment, 20_000)).toEqual(['/usr/bin', '/bin'])
    expect(performance.now() - began).toBeLessThan(15_000)
    await eventually(() => isGone(readFileSync(join(folder, 'pid'), 'utf8').trim()), 'it has ended')
  })

  it('that is no program, and one that prints without end, give nothing', async () => {
    expect(await loginShellPath({ SHELL: join(folder, 'none'), HOME: folder })).toEqual([])
    expect(await loginShellPath(shell(`yes`), 20_000)).toEqual([])
  })

  it.each(['/bin/bash', '/bin/sh'])('%s tells what its start-up files set', async (SHELL) => {
    writeFileSync(join(folder, '.profile'), `PATH="/opt/mine:$PATH"; export PATH\n`)
    expect(await loginShellPath({ SHELL, HOME: folder, PATH: '/usr/bin:/bin' }, 20_000)).toContain('/opt/mine')
  })
})

function isGone(pid: string): boolean {
  return !existsSync(`/proc/${pid}`) || / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
}

it('an agent that only the login shell knows is found, and finds the programs beside it when it runs', async () => {
  const stage = Stage.make()
  try {
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const { SHELL } = shell(`PATH="${bin}:$PATH"; export PATH`)
    Object.assign(stage.variables, { SHELL, PATH: `/usr/bin${delimiter}/bin` })
    program('bin/beside', 'echo here')
    program('bin/kid', `beside; echo '{"type":"result","ok":true,"summary":"done"}'`)
    const file = stage.file(JSON.stringify({ kid: { kind: 'commandLine', command: ['kid'], protocol: 'lines' } }))
    const { agents } = await stage.json('agents', '--agents', file)
    const found = (agents as { id: string; path: string; notes: string[]; install: string | null }[]).find(
      ({ id }) => id === 'kid',
    )
    expect(found).toMatchObject({
      found: true,
      path: join(bin, 'kid'),
      notes: ['found by your login shell only'],
      install: null,
    })
    const id = await stage.detached({ goal: 'Work.', agent: 'kid' }, '--agents', file)
    const { phase } = await stage.settled(id)
    const noise = stage.transcript(id).flatMap((entry) => (entry.kind === 'noise' ? [entry.text] : []))
    expect([phase, noise]).toEqual(['SUCCESS', ['here']])
  } finally {
    await stage.clear()
  }
})
