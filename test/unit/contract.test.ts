import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../src/core/canonicalJson'
import {
  allChecks,
  contractPrompt,
  contractRef,
  freezeContract,
  hiddenExit,
  outputSchema,
  readContract,
  thawContract,
  type Contract,
} from '../../src/core/contract'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function accepted(value: unknown): Contract {
  const reading = readContract(value)
  if (!reading.ok) throw new Error(reading.problems.join('\n'))
  return reading.contract
}

function problems(value: unknown): readonly string[] {
  const reading = readContract(value)
  return reading.ok ? [] : reading.problems
}

const priceTable = {
  deliverables: [{ path: 'table.json', description: 'price table' }],
  criteria: ['at least 5 providers', 'each row has a price'],
  checks: [
    { file_exists: { path: 'table.json' } },
    { json_schema_ok: { path: 'table.json', pointer: '/rows', each: true, required: ['price'] } },
    { count_at_least: { path: 'table.json', pointer: '/rows', n: 5 } },
    { file_contains: { path: 'summary.md', text: 'Sources' } },
    { command: { argv: ['npm', 'test'], timeoutSeconds: 300 } },
    { only_changed: { globs: ['docs/**'] } },
  ],
  output: { type: 'object', required: ['artifacts', 'summary'] },
  level: 'full',
  maxRetries: 1,
}

