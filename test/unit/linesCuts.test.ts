// Whatever the cuts, the same lines: random ones over a mixed megabyte, and every single one over the odd places.
import { expect, test } from 'vitest'
import { LineSplitter, type RawLine } from '../../src/process/lines'

/** A small generator with a seed, so that a failure can be had again. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const pieces = [
  Buffer.from('{"type":"text","text":"plain"}\n'),
  Buffer.from('\ufeff{"type":"text","text":"marked"}\r\n'),
  Buffer.from('\n\r\n'),
  Buffer.from('null\n42\n\u001b[31mred\u001b[0m\n'),
  Buffer.from('{"text":"€ ü 漢字 👩‍👩‍👧 \u2028"}\n'),
  Buffer.from([0xe2, 0x82, 0x0a, 0xff, 0xfe, 0x0a, 0x00, 0x00, 0x0a]),
  Buffer.from(`${'x'.repeat(3_000)}\n`),
  Buffer.from('progress 1\rprogress 2\r\n'),
]

function mixedFixture(byteCount: number): Buffer {
  const random = randomFrom(7)
  const parts: Buffer[] = []
  for (let size = 0; size < byteCount;) {
    const piece = pieces[Math.floor(random() * pieces.length)] ?? Buffer.alloc(0)
    parts.push(piece)
    size += piece.length
  }
  parts.push(Buffer.from('no newline at the end €'))
  return Buffer.concat(parts)
}

function split(chunks: readonly Buffer[], maxLineBytes = 2_000): RawLine[] {
  const splitter = new LineSplitter({ source: 'stdout', maxLineBytes })
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.finish()]
}

test('10,000 random cuts of a mixed megabyte give identical lines', () => {
  const fixture = mixedFixture(1024 * 1024)
  const whole = split([fixture])
  expect(whole.filter(({ kind }) => kind === 'overLong').length).toBeGreaterThan(10)
  const random = randomFrom(11)
  const cuts = new Set([0, fixture.length])
  while (cuts.size < 10_002) cuts.add(Math.floor(random() * fixture.length))
  const places = [...cuts].sort((a, b) => a - b)
  const chunks = places.slice(1).map((to, index) => fixture.subarray(places[index], to))
  expect(split(chunks)).toEqual(whole)
})

test('each single cut through the odd places gives identical lines', () => {
  const odd = Buffer.concat(pieces.filter((piece) => piece.length < 200))
  const whole = split([odd], 40)
  for (let cut = 1; cut < odd.length; cut++)
    expect(split([odd.subarray(0, cut), odd.subarray(cut)], 40), `cut at ${cut}`).toEqual(whole)
})

test('lines cover the stream without a hole or an overlap, so that any end is a place to go on from', () => {
  const fixture = mixedFixture(64 * 1024)
  const lines = split([fixture])
  let at = 0
  for (const line of lines) {
    expect(line.offset).toBe(at)
    at = line.end
  }
  expect(at).toBe(fixture.length)
  for (const from of [lines[3], lines[40], lines.at(-2)].map((line) => line?.end ?? 0)) {
    const splitter = new LineSplitter({ source: 'stdout', at: from, maxLineBytes: 2_000 })
    const rest = [...splitter.push(fixture.subarray(from)), ...splitter.finish()]
    expect(rest).toEqual(lines.filter((line) => line.offset >= from))
  }
})

const texts = (lines: readonly RawLine[]): unknown[] => lines.map((line) => (line.kind === 'line' ? line.text : line))

test('carriage return, byte order mark and what is no JSON come through as people meant them', () => {
  const lines = split([Buffer.from('\ufeffa\r\n\r\n\ufeffb\nLoaded cached credentials.\nnull\n\u001b[1mc\u001b[0m\r')])
  expect(texts(lines)).toEqual(['a', '', 'b', 'Loaded cached credentials.', 'null', '\u001b[1mc\u001b[0m'])
  expect(lines.at(-1)).toMatchObject({ unterminated: true })
})

test('a character cut into three writes is one character, and broken bytes cost only themselves', () => {
  expect(texts(split([Buffer.from([0xe2]), Buffer.from([0x82]), Buffer.from([0xac, 0x0a])]))).toEqual(['€'])
  expect(texts(split([Buffer.from([0x61, 0xe2, 0x82, 0x0a, 0x62, 0x0a])]))).toEqual(['a\ufffd', 'b'])
})

test('a line over the cap is one explicit record, and the next line arrives', () => {
  const long = Buffer.alloc(5_000, 'y')
  const lines = split([long.subarray(0, 10), long.subarray(10), Buffer.from('\nnext\n')], 2_000)
  expect(lines).toEqual([
    { kind: 'overLong', source: 'stdout', offset: 0, end: 5_001, byteCount: 5_000, head: 'y'.repeat(512) },
    { kind: 'line', source: 'stdout', offset: 5_001, end: 5_006, text: 'next' },
  ])
})

test('a line of megabytes with characters and returns at every seam is the line that was written', () => {
  const text = `\ufeff${'aé€👍\r'.repeat(400_000)}end\r`
  const bytes = Buffer.from(`${text}\nnext`)
  const random = randomFrom(3)
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const size = 1 + Math.floor(random() * 300_000)
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  const [line, next] = split(chunks, 64 * 1024 * 1024)
  expect(line?.kind === 'line' && line.text === text.slice(1, -1)).toBe(true)
  expect(next).toMatchObject({ text: 'next', offset: bytes.length - 4 })
})

test('a line that turns out too long after megabytes still shows how it began', () => {
  const long = Buffer.alloc(5 * 1024 * 1024, 'y')
  const [line] = split([Buffer.from('begun '), long, long], 6 * 1024 * 1024)
  expect(line).toMatchObject({ kind: 'overLong', byteCount: 2 * long.length + 6, head: `begun ${'y'.repeat(506)}` })
})

test('a line exactly at the cap is a line', () => {
  expect(split([Buffer.from(`${'z'.repeat(2_000)}\n`)], 2_000)).toMatchObject([{ kind: 'line' }])
  expect(split([Buffer.from(`${'z'.repeat(2_001)}\n`)], 2_000)).toMatchObject([{ kind: 'overLong', byteCount: 2_001 }])
})

test('an over-long line keeps no more than its head in memory', () => {
  const splitter = new LineSplitter({ source: 'stdout', maxLineBytes: 1024 * 1024 })
  const chunk = Buffer.alloc(64 * 1024, 'y')
  const before = process.memoryUsage().arrayBuffers
  for (let n = 0; n < 4_000; n++) splitter.push(Buffer.from(chunk))
  splitter.push(Buffer.from('\n'))
  globalThis.gc?.()
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(128 * 1024 * 1024)
  expect(splitter.push(Buffer.from('next\n'))).toMatchObject([{ text: 'next', offset: 4_000 * chunk.length + 1 }])
})

test('what is lost is told once, with the parts of the line it cut, and the next line is whole', () => {
  const splitter = new LineSplitter({ source: 'stderr' })
  expect(splitter.push(Buffer.from('a\nbegun'))).toMatchObject([{ text: 'a' }])
  expect(splitter.gap(100)).toEqual([])
  expect(splitter.push(Buffer.from('rest\nwhole\n'))).toEqual([
    { kind: 'gap', source: 'stderr', offset: 2, end: 105, byteCount: 103 },
    { kind: 'line', source: 'stderr', offset: 105, end: 111, text: 'whole' },
  ])
  expect(splitter.gap(105)).toEqual([])
})

test('a stream that ends inside a hole tells the hole', () => {
  const splitter = new LineSplitter({ source: 'stdout' })
  splitter.gap(50)
  expect(splitter.finish()).toEqual([{ kind: 'gap', source: 'stdout', offset: 0, end: 50, byteCount: 50 }])
})

test('a 30 MB line in small pieces takes time in proportion: one per byte, not per piece and byte', () => {
  const time = (byteCount: number): number => {
    const splitter = new LineSplitter({ source: 'stdout', maxLineBytes: 64 * 1024 * 1024 })
    const piece = Buffer.alloc(4_096, 'q')
    const from = performance.now()
    for (let size = 0; size < byteCount; size += piece.length) splitter.push(Buffer.from(piece))
    const lines = splitter.push(Buffer.from('\n'))
    const took = performance.now() - from
    expect(lines[0]?.kind).toBe('line')
    return took
  }
  time(1024 * 1024)
  const whole = Math.min(time(30 * 1024 * 1024), time(30 * 1024 * 1024))
  expect(whole).toBeLessThan(1_000)
})
