// An owner in a process of its own, as a window's extension host is one: takes the store, carries out the commands of its
// stdin (one JSON object a line, all at once), and prints their answers. To be killed at any moment.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { CommandName } from '../../../src/supervisor/commands'
import type { CoxswainOptions } from '../../../src/supervisor/coxswain'
import { openCoxswain } from '../../../src/supervisor/openCoxswain'
import { readSettings } from '../../../src/supervisor/settings'

export interface HostOptions {
  readonly folder: string
  readonly dist: string
  readonly environment: Record<string, string>
  readonly set: Record<string, unknown>
}

const print = (object: object): void => void process.stdout.write(`${JSON.stringify(object)}\n`)

async function main(optionsFile: string): Promise<void> {
  const { set, ...options } = JSON.parse(readFileSync(optionsFile, 'utf8')) as HostOptions
  const { settings } = readSettings(set)
  const log: CoxswainOptions['log'] = (level, fact, fields) => {
    if (level === 'error') print({ error: fact, fields })
  }
  const coxswain = await openCoxswain({
    ...options,
    role: 'window',
    caller: { kind: 'person' },
    settings: () => settings,
    attended: () => true,
    version: '0.0.0',
    log,
  })
  if (!('commands' in coxswain)) throw new Error(coxswain.message)
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { n, name, request } = JSON.parse(line) as { n: number; name: CommandName | 'handles'; request: object }
    if (name === 'handles') {
      globalThis.gc?.()
      const listeners = process.eventNames().reduce((sum, event) => sum + process.listenerCount(event), 0)
      print({
        n,
        answer: { resources: process.getActiveResourcesInfo().length, listeners, heap: process.memoryUsage().heapUsed },
      })
      return
    }
    const commands = coxswain.commands as unknown as Record<string, (request: object) => Promise<object>>
    const asked = commands[name]?.(request) ?? Promise.reject(new Error(`no command ${name}`))
    asked.then(
      (answer) => print({ n, answer }),
      (error: unknown) => print({ n, answer: { error: { code: 'thrown', message: String(error) } } }),
    )
  })
  const owns = await coxswain.tryOwn()
  print({ owns })
  await coxswain.recovered()
  print({ recovered: true })
}

void main(process.argv[2] ?? '')
