// A contract as a file holds it, JSON or YAML, up to the point where core/contract.ts reads it; and what only libraries
// can tell of it. Whether the file may be read at all (trust, consent) is the caller's to decide.
import { parseDocument } from 'yaml'
import { kinded, readContract, type Contract, type ContractReading } from '../core/contract'
import { plainLine } from '../core/plainText'
import { parseJson, schemaComplaint } from './content'

/** UTF-16 units. */
const CONTRACT_TEXT_MAX = 1024 * 1024

/** The value a text holds, or why it holds none. YAML 1.2 without tags or merge keys, aliases bounded. */
export function readText(
  text: string,
  format: 'json' | 'yaml',
): { ok: true; value: unknown } | { ok: false; problem: string } {
  if (text.length > CONTRACT_TEXT_MAX)
    return { ok: false, problem: `the file has ${text.length} characters; at most ${CONTRACT_TEXT_MAX} are read` }
  const bare = text.replace(/^\ufeff/, '')
  if (format === 'json') {
    const parsed = parseJson(bare)
    return parsed.ok ? parsed : { ok: false, problem: `it is no JSON: ${parsed.complaint}` }
  }
  try {
    const document = parseDocument(bare, {
      version: '1.2',
      schema: 'core',
      strict: true,
      uniqueKeys: true,
      logLevel: 'error',
    })
    const problem = document.errors[0] ?? document.warnings[0]
    if (problem !== undefined) return { ok: false, problem: `it is no YAML: ${plainLine(problem.message, 300)}` }
    return { ok: true, value: document.toJS({ maxAliasCount: 50 }) as unknown }
  } catch (error) {
    return { ok: false, problem: `it is no YAML: ${plainLine((error as Error).message, 300)}` }
  }
}

/** A `*.coxswain.json` or `*.coxswain.yaml` file's text → the contract, or every problem in it. */
export function contractFromText(text: string, format: 'json' | 'yaml'): ContractReading {
  const read = readText(text, format)
  if (!read.ok) return { ok: false, problems: [read.problem] }
  if (read.value === null || read.value === undefined) return { ok: false, problems: ['the file is empty'] }
  return contractFromValue(read.value)
}

/** The same from a value, with the schemas in it tried out: the way for whoever dispatches a child. */
export function contractFromValue(value: unknown): ContractReading {
  const reading = readContract(value)
  if (!reading.ok) return reading
  const problems = schemasOf(reading.contract).flatMap(([place, schema]) => {
    const complaint = schemaComplaint(schema)
    return complaint === null ? [] : [`${place}: ${complaint}`]
  })
  return problems.length > 0 ? { ok: false, problems } : reading
}

function schemasOf(contract: Contract): [string, NonNullable<Contract['output']>][] {
  const schemas: [string, NonNullable<Contract['output']>][] = contract.checks.flatMap((check, index) => {
    const { kind, args } = kinded(check)
    return kind === 'json_schema_ok' && args.schema !== undefined
      ? [[`checks[${index}].json_schema_ok.schema`, args.schema] as [string, NonNullable<Contract['output']>]]
      : []
  })
  if (contract.output !== undefined) schemas.push(['output', contract.output])
  return schemas
}
