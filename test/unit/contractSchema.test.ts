// The JSON Schema that editors use for contract files is made from the very schemas that read them; after a change of
// those, `vitest -u` writes it anew.
import Ajv2020 from 'ajv/dist/2020'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkMeanings, checkSchemas, contractShape, readContract, type CheckKind } from '../../src/core/contract'

const file = resolve('media/contract.schema.json')

const one = (...keys: string[]) => keys.map((key) => ({ required: [key] }))
const choices: Partial<Record<CheckKind, object>> = {
  file_contains: { oneOf: one('text', 'regex') },
  json_schema_ok: { allOf: [{ oneOf: one('path', 'output') }, { oneOf: one('schema', 'required') }] },
  count_at_least: { oneOf: one('path', 'output') },
  count_at_most: { oneOf: one('path', 'output') },
}

function made(): object {
  const input = (schema: z.ZodType): object => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' })
    return rest
  }
  const kinds = Object.entries(checkSchemas) as [CheckKind, z.ZodType][]
  const whole = input(z.strictObject(contractShape)) as { properties: Record<string, object> }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Coxswain contract',
    description: 'What a child must deliver, and the checks that run on the real files after it has ended.',
    ...whole,
    properties: { ...whole.properties, checks: { type: 'array', maxItems: 500, items: { $ref: '#/$defs/check' } } },
    $defs: {
      check: {
        description: 'One key, the kind of check.',
        type: 'object',
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: false,
        properties: Object.fromEntries(
          kinds.map(([kind, schema]) => [
            kind,
            { description: checkMeanings[kind], ...input(schema), ...choices[kind] },
          ]),
        ),
      },
    },
  }
}

test('the shipped schema is the one the reader implies', async () => {
  await expect(`${JSON.stringify(made(), null, 2)}\n`).toMatchFileSnapshot(file)
})

describe('the shipped schema and the reader agree', () => {
  const validate = new Ajv2020({ strict: false }).compile(made())
  const table: [boolean, unknown][] = [
    [true, {}],
    [true, { $schema: './contract.schema.json', deliverables: [{ path: 'a' }], level: 'light' }],
    [true, { checks: [{ file_contains: { path: 'a', text: 'b' } }, { git_committed: {} }], maxRetries: 0 }],
    [true, { checks: [{ json_schema_ok: { output: true, each: true, required: ['a'] } }] }],
    [true, { checks: [{ command: { argv: ['npm', 'test'] } }], scope: ['src/**'], output: true }],
    [false, { deliverable: [] }],
    [false, { checks: [{}] }],
    [false, { checks: [{ nope: {} }] }],
    [false, { checks: [{ file_exists: { path: 'a' }, git_committed: {} }] }],
    [false, { checks: [{ file_exists: { path: 'a', text: 'b' } }] }],
    [false, { checks: [{ file_contains: { path: 'a', text: 'b', regex: 'c' } }] }],
    [false, { checks: [{ file_contains: { path: 'a' } }] }],
    [false, { checks: [{ count_at_least: { n: 1 } }] }],
    [false, { checks: [{ json_schema_ok: { path: 'a', output: true, required: ['b'] } }] }],
    [false, { checks: [{ command: { argv: [] } }] }],
    [false, { checks: [{ sha256: { path: 'a', hash: 'abc' } }] }],
    [false, { level: 'strict' }],
    [false, { maxRetries: 1.5 }],
    [false, { scope: [] }],
    [false, []],
  ]
  test.each(table)('%s: %j', (accepted, value) => {
    expect([validate(value), readContract(value).ok]).toEqual([accepted, accepted])
  })
})
