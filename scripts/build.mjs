// Builds dist/: the extension, the command line, the keeper (one file, node:* only), the demo agent and the webview.
// `--watch` rebuilds on change; `--release` minifies and leaves out source maps.
import * as esbuild from 'esbuild'
import { existsSync, rmSync } from 'node:fs'

const release = process.argv.includes('--release')
const watch = process.argv.includes('--watch')

const common = {
  bundle: true,
  sourcemap: release ? false : 'linked',
  minify: release,
  logLevel: 'warning',
  legalComments: 'none',
  outdir: 'dist',
}
// zod looks at `navigator`; in the extension host that logs a migration error about the global of that name.
const host = { ...common, platform: 'node', format: 'cjs', target: 'node20', external: ['vscode'], define: { navigator: 'undefined' } }
const builds = [
  { ...host, entryPoints: { extension: 'src/extension.ts' } },
  { ...host, entryPoints: { cli: 'src/cli.ts' }, banner: { js: '#!/usr/bin/env node' } },
  { ...host, entryPoints: { keeper: 'src/process/keeper.ts' } },
  { ...host, entryPoints: { demoAgent: 'src/demoAgent.ts' } },
  {
    ...common,
    platform: 'browser',
    format: 'iife',
    target: 'chrome120',
    entryPoints: { transcript: 'webview/transcript/main.ts' },
    loader: { '.ttf': 'file' },
    assetNames: '[name]',
  },
]

rmSync('dist', { recursive: true, force: true })
for (const options of builds) {
  const entry = Object.values(options.entryPoints)[0]
  if (!existsSync(entry)) throw new Error(`${entry} is missing`)
  if (watch) await (await esbuild.context(options)).watch()
  else await esbuild.build(options)
}
