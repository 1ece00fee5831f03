// What people get when they install the package, and what they must never get with it.
import { statSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { repository } from '../../scripts/system.mjs'
import { unzip } from './harness/zip.js'

/** The whole content: a new file is added here on purpose, or it does not ship. */
const content = [
  '[Content_Types].xml',
  'extension.vsixmanifest',
  'extension/LICENSE.txt',
  'extension/api/coxswain.d.ts',
  'extension/changelog.md',
  'extension/dist/cli.js',
  'extension/dist/content.js',
  'extension/dist/contentWorker.js',
  'extension/dist/demoAgent.js',
  'extension/dist/extension.js',
  'extension/dist/keeper.js',
  'extension/dist/webview/codicon.ttf',
  'extension/dist/webview/transcript.css',
  'extension/dist/webview/transcript.js',
  'extension/l10n/bundle.l10n.json',
  'extension/media/contract.schema.json',
  'extension/media/coxswain.svg',
  'extension/media/icon.png',
  'extension/media/tab-dark.svg',
  'extension/media/tab-light.svg',
  'extension/media/walkthrough/agents.md',
  'extension/media/walkthrough/control.md',
  'extension/media/walkthrough/first.md',
  'extension/media/walkthrough/steer.md',
  'extension/media/walkthrough/verify.md',
  'extension/package.json',
  'extension/package.nls.json',
  'extension/readme.md',
]

/** Traces of a secret, of a source map, or of the machine it was built on. */
const forbidden = {
  'a source map': /sourceMappingURL=/,
  'an npm token': /npm_[A-Za-z0-9]{36}/,
  'a GitHub token': /gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22}/,
  'an API key': /sk-(ant|proj|or)-[A-Za-z0-9_-]{16}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}/,
  'a private key': /-----BEGIN [A-Z ]*PRIVATE KEY-----\n/,
  'a path of this machine': new RegExp(repository.replace(/[^\w/]/g, '\\$&')),
}

test('the package holds exactly the listed files', () => {
  expect([...unzip(inject('vsix')).keys()].sort()).toEqual(content)
})

test('the package is smaller than 1 MB', () => {
  const { size } = statSync(inject('vsix'))
  console.log(`The package has ${Math.ceil(size / 1000)} kB`)
  expect(size).toBeLessThan(1_000_000)
})

test('no file of the package carries a secret, a source map or a path of this machine', () => {
  const found = [...unzip(inject('vsix'))].flatMap(([name, bytes]) => {
    const text = bytes.toString('latin1')
    return Object.entries(forbidden).flatMap(([what, trace]) => (trace.test(text) ? [`${what} in ${name}`] : []))
  })
  expect(found).toEqual([])
})

test('the programs of the package begin as programs', () => {
  const files = unzip(inject('vsix'))
  expect(files.get('extension/dist/cli.js')?.toString('utf8', 0, 20)).toBe('#!/usr/bin/env node\n')
})
