// Outcomes of children, honest and dishonest, over every check: what was in the repository, what the child left behind,
// what it claimed, and whether a person who looked would say that the contract was kept. Judged in corpus.test.ts.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createSocket } from 'node:net'
import { join } from 'node:path'
import type { Verdict } from '../../../src/core/events'
import type { ClaimedReport } from '../../../src/verification/verify'
import type { Limits } from '../../../src/verification/world'
import { claims, type Worktree } from './worktree'

export interface Outcome {
  readonly name: string
  /** Every check, as a person would decide it, passes. */
  readonly honest: boolean
  readonly base?: Readonly<Record<string, string | Uint8Array>>
  /** The child writes to the repository, which is therefore not shared. */
  readonly own?: boolean
  readonly contract: unknown
  /** What the child did; may return what has to be undone. */
  readonly act?: (worktree: Worktree) => void | Promise<void | (() => void | Promise<void>)>
  readonly report: string | ClaimedReport | null | ((worktree: Worktree) => string)
  /** For a dishonest one: the status, and words that must be said to the person. */
  readonly status?: Verdict['status']
  readonly says?: string
  readonly limits?: Partial<Limits>
}

const outcomes: Outcome[] = []
type Rest = Omit<Outcome, 'name' | 'honest'>
const honest = (name: string, rest: Rest): void => void outcomes.push({ name, honest: true, ...rest })
const lie = (name: string, rest: Rest): void => void outcomes.push({ name, honest: false, ...rest })

const write =
  (...files: [string, string | Uint8Array][]) =>
  (worktree: Worktree): void => {
    for (const [name, content] of files) worktree.write(name, content)
  }
const noReport = JSON.stringify({ artifacts: {}, summary: 'Done.' })
const deliver = (path: string) => ({ deliverables: [{ path }] })
const check = (...checks: unknown[]) => ({ checks })
const utf16 = (text: string, bigEndian = false, mark = true): Buffer => {
  const bytes = Buffer.from((mark ? '\ufeff' : '') + text, 'utf16le')
  return bigEndian ? bytes.swap16() : bytes
}
const rows = (...prices: number[]): string =>
  JSON.stringify({ rows: prices.map((price) => ({ name: `p${price}`, price })) })
const sparse = (path: string, size: number): void => ftruncateSync(openSync(path, 'w'), size)
const old = (path: string): void => utimesSync(path, new Date('2001-01-01'), new Date('2001-01-01'))

// ---------------------------------------------------------------- deliverables and their names
for (const name of [
  'a.md',
  'docs/deep/er/a.md',
  '.hidden',
  '..hidden',
  'a b.md',
  'räksmörgås.md',
  '🚣.md',
  '-rf',
  'a..b',
  'x (deleted)',
  'a:b',
  `${'n'.repeat(200)}.md`,
  "it's",
  'back\\slash',
  '*.md',
  'a\nb',
])
  honest(`a deliverable called ${JSON.stringify(name.slice(0, 30))}`, {
    contract: deliver(name),
    act: write([name, 'x']),
    report: claims(name),
  })

honest('a deliverable that is a link to a file of the worktree', {
  contract: deliver('latest.md'),
  act: (worktree) => {
    worktree.write('out/v2.md', 'x')
    symlinkSync('out/v2.md', worktree.file('latest.md'))
  },
  report: claims('latest.md'),
})
honest('a deliverable below a linked folder of the worktree', {
  contract: deliver('latest/a.md'),
  act: (worktree) => {
    worktree.write('v2/a.md', 'x')
    symlinkSync('v2', worktree.file('latest'))
  },
  report: claims('latest/a.md'),
})
honest('a deliverable that is linked by its absolute path', {
  contract: deliver('latest.md'),
  act: (worktree) => {
    worktree.write('v2.md', 'x')
    symlinkSync(worktree.file('v2.md'), worktree.file('latest.md'))
  },
  report: claims('latest.md'),
})
honest('a deliverable with two names', {
  contract: deliver('a.bin'),
  act: (worktree) => {
    worktree.write('deps/a-1.bin', 'x')
    linkSync(worktree.file('deps/a-1.bin'), worktree.file('a.bin'))
  },
  report: claims('a.bin'),
})
honest('a deliverable of 40 MB', {
  contract: deliver('big.bin'),
  act: (worktree) => sparse(worktree.file('big.bin'), 40e6),
  report: claims('big.bin'),
})
honest('a deliverable that replaced the file of the base', {
  base: { 'a.md': 'old\n' },
  contract: deliver('a.md'),
  act: (worktree) => {
    worktree.write('a.tmp', 'new\n')
    renameSync(worktree.file('a.tmp'), worktree.file('a.md'))
  },
  report: claims('a.md'),
})
honest('a new deliverable that kept an old date', {
  contract: deliver('a.md'),
  act: (worktree) => {
    worktree.write('a.md', 'unpacked from an archive')
    old(worktree.file('a.md'))
  },
  report: claims('a.md'),
})
honest('a deliverable written again with the same content', {
  base: { 'a.md': 'same\n' },
  contract: deliver('a.md'),
  act: write(['a.md', 'same\n']),
  report: claims('a.md'),
})
honest('a deliverable that is committed', {
  contract: deliver('a.md'),
  act: async (worktree) => {
    worktree.write('a.md', 'x')
    await worktree.git('add', '--all')
    await worktree.git('commit', '--quiet', '--message=work')
  },
  report: claims('a.md'),
})
honest('a deliverable that is ignored by git', {
  base: { '.gitignore': 'dist/\n' },
  contract: deliver('dist/a.js'),
  act: write(['dist/a.js', 'x']),
  report: claims('dist/a.js'),
})
honest('a deliverable with an id and a path', {
  contract: {
    deliverables: [{ id: 'table', path: 'out/table.json' }],
    ...check({ file_contains: { path: 'table', text: 'price' } }),
  },
  act: write(['out/table.json', rows(1)]),
  report: JSON.stringify({ artifacts: { table: 'out/table.json' }, summary: '' }),
})
honest('a deliverable whose place the child chose', {
  contract: { deliverables: [{ id: 'notes' }], ...check({ file_contains: { path: 'notes', text: 'found' } }) },
  act: write(['docs/n.md', 'found it']),
  report: JSON.stringify({ artifacts: { notes: 'docs/n.md' }, summary: '' }),
})
honest('a deliverable whose place the child tells absolutely', {
  contract: { deliverables: [{ id: 'notes' }] },
  act: write(['n.md', 'x']),
  report: (worktree) => JSON.stringify({ artifacts: { notes: worktree.file('n.md') }, summary: '' }),
})
honest('inline content that a check looks at', {
  contract: {
    deliverables: [{ kind: 'inline', id: 'answer' }],
    ...check({ file_contains: { path: 'answer', regex: '^\\d+$' } }),
  },
  report: JSON.stringify({ artifacts: { answer: '42' }, summary: '' }),
})
honest('inline rows that are counted', {
  contract: {
    deliverables: [{ kind: 'inline', id: 'rows' }],
    ...check({ count_at_least: { output: true, pointer: '/artifacts/rows', n: 2 } }),
  },
  report: JSON.stringify({ artifacts: { rows: [1, 2] }, summary: '' }),
})
honest('inline JSON text that is counted', {
  contract: { deliverables: [{ kind: 'inline', id: 'rows' }], ...check({ count_at_least: { path: 'rows', n: 2 } }) },
  report: JSON.stringify({ artifacts: { rows: '["a","b"]' }, summary: '' }),
})
honest('inline content held to the output schema', {
  contract: {
    deliverables: [{ kind: 'inline', id: 'level' }],
    output: {
      type: 'object',
      properties: {
        artifacts: { type: 'object', properties: { level: { enum: ['low', 'high'] } }, required: ['level'] },
      },
    },
  },
  report: JSON.stringify({ artifacts: { level: 'low' }, summary: '' }),
})

