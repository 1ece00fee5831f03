// Writing a contract at dispatch, by keyboard: from a template, check by check, or from a file of the repository. A file is
// used only after a person has read what it would run, and is asked about again whenever its content is another.
import { createHash } from 'node:crypto'
import * as vscode from 'vscode'
import { z } from 'zod'
import {
  allChecks,
  checkMeanings,
  describeCheck,
  kinded,
  readCheck,
  type CheckKind,
  type Contract,
} from '../core/contract'
import { argvOf, templates, type TemplateName } from '../core/contractTemplates'
import { askOne, askText, BACK } from './ask'
import { t } from './present/l10n'
import { forNotice, forPick } from './present/safe'
import type { Coxswain } from './supervision'

/** A contract as it goes into a spawn request; null = not chosen after all. */
export type Written = { readonly value: unknown } | null

export async function fromTemplate(name: TemplateName): Promise<Written> {
  const { title, blank, fill } = templates[name]
  const text = await askText({
    title,
    prompt: blank.prompt,
    value: blank.example,
    refuse: (typed) => (typed.trim() === '' ? t('This is needed.') : null),
  })
  return text === undefined || text === BACK ? null : { value: fill(text.trim()) }
}

// ---- a file of the repository ----

const consentSchema = z.record(z.string(), z.string()).catch({})
const CONSENT = 'coxswain.contractConsent'

/** Asks for one of the repository's contract files; the folder is trusted, or this is never reached. */
export async function fromFile(coxswain: Coxswain, memory: vscode.Memento): Promise<Written> {
  const files = await vscode.workspace.findFiles('**/*.coxswain.{json,yaml,yml}', '**/node_modules/**', 200)
  if (files.length === 0) {
    void vscode.window.showInformationMessage(
      t('There is no contract file here: name one *.coxswain.json or *.coxswain.yaml.'),
    )
    return null
  }
  const uri = await askOne<vscode.Uri>({
    title: t('Contract from a file'),
    placeholder: t('Which file?'),
    items: files.map((value) => ({ value, label: forPick(vscode.workspace.asRelativePath(value, false)) })),
  })
  if (uri === undefined || uri === BACK) return null
  const text = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString('utf8')
  const reading = await coxswain.contractFrom(text, /\.ya?ml$/i.test(uri.path) ? 'yaml' : 'json')
  const name = vscode.workspace.asRelativePath(uri, false)
  if (!reading.ok) {
    void vscode.window.showErrorMessage(
      forNotice(t('{name} cannot be used: {why}', { name, why: reading.problems.join('; ') })),
    )
    return null
  }
  return (await agreed(memory, uri.toString(), name, text, reading.contract)) ? { value: reading.value } : null
}

/** Bound to the content: a file that has changed since is asked about again, and says so. */
async function agreed(
  memory: vscode.Memento,
  key: string,
  name: string,
  text: string,
  contract: Contract,
): Promise<boolean> {
  const known = consentSchema.parse(memory.get(CONSENT) ?? {})
  const hash = createHash('sha256').update(text).digest('hex')
  if (known[key] === hash) return true
  const checks = allChecks(contract)
  const runs = checks.filter((check) => kinded(check).kind === 'command')
  const detail = [
    ...(known[key] === undefined ? [] : [t('It has changed since you agreed to it.')]),
    ...(runs.length === 0
      ? []
      : [
          t('After the child has ended these run on your machine, on code the child wrote:'),
          ...lines(runs.map(describeCheck)),
        ]),
    t('In all it checks:'),
    ...lines(checks.map(describeCheck)),
  ].join('\n')
  const button = t('Use this contract')
  const choice = await vscode.window.showWarningMessage(
    forNotice(t('Use the contract in {name}?', { name })),
    { modal: true, detail },
    button,
  )
  if (choice !== button) return false
  await memory.update(CONSENT, { ...known, [key]: hash })
  return true
}

const lines = (words: readonly string[]): string[] =>
  words.length === 0 ? ['• –'] : words.slice(0, 20).map((each) => `• ${forNotice(each, 200)}`)

// ---- check by check ----