describe('reading a contract', () => {
  test('the documented example is accepted whole, with its defaults filled in', () => {
    const contract = accepted(priceTable)
    expect(contract.deliverables).toEqual([
      { kind: 'file', name: 'table.json', path: 'table.json', description: 'price table' },
    ])
    expect(contract.checks).toHaveLength(6)
    expect(contract.checks[2]).toEqual({
      count_at_least: { path: 'table.json', pointer: '/rows', n: 5, duplicates: 'refused' },
    })
  })

  test('no contract demands and checks nothing', () => {
    expect(accepted(undefined)).toEqual({
      v: 1,
      level: 'none',
      deliverables: [],
      criteria: [],
      checks: [],
      maxRetries: 0,
    })
  })

  test('a contract without a level is full and is asked again once', () => {
    const contract = accepted({ deliverables: [{ path: 'a.txt' }] })
    expect([contract.level, contract.maxRetries]).toEqual(['full', 1])
  })

  test('every kind of check is accepted', () => {
    const contract = accepted({
      checks: [
        { file_exists: { path: 'a' } },
        { file_contains: { path: 'a', regex: '^x', flags: 'mi' } },
        { json_schema_ok: { output: true, pointer: '/artifacts', schema: { type: 'object' } } },
        { count_at_least: { path: 'a', n: 1 } },
        { count_at_most: { output: true, pointer: '/a', n: 0 } },
        { file_unchanged: { path: 'test/a.test.ts' } },
        { only_changed: { globs: ['src/**', 'README.md'] } },
        { sha256: { path: 'a', hash: 'A'.repeat(64) } },
        { command: { argv: ['true'] } },
        { test_report: { path: 'junit.xml', n: 3 } },
        { git_committed: {} },
        { url_ok: { url: 'http://127.0.0.1:8080/', status: 200 } },
      ],
    })
    expect(contract.checks).toHaveLength(12)
    expect(contract.checks[7]).toEqual({ sha256: { path: 'a', hash: 'a'.repeat(64) } })
  })

  test('paths are spelled one way', () => {
    expect(accepted({ checks: [{ file_exists: { path: './out//a/./b.txt' } }] }).checks).toEqual([
      { file_exists: { path: 'out/a/b.txt' } },
    ])
  })

  test('a command may run in a folder below the worktree', () => {
    expect(problems({ checks: [{ command: { argv: ['true'], cwd: 'pkg/a/' } }] })).toEqual([])
  })

  test('a name that merely starts with two dots is a name like any other', () => {
    expect(accepted({ deliverables: [{ path: '..hidden' }, { path: 'a/...b' }] }).deliverables).toHaveLength(2)
  })

  const refused: [string, unknown, string][] = [
    ['an unknown key', { deliverable: [] }, 'unknown key "deliverable"; known: goal, deliverables, criteria,'],
    [
      'an unknown kind',
      { checks: [{ file_exist: { path: 'a' } }] },
      'checks[0]: unknown kind "file_exist"; known: file_exists,',
    ],
    ['a kind only objects inherit', { checks: [{ toString: {} }] }, 'checks[0]: unknown kind "toString"'],
    [
      'a check of two kinds',
      { checks: [{ file_exists: { path: 'a' }, sha256: {} }] },
      'checks[0]: a check has one key, its kind; this one has file_exists, sha256',
    ],
    ['a check of no kind', { checks: [{}] }, 'checks[0]: a check has one key, its kind; this one has none'],
    ['a check that is no object', { checks: ['file_exists'] }, 'checks[0]: a check is an object'],
    [
      'an unknown key of a check',
      { checks: [{ file_contains: { path: 'a', txt: 'b' } }] },
      'checks[0].file_contains: unknown key "txt"; known: path, text, regex, flags',
    ],
    ['a missing key of a check', { checks: [{ file_exists: {} }] }, 'checks[0].file_exists.path: is missing'],
    [
      'an unknown key of a deliverable',
      { deliverables: [{ file: 'a' }] },
      'deliverables[0]: unknown key "file"; known: kind, path, id, url, description',
    ],
    [
      'an absolute path',
      { deliverables: [{ path: '/etc/passwd' }] },
      'deliverables[0].path: "/etc/passwd" is absolute',
    ],
    ['a drive letter', { deliverables: [{ path: 'C:\\x' }] }, 'is absolute'],
    ['a path upwards', { deliverables: [{ path: 'a/../../b' }] }, '"a/../../b" leaves the child'],
    [
      'a path that is only upwards',
      { checks: [{ file_exists: { path: '..' } }] },
      'checks[0].file_exists.path: ".." leaves',
    ],
    ['NUL in a path', { deliverables: [{ path: 'a\0b' }] }, 'holds a NUL character'],
    ['a folder', { deliverables: [{ path: 'out/' }] }, '"out/" is a folder'],
    ['the worktree itself', { deliverables: [{ path: './.' }] }, 'name a file'],
    ["git's own files", { checks: [{ file_unchanged: { path: '.git/config' } }] }, "git's own files"],
    ['git in capitals', { checks: [{ file_unchanged: { path: 'a/.GIT/config' } }] }, "git's own files"],
    ['a name given twice', { deliverables: [{ path: 'a' }, { path: './a' }] }, '"a" is there twice'],
    ['a file without a place', { deliverables: [{ description: 'x' }] }, 'a file needs a "path"'],
    [
      'inline content with a path',
      { deliverables: [{ kind: 'inline', id: 'x', path: 'a' }] },
      'inline content is never written',
    ],
    [
      'an upward command folder',
      { checks: [{ command: { argv: ['true'], cwd: '../x' } }] },
      'command.cwd: "../x" leaves',
    ],
    ['a pipe as a word', { checks: [{ command: { argv: ['false', '|', 'tee', 'log'] } }] }, '"|" is a word of a shell'],
    ['no program', { checks: [{ command: { argv: [] } }] }, 'checks[0].command.argv'],
    [
      'text and regex',
      { checks: [{ file_contains: { path: 'a', text: 'b', regex: 'c' } }] },
      'either "text" or "regex"',
    ],
    ['neither text nor regex', { checks: [{ file_contains: { path: 'a' } }] }, 'either "text" or "regex"'],
    [
      'a broken regex',
      { checks: [{ file_contains: { path: 'a', regex: '(' } }] },
      'file_contains.regex: Invalid regular expression',
    ],
    [
      'path and output',
      { checks: [{ count_at_least: { path: 'a', output: true, n: 1 } }] },
      'either "path" or "output": true',
    ],
    [
      'schema and required',
      { checks: [{ json_schema_ok: { path: 'a', schema: {}, required: ['b'] } }] },
      'either "schema" or "required"',
    ],
    [
      'a remote reference',
      { checks: [{ json_schema_ok: { path: 'a', schema: { items: { $ref: 'https://example.org/a.json' } } } }] },
      '"https://example.org/a.json" would have to be fetched',
    ],
    [
      'a file reference in output',
      { output: { $ref: 'file:///etc/passwd' } },
      'output: "$ref": "file:///etc/passwd" would have to be fetched',
    ],
    ['a schema nested without end', { output: nested(500) }, 'nested more than 200 deep'],
    [
      'a pointer without a slash',
      { checks: [{ count_at_least: { path: 'a', pointer: 'rows', n: 1 } }] },
      'a JSON Pointer is empty or starts with /',
    ],
    ['a short hash', { checks: [{ sha256: { path: 'a', hash: 'abc' } }] }, '64 hexadecimal digits'],
    ['a negative count', { checks: [{ count_at_least: { path: 'a', n: -1 } }] }, 'checks[0].count_at_least.n'],
    ['an upward glob', { scope: ['../**'] }, 'scope: "../**" leaves'],
    ['an absolute glob', { checks: [{ only_changed: { globs: ['/etc/**'] } }] }, 'is absolute'],
    ['an excluding glob', { scope: ['!src/**'] }, 'say only what may be changed'],
    [
      'checks of a light contract',
      { level: 'light', checks: [{ file_exists: { path: 'a' } }] },
      'level "light" runs no checks',
    ],
    ['a scope of a light contract', { level: 'light', scope: ['a'] }, 'scope: level "light" runs no checks'],
    ['output of a light contract', { level: 'light', output: {} }, 'output: level "light" demands no JSON'],
    ['retries of a light contract', { level: 'light', maxRetries: 1 }, 'maxRetries: level "light" never asks again'],
    [
      'inline deliverables of a light contract',
      { level: 'light', deliverables: [{ kind: 'inline', id: 'a' }] },
      'looks for files only',
    ],
    ['deliverables of no contract', { level: 'none', deliverables: [{ path: 'a' }] }, 'level "none" checks nothing'],
    ['an unknown level', { level: 'strict' }, 'level: '],
    ['too many retries', { maxRetries: 1000 }, 'maxRetries: '],
    [
      'an output schema without room for artifacts',
      {
        deliverables: [{ path: 'a' }],
        output: { type: 'object', additionalProperties: false, properties: { summary: {} } },
      },
      'allows no key "artifacts"',
    ],
    [
      'a check on the past of inline content',
      { deliverables: [{ kind: 'inline', id: 'x' }], checks: [{ file_unchanged: { path: 'x' } }] },
      '"x", which is no file',
    ],
    ['text', 'checks: []', 'expected object'],
  ]
  test.each(refused)('%s is refused by name', (_, value, words) => {
    const said = problems(value)
    expect(said.join('\n')).toContain(words)
  })

  test('all problems are told at once', () => {
    expect(
      problems({ checks: [{ nope: {} }, { file_exists: { path: '/a' } }], deliverables: [{ path: '../b' }] }),
    ).toHaveLength(3)
  })

  test('a reference inside the schema, and one that is only data, are no references to fetch', () => {
    expect(
      problems({
        output: {
          $id: 'https://example.org/whole.json',
          $defs: { row: { $id: 'row.json', type: 'object' } },
          anyOf: [{ $ref: '#/$defs/row' }, { $ref: 'row.json' }, { $ref: 'https://example.org/whole.json#/$defs/row' }],
          enum: [{ $ref: 'https://example.org/data.json' }],
          properties: { $ref: { type: 'string' } },
        },
      }),
    ).toEqual([])
  })

  test('what is accepted but says something else than meant is warned of', () => {
    const reading = readContract({
      checks: [{ command: { argv: ['sh', '-c', 'false | tee log'] } }, { command: { argv: ['npm test'] } }],
    })
    expect(reading.ok && reading.warnings).toEqual([
      'checks[0].command: a pipe reports only the exit of its last program; say `set -o pipefail` or use two checks; its exit 0 will not count as a pass',
      'checks[1].command: argv is a list of words, e.g. ["npm", "test"]; this is one word with spaces',
    ])
    const empty = readContract({})
    expect(empty.ok && empty.warnings).toHaveLength(1)
  })
})