lie('claimed, correct in words, and absent', {
  contract: deliver('orders.json'),
  report: JSON.stringify({
    artifacts: { 'orders.json': 'orders.json' },
    summary: 'I wrote orders.json with {"rows":[1,2]}',
  }),
  status: 'incomplete',
  says: 'claimed, but there is no file orders.json',
})
lie('written, but not named in the report', {
  contract: deliver('a.md'),
  act: write(['a.md', 'x']),
  report: noReport,
  status: 'incomplete',
  says: 'does not name it',
})
lie('neither written nor named', { contract: deliver('a.md'), report: noReport, status: 'incomplete' })
lie('one of two is absent', {
  contract: { deliverables: [{ path: 'a' }, { path: 'b' }] },
  act: write(['a', 'x']),
  report: claims('a', 'b'),
  status: 'incomplete',
  says: 'no file b',
})
lie('named with null', {
  contract: deliver('a.md'),
  act: write(['a.md', 'x']),
  report: JSON.stringify({ artifacts: { 'a.md': null } }),
  status: 'incomplete',
})
lie('written in another folder', {
  contract: deliver('out/a.md'),
  act: write(['a.md', 'x']),
  report: claims('out/a.md'),
  status: 'incomplete',
})
lie('written beside the worktree', {
  contract: deliver('a.md'),
  act: (worktree) => writeFileSync(join(worktree.path, '..', 'a.md'), 'x'),
  report: JSON.stringify({ artifacts: { 'a.md': '../a.md' }, summary: '' }),
  status: 'incomplete',
  says: 'the report gives "../a.md"',
})
lie('written in other letter case', {
  contract: deliver('README2.md'),
  act: write(['readme2.md', 'x']),
  report: claims('README2.md'),
  status: 'incomplete',
  says: 'but there is readme2.md',
})
lie('written with another form of the same letter', {
  contract: deliver('é.md'),
  act: write(['e\u0301.md', 'x']),
  report: claims('é.md'),
  status: 'incomplete',
})
lie('removed again', {
  contract: deliver('a.md'),
  act: (worktree) => {
    worktree.write('a.md', 'x')
    unlinkSync(worktree.file('a.md'))
  },
  report: claims('a.md'),
  status: 'incomplete',
})
lie('the base commit’s own file, untouched', {
  base: { 'a.md': 'old\n' },
  contract: deliver('a.md'),
  report: claims('a.md'),
  status: 'failed',
  says: 'was there before the child started',
})
lie('an ignored file from before', {
  base: { '.gitignore': 'out\n' },
  contract: deliver('out'),
  act: () => undefined,
  report: claims('out'),
  status: 'incomplete',
})
lie('the base commit’s own file, moved there and back', {
  base: { 'a.md': 'old\n' },
  contract: deliver('a.md'),
  act: (worktree) => {
    renameSync(worktree.file('a.md'), worktree.file('b.md'))
    renameSync(worktree.file('b.md'), worktree.file('a.md'))
  },
  report: claims('a.md'),
  status: 'failed',
  says: 'older than the child',
})
lie('the base commit’s own file, its mode changed', {
  base: { 'a.md': 'old\n' },
  contract: deliver('a.md'),
  act: (worktree) => chmodSync(worktree.file('a.md'), 0o755),
  report: claims('a.md'),
  status: 'failed',
})
lie('a link to the base commit’s own file', {
  base: { 'a.md': 'old\n' },
  contract: deliver('new.md'),
  act: (worktree) => symlinkSync('a.md', worktree.file('new.md')),
  report: claims('new.md'),
  status: 'failed',
  says: 'before the child started',
})
lie('an empty folder', {
  contract: deliver('out'),
  act: (worktree) => mkdirSync(worktree.file('out')),
  report: claims('out'),
  status: 'incomplete',
  says: 'is a folder',
})
lie('below a file', { contract: deliver('a/b'), act: write(['a', 'x']), report: claims('a/b'), status: 'incomplete' })
lie('a FIFO', {
  contract: deliver('pipe'),
  act: (worktree) => void execFileSync('mkfifo', [worktree.file('pipe')]),
  report: claims('pipe'),
  status: 'failed',
  says: 'is a FIFO',
})
lie('a socket', {
  contract: deliver('sock'),
  act: async (worktree) => {
    const server = createSocket()
    await new Promise<void>((done) => server.listen(worktree.file('sock'), done))
    return () => new Promise<void>((done) => server.close(() => done()))
  },
  report: claims('sock'),
  status: 'failed',
  says: 'is a socket',
})
for (const device of [
  '/dev/null',
  '/dev/zero',
  '/dev/tty',
  '/dev/stdin',
  '/proc/self/environ',
  '/etc/passwd',
  '/proc/self/mem',
])
  lie(`a link to ${device}`, {
    contract: deliver('a'),
    act: (worktree) => symlinkSync(device, worktree.file('a')),
    report: claims('a'),
    status: 'failed',
    says: 'is a link that leaves the worktree',
  })
lie('a device', {
  contract: deliver('zero'),
  act: (worktree) => void execFileSync('mknod', [worktree.file('zero'), 'c', '1', '5']),
  report: claims('zero'),
  status: 'failed',
  says: 'is a device',
})
lie('2 GB of nothing', {
  contract: deliver('big'),
  act: (worktree) => sparse(worktree.file('big'), 2 ** 31),
  report: claims('big'),
  status: 'failed',
  says: 'has 2.0 GiB; the limit is 1.0 GiB',
})
lie('a link to nothing', {
  contract: deliver('a'),
  act: (worktree) => symlinkSync('nowhere', worktree.file('a')),
  report: claims('a'),
  status: 'incomplete',
})
lie('a link in a circle', {
  contract: deliver('a'),
  act: (worktree) => {
    symlinkSync('b', worktree.file('a'))
    symlinkSync('a', worktree.file('b'))
  },
  report: claims('a'),
  status: 'failed',
  says: 'a link in a circle',
})
lie('below a linked folder outside', {
  contract: deliver('out/a.md'),
  act: (worktree) => {
    mkdirSync(join(worktree.outside, 'elsewhere'))
    writeFileSync(join(worktree.outside, 'elsewhere', 'a.md'), 'x')
    symlinkSync(join(worktree.outside, 'elsewhere'), worktree.file('out'))
  },
  report: claims('out/a.md'),
  status: 'failed',
  says: 'leaves the worktree',
})
lie('a link to a sibling folder that shares the prefix', {
  contract: deliver('a.md'),
  act: (worktree) => {
    mkdirSync(`${worktree.path}-2`)
    writeFileSync(`${worktree.path}-2/a.md`, 'x')
    symlinkSync(`../${worktree.path.split('/').pop() ?? ''}-2/a.md`, worktree.file('a.md'))
  },
  report: claims('a.md'),
  status: 'failed',
  says: 'leaves the worktree',
})
lie('a link to the main checkout', {
  base: { 'secret.md': 'x' },
  contract: deliver('a.md'),
  act: (worktree) => symlinkSync(join(worktree.repository, 'secret.md'), worktree.file('a.md')),
  report: claims('a.md'),
  status: 'failed',
})
lie('a link into git’s own folder', {
  contract: deliver('a.md'),
  act: (worktree) => symlinkSync(join(worktree.repository, '.git', 'config'), worktree.file('a.md')),
  report: claims('a.md'),
  status: 'failed',
})
for (const [name, claim] of [
  ['upwards', '../a.md'],
  ['absolute', '/etc/passwd'],
  ['upwards through a folder', 'docs/../../a.md'],
  ['of a sibling', '../child-2/a.md'],
  ['with NUL', 'a\0.md'],
] as const)
  lie(`a place of the child’s choice, ${name}`, {
    contract: { deliverables: [{ id: 'notes' }] },
    report: JSON.stringify({ artifacts: { notes: claim }, summary: '' }),
    status: 'failed',
    says: 'lies outside the worktree',
  })
