// Collects every string people read, from src/ui and the webview, into l10n/bundle.l10n.json, in the format VS Code hands
// to translators. Part of the build, so that it is never out of date. A string that cannot be collected is an error.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { repository } from './system.mjs'

const bundleFile = path.join(repository, 'l10n/bundle.l10n.json')

/**
 * The strings of one file: the first argument of each `t(…)`; in the webview's list of words also each plain value.
 * @param {string} file for messages and to know the list of words
 * @param {string} text
 * @returns {{ strings: string[], problems: string[] }}
 */
export function stringsOf(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const isList = file.endsWith('webview/transcript/strings.ts')
  /** @type {string[]} */
  const strings = []
  /** @type {string[]} */
  const problems = []
  /** @param {ts.Node} node */
  const place = (node) => `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 't') {
      const [first] = node.arguments
      if (first !== undefined && ts.isStringLiteralLike(first)) strings.push(first.text)
      else problems.push(`${place(node)}: t() takes a string literal, with {names} for what varies`)
    } else if (isList && ts.isPropertyAssignment(node) && ts.isStringLiteralLike(node.initializer)) {
      strings.push(node.initializer.text)
    } else if (isList && ts.isTemplateExpression(node)) {
      problems.push(
        `${place(node)}: write t('… {name} …', { name }) instead of a template, so that it can be translated`,
      )
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return { strings, problems }
}

/** Every string of the extension, sorted; throws when one cannot be collected. */
export function everyString() {
  const files = ['src/ui', 'webview'].flatMap((folder) =>
    readdirSync(path.join(repository, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name.split(path.sep).join('/')}`),
  )
  const found = files.map((file) => stringsOf(file, readFileSync(path.join(repository, file), 'utf8')))
  const problems = found.flatMap((each) => each.problems)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return [...new Set(found.flatMap((each) => each.strings))].sort()
}

/** Writes the bundle; English is its own translation. */
export function writeBundle() {
  const strings = everyString()
  mkdirSync(path.dirname(bundleFile), { recursive: true })
  writeFileSync(bundleFile, `${JSON.stringify(Object.fromEntries(strings.map((each) => [each, each])), null, 2)}\n`)
}
