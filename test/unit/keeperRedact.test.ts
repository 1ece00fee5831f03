// Known secrets never reach the disk, wherever the stream is cut; everything else does, byte for byte.
import { expect, test } from 'vitest'
import { Redactor, redactText, type Secret } from '../../src/process/keeper/redact'

// Shapes as vendors give them out, made up here.
const shapes = [
  'sk-ant-' + 'api03-A1b2C3d4E5f6G7h8I9j0',
  'sk-' + 'proj-abcdefghijklmnopqrstuvwx',
  'gh' + 'p_16C7e42F292c6912E7710c838347Ae178B4a',
  'github' + '_pat_11ABCDEFG0123456789_abcdefghij',
  'gl' + 'pat-aaaaaaaaaaaaaaaaaaaa',
  'AK' + 'IAIOSFODNN7EXAMPLE',
  'xox' + 'b-123456789012-abcdefghijkl',
  'AI' + 'zaSyA-1234567890abcdefghijklmnopqrs',
  'eyJ' + 'hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
  'https://user:' + 'pa%24%24word@example.org/x',
  'pass"word\\with/odd€signs',
  '-----BEGIN KEY-----\nMIIBVgIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----',
]

function run(secrets: readonly Secret[], chunks: readonly Buffer[]): string {
  const redactor = new Redactor(secrets)
  return Buffer.concat([...chunks.map((chunk) => redactor.push(chunk)), redactor.finish()]).toString()
}

test.each(shapes.map((value, index) => [index, value] as const))(
  'shape %i is replaced at every cut, raw and as JSON writes it',
  (_, value) => {
    const secrets = [{ name: 'TOKEN', value }]
    const ascii = JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)
    for (const written of [value, JSON.stringify(value), ascii.replace('\\u0020ac', '\\u20ac')]) {
      const text = Buffer.from(`before ${written} between ${written}${written} after\n`)
      const whole = run(secrets, [text])
      expect(whole).not.toContain(value)
      expect(whole.match(/\[redacted TOKEN\]/g)).toHaveLength(3)
      for (let cut = 1; cut < text.length; cut++)
        expect(run(secrets, [text.subarray(0, cut), text.subarray(cut)]), `cut at ${cut}`).toBe(whole)
      expect(
        run(
          secrets,
          [...text].map((byte) => Buffer.from([byte])),
        ),
      ).toBe(whole)
    }
  },
)

test('what only begins like a secret, or looks like another one, stays byte for byte', () => {
  const secrets = [{ name: 'TOKEN', value: 'abcdabcdabce' }]
  const text = `abcdabcdabcd abcd abcdabcdabc ${shapes[2]} abcdabcdab`
  for (let cut = 0; cut <= text.length; cut++)
    expect(run(secrets, [Buffer.from(text.slice(0, cut)), Buffer.from(text.slice(cut))])).toBe(text)
})

test('of overlapping secrets the first wins, of two that begin together the longer, at every cut', () => {
  const secrets = [
    { name: 'SHORT', value: '12345678' },
    { name: 'LONG', value: '12345678-90' },
    { name: 'LATER', value: '78-9012345' },
  ]
  for (const [text, wanted] of [
    ['x 12345678-9 y', 'x [redacted SHORT]-9 y'],
    ['x 12345678-90 y', 'x [redacted LONG] y'],
    ['x 12345678-9012345 y', 'x [redacted LONG]12345 y'],
    ['x 678-9012345678 y', 'x 6[redacted LATER]678 y'],
    ['1234567812345678', '[redacted SHORT][redacted SHORT]'],
  ] as const) {
    expect(run(secrets, [Buffer.from(text)])).toBe(wanted)
    expect(
      run(
        secrets,
        [...Buffer.from(text)].map((byte) => Buffer.from([byte])),
      ),
    ).toBe(wanted)
  }
})

test('values too short to be secrets leave ordinary words alone', () => {
  expect(
    redactText('it is true: admin says 1', [
      { name: 'FLAG', value: 'true' },
      { name: 'U', value: 'admin' },
    ]),
  ).toBe('it is true: admin says 1')
})

test('nothing that cannot be part of a secret is held back', () => {
  const redactor = new Redactor([{ name: 'TOKEN', value: 'tok-123456789' }])
  expect(redactor.push(Buffer.from('a line\n')).toString()).toBe('a line\n')
  expect(redactor.push(Buffer.from('tok-12')).toString()).toBe('')
  expect(redactor.push(Buffer.from('x')).toString()).toBe('tok-12x')
})
