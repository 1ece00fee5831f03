// What the host accepts from the webview: the listed messages and nothing else.
import { expect, test } from 'vitest'
import { readFromWebview, type FromWebview } from '../../../src/protocol/panel'

const good: FromWebview[] = [
  { type: 'ready', childId: null },
  { type: 'ready', childId: 'c-1' },
  { type: 'ack', seq: 3 },
  { type: 'page', childId: 'c-1', from: 0, count: 100 },
  { type: 'steer', wish: 1, childId: 'c-1', steerId: 's', text: 'Open lib/auth.py.' },
  { type: 'editSteer', wish: 1, childId: 'c-1', steerId: 's', text: 'x' },
  { type: 'withdrawSteer', wish: 1, childId: 'c-1', steerId: 's' },
  { type: 'reorderSteers', wish: 1, childId: 'c-1', order: ['b', 'a'] },
  { type: 'pause', wish: 1, childId: 'c-1' },
  { type: 'stop', wish: 1, childId: 'c-1' },
  { type: 'resume', wish: 1, childId: 'c-1', text: null },
  { type: 'answer', wish: 1, childId: 'c-1', requestId: 'r', answer: { kind: 'allow', scope: 'once' } },
  { type: 'answer', wish: 1, childId: 'c-1', requestId: 'r', answer: { kind: 'deny', message: '' } },
  { type: 'find', wish: 1, childId: 'c-1', query: 'x', after: null, back: false },
  { type: 'mention', wish: 1, childId: 'c-1', query: 'auth' },
  { type: 'review', childId: 'c-1' },
  { type: 'takeOver', childId: 'c-1' },
  { type: 'handBack', childId: 'c-1' },
  { type: 'applySuggestion', wish: 1, childId: 'c-1', reason: 'drift' },
  { type: 'dismissSuggestion', wish: 1, childId: 'c-1', reason: 'drift' },
  { type: 'open', childId: 'c-1', n: 4, part: 'output' },
]

test('every message of the panel is understood as it was sent', () => {
  for (const message of good) expect(readFromWebview(message)).toEqual(message)
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a string', 'stop'],
  ['an unknown type', { type: 'run', command: 'rm' }],
  ['a command along with a stop', { type: 'stop', wish: 1, childId: 'c-1', command: 'x' }],
  ['a path for an id is only ever an id', { type: 'open', childId: 'c-1', path: '/etc/passwd', n: 1, part: 'text' }],
  ['a page of everything', { type: 'page', childId: 'c-1', from: 0, count: 1e9 }],
  ['a page before the beginning', { type: 'page', childId: 'c-1', from: -1, count: 1 }],
  ['a fraction', { type: 'page', childId: 'c-1', from: 0.5, count: 1 }],
  ['no number', { type: 'ack', seq: NaN }],
  [
    'an answer nobody offers',
    { type: 'answer', wish: 1, childId: 'c', requestId: 'r', answer: { kind: 'allow', scope: 'forever' } },
  ],
  ['a megabyte of steer', { type: 'steer', wish: 1, childId: 'c', steerId: 's', text: 'x'.repeat(1_000_000) }],
  ['an id of a kilobyte', { type: 'stop', wish: 1, childId: 'x'.repeat(1_024) }],
  ['a prototype', JSON.parse('{"type":"stop","wish":1,"childId":"c","__proto__":{"admin":true}}')],
])('%s is dropped', (_what, message) => {
  expect(readFromWebview(message)).toBeNull()
})

test('a thousand damaged messages never throw and never pass as another', () => {
  let seed = 42
  const random = (n: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % n
  }
  const junk = [null, undefined, 0, -1, NaN, '', '\u0000', [], {}, true, 'x'.repeat(300), { kind: 'text' }, ['a', 1]]
  for (let i = 0; i < 1_000; i++) {
    const message: Record<string, unknown> = { ...good[random(good.length)] }
    const keys = Object.keys(message)
    const key = keys[random(keys.length)] ?? 'type'
    if (random(3) === 0) delete message[key]
    else if (random(2) === 0) message[key] = junk[random(junk.length)]
    else message[`x${random(9)}`] = junk[random(junk.length)]
    const read = readFromWebview(message)
    if (read !== null) expect(read).toEqual(message)
  }
})
