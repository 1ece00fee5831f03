import { describe, expect, test } from 'vitest'
import { contractFromText, contractFromValue } from '../../../src/verification/contractText'

const problems = (text: string, format: 'json' | 'yaml'): string => {
  const reading = contractFromText(text, format)
  return reading.ok ? 'accepted' : reading.problems.join('\n')
}

const yaml = `
# a data table
deliverables:
  - path: table.json
    description: price table
checks:
  - count_at_least: { path: table.json, pointer: /rows, n: 5 }
  - command:
      argv: [npm, test]
level: full
`
const json = JSON.stringify({
  deliverables: [{ path: 'table.json', description: 'price table' }],
  checks: [{ count_at_least: { path: 'table.json', pointer: '/rows', n: 5 } }, { command: { argv: ['npm', 'test'] } }],
  level: 'full',
})

describe('a contract file', () => {
  test('says the same in YAML and in JSON', () => {
    const fromYaml = contractFromText(yaml, 'yaml')
    expect(fromYaml.ok).toBe(true)
    expect(contractFromText(`\ufeff${json}`, 'json')).toEqual(fromYaml)
  })

  test('in YAML keeps words that older YAML took for something else', () => {
    const reading = contractFromText('criteria: [no, on, 012, 1:30]\nlevel: none', 'yaml')
    expect(reading.ok ? reading.contract.criteria : reading.problems).toEqual([
      'criteria[2]: expected string, received number',
    ])
    const words = contractFromText('criteria: [no, on, "012"]\nlevel: none', 'yaml')
    expect(words.ok && words.contract.criteria).toEqual(['no', 'on', '012'])
  })

  const refused: [string, string, 'json' | 'yaml', string][] = [
    ['broken JSON', '{"checks": [}', 'json', 'it is no JSON: '],
    ['broken YAML', 'checks: [', 'yaml', 'it is no YAML: '],
    ['a key given twice', 'level: full\nlevel: none', 'yaml', 'Map keys must be unique'],
    ['a tag', 'checks: !!js/function "x"', 'yaml', 'it is no YAML: '],
    ['two documents', 'level: none\n---\nlevel: full', 'yaml', 'it is no YAML: '],
    ['an empty file', '\n', 'yaml', 'the file is empty'],
    ['a list', '- a', 'yaml', 'expected object'],
    ['an unknown key', 'chekcs: []', 'yaml', 'unknown key "chekcs"'],
    ['JSON nested without end', '['.repeat(100_000), 'json', 'nested deeper than 512'],
    ['a file without end', 'x'.repeat(2_000_000), 'yaml', 'at most 1048576 are read'],
    [
      'aliases that grow',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
        .split('')
        .map(
          (name, n) =>
            `${name}: &${name} [${Array(9)
              .fill(`*${'abcdefgh'[n] ?? ''}`)
              .join(',')}]`,
        )
        .join('\n')}`,
      'yaml',
      'it is no YAML: Excessive alias count',
    ],
  ]
  test.each(refused)('%s is refused by name', (_, text, format, words) => {
    expect(problems(text, format)).toContain(words)
  })
})

describe('schemas are tried out before anything starts', () => {
  const withSchema = (schema: object) => {
    const reading = contractFromValue({
      checks: [{ file_exists: { path: 'a' } }, { json_schema_ok: { path: 'a', schema } }],
    })
    return reading.ok ? 'accepted' : reading.problems.join('\n')
  }
  const table: [string, object, string][] = [
    ['a usable one', { type: 'object', properties: { d: { format: 'date' } } }, 'accepted'],
    ['one of an older draft', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }, 'accepted'],
    [
      'one of an unknown draft',
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      'checks[1].json_schema_ok.schema: the schema is of draft',
    ],
    ['an unknown format', { format: 'moon-phase' }, 'unknown format "moon-phase"'],
    ['a type that does not exist', { type: 'objekt' }, 'checks[1].json_schema_ok.schema: the schema cannot be used'],
    ['a broken pattern', { pattern: '(' }, 'the schema cannot be used'],
    ['a reference to nothing', { $ref: '#/$defs/none' }, 'refers to #/$defs/none, which it does not hold'],
  ]
  test.each(table)('%s', (_, schema, words) => {
    expect(withSchema(schema)).toContain(words)
  })

  test('the output schema too', () => {
    const reading = contractFromValue({ output: { type: 'objekt' } })
    expect(reading.ok ? [] : reading.problems[0]).toContain('output: the schema cannot be used')
  })
})