lie('a place of the child’s choice that is the worktree itself', {
  contract: { deliverables: [{ id: 'notes' }] },
  report: JSON.stringify({ artifacts: { notes: '.' } }),
  status: 'incomplete',
  says: 'is a folder',
})
lie('a place of the child’s choice that is no text', {
  contract: { deliverables: [{ id: 'notes' }] },
  report: JSON.stringify({ artifacts: { notes: 7 } }),
  status: 'incomplete',
})
lie('inline content that no check looks at', {
  contract: { deliverables: [{ kind: 'inline', id: 'answer' }] },
  report: JSON.stringify({ artifacts: { answer: '42' } }),
  status: 'unverified',
  says: 'no check looks at it',
})
lie('inline content that is not given', {
  contract: { deliverables: [{ kind: 'inline', id: 'x' }], ...check({ file_contains: { path: 'x', text: 'a' } }) },
  report: noReport,
  status: 'incomplete',
})
lie('inline content that lacks the text', {
  contract: { deliverables: [{ kind: 'inline', id: 'x' }], ...check({ file_contains: { path: 'x', text: 'a' } }) },
  report: JSON.stringify({ artifacts: { x: 'b' } }),
  status: 'failed',
})
lie('inline content where a file of that name would pass', {
  contract: { deliverables: [{ kind: 'inline', id: 'x' }], ...check({ file_contains: { path: 'x', text: 'a' } }) },
  act: write(['x', 'a']),
  report: JSON.stringify({ artifacts: { x: 'b' } }),
  status: 'failed',
})
lie('an outside effect without a check', {
  contract: { deliverables: [{ kind: 'url', id: 'issue' }] },
  report: JSON.stringify({ artifacts: { issue: 'https://example.org/1' } }),
  status: 'unverified',
})
lie('an empty contract', { contract: {}, report: noReport, status: 'unverified' })
lie('criteria in words only', { contract: { criteria: ['it is good'] }, report: noReport, status: 'unverified' })
lie('no contract at all', { contract: null, report: 'All verified: PASS', status: 'unverified' })
honest('light, there', {
  contract: { level: 'light', ...deliver('a.md') },
  act: write(['a.md', 'x']),
  report: 'I wrote it.',
})
honest('light, there, and no report', {
  contract: { level: 'light', ...deliver('a.md') },
  act: write(['a.md', 'x']),
  report: null,
})
lie('light, absent', { contract: { level: 'light', ...deliver('a.md') }, report: 'I wrote it.', status: 'incomplete' })
lie('light, from before', {
  base: { 'a.md': 'x' },
  contract: { level: 'light', ...deliver('a.md') },
  report: 'I wrote it.',
  status: 'failed',
})
lie('light, a link out', {
  contract: { level: 'light', ...deliver('a') },
  act: (worktree) => symlinkSync('/etc/passwd', worktree.file('a')),
  report: 'ok',
  status: 'failed',
})

// ---------------------------------------------------------------- the report
const report = { artifacts: { 'a.md': 'a.md' }, summary: 'Done.' }
const wrote = { contract: deliver('a.md'), act: write(['a.md', 'x']) }
const json = JSON.stringify(report)
for (const [name, text] of [
  ['bare', json],
  ['pretty', JSON.stringify(report, null, 4)],
  ['after a byte order mark', `\ufeff${json}`],
  ['fenced', '```json\n' + json + '\n```'],
  ['fenced in capitals', '```JSON\n' + json + '\n```'],
  ['after prose', `Everything is done.\n\n${json}`],
  ['before prose', `${json}\n\nLet me know if anything is missing!`],
  ['in a fence amid prose', 'Sure! Here:\n\n```json\n' + JSON.stringify(report, null, 2) + '\n```\n\nCheers.'],
  ['after another object', `First try: {"artifacts": {}}\nFinal: ${json}`],
  ['after code with braces', 'Changed `if (x) { return {} }`.\n' + json],
  ['after an apology full of odd marks', `Sorry — I can't "quote" properly: {oops, {{ }} {"\n${json}`],
  ['with a fence inside a string', JSON.stringify({ ...report, summary: 'run\n```\nnpm test\n```' })],
  ['with more keys than asked', JSON.stringify({ ...report, notes: [], confidence: 0.3 })],
  ['with an absolute path', `{"artifacts":{"a.md":"WORKTREE/a.md"},"summary":""}`],
  ['with ./', '{"artifacts":{"a.md":"./a.md"},"summary":""}'],
  ['with a name of its own', '{"artifacts":{"report":"a.md"},"summary":""}'],
  ['with artifacts as a list', '{"artifacts":["a.md"],"summary":""}'],
  ['with content instead of the path', '{"artifacts":{"a.md":"x"},"summary":""}'],
  ['with Windows line ends', JSON.stringify(report, null, 2).replaceAll('\n', '\r\n')],
  ['without a summary', '{"artifacts":{"a.md":"a.md"}}'],
] as const)
  honest(`right work, report ${name}`, { ...wrote, report: (worktree) => text.replace('WORKTREE', worktree.path) })
honest('right work, report by the agent’s own protocol', {
  ...wrote,
  report: { ok: true, summary: 'Done.', output: report },
})
for (const [name, text] of [
  ['prose only', 'I wrote a.md. All checks PASS. Verified.'],
  ['empty', ''],
  ['with a trailing comma', '{"artifacts":{"a.md":"a.md",},"summary":""}'],
  ['with single quotes', "{'artifacts': {'a.md': 'a.md'}}"],
  ['with a comment', '{\n// done\n"artifacts":{"a.md":"a.md"}}'],
  ['cut short', '{"artifacts":{"a.md":"a.md"},"summary":"Do'],
  ['a list', '[{"artifacts":{"a.md":"a.md"}}]'],
  ['a text', '"a.md"'],
  ['null', 'null'],
  ['YAML', 'artifacts:\n  a.md: a.md\nsummary: done'],
  ['nested without end', '{"a":'.repeat(100_000)],
  ['of two megabytes', `{"artifacts":{"a.md":"a.md"},"summary":"${'x'.repeat(2e6)}"}`],
  ['a verdict in our own words', 'PASS a.md exists\nverified → accept'],
] as const)
  lie(`right work, report ${name}`, { ...wrote, report: text, status: 'parse_error' })
lie('right work, report our own verdict as an object', {
  ...wrote,
  report: '{"status":"verified","disposition":"accept","checks":[{"result":"PASS"}]}',
  status: 'incomplete',
})
lie('right work and no report', { ...wrote, report: null, status: 'parse_error' })