function nested(depth: number): unknown {
  let schema: unknown = {}
  for (let level = 0; level < depth; level++) schema = { items: schema }
  return schema
}

describe('a command whose exit hides another', () => {
  const cases: [boolean, ...string[]][] = [
    [true, 'sh', '-c', 'false | tee log'],
    [true, '/usr/bin/env', 'bash', '-c', 'npm test | tail -5'],
    [true, 'bash', '-lc', 'npm test || true'],
    [true, 'sh', '-c', 'npm ci; npm test; echo done'],
    [true, 'sh', '-c', 'npm test\necho done'],
    [true, 'sh', '-c', 'npm test & echo started'],
    [false, 'bash', '-c', 'set -o pipefail; set -e; npm test | tail -5'],
    [false, 'bash', '-c', 'set -o pipefail; export A=1; B=2; npm test | tail -5'],
    [true, 'bash', '-c', 'set -o pipefail; cd x; npm test | tail -5'],
    [false, 'bash', '-o', 'pipefail', '-c', 'npm test | tail -5'],
    [false, 'sh', '-c', 'npm ci && npm test'],
    [false, 'sh', '-ec', 'npm ci; npm test'],
    [false, 'sh', '-c', 'grep "a|b" file'],
    [false, 'sh', '-c', "grep 'a;b' file"],
    [false, 'sh', '-c', 'npm test'],
    [false, 'grep', '|', 'file'],
    [false, 'sh', 'script.sh'],
    [false, 'npm', 'test'],
  ]
  test.each(cases)('%s: %s %s %s', (hidden, ...argv) => {
    expect(hiddenExit(argv) !== null).toBe(hidden)
  })
})

