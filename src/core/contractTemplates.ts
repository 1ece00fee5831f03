// Contracts to begin from, for the three kinds of work that are handed out most: each is a whole contract with one blank
// or two. Pure; what is filled in is read like any contract.

export const templateNames = ['report', 'code', 'table'] as const
export type TemplateName = (typeof templateNames)[number]

export interface Template {
  readonly title: string
  /** What is held against the work, in a sentence. */
  readonly meaning: string
  /** What has to be filled in, in words, with an example that works. */
  readonly blank: { readonly prompt: string; readonly example: string }
  /** The contract with its blank filled in. */
  readonly fill: (text: string) => unknown
}

export const templates: Readonly<Record<TemplateName, Template>> = {
  report: {
    title: 'Research report',
    meaning: 'One Markdown file with a section Sources, and nothing else changed.',
    blank: { prompt: 'The file of the report, relative to the folder it works in', example: 'docs/report.md' },
    fill: (path) => ({
      deliverables: [{ path, description: 'the report, in Markdown' }],
      criteria: ['every claim names its source', 'what could not be found out is said'],
      checks: [{ file_contains: { path, regex: '^#+ .*sources', flags: 'im' } }],
      scope: [path],
    }),
  },
  code: {
    title: 'Code change with tests',
    meaning: 'Your test command passes on its work, and all of it is committed.',
    blank: { prompt: 'The command that tests it; it runs code the child wrote', example: 'npm test' },
    fill: (command) => ({
      criteria: ['a test fails without the change', 'no test was weakened'],
      checks: [{ command: { argv: argvOf(command) } }, { git_committed: {} }],
    }),
  },
  table: {
    title: 'Data table',
    meaning: 'A JSON file with a list “rows” of at least one entry, each an object with a name.',
    blank: { prompt: 'The file of the table, relative to the folder it works in', example: 'data/table.json' },
    fill: (path) => ({
      deliverables: [{ path, description: 'JSON: {"rows": [{"name": …}, …]}' }],
      criteria: ['no row is made up', 'no row is there twice'],
      checks: [
        { json_schema_ok: { path, pointer: '/rows', each: true, required: ['name'] } },
        { count_at_least: { path, pointer: '/rows', n: 1 } },
      ],
    }),
  },
}

export function isTemplateName(name: string): name is TemplateName {
  return (templateNames as readonly string[]).includes(name)
}

/** A command line as words: split at blanks, quotes kept together. No shell: nothing else means anything. */
export function argvOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )
}