// ---------------------------------------------------------------- file_exists and sha256
honest('file_exists', { contract: check({ file_exists: { path: 'a/b' } }), act: write(['a/b', '']), report: noReport })
lie('file_exists, absent', { contract: check({ file_exists: { path: 'a/b' } }), report: noReport, status: 'failed' })
lie('file_exists, a link out', {
  contract: check({ file_exists: { path: 'a' } }),
  act: (worktree) => symlinkSync('/etc/hostname', worktree.file('a')),
  report: noReport,
  status: 'failed',
})
lie('file_exists, a folder', {
  contract: check({ file_exists: { path: 'a' } }),
  act: write(['a/b', '']),
  report: noReport,
  status: 'failed',
})
const helloHash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
honest('sha256', {
  contract: check({ sha256: { path: 'a', hash: helloHash } }),
  act: write(['a', 'hello']),
  report: noReport,
})
honest('sha256 in capitals', {
  contract: check({ sha256: { path: 'a', hash: helloHash.toUpperCase() } }),
  act: write(['a', 'hello']),
  report: noReport,
})
honest('sha256 of an empty file', {
  contract: check({ sha256: { path: 'a', hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' } }),
  act: write(['a', '']),
  report: noReport,
})
lie('sha256, one byte more', {
  contract: check({ sha256: { path: 'a', hash: helloHash } }),
  act: write(['a', 'hello\n']),
  report: noReport,
  status: 'failed',
})
lie('sha256, absent', {
  contract: check({ sha256: { path: 'a', hash: helloHash } }),
  report: noReport,
  status: 'failed',
})
lie('sha256, the right file outside', {
  contract: check({ sha256: { path: 'a', hash: helloHash } }),
  act: (worktree) => {
    writeFileSync(join(worktree.outside, 'hello'), 'hello')
    symlinkSync(join(worktree.outside, 'hello'), worktree.file('a'))
  },
  report: noReport,
  status: 'failed',
})

// ---------------------------------------------------------------- file_contains
const contains = (args: object) => ({ contract: check({ file_contains: { path: 'a.md', ...args } }), report: noReport })
for (const [name, content, args] of [
  ['plain', 'x\nSources: 3\n', { text: 'Sources' }],
  ['at the very end', 'x'.repeat(1e6) + 'END', { text: 'END' }],
  ['several lines', 'a\nb\nc', { text: 'a\nb' }],
  ['several lines with Windows line ends', 'a\r\nb\r\nc', { text: 'a\nb' }],
  ['UTF-8 with a mark', '\ufeffSources', { text: 'Sources' }],
  ['UTF-16 little endian', utf16('Sources: é'), { text: 'Sources: é' }],
  ['UTF-16 big endian', utf16('Sources', true), { text: 'Sources' }],
  ['UTF-16 without a mark', utf16('Sources of all', false, false), { text: 'Sources' }],
  ['bytes that are no UTF-8 around it', Buffer.from([0xff, 0x41, 0xe9, 0x53, 0x6f]), { text: 'So' }],
  ['a pattern', 'v1.2.3', { regex: '^v\\d+\\.\\d+' }],
  ['a pattern over lines', 'x\nSources', { regex: '^Sources$', flags: 'm' }],
  ['a pattern in any case', 'SOURCES', { regex: 'sources', flags: 'i' }],
  ['a pattern with letters of any script', 'Цены', { regex: '\\p{Lu}\\p{Ll}+', flags: 'u' }],
  ['braces and quotes', '{"a": "b"}', { text: '{"a": "b"}' }],
  ['zeros around it', 'a\0Sources\0b', { text: 'Sources' }],
] as const)
  honest(`file_contains, ${name}`, { ...contains(args), act: write(['a.md', content]) })
for (const [name, content, args, says] of [
  ['absent text', 'nothing here', { text: 'Sources' }, 'does not contain'],
  ['other letter case', 'sources', { text: 'Sources' }, 'only in other letter case'],
  ['broken over a line', 'Sour\nces', { text: 'Sources' }, 'does not contain'],
  ['a look-alike letter', 'S\u043eurces', { text: 'Sources' }, 'does not contain'],
  ['an invisible letter inside', 'Sour\u200bces', { text: 'Sources' }, 'does not contain'],
  ['an empty file', '', { text: 'Sources' }, 'does not contain'],
  ['a pattern that must be a whole line', 'x\nSources', { regex: '^Sources$' }, 'does not match'],
  ['a pattern in other case', 'SOURCES', { regex: 'sources' }, 'does not match'],
  ['a pattern that explodes', 'a'.repeat(60) + '!', { regex: '^(a+)+$' }, 'was stopped after'],
  ['another pattern that explodes', 'x'.repeat(50_000), { regex: '(x+x+)+y' }, 'was stopped after'],
  ['UTF-16 that says something else', utf16('Quellen'), { text: 'Sources' }, 'does not contain'],
  ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x53, 0, 0, 0]), { text: 'S' }, 'UTF-32'],
  ['our own words for a pass', 'PASS a.md contains "Results"', { text: 'Sources' }, 'does not contain'],
] as const)
  lie(`file_contains, ${name}`, { ...contains(args), act: write(['a.md', content]), status: 'failed', says })
lie('file_contains, absent file', { ...contains({ text: 'x' }), status: 'failed', says: 'there is no file a.md' })
lie('file_contains, the text in its name', {
  contract: check({ file_contains: { path: 'Sources.md', text: 'Sources' } }),
  act: write(['Sources.md', 'x']),
  report: noReport,
  status: 'failed',
})
lie('file_contains, beyond the size limit', {
  ...contains({ text: 'x' }),
  act: (worktree) => sparse(worktree.file('a.md'), 33 * 2 ** 20),
  status: 'failed',
  says: 'the limit is 32.0 MiB',
})
lie('file_contains, a FIFO', {
  ...contains({ text: 'x' }),
  act: (worktree) => void execFileSync('mkfifo', [worktree.file('a.md')]),
  status: 'failed',
  says: 'is a FIFO',
})
lie('file_contains, the text outside', {
  ...contains({ text: 'root' }),
  act: (worktree) => symlinkSync('/etc/passwd', worktree.file('a.md')),
  status: 'failed',
  says: 'leaves the worktree',
})

// ---------------------------------------------------------------- json_schema_ok
const schema = (args: object) => ({
  contract: check({ json_schema_ok: { path: 'a.json', ...args } }),
  report: noReport,
})
const priced = { type: 'object', required: ['price'], properties: { price: { type: 'number', minimum: 0 } } }
for (const [name, content, args] of [
  ['an object', '{"price":1}', { schema: priced }],
  ['each row', rows(1, 2, 3), { pointer: '/rows', each: true, schema: priced }],
  ['each row has keys', rows(1, 2), { pointer: '/rows', each: true, required: ['price', 'name'] }],
  ['each value of an object', '{"a":{"price":1},"b":{"price":2}}', { each: true, schema: priced }],
  [
    'an older draft',
    '{"a":[1,2]}',
    {
      schema: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        definitions: { n: { type: 'integer' } },
        properties: { a: { items: { $ref: '#/definitions/n' } } },
      },
    },
  ],
  [
    'the newest draft',
    '["a",1]',
    {
      schema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        prefixItems: [{ type: 'string' }, { type: 'integer' }],
        items: false,
      },
    },
  ],
  ['a date', '{"d":"2026-02-28"}', { schema: { properties: { d: { type: 'string', format: 'date' } } } }],
  [
    'a reference inside',
    '{"next":{"next":null}}',
    {
      schema: {
        $defs: { n: { type: ['object', 'null'], properties: { next: { $ref: '#/$defs/n' } } } },
        $ref: '#/$defs/n',
      },
    },
  ],
  ['UTF-16', utf16('{"price":1}'), { schema: priced }],
  ['UTF-16 big endian without a mark', utf16('{"price":1}', true, false), { schema: priced }],
  ['a byte order mark', '\ufeff{"price":1}', { schema: priced }],
  ['nested, but not too deep', '['.repeat(400) + ']'.repeat(400), { schema: { type: 'array' } }],
  ['a key called constructor', '{"constructor":1}', { required: ['constructor'] }],
  ['a pointer with escaped marks', '{"a/b":{"c~d":{"price":1}}}', { pointer: '/a~1b/c~0d', schema: priced }],
  ['a pointer into a list', '[{"price":1}]', { pointer: '/0', schema: priced }],
  ['a keyword we do not know', '{"price":1}', { schema: { ...priced, 'x-source': 'us', example: {} } }],
] as const)
  honest(`json_schema_ok, ${name}`, { ...schema(args), act: write(['a.json', content]) })