describe('freezing', () => {
  test('the same contract written in another order has the same hash', () => {
    const one = freezeContract(accepted({ criteria: ['x'], deliverables: [{ path: 'a', kind: 'file' }] }), sha256)
    const other = freezeContract(accepted({ deliverables: [{ path: './a' }], criteria: ['x'], level: 'full' }), sha256)
    expect(one).toEqual(other)
    expect(one.hash).toMatch(/^[0-9a-f]{64}$/)
  })

  test('any difference in what is checked has another hash', () => {
    const n5 = freezeContract(accepted({ checks: [{ count_at_least: { path: 'a', n: 5 } }] }), sha256)
    const n4 = freezeContract(accepted({ checks: [{ count_at_least: { path: 'a', n: 4 } }] }), sha256)
    expect(n5.hash).not.toBe(n4.hash)
  })

  test('a stored contract comes back as it was, unless somebody touched it', () => {
    const contract = accepted(priceTable)
    const frozen = freezeContract(contract, sha256)
    expect(thawContract(frozen, sha256)).toEqual({ ok: true, contract })
    const touched = { ...frozen, text: frozen.text.replace('"n":5', '"n":0') }
    expect(thawContract(touched, sha256)).toEqual({
      ok: false,
      reason: 'the stored contract is not the one this child was given: its hash differs',
    })
  })

  test('the log keeps level, hash and retries, and nothing of no contract', () => {
    const contract = accepted(priceTable)
    const frozen = freezeContract(contract, sha256)
    expect(contractRef(contract, frozen)).toEqual({
      deliverables: ['table.json'],
      level: 'full',
      hash: frozen.hash,
      maxRetries: 1,
    })
    const none = accepted(null)
    expect(contractRef(none, freezeContract(none, sha256))).toEqual({ level: 'none', maxRetries: 0 })
  })

  test('canonical JSON sorts keys at every depth and refuses what JSON cannot say', () => {
    expect(canonicalJson({ b: [{ d: 1, c: undefined, a: 'é' }], a: null })).toBe('{"a":null,"b":[{"a":"é","d":1}]}')
    expect(() => canonicalJson({ a: NaN })).toThrow(TypeError)
    expect(() => canonicalJson(1n)).toThrow(TypeError)
  })
})

describe('what runs and what the child is told', () => {
  test('a scope and an output schema are checks too', () => {
    const contract = accepted({ scope: ['docs/**'], output: { type: 'object' }, checks: [{ git_committed: true }] })
    expect(allChecks(contract)).toEqual([
      { git_committed: {} },
      { only_changed: { globs: ['docs/**'] } },
      { json_schema_ok: { output: true, pointer: '', each: false, schema: { type: 'object' } } },
    ])
  })

  test('the prompt names the absolute worktree, every deliverable and check, and the one object to return', () => {
    expect(
      contractPrompt(
        accepted({
          deliverables: [
            { path: 'table.json', description: 'price table' },
            { kind: 'inline', id: 'note' },
          ],
          criteria: ['at least 5 providers'],
          checks: [{ count_at_least: { path: 'table.json', pointer: '/rows', n: 5 } }],
          scope: ['table.json'],
        }),
        '/home/me/worktrees/x',
      ),
    ).toMatchInlineSnapshot(`
      "# Contract

      Your working folder is /home/me/worktrees/x. Every path below is relative to it.

      Deliver:
      - table.json: the file /home/me/worktrees/x/table.json: price table
      - note: content, given in the returned object

      It is right when:
      - at least 5 providers

      Change nothing but files that match: table.json

      After you end, these checks run on the real files, not on what you say:
      - table.json at /rows has at least 5 different entries
      - nothing changed but table.json

      When everything is done, your last message must be exactly one JSON object and nothing else, no prose and no code fence:
      {"artifacts":{"table.json":"table.json","note":"<content>"},"summary":"<what you did and what is left>"}
      If something could not be done, say so in "summary". Do not list a deliverable that does not exist."
    `)
  })

  test('a light contract demands no JSON, and no contract adds nothing to the prompt', () => {
    const light = accepted({ level: 'light', deliverables: [{ path: 'a.md' }] })
    expect(contractPrompt(light, '/w')).toContain('/w/a.md')
    expect(contractPrompt(light, '/w')).not.toContain('JSON')
    expect(outputSchema(light)).toBeUndefined()
    expect(contractPrompt(accepted(null), '/w')).toBe('')
  })

  test('agents that can be held to a schema get one that names every deliverable', () => {
    expect(outputSchema(accepted({ deliverables: [{ path: 'a.md' }] }))).toMatchObject({
      required: ['artifacts', 'summary'],
      properties: { artifacts: { required: ['a.md'] } },
    })
    expect(outputSchema(accepted({ output: { type: 'object' } }))).toEqual({ type: 'object' })
  })
})
