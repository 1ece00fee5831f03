// Contract files on the command line: a template to begin from, a file looked over before it is used, and the contract
// `run --contract` gives to each task that has none. A file that is named here is one a person chose.
import { readFileSync } from 'node:fs'
import { allChecks, describeCheck, type ContractReading } from '../core/contract'
import { isTemplateName, templateNames, templates } from '../core/contractTemplates'
import { contractFromText, contractFromValue, readText } from '../verification/contractText'
import type { Invocation } from './invocation'
import { UsageError, word } from './output'

/** `contract --template NAME` prints one to fill in; `contract FILE` says what a file demands, or what is wrong with it. */
export function contract({ flags, words, out }: Invocation): number {
  const { template } = flags
  if (template !== undefined) {
    if (!isTemplateName(template))
      throw new UsageError('invalid', `There is no template "${template}"; there are ${templateNames.join(', ')}.`)
    const { fill, blank } = templates[template]
    const value = fill(blank.example)
    out.print(value as object, JSON.stringify(value, null, 2))
    return 0
  }
  const path = word(words, 0, 'A contract file, or --template NAME')
  const reading = contractFromText(textOf(path), formatOf(path))
  if (!reading.ok) throw problems(path, reading)
  const checks = allChecks(reading.contract).map(describeCheck)
  const { level, deliverables, maxRetries } = reading.contract
  out.print(
    {
      level,
      deliverables: deliverables.map(({ name }) => name),
      checks,
      max_retries: maxRetries,
      warnings: reading.warnings,
    },
    [
      `level ${level}, asked again at most ${maxRetries} times`,
      ...deliverables.map(({ name }) => `delivers ${name}`),
      ...checks.map((check) => `checks ${check}`),
      ...reading.warnings.map((warning) => `warning: ${warning}`),
    ].join('\n'),
  )
  return 0
}

/** The value of a contract file, known to be a contract that works. */
export function contractIn(path: string): unknown {
  const read = readText(textOf(path), formatOf(path))
  if (!read.ok) throw new UsageError('invalid', `The contract ${path} cannot be used: ${read.problem}.`)
  const reading = contractFromValue(read.value)
  if (!reading.ok) throw problems(path, reading)
  return read.value
}

function problems(path: string, reading: ContractReading & { ok: false }): UsageError {
  return new UsageError('invalid', `The contract ${path} cannot be used: ${reading.problems.join('; ')}.`)
}

const formatOf = (path: string): 'json' | 'yaml' => (/\.ya?ml$/i.test(path) ? 'yaml' : 'json')

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError('invalid', `The contract ${path} cannot be read: ${why}.`)
  }
}