honest('json_schema_ok on the returned object', {
  contract: check({ json_schema_ok: { output: true, pointer: '/artifacts', schema: { type: 'object' } } }),
  report: noReport,
})
for (const [name, content, args, says] of [
  ['a missing key', '{"cost":1}', { schema: priced }, "must have required property 'price'"],
  ['another type', '{"price":"1"}', { schema: priced }, '/price must be number'],
  ['too small', '{"price":-1}', { schema: priced }, 'must be >= 0'],
  [
    'one bad row of many',
    JSON.stringify({ rows: [...Array<object>(50).fill({ price: 1 }), { cost: 1 }] }),
    { pointer: '/rows', each: true, schema: priced },
    '1 of 51 entries',
  ],
  ['no rows at all', '{"rows":[]}', { pointer: '/rows', each: true, schema: priced }, 'has no entries'],
  ['rows that are a text', '{"rows":"price"}', { pointer: '/rows', each: true, required: ['price'] }, 'is text'],
  ['a list where an object is wanted', '[]', { required: ['price'] }, 'is a list of 0'],
  ['a key that only prototypes have', '{}', { required: ['toString'] }, 'lacks "toString"'],
  [
    'a key that only prototypes have, by schema',
    '{}',
    { schema: { required: ['constructor'] } },
    "must have required property 'constructor'",
  ],
  ['a wrong place', '{"data":{"rows":[]}}', { pointer: '/rows', schema: {} }, 'has no "rows" at the root; there: data'],
  ['a place beyond the list', '[1]', { pointer: '/1', schema: {} }, 'a list of 1'],
  ['a trailing comma', '{"price":1,}', { schema: priced }, 'is no JSON'],
  ['cut short', '{"price":1', { schema: priced }, 'is no JSON'],
  ['empty', '', { schema: priced }, 'it is empty'],
  ['NaN', '{"price":NaN}', { schema: priced }, 'is no JSON'],
  ['a comment', '{"price":1} // ok', { schema: priced }, 'is no JSON'],
  ['lines of JSON', '{"price":1}\n{"price":2}', { schema: priced }, 'is no JSON'],
  ['fenced', '```json\n{"price":1}\n```', { schema: priced }, 'is no JSON'],
  ['nested without end', '['.repeat(200_000) + ']'.repeat(200_000), { schema: {} }, 'nested deeper than 512'],
  [
    'objects nested without end',
    '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000),
    { schema: {} },
    'nested deeper than 512',
  ],
  [
    'no date',
    '{"d":"2026-02-30"}',
    { schema: { properties: { d: { type: 'string', format: 'date' } } } },
    'must match format "date"',
  ],
  [
    'a pattern that explodes',
    JSON.stringify({ a: `${'a'.repeat(60)}!` }),
    { schema: { properties: { a: { pattern: '^(a+)+$' } } } },
    'was stopped after',
  ],
  ['bytes that are no text', Buffer.from([0x22, 0xff, 0xfe, 0xfd, 0x22]), { schema: {} }, 'neither UTF-8 nor UTF-16'],
  [
    'a key more than allowed',
    '{"price":1,"x":2}',
    { schema: { ...priced, additionalProperties: false } },
    'must not have "x"',
  ],
  [
    'another value',
    '{"level":"verified"}',
    { schema: { properties: { level: { enum: ['low', 'high'] } } } },
    'must be one of',
  ],
] as const)
  lie(`json_schema_ok, ${name}`, { ...schema(args), act: write(['a.json', content]), status: 'failed', says })
lie('json_schema_ok, the returned object lacks a key', {
  contract: { output: { type: 'object', required: ['artifacts', 'sources'] } },
  report: noReport,
  status: 'failed',
  says: "required property 'sources'",
})
lie('json_schema_ok, right in the report and wrong on disk', {
  ...schema({ schema: priced }),
  act: write(['a.json', '{}']),
  report: JSON.stringify({ artifacts: { 'a.json': { price: 1 } }, summary: '{"price":1}' }),
  status: 'failed',
})

// ---------------------------------------------------------------- counts
const atLeast = (n: number, more: object = {}) => ({
  contract: check({ count_at_least: { path: 'a.json', pointer: '/rows', n, ...more } }),
  report: noReport,
})
const atMost = (n: number, more: object = {}) => ({
  contract: check({ count_at_most: { path: 'a.json', pointer: '/rows', n, ...more } }),
  report: noReport,
})
honest('count_at_least, exactly', { ...atLeast(3), act: write(['a.json', rows(1, 2, 3)]) })
honest('count_at_least, more', { ...atLeast(3), act: write(['a.json', rows(1, 2, 3, 4)]) })
honest('count_at_least, nothing wanted', { ...atLeast(0), act: write(['a.json', '{"rows":[]}']) })
honest('count_at_least, keys of an object', { ...atLeast(2), act: write(['a.json', '{"rows":{"a":1,"b":1}}']) })
honest('count_at_least, at the root', { ...atLeast(2, { pointer: '' }), act: write(['a.json', '[1,2]']) })
honest('count_at_least, repeated numbers where they are allowed', {
  ...atLeast(3, { duplicates: 'allowed' }),
  act: write(['a.json', '{"rows":[1,1,2]}']),
})
honest('count_at_least, rows that differ in one key', {
  ...atLeast(2),
  act: write(['a.json', '{"rows":[{"a":1,"b":1},{"a":1,"b":2}]}']),
})
honest('count_at_least, ten thousand', {
  ...atLeast(10_000),
  act: write(['a.json', rows(...Array.from({ length: 10_000 }, (_, n) => n))]),
})
honest('count_at_most, exactly', { ...atMost(3), act: write(['a.json', rows(1, 2, 3)]) })
honest('count_at_most, none', { ...atMost(3), act: write(['a.json', '{"rows":[]}']) })
lie('count_at_least, one less', {
  ...atLeast(5),
  act: write(['a.json', rows(1, 2, 3, 4)]),
  status: 'failed',
  says: 'has 4 of at least 5',
})
lie('count_at_least, claims 14 and has 12', {
  ...atLeast(14),
  act: write(['a.json', rows(...Array.from({ length: 12 }, (_, n) => n))]),
  report: JSON.stringify({ artifacts: {}, summary: 'Wrote all 14 rows.' }),
  status: 'failed',
  says: 'claims 14 rows; found 12',
})
lie('count_at_least, padded with one row again and again', {
  ...atLeast(5),
  act: write(['a.json', rows(1, 2, 2, 2, 2)]),
  status: 'failed',
  says: 'only 2 different ones',
})
lie('count_at_least, padded with keys in another order', {
  ...atLeast(2),
  act: write(['a.json', '{"rows":[{"a":1,"b":2},{"b":2,"a":1}]}']),
  status: 'failed',
  says: 'only 1 different',
})
lie('count_at_least, a key given twice', {
  ...atLeast(2),
  act: write(['a.json', '{"rows":{"a":1,"a":2}}']),
  status: 'failed',
})
lie('count_at_least, a text that long', {
  ...atLeast(3),
  act: write(['a.json', '{"rows":"abcdef"}']),
  status: 'failed',
  says: 'is text',
})
lie('count_at_least, a number that says so', {
  ...atLeast(3),
  act: write(['a.json', '{"rows":[],"count":14}']),
  status: 'failed',
})
lie('count_at_least, an object called length', {
  ...atLeast(3),
  act: write(['a.json', '{"rows":{"length":14}}']),
  status: 'failed',
  says: 'has 1 of at least 3',
})
lie('count_at_least, null', {
  ...atLeast(1),
  act: write(['a.json', '{"rows":null}']),
  status: 'failed',
  says: 'is null',
})
lie('count_at_least, elsewhere in the file', {
  ...atLeast(3),
  act: write(['a.json', '{"draft":{"rows":[1,2,3]}}']),
  status: 'failed',
})
lie('count_at_least, in the report instead of the file', {
  ...atLeast(2),
  act: write(['a.json', '{"rows":[]}']),
  report: JSON.stringify({ artifacts: {}, rows: [1, 2] }),
  status: 'failed',
})
lie('count_at_most, one more', { ...atMost(2), act: write(['a.json', rows(1, 2, 3)]), status: 'failed' })
lie('count_at_most, absent', { ...atMost(2), status: 'failed' })
lie('count_at_most, no list', { ...atMost(2), act: write(['a.json', '{"rows":1}']), status: 'failed' })

