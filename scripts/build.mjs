// Builds dist/: the extension, the command line, the keeper (one file, node:* only), the worker that
// reads untrusted content, the demo agent and the webview; and l10n/, the strings for translators.
// `--watch` rebuilds on change; `--release` minifies and leaves out source maps.
import * as esbuild from 'esbuild'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { writeBundle } from './l10n.mjs'

const release = process.argv.includes('--release')
const watch = process.argv.includes('--watch')

/**
 * zod's sentences in fifty languages are a quarter of each bundle; ours are written by us.
 * @type {import('esbuild').Plugin}
 */
const oneLanguage = {
  name: 'one language',
  setup(build) {
    build.onLoad({ filter: /\/zod\/v4\/locales\/index\.c?js$/ }, ({ path }) => ({
      contents: path.endsWith('.cjs')
        ? "exports.en = require('./en.cjs').default"
        : "export { default as en } from './en.js'",
    }))
  },
}

/**
 * The MCP library brings a schema validator for questions we never ask; its one user is told so.
 * @type {import('esbuild').Plugin}
 */
const noValidator = {
  name: 'no validator',
  setup(build) {
    build.onLoad({ filter: /modelcontextprotocol\/sdk\/dist\/\w+\/validation\/ajv-provider\.js$/ }, () => ({
      contents: 'export class AjvJsonSchemaValidator { getValidator() { throw new Error("left out of this build") } }',
    }))
  },
}

/**
 * What judges content is large and needed by three programs: it is built once and stands beside them.
 * @type {import('esbuild').Plugin}
 */
const contentBeside = {
  name: 'content beside',
  setup(build) {
    build.onResolve({ filter: /^(\.|\.\.\/verification)\/content$/ }, ({ importer }) =>
      importer.includes('/src/') ? { path: './content.js', external: true } : null,
    )
  },
}

/**
 * The command line is a program of its own, also through the link that `npm link` made of it once.
 * @type {import('esbuild').Plugin}
 */
const executable = {
  name: 'executable',
  setup(build) {
    build.onEnd(({ errors }) => {
      if (errors.length === 0) chmodSync('dist/cli.js', 0o755)
    })
  },
}

/** @satisfies {import('esbuild').BuildOptions} */
const common = {
  bundle: true,
  sourcemap: release ? false : 'linked',
  minify: release,
  logLevel: 'warning',
  legalComments: 'none',
  plugins: [oneLanguage, noValidator],
  // Its form for Node asks for its own parts in a way that cannot be bundled.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  outdir: 'dist',
}
/**
 * zod looks at `navigator`; in the extension host that logs a migration error about the global of that name.
 * @satisfies {import('esbuild').BuildOptions}
 */
const host = {
  ...common,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  define: { navigator: 'undefined' },
}
const sharing = { ...host, plugins: [...host.plugins, contentBeside] }
/** @type {(Omit<import('esbuild').BuildOptions, 'entryPoints'> & { entryPoints: Record<string, string> })[]} */
const builds = [
  { ...sharing, entryPoints: { extension: 'src/extension.ts' } },
  {
    ...sharing,
    entryPoints: { cli: 'src/cli.ts' },
    banner: { js: '#!/usr/bin/env node' },
    plugins: [...sharing.plugins, executable],
  },
  { ...host, entryPoints: { keeper: 'src/process/keeper.ts' } },
  { ...sharing, entryPoints: { contentWorker: 'src/verification/contentWorker.ts' } },
  { ...host, entryPoints: { content: 'src/verification/content.ts' } },
  { ...host, entryPoints: { demoAgent: 'src/demo/agent.ts' } },
  {
    ...common,
    // A folder of its own: the webview may read what is in here and nothing else.
    outdir: 'dist/webview',
    platform: 'browser',
    format: 'iife',
    target: 'chrome120',
    entryPoints: { transcript: 'webview/transcript/main.ts' },
    loader: { '.ttf': 'file' },
    assetNames: '[name]',
  },
]

rmSync('dist', { recursive: true, force: true })
writeBundle()
for (const options of builds) {
  for (const entry of Object.values(options.entryPoints)) if (!existsSync(entry)) throw new Error(`${entry} is missing`)
  if (watch) await (await esbuild.context(options)).watch()
  else await esbuild.build(options)
}
