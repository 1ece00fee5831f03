// Packs the extension as coxswain-VERSION.vsix in the repository's root. vsce runs the release build first, by the
// script `vscode:prepublish`. What may be inside is said by .vscodeignore and asserted by a test.
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { main, repository, run } from './system.mjs'

/** Where the package of the present version lies. */
function vsixPath() {
  const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'))
  return path.join(repository, `coxswain-${version}.vsix`)
}

/**
 * Builds for release and packs; offline, about three seconds.
 * @returns {string} the path of the vsix
 */
export function packageExtension() {
  const vsix = vsixPath()
  const vsce = path.join(repository, 'node_modules/@vscode/vsce/vsce')
  // Everything is bundled, so no node_modules go along.
  run(
    process.execPath,
    [vsce, 'package', '--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links', '--out', vsix],
    {
      cwd: repository,
    },
  )
  return vsix
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const vsix = packageExtension()
    console.log(`${path.relative(process.cwd(), vsix)}, ${Math.ceil(statSync(vsix).size / 1000)} kB`)
  })
}