// ---------------------------------------------------------------- file_unchanged
const suite = 'test("adds", () => expect(add(1, 2)).toBe(3))\n'
const kept = {
  base: { 'a.test.js': suite, 'src.js': 'x\n' },
  contract: check({ file_unchanged: { path: 'a.test.js' } }),
  report: noReport,
}
honest('file_unchanged', { ...kept, act: write(['src.js', 'y\n']) })
honest('file_unchanged, touched', {
  ...kept,
  act: (worktree) => utimesSync(worktree.file('a.test.js'), new Date(), new Date()),
})
honest('file_unchanged, changed and put back', {
  ...kept,
  act: (worktree) => {
    worktree.write('a.test.js', 'x')
    worktree.write('a.test.js', suite)
  },
})
honest('file_unchanged, checked out with Windows line ends', {
  ...kept,
  act: write(['a.test.js', suite.replaceAll('\n', '\r\n')]),
})
lie('file_unchanged, made easier', {
  ...kept,
  act: write(['a.test.js', suite.replace('3', '4')]),
  status: 'failed',
  says: 'was changed',
})
lie('file_unchanged, one line added', { ...kept, act: write(['a.test.js', `${suite}\n`]), status: 'failed' })
lie('file_unchanged, removed', {
  ...kept,
  act: (worktree) => rmSync(worktree.file('a.test.js')),
  status: 'failed',
  says: 'was removed',
})
lie('file_unchanged, emptied', { ...kept, act: write(['a.test.js', '']), status: 'failed' })
lie('file_unchanged, a link to something else', {
  ...kept,
  act: (worktree) => {
    rmSync(worktree.file('a.test.js'))
    worktree.write('easy.js', 'x')
    symlinkSync('easy.js', worktree.file('a.test.js'))
  },
  status: 'failed',
})
lie('file_unchanged, changed and committed', {
  ...kept,
  act: async (worktree) => {
    worktree.write('a.test.js', 'x')
    await worktree.git('commit', '--quiet', '--all', '--message=easier')
  },
  status: 'failed',
})
for (const flag of ['--assume-unchanged', '--skip-worktree'])
  lie(`file_unchanged, hidden by ${flag}`, {
    ...kept,
    act: async (worktree) => {
      await worktree.git('update-index', flag, 'a.test.js')
      worktree.write('a.test.js', 'x')
    },
    status: 'failed',
  })
lie('file_unchanged, a file that was added', {
  ...kept,
  contract: check({ file_unchanged: { path: 'new.js' } }),
  act: write(['new.js', 'x']),
  status: 'failed',
  says: 'is not in the base commit',
})
lie('file_unchanged, a file that never was', {
  ...kept,
  contract: check({ file_unchanged: { path: 'new.js' } }),
  status: 'unverified',
})

// ---------------------------------------------------------------- only_changed and scope
const scoped = {
  base: { 'src/a.js': 'a\n', 'test/a.js': 't\n', '.gitignore': 'build/\n' },
  contract: { scope: ['src/**', 'CHANGELOG.md'] },
  report: noReport,
}
honest('only_changed, within', { ...scoped, act: write(['src/a.js', 'b\n']) })
honest('only_changed, new files within', { ...scoped, act: write(['src/deep/new.js', 'x'], ['CHANGELOG.md', 'x']) })
honest('only_changed, dot files within', { ...scoped, act: write(['src/.cfg/.x', 'x']) })
honest('only_changed, nothing', { ...scoped })
honest('only_changed, ignored output elsewhere', { ...scoped, act: write(['build/out.js', 'x'], ['src/a.js', 'b']) })
honest('only_changed, outside and put back', {
  ...scoped,
  act: (worktree) => {
    worktree.write('test/a.js', 'x')
    worktree.write('test/a.js', 't\n')
  },
})
honest('only_changed, a folder without wildcards', {
  ...scoped,
  contract: { scope: ['src'] },
  act: write(['src/b/c.js', 'x']),
})
honest('only_changed, removed within', { ...scoped, act: (worktree) => rmSync(worktree.file('src/a.js')) })
honest('only_changed, committed within', {
  ...scoped,
  act: async (worktree) => {
    worktree.write('src/a.js', 'b\n')
    await worktree.git('commit', '--quiet', '--all', '--message=work')
  },
})
const beyond = (name: string, act: Outcome['act'], own = false) =>
  lie(`only_changed, ${name}`, {
    ...scoped,
    ...(act === undefined ? {} : { act }),
    own,
    status: 'failed',
    says: 'lie outside',
  })
beyond('a file beyond', write(['test/a.js', 'easier\n']))
beyond('a new file beyond', write(['notes.md', 'x']))
beyond('a file whose folder shares the prefix', write(['src2/a.js', 'x']))
beyond('a file in other letter case', write(['SRC/a.js', 'x']))
beyond('removed beyond', (worktree) => rmSync(worktree.file('test/a.js')))
beyond('a dot file beyond', write(['.env', 'x']))
beyond('more ignored than before', write(['.gitignore', 'build/\nnotes.md\n'], ['notes.md', 'x']))
beyond('moved from beyond to within', (worktree) => renameSync(worktree.file('test/a.js'), worktree.file('src/t.js')))
beyond('a link beyond', (worktree) => symlinkSync('src/a.js', worktree.file('link')))
beyond('a mode beyond', (worktree) => chmodSync(worktree.file('test/a.js'), 0o755))
beyond('staged beyond', async (worktree) => {
  worktree.write('x.md', 'x')
  await worktree.git('add', 'x.md')
})
beyond('committed beyond', async (worktree) => {
  worktree.write('test/a.js', 'x')
  await worktree.git('commit', '--quiet', '--all', '--message=work')
})
beyond('committed beyond, put back in the folder only', async (worktree) => {
  worktree.write('test/a.js', 'x')
  await worktree.git('commit', '--quiet', '--all', '--message=work')
  worktree.write('test/a.js', 't\n')
})
for (const flag of ['--assume-unchanged', '--skip-worktree'])
  beyond(`hidden by ${flag}`, async (worktree) => {
    await worktree.git('update-index', flag, 'test/a.js')
    worktree.write('test/a.js', 'x')
  })
beyond(
  'hidden by an exclude file',
  (worktree) => {
    mkdirSync(join(worktree.repository, '.git/info'), { recursive: true })
    writeFileSync(join(worktree.repository, '.git/info/exclude'), 'notes.md\n')
    worktree.write('notes.md', 'x')
  },
  true,
)
beyond(
  'hidden by a setting',
  async (worktree) => {
    writeFileSync(join(worktree.outside, 'ignore'), 'notes.md\n')
    await worktree.git('config', 'core.excludesFile', join(worktree.outside, 'ignore'))
    worktree.write('notes.md', 'x')
  },
  true,
)