interface Field {
  readonly key: string
  readonly prompt: () => string
  readonly example: string
  readonly read: (typed: string) => unknown
}

const path: Field = {
  key: 'path',
  prompt: () => t('File, relative to the folder it works in'),
  example: 'out.md',
  read: String,
}
const pointer: Field = {
  key: 'pointer',
  prompt: () => t('Place in the JSON, empty for the whole'),
  example: '/rows',
  read: String,
}
const n: Field = { key: 'n', prompt: () => t('How many'), example: '5', read: Number }
const words = (typed: string): string[] => typed.split(',').map((each) => each.trim())

/** What is asked for each kind of check, in order. */
const fields: Readonly<Record<CheckKind, readonly Field[]>> = {
  file_exists: [path],
  file_contains: [path, { key: 'text', prompt: () => t('Text it contains'), example: 'Sources', read: String }],
  json_schema_ok: [
    path,
    pointer,
    { key: 'required', prompt: () => t('Keys it has, separated by commas'), example: 'name, price', read: words },
  ],
  count_at_least: [path, pointer, n],
  count_at_most: [path, pointer, n],
  file_unchanged: [path],
  only_changed: [
    { key: 'globs', prompt: () => t('What may be changed, separated by commas'), example: 'docs/**', read: words },
  ],
  sha256: [path, { key: 'hash', prompt: () => t('SHA-256 it has'), example: '', read: String }],
  command: [
    {
      key: 'argv',
      prompt: () => t('Command; it runs code the child wrote, without a shell'),
      example: 'npm test',
      read: argvOf,
    },
  ],
  test_report: [{ ...path, example: 'reports/junit.xml' }],
  git_committed: [],
  url_ok: [{ key: 'url', prompt: () => t('Address'), example: 'http://localhost:3000/health', read: String }],
}

/** Deliverables first, then as many checks as a person wants. */
export async function checkByCheck(): Promise<Written> {
  const typed = await askText({
    title: t('Contract: deliverables'),
    prompt: t('Files it must deliver, separated by commas. Empty: none.'),
    placeholder: 'docs/report.md, data/table.json',
    refuse: () => null,
  })
  if (typed === undefined || typed === BACK) return null
  const deliverables = words(typed)
    .filter((each) => each !== '')
    .map((each) => ({ path: each }))
  const checks: unknown[] = []
  for (;;) {
    const chosen = await askOne<CheckKind | 'done' | number>({
      title: t('Contract: checks'),
      placeholder: t('Add a check, or start; Enter on one that was added takes it away'),
      items: [
        {
          value: 'done',
          label: t('Start with this contract'),
          description: t('{files} deliverables, {checks} checks', {
            files: deliverables.length,
            checks: checks.length,
          }),
          iconPath: new vscode.ThemeIcon('play'),
        },
        ...checks.map((check, value) => ({
          value,
          label: forPick(describeCheck(check as never)),
          iconPath: new vscode.ThemeIcon('trash'),
        })),
        ...(Object.keys(fields) as CheckKind[]).map((value) => ({
          value,
          label: value,
          detail: checkMeanings[value],
          iconPath: new vscode.ThemeIcon('add'),
        })),
      ],
      active: (value) => value === 'done',
    })
    if (chosen === undefined || chosen === BACK) return null
    if (chosen === 'done') return { value: { deliverables, checks } }
    if (typeof chosen === 'number') checks.splice(chosen, 1)
    else {
      const check = await askCheck(chosen)
      if (check !== null) checks.push(check)
    }
  }
}

async function askCheck(kind: CheckKind): Promise<unknown> {
  const args: Record<string, unknown> = kind === 'json_schema_ok' ? { each: true } : {}
  for (const field of fields[kind]) {
    const typed = await askText({
      title: kind,
      prompt: field.prompt(),
      placeholder: field.example,
      refuse: () => null,
    })
    if (typed === undefined || typed === BACK) return null
    args[field.key] = field.read(typed.trim())
  }
  const read = readCheck({ [kind]: args }, t('This check'))
  if (read.ok) return read.check
  void vscode.window.showWarningMessage(forNotice(read.problems.join('; ')))
  return null
}
