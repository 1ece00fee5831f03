// What `npm start` and `npm test` say on a machine that lacks something.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeModulesAreFresh, repository } from '../../../scripts/system.mjs'

let folder: string
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'system-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs needPrograms in a process of its own with these programs on PATH; each is a shell script. */
function need(wanted: string[], programs: Record<string, string>, uid: number) {
  const bin = path.join(folder, 'bin')
  mkdirSync(bin)
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  const system = pathToFileURL(path.join(repository, 'scripts/system.mjs')).href
  const script = `
    import { main, needPrograms } from ${JSON.stringify(system)}
    process.getuid = () => ${uid}
    await main(() => needPrograms(${JSON.stringify(wanted)}, 'test this'))`
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: bin, BIN: bin },
    encoding: 'utf8',
  })
  return { code: ran.status, out: ran.stdout.replace(/\d+ s/, 'N s'), err: ran.stderr }
}

test('a person without root is told what to type, once for all that is missing', () => {
  expect(need(['git', 'g++', 'make'], { git: '', 'apt-get': '' }, 1000)).toEqual({
    code: 2,
    out: '',
    err: '\ng++, make not found, needed to test this; run: sudo apt-get update && sudo apt-get install -y g++ make\n',
  })
})

test('where there is no apt-get, the programs are named', () => {
  expect(need(['git', 'python3'], { git: '' }, 0).err).toBe(
    "\npython3 not found, needed to test this; install python3 with your system's package manager\n",
  )
})

test('as root on Debian what is missing is installed', () => {
  const install = `[ "$1" = update ] || { printf '#!/bin/sh\\n' > "$BIN/make"; /bin/chmod +x "$BIN/make"; }`
  expect(need(['make'], { 'apt-get': install }, 0)).toEqual({
    code: 0,
    out: 'Installing make with apt-get, needed to test this …\n  done in N s\n',
    err: '',
  })
})

test('a failed installation shows what apt-get said', () => {
  const ran = need(['make'], { 'apt-get': 'echo "no space left" >&2; exit 100' }, 0)
  expect(ran.code).toBe(2)
  expect(ran.err).toBe('\napt-get update -qq failed:\nno space left\n')
})

test.each([
  ['holds every package at its version', { a: '1.0.0', b: '2.0.0' }, true],
  ['lacks only an optional package', { a: '1.0.0' }, true],
  ['has another version', { a: '1.0.1', b: '2.0.0' }, false],
  ['lacks a package', { b: '2.0.0' }, false],
  ['is not there', undefined, false],
])('node_modules that %s', (_what, installed, fresh) => {
  const lock = (packages: Record<string, object>) => JSON.stringify({ packages: { '': { name: 'x' }, ...packages } })
  writeFileSync(
    path.join(folder, 'package-lock.json'),
    lock({ 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0', optional: true } }),
  )
  if (installed) {
    mkdirSync(path.join(folder, 'node_modules'))
    const packages = Object.entries(installed).map(([name, version]) => [`node_modules/${name}`, { version }])
    writeFileSync(
      path.join(folder, 'node_modules/.package-lock.json'),
      lock(Object.fromEntries(packages) as Record<string, object>),
    )
  }
  expect(nodeModulesAreFresh(folder)).toBe(fresh)
})