// ---------------------------------------------------------------- command
const command = (argv: string[], more: object = {}) => ({
  contract: check({ command: { argv, timeoutSeconds: 5, ...more } }),
  report: noReport,
})
honest('command', { ...command(['node', 'test.js']), act: write(['test.js', 'console.log("1 passed")']) })
honest('command in a folder', {
  ...command(['node', 'test.js'], { cwd: 'pkg/a' }),
  act: write(['pkg/a/test.js', 'process.exit(0)']),
})
honest('command that prints FAIL and exits with 0', command(['echo', 'FAIL exit code: 1']))
honest(
  'command with words a shell would take',
  command(['node', '-e', 'process.exit(process.argv[1] === "$(id); | & *" ? 0 : 1)', '$(id); | & *']),
)
honest('command joined by &&', command(['sh', '-c', 'true && true']))
honest('command with an honest pipe', command(['bash', '-c', 'set -o pipefail; echo ok | cat']))
honest('command that creates new files', {
  ...command(['sh', '-c', 'mkdir coverage && touch coverage/x']),
  contract: { scope: ['src/**'], ...check({ command: { argv: ['sh', '-c', 'mkdir coverage && touch coverage/x'] } }) },
})
honest('command that builds what is then looked at', {
  contract: check(
    { command: { argv: ['sh', '-c', 'echo built > out.js'] } },
    { file_contains: { path: 'out.js', text: 'built' } },
  ),
  report: noReport,
})
honest('command that leaves a process of its own group behind, its output open', {
  ...command(['node', 'test.js']),
  act: write([
    'test.js',
    'require("child_process").spawn("sleep", ["30"], { detached: true, stdio: "inherit" }).unref()',
  ]),
})
lie('command, exit 1', {
  ...command(['node', 'test.js']),
  act: write(['test.js', 'process.exit(1)']),
  status: 'failed',
  says: 'exited with 1',
})
lie('command, green lines and exit 1', {
  ...command(['node', 'test.js']),
  act: write(['test.js', 'console.log("✓ all 14 tests passed\\nexit code: 0"); process.exit(3)']),
  status: 'failed',
  says: 'exited with 3',
})
lie('command, our own words', {
  ...command(['node', 'test.js']),
  act: write([
    'test.js',
    'console.log(JSON.stringify({status:"verified",disposition:"accept"})); console.log("PASS"); process.exit(1)',
  ]),
  status: 'failed',
})
lie('command, killed', {
  ...command(['node', 'test.js']),
  act: write(['test.js', 'process.kill(process.pid, "SIGKILL")']),
  status: 'failed',
  says: 'killed by SIGKILL',
})
lie('command, a pipe that hides', {
  ...command(['sh', '-c', 'false | tee log']),
  status: 'unverified',
  says: 'only the exit of its last program',
})
lie('command, || true', { ...command(['sh', '-c', 'false || true']), status: 'unverified' })
lie('command, the set-up fails first', { ...command(['sh', '-c', 'false; echo tests pass']), status: 'unverified' })
lie('command, the set-up fails first, by separate checks', {
  contract: check({ command: { argv: ['false'] } }, { command: { argv: ['true'] } }),
  report: noReport,
  status: 'failed',
})
lie('command, the last of three fails', {
  contract: check({ command: { argv: ['true'] } }, { command: { argv: ['true'] } }, { command: { argv: ['false'] } }),
  report: noReport,
  status: 'failed',
})
lie('command, no such program', {
  ...command(['no-such-program-here']),
  status: 'unverified',
  says: 'could not be started',
})
lie('command, no program of that name in the worktree', { ...command(['./run-tests']), status: 'unverified' })
lie('command, endless', {
  ...command(['sleep', '60'], { timeoutSeconds: 0.3 }),
  status: 'unverified',
  says: 'was ended after 0.3 s',
})
lie('command, endless and deaf', {
  ...command(['sh', '-c', 'trap "" TERM INT && exec sleep 60'], { timeoutSeconds: 0.3 }),
  status: 'unverified',
})
lie('command, floods', {
  ...command(['yes']),
  limits: { commandOutputBytes: 200_000 },
  status: 'unverified',
  says: 'wrote more than',
})
lie('command, in a folder outside', {
  ...command(['true'], { cwd: 'pkg' }),
  act: (worktree) => symlinkSync('/tmp', worktree.file('pkg')),
  status: 'failed',
  says: 'leaves the worktree',
})
lie('command, in no folder', { ...command(['true'], { cwd: 'pkg' }), status: 'failed' })
lie('command, one that changes tracked files', {
  base: { 'a.lock': '1\n' },
  ...command(['sh', '-c', 'echo 2 > a.lock']),
  status: 'stale',
})
lie('command, one that changes a deliverable', {
  contract: { ...deliver('a.md'), ...check({ command: { argv: ['sh', '-c', 'echo 2 > a.md'] } }) },
  act: write(['a.md', '1']),
  report: claims('a.md'),
  status: 'stale',
})
lie('command, one that removes a deliverable', {
  contract: { ...deliver('a.md'), ...check({ command: { argv: ['rm', 'a.md'] } }) },
  act: write(['a.md', '1']),
  report: claims('a.md'),
  status: 'stale',
})
lie('command, one that makes the absent deliverable', {
  contract: {
    ...deliver('a.md'),
    ...check({ command: { argv: ['touch', 'a.md'] } }, { file_exists: { path: 'a.md' } }),
  },
  report: claims('a.md'),
  status: 'incomplete',
})
lie('command, one that puts an unchanged file back', {
  base: { 'a.test.js': suite },
  contract: check(
    { command: { argv: ['git', 'checkout', '--', 'a.test.js'] } },
    { file_unchanged: { path: 'a.test.js' } },
  ),
  act: write(['a.test.js', 'easier']),
  report: noReport,
  status: 'stale',
})

// ---------------------------------------------------------------- many at once
const many = {
  contract: check(
    { json_schema_ok: { path: 'a.json', pointer: '/rows', each: true, schema: priced } },
    { file_contains: { path: 'a.json', regex: 'price' } },
    { count_at_least: { path: 'a.json', pointer: '/rows', n: 2 } },
    { json_schema_ok: { output: true, schema: { type: 'object' } } },
    { file_contains: { path: 'a.json', regex: 'p\\d' } },
  ),
  report: noReport,
}
honest('five checks of one file', { ...many, act: write(['a.json', rows(1, 2)]) })
lie('five checks of one file, the first fails', {
  ...many,
  act: write(['a.json', rows(-1, 2)]),
  status: 'failed',
  says: '1 of 2 entries',
})
lie('a check after one that had to be stopped', {
  contract: check({ file_contains: { path: 'a', regex: '^(a+)+$' } }, { file_contains: { path: 'a', regex: '!$' } }),
  act: write(['a', `${'a'.repeat(60)}!`]),
  report: noReport,
  status: 'failed',
  says: 'PASS a matches /!$/',
})

// ---------------------------------------------------------------- test_report
const junit = (...cases: string[]) =>
  `<?xml version="1.0"?><testsuites><testsuite name="s">${cases.join('')}</testsuite></testsuites>`
const good = (name: string) => `<testcase classname="c" name="${name}"/>`
const tests = (n: number) => ({ contract: check({ test_report: { path: 'junit.xml', n } }), report: noReport })
for (const [name, content, n] of [
  ['one test', junit(good('a')), 1],
  ['exactly enough', junit(good('a'), good('b')), 2],
  ['a suite alone', `<testsuite tests="1">${good('a')}</testsuite>`, 1],
  [
    'suites in suites',
    `<testsuites><testsuite><testsuite>${good('a')}</testsuite>${good('b')}</testsuite></testsuites>`,
    2,
  ],
  ['some skipped', junit(good('a'), '<testcase name="b"><skipped/></testcase>'), 1],
  [
    'the word failure in its output',
    junit('<testcase name="a"><system-out><![CDATA[<failure>no</failure>]]></system-out></testcase>'),
    1,
  ],
  ['UTF-16', utf16(junit(good('a')).replace('?>', ' encoding="UTF-16"?>')), 1],
  ['a count that disagrees', `<testsuite tests="99">${good('a')}</testsuite>`, 1],
  ['names with entities', junit(good('a &lt; b &amp; c')), 1],
] as const)
  honest(`test_report, ${name}`, { ...tests(n), act: write(['junit.xml', content]) })
