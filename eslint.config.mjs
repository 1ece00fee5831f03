// One block per room of src/: which imports that room must not have. Each border exists so that a room can be tested,
// replaced or reasoned about without the others; ARCHITECTURE.md says why. `npm run lint` fails on a crossing.
import tseslint from 'typescript-eslint'

const rooms = [
  'core',
  'agents',
  'process',
  'record',
  'git',
  'verification',
  'supervisor',
  'parent',
  'protocol',
  'ui',
  'util',
  'demo',
]

const vscode = { group: ['vscode'], message: 'Only src/ui and src/extension.ts may import vscode.' }
const execa = { group: ['execa'], message: 'Only src/process and src/git start programs with execa.' }
const childProcess = {
  group: ['node:child_process', 'child_process'],
  message: 'Programs are started by src/process and src/git only.',
}
const node = { group: ['node:*'], message: 'This room is pure: time, ids and bytes are handed in.' }
const zod = { group: ['zod'], message: 'This room has no need of schemas.' }
const diskWrites = {
  group: ['node:fs', 'node:fs/promises', 'fs', 'fs/promises'],
  importNamePattern:
    '^(default|promises|write|append|rename|unlink|rm|mkdir|mkdtemp|open|create|chmod|chown|copy|cp|link|symlink|truncate|ftruncate|fsync|fdatasync|utimes)',
  message: 'Only src/record, src/git and the keeper write to disk; import the reading functions by name.',
}
const others = (...allowed) =>
  rooms
    .filter((room) => !allowed.includes(room))
    .map((room) => ({
      regex: `^(\\.\\./)+${room}(/|$)`,
      message: `This room must not know src/${room}; allowed: ${allowed.join(', ') || 'nothing'}.`,
    }))

const border = (files, patterns, extra = {}) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns }], ...extra },
})

const pure = {
  'no-restricted-globals': [
    'error',
    ...[
      'process',
      'Buffer',
      'setTimeout',
      'setInterval',
      'setImmediate',
      'queueMicrotask',
      'performance',
      'crypto',
      'fetch',
    ].map((name) => ({ name, message: 'This room is pure: no clock, no randomness, no process.' })),
  ],
  'no-restricted-properties': [
    'error',
    { object: 'Date', property: 'now', message: 'Time arrives inside events.' },
    { object: 'Math', property: 'random', message: 'Ids arrive inside events.' },
  ],
}

export default tseslint.config(
  { ignores: ['node_modules/**', 'dist/**', 'out/**', '**/node_modules/**', 'test/fixtures/**', 'coverage/**'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './webview/transcript/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      eqeqeq: ['error', 'always'],
      'no-console': 'error',
    },
  },
  border(['src/core/**'], [vscode, execa, childProcess, node, ...others('core')], pure),
  border(['src/agents/**'], [vscode, execa, childProcess, node, ...others('core', 'agents')], pure),
  border(['src/protocol/**'], [vscode, execa, childProcess, node, ...others('core', 'protocol')], pure),
  border(['src/process/**'], [vscode, zod, ...others('core', 'process', 'util')]),
  border(['src/record/**'], [vscode, execa, childProcess, ...others('core', 'record', 'util')]),
  border(['src/git/**'], [vscode, ...others('core', 'git', 'util')]),
  border(['src/verification/**'], [vscode, execa, childProcess, diskWrites, ...others('core', 'verification', 'util')]),
  // It opens files by handle, for reading only; everything else of the room goes through it.
  border(['src/verification/safePath.ts'], [vscode, execa, childProcess, ...others('core', 'verification', 'util')]),
  border(
    ['src/supervisor/**'],
    [
      vscode,
      execa,
      childProcess,
      diskWrites,
      ...others('core', 'agents', 'process', 'record', 'git', 'verification', 'supervisor', 'protocol', 'util'),
    ],
  ),
  border(
    ['src/parent/**'],
    [vscode, execa, childProcess, diskWrites, ...others('core', 'record', 'supervisor', 'parent', 'protocol', 'util')],
  ),
  border(
    ['src/ui/**', 'src/extension.ts'],
    [
      execa,
      childProcess,
      diskWrites,
      ...others('core', 'record', 'supervisor', 'parent', 'protocol', 'ui', 'util', 'git'),
    ],
  ),
  border(['src/demo/script.ts'], [vscode, execa, childProcess, node, zod, ...others('demo')], pure),
  border(['src/demo/agent.ts'], [vscode, execa, zod, ...others('demo')]),
  border(['src/util/**'], [vscode, execa, childProcess, diskWrites, ...others('util')]),
  border(['src/cli.ts', 'src/cli/**'], [vscode, execa, childProcess, diskWrites]),
  border(
    ['webview/**'],
    [vscode, execa, childProcess, node, zod, ...others().map((o) => ({ ...o, regex: `src/(?!protocol/)` }))],
  ),
  { files: ['webview/**'], rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' } },
  {
    files: ['test/**', 'bench/**', 'src/cli/**', 'src/cli.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
)
