import { describe, expect, test } from 'vitest'
import { extractObject } from '../../../src/verification/extract'

const object = { artifacts: { 'a.md': 'a.md' }, summary: 'done' }
const json = JSON.stringify(object)
const pretty = JSON.stringify(object, null, 2)
const withFence = { artifacts: { note: 'run:\n```sh\nnpm test\n```\n' }, summary: '`{}` and } and { too' }

describe('the object in a report', () => {
  const found: [string, string, unknown, string][] = [
    ['bare', json, object, 'whole'],
    ['bare with white space and a byte order mark', `\ufeff\n ${pretty}\n\n`, object, 'whole'],
    ['bare with a fence inside a string', JSON.stringify(withFence), withFence, 'whole'],
    ['fenced', '```json\n' + pretty + '\n```', object, 'fence'],
    ['fenced without a language', '```\n' + json + '\n```\n', object, 'fence'],
    ['fenced with tildes', '~~~~\n' + json + '\n~~~~', object, 'fence'],
    [
      'fenced with a fence inside a string',
      '```json\n' + JSON.stringify(withFence, null, 1) + '\n```',
      withFence,
      'fence',
    ],
    ['fenced with Windows line ends', '```json\r\n' + json + '\r\n```', object, 'fence'],
    ['prose before', `All done!\n${json}`, object, 'prose'],
    ['prose around a fence', 'Here it is:\n```json\n' + pretty + '\n```\nBye.', object, 'prose'],
    [
      'the last of two blocks',
      '```json\n{"artifacts":{},"summary":"draft"}\n```\n```json\n' + json + '\n```',
      object,
      'prose',
    ],
    ['prose with braces of code', 'I changed `function f() { return {} }` and ${x}.\n' + json, object, 'prose'],
    ['an opening brace that never closes', `Use { to open.\n${json}`, object, 'prose'],
    ['an example object after it', `${json}\nNote: rows look like {"a": 1}.`, object, 'prose'],
    ['another object alone', 'Result: {"a": {"b": 1}} ok', { a: { b: 1 } }, 'prose'],
    ['braces and quotes in strings', 'x {"a": "} \\" {", "artifacts": {}} y', { a: '} " {', artifacts: {} }, 'prose'],
  ]
  test.each(found)('%s', (_, text, value, from) => {
    expect(extractObject(text)).toEqual({ ok: true, value, from })
  })

  const complaints: [string, string, string][] = [
    ['nothing', '  \n', 'the message is empty'],
    [
      'prose only',
      'I wrote orders.json with all 14 records.',
      'there is no JSON object in it; it begins "I wrote orders.json with all 14 records."',
    ],
    ['a list', '[1, 2]', 'it is a list, not one JSON object'],
    ['null', 'null', 'it is null, not one JSON object'],
    ['a number', '42', 'it is a number, not one JSON object'],
    ['a trailing comma', '{"artifacts": {"a": "b",}}', 'at line 1, column 25, near'],
    ['single quotes', "{'artifacts': {}}", 'at line 1, column 2, near'],
    ['a comment', '{\n  // here\n  "artifacts": {}\n}', 'at line 2, column 3'],
    ['an object cut short', '{"artifacts": {"a": "b"', 'at line 1, column 24'],
    ['broken JSON in a fence', '```json\n{"artifacts": {"a": b}}\n```', 'Unexpected token'],
    ['a raw line feed in a string', '{"summary": "a\nb"}', 'at line 1, column 13'],
    ['nesting without end', '['.repeat(100_000), 'it is nested deeper than 512 levels'],
    ['a message without end', 'x'.repeat(2_000_000), 'at most 1048576 are read'],
  ]
  test.each(complaints)('%s is complained of exactly', (_, text, words) => {
    const extraction = extractObject(text)
    expect(extraction.ok ? 'found' : extraction.complaint).toContain(words)
  })

  test('text made of braces is answered within the search limit', () => {
    const started = performance.now()
    expect(extractObject('{"'.repeat(400_000)).ok).toBe(false)
    expect(extractObject('{"a":'.repeat(200_000)).ok).toBe(false)
    expect(extractObject('x{"a":1}'.repeat(100_000)).ok).toBe(true)
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})