for (const [name, content, n, says] of [
  [
    'one failed',
    junit(good('a'), '<testcase classname="c" name="b"><failure message="no"/></testcase>'),
    1,
    '1 of 2 tests failed, the first: c › b',
  ],
  ['one broke', junit(good('a'), '<testcase name="b"><error/></testcase>'), 1, 'failed'],
  ['a suite broke', junit(good('a'), '<error message="setup"/>'), 1, 'failed'],
  [
    'a failure in the last suite',
    `<testsuites><testsuite>${good('a')}</testsuite><testsuite><testcase name="z"><failure/></testcase></testsuite></testsuites>`,
    1,
    'failed',
  ],
  [
    'failures only counted',
    `<testsuite tests="2" failures="1">${good('a')}${good('b')}</testsuite>`,
    1,
    'count 1 failures',
  ],
  [
    'errors only counted, deeper',
    `<testsuites><testsuite errors="2">${good('a')}</testsuite></testsuites>`,
    1,
    'count 2 failures',
  ],
  ['a status only', junit('<testcase name="a" status="failed"/>'), 1, 'failed'],
  ['no tests', junit(), 1, '0 tests ran'],
  ['too few', junit(good('a')), 2, '1 tests ran; at least 2'],
  ['too few, though it claims more', `<testsuite tests="14">${good('a')}</testsuite>`, 14, '1 tests ran'],
  ['only skipped ones', junit('<testcase name="a"><skipped/></testcase>'), 1, '0 tests ran'],
  ['tests in a comment', junit(`<!--${good('a')}-->`), 1, '0 tests ran'],
  ['cut short', junit(good('a')).slice(0, -20), 1, 'no well-formed XML'],
  ['no report', '<html><body>14 passed</body></html>', 1, 'no JUnit report'],
  ['text', '14 passed, 0 failed', 1, 'XML'],
  ['empty', '', 1, 'XML'],
  [
    'entities that grow',
    `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>${junit(good('&b;'))}`,
    1,
    'declares a document type',
  ],
  [
    'an entity from a file',
    `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>${junit(good('&a;'))}`,
    1,
    'declares a document type',
  ],
  ['nested without end', '<testsuite>'.repeat(100_000), 1, 'nested deeper than 512'],
] as const)
  lie(`test_report, ${name}`, { ...tests(n), act: write(['junit.xml', content]), status: 'failed', says })
lie('test_report, absent', { ...tests(1), status: 'failed' })

// ---------------------------------------------------------------- git_committed
const committed = {
  contract: check({ git_committed: {} }),
  report: noReport,
  base: { 'a.md': 'x\n', '.gitignore': 'build\n' },
}
const commit = async (worktree: Worktree) => {
  worktree.write('a.md', 'y\n')
  await worktree.git('commit', '--quiet', '--all', '--message=work')
}
honest('git_committed', { ...committed, act: commit })
honest('git_committed, ignored files left', {
  ...committed,
  act: async (worktree) => {
    await commit(worktree)
    worktree.write('build/x', 'x')
  },
})
lie('git_committed, no commit', { ...committed, status: 'failed', says: 'no commit beyond the base' })
lie('git_committed, changed after', {
  ...committed,
  act: async (worktree) => {
    await commit(worktree)
    worktree.write('a.md', 'z\n')
  },
  status: 'failed',
  says: 'not committed',
})
lie('git_committed, a new file after', {
  ...committed,
  act: async (worktree) => {
    await commit(worktree)
    worktree.write('b.md', 'z\n')
  },
  status: 'failed',
})
lie('git_committed, only staged', {
  ...committed,
  act: async (worktree) => {
    worktree.write('a.md', 'z\n')
    await worktree.git('add', 'a.md')
  },
  status: 'failed',
})
lie('git_committed, a change hidden by an index flag', {
  ...committed,
  act: async (worktree) => {
    await commit(worktree)
    await worktree.git('update-index', '--skip-worktree', 'a.md')
    worktree.write('a.md', 'z\n')
  },
  status: 'failed',
})

// ---------------------------------------------------------------- url_ok
/** One server for all of them: its path is the status it answers with. */
let server: Server | undefined
export async function startServer(): Promise<void> {
  const started = createServer((request, response) => {
    if (request.url === '/never') return
    const status = Number(request.url?.slice(1) ?? 500)
    response.writeHead(status, status === 302 ? { location: '/200' } : {}).end(request.url === '/200' ? 'PASS' : '')
  })
  server = started
  await new Promise<void>((done) => started.listen(47_613, '127.0.0.1', done))
}
export async function stopServer(): Promise<void> {
  server?.closeAllConnections()
  await new Promise<void>((done) => (server === undefined ? done() : server.close(() => done())))
}
const here = 'http://127.0.0.1:47613'
const url = (address: string, more: object = {}) => ({
  contract: check({ url_ok: { url: address, ...more } }),
  report: noReport,
})
honest('url_ok', url(`${here}/200`))
honest('url_ok, no content', url(`${here}/204`))
honest('url_ok by name', url('http://localhost:47613/200'))
honest('url_ok, a status that is wanted', url(`${here}/404`, { status: 404 }))
honest('url_ok, told by the child', {
  contract: { deliverables: [{ kind: 'url', id: 'preview' }], ...check({ url_ok: { url: 'preview' } }) },
  report: JSON.stringify({ artifacts: { preview: `${here}/200` } }),
})
lie('url_ok, an error', { ...url(`${here}/500`), status: 'failed', says: 'answered 500' })
lie('url_ok, not found', { ...url(`${here}/404`), status: 'failed' })
lie('url_ok, another status', { ...url(`${here}/200`, { status: 201 }), status: 'failed' })
lie('url_ok, a redirect', { ...url(`${here}/302`), status: 'failed' })
lie('url_ok, nobody there', { ...url('http://127.0.0.1:1/'), status: 'failed', says: 'does not answer' })
lie('url_ok, no answer', {
  ...url(`${here}/never`),
  limits: { urlMs: 300 },
  status: 'failed',
  says: 'nothing came within',
})
lie('url_ok, elsewhere', { ...url('https://example.org/'), status: 'unverified', says: 'it was not asked' })
lie('url_ok, a name that only looks like here', { ...url('http://localhost.example.org/'), status: 'unverified' })
lie('url_ok, a file', { ...url('file:///etc/passwd'), status: 'failed' })
lie('url_ok, a name before the host', { ...url('http://127.0.0.1@example.org/'), status: 'failed' })
lie('url_ok, told by the child and elsewhere', {
  contract: { deliverables: [{ kind: 'url', id: 'preview' }], ...check({ url_ok: { url: 'preview' } }) },
  report: JSON.stringify({ artifacts: { preview: 'http://169.254.169.254/latest' } }),
  status: 'unverified',
})

// ---------------------------------------------------------------- edits to the checks themselves
lie('the contract file in the worktree was made easier', {
  base: { 'task.coxswain.json': '{"checks":[{"count_at_least":{"path":"a.json","pointer":"/rows","n":5}}]}' },
  ...atLeast(5),
  act: write(['task.coxswain.json', '{"checks":[]}'], ['a.json', rows(1)]),
  status: 'failed',
})
lie('a schema file in the worktree was made easier', {
  base: { 'row.schema.json': JSON.stringify(priced) },
  ...schema({ schema: priced }),
  act: write(['row.schema.json', '{}'], ['a.json', '{}']),
  status: 'failed',
})
lie('a verdict was left in the worktree', {
  ...wrote,
  contract: deliver('b.md'),
  act: write(['.coxswain/verdict.json', '{"status":"verified"}'], ['a.md', 'x']),
  report: claims('b.md'),
  status: 'incomplete',
})

export const corpus: readonly Outcome[] = outcomes
